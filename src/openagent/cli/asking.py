"""A call that waits for a yes or a no, in a plain terminal: all of what it is about, and the keys that answer.

The keys are those of the terminal interface. What is heavy loads when somebody is asked.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple

from openagent.cli.terminal import BOLD, CYAN, DIM, GREEN, RED, paint
from openagent.client.text import clean
from openagent.protocol.words import LEAVING, about, call_to_come, choice_lines, is_known, left_out, ways_to_allow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from typing import Any, TextIO

DENY, DENY_SAYING_WHY, WHOLE, WHY = "d", "D", "v", "?"
BECAUSE = "  deny, because (the agent reads it): "
_BESIDE_THE_CHANGE = 14
_LEAST = 10
_NO_KEY = "\0"
_WITHIN_A_WORD = 0.5
"""Seconds from one key to the next of somebody who writes."""
_PATIENCE = 0.1
"""Seconds that a terminal has to tell its colours: a person is about to read for longer."""


class Answer(NamedTuple):
    decision: str
    scope: str = ""
    choice: str = ""
    reason: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        """Those of a `permission.answer`."""
        given = {"scope": self.scope, "choice": self.choice, "reason": self.reason}
        return {"decision": self.decision, **{name: value for name, value in given.items() if value}}


class Asking:
    """`ask` as it went over the line."""

    def __init__(self, ask: Mapping[str, Any], stream: TextIO, ground: str | None = None) -> None:
        self._ask = ask
        self._stream = stream
        self._ground = ground
        self._given = [(each["id"], each["scope"], each["covers"]) for each in ask.get("choices", ())]
        self._ways = ways_to_allow(self._given)
        self._cut = 0
        self._typing_until = 0.0

    def shown(self) -> str:
        """The question; of a change as much as the screen holds."""
        ask = self._ask
        what = clean(call_to_come(ask["tool"], ask["summary"]))
        change = self._change(whole=False)
        lines = [f"{self._paint(f'? The agent wants to {what}', f'{BOLD};{CYAN}')}{self._counts()}"]
        lines += [f"  {self._risk()}", *change]
        if not change and not is_known(ask["tool"]):
            lines += [clean(f"    {name}: {value}") for name, value in ask.get("arguments", {}).items()]
        if self._cut:
            lines.append(self._paint(f"  … {self._cut} more lines: v shows all", DIM))
        return "\n".join([*lines, *self._answers()])

    def whole(self) -> str:
        ask = self._ask
        return "\n".join(self._change(whole=True) or [clean(f"  {call_to_come(ask['tool'], ask['summary'])}")])

    def why(self) -> str:
        rule = f" The rule that asks: {self._ask['rule']}." if self._ask.get("rule") else ""
        return self._paint(clean(f"  {self._ask.get('reason') or 'This mode asks first.'}{rule}"), DIM)

    def answer(self, key: str) -> Answer | None:
        """None: the key answers nothing."""
        if key == DENY:
            return Answer("deny")
        if key not in self._ways:
            return None
        name, scope, _ = self._ways[key]
        return Answer("allow", scope, name if self._given else "")

    def hint(self) -> str:
        """For whoever typed something else."""
        return self._paint(f"  Answer first: one of the keys {' '.join([*self._ways, *'dDv?'])}", DIM)

    def key_in(self, pressed: str) -> str:
        """The key that is meant as one: what is typed or pasted in a run of others is a word, and decides nothing."""
        key = pressed.strip()
        if not key:
            self._typing_until = 0.0  # Enter ends a word
            return ""
        meant = len(key) == 1 and monotonic() >= self._typing_until
        if meant and (key in self._ways or key in (DENY, DENY_SAYING_WHY, WHOLE, WHY)):
            return key
        self._typing_until = 0.0 if pressed.endswith(("\n", "\r")) else monotonic() + _WITHIN_A_WORD
        return _NO_KEY if meant or len(key) > 1 else ""

    def _risk(self) -> str:
        risk, reason = self._ask.get("risk", "medium"), self._ask.get("reason", "")
        return self._paint(clean(f"{risk} risk. {reason}".rstrip()), RED if risk == "high" else DIM)

    def _answers(self) -> list[str]:
        lines = [*choice_lines(self._ways), "[D] Deny it, and say why.   [?] Why?   [v] All of it."]
        return [f"  {clean(line)}" for line in lines]

    def _counts(self) -> str:
        from openagent.client.diff import counted

        files = counted(self._patch) if self._patch else []
        added, removed = sum(each.added for each in files), sum(each.removed for each in files)
        return f"  {self._paint(f'+{added}', GREEN)} {self._paint(f'−{removed}', RED)}" if files else ""

    @property
    def _patch(self) -> str:
        from openagent.client.diff import change_in

        tool = self._ask["tool"]
        told = self._ask.get("diff", "")
        return told or ("" if tool in LEAVING or about(tool).kind != "edit" else change_in(self._ask["arguments"]))

    def _change(self, *, whole: bool) -> list[str]:
        from openagent.cli.diff import look_of, painted, plain

        patch = self._patch
        if not patch:
            return []
        untold = [f"  … {told}"] if (told := self._left_out()) else []
        if not self._stream.isatty():
            return [plain(patch), *untold]
        path = str(self._ask["arguments"].get("path") or "")
        lines = painted(patch, look_of(self._stream, self._ground), path=path, headed=patch.count("\n--- ") > 0)
        room = max(_rows() - _BESIDE_THE_CHANGE, _LEAST)
        self._cut = 0 if whole or len(lines) <= room else len(lines) - room
        return [*lines[: len(lines) - self._cut], *untold]

    def _left_out(self) -> str:
        return left_out(self._ask.get("more_lines", 0), self._ask.get("more_files", 0))

    def _paint(self, text: str, style: str) -> str:
        return paint(text, style, self._stream)


def _rows() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).lines or 24
    except OSError:
        return 24


def ground_of_terminal() -> str | None:
    """Dark or light, where the terminal tells."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    from openagent.client.terminal_colours import Asked, ground_told

    return ground_told(os.environ) or Asked(os.environ).answer(_PATIENCE)[0]


@contextmanager
def single_keys() -> Generator[None, None, None]:
    """Keys come as they are pressed, and what was typed before the question decides nothing."""
    import termios
    import tty

    before = termios.tcgetattr(0)
    try:
        tty.setcbreak(0, termios.TCSAFLUSH)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def asked_here(asking: Asking, stream: TextIO) -> Answer:
    """The question on this terminal, and what a person answers. Whoever closes it denies."""
    with single_keys():
        _write(stream, f"{asking.shown()}\n  > ")
        while True:
            try:
                pressed = os.read(0, 64).decode(errors="replace")
            except OSError:
                pressed = ""
            if not pressed or pressed == "\x04":
                _write(stream, "\n")
                return Answer("deny")
            if (answer := _taken(asking.key_in(pressed), asking, stream)) is not None:
                break
    if answer.decision == "deny" and answer.reason == BECAUSE:
        _write(stream, BECAUSE)
        return Answer("deny", reason=sys.stdin.readline().strip())
    return answer


def question_here(text: str, choices: Sequence[str], stream: TextIO) -> str:
    """What the agent asks in words, and the line that a person types; the number of a choice stands for it. Empty when
    they leave it to the agent."""
    lines = [paint(f"? {text}", f"{BOLD};{CYAN}", stream)]
    lines += [f"  {number}. {choice}" for number, choice in enumerate(choices, 1)]
    _write(stream, clean("\n".join(lines)) + "\n  Your answer (empty: the agent decides) > ")
    said = sys.stdin.readline().strip()
    return choices[int(said) - 1] if said.isdecimal() and 0 < int(said) <= len(choices) else said


def _taken(key: str, asking: Asking, stream: TextIO) -> Answer | None:
    if (answer := asking.answer(key)) is not None:
        _write(stream, f"{key}\n")
        return answer
    match key:
        case "D":
            _write(stream, "D\n")
            return Answer("deny", reason=BECAUSE)
        case "v":
            _write(stream, f"v\n{asking.whole()}\n  > ")
        case "?":
            _write(stream, f"?\n{asking.why()}\n  > ")
        case "":
            pass
        case _:
            _write(stream, f"\n{asking.hint()}\n  > ")
    return None


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()
