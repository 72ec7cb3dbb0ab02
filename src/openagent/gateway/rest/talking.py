"""Addresses that are more than an op: messages and events, settings with their version, a command, a few old names."""

from typing import Annotated, TypeVar

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from openagent.daemon.callers import Caller
from openagent.daemon.settings_version import settings_version
from openagent.gateway.rest.asking import Asking, json_response, new_op_id
from openagent.gateway.rest.decode import decode_body, decode_query, read_body
from openagent.gateway.rest.endpoint import Custom
from openagent.gateway.rest.events import EventLine, TurnEnd, event_stream, never
from openagent.gateway.rest.problems import Refused
from openagent.protocol.conversation import MessageSend, Sent
from openagent.protocol.daemon import DaemonFollow
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpList, McpServerInfo
from openagent.protocol.messages import UserPart
from openagent.protocol.op import Op
from openagent.protocol.sessions import SessionAttach, SessionGet, SessionInfo, SessionUpdate, Settings, SettingsChange
from openagent.protocol.templates import Template, TemplateInfo, TemplatesList, TemplatesSave
from openagent.protocol.usage import UsageAsk, UsageReport
from openagent.protocol.workspaces import WorkspaceBackup, WorkspacesBackup, WorkspacesList

R = TypeVar("R", bound=Struct)
_SESSION = {"id": Annotated[str, Meta(description="The session, by its id or the beginning of it.")]}
_COPY = {"id": Annotated[str, Meta(description="The copy, by its id or name.")]}
_SERVER = {"name": Annotated[str, Meta(description="The MCP server, by its name.")]}
_ETAG = {"If-None-Match": "Answers 304 when nothing has changed since."}
_MATCH = {"If-Match": "The version that is changed, as `ETag` told it; `*` for any."}


class MessageBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A message to send."""

    text: str = ""
    """What to say."""
    parts: list[UserPart] = []
    """Text and images; `text` is put before them."""
    interactive: bool = False
    """While events are streamed, somebody with the scope `approve` is there to answer what the agent asks."""


class EventsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Where to go on."""

    after: int | None = None
    """Only what came after this number; also as `Last-Event-ID`."""


class BackupBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Where to back up to."""

    archive: str
    """An absolute path on the daemon's machine."""


class PromptBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A system prompt to keep."""

    name: str
    """The template's name."""
    prompt: str
    """The system prompt."""
    description: str = ""
    """When to use it, in a sentence."""


class SystemPrompt(Struct, frozen=True):
    """A template's system prompt."""

    name: str
    """The template's name."""
    prompt: str
    """The system prompt."""
    source: str
    """Where the template comes from."""


class SystemPrompts(Struct, frozen=True):
    """The templates' system prompts."""

    prompts: list[SystemPrompt]
    """One for each template."""


class Talking:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def rows(self) -> list[Custom]:
        key = {"Idempotency-Key": "Makes a repeated request answer as the first did."}
        return [
            Custom(
                "POST", "/api/agents/{id}/message", "Send a message; with `Accept: text/event-stream`, hear the turn.",
                self._message, scope="chat", status=202, path_types=_SESSION, body=MessageBody, result=Sent,
                streams=True, headers=key,
            ),
            Custom(
                "GET", "/api/agents/{id}/events", "An agent's events as they happen.", self._events, scope="read",
                path_types=_SESSION, query=EventsQuery, streams=True,
            ),
            Custom("GET", "/api/events", "What happens in all agents.", self._overview, scope="read", streams=True),
            Custom(
                "GET", "/api/agents/{id}/settings", "An agent's settings.", self._settings, scope="read",
                path_types=_SESSION, result=Settings, headers=_ETAG, refusals=(304,),
            ),
            Custom(
                "PATCH", "/api/agents/{id}/settings", "Change some of an agent's settings.", self._change_settings,
                scope="chat", path_types=_SESSION, body=SettingsChange, result=Settings, headers=_MATCH,
                refusals=(412, 428),
            ),
            Custom(
                "GET", "/api/mcp/servers/{name}", "One MCP server.", self._server, scope="read",
                path_types=_SERVER, result=McpServerInfo,
            ),
            Custom(
                "POST", "/api/workspaces/{id}/backup", "Back a copy up.", self._backup, scope="admin",
                path_types=_COPY, body=BackupBody, result=WorkspaceBackup, headers=key,
            ),
            Custom(
                "GET", "/api/config/system-prompts", "The templates' system prompts.", self._prompts, scope="read",
                result=SystemPrompts,
            ),
            Custom(
                "POST", "/api/config/system-prompts", "Keep a system prompt, as a template.", self._add_prompt,
                scope="admin", status=201, body=PromptBody, result=SystemPrompt, headers=key,
            ),
            Custom(
                "GET", "/api/metrics/openai-usage", "What OpenAI's models were used for.", self._openai_usage,
                scope="read", result=UsageReport,
            ),
        ]  # fmt: skip

    async def _perform(self, request: Request, op: Op[R]) -> R:
        return await self._asking.perform(request.state.caller, op)

    async def _message(self, request: Request) -> Response:
        body = await read_body(request)
        given = decode_body(request, body, MessageBody)
        op = MessageSend(id=new_op_id(), session=_session(request), text=given.text, parts=given.parts)
        if "text/event-stream" not in request.headers.get("accept", ""):
            return await self._asking.once(request, body, lambda: self._send(request, op))
        return await self._stream_turn(request, op, interactive=given.interactive)

    async def _send(self, request: Request, op: MessageSend) -> Response:
        return json_response(await self._perform(request, op), 202)

    async def _stream_turn(self, request: Request, op: MessageSend, *, interactive: bool) -> Response:
        caller: Caller = request.state.caller
        caller.check(op)
        line = EventLine(self._asking.daemon, caller, interactive=interactive)
        try:
            await line.ask(SessionAttach(id=new_op_id(), session=op.session, messages=0))
            await line.next()
            sent = await self._asking.perform(caller, op)
        except BaseException:
            line.close()
            raise
        return event_stream(line, TurnEnd(op, sent.turn))

    async def _events(self, request: Request) -> Response:
        given = decode_query(request, EventsQuery)
        last = request.headers.get("last-event-id", "")
        after = given.after if given is not None and given.after is not None else None
        if after is None and last.isascii() and last.isdigit():
            after = int(last[:15])
        line = EventLine(self._asking.daemon, request.state.caller, interactive=False)
        return await self._open(line, SessionAttach(id=new_op_id(), session=_session(request), after=after))

    async def _overview(self, request: Request) -> Response:
        decode_query(request, None)
        line = EventLine(self._asking.daemon, request.state.caller, interactive=False)
        return await self._open(line, DaemonFollow(id=new_op_id()))

    async def _open(self, line: EventLine, op: SessionAttach | DaemonFollow) -> Response:
        try:
            await line.ask(op)
        except BaseException:
            line.close()
            raise
        return event_stream(line, never)

    async def _settings(self, request: Request) -> Response:
        decode_query(request, None)
        info = await self._perform(request, SessionGet(id=new_op_id(), session=_session(request)))
        tag = _tag(info)
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag})
        return _with_tag(info)

    async def _change_settings(self, request: Request) -> Response:
        change = decode_body(request, await read_body(request), SettingsChange)
        given = request.headers.get("if-match", "").strip()
        if not given:
            raise Refused(
                428, "version_needed", "The change does not say which version it is meant for.",
                hint="Send the `ETag` of the settings as `If-Match`, or `*`.",
            )  # fmt: skip
        expected = "" if given == "*" else given.removeprefix("W/").strip('"') or "-"
        op = SessionUpdate(id=new_op_id(), session=_session(request), settings=change, expected=expected)
        try:
            return _with_tag(await self._perform(request, op))
        except OpenAgentError as problem:
            if problem.info.code == "conflict" and expected:
                raise Refused(412, "changed_since", problem.info.message, hint=problem.info.hint) from None
            raise

    async def _server(self, request: Request) -> Response:
        decode_query(request, None)
        name = request.path_params["name"]
        servers = await self._perform(request, McpList(id=new_op_id()))
        for server in servers.servers:
            if server.name == name:
                return json_response(server)
        raise Refused(404, "not_found", f"There is no MCP server {name!r}.")

    async def _backup(self, request: Request) -> Response:
        body = await read_body(request)
        given = decode_body(request, body, BackupBody)
        copies = await self._perform(request, WorkspacesList(id=new_op_id()))
        found = [copy for copy in copies.copies if request.path_params["id"] in (copy.id, copy.name)]
        if not found:
            raise Refused(404, "not_found", f"There is no workspace {request.path_params['id']!r}.")
        op = WorkspacesBackup(id=new_op_id(), cwd=found[0].path, archive=given.archive)

        async def back_up() -> Response:
            return json_response(await self._perform(request, op))

        return await self._asking.once(request, body, back_up)

    async def _prompts(self, request: Request) -> Response:
        decode_query(request, None)
        listed = await self._perform(request, TemplatesList(id=new_op_id()))
        return json_response(SystemPrompts([_prompt(info) for info in listed.templates]))

    async def _add_prompt(self, request: Request) -> Response:
        body = await read_body(request)
        given = decode_body(request, body, PromptBody)
        template = Template(name=given.name, prompt=given.prompt, description=given.description)

        async def add() -> Response:
            return json_response(
                _prompt(await self._perform(request, TemplatesSave(id=new_op_id(), template=template))), 201
            )

        return await self._asking.once(request, body, add)

    async def _openai_usage(self, request: Request) -> Response:
        decode_query(request, None)
        report = await self._perform(request, UsageAsk(id=new_op_id()))
        rows = [row for row in report.rows if row.key.startswith(("openai/", "azure/"))]
        return json_response(UsageReport(report.by, rows, report.total))


def _session(request: Request) -> str:
    return request.path_params["id"]


def _tag(info: SessionInfo) -> str:
    return f'"{settings_version(info.settings)}"'


def _with_tag(info: SessionInfo) -> Response:
    response = json_response(info.settings)
    response.headers["ETag"] = _tag(info)
    return response


def _prompt(info: TemplateInfo) -> SystemPrompt:
    return SystemPrompt(info.template.name, info.template.prompt, info.source)
