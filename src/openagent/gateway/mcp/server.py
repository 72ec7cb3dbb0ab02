"""The tools and resources themselves, on the official SDK. Loads the SDK: import it only to serve."""

import os
from collections.abc import AsyncGenerator, Mapping
from typing import Annotated, Any, Literal, cast

import msgspec
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context
from mcp_types import (
    CallToolResult,
    Completion,
    CompletionArgument,
    CompletionContext,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    PromptReference,
    Resource,
    ResourceTemplateReference,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    ToolAnnotations,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from openagent import __version__
from openagent.gateway.mcp.sessions import Ask, Awaited, Sessions, told_end, transcript
from openagent.gateway.mcp.watching import TRANSCRIPT, Watching
from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import Mode, PermissionAsk, SessionInfo, SettingsChange
from openagent.protocol.trace_context import read_traceparent

TRANSCRIPT_MESSAGES = 2000
_COMPLETIONS = 100
"""The most that the protocol lets one answer have."""
_INSTRUCTIONS = (
    "Each session is a coding agent with its own conversation and workspace. start_session, then send_message; it "
    "returns when the agent has answered, or when it waits for a permission or an answer."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

SessionId = Annotated[str, Field(description="As start_session or list_sessions gave it.")]
Result = CallToolResult | InputRequiredResult


def _caller(ctx: Context[Any, Any]) -> str:
    """The part of a trace that calls, where the client is in one."""
    meta: Mapping[str, Any] = ctx.request_context.meta or {}
    found = read_traceparent(str(meta.get("traceparent", "")))
    return found.traceparent if found else ""


class SessionServer(MCPServer[Any]):
    def __init__(self, sessions: Sessions) -> None:
        super().__init__(
            "openagent", title="OpenAgent", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
        )
        self._sessions = sessions
        self.watching = Watching(sessions)
        handle = self._lowlevel_server.add_request_handler
        handle("logging/setLevel", SetLevelRequestParams, self.watching.set_level)
        handle("resources/subscribe", SubscribeRequestParams, self.watching.subscribe)
        handle("resources/unsubscribe", UnsubscribeRequestParams, self.watching.unsubscribe)

    @property
    def protocol(self) -> Server[Any]:
        """For transports."""
        return self._lowlevel_server

    async def list_resources(self) -> list[Resource]:
        transcripts = [
            Resource(
                name=info.id,
                title=info.name or info.id,
                description=f"All that the session in {info.cwd} has said.",
                uri=TRANSCRIPT.format(session=info.id),
                mime_type="text/markdown",
            )
            for info in await self._sessions.list()
        ]
        return [*await super().list_resources(), *transcripts]


def build(sessions: Sessions) -> SessionServer:
    server = SessionServer(sessions)
    desk = Desk(sessions, server.watching)
    server.tool()(desk.start_session)
    server.tool()(desk.send_message)
    server.tool(annotations=_READS)(desk.list_sessions)
    server.tool(annotations=_READS)(desk.read_session)
    server.tool()(desk.cancel_turn)
    server.tool()(desk.answer_permission)
    server.tool()(desk.answer_question)
    server.resource(TRANSCRIPT, name="transcript", description="All a session has said.", mime_type="text/markdown")(
        desk.transcript
    )
    server.completion()(desk.complete)
    return server


class Desk:
    """Where other agents come with their wishes."""

    def __init__(self, sessions: Sessions, watching: Watching) -> None:
        self._sessions = sessions
        self._watching = watching

    async def start_session(
        self,
        cwd: Annotated[str, Field(description="The workspace, an absolute path. Here when left out.")] = "",
        name: str = "",
        model: Annotated[str, Field(description="provider/model; the configured one when left out.")] = "",
        mode: Annotated[
            Mode | None,
            Field(description="What it may do unasked; as configured when left out."),
        ] = None,
    ) -> CallToolResult:
        """Start a coding agent in a workspace. Returns its id."""
        settings = SettingsChange(model=model or msgspec.UNSET, mode=mode or msgspec.UNSET)
        try:
            return _told(_described(await self._sessions.start(cwd or os.getcwd(), name, settings)))
        except OpenAgentError as problem:
            return _refused(problem)

    async def send_message(self, session: SessionId, text: str, ctx: Context[Any, Any]) -> Result:
        """Give a session something to do and wait for its answer. Progress is reported meanwhile."""
        try:
            if ctx.request_state:
                return await self._go_on(ctx)
            found = await self._id(session)
            return await self._follow(ctx, self._sessions.send(found, text, caller=_caller(ctx)))
        except OpenAgentError as problem:
            return _refused(problem)

    async def list_sessions(
        self, cwd: Annotated[str, Field(description="Only those of this workspace.")] = "", limit: int = 50
    ) -> CallToolResult:
        """List sessions, the latest active first."""
        try:
            found = await self._sessions.list(cwd, max(1, min(limit, 200)))
        except OpenAgentError as problem:
            return _refused(problem)
        return _told({"sessions": [_described(info) for info in found]})

    async def read_session(
        self, session: SessionId, last: Annotated[int, Field(description="How many messages.")] = 20
    ) -> CallToolResult:
        """Read a session's last messages, and what it waits for."""
        try:
            info = await self._sessions.info(session)
            messages, ends = await self._sessions.messages(info.id, max(1, min(last, TRANSCRIPT_MESSAGES)))
            waiting = [_ask_told(ask) for ask in await self._sessions.open_asks(info.id)]
        except OpenAgentError as problem:
            return _refused(problem)
        return _told({**_described(info), "waiting_for": waiting}, transcript(info, messages, ends))

    async def cancel_turn(self, session: SessionId) -> CallToolResult:
        """Stop what a session is doing. What it has said and done stays."""
        try:
            was_running = await self._sessions.cancel(session)
        except OpenAgentError as problem:
            return _refused(problem)
        return _told({"was_running": was_running})

    async def answer_permission(
        self,
        session: SessionId,
        permission: Annotated[str, Field(description="Its id, as send_message told it.")],
        decision: Literal["allow", "deny"],
        ctx: Context[Any, Any],
    ) -> Result:
        """Allow, this once, or deny what a session asked to do, then wait for its answer as send_message does."""
        return await self._answer(ctx, session, permission, decision)

    async def answer_question(
        self,
        session: SessionId,
        question: Annotated[str, Field(description="Its id, as send_message told it.")],
        answer: str,
        ctx: Context[Any, Any],
    ) -> Result:
        """Answer what a session asked, then wait for its answer as send_message does."""
        return await self._answer(ctx, session, question, answer)

    async def transcript(self, session: str) -> str:
        info = await self._sessions.info(session)
        return transcript(info, *await self._sessions.messages(info.id, TRANSCRIPT_MESSAGES))

    async def complete(
        self,
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        """The sessions whose id begins so."""
        if not isinstance(ref, ResourceTemplateReference) or ref.uri != TRANSCRIPT or argument.name != "session":
            return None
        found = [info.id for info in await self._sessions.list() if info.id.startswith(argument.value)]
        return Completion(values=found[:_COMPLETIONS], total=len(found), has_more=len(found) > _COMPLETIONS)

    async def _id(self, session: str) -> str:
        return (await self._sessions.info(session)).id

    async def _answer(self, ctx: Context[Any, Any], session: str, ask: str, answer: str) -> Result:
        try:
            if ctx.request_state:
                return await self._go_on(ctx)
            session = await self._id(session)
            answers = [(await self._sessions.find_ask(session, ask), answer)]
            return await self._follow(ctx, self._sessions.answer_and_wait(Awaited(session), answers))
        except OpenAgentError as problem:
            return _refused(problem)

    # A turn

    async def _go_on(self, ctx: Context[Any, Any]) -> Result:
        """The client comes back with what its person said."""
        awaited = msgspec.json.decode(ctx.request_state or "", type=Awaited)
        still_open = {ask.id: ask for ask in await self._sessions.open_asks(awaited.session)}
        answers = [
            (still_open[ask], _answer_in(still_open[ask], reply))
            for ask, reply in (ctx.input_responses or {}).items()
            if ask in still_open and isinstance(reply, ElicitResult)
        ]
        return await self._follow(ctx, self._sessions.answer_and_wait(awaited, answers), awaited)

    async def _follow(
        self,
        ctx: Context[Any, Any],
        events: AsyncGenerator[e.AnyEvent | Awaited, None] | AsyncGenerator[e.AnyEvent, None],
        awaited: Awaited | None = None,
    ) -> Result:
        steps = 0
        async for event in events:
            match event:
                case Awaited():
                    awaited = event
                case e.ToolStarted():
                    steps += 1
                    said = f"{event.tool} {event.summary}".strip()[:200]
                    await ctx.report_progress(steps, message=said)
                    await self._watching.log(ctx.session, "info", said, ctx.request_id)
                case e.PermissionRequested() | e.QuestionAsked():
                    ask = event.ask if isinstance(event, e.PermissionRequested) else event.question
                    if result := await self._put(ctx, ask, awaited or Awaited(event.session)):
                        return result
                case e.TurnCompleted():
                    if event.error is not None:
                        await self._watching.log(ctx.session, "error", event.error.message, ctx.request_id)
                    return _ended(event)
                case e.SessionDeleted():
                    raise OpenAgentError("not_found", "The session was deleted.")
                case _:
                    pass
        return _told({"session": awaited.session if awaited else "", "reason": "idle"}, "No turn is running.")

    async def _put(self, ctx: Context[Any, Any], ask: Ask, awaited: Awaited) -> Result | None:
        """Ask the client's person, or tell that somebody has to be asked. None: it was answered, go on."""
        can = ctx.client_capabilities
        if can is None or can.elicitation is None:
            return _told({"session": awaited.session, "reason": "waiting", "waiting_for": [_ask_told(ask)]})
        message, schema = _form(ask)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            form = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))
            state = msgspec.json.encode(awaited).decode()
            return InputRequiredResult(input_requests={ask.id: form}, request_state=state)
        reply = await ctx.session.elicit_form(message, schema, ctx.request_id)
        try:
            await self._sessions.answer(awaited.session, ask, _answer_in(ask, reply))
        except OpenAgentError:
            return None  # answered elsewhere, or the turn has ended
        return None


def _form(ask: Ask) -> tuple[str, dict[str, Any]]:
    field: dict[str, Any] = {"type": "string", "title": "Answer"}
    if isinstance(ask, PermissionAsk):
        message = f"{ask.tool}: {ask.summary}\n{ask.risk} risk. {ask.reason}".strip()
        field |= {"title": "Decision", "enum": ["allow", "deny"]}
    else:
        message = ask.text
        field |= {"enum": ask.choices} if ask.choices else {}
    return message, {"type": "object", "properties": {"answer": field}, "required": ["answer"]}


def _answer_in(ask: Ask, reply: ElicitResult) -> str:
    """What a person said; turning away is a no."""
    said = str((reply.content or {}).get("answer", "")) if reply.action == "accept" else ""
    return said or ("deny" if isinstance(ask, PermissionAsk) else "The person did not answer.")


def _ask_told(ask: Ask) -> dict[str, Any]:
    if isinstance(ask, PermissionAsk):
        told = {"permission": ask.id, "tool": ask.tool, "wants": ask.summary, "risk": ask.risk, "reason": ask.reason}
        return {**told, "answer_with": "answer_permission"}
    return {"question": ask.id, "text": ask.text, "choices": ask.choices, "answer_with": "answer_question"}


def _ended(event: e.TurnCompleted) -> CallToolResult:
    told: dict[str, Any] = {
        "session": event.session,
        "reason": event.reason,
        "steps": event.steps,
        "cost_usd": None if event.unpriced and not event.cost_usd else event.cost_usd,
    }
    if event.error is not None:
        told["error"] = f"{event.error.message} {event.error.hint}".strip()
    how = "" if event.text and event.reason == "done" else told_end(event.ended)
    text = "\n\n".join(part for part in (event.text, how) if part)
    return _told(told, text, is_error=event.reason == "error")


def _described(info: SessionInfo) -> dict[str, Any]:
    return {
        "session": info.id,
        "name": info.name,
        "cwd": info.cwd,
        "model": info.model,
        "mode": info.settings.mode,
        "status": info.status,
        "messages": info.message_count,
    }


def _told(told: dict[str, Any], text: str = "", *, is_error: bool = False) -> CallToolResult:
    said = text or msgspec.json.encode(told).decode()
    content = cast("list[Any]", [TextContent(type="text", text=said)])
    return CallToolResult(content=content, structured_content=told, is_error=is_error)


def _refused(problem: OpenAgentError) -> CallToolResult:
    return _told({"code": problem.info.code}, str(problem), is_error=True)
