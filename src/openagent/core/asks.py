"""Things that wait for a person: permission requests and questions. The first answer wins."""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from openagent.core.audit import NOBODY, Actor, actor
from openagent.policy.facts import CallFacts
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.ops import PermissionAnswer
from openagent.protocol.sessions import PermissionAsk, Question


class Verdict(Struct, frozen=True):
    answer: PermissionAnswer
    by: str
    """The client that answered."""
    actor: Actor = NOBODY


class Reply(Struct, frozen=True):
    answer: str
    by: str
    op_id: str


class Asks:
    def __init__(self) -> None:
        self._permissions: dict[str, tuple[PermissionAsk, asyncio.Future[Verdict]]] = {}
        self._facts: dict[str, CallFacts] = {}
        self._questions: dict[str, tuple[Question, asyncio.Future[Reply]]] = {}

    @property
    def permissions(self) -> list[PermissionAsk]:
        return [ask for ask, _ in self._permissions.values()]

    @property
    def questions(self) -> list[Question]:
        return [question for question, _ in self._questions.values()]

    def open_permission(self, ask: PermissionAsk, facts: CallFacts | None = None) -> "asyncio.Future[Verdict]":
        """`facts` are those of the call that policy asks about, so that what is allowed meanwhile answers it too."""
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._permissions[ask.id] = (ask, future)
        if facts is not None:
            self._facts[ask.id] = facts
        future.add_done_callback(lambda _: self._forget(ask.id))
        return future

    def _forget(self, ask: str) -> None:
        self._permissions.pop(ask, None)
        self._facts.pop(ask, None)

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

    def open_question(self, question: Question) -> "asyncio.Future[Reply]":
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._questions[question.id] = (question, future)
        future.add_done_callback(lambda _: self._questions.pop(question.id, None))
        return future

    def answer_question(self, question: str, reply: Reply) -> None:
        _, future = self._questions.get(question, (None, None))
        if future is None or future.done():
            raise _nobody_waits()
        future.set_result(reply)


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
