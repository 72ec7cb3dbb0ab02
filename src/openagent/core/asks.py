"""What waits for a person: permission requests and questions.

The first answer wins, and what a person allows for longer than once is kept.
"""

import asyncio
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import Struct

from openagent.core.audit import NOBODY, Actor, acting, actor, entry
from openagent.grants.offers import Offer
from openagent.grants.openings import Opening
from openagent.plugins.store import AuditEntry, KeptGrant, Rows
from openagent.policy.facts import CallFacts
from openagent.policy.hidden import shown
from openagent.protocol.conversation import PendingAsk, PermissionAnswer
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import AsksLapsed, PermissionRequested, PermissionResolved, StatusChanged
from openagent.protocol.sessions import AT_REST, LapsedAsk, PermissionAsk, Question, Status
from openagent.protocol.words import about, call_at_work

if TYPE_CHECKING:
    from openagent.core.session import Session

T = TypeVar("T")
_LOOK_EVERY_S = 0.5
"""Whether somebody is still there to answer."""


class Verdict(Struct, frozen=True):
    answer: PermissionAnswer
    by: str
    """The client that answered."""
    actor: Actor = NOBODY


class QuestionReply(Struct, frozen=True):
    answer: str
    by: str
    op_id: str


class Asks:
    def __init__(self) -> None:
        self._permissions: dict[str, tuple[PermissionAsk, asyncio.Future[Verdict]]] = {}
        self._facts: dict[str, CallFacts] = {}
        self._leaves: dict[str, Sequence[Opening]] = {}
        self._questions: dict[str, tuple[Question, asyncio.Future[QuestionReply]]] = {}
        self.since: dict[str, float] = {}
        """By the id of a request or question: when it was asked."""
        self._recording: dict[str, asyncio.Event] = {}
        self.lapsed: dict[str, LapsedAsk] = {}
        """What nobody answered in time, and nobody has spoken of since."""
        self.before: Status = "idle"
        """The session's status when the first of those that wait was asked."""

    def lapse(self, ask: PermissionAsk | Question) -> AsksLapsed:
        now = time.time()
        is_call = isinstance(ask, PermissionAsk)
        self.lapsed[ask.id] = LapsedAsk(ask.id, now, ask if is_call else None, None if is_call else ask)
        return self.told_lapsed

    def is_asked_again(self, ask: PermissionAsk | Question) -> Sequence[AsksLapsed]:
        """What was not answered in time before needs nobody any more."""
        what = LapsedAsk("", 0.0, ask).what if isinstance(ask, PermissionAsk) else ("", ask.text)
        again = [name for name, lapsed in self.lapsed.items() if lapsed.what == what]
        for name in again:
            del self.lapsed[name]
        return [self.told_lapsed] if again else []

    def let_go(self) -> Sequence[AsksLapsed]:
        """A person has spoken since."""
        if not self.lapsed:
            return []
        self.lapsed.clear()
        return [self.told_lapsed]

    @property
    def told_lapsed(self) -> AsksLapsed:
        return AsksLapsed(lapsed=list(self.lapsed.values()))

    def at_rest(self, status: Status = "idle") -> Status:
        """What the session is when nothing works in it."""
        if status == "unanswered":
            status = "idle"
        return "unanswered" if self.lapsed and status != "error" else status

    @contextmanager
    def recording(self, ask: str) -> Generator[None]:
        """Whoever answers hears that the answer is taken when it is stored, and not before."""
        recorded = self._recording[ask] = asyncio.Event()
        try:
            yield
        finally:
            del self._recording[ask]
            recorded.set()

    async def recorded(self, ask: str) -> None:
        if (recorded := self._recording.get(ask)) is not None:
            await recorded.wait()

    @property
    def permissions(self) -> list[PermissionAsk]:
        return [ask for ask, _ in self._permissions.values()]

    @property
    def questions(self) -> list[Question]:
        return [question for question, _ in self._questions.values()]

    def leaves(self, ask: str) -> Sequence[Opening]:
        """What a person who allows it lets the agent out to."""
        return self._leaves.get(ask, ())

    def open_permission(
        self, ask: PermissionAsk, facts: CallFacts | None = None, leaves: Sequence[Opening] = ()
    ) -> "asyncio.Future[Verdict]":
        """`facts` are those of the call that policy asks about, so that what is allowed meanwhile answers it too."""
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._permissions[ask.id] = (ask, future)
        self.since[ask.id] = time.time()
        self._leaves[ask.id] = leaves
        if facts is not None:
            self._facts[ask.id] = facts
        future.add_done_callback(lambda _: self._forget(ask.id))
        return future

    def withdraw(self, ask: str) -> None:
        """Nobody waits for its answer. It counts as gone at once: a cancelled future tells its callbacks only later."""
        _, future = self._permissions.get(ask, (None, None))
        self._forget(ask)
        if future is not None:
            future.cancel()

    def _forget(self, ask: str) -> None:
        self._permissions.pop(ask, None)
        self._facts.pop(ask, None)
        self._leaves.pop(ask, None)
        self.since.pop(ask, None)

    def settle(self, is_allowed: Callable[[CallFacts], bool]) -> None:
        """A person allowed something for longer than once: those who wait for the same need not be asked again."""
        for name, facts in list(self._facts.items()):
            _, future = self._permissions[name]
            if not future.done() and is_allowed(facts):
                answer = PermissionAnswer(id="", session="", ask=name, decision="allow")
                future.set_result(Verdict(answer, "an answer to the same"))

    def answer_permission(self, answer: PermissionAnswer, by: str, who: Actor | None = None) -> None:
        ask, future = self._permissions.get(answer.ask, (None, None))
        if ask is None or future is None or future.done():
            raise _nobody_waits()
        if answer.decision == "allow":
            _check_choice(ask, answer)
        future.set_result(Verdict(answer, by, who or actor()))

    def open_question(self, question: Question) -> "asyncio.Future[QuestionReply]":
        future: asyncio.Future[QuestionReply] = asyncio.get_running_loop().create_future()
        self._questions[question.id] = (question, future)
        self.since[question.id] = time.time()
        future.add_done_callback(lambda _: self._forget_question(question.id))
        return future

    def withdraw_question(self, question: str) -> None:
        _, future = self._questions.get(question, (None, None))
        self._forget_question(question)
        if future is not None:
            future.cancel()

    def _forget_question(self, question: str) -> None:
        self._questions.pop(question, None)
        self.since.pop(question, None)

    def answer_question(self, question: str, reply: QuestionReply) -> None:
        _, future = self._questions.get(question, (None, None))
        if future is None or future.done():
            raise _nobody_waits()
        future.set_result(reply)


async def ask_person(
    session: "Session",
    ask: PermissionAsk,
    offers: Sequence[Offer],
    facts: CallFacts | None = None,
    *,
    leaves: Sequence[Opening] = (),
    aside: bool = False,
    patient: bool = False,
) -> PermissionResolved:
    """Every attached client shows it, and the first answer counts; after a while it is denied. With `facts`, an answer
    to something else that allows this too answers it. `aside` from the session's calls, several may be asked at once,
    something waits for each with a patience of its own, and it is denied when nobody is there to answer, unless it is
    `patient`: nothing runs yet that could not wait."""
    patience, now = session.runtime.ask_timeout(session.workspace), time.time()
    ask = msgspec.structs.replace(
        _as_shown(ask),
        choices=[offer.choice for offer in offers],
        asked_at=now,
        until=None if patience is None else now + patience,
    )
    with session.asks.recording(ask.id):
        return await _asked(session, ask, offers, facts, leaves=leaves, patience=patience, aside=aside, patient=patient)


async def _asked(
    session: "Session",
    ask: PermissionAsk,
    offers: Sequence[Offer],
    facts: CallFacts | None,
    *,
    leaves: Sequence[Opening],
    patience: float | None,
    aside: bool,
    patient: bool,
) -> PermissionResolved:
    answered = session.asks.open_permission(ask, facts, leaves)
    resolved = PermissionResolved(ask_id=ask.id, decision="deny", by="timeout", reason="Nobody answered in time.")
    answerable = session.someone_can_answer()
    lapsed: Sequence[AsksLapsed] = ()
    op_id = ""
    granted: list[KeptGrant] = []
    audit: list[AuditEntry] = []
    try:
        await session.record(
            PermissionRequested(ask=ask, answerable=answerable),
            *session.asks.is_asked_again(ask),
            waiting(session, ask.summary),
        )
        async with asyncio.timeout(patience):
            verdict = await (while_somebody_is_there(session, answered) if aside and not patient else answered)
        answer, op_id = verdict.answer, verdict.answer.id
        resolved = PermissionResolved(
            ask_id=ask.id, decision=answer.decision, scope=answer.scope, by=verdict.by, reason=answer.reason
        )
        if (offer := _chosen(offers, answer)) is not None and offer.rule is not None:
            granted, audit = _grant(session, ask, offer, verdict)
            resolved = msgspec.structs.replace(resolved, covers=offer.choice.covers)
    except NobodyThereError:
        session.asks.withdraw(ask.id)
        resolved = msgspec.structs.replace(resolved, reason="Nobody is there to answer.")
        lapsed = _lapsed(session, ask) if answerable else ()  # whoever was there has left
    except TimeoutError:
        session.asks.withdraw(ask.id)
        lapsed = _lapsed(session, ask)
    except asyncio.CancelledError:
        session.asks.withdraw(ask.id)
        if not session.leaves:
            gone = PermissionResolved(ask_id=ask.id, decision="deny", by="withdrawn" if aside else "turn ended")
            session.post(gone, *(as_before(session) if aside else ()))
        raise
    except BaseException:
        session.asks.withdraw(ask.id)
        raise
    detail = call_at_work(ask.tool, ask.summary) if resolved.decision == "allow" else ""
    going_on = as_before(session) if aside else [StatusChanged(status="executing_tool", detail=detail)]
    await session.record(resolved, *lapsed, *going_on, rows=Rows(audit=audit, granted=granted), op_id=op_id)
    return resolved


def _as_shown(ask: PermissionAsk) -> PermissionAsk:
    """With all that it holds to be seen: what looks like another command is not what a person would allow."""
    lines = not about(ask.tool).runs  # a text may have a carriage return at each end of line, a command means it
    return msgspec.structs.replace(
        ask,
        arguments=_all_shown(ask.arguments, lines=lines),
        summary=shown(ask.summary, lines=lines),
        reason=shown(ask.reason),
        diff=shown(ask.diff, lines=True),
    )


def _all_shown(given: Any, *, lines: bool) -> Any:
    if isinstance(given, str):
        return shown(given, lines=lines)
    if isinstance(given, list):
        return [_all_shown(each, lines=lines) for each in cast("list[Any]", given)]
    if isinstance(given, dict):
        items = cast("dict[str, Any]", given).items()
        return {shown(name): _all_shown(value, lines=lines) for name, value in items}
    return given


def _lapsed(session: "Session", ask: PermissionAsk) -> Sequence[AsksLapsed]:
    """Of a sub-agent, the session that it works for keeps it: see AgentWatch."""
    return () if session.info.parent else [session.asks.lapse(ask)]


def lapsed_asks(sessions: "Iterable[Session]") -> list[PendingAsk]:
    """What nobody answered in time, the longest ago first."""
    found = [
        PendingAsk(
            id=each.id,
            session=session.id,
            name=session.info.name,
            cwd=session.info.cwd,
            at=each.permission.asked_at if each.permission is not None else each.at,
            permission=each.permission,
            question=each.question,
            lapsed_at=each.at,
        )
        for session in sessions
        for each in session.asks.lapsed.values()
    ]
    return sorted(found, key=lambda ask: ask.lapsed_at or 0.0)


def pending_asks(sessions: "Iterable[Session]") -> list[PendingAsk]:
    """What they wait for, the longest waiting first. What a sub-agent asks waits in its caller's session as well, and
    is told once: of the sub-agent, where it is among them."""
    found: dict[str, PendingAsk] = {}
    for session in sessions:
        info, asks = session.info, session.asks
        for each in (*asks.permissions, *asks.questions):
            if each.id not in found or not each.child:
                found[each.id] = PendingAsk(
                    id=each.id,
                    session=info.id,
                    name=info.name,
                    cwd=info.cwd,
                    at=asks.since[each.id],
                    permission=each if isinstance(each, PermissionAsk) else None,
                    question=each if isinstance(each, Question) else None,
                )
    return sorted(found.values(), key=lambda ask: ask.at)


class NobodyThereError(Exception):
    pass


async def while_somebody_is_there(session: "Session", answered: "asyncio.Future[T]") -> T:
    """Raises NobodyThereError when nobody was there to answer for longer than it takes to come back."""
    patience = session.runtime.away_timeout(session.workspace)
    seen = time.monotonic()
    while not answered.done():
        await asyncio.wait([answered], timeout=min(_LOOK_EVERY_S, patience))
        if session.someone_can_answer():
            seen = time.monotonic()
        elif not answered.done() and time.monotonic() - seen >= patience:
            raise NobodyThereError
    return answered.result()


def waiting(session: "Session", detail: str = "") -> StatusChanged:
    """Recorded when something is asked."""
    if session.info.status != "waiting_approval":
        session.asks.before = session.info.status
    return StatusChanged(status="waiting_approval", detail=detail)


def as_before(session: "Session") -> list[StatusChanged]:
    """Recorded when nothing waits for an answer to it any more. Empty while something else is being asked, and when the
    status changed meanwhile: a turn may have begun or ended since."""
    if session.asks.permissions or session.asks.questions or session.info.status != "waiting_approval":
        return []
    before = session.asks.before
    if session.busy:
        return [StatusChanged(status="executing_tool" if before in AT_REST else before)]
    return [StatusChanged(status=session.asks.at_rest(before if before in AT_REST else "idle"))]


def _chosen(offers: Sequence[Offer], answer: PermissionAnswer) -> Offer | None:
    if answer.decision != "allow":
        return None
    wanted = answer.choice or answer.scope
    return next((offer for offer in offers if offer.choice.id == wanted), None)


def _grant(
    session: "Session", ask: PermissionAsk, offer: Offer, verdict: Verdict
) -> tuple[list[KeptGrant], list[AuditEntry]]:
    kept = session.permits.grant(offer, verdict.by)
    choice = offer.choice
    rule = msgspec.to_builtins(offer.rule)
    with acting(verdict.actor):
        told = entry("grant", ask.summary, scope=choice.scope, covers=choice.covers, rule=rule)
    return ([kept] if kept is not None else []), [told]


def _check_choice(ask: PermissionAsk, answer: PermissionAnswer) -> None:
    """Whoever may say what scope has decided by the scope: a choice is one of that scope."""
    names = [choice.id for choice in ask.choices if choice.scope == answer.scope]
    if answer.choice and answer.choice not in names:
        raise OpenAgentError(
            "invalid_argument",
            f"{answer.choice!r} is no choice of this request with the scope {answer.scope!r}.",
            hint=f"Choose one of: {', '.join(names)}." if names else "Leave the choice out.",
        )


def _nobody_waits() -> OpenAgentError:
    return OpenAgentError(
        "conflict", "Nothing waits for this answer any more: it was given already, or what asked for it has ended."
    )
