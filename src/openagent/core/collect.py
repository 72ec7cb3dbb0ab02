"""Running a collector when the context has grown too large, and recording what went."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from openagent.core.runtime import ResolvedModel
from openagent.core.view import DEFAULT_WINDOW
from openagent.plugins.collector import CollectGoal
from openagent.plugins.store import CollectionRecord
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import ContextCollected, ContextThreshold
from openagent.protocol.messages import Message

if TYPE_CHECKING:
    from openagent.core.session import Session

CollectReason = Literal["threshold", "turn_limit", "manual", "overflow"]


async def collect_when_full(session: "Session", resolved: ResolvedModel) -> None:
    window = resolved.context_window or DEFAULT_WINDOW
    used = session.info.usage.context_tokens
    threshold = session.runtime.context.threshold
    percent = 100.0 * used / window
    if percent < threshold:
        return
    session.post(ContextThreshold(used_tokens=used, window=window, percent=round(percent, 1), threshold=threshold))
    await collect(session, resolved, "threshold")


async def collect(session: "Session", resolved: ResolvedModel, reason: CollectReason) -> bool:
    """True when something went."""
    settings = session.runtime.context
    name = session.info.settings.collector or settings.collector
    collector = session.runtime.collectors.get(name)
    if collector is None:
        known = ", ".join(sorted(session.runtime.collectors))
        raise OpenAgentError("config_error", f"There is no collector named {name!r}.", hint=f"Choose one of: {known}.")
    view = await session.view(resolved)
    before = view.tokens()
    window = resolved.context_window or DEFAULT_WINDOW
    goal = CollectGoal(
        free_tokens=max(before - int(window * settings.threshold / 100 / 2), before // 4),
        keep_turns=settings.keep_turns,
    )

    async def summarize(messages: Sequence[Message], instruction: str) -> str:
        return await session.summarize(resolved, messages, instruction)

    collection = await collector.collect(view.items(), goal, summarize)
    if collection is None:
        return False
    view.collect(collection)
    after = view.tokens()
    await session.record(
        ContextCollected(
            collector=name,
            reason=reason,
            hidden=collection.hidden,
            summary=collection.summary,
            tokens_before=before,
            tokens_after=after,
        ),
        collection=CollectionRecord(
            id=view.collections,
            hidden=collection.hidden,
            summary=collection.summary,
            replaced=collection.replaced,
            tokens_freed=before - after,
            at=time.time(),
        ),
    )
    return True
