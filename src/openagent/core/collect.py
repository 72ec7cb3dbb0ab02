"""When the context has grown too large: asking a collector what it would do, and recording what went."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from openagent.core.model_call import summarized
from openagent.core.runtime import ResolvedModel
from openagent.core.view import DEFAULT_WINDOW, View
from openagent.plugins.collector import (
    CollectGoal,
    Collection,
    Collector,
    ContextItem,
    ContextSettings,
    Summarize,
)
from openagent.plugins.context import CHARACTERS_PER_TOKEN, is_pinned, message_tokens, ranges, units, within
from openagent.plugins.provider import ModelRequest
from openagent.plugins.store import CollectionRecord, Rows
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import ContextCollected, ContextThreshold
from openagent.protocol.messages import Message
from openagent.protocol.sessions import PlanItem

if TYPE_CHECKING:
    from openagent.core.session import Session

CollectReason = Literal["threshold", "turn_limit", "manual", "overflow"]


class Proposal(Struct, frozen=True):
    record: CollectionRecord
    note: str
    tokens_before: int
    tokens_after: int


async def must_fit(session: "Session", resolved: ResolvedModel, number: int) -> None:
    """Raises when a message is longer than all that its model can read, before anything is spent. It stays in the
    store, and the model is not shown a part of it."""
    window = resolved.context_window
    message = (await session.view.build(resolved)).shown_as(number)
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
    """A context past its threshold is collected: between two steps, and before a turn's first."""
    settings = session.runtime.context(session.workspace)
    if not settings.auto:
        return
    view = await session.view.build(resolved)
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
        return await summarized(session, resolved, messages, instruction)

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
    await session.record(collected, rows=Rows(collection=record), changes={"usage": usage}, op_id=op_id)
    return done


async def proposal(
    session: "Session", resolved: ResolvedModel, summarize: Summarize, *, collector: str = ""
) -> Proposal | None:
    """What the session's collector, or the one named, would do now."""
    settings = session.runtime.context(session.workspace)
    name = collector or session.info.settings.collector or settings.collector
    chosen = session.runtime.collectors.get(name)
    if chosen is None:
        known = ", ".join(sorted(session.runtime.collectors))
        raise OpenAgentError("config_error", f"There is no collector named {name!r}.", hint=f"Choose one of: {known}.")
    window = resolved.context_window or DEFAULT_WINDOW
    view = await session.view.build(resolved)
    return await propose(chosen, view, settings=settings, window=window, plan=session.plan, summarize=summarize)


async def propose(
    collector: Collector,
    view: View,
    *,
    settings: ContextSettings,
    window: int,
    plan: Sequence[PlanItem],
    summarize: Summarize,
) -> Proposal | None:
    """What a collector would do now. Nothing is changed."""
    before = view.estimated()
    counted = max(view.tokens(), 1) / max(before, 1)
    """How many tokens the provider makes of one that we estimate."""
    goal = CollectGoal(
        free_tokens=max(before - int(window * settings.goal / 100 / counted), before // 4),
        keep_turns=settings.keep_turns,
        window=window,
        summary=view.summary,
        plan=plan,
    )
    context = view.items()
    proposed = await collector.collect(context, goal, summarize)
    if proposed is None:
        return None
    allowed = _permitted(proposed, context, view.cut_at)
    if not allowed.hidden and not allowed.replaced:
        return None
    record = CollectionRecord(
        hidden=allowed.hidden, summary=allowed.summary, replaced=allowed.replaced, collector=collector.name
    )
    after = view.estimated_after(record)
    return Proposal(msgspec.structs.replace(record, tokens_freed=before - after), allowed.note, before, after)


def _permitted(collection: Collection, context: Sequence[ContextItem], cut_at: int) -> Collection:
    """What of a proposal may be done: calls stay with their results, and pinned messages stay. What was never loaded
    goes with the first that goes."""
    free = [unit for unit in units(context) if not is_pinned(unit)]
    whole = [unit for unit in free if all(within(item.message.number, collection.hidden) for item in unit)]
    numbers = [item.message.number for unit in whole for item in unit]
    pinned = {item.message.number for item in context if item.pinned}
    if numbers and cut_at:
        stay = {item.message.number for item in context} - set(numbers)
        numbers += [number for number in range(1, cut_at) if number not in stay]
    replaced = {number: text for number, text in collection.replaced.items() if number not in pinned}
    return msgspec.structs.replace(collection, hidden=ranges(numbers), replaced=replaced)


class ThresholdWatch:
    """Tells once when an answer that is still streaming takes the context past its threshold."""

    def __init__(self, used: int, window: int, threshold: float, tell: Callable[[ContextThreshold], None]) -> None:
        self._characters = CHARACTERS_PER_TOKEN * used
        self._limit = CHARACTERS_PER_TOKEN * window * threshold / 100
        self._window, self._threshold = window, threshold
        self._tell = None if self._characters >= self._limit else tell

    def __call__(self, text: str) -> None:
        self._characters += len(text)
        if self._tell is not None and self._characters >= self._limit:
            self._tell(passed_threshold(self._characters // CHARACTERS_PER_TOKEN, self._window, self._threshold))
            self._tell = None


def passed_threshold(used: int, window: int, threshold: float) -> ContextThreshold:
    percent = round(100.0 * used / window, 1)
    return ContextThreshold(used_tokens=used, window=window, percent=percent, threshold=threshold)
