"""Running a collector when the context has grown too large, and recording what went."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from openagent.core.runtime import ResolvedModel
from openagent.core.view import DEFAULT_WINDOW
from openagent.plugins.collector import CollectGoal, Collection, Summarize
from openagent.plugins.context import passed_threshold
from openagent.plugins.store import CollectionRecord
from openagent.plugins.view_log import permitted
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import ContextCollected
from openagent.protocol.messages import Message

if TYPE_CHECKING:
    from openagent.core.session import Session

CollectReason = Literal["threshold", "turn_limit", "manual", "overflow"]


class Proposal(Struct, frozen=True):
    collector: str
    collection: Collection
    record: CollectionRecord
    tokens_before: int
    tokens_after: int


async def collect_when_full(session: "Session", resolved: ResolvedModel) -> None:
    """Between two steps, and before a turn's first."""
    settings = session.runtime.context(session.workspace)
    if not settings.auto:
        return
    view = await session.view(resolved)
    window = resolved.context_window or DEFAULT_WINDOW
    used = view.tokens()
    if 100.0 * used >= settings.threshold * window:
        session.post(passed_threshold(used, window, settings.threshold))
        await collect(session, resolved, "threshold")
    elif settings.turn_limit and view.turns > settings.turn_limit:
        await collect(session, resolved, "turn_limit")


async def collect(
    session: "Session", resolved: ResolvedModel, reason: CollectReason, *, collector: str = "", op_id: str = ""
) -> bool:
    """True when something went."""

    async def summarize(messages: Sequence[Message], instruction: str) -> str:
        return await session.summarize(resolved, messages, instruction)

    proposal = await propose(session, resolved, summarize, collector=collector)
    if proposal is None:
        return False
    collection = proposal.collection
    usage = msgspec.structs.replace(session.info.usage, context_tokens=proposal.tokens_after)
    collected = ContextCollected(
        collector=proposal.collector,
        reason=reason,
        hidden=collection.hidden,
        summary=collection.summary,
        tokens_before=proposal.tokens_before,
        tokens_after=proposal.tokens_after,
        shortened=len(collection.replaced),
        note=collection.note,
    )
    await session.record(collected, collection=proposal.record, changes={"usage": usage}, op_id=op_id)
    return True


async def propose(
    session: "Session", resolved: ResolvedModel, summarize: Summarize, *, collector: str = ""
) -> Proposal | None:
    """What a collector would do now. Nothing is changed."""
    settings = session.runtime.context(session.workspace)
    name = collector or session.info.settings.collector or settings.collector
    chosen = session.runtime.collectors.get(name)
    if chosen is None:
        known = ", ".join(sorted(session.runtime.collectors))
        raise OpenAgentError("config_error", f"There is no collector named {name!r}.", hint=f"Choose one of: {known}.")
    view = await session.view(resolved)
    before = view.estimated()
    window = resolved.context_window or DEFAULT_WINDOW
    counted = max(view.tokens(), 1) / max(before, 1)
    goal = CollectGoal(
        free_tokens=max(before - int(window * settings.goal / 100 / counted), before // 4),
        keep_turns=settings.keep_turns,
        window=window,
        summary=view.summary,
        plan=session.plan,
    )
    collection = await chosen.collect(view.items(), goal, summarize)
    if collection is None:
        return None
    collection = permitted(collection, view.items(), view.cut_at)
    if not collection.hidden and not collection.replaced:
        return None
    record = CollectionRecord(
        hidden=collection.hidden, summary=collection.summary, replaced=collection.replaced, collector=name
    )
    after = view.estimated_after(record)
    record = msgspec.structs.replace(record, tokens_freed=before - after)
    return Proposal(name, collection, record, before, after)
