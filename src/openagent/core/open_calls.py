"""Calls that have no result yet. Providers accept no history with a call that stays without one, so at a turn's end
each gets a result that says what became of it."""

from collections.abc import Iterator
from typing import Literal

from openagent.protocol.events import ToolFinished
from openagent.protocol.messages import CallEnd, Message, ToolCallPart, ToolResultPart
from openagent.protocol.sessions import TurnEnd
from openagent.protocol.words import subject_of

Stage = Literal["waiting", "asked", "questioned", "begun"]
"""waiting: for calls before it; asked: a person was asked whether it may run; questioned: it runs, and has asked a
person something."""

_WHY: dict[TurnEnd, str] = {
    "cancelled": "the turn was stopped",
    "time_limit": "the turn's time was up",
    "budget": "the budget did not cover the next request",
    "error": "the turn ended on an error",
    "interrupted": "the daemon stopped",
}


class OpenCalls:
    """The calls of the newest answer that have no result yet, and how far each has come."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCallPart] = {}
        self._stages: dict[str, Stage] = {}
        self._cut_off: set[str] = set()

    def __iter__(self) -> Iterator[ToolCallPart]:
        return iter(list(self._calls.values()))

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._calls

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take_in(self, message: Message) -> None:
        if message.role == "assistant":
            self._calls = {call.id: call for call in message.tool_calls}
            self._stages = {}
            self._cut_off = set()
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                self._calls.pop(part.call_id, None)

    def reached(self, call_id: str, stage: Stage) -> None:
        """One that was asked about again after it had run once has run all the same."""
        if stage != "asked" or not self.has_begun(call_id):
            self._stages[call_id] = stage

    def cut_off(self, call_id: str) -> None:
        """It was running when the daemon stopped: what it did by then is not known."""
        self._cut_off.add(call_id)
        self._stages[call_id] = "begun"

    def was_cut_off(self, call_id: str) -> bool:
        return call_id in self._cut_off

    def has_begun(self, call_id: str) -> bool:
        return self._stages.get(call_id) in ("begun", "questioned")

    def stopped(self, end: TurnEnd, by: str) -> list[tuple[ToolCallPart, ToolResultPart]]:
        """The results of those that their turn's end leaves open."""
        why = "the user stopped the turn" if end == "cancelled" and by else _WHY.get(end, "the turn ended")
        return [(call, _stopped(call, self._stages.get(call.id, "waiting"), why)) for call in self._calls.values()]


def _stopped(call: ToolCallPart, stage: Stage, why: str) -> ToolResultPart:
    if stage == "asked":
        return closed(call, "not_run", f"Not run: {why} while this call waited for approval.", f"{why} before approval")
    if stage == "waiting":
        return closed(call, "not_run", f"Not run: {why} before this call was begun.", why)
    text = f"Stopped before it finished: {why}. What it had done by then stays done."
    return closed(call, "stopped", text, why)


def closed(call: ToolCallPart, ended: CallEnd, text: str, reason: str) -> ToolResultPart:
    return ToolResultPart(call_id=call.id, name=call.name, text=text, is_error=True, ended=ended, reason=reason)


def finished(call: ToolCallPart, result: ToolResultPart) -> ToolFinished:
    """What clients are told of a result that no tool gave."""
    return ToolFinished(
        call_id=call.id,
        tool=call.name,
        is_error=True,
        ended=result.ended,
        reason=result.reason,
        subject=subject_of(call.name, call.arguments),
    )
