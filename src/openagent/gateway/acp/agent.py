"""The protocol's methods: sessions as an editor opens, prompts and cancels them."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from openagent import __version__
from openagent.gateway.acp import wire
from openagent.gateway.acp.asking import Asking
from openagent.gateway.acp.content import ReadBuffer, parts_of
from openagent.gateway.acp.feed import Feed, iso
from openagent.gateway.acp.options import change, config_options, session_state
from openagent.gateway.jsonrpc import Link
from openagent.gateway.jsonrpc_wire import INTERNAL_ERROR, INVALID_PARAMS, Later, Method, RpcError
from openagent.protocol import events as e
from openagent.protocol.conversation import AskAgain, MessageSend, MessagesPage, Sent, TurnCancel, TurnRetry
from openagent.protocol.customizing import CommandsList, SlashCommand
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpSessionServers
from openagent.protocol.messages import TextPart, UserPart
from openagent.protocol.models import ModelsList
from openagent.protocol.op import Op
from openagent.protocol.sessions import (
    AT_REST,
    Attached,
    EndedTurn,
    SessionAttach,
    SessionCreate,
    SessionDelete,
    SessionDetach,
    SessionFork,
    SessionGet,
    SessionInfo,
    SessionList,
    SessionUpdate,
    SettingsChange,
    Snapshot,
)

RESOURCE_NOT_FOUND = -32002
PAGE = 200
MODELS_SHOWN = 200
_STOP_REASONS: Mapping[str, str] = {
    "cancelled": "cancelled",
    "interrupted": "cancelled",
    "max_tokens": "max_tokens",
    "refused": "refusal",
    "step_limit": "max_turn_requests",
    "time_limit": "max_turn_requests",
    "loop": "max_turn_requests",
}


_RETRY = {"name": "retry", "description": "Continue a turn that failed or was stopped"}


def _op_for(parts: list[UserPart], op_id: str, session: str) -> Op[Sent]:
    """A prompt may be a command of ours."""
    match [part.text.strip() if isinstance(part, TextPart) else "" for part in parts]:
        case ["/ask-again"]:
            return AskAgain(id=op_id, session=session)
        case ["/retry"]:
            return TurnRetry(id=op_id, session=session)
        case _:
            return MessageSend(id=op_id, session=session, parts=parts)


def number_of(code: str) -> int:
    """-32000 means "log in to the agent first" here, and nothing the daemon says means that."""
    if code == "not_found":
        return RESOURCE_NOT_FOUND
    return INVALID_PARAMS if code == "invalid_argument" else INTERNAL_ERROR


_ASK_AGAIN = {"name": "ask-again", "description": "Be asked again what you did not answer in time."}


def _command(command: SlashCommand) -> dict[str, Any]:
    described = {"name": command.name, "description": command.description or command.source}
    return {**described, "input": {"hint": command.arguments}} if command.arguments else described


@dataclass
class _Prompt:
    op_id: str
    ended: "asyncio.Future[e.TurnCompleted]"
    turn: int = 0
    """0: it waits for another client's turn to end."""

    def end(self, completed: e.TurnCompleted) -> None:
        if not self.ended.done():
            self.ended.set_result(completed)


@dataclass
class _Open:
    """A session that the editor shows."""

    feed: Feed
    seq: int = 0
    prompts: list[_Prompt] = field(default_factory=list[_Prompt])
    unwanted: set[str] = field(default_factory=set[str])
    """Prompts that were cancelled before their turn began."""
    held: list[e.AnyEvent] | None = field(default_factory=list[e.AnyEvent])
    """What happens while the history is being replayed."""


class Agent:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._editor: wire.Editor
        self._can = wire.Capabilities()
        self._asking: Asking
        self._sessions: dict[str, _Open] = {}
        self._models: Sequence[str] = ()
        self._asked_for_models = False
        self._doing: set[asyncio.Task[None]] = set()
        self.name = "acp"
        self.methods: Mapping[str, Method] = {
            "initialize": Method(wire.Initialize, self._initialize),
            "authenticate": Method(wire.Authenticate, self._authenticate),
            "session/new": Method(wire.NewSession, self._new),
            "session/load": Method(wire.OpenSession, self._load),
            "session/resume": Method(wire.OpenSession, self._resume),
            "session/fork": Method(wire.OpenSession, self._fork),
            "session/list": Method(wire.ListSessions, self._list),
            "session/close": Method(wire.InSession, self._close),
            "session/delete": Method(wire.InSession, self._delete),
            "session/prompt": Method(wire.Prompt, self._prompt),
            "session/cancel": Method(wire.InSession, self._cancel),
            "session/set_mode": Method(wire.SetMode, self._set_mode),
            "session/set_config_option": Method(wire.SetOption, self._set_option),
            "$/cancel_request": Method(wire.CancelRequest, self._cancel_request),
        }

    def meet(self, editor: wire.Editor) -> None:
        self._editor = editor
        self._asking = Asking(self._link, editor, self._can)

    async def leave(self) -> None:
        """The editor has gone. Its turns go on; what they ask waits for the next client."""
        for task in self._doing:
            task.cancel()
        await asyncio.gather(self._asking.close(), *self._doing, return_exceptions=True)

    # Meeting

    async def _initialize(self, params: wire.Initialize) -> dict[str, Any]:
        self._can = params.client_capabilities or wire.Capabilities()
        self._asking = Asking(self._link, self._editor, self._can)
        if params.client_info and params.client_info.name:
            self.name = params.client_info.name
        return {
            "protocolVersion": wire.VERSION,
            "agentInfo": {"name": "openagent", "title": "OpenAgent", "version": __version__},
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": True},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
            },
            "authMethods": [],
        }

    async def _authenticate(self, params: wire.Authenticate) -> dict[str, Any]:
        raise RpcError(
            INVALID_PARAMS, "OpenAgent needs no login of its own. Keys for models are added with `openagent auth add`."
        )

    # Sessions

    async def _new(self, params: wire.NewSession) -> dict[str, Any]:
        op = SessionCreate(id=self._link.next_id(), cwd=params.cwd)
        info = await self._link.request(op)
        opened, _ = await self._enter(info)
        return {"sessionId": info.id, **await self._ready(opened, params.mcp_servers)}

    async def _load(self, params: wire.OpenSession) -> dict[str, Any]:
        opened, snapshot = await self._enter(await self._info(params.session_id), replay=True)
        opened.feed.plan(snapshot.plan)
        return await self._ready(opened, params.mcp_servers)

    async def _resume(self, params: wire.OpenSession) -> dict[str, Any]:
        opened, _ = await self._enter(await self._info(params.session_id))
        return await self._ready(opened, params.mcp_servers)

    async def _fork(self, params: wire.OpenSession) -> dict[str, Any]:
        op = SessionFork(id=self._link.next_id(), session=params.session_id)
        info = await self._link.request(op)
        opened, _ = await self._enter(info)
        return {"sessionId": info.id, **await self._ready(opened, params.mcp_servers)}

    async def _list(self, params: wire.ListSessions) -> dict[str, Any]:
        try:
            before = float(params.cursor) if params.cursor else None
        except ValueError:
            raise RpcError(INVALID_PARAMS, "The cursor is not one that was given out.") from None
        op = SessionList(id=self._link.next_id(), limit=PAGE, before=before, cwd=params.cwd or "", archived=False)
        page = await self._link.request(op)
        sessions = [
            {"sessionId": info.id, "cwd": info.cwd, "title": info.name, "updatedAt": iso(info.updated_at)}
            for info in page.sessions
            if info.parent is None
        ]
        return {"sessions": sessions, **({} if page.next is None else {"nextCursor": repr(page.next)})}

    async def _close(self, params: wire.InSession) -> dict[str, Any]:
        """What this editor began is cancelled; what another client is doing there goes on."""
        opened = self._sessions.get(params.session_id)
        if opened and opened.prompts:
            await self._stop(opened)
        if opened:
            del self._sessions[params.session_id]
            await self._pass_on(params.session_id, [])
            await self._link.request(SessionDetach(id=self._link.next_id(), session=params.session_id))
        return {}

    async def _delete(self, params: wire.InSession) -> dict[str, Any]:
        await self._pass_on(params.session_id, [])
        await self._link.request(SessionDelete(id=self._link.next_id(), session=params.session_id))
        self._forget(params.session_id)
        return {}

    async def _info(self, session: str) -> SessionInfo:
        return await self._link.request(SessionGet(id=self._link.next_id(), session=session))

    async def _enter(self, info: SessionInfo, *, replay: bool = False) -> tuple[_Open, Snapshot]:
        opened = self._sessions.get(info.id)
        if opened is None:
            opened = self._sessions[info.id] = _Open(Feed(info, self._editor, self._can, self._models))
        opened.held = []
        try:
            attach = SessionAttach(id=self._link.next_id(), session=info.id, messages=1)
            attached = await self._link.request(attach)
            assert attached.snapshot is not None
            opened.seq = attached.seq
            if replay:
                await self._replay(opened.feed, attached.snapshot)
        except BaseException:
            del self._sessions[info.id]
            raise
        held, opened.held = opened.held, None
        for event in held:
            self._take(opened, event)
        self._ask_open(opened, attached.snapshot)
        return opened, attached.snapshot

    async def _replay(self, feed: Feed, snapshot: Snapshot) -> None:
        last = snapshot.messages[-1].number if snapshot.messages else 0
        number = turn = 0
        ends: dict[int, EndedTurn] = {}
        while number < last:
            op = MessagesPage(id=self._link.next_id(), session=feed.info.id, after=number, limit=PAGE)
            page = await self._link.request(op)
            ends |= {end.turn: end for end in page.turns}
            for message in page.messages:
                if message.turn != turn and (end := ends.get(turn)):
                    feed.turn_ended(end)
                turn = message.turn
                if message.number <= last:
                    feed.message(message)
            number = page.messages[-1].number if page.messages else last
        if end := ends.get(turn):
            feed.turn_ended(end)
        if snapshot.live:
            feed.catch_up(snapshot.live)
        for event in (event for call in snapshot.running for event in e.events_of(call)):
            feed.show(event)

    def _ask_open(self, opened: _Open, snapshot: Snapshot) -> None:
        for ask in snapshot.permissions:
            self._asking.permission(opened.feed, ask)
        for question in snapshot.questions:
            self._asking.question(opened.feed, question)
        opened.feed.lapsed(snapshot.lapsed)

    async def _ready(self, opened: _Open, servers: Sequence[wire.McpServer] | None) -> dict[str, Any]:
        """A session's state for the reply; what else there is to know follows the reply."""
        if servers is not None:
            await self._pass_on(opened.feed.info.id, servers)
        self._do(self._introduce(opened))
        return session_state(opened.feed.info, self._models)

    async def _pass_on(self, session: str, servers: Sequence[wire.McpServer]) -> None:
        """The editor's servers are for this session alone, and only as long as it is open."""
        entries = dict(wire.server_entry(server) for server in servers)
        op = McpSessionServers(id=self._link.next_id(), session=session, servers=entries)
        await self._link.request(op)

    async def _introduce(self, opened: _Open) -> None:
        opened.feed.usage(opened.feed.info.usage)
        await self._find_commands(opened.feed)
        if not self._asked_for_models:
            self._asked_for_models = True
            await self._find_models(opened.feed.info.cwd)

    async def _find_commands(self, feed: Feed) -> None:
        try:
            found = await self._link.request(CommandsList(id=self._link.next_id(), cwd=feed.info.cwd))
        except OpenAgentError:
            return
        commands = [*(_command(each) for each in found.commands if each.name != _RETRY["name"]), _ASK_AGAIN, _RETRY]
        feed.update("available_commands_update", availableCommands=commands)

    async def _find_models(self, cwd: str) -> None:
        try:
            found = await self._link.request(ModelsList(id=self._link.next_id(), cwd=cwd))
        except OpenAgentError:
            self._asked_for_models = False
            return
        self._models = [model.name for model in found.models[:MODELS_SHOWN]]
        for opened in self._sessions.values():
            opened.feed.models = self._models
            opened.feed.options()

    async def _set_mode(self, params: wire.SetMode) -> dict[str, Any]:
        await self._update(params.session_id, change("mode", params.mode_id))
        return {}

    async def _set_option(self, params: wire.SetOption) -> dict[str, Any]:
        info = await self._update(params.session_id, change(params.config_id, params.value))
        return {"configOptions": config_options(info, self._models)}

    async def _update(self, session: str, settings: SettingsChange) -> SessionInfo:
        op = SessionUpdate(id=self._link.next_id(), session=session, settings=settings)
        return await self._link.request(op)

    # Turns

    async def _prompt(self, params: wire.Prompt) -> Later:
        opened = self._sessions.get(params.session_id)
        if opened is None:
            opened, _ = await self._enter(await self._info(params.session_id))
        return Later(self._turn(opened, params))

    async def _turn(self, opened: _Open, params: wire.Prompt) -> dict[str, Any]:
        session = opened.feed.info.id
        prompt = _Prompt(self._link.next_id(), asyncio.get_running_loop().create_future())
        opened.prompts.append(prompt)
        opened.feed.own_ops.add(prompt.op_id)
        try:
            parts = await parts_of(params.prompt, self._reader(session) if self._can.reads_files else None)
            sent = await self._link.request(_op_for(parts, prompt.op_id, session))
            prompt.turn = prompt.turn or sent.turn
            completed = await prompt.ended
        except asyncio.CancelledError:
            self._do(self._stop(opened))
            raise
        finally:
            opened.prompts.remove(prompt)
        if completed.error is not None and completed.reason == "error":
            error = completed.error
            raise RpcError(INTERNAL_ERROR, f"{error.message} {error.hint}".strip(), msgspec.to_builtins(error))
        return {"stopReason": _STOP_REASONS.get(completed.reason, "end_turn")}

    def _reader(self, session: str) -> ReadBuffer:
        async def read(path: str) -> str | None:
            try:
                reply = await self._editor.request("fs/read_text_file", {"sessionId": session, "path": path})
            except RpcError:
                return None
            content = cast("dict[str, Any]", reply).get("content") if isinstance(reply, dict) else None
            return content if isinstance(content, str) else None

        return read

    async def _cancel(self, params: wire.InSession) -> None:
        if opened := self._sessions.get(params.session_id):
            await self._stop(opened)

    async def _cancel_request(self, params: wire.CancelRequest) -> None:
        self._editor.cancel(params.request_id)

    async def _stop(self, opened: _Open) -> None:
        """End the turn that runs, unless it is another client's and this editor's own prompts wait behind it."""
        waiting = [prompt for prompt in opened.prompts if not prompt.turn]
        opened.unwanted |= {prompt.op_id for prompt in waiting}
        running = len(waiting) < len(opened.prompts) or not waiting
        for prompt in waiting:
            prompt.end(e.TurnCompleted(turn=0, reason="cancelled"))
        if running:
            await self._cancel_turn(opened.feed.info.id)

    async def _cancel_turn(self, session: str) -> None:
        try:
            await self._link.request(TurnCancel(id=self._link.next_id(), session=session))
        except OpenAgentError:
            return  # the session or the daemon has gone, and the turn with it

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)

    # Events

    def show(self, event: e.AnyEvent) -> None:
        opened = self._sessions.get(event.session)
        if opened is None:
            return
        if opened.held is not None:
            opened.held.append(event)
        else:
            self._take(opened, event)

    def _take(self, opened: _Open, event: e.AnyEvent) -> None:
        if type(event).durable:
            if event.seq <= opened.seq:
                return
            opened.seq = event.seq
        match event:
            case e.PermissionRequested():
                self._asking.permission(opened.feed, event.ask)
            case e.QuestionAsked():
                self._asking.question(opened.feed, event.question)
            case e.PermissionResolved():
                self._asking.settled(event.ask_id)
                opened.feed.settled(event)
            case e.QuestionAnswered():
                self._asking.settled(event.question_id)
            case e.TurnStarted():
                self._turn_started(opened, event)
            case e.SessionDeleted():
                self._forget(event.session)
            case _:
                opened.feed.show(event)
        if isinstance(event, e.TurnCompleted):
            for prompt in opened.prompts:
                if prompt.op_id == event.op_id or (prompt.turn and prompt.turn == event.turn):
                    prompt.end(event)

    def _turn_started(self, opened: _Open, event: e.TurnStarted) -> None:
        for prompt in opened.prompts:
            if prompt.op_id == event.op_id:
                prompt.turn = event.turn
        if event.op_id in opened.unwanted:
            opened.unwanted.discard(event.op_id)
            self._do(self._cancel_turn(event.session))

    def _forget(self, session: str) -> None:
        opened = self._sessions.pop(session, None)
        for prompt in opened.prompts if opened else ():
            if not prompt.ended.done():
                prompt.ended.set_exception(OpenAgentError("not_found", f"The session {session} was deleted."))

    # A connection to the daemon made anew

    def attachments(self) -> list[SessionAttach]:
        return [
            SessionAttach(id=self._link.next_id(), session=session, after=opened.seq, messages=1)
            for session, opened in self._sessions.items()
        ]

    def attached_again(self, attached: Attached) -> None:
        """Mostly the missed events follow. Where there is a snapshot in their place, turns may have ended unseen."""
        opened = self._sessions.get(attached.session)
        if opened is None or attached.snapshot is None:
            return
        opened.seq = attached.seq
        if attached.snapshot.info.status in AT_REST:
            for prompt in opened.prompts:
                prompt.end(e.TurnCompleted(turn=prompt.turn, reason="interrupted"))
        self._ask_open(opened, attached.snapshot)

    def gone(self, session: str) -> None:
        self._forget(session)
