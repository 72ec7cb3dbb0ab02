"""One session's events and messages as the updates an editor shows."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from openagent.gateway.acp import calls
from openagent.gateway.acp.content import block_of, text_block
from openagent.gateway.acp.options import config_options
from openagent.gateway.acp.wire import Capabilities, Editor
from openagent.protocol import events as e
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.messages import ImagePart, Message, TextPart, ThinkingPart, ToolResultPart
from openagent.protocol.sessions import EndedTurn, LapsedAsk, LiveAnswer, PermissionAsk, PlanItem, SessionInfo
from openagent.protocol.telling import said
from openagent.protocol.usage import SessionUsage
from openagent.protocol.words import lapsed_told, turn_ended

OUTPUT_KEPT = 32_000
"""Characters of a running command's output that are shown."""
OUTPUT_EVERY = 0.1
"""Seconds between two such pictures."""
_PLAN_STATES = {"pending": "pending", "active": "in_progress", "done": "completed"}
_SEVERITIES = {"plain": "info", "warning": "warning", "error": "error"}
_SAID_ITSELF = ("done", "error", "cancelled", "max_tokens", "refused")
"""Ends of a prompt that its reply tells the editor."""


@dataclass
class _Call:
    tool: str
    arguments: Mapping[str, Any]
    terminal: bool
    output: str = ""
    picture: asyncio.TimerHandle | None = None
    finished: bool = False


class Feed:
    def __init__(self, info: SessionInfo, editor: Editor, can: Capabilities, models: Sequence[str]) -> None:
        self.info = info
        self.models = models
        self.own_ops: set[str] = set()
        """Prompts of this editor: it has shown them already."""
        self._editor = editor
        self._can = can
        self._calls: dict[str, _Call] = {}
        self._live_number: int = 0
        self._said = self._thought = 0
        """How much of the answer that is being streamed was shown."""
        self._shown: dict[type[e.Event], Callable[[Any], None]] = {
            e.TextDelta: self._text,
            e.ThinkingDelta: self._thinking,
            e.LiveState: lambda event: self.catch_up(event.live),
            e.MessageAdded: lambda event: self.message(event.message, event.op_id),
            e.ToolStarted: self._tool_started,
            e.ToolOutput: self._tool_output,
            e.ToolFinished: self._tool_finished,
            e.PlanUpdated: lambda event: self.plan(event.plan),
            e.UsageUpdated: lambda event: self.usage(event.usage),
            e.SessionUpdated: lambda event: self._session_updated(event.info),
            e.TurnCompleted: self._turn_completed,
            e.ContextCollected: self._collected,
            e.AsksLapsed: lambda event: self.lapsed(event.lapsed),
            e.RetryScheduled: self._tell_of_a_wait,
            e.McpServerLate: self._tell_of_a_wait,
            e.ErrorRaised: lambda event: None,  # the end of the prompt tells it
        }

    def show(self, event: e.AnyEvent) -> None:
        if show := self._shown.get(type(event)):
            show(event)
        else:
            self._tell_lines(event)

    def _tell_lines(self, event: e.AnyEvent) -> None:
        for each in said(event.told, event):
            self._notice(_SEVERITIES[each.tone], each.whole)

    def _tell_of_a_wait(self, event: e.AnyEvent) -> None:
        """Among its thoughts, in an editor that has no place for notices: the answer stays as it is."""
        if self._can.shows_notices:
            self._tell_lines(event)
            return
        for each in said(event.told, event):
            self.update("agent_thought_chunk", content=text_block(f"\n{each.whole}\n"))

    def update(self, update: str, /, **fields: Any) -> None:
        params = {"sessionId": self.info.id, "update": {"sessionUpdate": update, **fields}}
        self._editor.notify("session/update", params)

    def tell(self, text: str) -> None:
        """Something a person should know even in an editor that has no place for notices."""
        if self._can.shows_notices:
            self._notice("warning", text)
        else:
            self.update("agent_message_chunk", content=text_block(f"\n{text}\n"))

    def lapsed(self, lapsed: Sequence[LapsedAsk]) -> None:
        if lapsed:
            self.tell(f"{lapsed_told(each.what for each in lapsed)} Write /ask-again to be asked again.")

    def _notice(self, severity: str, text: str) -> None:
        if self._can.shows_notices:
            self.update("notice", severity=severity, title=text)

    # What is said

    def message(self, message: Message, op_id: str = "") -> None:
        if message.role == "assistant":
            self.catch_up(LiveAnswer(message.number, message.parts))
            for call in message.tool_calls:
                self._announce(call.id, call.name, call.arguments)
        elif message.role == "user" and op_id not in self.own_ops:
            for part in message.parts:
                if isinstance(part, TextPart | ImagePart):
                    self.update("user_message_chunk", content=block_of(part), messageId=str(message.number))
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                self._result(part)

    def catch_up(self, live: LiveAnswer) -> None:
        """The whole answer so far: what of it was not shown yet."""
        self._answering(live.message_number)
        thought = "".join(part.text for part in live.parts if isinstance(part, ThinkingPart))
        said = "".join(part.text for part in live.parts if isinstance(part, TextPart))
        self._chunk("agent_thought_chunk", thought[self._thought :])
        self._chunk("agent_message_chunk", said[self._said :])
        self._thought, self._said = max(self._thought, len(thought)), max(self._said, len(said))

    def _answering(self, number: int) -> None:
        if number != self._live_number:
            self._live_number = number
            self._said = self._thought = 0

    def _text(self, event: e.TextDelta) -> None:
        self._answering(event.message_number)
        self._said += len(event.text)
        self._chunk("agent_message_chunk", event.text)

    def _thinking(self, event: e.ThinkingDelta) -> None:
        self._answering(event.message_number)
        self._thought += len(event.text)
        self._chunk("agent_thought_chunk", event.text)

    def _chunk(self, kind: str, text: str) -> None:
        if text:
            self.update(kind, content=text_block(text), messageId=str(self._live_number))

    # What is done

    def _announce(self, call_id: str, tool: str, arguments: Mapping[str, Any], status: str = "pending") -> _Call:
        terminal = calls.kind_of(tool) == calls.EXECUTE and self._can.shows_terminals
        call = self._calls[call_id] = _Call(tool, arguments, terminal)
        more: dict[str, Any] = {}
        if terminal:
            more["content"] = [{"type": "terminal", "terminalId": call_id}]
            more["_meta"] = {"terminal_info": {"terminal_id": call_id, "cwd": self.info.cwd}}
        described = self._described(tool, arguments)
        self.update("tool_call", toolCallId=call_id, status=status, rawInput=arguments, **described, **more)
        return call

    def _described(self, tool: str, arguments: Mapping[str, Any], summary: str = "") -> dict[str, Any]:
        return {
            "title": calls.title_of(tool, arguments, summary),
            "kind": calls.kind_of(tool),
            "locations": calls.locations_of(tool, arguments, self.info.cwd),
            "name": tool,
        }

    def asked(self, ask: PermissionAsk) -> dict[str, Any]:
        """The call a permission is asked for, as the request shows it."""
        call = self._calls.get(ask.call_id)
        # A host that a running command wants to reach is no call of its own, and must not take the command's place.
        aside = not ask.call_id or (call is not None and call.tool != ask.tool)
        call_id = f"ask-{ask.id}" if aside else ask.call_id
        if call_id not in self._calls:
            self._announce(call_id, ask.tool, ask.arguments)
        proposed = calls.proposed(ask.tool, ask.arguments, self.info.cwd)
        return {
            "toolCallId": call_id,
            "status": "pending",
            "rawInput": ask.arguments,
            **({"content": proposed} if proposed else {}),  # what is not given stays as it is
            **self._described(ask.tool, ask.arguments, ask.summary),
        }

    def settled(self, event: e.PermissionResolved) -> None:
        """What was asked about beside a call is over with its answer."""
        call_id = f"ask-{event.ask_id}"
        if (call := self._calls.get(call_id)) and not call.finished:
            call.finished = True
            self._call_update(call_id, status="completed" if event.decision == "allow" else "failed")

    def _tool_started(self, event: e.ToolStarted) -> None:
        if event.call_id not in self._calls:
            self._announce(event.call_id, event.tool, event.arguments, "in_progress")
        else:
            self._call_update(event.call_id, status="in_progress")

    def _call_update(self, call_id: str, **fields: Any) -> None:
        self.update("tool_call_update", toolCallId=call_id, **fields)

    def _tool_output(self, event: e.ToolOutput) -> None:
        call = self._calls.get(event.call_id)
        if call is None or call.finished:
            return
        if call.terminal:
            self._terminal_output(event.call_id, event.text)
            call.output += event.text[:1]  # only whether there was any
            return
        call.output = (call.output + event.text)[-OUTPUT_KEPT:]
        if call.picture is None:
            loop = asyncio.get_running_loop()
            call.picture = loop.call_later(OUTPUT_EVERY, self._show_output, event.call_id, call)

    def _show_output(self, call_id: str, call: _Call) -> None:
        call.picture = None
        self._call_update(call_id, content=calls.running(call.output))

    def _terminal_output(self, call_id: str, text: str) -> None:
        self._call_update(call_id, _meta={"terminal_output": {"terminal_id": call_id, "data": text}})

    def _result(self, result: ToolResultPart) -> None:
        """The result as the model reads it, which is also the end of the call."""
        call = self._calls.get(result.call_id) or self._announce(result.call_id, result.name, {})
        if call.terminal:
            if not call.output:
                self._terminal_output(result.call_id, result.text)
            self._end(result.call_id, call, result, exit_code=result.display.exit_code)
        else:
            self._end(result.call_id, call, result, content=calls.outcome(result, self.info.cwd))

    def _tool_finished(self, event: e.ToolFinished) -> None:
        call = self._calls.get(event.call_id)
        if call is not None and not call.finished:  # a person's own call, which leaves no result in the history
            content = {"content": calls.running(call.output)} if call.output and not call.terminal else {}
            self._end(event.call_id, call, event, exit_code=event.exit_code, **content)
        self._calls.pop(event.call_id, None)

    def _end(
        self, call_id: str, call: _Call, end: ToolResultPart | e.ToolFinished, *, exit_code: Any = None, **fields: Any
    ) -> None:
        call.finished = True
        if call.picture is not None:
            call.picture.cancel()
        if call.terminal:
            ended = {"terminal_id": call_id, "exit_code": exit_code, "signal": None}
            fields["_meta"] = {"terminal_exit": ended}
        if end.ended not in ("done", "failed"):
            # Editors know only completed and failed: the title says the rest.
            why = f" ({end.reason})" if end.reason else ""
            fields["title"] = f"{end.ended.replace('_', ' ')}: {calls.title_of(call.tool, call.arguments)}{why}"
        self._call_update(call_id, status="failed" if end.is_error else "completed", **fields)

    # What else changes

    def plan(self, plan: Sequence[PlanItem]) -> None:
        entries = [
            {"content": item.text, "priority": "medium", "status": _PLAN_STATES[item.state]}
            for item in plan
            if item.state in _PLAN_STATES
        ]
        self.update("plan", entries=entries)

    def usage(self, usage: SessionUsage) -> None:
        if usage.context_window:
            cost = {"amount": usage.cost_usd, "currency": "USD"}
            self.update("usage_update", used=usage.context_tokens, size=usage.context_window, cost=cost)

    def _session_updated(self, info: SessionInfo) -> None:
        before, self.info = self.info, info
        if info.settings.mode != before.settings.mode:
            self.update("current_mode_update", currentModeId=info.settings.mode)
        if info.settings != before.settings:
            self.options()
        if info.name != before.name:
            self.update("session_info_update", title=info.name, updatedAt=iso(info.updated_at))

    def options(self) -> None:
        self.update("config_option_update", configOptions=config_options(self.info, self.models))

    def _turn_completed(self, event: e.TurnCompleted) -> None:
        self._calls.clear()
        if event.op_id not in self.own_ops or event.reason not in _SAID_ITSELF:
            self.turn_ended(event.ended)

    def turn_ended(self, end: EndedTurn) -> None:
        if end.reason != "done":
            error = end.error or ErrorInfo("internal", "")
            self.tell(" ".join(turn_ended(end.reason, by=end.by, message=error.message, hint=error.hint)).rstrip())

    def _collected(self, event: e.ContextCollected) -> None:
        if self._can.shows_compaction:
            summary = [text_block(event.summary)] if event.summary else []
            self.update("compaction_update", compactionId=str(event.seq), status="completed", summary=summary)
        else:
            self._tell_lines(event)


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
