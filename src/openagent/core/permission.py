"""Asking people whether something may be done, and keeping what they allow for longer than once."""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from openagent.core.audit import acting, entry
from openagent.grants.offers import Offer
from openagent.plugins.store import AuditEntry, KeptGrant
from openagent.policy.facts import CallFacts
from openagent.protocol.events import PermissionRequested, PermissionResolved, StatusChanged
from openagent.protocol.ops import PermissionAnswer
from openagent.protocol.sessions import PermissionAsk

if TYPE_CHECKING:
    from openagent.core.asks import Verdict
    from openagent.core.session import Session


_LOOK_EVERY = 0.5


async def ask_person(
    session: "Session",
    ask: PermissionAsk,
    offers: Sequence[Offer],
    facts: CallFacts | None = None,
    *,
    aside: bool = False,
) -> PermissionResolved:
    """Every attached client shows it, and the first answer counts; after a while it is denied. With `facts`, an answer
    to something else that allows this too answers it. `aside` from the session's calls, several may be asked at once,
    something waits for each with a patience of its own, and it is denied when nobody is there to answer."""
    ask = msgspec.structs.replace(ask, choices=[offer.choice for offer in offers])
    answered = session.asks.open_permission(ask, facts)
    resolved = PermissionResolved(ask_id=ask.id, decision="deny", by="timeout", reason="Nobody answered in time.")
    op_id = ""
    granted: list[KeptGrant] = []
    audit: list[AuditEntry] = []
    try:
        await session.record(
            PermissionRequested(ask=ask, answerable=session.someone_can_answer()),
            StatusChanged(status="waiting_approval", detail=ask.summary),
        )
        async with asyncio.timeout(session.runtime.ask_timeout(session.workspace)):
            verdict = await (_while_somebody_is_there(session, answered) if aside else answered)
        answer, op_id = verdict.answer, verdict.answer.id
        resolved = PermissionResolved(
            ask_id=ask.id, decision=answer.decision, scope=answer.scope, by=verdict.by, reason=answer.reason
        )
        if (offer := _chosen(offers, answer)) is not None and offer.rule is not None:
            granted, audit = _grant(session, ask, offer, verdict)
            resolved = msgspec.structs.replace(resolved, covers=offer.choice.covers)
    except _NobodyThereError:
        answered.cancel()
        resolved = msgspec.structs.replace(resolved, reason="Nobody is there to answer.")
    except TimeoutError:
        answered.cancel()
    except asyncio.CancelledError:
        answered.cancel()
        gone = PermissionResolved(ask_id=ask.id, decision="deny", by="withdrawn" if aside else "turn ended")
        session.post(gone, *(_as_before(session) if aside else ()))
        raise
    except BaseException:
        answered.cancel()
        raise
    going_on = _as_before(session) if aside else [StatusChanged(status="executing_tool", detail=ask.tool)]
    await session.record(resolved, *going_on, op_id=op_id, audit=audit, granted=granted)
    return resolved


class _NobodyThereError(Exception):
    pass


async def _while_somebody_is_there(session: "Session", answered: "asyncio.Future[Verdict]") -> "Verdict":
    patience = session.runtime.away_timeout(session.workspace)
    seen = time.monotonic()
    while not answered.done():
        await asyncio.wait([answered], timeout=min(_LOOK_EVERY, patience))
        if session.someone_can_answer():
            seen = time.monotonic()
        elif not answered.done() and time.monotonic() - seen >= patience:
            raise _NobodyThereError
    return answered.result()


def _as_before(session: "Session") -> list[StatusChanged]:
    """Unless something else is being asked, or came meanwhile: a turn may have begun or ended since it was asked."""
    if session.asks.permissions or session.asks.questions or session.info.status != "waiting_approval":
        return []
    return [StatusChanged(status="executing_tool" if session.busy else "idle")]


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
