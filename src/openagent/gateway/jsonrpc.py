"""OpenAgent's methods and notifications for JSON-RPC: ops and events in the form that a simple client wants.

A client need not name a session: methods without one mean the session that was created, loaded or used last.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Struct

from openagent.gateway.jsonrpc_wire import INVALID_PARAMS, REFUSED, Later, Method, RpcError
from openagent.protocol import conversation, sessions
from openagent.protocol import events as e
from openagent.protocol.conversation import MessageSend, TurnCancel
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.messages import Message, ToolResultPart
from openagent.protocol.op import Op
from openagent.protocol.sessions import (
    Mode,
    PermissionAsk,
    SessionAttach,
    SessionDelete,
    SessionGet,
    SessionInfo,
    SessionList,
    SessionUpdate,
    SettingsChange,
)
from openagent.protocol.tools import ToolRun, ToolsList
from openagent.protocol.usage import SessionUsage

R = TypeVar("R", bound=Struct)
Notify = Callable[[str, Mapping[str, Any]], None]
PAGE = 200


class Link(Protocol):
    """A connection to the daemon."""

    def next_id(self) -> str: ...

    async def request(self, op: Op[R]) -> R: ...


class InSession(Struct, forbid_unknown_fields=True):
    session: str = ""


class Nothing(Struct, forbid_unknown_fields=True):
    pass


class ChatSend(Struct, forbid_unknown_fields=True):
    message: str
    session: str = ""


class SessionCreate(Struct, forbid_unknown_fields=True):
    name: str | None = None
    codebase_path: str | None = None
    model: str = ""
    mode: Mode | None = None


class SessionId(Struct, forbid_unknown_fields=True):
    id: str


class SetBudget(Struct, forbid_unknown_fields=True):
    tokens: int | None
    session: str = ""


class ToolsCall(Struct, forbid_unknown_fields=True):
    name: str
    params: dict[str, Any] = {}
    session: str = ""


class PermissionAnswer(Struct, forbid_unknown_fields=True):
    id: str
    decision: Literal["allow", "deny"]
    scope: Literal["once", "session", "always"] = "once"
    reason: str = ""
    session: str = ""
    choice: str = ""
    """One of the request's `choices` with this scope; left out: the scope's own."""


class QuestionAnswer(Struct, forbid_unknown_fields=True):
    id: str
    answer: str
    session: str = ""


class Bridge:
    def __init__(self, link: Link, cwd: str) -> None:
        """`cwd` is the workspace of a session that is created without one."""
        self._link = link
        self._cwd = cwd
        self._current = ""
        self._attached: set[str] = set()
        self._turns: dict[str, tuple[str, asyncio.Future[e.TurnCompleted]]] = {}
        """Turns that somebody waits for, by the op that sent their message."""
        self._asks: dict[str, str] = {}
        """Permission requests without an answer, and whose they are."""
        self._nobody_answers = False
        self._denying: set[asyncio.Task[None]] = set()
        self.methods: Mapping[str, Method] = {
            "chat.send": Method(ChatSend, self._chat_send),
            "chat.cancel": Method(InSession, self._chat_cancel),
            "session.create": Method(SessionCreate, self._session_create),
            "session.load": Method(SessionId, self._session_load),
            "session.list": Method(Nothing, self._session_list),
            "session.delete": Method(SessionId, self._session_delete),
            "tokens.get": Method(InSession, self._tokens_get),
            "tokens.set_budget": Method(SetBudget, self._tokens_set_budget),
            "tools.list": Method(InSession, self._tools_list),
            "tools.call": Method(ToolsCall, self._tools_call),
            "permission.answer": Method(PermissionAnswer, self._permission_answer),
            "question.answer": Method(QuestionAnswer, self._question_answer),
        }

    # Methods

    async def _chat_send(self, params: ChatSend) -> Later:
        session = await self._enter(params.session, create=True)
        op = MessageSend(id=self._link.next_id(), session=session, text=params.message)
        ended: asyncio.Future[e.TurnCompleted] = asyncio.get_running_loop().create_future()
        self._turns[op.id] = (session, ended)
        try:
            await self._link.request(op)
        except BaseException:
            del self._turns[op.id]
            raise
        return Later(self._turn_result(session, ended))

    async def _turn_result(self, session: str, ended: "asyncio.Future[e.TurnCompleted]") -> dict[str, Any]:
        completed = await ended
        if completed.error is not None and completed.reason == "error":
            data = {**msgspec.to_builtins(completed.error), "session": session, "turn": completed.turn}
            raise RpcError(REFUSED, f"{completed.error.message} {completed.error.hint}".strip(), data)
        return _turn(completed)

    async def _chat_cancel(self, params: InSession) -> bool:
        op = TurnCancel(id=self._link.next_id(), session=self._named(params.session))
        return (await self._link.request(op)).was_running

    async def _session_create(self, params: SessionCreate) -> dict[str, Any]:
        settings = SettingsChange(model=params.model or UNSET, mode=params.mode or UNSET)
        op = sessions.SessionCreate(
            id=self._link.next_id(), name=params.name or "", cwd=params.codebase_path or self._cwd, settings=settings
        )
        info = await self._link.request(op)
        await self._enter(info.id)
        return _session(info)

    async def _session_load(self, params: SessionId) -> dict[str, Any]:
        return _session(await self._info(await self._enter(params.id)))

    async def _session_list(self, params: Nothing) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        before: float | None = None
        while True:
            op = SessionList(id=self._link.next_id(), limit=PAGE, before=before)
            page = await self._link.request(op)
            found += map(_session, page.sessions)
            before = page.next
            if before is None:
                return found

    async def _session_delete(self, params: SessionId) -> bool:
        info = await self._info(params.id)
        await self._link.request(SessionDelete(id=self._link.next_id(), session=info.id))
        self._forget(info.id)
        return True

    async def _tokens_get(self, params: InSession) -> dict[str, Any]:
        info = await self._info(self._named(params.session))
        used, budget = info.usage.tokens, info.cap_tokens
        total = used.input_tokens + used.output_tokens
        return {
            "session": info.id,
            "total_tokens": total,
            "total_input": used.input_tokens,
            "total_output": used.output_tokens,
            "total_cost": info.usage.cost_usd,
            "request_count": info.usage.requests,
            "budget": budget,
            "budget_remaining": None if budget is None else max(0, budget - total),
        }

    async def _tokens_set_budget(self, params: SetBudget) -> bool:
        if params.tokens is not None and params.tokens < 0:
            raise RpcError(INVALID_PARAMS, "A budget is not negative.")
        op = SessionUpdate(
            id=self._link.next_id(),
            session=self._named(params.session),
            settings=SettingsChange(budget_tokens=params.tokens),
        )
        await self._link.request(op)
        return True

    async def _tools_list(self, params: InSession) -> list[dict[str, Any]]:
        op = ToolsList(id=self._link.next_id(), session=params.session or self._current)
        tools = (await self._link.request(op)).tools
        return [{name: getattr(tool, name) for name in tool.__struct_fields__} for tool in tools]

    async def _tools_call(self, params: ToolsCall) -> Later:
        session = await self._enter(params.session, create=True)
        op = ToolRun(id=self._link.next_id(), session=session, tool=params.name, arguments=params.params)
        return Later(self._tool_result(op))

    async def _tool_result(self, op: ToolRun) -> dict[str, Any]:
        ran = await self._link.request(op)
        return {"text": ran.text, "is_error": ran.is_error, "display": ran.display}

    async def _permission_answer(self, params: PermissionAnswer) -> bool:
        op = conversation.PermissionAnswer(
            id=self._link.next_id(),
            session=params.session or self._asks.get(params.id) or self._named(""),
            ask=params.id,
            decision=params.decision,
            scope=params.scope,
            reason=params.reason,
            choice=params.choice,
        )
        await self._link.request(op)
        return True

    async def _question_answer(self, params: QuestionAnswer) -> bool:
        session = self._named(params.session)
        op = conversation.QuestionAnswer(
            id=self._link.next_id(), session=session, question=params.id, answer=params.answer
        )
        await self._link.request(op)
        return True

    # Sessions

    async def _enter(self, session: str, *, create: bool = False) -> str:
        """The session's full id. From here on its events arrive, and it is the one meant when none is named."""
        session = session or self._current
        if not session and create:
            op = sessions.SessionCreate(id=self._link.next_id(), cwd=self._cwd)
            session = (await self._link.request(op)).id
        if session not in self._attached:
            attach = SessionAttach(id=self._link.next_id(), session=session, messages=0)
            session = (await self._link.request(attach)).session
            self._attached.add(session)
        self._current = session
        return session

    def _named(self, session: str) -> str:
        if named := session or self._current:
            return named
        raise RpcError(INVALID_PARAMS, "There is no session yet: create or load one, or name it in `session`.")

    async def _info(self, session: str) -> SessionInfo:
        return await self._link.request(SessionGet(id=self._link.next_id(), session=session))

    def _forget(self, session: str) -> None:
        self._attached.discard(session)
        if self._current == session:
            self._current = ""
        gone = OpenAgentError("not_found", f"The session {session} was deleted.")
        for owner, ended in list(self._turns.values()):
            if owner == session and not ended.done():
                ended.set_exception(gone)

    # Events

    def show(self, event: e.AnyEvent, notify: Notify) -> None:
        if isinstance(event, e.TurnCompleted):
            self._turn_ended(event)
        elif isinstance(event, e.SessionDeleted):
            self._forget(event.session)
        elif isinstance(event, e.PermissionRequested):
            self._asks[event.ask.id] = event.session
        elif isinstance(event, e.PermissionResolved):
            self._asks.pop(event.ask_id, None)
        if notification := notification_of(event):
            method, params = notification
            notify(method, {"session": event.session, **params} if event.session else params)
        if self._nobody_answers:
            self._deny_all()

    def _turn_ended(self, event: e.TurnCompleted) -> None:
        _, ended = self._turns.pop(event.op_id, ("", None))
        if ended is not None and not ended.done():
            ended.set_result(event)

    def input_ended(self) -> None:
        """Nobody is left to answer permission requests: what waits for one is denied, so that turns can end."""
        self._nobody_answers = True
        self._deny_all()

    def _deny_all(self) -> None:
        while self._asks:
            ask, session = self._asks.popitem()
            denying = asyncio.create_task(self._deny(ask, session))
            self._denying.add(denying)
            denying.add_done_callback(self._denying.discard)

    async def _deny(self, ask: str, session: str) -> None:
        reason = "The client's input has ended, so that nobody can answer."
        op = conversation.PermissionAnswer(
            id=self._link.next_id(), session=session, ask=ask, decision="deny", reason=reason
        )
        try:
            await self._link.request(op)
        except OpenAgentError:
            return  # somebody else answered, or the turn has ended

    def connection_lost(self, reason: OpenAgentError, notify: Notify) -> None:
        notify("error", _error(reason.info))
        for _, ended in self._turns.values():
            if not ended.done():
                ended.set_exception(reason)


def notification_of(event: e.AnyEvent) -> tuple[str, dict[str, Any]] | None:
    name, params_of = _NOTIFICATIONS.get(type(event), ("", None))
    params = params_of(event) if params_of else None
    return None if params is None else (name, params)


def _session(info: SessionInfo) -> dict[str, Any]:
    return {
        "id": info.id,
        "name": info.name,
        "codebase_path": info.cwd,
        "created_at": info.created_at,
        "last_accessed": info.updated_at,
        "metadata": {
            "status": info.status,
            "model": info.model,
            "mode": info.settings.mode,
            "message_count": info.message_count,
            "turn_count": info.turn_count,
            "forked_from": info.forked_from,
        },
    }


def _turn(event: e.TurnCompleted) -> dict[str, Any]:
    return {
        "session": event.session,
        "turn": event.turn,
        "reason": event.reason,
        "text": event.text,
        "steps": event.steps,
        "input": event.usage.input_tokens,
        "output": event.usage.output_tokens,
        "cost": None if event.unpriced and not event.cost_usd else event.cost_usd,
        "unpriced": event.unpriced,
        "duration_ms": event.duration_ms,
        "by": event.by,
        "error": _error(event.error) if event.error else None,
    }


def _tokens(usage: SessionUsage) -> dict[str, Any]:
    used = usage.tokens
    return {
        "total": used.input_tokens + used.output_tokens,
        "input": used.input_tokens,
        "output": used.output_tokens,
        "cost": usage.cost_usd,
    }


def _tool_result(message: Message) -> dict[str, Any] | None:
    result = next((part for part in message.parts if isinstance(part, ToolResultPart)), None)
    if result is None:
        return None
    return {
        "id": result.call_id,
        "name": result.name,
        "result": result.text,
        "is_error": result.is_error,
        "ended": result.ended,
        "reason": result.reason,
        "display": result.display,
        "duration_ms": result.duration_ms,
    }


def _ask(ask: PermissionAsk) -> dict[str, Any]:
    return {
        "id": ask.id,
        "call_id": ask.call_id,
        "name": ask.tool,
        "params": ask.arguments,
        "summary": ask.summary,
        "risk": ask.risk,
        "reason": ask.reason,
        "choices": [msgspec.structs.asdict(choice) for choice in ask.choices],
    }


def _error(error: ErrorInfo) -> dict[str, Any]:
    return {name: getattr(error, name) for name in error.__struct_fields__}


_NOTIFICATIONS: Mapping[type[e.Event], tuple[str, Callable[[Any], dict[str, Any] | None]]] = {
    e.TextDelta: ("response_chunk", lambda event: {"chunk": event.text}),
    e.ThinkingDelta: ("thinking_chunk", lambda event: {"chunk": event.text}),
    e.ToolStarted: (
        "tool_call",
        lambda event: {"id": event.call_id, "name": event.tool, "params": event.arguments},
    ),
    e.MessageAdded: ("tool_result", lambda event: _tool_result(event.message)),
    e.UsageUpdated: ("token_update", lambda event: _tokens(event.usage)),
    e.TurnCompleted: ("turn_completed", _turn),
    e.PermissionRequested: ("permission_requested", lambda event: _ask(event.ask)),
    e.PermissionResolved: (
        "permission_resolved",
        lambda event: {"id": event.ask_id, "decision": event.decision, "by": event.by},
    ),
    e.QuestionAsked: ("question_asked", lambda event: msgspec.structs.asdict(event.question)),
    e.RetryScheduled: ("retry_scheduled", lambda event: {"delay_s": event.delay_s, **_error(event.error)}),
    e.ErrorRaised: ("error", lambda event: _error(event.error)),
}
