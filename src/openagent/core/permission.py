"""Asking people whether something may be done, and keeping what they allow for longer than once."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from openagent.core.audit import acting, entry
from openagent.plugins.store import AuditEntry, KeptGrant
from openagent.policy.facts import CallFacts
from openagent.policy.grants import Offer
from openagent.protocol.events import PermissionRequested, PermissionResolved, StatusChanged
from openagent.protocol.ops import PermissionAnswer
from openagent.protocol.sessions import PermissionAsk

if TYPE_CHECKING:
    from openagent.core.asks import Verdict
    from openagent.core.session import Session


async def ask_person(
    session: "Session", ask: PermissionAsk, offers: Sequence[Offer], facts: CallFacts | None = None
) -> PermissionResolved:
    """Every attached client shows it, and the first answer counts; after a while it is denied. With `facts`, an answer
    to something else that allows this too answers it."""
    ask = msgspec.structs.replace(ask, choices=[offer.choice for offer in offers])
    answered = session.asks.open_permission(ask, facts)
    await session.record(
        PermissionRequested(ask=ask, answerable=session.someone_can_answer()),
        StatusChanged(status="waiting_approval", detail=ask.summary),
    )
    resolved = PermissionResolved(ask_id=ask.id, decision="deny", by="timeout", reason="Nobody answered in time.")
    op_id = ""
    granted: list[KeptGrant] = []
    audit: list[AuditEntry] = []
    try:
        async with asyncio.timeout(session.runtime.ask_timeout(session.workspace)):
            verdict = await answered
        answer, op_id = verdict.answer, verdict.answer.id
        resolved = PermissionResolved(
            ask_id=ask.id, decision=answer.decision, scope=answer.scope, by=verdict.by, reason=answer.reason
        )
        if (offer := _chosen(offers, answer)) is not None and offer.rule is not None:
            granted, audit = _grant(session, ask, offer, verdict)
            resolved = msgspec.structs.replace(resolved, covers=offer.choice.covers)
    except TimeoutError:
        answered.cancel()
    except asyncio.CancelledError:
        answered.cancel()
        session.post(PermissionResolved(ask_id=ask.id, decision="deny", by="turn ended"))
        raise
    going_on = StatusChanged(status="executing_tool", detail=ask.tool)
    await session.record(resolved, going_on, op_id=op_id, audit=audit, granted=granted)
    return resolved


def _chosen(offers: Sequence[Offer], answer: PermissionAnswer) -> Offer | None:
    if answer.decision != "allow":
        return None
    wanted = answer.choice or answer.scope
    return next((offer for offer in offers if offer.choice.id == wanted), None)


def _grant(
    session: "Session", ask: PermissionAsk, offer: Offer, verdict: "Verdict"
) -> tuple[list[KeptGrant], list[AuditEntry]]:
    kept = session.permits.grant(offer, verdict.by)
    choice = offer.choice
    rule = msgspec.to_builtins(offer.rule)
    with acting(verdict.actor):
        told = entry("grant", ask.summary, scope=choice.scope, covers=choice.covers, rule=rule)
    return ([kept] if kept is not None else []), [told]
