"""What files of people and projects say about a session's doings, put into effect."""

import asyncio
import logging
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from openagent.config.peers import model_called
from openagent.core.calls import facts_of
from openagent.core.runtime import ModelResolver
from openagent.core.session import Session
from openagent.customizing.commands import Called, CommandFiles, Expanded
from openagent.customizing.hook_files import HookFiles, concerns
from openagent.customizing.hook_forms import NOTIFY, told
from openagent.customizing.hook_runs import HookRun, StartInJail, run_hook
from openagent.customizing.rules import RuleTexts
from openagent.customizing.skills import SkillFiles
from openagent.customizing.tool_names import input_for_hooks, input_from_hooks, theirs
from openagent.daemon.bus import EventBus
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.plugins.gate import NO_RULING, Admission, Ruling, Scene
from openagent.plugins.tool import ToolOutcome
from openagent.protocol.customizing import Hook
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import (
    ContextCollected,
    ContextThreshold,
    ErrorRaised,
    HookRan,
    PermissionRequested,
    QuestionAsked,
    SessionDeleted,
    SubagentStarted,
    TurnCompleted,
)
from openagent.protocol.messages import NotePart, ToolCallPart
from openagent.protocol.words import about

MODES = {
    "plan": "plan",
    "ask": "default",
    "edits": "acceptEdits",
    "auto": "auto",
    "full": "bypassPermissions",
}
"""Our modes in the words that hooks know."""
MAX_REMEMBERED = 4096
LONGEST_COMMAND = 60.0
"""Seconds that a line of a slash command may take."""
_SUBJECTS = ("source", "trigger", "notification_type", "agent_type", "reason")
"""What the matcher of an event that is about no call is held against."""
_STRICTEST = ("deny", "ask", "allow")
_log = logging.getLogger(__name__)


class CustomGate:
    def __init__(
        self,
        rules: RuleTexts,
        skills: SkillFiles,
        commands: CommandFiles,
        hooks: HookFiles,
        *,
        start_in_jail: StartInJail,
        loaded: LoadedSessions,
        bus: EventBus,
        check_model: ModelResolver,
    ) -> None:
        self._check_model = check_model
        self._rules = rules
        self._skills = skills
        self._commands = commands
        self._hooks = hooks
        self._start_in_jail = start_in_jail
        self._loaded = loaded
        self._begun: set[str] = set()
        """Sessions whose SessionStart hooks have run."""
        self._ran_once: dict[str, set[Hook]] = {}
        """By session, the hooks that run in each but once."""
        self._workspaces: dict[str, Path] = {}
        self._beside: set[asyncio.Task[object]] = set()
        bus.subscribe(PermissionRequested, self._asked_permission)
        bus.subscribe(QuestionAsked, self._asked)
        bus.subscribe(ContextThreshold, self._filled)
        bus.subscribe(ContextCollected, self._collected)
        bus.subscribe(SubagentStarted, self._handed_on)
        bus.subscribe(TurnCompleted, self._ended)
        bus.subscribe(SessionDeleted, self._deleted)

    # Before a turn

    def opening(self, workspace: Path) -> Sequence[NotePart]:
        return [*self._rules.opening(workspace), *self._skills.opening(workspace)]

    async def admit(self, scene: Scene, text: str) -> Admission:
        workspace, session = scene.workspace, self._loaded.find(scene.info.id)
        notes = self._renewed(scene)
        try:
            command = await self._command(scene, text, session) if text.lstrip().startswith("/") else None
        except OpenAgentError as problem:
            return Admission(notes, blocked=problem.info.message)
        model = ""
        if command is not None:
            notes.append(NotePart(f"command:{command.name}", _meaning(command)))
            model = self._model(command, session)
        try:
            if not self._hooks.find(workspace).by_event:
                return Admission(notes, model=model)
            runs = await self._begin(scene)
            prompted = await self._run("UserPromptSubmit", scene, {"prompt": text})
        except Exception as problem:  # a hook may be there to hold this message back
            _log.exception("hooks of a message failed, the message is refused", extra={"session": scene.info.id})
            return Admission(notes, f"its hooks could not be run ({type(problem).__name__}: {problem}).")
        blocked = next((run.stops or run.reason for run in prompted if run.stops or run.outcome == "blocked"), "")
        notes += _told("SessionStart", runs) + _told("UserPromptSubmit", prompted)
        return Admission(notes, blocked, model)

    async def _command(self, scene: Scene, text: str, session: Session | None) -> Expanded | None:
        called = await self._commands.called(text, scene.workspace)
        if not isinstance(called, Called):
            return called
        if called.rules and session is not None:
            session.permits.allow_for_turn(called.rules)

        async def run(command: str) -> str:
            return await self._printed(command, scene, session)

        return await self._commands.written_out(called, scene.workspace, run)

    async def _printed(self, command: str, scene: Scene, session: Session | None) -> str:
        """What a line of a command's text prints. It runs in the jail, and only what the agent could run unasked."""
        if session is None or (shell := session.tools.by_name.get("shell")) is None:
            return f"[not run, there is no shell: {command}]"
        call = ToolCallPart(f"command-{uuid4().hex[:8]}", "shell", {"command": command})
        decision = session.permits.decide(facts_of(session, shell, call))
        if decision.kind != "allow":
            return f"[not run unasked: {command}]"
        line = Hook("SlashCommand", command, timeout=LONGEST_COMMAND, origin="project")
        async with session.undo.window(call.id):
            ran = await run_hook(line, scene.workspace, {}, self._start_in_jail, scene.info.id)
        session.post(
            HookRan(
                hook=line.event,
                command=command,
                outcome="failed" if ran.outcome == "blocked" else ran.outcome,
                detail="" if ran.outcome == "done" else ran.reason,
                duration_ms=ran.duration_ms,
            )
        )
        said = "\n".join(part.strip("\n") for part in (ran.stdout, ran.stderr) if part.strip())
        return said if ran.outcome == "done" else f"{said}\n[{command}: {ran.reason}]".strip()

    def _renewed(self, scene: Scene) -> list[NotePart]:
        """Nothing new for a session that has just been opened."""
        known, workspace = scene.told, scene.workspace
        try:
            return [*self._rules.renewed(workspace, known), *self._skills.renewed(workspace, known)]
        except Exception as problem:  # the message's hooks come after this, and must be asked in any case
            _log.exception("rules and skills could not be reloaded", extra={"session": scene.info.id})
            if session := self._loaded.find(scene.info.id):
                why = f"Rules and skills could not be read anew: a defect ({type(problem).__name__}: {problem})."
                session.post(ErrorRaised(error=ErrorInfo("internal", why)))
            return []

    def _model(self, command: Expanded, session: Session | None) -> str:
        """A command written elsewhere may name a model that is not known here: then the session's own answers."""
        model = model_called(command.model)
        if not model or session is None:
            return ""
        try:
            self._check_model(model, env=session.env, cwd=session.workspace)
        except OpenAgentError as problem:
            what = f"The command /{command.name} names the model {command.model!r}, which cannot answer here"
            told = ErrorInfo("config_error", f"{what}: the session's own does.", hint=problem.info.message)
            session.post(ErrorRaised(error=told))
            return ""
        return model

    async def _begin(self, scene: Scene) -> list[HookRun]:
        if scene.info.id in self._begun:
            return []
        self._remember(scene)
        return await self._run("SessionStart", scene, {"source": "startup" if scene.info.turn_count == 1 else "resume"})

    def _remember(self, scene: Scene) -> None:
        if len(self._begun) >= MAX_REMEMBERED:
            self._begun.clear()
            self._ran_once.clear()
            self._workspaces.clear()
        self._begun.add(scene.info.id)
        self._workspaces[scene.info.id] = scene.workspace

    # Around a call

    async def before_call(self, scene: Scene, call: ToolCallPart) -> Ruling:
        if not self._hooks.of("PreToolUse", scene.workspace):
            return NO_RULING
        runs = await self._run("PreToolUse", scene, _about(call, scene), call)
        return self._ruling(runs, scene, call)

    async def before_ask(self, scene: Scene, call: ToolCallPart) -> Ruling:
        if not self._hooks.of("PermissionRequest", scene.workspace):
            return NO_RULING
        runs = await self._run("PermissionRequest", scene, _about(call, scene), call)
        return self._ruling([run for run in runs if run.updated is None], scene, call)

    async def after_call(self, scene: Scene, call: ToolCallPart, outcome: ToolOutcome) -> Sequence[NotePart]:
        notes = self._rules.nested(scene.workspace, _paths(call, outcome), scene.told)
        event = "PostToolUseFailure" if outcome.is_error else "PostToolUse"
        if self._hooks.of(event, scene.workspace):
            response = {"text": outcome.text, "is_error": outcome.is_error, **msgspec.to_builtins(outcome.display)}
            facts = {**_about(call, scene), "tool_response": response}
            if outcome.is_error:
                facts["error"] = outcome.text
            runs = await self._run(event, scene, facts, call)
            notes += [NotePart(f"hook:{event}", run.reason) for run in runs if run.outcome == "blocked" and run.reason]
            notes += _told(event, runs)
        return notes

    def _ruling(self, runs: Sequence[HookRun], scene: Scene, call: ToolCallPart) -> Ruling:
        """The strictest counts."""
        decided = [run for run in runs if run.decision]
        first = min(decided, key=lambda run: _STRICTEST.index(run.decision or "allow"), default=None)
        changed = next((run.updated for run in runs if run.updated is not None), None)
        arguments = None if changed is None else input_from_hooks(call, changed, scene.info.cwd)
        if first is None:
            return Ruling(arguments=arguments)
        return Ruling(first.decision, first.reason, f"hook:{first.hook.source}", arguments)

    # After a turn

    async def before_end(self, scene: Scene, answer: str, *, again: bool) -> str:
        event = "SubagentStop" if scene.info.parent else "Stop"
        if not self._hooks.of(event, scene.workspace):
            return ""
        facts = {"stop_hook_active": again, "last_assistant_message": answer}
        if scene.info.parent:
            facts |= {"agent_id": scene.info.id, "agent_type": scene.info.template}
        runs = await self._run(event, scene, facts)
        if any(run.stops for run in runs):
            return ""
        return "\n".join(run.reason for run in runs if run.outcome == "blocked")

    # Things that nobody waits for

    def _asked_permission(self, event: PermissionRequested) -> None:
        self._notify(event.session, "permission_prompt", f"Permission needed for {theirs(event.ask.tool)}")

    def _asked(self, event: QuestionAsked) -> None:
        self._notify(event.session, "elicitation_dialog", event.question.text)

    def _filled(self, event: ContextThreshold) -> None:
        self._aside("PreCompact", event.session, {"trigger": "auto", "custom_instructions": ""})

    def _collected(self, event: ContextCollected) -> None:
        self._aside("PostCompact", event.session, {"trigger": "auto", "compact_summary": event.summary})

    def _handed_on(self, event: SubagentStarted) -> None:
        self._aside("SubagentStart", event.session, {"agent_id": event.child, "agent_type": event.template})

    def _ended(self, event: TurnCompleted) -> None:
        if event.error is not None:
            self._aside("StopFailure", event.session, {"error": event.error.code, "error_details": event.error.message})
        about = {"type": NOTIFY, "turn-id": str(event.turn), "last-assistant-message": event.text}
        self._aside(NOTIFY, event.session, about)

    def _deleted(self, event: SessionDeleted) -> None:
        self._aside("SessionEnd", event.session, {"reason": "other"})
        self._begun.discard(event.session)
        self._ran_once.pop(event.session, None)
        self._workspaces.pop(event.session, None)

    def _notify(self, session: str, kind: str, message: str) -> None:
        self._aside("Notification", session, {"message": message, "notification_type": kind})

    def _aside(self, event: str, session: str, facts: dict[str, Any]) -> None:
        loaded = self._loaded.find(session)
        workspace = loaded.workspace if loaded is not None else self._workspaces.get(session)
        if workspace is None or not self._hooks.of(event, workspace):
            return
        basics = {"session_id": session, "transcript_path": "", "cwd": str(workspace)}
        if event == NOTIFY:
            basics = {"thread-id": session, "cwd": str(workspace)}
        task = asyncio.create_task(self._run_all(event, session, workspace, {**basics, **facts}))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def close(self) -> None:
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)

    # Running

    async def _run(
        self, event: str, scene: Scene, facts: dict[str, Any], call: ToolCallPart | None = None
    ) -> list[HookRun]:
        basics = {
            "session_id": scene.info.id,
            "transcript_path": "",
            "cwd": scene.directory,
            "permission_mode": MODES[scene.info.settings.mode],
        }
        runs = await self._run_all(event, scene.info.id, scene.workspace, {**basics, **facts}, call)
        if stops := next((run.stops for run in runs if run.stops), ""):
            self._end_turn(scene.info.id, event, stops)
        return runs

    async def _run_all(
        self, event: str, session: str, workspace: Path, facts: dict[str, Any], call: ToolCallPart | None = None
    ) -> list[HookRun]:
        subject = call.name if call else next((str(facts[name]) for name in _SUBJECTS if facts.get(name)), "")
        hooks = [hook for hook in self._hooks.of(event, workspace) if concerns(hook, subject, facts, workspace)]
        hooks = [hook for hook in hooks if not hook.once or self._is_first(session, hook)]
        for hook in [hook for hook in hooks if not hook.waits]:
            task = asyncio.create_task(self.try_all([hook], workspace, facts, session, call))
            self._beside.add(task)
            task.add_done_callback(self._beside.discard)
        hooks = [hook for hook in hooks if hook.waits]
        loaded = self._loaded.find(session) if hooks else None
        if loaded is None:
            return await self.try_all(hooks, workspace, facts, session, call)
        async with loaded.undo.window(call.id if call else event):  # what a hook writes is taken back with the turn
            return await self.try_all(hooks, workspace, facts, session, call)

    def _is_first(self, session: str, hook: Hook) -> bool:
        ran = self._ran_once.setdefault(session, set())
        first = hook not in ran
        ran.add(hook)
        return first

    async def try_all(
        self,
        hooks: Sequence[Hook],
        workspace: Path,
        facts: dict[str, Any],
        session: str = "",
        call: ToolCallPart | None = None,
    ) -> list[HookRun]:
        """Side by side."""

        async def one(hook: Hook) -> HookRun:
            said = told(facts, hook.form, hook.told_as or hook.event, call.name if call else "")
            if hook.event == NOTIFY:  # codex hands it over as the last argument
                last = shlex.quote(msgspec.json.encode(facts).decode())
                started = msgspec.structs.replace(hook, command=f"{hook.command} {last}")
            else:
                started = hook
            run = await run_hook(started, workspace, said, self._start_in_jail, session)
            if loaded := self._loaded.find(session):
                loaded.post(
                    HookRan(
                        hook=hook.event,
                        command=hook.command,
                        outcome=run.outcome,
                        detail=run.stops or run.reason or run.message,
                        duration_ms=run.duration_ms,
                        tool=call.name if call else "",
                        call_id=call.id if call else "",
                    )
                )
            return run

        return list(await asyncio.gather(*(one(hook) for hook in hooks)))

    def _end_turn(self, session: str, event: str, reason: str) -> None:
        """A hook said `continue: false`."""
        loaded = self._loaded.find(session)
        if loaded is None or event in ("UserPromptSubmit", "Stop", "SubagentStop"):
            return
        _log.info("turn ended by a hook", extra={"session": session, "hook": event, "reason": reason})
        task = asyncio.create_task(loaded.cancel())
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)


def _meaning(command: Expanded) -> str:
    return f"[The user called the command /{command.name}. This is what it asks for:]\n{command.text}"


def _about(call: ToolCallPart, scene: Scene) -> dict[str, Any]:
    return {
        "tool_name": theirs(call.name),
        "tool_input": input_for_hooks(call, scene.info.cwd),
        "tool_use_id": call.id,
        "openagent_tool": call.name,
    }


def _told(event: str, runs: Sequence[HookRun]) -> list[NotePart]:
    return [NotePart(f"hook:{event}", run.context) for run in runs if run.context]


def _paths(call: ToolCallPart, outcome: ToolOutcome) -> list[str]:
    """The files a call was about."""
    if outcome.is_error:
        return []
    given = [call.arguments.get(name) for name in about(call.name).paths]
    named: list[Any] = [*given, *(file.path for file in outcome.display.files)]
    return [path for path in named if isinstance(path, str) and not path.startswith("output:")]
