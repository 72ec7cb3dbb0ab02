"""Running a collector when the context has grown too large, and recording what went."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from openagent.core.runtime import ResolvedModel
from openagent.core.view import DEFAULT_WINDOW
from openagent.plugins.collector import Summarize
from openagent.plugins.context import message_tokens, passed_threshold
from openagent.plugins.proposing import Proposal, propose
from openagent.plugins.provider import ModelRequest
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import ContextCollected
from openagent.protocol.messages import Message

if TYPE_CHECKING:
    from openagent.core.session import Session

CollectReason = Literal["threshold", "turn_limit", "manual", "overflow"]


async def must_fit(session: "Session", resolved: ResolvedModel, number: int) -> None:
    """Raises when a message is longer than all that its model can read, before anything is spent. It stays in the
    store, and the model is not shown a part of it."""
    window = resolved.context_window
    message = (await session.view(resolved)).shown_as(number)
    if not window or message is None or message_tokens(message) <= window:
        return
    request = ModelRequest(model=resolved.model, system="", messages=[message], session=session.id)
    counted = (await session.runtime.ledger.measure(request, [])).input_tokens
    if counted <= window:
        return
    await session.undo.take_back(number)
    raise OpenAgentError(
        "context_too_long",
        f"The message is too long for {resolved.name}: about {counted:,} tokens, where its window holds {window:,}. "
        "Nothing was sent to it.",
        hint="Save it as a file in the workspace and say what to look for in it, send less, or choose a model with a "
        "larger window.",
    )


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
) -> Proposal | None:
    """None when there was nothing to gain."""

    async def summarize(messages: Sequence[Message], instruction: str) -> str:
        return await session.summarize(resolved, messages, instruction)

    done = await proposal(session, resolved, summarize, collector=collector)
    if done is None:
        return None
    record = done.record
    collected = ContextCollected(
        collector=record.collector,
        reason=reason,
        hidden=record.hidden,
        summary=record.summary,
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        shortened=len(record.replaced),
        note=done.note,
    )
    usage = msgspec.structs.replace(session.info.usage, context_tokens=done.tokens_after)
    await session.record(collected, collection=record, changes={"usage": usage}, op_id=op_id)
    return done


async def proposal(
    session: "Session", resolved: ResolvedModel, summarize: Summarize, *, collector: str = ""
) -> Proposal | None:
    """What a collector would do now."""
    settings = session.runtime.context(session.workspace)
    name = collector or session.info.settings.collector or settings.collector
    chosen = session.runtime.collectors.get(name)
    if chosen is None:
        known = ", ".join(sorted(session.runtime.collectors))
        raise OpenAgentError("config_error", f"There is no collector named {name!r}.", hint=f"Choose one of: {known}.")
    window = resolved.context_window or DEFAULT_WINDOW
    view = await session.view(resolved)
    return await propose(chosen, view, settings=settings, window=window, plan=session.plan, summarize=summarize)
