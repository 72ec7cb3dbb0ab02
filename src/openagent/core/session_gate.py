"""A session's way to its gate. A defect in a gate is told, and does not end the turn.

It stays safe: when the gate fails, a call is not made, and a person is asked what the gate might have answered.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from openagent.plugins.gate import NO_RULING, Admission, Ruling
from openagent.plugins.tool import ToolOutcome
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.events import ErrorRaised
from openagent.protocol.messages import NotePart, ToolCallPart

if TYPE_CHECKING:
    from openagent.core.session import Session

_log = logging.getLogger(__name__)


class SessionGate:
    def __init__(self, session: "Session") -> None:
        self._session = session

    def opening(self) -> Sequence[NotePart]:
        try:
            return self._session.runtime.gate.opening(self._session.workspace)
        except Exception as problem:  # the boundary of a gate, here and below
            self._tell("What a new session is told of its folder could not be read", problem)
            return ()

    async def admit(self, text: str) -> Admission:
        try:
            return await self._session.runtime.gate.admit(self._session.scene, text)
        except Exception as problem:
            self._tell("What belongs to this message (rules, commands, code) could not be added", problem)
            return Admission()

    async def before_call(self, call: ToolCallPart) -> Ruling:
        """Hooks may refuse it, or have it made with other arguments."""
        try:
            return await self._session.runtime.gate.before_call(self._session.scene, call)
        except Exception as problem:
            told = self._tell(f"The hooks before {call.name} could not be run", problem)
            return Ruling("deny", f"{told} The call was not made.", "gate")

    async def before_ask(self, call: ToolCallPart) -> Ruling:
        try:
            return await self._session.runtime.gate.before_ask(self._session.scene, call)
        except Exception as problem:
            self._tell("The hooks that answer for a person could not be run", problem)
            return NO_RULING

    async def after_call(self, call: ToolCallPart, outcome: ToolOutcome) -> Sequence[NotePart]:
        try:
            return await self._session.runtime.gate.after_call(self._session.scene, call, outcome)
        except Exception as problem:
            self._tell(f"What belongs to the outcome of {call.name} (rules, hooks) could not be added", problem)
            return ()

    async def before_end(self, answer: str, *, again: bool) -> str:
        try:
            return await self._session.runtime.gate.before_end(self._session.scene, answer, again=again)
        except Exception as problem:
            self._tell("The hooks at the end of the turn could not be run", problem)
            return ""

    def _tell(self, what: str, problem: Exception) -> str:
        _log.exception("gate raised an unexpected error, the turn continues", extra={"session": self._session.id})
        message = f"{what}: a defect ({type(problem).__name__}: {problem})."
        hint = "The turn goes on. The daemon's log has the details."
        self._session.post(ErrorRaised(error=ErrorInfo("internal", message, hint=hint)))
        return message
