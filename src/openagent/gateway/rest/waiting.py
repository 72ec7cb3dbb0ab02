"""What waits for a person, for programs: listed, streamed, and answered by its id."""

from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from openagent.gateway.rest.asking import Asking, json_response, new_op_id
from openagent.gateway.rest.decode import decode_body, decode_query, read_body
from openagent.gateway.rest.endpoint import Custom
from openagent.gateway.rest.events import EventLine, Head, event_stream, never
from openagent.gateway.rest.in_full import encode_full
from openagent.gateway.rest.problems import Refused
from openagent.protocol.conversation import AsksList, PendingAsks, PermissionAnswer, QuestionAnswer
from openagent.protocol.daemon import DaemonFollow
from openagent.protocol.op import Done, Op
from openagent.protocol.sessions import GrantScope

_HEARD = frozenset(("permission.requested", "permission.resolved", "question.asked", "question.answered"))


class AnswerBody(Struct, frozen=True, forbid_unknown_fields=True):
    """What to answer: a decision to a permission, words to a question."""

    decision: Literal["allow", "deny"] | None = None
    """Whether it may be done, where a permission is asked for."""
    scope: GrantScope = "once"
    """How long that holds."""
    reason: str = ""
    """Why, for the agent to read."""
    choice: str = ""
    """Which of the request's choices with this scope is meant, by its id; left out: the scope's own."""
    answer: str | None = None
    """What to tell the agent, where it asked a question."""


class Waiting:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def rows(self) -> list[Custom]:
        return [
            Custom(
                "GET", "/api/asks", "What waits for a person; with `Accept: text/event-stream`, as it comes.",
                self._list, scope="read", result=PendingAsks, streams=True,
                description="The stream begins with the event `asks`, which is the same list.",
            ),
            Custom(
                "POST", "/api/asks/{ask}", "Answer what an agent waits for.", self._answer, scope="read", status=204,
                path_types={"ask": Annotated[str, Meta(description="The request or question, by its id.")]},
                body=AnswerBody,
                description="A permission needs the scope `approve` (`admin` for `always`), a question `chat`.",
            ),
        ]  # fmt: skip

    async def _list(self, request: Request) -> Response:
        decode_query(request, None)
        if "text/event-stream" not in request.headers.get("accept", ""):
            return json_response(await self._pending(request))
        line = EventLine(self._asking.daemon, request.state.caller, interactive=False)
        try:
            await line.ask(DaemonFollow(id=new_op_id()))  # before they are read, so that none is missed between
            await line.next()
            first = encode_full(await self._pending(request))
        except BaseException:
            line.close()
            raise
        return event_stream(line, never, begins_with=("asks", first), only=_is_about_an_ask)

    async def _pending(self, request: Request) -> PendingAsks:
        return await self._asking.perform(request.state.caller, AsksList(id=new_op_id()))

    async def _answer(self, request: Request) -> Response:
        given = decode_body(request, await read_body(request), AnswerBody)
        name = request.path_params["ask"]
        pending = {each.id: each for each in (await self._pending(request)).asks}
        if name not in pending:
            raise Refused(
                404, "not_found", f"Nothing waits under {name!r}: it was answered already, or what asked has ended.",
                hint="`GET /api/asks` lists what waits.",
            )  # fmt: skip
        ask = pending[name]
        op: Op[Done]
        if ask.permission is not None:
            if given.decision is None or given.answer is not None:
                raise Refused(422, "invalid_argument", "A permission is asked for: give a `decision`, and no `answer`.")
            op = PermissionAnswer(
                id=new_op_id(), session=ask.session, ask=name, decision=given.decision, scope=given.scope,
                reason=given.reason, choice=given.choice,
            )  # fmt: skip
        else:
            if given.answer is None or given.decision is not None:
                raise Refused(422, "invalid_argument", "It is a question: give an `answer`, and no `decision`.")
            op = QuestionAnswer(id=new_op_id(), session=ask.session, question=name, answer=given.answer)
        await self._asking.perform(request.state.caller, op)
        return Response(status_code=204)


def _is_about_an_ask(head: Head) -> bool:
    return head.type in _HEARD or never(head)
