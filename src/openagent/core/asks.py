"""Things that wait for a person: permission requests and questions. The first answer wins."""

import asyncio

from msgspec import Struct

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.ops import PermissionAnswer
from openagent.protocol.sessions import PermissionAsk, Question


class Verdict(Struct, frozen=True):
    answer: PermissionAnswer
    by: str
    """The client that answered."""


class Reply(Struct, frozen=True):
    answer: str
    by: str
    op_id: str


class Asks:
    def __init__(self) -> None:
        self._permissions: dict[str, tuple[PermissionAsk, asyncio.Future[Verdict]]] = {}
        self._questions: dict[str, tuple[Question, asyncio.Future[Reply]]] = {}

    @property
    def permissions(self) -> list[PermissionAsk]:
        return [ask for ask, _ in self._permissions.values()]

    @property
    def questions(self) -> list[Question]:
        return [question for question, _ in self._questions.values()]

    def open_permission(self, ask: PermissionAsk) -> "asyncio.Future[Verdict]":
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._permissions[ask.id] = (ask, future)
        future.add_done_callback(lambda _: self._permissions.pop(ask.id, None))
        return future

    def answer_permission(self, answer: PermissionAnswer, by: str) -> None:
        _, future = self._permissions.get(answer.ask, (None, None))
        if future is None or future.done():
            raise _nobody_waits(answer.ask)
        future.set_result(Verdict(answer, by))

    def open_question(self, question: Question) -> "asyncio.Future[Reply]":
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._questions[question.id] = (question, future)
        future.add_done_callback(lambda _: self._questions.pop(question.id, None))
        return future

    def answer_question(self, question: str, reply: Reply) -> None:
        _, future = self._questions.get(question, (None, None))
        if future is None or future.done():
            raise _nobody_waits(question)
        future.set_result(reply)


def _nobody_waits(ask: str) -> OpenAgentError:
    return OpenAgentError(
        "conflict", f"Nothing waits for an answer under {ask!r}: it was answered already, or its turn has ended."
    )
