"""Asking a collector what it would do. Nothing is changed."""

from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from openagent.plugins.collector import CollectGoal, Collector, ContextItem, ContextSettings, Summarize
from openagent.plugins.store import CollectionRecord
from openagent.plugins.view_log import permitted
from openagent.protocol.sessions import PlanItem


class Shown(Protocol):
    """A view, as far as a collection concerns it."""

    summary: str
    cut_at: int

    def items(self) -> list[ContextItem]: ...

    def estimated(self) -> int: ...

    def tokens(self) -> int: ...

    def estimated_after(self, record: CollectionRecord) -> int: ...


class Proposal(Struct, frozen=True):
    record: CollectionRecord
    note: str
    tokens_before: int
    tokens_after: int


async def propose(
    collector: Collector,
    view: Shown,
    *,
    settings: ContextSettings,
    window: int,
    plan: Sequence[PlanItem],
    summarize: Summarize,
) -> Proposal | None:
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
    allowed = permitted(proposed, context, view.cut_at)
    if not allowed.hidden and not allowed.replaced:
        return None
    record = CollectionRecord(
        hidden=allowed.hidden, summary=allowed.summary, replaced=allowed.replaced, collector=collector.name
    )
    after = view.estimated_after(record)
    return Proposal(msgspec.structs.replace(record, tokens_freed=before - after), allowed.note, before, after)
