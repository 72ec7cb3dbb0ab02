"""The simulator itself: takes requests, asks the script, answers; and remembers everything."""

import asyncio
import itertools
from collections import Counter, deque
from collections.abc import Callable
from typing import Self, Unpack

from devtools.simulator import answers
from devtools.simulator.control import ControlPlane
from devtools.simulator.faults import BLUNT, BREAKS, ERRORS, Fault, FaultOptions, parse_fault_header
from devtools.simulator.http import UNTIL_RELEASED, Answer, Connection, Request, Write, response_head
from devtools.simulator.inquiry import Chosen, Inquiry, choose, estimate_tokens
from devtools.simulator.knowledge import answer_from
from devtools.simulator.problems import Problem
from devtools.simulator.records import MAX_BODY_KEPT, Record, RecordLog
from devtools.simulator.reply import compose
from devtools.simulator.routes import Route, Routes
from devtools.simulator.script import ECHO, Conversation, Script, ScriptSource, load_script
from devtools.simulator.wire import Call, WireFormat, encode, split_target

DEFAULT_MODELS = [
    "claude-sonnet-4-5",
    "claude-sonnet-5-5",
    "gpt-5",
    "gpt-4.1",
    "gemini-2.5-pro",
    "gemini-3-pro-preview",
    "simulated",
]


class Simulator:
    """A scripted model server. `async with Simulator(script) as sim:` starts it on a free port."""

    def __init__(
        self,
        script: ScriptSource = ECHO,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        require_key: str | None = None,
    ) -> None:
        self.script = load_script(script)
        self.requests = RecordLog()
        """Every request to a model, oldest first; the control plane's own are not in it."""
        self.looks = RecordLog()
        """Every question about the server itself, such as for its list of models."""
        self._host = host
        self._port = port
        self._require_key = require_key
        self._routes = Routes()
        self._control = ControlPlane(self)
        self._serials = itertools.count(1)
        self._next_faults: deque[Fault] = deque()
        self._struck: Counter[tuple[str, int, str, int]] = Counter()
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._waiters: set[asyncio.Future[None]] = set()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        return self._port

    @property
    def base_url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def start(self) -> None:
        def connection() -> Connection:
            return Connection(self._answer, self._notify, self._connections)

        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(connection, self._host, self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.abort()
        await self._server.wait_closed()
        self._server = None

    def reset(self, script: ScriptSource | None = None) -> None:
        """Start afresh: forget requests and pending faults, and take a new script if one is given."""
        if script is not None:
            self.script = load_script(script)
        self.requests.forget()
        self.looks.forget()
        self._next_faults.clear()
        self._struck.clear()
        self._notify()

    def fail_next(self, name: str, times: int = 1, **options: Unpack[FaultOptions]) -> None:
        """Let the next `times` requests for an answer meet this fault, before any that the script names."""
        self.fail(Fault(name=name, times=times, **options))

    def fail(self, fault: Fault) -> None:
        unusable = fault.unusable()
        if unusable:
            raise ValueError(unusable)
        self._next_faults.extend([fault] * (1 if fault.times is None else fault.times))

    def release(self) -> None:
        """Let every stalled or hanging response go on."""
        for connection in list(self._connections):
            connection.release()

    async def until(self, condition: Callable[[], object], timeout: float = 10.0) -> None:
        """Wait for a condition over `requests`; it is looked at whenever a request comes, ends, stalls or breaks."""
        async with asyncio.timeout(timeout):
            while not condition():
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiters.add(waiter)
                try:
                    await waiter
                finally:
                    self._waiters.discard(waiter)

    def _notify(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _answer(self, request: Request) -> Answer:
        head = request.head
        record = Record(
            method=head.method,
            target=head.target,
            headers=head.headers,
            raw_head=head.raw.decode("latin-1"),
            body=request.body[:MAX_BODY_KEPT].decode("utf-8", "replace"),
            body_size=len(request.body),
            arrived_at=request.arrived_at,
        )
        path, query = split_target(head.target)
        if path.startswith("/_sim/"):
            return Answer(self._control.answer(head.method, path, request.body), record)
        (self.looks if head.method == "GET" else self.requests).remember(record)
        self._notify()
        call = Call(
            method=head.method,
            path=path,
            query=query,
            headers={name.lower(): value for name, value in head.headers},
            raw_body=request.body,
            script=self.script,
            serial=next(self._serials),
        )
        return self._answer_call(call, record)

    def _answer_call(self, call: Call, record: Record) -> Answer:
        if call.method == "HEAD":
            record.status = 200
            return Answer([Write(0, response_head(200, {"content-length": "0"}))], record)
        route = self._routes.find(call.method, call.path, call.headers)
        record.format = route.format.name
        try:
            writes, close = self._plan(call, route, record)
        except Problem as problem:
            status, headers, body = route.format.error(problem, call)
            record.status = status
            record.error = problem.message or problem.kind
            writes, close = answers.json_writes(status, headers, body), False
        return Answer(writes, record, close)

    def _plan(self, call: Call, route: Route, record: Record) -> tuple[list[Write], bool]:
        if route.problem is not None:
            raise route.problem
        fault = self._requested_fault(call, route)
        if fault is not None and fault.name not in BREAKS:
            return self._strike(fault, record)
        self._check_key(call)
        if route.action in ("models", "model"):
            return self._list_models(call, route, record)
        if call.body_problem is not None:
            raise call.body_problem
        if self.script.referee:
            route.format.referee(call)
        inquiry = route.format.inquire(call)
        if route.action == "count":
            counted = route.format.count(estimate_tokens(len(call.raw_body)), call)
            record.status = 200
            return answers.json_writes(200, route.format.headers(call), counted), False
        chosen = _chosen(self.script, inquiry)
        record.conversation, record.step = chosen.conversation.name, chosen.position
        fault = fault or self._scripted_fault(chosen, inquiry)
        if fault is not None and fault.name not in BREAKS:
            return self._strike(fault, record)
        record.fault = fault.name if fault else None
        record.status = 200
        return self._speak(call, route.format, inquiry, chosen, fault)

    def _requested_fault(self, call: Call, route: Route) -> Fault | None:
        named = call.headers.get("x-simulate-fault")
        if named:
            return parse_fault_header(named)
        if route.action == "generate" and self._next_faults:
            return self._next_faults.popleft()
        return None

    def _scripted_fault(self, chosen: Chosen, inquiry: Inquiry) -> Fault | None:
        for index, fault in enumerate(chosen.step.faults):
            key = (chosen.conversation.name, chosen.position, inquiry.first_user, index)
            if fault.times is None or self._struck[key] < fault.times:
                self._struck[key] += 1
                return fault
        return None

    def _strike(self, fault: Fault, record: Record) -> tuple[list[Write], bool]:
        record.fault = fault.name
        if fault.name in ERRORS:
            raise fault.problem()
        assert fault.name in BLUNT
        if fault.name == "html":
            record.status = fault.status or 502
            return answers.proxy_page_writes(fault), False
        if fault.name == "hang":
            # Released, it ends like a gateway that gave up.
            return [Write(UNTIL_RELEASED, response_head(504, {"content-length": "0"}))], False
        return [], True

    def _check_key(self, call: Call) -> None:
        if self._require_key is None:
            return
        bearer = call.headers.get("authorization", "").removeprefix("Bearer ")
        offered = [call.headers.get(name) for name in ("x-api-key", "api-key", "x-goog-api-key")]
        if self._require_key not in (bearer, call.query.get("key"), *offered):
            raise Problem("unauthorized")

    def _list_models(self, call: Call, route: Route, record: Record) -> tuple[list[Write], bool]:
        names = self.script.models or DEFAULT_MODELS
        if route.action == "models":
            body = route.format.models(names, call)
        elif self.script.models is not None and route.model not in names:
            raise Problem("not_found", f"The model `{route.model}` does not exist")
        else:
            body = route.format.model(route.model, call)
        record.status = 200
        return answers.json_writes(200, route.format.headers(call), body), False

    def _speak(
        self, call: Call, wire: WireFormat, inquiry: Inquiry, chosen: Chosen, fault: Fault | None
    ) -> tuple[list[Write], bool]:
        step, script = chosen.step, self.script
        reply = compose(script, chosen, inquiry, call.serial)
        latency = (script.latency_ms if step.latency_ms is None else step.latency_ms) / 1000
        headers = {**wire.headers(call), **step.headers}
        if not inquiry.stream:
            body = encode(wire.whole(reply, call))
            if fault is None:
                return answers.body_writes(200, {"content-type": "application/json", **headers}, body, latency), False
            if fault.name == "stream_error":
                raise fault.problem()
            return answers.broken_body(headers, body, latency, fault)
        between = (script.chunk_ms if step.chunk_ms is None else step.chunk_ms) / 1000
        pace = answers.Pace(latency, between, step.split_bytes)
        headers = {"content-type": wire.media_type(call), **headers}
        events = wire.events(reply, call)
        if fault is None:
            return answers.stream_writes(headers, events, pace), False
        return answers.broken_stream(
            headers, events, pace, fault, lambda place: wire.error_event(fault.problem(), reply, call, place)
        )


def _chosen(script: Script, inquiry: Inquiry) -> Chosen:
    if script.knowledge is None:
        return choose(script, inquiry)
    step = answer_from(script.knowledge, inquiry)
    return Chosen(Conversation(name="knowledge"), inquiry.replies, step)
