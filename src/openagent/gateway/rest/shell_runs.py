"""Commands that a program has run: started with one request, asked after with others."""

import asyncio
import contextlib
import time
from collections import OrderedDict
from typing import Annotated, Literal
from uuid import uuid4

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from openagent.daemon.callers import Caller
from openagent.gateway.rest.asking import Asking, json_response, new_op_id
from openagent.gateway.rest.decode import decode_body, decode_query, read_body
from openagent.gateway.rest.endpoint import Custom
from openagent.gateway.rest.events import EventLine
from openagent.gateway.rest.problems import Refused
from openagent.protocol.codec import decode_event
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import PermissionRequested, PermissionResolved, ToolOutput, ToolStarted
from openagent.protocol.sessions import PermissionAsk, SessionAttach, SessionGet
from openagent.protocol.tools import ToolRan, ToolRun

MOST_KEPT = 200
"""Runs that ended and can still be asked after."""
MOST_PRINTED = 1_000_000
"""Characters of each stream. What a command prints beyond it is in the file that `text` names."""
_KNOWN_AFTER_S = 5.0
"""A run is decided on within milliseconds; who starts one hears what was decided."""
RunState = Literal["starting", "waiting_approval", "running", "ended"]
Wait = Annotated[float, Meta(ge=0, le=600)]


class ShellBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A command to run."""

    command: str
    """The command, as one would type it."""


class WaitQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How long to wait."""

    wait: Wait = 0.0
    """Seconds that its end is waited for, at most. Who starts a run that waits for approval hears of that at once."""


class ShellRun(Struct, frozen=True):
    """A command, and how far it is."""

    id: str
    """What to ask after it by; its events carry it as `call_id`."""
    session: str
    """The session it runs in."""
    command: str
    """The command."""
    state: RunState
    """Whether it waits for a person to allow it, runs, or has ended."""
    ask: PermissionAsk | None
    """What a person is asked, while it waits: answered at `/api/asks/{ask}`."""
    stdout: str
    """What it has printed so far, the first million characters of it."""
    stderr: str
    """What it has printed on stderr, likewise."""
    exit_code: int | None
    """What it returned; null: it has not, or was never run."""
    failed: bool
    """It has ended and did not do what was asked: it returned something else than 0, was denied, or was killed."""
    text: str
    """When it has ended: what a model would read, and why it was not run, if it was not."""
    started_at: float
    """When it was asked for, in seconds since 1970."""
    ended_at: float | None
    """When it ended; null: it has not."""


class _Run:
    def __init__(self, session: str, command: str) -> None:
        self.id = f"user-{uuid4().hex[:16]}"
        self.session = session
        self.command = command
        self.state: RunState = "starting"
        self.ask: PermissionAsk | None = None
        self.printed = {"stdout": "", "stderr": ""}
        self.started_at, self.ended_at = time.time(), None
        self.known = asyncio.Event()
        """Whether it runs or waits."""
        self.work: asyncio.Task[ToolRan] | None = None

    def hear(self, body: bytes) -> None:
        event = decode_event(body)
        match event:
            case ToolOutput(stream="stdout" | "stderr" as stream, call_id=self.id):
                room = MOST_PRINTED - len(self.printed[stream])
                self.printed[stream] += event.text[:room] if room > 0 else ""
            case PermissionRequested() if event.ask.call_id == self.id:
                self._become("waiting_approval", event.ask)
            case PermissionResolved() if self.ask is not None and event.ask_id == self.ask.id:
                self._become("running")
            case ToolStarted(call_id=self.id):
                self._become("running")
            case _:
                pass

    def _become(self, state: RunState, ask: PermissionAsk | None = None) -> None:
        self.state, self.ask = state, ask
        self.known.set()

    def end(self) -> None:
        self.ended_at = time.time()
        self._become("ended")


class ShellRuns:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    def rows(self) -> list[Custom]:
        session = Annotated[str, Meta(description="The session, by its id or the beginning of it.")]
        run = Annotated[str, Meta(description="The run, by its id.")]
        return [
            Custom(
                "POST", "/api/agents/{id}/shell", "Run a command as a person would.", self._start, scope="chat",
                status=202, also=(200,), path_types={"id": session}, query=WaitQuery, body=ShellBody, result=ShellRun,
                headers={"Idempotency-Key": "Makes a repeated request answer as the first did."},
                description="202 tells that it waits for approval or runs, 200 that it has ended.",
            ),
            Custom(
                "GET", "/api/agents/{id}/shell/{run}", "How far a command is.", self._show, scope="read", also=(202,),
                path_types={"id": session, "run": run}, query=WaitQuery, result=ShellRun,
                description="200 when it has ended, 202 while it waits for approval or runs.",
            ),
        ]  # fmt: skip

    async def _start(self, request: Request) -> Response:
        body = await read_body(request)
        given = decode_body(request, body, ShellBody)
        wait = _wait(request)
        if "\0" in given.command:
            raise Refused(422, "invalid_argument", "`command` holds a NUL, which no command can.")

        async def start() -> Response:
            run = await self._begin(request.state.caller, request.path_params["id"], given.command)
            return await self._told(run, wait, until_asked=True)

        return await self._asking.once(request, body, start)

    async def _show(self, request: Request) -> Response:
        wait = _wait(request)
        named = SessionGet(id=new_op_id(), session=request.path_params["id"])
        info = await self._asking.perform(request.state.caller, named)
        run = self._runs.get(request.path_params["run"])
        if run is None or run.session != info.id:
            raise Refused(
                404, "not_found", f"There is no run {request.path_params['run']!r} in this session.",
                hint=f"The last {MOST_KEPT} runs of this daemon can be asked after.",
            )  # fmt: skip
        return await self._told(run, wait, until_asked=False)

    async def _begin(self, caller: Caller, session: str, command: str) -> _Run:
        info = await self._asking.perform(caller, SessionGet(id=new_op_id(), session=session))
        run = _Run(info.id, command)
        op = ToolRun(
            id=new_op_id(), session=info.id, tool="shell", arguments={"command": command}, call=run.id, apart=True
        )
        caller.check(op)
        line = EventLine(self._asking.daemon, caller, interactive=False)
        try:
            await line.ask(SessionAttach(id=new_op_id(), session=info.id, messages=0))
            await line.next()  # the snapshot
        except BaseException:
            line.close()
            raise
        hearing = asyncio.create_task(_hear(run, line))
        run.work = asyncio.create_task(self._asking.perform(caller, op))
        run.work.add_done_callback(lambda _: _ended(run, line, hearing))
        self._runs[run.id] = run
        for old in [each for each in self._runs.values() if each.state == "ended"][:-MOST_KEPT]:
            del self._runs[old.id]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_KNOWN_AFTER_S):
                await run.known.wait()
        if run.work.done():
            run.work.result()  # what was refused at once is told as a refusal
        return run

    async def _told(self, run: _Run, wait: float, *, until_asked: bool) -> Response:
        assert run.work is not None
        if not (until_asked and run.state == "waiting_approval"):
            await asyncio.wait([run.work], timeout=wait)
            await asyncio.sleep(0)  # what follows its end
        told = _shown(run)
        return json_response(told, 200 if told.state == "ended" else 202)


def _wait(request: Request) -> float:
    given = decode_query(request, WaitQuery)
    return given.wait if given is not None else 0.0


async def _hear(run: _Run, line: EventLine) -> None:
    """Until the run has ended, which cancels this."""
    while (body := await line.next()) is not None:
        run.hear(body)


def _ended(run: _Run, line: EventLine, hearing: "asyncio.Task[None]") -> None:
    for body in line.rest():
        run.hear(body)
    hearing.cancel()
    line.close()
    run.end()


def _shown(run: _Run) -> ShellRun:
    ran, problem = ToolRan(""), ""
    if run.work is not None and run.work.done():
        try:
            ran = run.work.result()
        except OpenAgentError as refusal:
            problem = str(refusal)
    return ShellRun(
        id=run.id,
        session=run.session,
        command=run.command,
        state=run.state,
        ask=run.ask,
        stdout=run.printed["stdout"],
        stderr=run.printed["stderr"],
        exit_code=ran.display.exit_code,
        failed=ran.is_error or bool(problem),
        text=problem or ran.text,
        started_at=run.started_at,
        ended_at=run.ended_at,
    )
