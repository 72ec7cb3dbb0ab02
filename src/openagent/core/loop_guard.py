"""When a turn must stop although the model would go on."""

import msgspec

from openagent.plugins.tool import ToolOutcome
from openagent.protocol.messages import ToolCallPart

WARN_AFTER = 3
STOP_AFTER = 6
_NOTE = (
    "\n\n[This is the {count}th time in a row that you made this exact call and got this exact result. Do something "
    "else, or tell the user what is in the way.]"
)


class LoopGuard:
    """Notices a model that makes the same calls and gets the same results, step after step.

    Whoever waits for something does just that, and is left alone: the limits of a turn hold for it, too.
    """

    def __init__(self) -> None:
        self._previous: set[bytes] = set()
        self._current: set[bytes] = set()
        self._waits = False
        self._repeats = 1

    def note(self, call: ToolCallPart, outcome: ToolOutcome) -> str:
        """What to add to the result for the model to see; mostly nothing."""
        if outcome.waiting:
            self._waits = True
            return ""
        result = outcome.text
        signature = msgspec.json.encode((call.name, call.arguments, result))
        self._current.add(signature)
        count = self._repeats + 1
        if signature in self._previous and count >= WARN_AFTER:
            return _NOTE.format(count=count)
        return ""

    def end_step(self) -> bool:
        """True when enough is enough."""
        waits, self._waits = self._waits, False
        self._repeats = self._repeats + 1 if self._current == self._previous and not waits else 1
        self._previous, self._current = self._current, set()
        return self._repeats >= STOP_AFTER
