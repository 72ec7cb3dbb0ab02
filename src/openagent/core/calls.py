"""Running the tool calls of one step: check, decide, ask if need be, run, record."""

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import msgspec

from openagent.core.asks import NobodyThereError, QuestionReply, as_before, ask_person, waiting, while_somebody_is_there
from openagent.core.audit import Performed, audit_closed, audit_decision, audit_outcome
from openagent.core.bash_syntax import syntax_error
from openagent.core.beyond_undo import ask_before, look_for_unsaved, told_of_what_is_held
from openagent.core.files_seen import CallFiles
from openagent.core.open_calls import closed
from openagent.core.outside_files import folders_outside
from openagent.core.read_only_wall import ReadingShell, told_of_the_wall
from openagent.core.secret_files import open_what_is_named
from openagent.grants.offers import offers_of
from openagent.plugins.files_read import FilesRead
from openagent.plugins.gate import Ruling
from openagent.plugins.jail import ReadingJail, Shell, offers
from openagent.plugins.store import BackgroundWork, Rows
from openagent.plugins.tool import PreviewingTool, Tool, ToolOutcome
from openagent.plugins.workspace import WriteWindow
from openagent.policy.facts import CallFacts, Decision
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import (
    AsksLapsed,
    BackgroundStarted,
    MessageAdded,
    PermissionNoted,
    QuestionAnswered,
    QuestionAsked,
    StatusChanged,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from openagent.protocol.messages import Message, ToolCallPart, ToolResultPart
from openagent.protocol.sessions import AT_REST, PermissionAsk, PlanItem, Question, Status, Wall
from openagent.protocol.words import DENIED, call_at_work, subject_of

if TYPE_CHECKING:
    from openagent.core.session import Session
    from openagent.core.turn import Turn

LONGEST_REWRITE = 2000
"""Characters that a model is told of arguments it did not give."""
LONGEST_PREVIEW = 1_000_000
"""Characters of a diff that a person is shown before allowing it: about as much as a call can hold."""
_CUT_OFF = "Interrupted: the daemon stopped while this call ran, so its effect is unknown."
_RESTART = "restart"
_ONCE_MORE = (
    "It waited for you in the middle of its run when the daemon stopped, so what it had done by then is unknown. "
    "Allowed, it runs again from its start."
)
_FILE_HEAD = re.compile(r"^--- .*\n\+\+\+ .*\n@@ ", re.MULTILINE)
_log = logging.getLogger(__name__)


async def run_calls(turn: "Turn", calls: Sequence[ToolCallPart]) -> None:
    """Read-only calls that stand next to each other run side by side; the others run in order."""
    session = turn.session
    await session.seen.begin_step()
    *earlier, last = _groups(session, calls)
    for group in earlier:
        await _run_group(turn, group)
    if len(last) == 1:  # the end of the only call, and what comes then, cost one transaction
        await _run_call(turn, last[0], StatusChanged(status="thinking"))
    else:
        await _run_group(turn, last)
        session.post(StatusChanged(status="thinking"))
    if turn.notes:
        notes, turn.notes = list(dict.fromkeys(turn.notes)), []
        await session.tell_model(notes, turn.number)


async def _run_group(turn: "Turn", group: Sequence[ToolCallPart]) -> None:
    if len(group) == 1:
        await _run_call(turn, group[0])
    else:
        await _side_by_side(turn, group)


async def _side_by_side(turn: "Turn", calls: Sequence[ToolCallPart]) -> None:
    try:
        async with asyncio.TaskGroup() as tasks:
            for call in calls:
                tasks.create_task(_run_call(turn, call))
    except ExceptionGroup as several:
        raise next((each for each in several.exceptions if isinstance(each, OpenAgentError)), several) from None


def _groups(session: "Session", calls: Sequence[ToolCallPart]) -> list[list[ToolCallPart]]:
    groups: list[list[ToolCallPart]] = []
    previous_reads = False
    for call in calls:
        tool = session.tools.by_name.get(call.name)
        reads = tool is not None and tool.effect_of(call.arguments) in ("read", "none")
        if reads and previous_reads:
            groups[-1].append(call)
        else:
            groups.append([call])
        previous_reads = reads
    return groups


_apart: ContextVar[bool] = ContextVar("apart", default=False)
"""Of the person's call that this task carries out: see `ToolContext.apart`."""


async def run_user_call(
    session: "Session", tool: str, arguments: dict[str, Any], op_id: str, *, call_id: str = "", apart: bool = False
) -> ToolOutcome:
    """A person's call: decided on, shown and audited like a model's, but no part of the history."""
    session.recorder.outbox.check("Nothing was run.")
    _apart.set(apart)
    call = ToolCallPart(call_id or f"user-{uuid4().hex[:12]}", tool, arguments)
    before: Status = session.info.status if session.info.status in AT_REST else "idle"
    if not session.running:
        detail = call_at_work(tool, subject_of(tool, arguments))
        session.post(StatusChanged(status="executing_tool", detail=detail), op_id=op_id)
    try:
        if not session.running:  # a turn keeps the tools that it began with
            await session.tools.look()
        performed = await _perform(session, call, op_id)
        audit = audit_outcome(call, performed)
    except asyncio.CancelledError:
        outcome = ToolOutcome("Stopped before it finished.", is_error=True)
        performed = Performed(outcome, None, 0.0, stopped=True)
        ended = "stopped" if session.open_calls.has_begun(call.id) else "not_run"
        audit = audit_closed(session.tools.by_name, [(call, closed(call, ended, outcome.text, "the user stopped it"))])
    except OpenAgentError as problem:
        performed = Performed(ToolOutcome(str(problem), is_error=True), None, 0.0)
        audit = audit_outcome(call, performed)
    rest = () if session.running else (StatusChanged(status=session.asks.at_rest(before)),)
    await session.record(_finished(call, performed), *rest, rows=Rows(audit=audit), op_id=op_id)
    return performed.outcome


async def _run_call(turn: "Turn", call: ToolCallPart, *then: StatusChanged) -> None:
    """One call, to its stored result."""
    session = turn.session
    performed = await _perform(session, call)
    async with session.runtime.pace.place():
        await _record(turn, call, performed, then)
    session.recorder.outbox.check()
    if performed.rewritten is not None:
        call = msgspec.structs.replace(call, arguments=performed.rewritten)
    if performed.decision is None or performed.decision.kind != "deny":  # what was not made has no end to hear of
        turn.notes += await session.gate.after_call(call, performed.outcome)


async def _perform(session: "Session", call: ToolCallPart, op_id: str = "") -> Performed:
    """Its tool is looked up, and the gate heard."""
    tool = session.tools.by_name.get(call.name)
    if tool is None:
        known = ", ".join(session.tools.by_name)
        text = f"There is no tool named {call.name!r}. There are: {known}."
        return Performed(ToolOutcome(text=text, is_error=True), None, 0.0)
    ruling = await session.gate.before_call(call)
    arguments, given = call.arguments, ruling.arguments
    if given is not None:
        call = msgspec.structs.replace(call, arguments=given)
    try:
        performed = await _decide_and_run(session, tool, call, ruling, op_id)
    finally:
        await session.permits.leaving.over(call.id)
    if given is None or given == arguments:
        return performed
    told = f"{performed.outcome.text}\n[A hook had this call made with other arguments: {_shown(call.arguments)}]"
    outcome = msgspec.structs.replace(performed.outcome, text=told)
    return msgspec.structs.replace(performed, outcome=outcome, rewritten=call.arguments)


def _shown(arguments: dict[str, Any]) -> str:
    text = msgspec.json.encode(arguments).decode()
    return text if len(text) <= LONGEST_REWRITE else f"{text[:LONGEST_REWRITE]} …"


async def _decide_and_run(session: "Session", tool: Tool, call: ToolCallPart, ruling: Ruling, op_id: str) -> Performed:
    """Whether it may run is decided here, and where."""
    if problem := _problem(tool, call):
        return Performed(ToolOutcome(text=problem, is_error=True), None, 0.0)
    facts = facts_of(session, tool, call)
    decision = _ruled(session.permits.decide(facts), ruling)
    if (decision.kind != "allow" or decision.unread) and (refused := await syntax_error(session, facts)):
        return Performed(refused, None, 0.0, facts.subject)
    if decision.kind == "ask":
        decision = _ruled(decision, await session.gate.before_ask(call))
    summary = tool.summarize(call.arguments)
    cut_off = session.open_calls.was_cut_off(call.id)
    if cut_off and decision.kind != "deny":
        decision = await _ask_person(session, tool, call, _once_more(decision), None)
    elif decision.kind == "ask":
        # What a hook wants asked is asked, whatever a person allowed.
        decision = await _ask_person(session, tool, call, decision, facts if ruling.decision is None else None)
    elif decision.kind == "deny":
        session.post(_noted(call, decision), op_id=op_id)
    if decision.kind == "deny":
        why = f"{_CUT_OFF} It was not run again: {decision.reason}" if cut_off else f"Denied: {decision.reason}"
        return Performed(ToolOutcome(text=why, is_error=True), decision, 0.0, summary)
    await look_for_unsaved(session, facts, decision)
    if tool.effect == "execute" and (why := await session.permits.leaving.prepare(call.id, facts, decision)):
        decision = msgspec.structs.replace(decision, kind="deny", reason=why)
        return Performed(ToolOutcome(text=f"Denied: {why}", is_error=True), decision, 0.0, summary)
    if decision.wall == "write":
        session.permits.leaving.begins(call.id)
    decision = await ask_before(session, facts, decision)
    if decision.kind == "deny":
        return Performed(ToolOutcome(text=f"Denied: {decision.reason}", is_error=True), decision, 0.0, summary)
    if session.permits.mode != "plan":  # there nobody was asked
        await open_what_is_named(session, facts)
    performed = await _run_decided(session, tool, call, decision, op_id)
    if decision.wall == "read":
        return await told_of_the_wall(session, performed)
    return await told_of_what_is_held(session, decision, performed)


async def _run_decided(session: "Session", tool: Tool, call: ToolCallPart, decision: Decision, op_id: str) -> Performed:
    """The tool runs, commands in the jail; what it writes can be undone."""
    session.recorder.outbox.check()  # what was asked and decided
    summary = tool.summarize(call.arguments)
    async with session.undo.call(tool, call.id, walled=decision.wall == "read") as window:
        session.open_calls.reached(call.id, "begun")
        started = ToolStarted(call_id=call.id, tool=call.name, arguments=call.arguments, summary=summary)
        session.post(started, op_id=op_id, audit=[audit_decision(call, decision, summary)])
        began = time.monotonic()
        context = CallContext(session, call.id, window, decision.wall)
        context.folders = folders_outside(facts_of(session, tool, call))
        session.running_calls.began(started, time.time())
        try:
            outcome = _with_news(session, await _run(context, tool, call))
        finally:
            session.running_calls.ended(call.id)
        duration_ms = round((time.monotonic() - began) * 1000, 3)
        if tool.effect == "execute" and (background := outcome.display.background):
            await session.undo.goes_on(window, background)
            for_model = call.id in session.open_calls
            session.permits.leaving.goes_on(background)
            session.background.begin(BackgroundWork(background, "command", summary, for_model=for_model))
            session.post(BackgroundStarted(command_id=background, command=summary, call_id=call.id), op_id=op_id)
    effect = tool.effect_of(call.arguments)
    return Performed(outcome, decision, duration_ms, summary, effect, files=context.files)


def _with_news(session: "Session", outcome: ToolOutcome) -> ToolOutcome:
    """The model hears what was kept from leaving the jail meanwhile: programs have their own words for it, and some say
    that all went well. So do people."""
    if not (news := session.permits.leaving.news()):
        return outcome
    told = "\n".join(f"[openagent: {each}]" for each in news.values())
    before = f"{outcome.display.summary} · " if outcome.display.summary else ""
    display = msgspec.structs.replace(outcome.display, summary=f"{before}{DENIED}{', '.join(news)}")
    return msgspec.structs.replace(outcome, text=f"{outcome.text}\n{told}", display=display)


def _once_more(decision: Decision) -> Decision:
    """No command takes effect twice unasked, whatever is allowed otherwise."""
    return msgspec.structs.replace(decision, kind="ask", risk="high", reason=_ONCE_MORE, rule=_RESTART)


def _ruled(decision: Decision, ruling: Ruling) -> Decision:
    """A gate answers in place of a person, or is stricter. It never lifts a denial."""
    if ruling.decision is None or decision.kind in ("deny", ruling.decision):
        return decision
    return msgspec.structs.replace(decision, kind=ruling.decision, reason=ruling.reason, rule=ruling.by)


def _noted(call: ToolCallPart, decision: Decision) -> PermissionNoted:
    return PermissionNoted(
        call_id=call.id,
        tool=call.name,
        decision="deny",
        risk=decision.risk,
        reason=decision.reason,
        rule=decision.rule,
    )


def _problem(tool: Tool, call: ToolCallPart) -> str:
    """The arguments are checked."""
    if call.invalid_arguments is not None:
        return f"The arguments of {call.name} are not a JSON object: {call.invalid_arguments[:200]!r}. Nothing was run."
    if problem := tool.check(call.arguments):
        return f"The arguments of {call.name} do not fit: {problem} Nothing was run."
    return ""


def facts_of(session: "Session", tool: Tool, call: ToolCallPart) -> CallFacts:
    touched = tool.touches(call.arguments)
    return CallFacts(
        tool=tool.name,
        # Policy reads commands itself, and a person's rules about commands must see them all.
        effect="execute" if tool.effect == "execute" else tool.effect_of(call.arguments),
        subject=tool.summarize(call.arguments),
        workspace=session.info.cwd,
        cwd=session.shell.directory,
        arguments=call.arguments,
        paths=touched.paths,
        urls=touched.urls,
        runs=touched.runs,
        text=touched.text,
        walled=tool.source == "built-in" and offers(session.runtime.jail, ReadingJail),
        opens_files=tool.source == "built-in" and tool.effect in ("read", "write"),
    )


async def _ask_person(
    session: "Session", tool: Tool, call: ToolCallPart, decision: Decision, facts: CallFacts | None
) -> Decision:
    """A person is asked, if the decision says so."""
    shown, more_lines, more_files = _within(await _preview(session, tool, call))
    ask = PermissionAsk(
        id=uuid4().hex[:12],
        call_id=call.id,
        tool=call.name,
        arguments=call.arguments,
        summary=tool.summarize(call.arguments),
        risk=decision.risk,
        reason=decision.reason,
        rule=decision.rule,
        enough_mode=session.permits.enough_mode(facts) if facts else None,
        diff=shown,
        more_lines=more_lines,
        more_files=more_files,
    )
    session.open_calls.reached(call.id, "asked")
    known = facts or facts_of(session, tool, call)
    # Whether this call may run a second time says nothing of others like it.
    offers = offers_of([]) if decision.rule == _RESTART else session.permits.offers(known)
    leaves = session.permits.leaves_for(known)
    resolved = await ask_person(session, ask, offers, facts, leaves=leaves)
    reason = f"{resolved.reason or 'the user said no'}".rstrip(".") + "."
    return Decision(
        kind=resolved.decision,
        risk=decision.risk,
        reason=reason if resolved.decision == "deny" else decision.reason,
        rule=f"answer:{resolved.by}",
    )


async def _preview(session: "Session", tool: Tool, call: ToolCallPart) -> str:
    """What the person is asked to allow, as far as it can be told: a call that would fail says why when it runs."""
    if not isinstance(tool, PreviewingTool):
        return ""
    try:
        return await tool.preview(CallContext(session, call.id), call.arguments)
    except (OpenAgentError, OSError):
        return ""


def _within(diff: str) -> tuple[str, int, int]:
    """As much of a diff as is told, in whole lines; how many lines are left out, and in how many files."""
    if len(diff) <= LONGEST_PREVIEW:
        return diff, 0, 0
    shown = diff[: diff.rfind("\n", 0, LONGEST_PREVIEW) + 1]
    rest = diff[len(shown) :]
    heads = _FILE_HEAD.findall(rest)
    in_the_middle = 0 if _FILE_HEAD.match(rest) else 1
    return shown, len(rest.splitlines()), len(heads) + in_the_middle


async def _run(context: "CallContext", tool: Tool, call: ToolCallPart) -> ToolOutcome:
    try:
        return await tool.run(context, call.arguments)
    except OpenAgentError as problem:
        return ToolOutcome(text=str(problem), is_error=True)
    except Exception as problem:  # the tool boundary: whatever a tool does, the turn goes on
        _log.exception("tool raised an unexpected error", extra={"session": context.session, "tool": tool.name})
        return ToolOutcome(text=f"{tool.name} failed ({type(problem).__name__}: {problem}).", is_error=True)


async def _record(turn: "Turn", call: ToolCallPart, performed: Performed, then: Sequence[StatusChanged]) -> None:
    """The result is stored, and then shown to people."""
    session, outcome = turn.session, performed.outcome
    result = ToolResultPart(
        call_id=call.id,
        name=call.name,
        text=outcome.text + turn.guard.note(call, outcome),
        is_error=outcome.is_error,
        ended=performed.ended,
        reason=performed.reason,
        images=outcome.images,
        display=outcome.display,
        duration_ms=performed.duration_ms,
    )
    async with session.recorder.numbering:
        message = Message(
            number=session.recorder.next_number, role="tool", parts=[result], turn=turn.number, created_at=time.time()
        )
        await session.record(
            MessageAdded(message=message),
            _finished(call, performed),
            *then,
            rows=Rows(
                messages=[message],
                audit=audit_outcome(call, performed),
                seen=performed.files.record(message.number) if performed.files else None,
            ),
        )
    if performed.files:
        session.seen.take_in(performed.files)


def _finished(call: ToolCallPart, performed: Performed) -> ToolFinished:
    outcome = performed.outcome
    return ToolFinished(
        call_id=call.id,
        tool=call.name,
        is_error=outcome.is_error,
        ended=performed.ended,
        reason=performed.reason,
        subject=performed.summary or subject_of(call.name, call.arguments),
        summary=outcome.display.summary,
        duration_ms=performed.duration_ms,
        exit_code=outcome.display.exit_code,
    )


class CallContext:
    """What a running call may use."""

    def __init__(
        self, session: "Session", call_id: str, window: WriteWindow | None = None, wall: Wall = "write"
    ) -> None:
        self._wall: Wall = wall
        self._session = session
        self._window = window
        self.session = session.id
        self.call_id = call_id
        self.workspace: Path = session.workspace
        self.scratch: Path = session.scratch
        self.folders: Sequence[Path] = ()
        self.apart = _apart.get()
        # A person's own call rests on nothing that the model was shown, and shows it nothing.
        self.files = session.seen.for_call() if call_id in session.open_calls else CallFiles(FilesRead())
        self.files_read: FilesRead = self.files

    async def shell(self) -> Shell:
        self._session.permits.leaving.begins(self.call_id)
        shell = await self._session.shell.get()
        return ReadingShell(shell) if self._wall == "read" else shell

    def output(self, stream: Literal["stdout", "stderr", "progress"], text: str) -> None:
        self._session.running_calls.printed(self.call_id, text)
        self._session.show(ToolOutput(call_id=self.call_id, stream=stream, text=text))

    def wrote(self, path: str) -> None:
        if self._window is not None:
            self._window.wrote(path)

    def may_read(self, path: str) -> bool:
        return self._session.permits.may_read(path)

    async def ask(self, question: Question, *, patience: float | None = None) -> str:
        session = self._session
        with session.asks.recording(question.id):
            answered = session.asks.open_question(question)
            try:
                asked = QuestionAsked(question=question, answerable=session.someone_can_answer())
                await session.record(asked, *session.asks.is_asked_again(question), waiting(session))
                async with asyncio.timeout(patience):
                    reply = await answered
                return await self._answer(question, reply)
            except TimeoutError:
                session.asks.withdraw_question(question.id)
                lapsed = () if session.info.parent else [session.asks.lapse(question)]
                await self._answer(question, QuestionReply("", "timeout", ""), *lapsed)
                raise
            finally:
                answered.cancel()

    async def ask_if_there(self, question: Question) -> str | None:
        session = self._session
        if not session.someone_can_answer():
            return None
        with session.asks.recording(question.id):
            answered = session.asks.open_question(question)
            try:
                await session.record(QuestionAsked(question=question), waiting(session))
                return await self._answer(question, await while_somebody_is_there(session, answered))
            except NobodyThereError:
                session.asks.withdraw_question(question.id)
                await self._answer(question, QuestionReply("", "nobody", ""))
                return None
            finally:
                answered.cancel()

    async def _answer(self, question: Question, reply: QuestionReply, *lapsed: AsksLapsed) -> str:
        answered = QuestionAnswered(question_id=question.id, answer=reply.answer, by=reply.by)
        await self._session.record(answered, *lapsed, *as_before(self._session), op_id=reply.op_id)
        return reply.answer

    async def set_plan(self, plan: list[PlanItem]) -> None:
        await self._session.set_plan(plan)
