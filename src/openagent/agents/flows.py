"""Flows at work: each in a session of its own, whose sub-agents do the steps. `flow.*`"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec

from openagent.agents.flow_files import CHECK, Flow, FlowStepEntry, cut, described, filled, given_inputs, read_flow
from openagent.agents.report import told
from openagent.agents.subagents import AgentService
from openagent.agents.templates import TemplateService
from openagent.config.cache import ConfigCache
from openagent.config.trust import FOLDER
from openagent.core.session import Session
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.late_binding import Late
from openagent.daemon.manager import SessionManager
from openagent.plugins.tool import FunctionTool, Tool, ToolContext, ToolOutcome, tool
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import (
    Event,
    FlowFinished,
    FlowStarted,
    FlowStepped,
    StatusChanged,
    SubagentStarted,
    ToolStarted,
)
from openagent.protocol.flows import (
    FlowCheck,
    FlowInfo,
    FlowList,
    FlowReport,
    FlowResume,
    FlowRun,
    FlowRunning,
    FlowShow,
    FlowsList,
    FlowState,
    FlowStepReport,
)
from openagent.protocol.sessions import SessionCreate, SessionInfo, SettingsChange, strictest

FLOWS = "flows"
FLOW_TOOL = "flow"
_ALL = 1_000_000


class FlowFailed(OpenAgentError):
    def __init__(self, message: str) -> None:
        super().__init__(
            "tool_error", message, hint="See the step's report; `openagent flows resume` goes on from there."
        )


class _Work(NamedTuple):
    flow: Flow
    values: dict[str, str]
    """Inputs, and the answers of the steps that are done."""


def flow_tool(flows: "FlowService") -> FunctionTool:
    @tool(
        effect="none",
        kind="agent",
        words=("run the flow", "running the flow", "ran the flow"),
        summary="name",
    )
    async def flow(context: ToolContext, name: str) -> ToolOutcome:
        """Run the flow that this session was made for."""
        return await flows.perform(context.session)

    return flow


class FlowService:
    def __init__(
        self, sessions: Late[SessionManager], agents: AgentService, templates: TemplateService, configs: ConfigCache
    ) -> None:
        self._sessions = sessions
        self._agents = agents
        self._templates = templates
        self._configs = configs
        self._work: dict[str, _Work] = {}
        self._running: set[asyncio.Task[ToolOutcome]] = set()

    def handlers(self) -> list[Handler]:
        return [
            FlowsList.handled_by(self._list),
            FlowCheck.handled_by(self._check),
            FlowRun.handled_by(self._run),
            FlowResume.handled_by(self._resume),
            FlowShow.handled_by(self._show),
        ]

    @property
    def _manager(self) -> SessionManager:
        return self._sessions()

    def tools(self, info: SessionInfo) -> Sequence[Tool]:
        """A flow runs as a call that a person makes, so it is shown, audited and cancelled like one."""
        return (flow_tool(self),) if FLOW_TOOL in (info.settings.tools or ()) else ()

    async def perform(self, session: str) -> ToolOutcome:
        return await self._perform(await self._manager.get(session))

    # What clients ask for

    async def _list(self, connection: Connection, op: FlowsList) -> FlowList:
        return FlowList(await self._of_project(Path(op.cwd)))

    async def _of_project(self, cwd: Path) -> list[FlowInfo]:
        folder = self._configs.project_folder(cwd) / FOLDER / FLOWS
        files = await asyncio.to_thread(lambda: sorted(folder.glob("*.toml")))
        return [await self._described(file, cwd) for file in files]

    async def _meant(self, op: FlowRun) -> tuple[str, str]:
        """The text of the flow that is to run, and its file."""
        if bool(op.name) == bool(op.text):
            raise OpenAgentError(
                "invalid_argument", "Which flow is meant? Give its `name`, or what its file says as `text`."
            )
        if op.text:
            return op.text, op.file or "flow.toml"
        found = await self._of_project(Path(op.cwd))
        for names in ([Path(each.file).stem for each in found], [each.name for each in found]):
            if op.name in names:
                meant = found[names.index(op.name)]
                if not meant.text:
                    raise OpenAgentError("invalid_argument", meant.problems[0])
                return meant.text, meant.file
        known = ", ".join(Path(each.file).stem for each in found)
        raise OpenAgentError(
            "not_found",
            f"There is no flow {op.name!r} in {op.cwd}.",
            hint=f"There are: {known}." if known else "Flows are files: `.openagent/flows/NAME.toml`.",
        )

    async def _described(self, file: Path, cwd: Path) -> FlowInfo:
        try:
            text = await asyncio.to_thread(file.read_text, encoding="utf-8")
            return await self._checked(text, str(file), cwd)
        except (OSError, UnicodeDecodeError) as problem:
            return FlowInfo(file.stem, file=str(file), problems=[f"{file} cannot be read: {problem}."])

    async def _check(self, connection: Connection, op: FlowCheck) -> FlowInfo:
        return await self._checked(op.text, op.file or "flow.toml", Path(op.cwd) if op.cwd else None)

    async def _checked(self, text: str, file: str, cwd: Path | None) -> FlowInfo:
        try:
            flow = read_flow(text, file)
        except OpenAgentError as problem:
            return FlowInfo(Path(file).stem, file=file, problems=[str(problem)], text=text)
        return described(flow, file, await self._problems(flow, cwd), text)

    async def _problems(self, flow: Flow, cwd: Path | None) -> list[str]:
        problems: list[str] = []
        for name in dict.fromkeys(agent.template for step in flow.step for agent in step.agents):
            try:
                if cwd is None:
                    await self._templates.find(name, None)
                else:
                    await self._templates.settings(name, cwd, {})
            except OpenAgentError as problem:
                problems.append(str(problem))
        return problems

    async def _run(self, connection: Connection, op: FlowRun) -> FlowRunning:
        cwd = Path(op.cwd)
        text, file = await self._meant(op)
        flow = read_flow(text, file)
        values = given_inputs(flow, op.inputs)
        if problems := await self._problems(flow, cwd):
            raise OpenAgentError("invalid_argument", problems[0])
        usual = self._configs.session_settings(cwd, connection.env)
        capped = [each for each in (op.budget_usd, flow.budget_usd) if each is not None]
        said: dict[str, Any] = {
            "tools": [FLOW_TOOL, "shell"],
            "mode": op.mode or strictest(usual.mode, flow.mode or usual.mode),
        }
        if capped:
            said["budget_usd"] = min(capped)
        if op.model:
            said["model"] = op.model
        create = SessionCreate(id=op.id, cwd=op.cwd, name=f"flow: {flow.name}"[:60], settings=SettingsChange(**said))
        session = await self._manager.create(create, connection.env)
        session.env = connection.env
        steps = [step.name for step in flow.step]
        await session.record(FlowStarted(name=flow.name, file=file, text=text, inputs=values, steps=steps), op_id=op.id)
        return self._start(session, _Work(flow, values), op.id)

    async def _resume(self, connection: Connection, op: FlowResume) -> FlowRunning:
        session = await self._manager.get(op.session)
        if session.busy:
            raise OpenAgentError("busy", "The flow is at work.", hint="Cancel it first.")
        session.env = connection.env or session.env
        events = await self._events(session)
        began = _beginning(events, session.id)
        values = dict(began.inputs)
        for event in events:
            if isinstance(event, FlowStepped) and event.state == "done":
                values[event.step] = event.text
        return self._start(session, _Work(read_flow(began.text, began.file), values), op.id)

    def _start(self, session: Session, work: _Work, op_id: str) -> FlowRunning:
        self._work[session.id] = work
        running = asyncio.create_task(session.run_tool(FLOW_TOOL, {"name": work.flow.name}, op_id))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        done = [step.name for step in work.flow.step if step.name in work.values]
        steps = [step.described() for step in work.flow.step]
        return FlowRunning(session.id, work.flow.name, steps, seq=session.info.seq, done=done)

    async def _show(self, connection: Connection, op: FlowShow) -> FlowReport:
        session = await self._manager.get(op.session)
        events = await self._events(session)
        began = _beginning(events, session.id)
        steps = {name: FlowStepReport(name) for name in began.steps}
        state: FlowState = "running" if session.busy else "interrupted"
        error: ErrorInfo | None = None
        ended_at = 0.0
        for event in events:
            if isinstance(event, FlowStepped):
                steps[event.step] = _stepped(steps[event.step], event)
            elif isinstance(event, SubagentStarted):
                _add_agent(steps, event)
            elif isinstance(event, ToolStarted) and event.tool == FLOW_TOOL:  # again: how it ended before is no matter
                state, error, ended_at = "running" if session.busy else "interrupted", None, 0.0
            elif isinstance(event, FlowFinished) and not session.busy:
                state, error, ended_at = event.state, event.error, event.at
        cost, tokens = await self._spent(session)
        return FlowReport(
            session.id,
            began.name,
            state,
            list(steps.values()),
            cost,
            tokens,
            error,
            flow=described(read_flow(began.text, began.file), began.file, [], began.text),
            inputs=began.inputs,
            started_at=began.at,
            ended_at=ended_at,
        )

    async def _events(self, session: Session) -> "Sequence[Event]":
        await session.record()
        return await self._manager.runtime.store.events(session.id, after=0, limit=_ALL)

    # At work

    async def _perform(self, session: Session) -> ToolOutcome:
        work, began = self._work.pop(session.id), time.monotonic()
        state: FlowState = "failed"
        error: ErrorInfo | None = None
        try:
            for step in work.flow.step:
                if step.name not in work.values:
                    work.values[step.name] = await self._step(session, step, work.values)
            state = "done"
        except OpenAgentError as problem:
            error = problem.info
        except asyncio.CancelledError:
            state = "cancelled"
            raise
        finally:
            cost, tokens = await self._spent(session)
            took = round((time.monotonic() - began) * 1000, 3)
            session.post(FlowFinished(state=state, cost_usd=cost, tokens=tokens, duration_ms=took, error=error))
        return ToolOutcome(error.message if error else f"{work.flow.name} is done.", is_error=error is not None)

    async def _spent(self, session: Session) -> tuple[float, int]:
        infos = await self._manager.runtime.store.descendants(session.id)
        usages = [info.usage for info in (session.info, *infos)]
        tokens = sum(usage.tokens.input_tokens + usage.tokens.output_tokens for usage in usages)
        return sum(usage.cost_usd for usage in usages), tokens

    async def _step(self, session: Session, step: FlowStepEntry, values: dict[str, str]) -> str:
        rounds, text = 0, ""
        session.post(
            StatusChanged(status="executing_tool", detail=step.name), FlowStepped(step=step.name, state="running")
        )
        try:
            if not step.until:
                return await self._round(session, step, values, 1)
            while True:
                passed, said = await self._passes(session, step.until)
                if passed:
                    text = text or said
                    await session.record(FlowStepped(step=step.name, state="done", round=rounds, text=text))
                    return text
                if rounds == step.max_rounds or not step.agents:
                    raise FlowFailed(f"`{step.until}` does not pass after {rounds} rounds:\n{said[-2000:]}")
                rounds += 1
                text = await self._round(session, step, {**values, CHECK: said}, rounds)
        except OpenAgentError as problem:
            told_why = cut(problem.info.message)
            await session.record(FlowStepped(step=step.name, state="failed", round=rounds, text=told_why))
            raise

    async def _round(self, session: Session, step: FlowStepEntry, values: dict[str, str], number: int) -> str:
        """All agents of a step, once."""
        infos = [await self._templates.find(agent.template, session.workspace) for agent in step.agents]
        tasks = [filled(agent.task, values) for agent in step.agents]
        call = f"{step.name}-{uuid4().hex[:6]}"
        # The flow's own session has the one tool it runs by; its steps have what any session has here.
        held = msgspec.structs.replace(session.info.settings, tools=None)
        reports = await asyncio.gather(
            *(self._agents.work(session, info, task, call, held=held) for info, task in zip(infos, tasks, strict=True))
        )
        cost = sum(report.cost_usd for report in reports)
        text = cut(reports[0].text if len(reports) == 1 else told(reports).text)
        failed = [report for report in reports if not report.well]
        state = "running" if step.until or failed else "done"
        await session.record(FlowStepped(step=step.name, state=state, round=number, text=text, cost_usd=cost))
        if failed:
            raise FlowFailed(f"The step {step.name!r} failed.\n{told(failed).text}")
        return text

    async def _passes(self, session: Session, command: str) -> tuple[bool, str]:
        """The check runs as a person's own command would: decided on, in the jail."""
        outcome = await session.run_tool("shell", {"command": command}, "")
        session.post(StatusChanged(status="executing_tool", detail=FLOW_TOOL))
        if outcome.text.startswith("Denied:"):
            raise FlowFailed(f"The check `{command}` was not allowed. {outcome.text}")
        return outcome.display.exit_code == 0, cut(outcome.text)


def _stepped(before: FlowStepReport, event: FlowStepped) -> FlowStepReport:
    begins = event.state == "running" and before.state != "running"
    return msgspec.structs.replace(
        before,
        state=event.state,
        rounds=event.round,
        text=event.text,
        cost_usd=before.cost_usd + event.cost_usd,
        started_at=event.at if begins else before.started_at,
        ended_at=event.at if event.state in ("done", "failed") else 0.0,
    )


def _add_agent(steps: dict[str, FlowStepReport], event: SubagentStarted) -> None:
    """The call of a step's agents is named after it."""
    if step := steps.get(event.call_id.rpartition("-")[0]):
        steps[step.name] = msgspec.structs.replace(step, agents=[*step.agents, event.child])


def _beginning(events: "Sequence[Event]", session: str) -> FlowStarted:
    for event in events:
        if isinstance(event, FlowStarted):
            return event
    raise OpenAgentError("not_found", f"The session {session} is no flow.", hint="`openagent flows run` starts one.")
