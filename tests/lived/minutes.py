"""Minutes in the terminal app, as hands make them: `python -m tests.lived.minutes --minutes 20 --in tmux --seed 7`.

Everything that the help names is pressed, clicked, pasted and resized in an order that the seed decides, while turns
run, wait, fail and are stopped, and the daemon is killed. After each of it two things are looked at: what is typed then
stands in the input, so no keystroke was lost; and the state that the screen tells is the daemon's.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from devtools.simulator import ThreadedSimulator

from ..cli.machine import Machine
from ..tui.bare_terminal import BareTerminal

PATIENCE = 25.0
SOON = 6.0
"""What is typed is seen at once; a machine that does other things as well may take a while."""
CLEAR = b"\x05" + b"\x15" * 6
ESCAPE = b"\x1b"
SIZES = ((100, 30), (80, 24), (60, 20), (160, 45), (120, 36))
WORDS = [
    "grün",
    "日本",
    "naïve",
    "fix",
    "the",
    "tests",
    "in",
    "a",
    "b",
    "c",
    "🚀",
    "x_y",
    "don't",
    "/tmp",
    "100%",
    "«ja»",
]
LONG_CODE = "```python\n" + "".join(f"value_{n} = {'x' * (n * 7)!r}  # line {n}\n" for n in range(24)) + "```\n"
TABLE = "| name | lines |\n|---|---:|\n| app.py | 12 |\n\n- [x] one\n- [ ] two\n\n> quoted\n"
SCRIPT: dict[str, Any] = {
    "loop": True,
    "conversations": [
        {"match": {"last_user": "#code"}, "loop": True, "steps": [{"text": f"Code for you.\n\n{LONG_CODE}"}]},
        {"match": {"last_user": "#table"}, "loop": True, "steps": [{"text": f"# A table\n\n{TABLE}"}]},
        {
            "match": {"last_user": "#slow"},
            "loop": True,
            "steps": [{"text": "slowly said " * 400, "chunk_ms": 60, "chunk_chars": 12}],
        },
        {
            "match": {"last_user": "#shell"},
            "loop": True,
            "steps": [
                {"tool_calls": [{"name": "shell", "arguments": {"command": "seq 1 40; touch made-{step}"}}]},
                {"text": "It ran."},
            ],
        },
        {
            "match": {"last_user": "#edit"},
            "loop": True,
            "steps": [
                {
                    "text": "I change it.",
                    "tool_calls": [
                        {
                            "name": "write_file",
                            "arguments": {"path": "app.py", "content": "def greet(name):\n    return {last_user!r}\n"},
                        }
                    ],
                },
                {"text": "It is changed."},
            ],
        },
        {
            "match": {"last_user": "#fail"},
            "loop": True,
            "steps": [{"fault": {"name": "500", "times": 1}, "text": "At last."}],
        },
    ],
    "steps": [{"text": "You said: {last_user}"}],
}
"""A step that is met in the middle by a longer history is met all the same: hands wait for either."""


class Lost(Exception):
    """A keystroke that is nowhere, or a screen that lies."""


class Hands(Protocol):
    def send(self, data: bytes) -> None: ...

    def screen(self) -> str: ...

    def resize(self, width: int, height: int) -> None: ...

    def alive(self) -> bool: ...


class InPty:
    def __init__(self, terminal: BareTerminal) -> None:
        self._terminal = terminal

    def send(self, data: bytes) -> None:
        self._terminal.send(data)

    def screen(self) -> str:
        return self._terminal.screen()

    def resize(self, width: int, height: int) -> None:
        self._terminal.resize(width, height)

    def alive(self) -> bool:
        return self._terminal.alive()


class InTmux:
    def __init__(self, machine: Machine) -> None:
        self._socket = str(machine.root / "tmux.sock")
        settings = [f"{name}={value}" for name, value in machine.env.items()]
        command = ["env", *settings, sys.executable, "-m", "openagent"]
        self._tmux("new-session", "-d", "-x", "100", "-y", "30", "-c", str(machine.workspace), *command)
        self._tmux("set-option", "-g", "mouse", "on")
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", self._socket, "-f", os.devnull, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def send(self, data: bytes) -> None:
        for start in range(0, len(data), 400):
            self._tmux("send-keys", "-H", *(f"{byte:02x}" for byte in data[start : start + 400]))

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def alive(self) -> bool:
        return self._tmux("display-message", "-p", "#{pane_dead}").strip() == "0"

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True)


class Act(NamedTuple):
    name: str
    weight: int
    do: Callable[[], None]


class Person:
    def __init__(self, machine: Machine, hands: Hands, seed: int, log: Path) -> None:
        self.machine, self.hands, self.random, self.log = machine, hands, random.Random(seed), log
        self.done: Counter[str] = Counter()
        self.keys = 0
        self.found: list[str] = []
        self._marks = 0
        self.last: list[str] = []

    # --- what hands do ---

    def acts(self) -> list[Act]:
        return [
            Act("say", 6, lambda: self.say("")),
            Act("code", 2, lambda: self.say("#code")),
            Act("table", 2, lambda: self.say("#table")),
            Act("shell", 4, lambda: self.say("#shell")),
            Act("edit", 5, lambda: self.say("#edit")),
            Act("fail", 1, lambda: self.say("#fail")),
            Act("interrupt", 4, self.interrupt),
            Act("queue", 2, self.queue),
            Act("click", 6, self.click),
            Act("wheel", 3, self.wheel),
            Act("resize", 4, self.resize),
            Act("paste", 4, self.paste),
            Act("keys", 10, self.press),
            Act("history", 3, self.history),
            Act("mode", 3, self.mode),
            Act("slash", 4, self.slash),
            Act("tab", 2, self.tab),
            Act("kill", 1, self.kill),
            Act("draft", 5, self.draft),
        ]

    def say(self, word: str) -> None:
        text = f"{self.mark()} {word} {self.words()}".replace("  ", " ")
        self.type(text)
        self.enter()
        self.until(lambda: self.state() in ("idle", "waiting_approval", "error") and not self.in_input(text), "sent")
        for _ in range(4):
            if self.state() != "waiting_approval":
                break
            self.answer()

    def answer(self) -> None:
        self.until(lambda: "approve" in self.screen().lower() or "allow" in self.screen().lower(), "a question")
        time.sleep(0.5)  # keys that come with a question's first moment are not taken for its answer
        if self.random.random() < 0.3:
            self.press_one(self.random.choice([b"\x1b[5~", b"\x1b[6~", b"\x1b[A", b"\x1b[B"]))
        self.press_one(self.random.choice([b"a", b"a", b"a", b"d", ESCAPE]))
        self.until(lambda: self.state() != "waiting_approval", "answered")

    def interrupt(self) -> None:
        self.type(f"{self.mark()} #slow")
        self.enter()
        self.until(lambda: self.state() == "thinking", "thinking")
        draft = self.mark()
        self.type(draft)
        self.press_one(ESCAPE)
        self.until(lambda: self.state() == "idle", "interrupted")
        self.shown(draft, "the draft after an interrupt")
        self.clear()

    def queue(self) -> None:
        self.type(f"{self.mark()} #slow")
        self.enter()
        self.until(lambda: self.state() == "thinking", "thinking")
        self.type(f"{self.mark()} next")
        self.enter()
        self.press_one(ESCAPE)
        self.until(lambda: self.state() == "idle", "idle after the queue")

    def click(self) -> None:
        rows = self.screen().split("\n")
        row = self.random.randrange(1, max(len(rows) - 4, 2))
        column = self.random.randrange(1, 90)
        self.press_one(f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m".encode())

    def wheel(self) -> None:
        for _ in range(self.random.randrange(1, 8)):
            self.press_one(b"\x1b[<64;20;8M" if self.random.random() < 0.6 else b"\x1b[<65;20;8M")

    def resize(self) -> None:
        draft = self.mark()
        self.type(draft)
        self.hands.resize(*self.random.choice(SIZES))
        self.shown(draft, "the draft after a new size")
        self.clear()

    def paste(self) -> None:
        lines = self.random.choice([1, 3, 60])
        text = "\n".join(f"pasted {number} {self.words()}" for number in range(lines))
        self.hands.send(b"\x1b[200~" + text.encode() + b"\x1b[201~")
        self.until(lambda: "pasted" in self.screen().lower(), "what was pasted")
        if self.random.random() < 0.5:
            self.enter()
            self.until(lambda: self.state() in ("idle", "error", "waiting_approval"), "an answer to what was pasted")
        else:
            self.clear()

    def press(self) -> None:
        """Keys of the help, and some that it does not name."""
        known = [
            *(b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[D", b"\x1b[H", b"\x1b[F", b"\x1b[5~", b"\x1b[6~", b"\t"),
            *(b"\x1b[1;5A", b"\x1b[1;5B", b"\x1b[1;3A", b"\x1b[1;3B", b"\x1b[1;5H", b"\x1b[1;5F", b"\x0f", b"\x0c"),
            *(b"\x18p", b"\x18t", b"\x18a", b"\x18f", b"\x18y", b"\x18v", b"\x18k", b"\x18l", b"\x18m", b"\x1bOP"),
            *(b"\x1b[15~", b"\x1b[24~", b"\x1b[1;2A", b"\x01", b"\x05", b"\x02", b"\x06", b"\x14", b"\x19", b"\x17"),
            *(b"\x1b1", b"\x1b2", b"\x1b[5;5~", b"\x1b[6;5~", b"?", b"\x12"),
        ]
        for _ in range(self.random.randrange(1, 5)):
            self.press_one(self.random.choice(known))

    def history(self) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.press_one(b"\x1b[A")
        self.press_one(b"\x1b[B")
        self.clear()

    def mode(self) -> None:
        self.press_one(b"\x1b[Z")

    def slash(self) -> None:
        self.type(self.random.choice(["/help", "/usage", "/diff", "/model", "/nothing", "/theme", "/context", "/mode"]))
        self.enter()
        time.sleep(0.3)

    def tab(self) -> None:
        self.press_one(b"\x18n")
        time.sleep(0.3)

    def kill(self) -> None:
        draft = self.mark()
        self.type(draft)
        if pid := self.machine.daemon_pid():
            os.kill(pid, signal.SIGKILL)
        self.shown(draft, "the draft when the daemon was killed")
        self.until(lambda: self.machine.daemon_pid() not in (None, pid), "a new daemon")
        self.shown(draft, "the draft after a new daemon")
        self.clear()

    def draft(self) -> None:
        first, second = self.mark(), self.mark()
        self.type(first)
        self.press_one(self.random.choice([b"\x1b\r", b"\n", b"\x1b[13;2u", b"\x1b[27;2;13~"]))
        self.type(second)
        self.shown(first, "a draft's first line")
        self.shown(second, "a draft's second line")
        self.clear()

    # --- what eyes see ---

    def looks(self) -> None:
        """After everything: the keyboard is the input's, and the screen says what is so."""
        if not self.hands.alive():
            raise Lost("the program ended")
        if self.state() == "waiting_approval":
            self.answer()
        for _ in range(4):
            if self.takes_keys():
                break
            self.press_one(ESCAPE)
            time.sleep(1.0)
        else:
            raise Lost("four times Esc do not lead back to the input")
        state = self.state()
        if state == "idle":
            self.until(lambda: "to interrupt" not in self.screen() or self.state() != "idle", "no turn on the screen")

    def takes_keys(self) -> bool:
        mark = self.mark()
        self.hands.send(mark.encode())
        self.keys += len(mark)
        try:
            self.until(lambda: self.in_input(mark), "", SOON)
        except Lost:
            return False
        finally:
            self.clear()
        return True

    def screen(self) -> str:
        return self.hands.screen()

    def in_input(self, text: str) -> bool:
        """The last lines with a bar are the input's; what was said before has one too."""
        drawn = self.screen().split("\n")
        last = max((number for number, line in enumerate(drawn) if line.startswith(" █")), default=-1)
        while last >= 0 and drawn[last].startswith(" █"):
            if text in drawn[last]:
                return True
            last -= 1
        return False

    def state(self) -> str:
        try:
            told = self.machine.run("sessions", "list", "--json")
            listed = json.loads(told.stdout)
        except (ValueError, AssertionError, subprocess.TimeoutExpired):
            return "unknown"
        states = [session["status"] for session in cast("dict[str, list[dict[str, str]]]", listed)["sessions"]]
        for state in ("waiting_approval", "thinking", "executing_tool"):
            if state in states:
                return state
        return "idle"

    # --- what both are made of ---

    def mark(self) -> str:
        self._marks += 1
        return f"q{self._marks}z{self.random.randrange(1000, 9999)}"

    def words(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randrange(1, 8)))

    def type(self, text: str) -> None:
        for piece in range(0, len(text), 7):
            self.hands.send(text[piece : piece + 7].encode())
        self.keys += len(text)
        self.shown(text.split(" ", maxsplit=1)[0], f"what was typed ({text[:30]!r})")

    def press_one(self, data: bytes) -> None:
        self.keys += 1
        self.last.append(repr(data))
        self.hands.send(data)
        time.sleep(0.06)

    def enter(self) -> None:
        self.press_one(b"\r")

    def clear(self) -> None:
        self.hands.send(CLEAR)
        time.sleep(0.1)

    def shown(self, text: str, what: str) -> None:
        self.until(lambda: text in self.screen(), what)

    def until(self, wanted: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
        deadline = time.monotonic() + patience
        while not wanted():
            if time.monotonic() > deadline:
                raise Lost(f"waited {patience:.0f} s for {what}")
            time.sleep(0.2)

    def live(self, seconds: float) -> None:
        acts = self.acts()
        deadline = time.monotonic() + seconds
        self.until(self.takes_keys, "the first input", 40)
        while time.monotonic() < deadline:
            act = self.random.choices(acts, [each.weight for each in acts])[0]
            self.last = [act.name]
            try:
                act.do()
                self.looks()
            except Lost as problem:
                self.found.append(f"{act.name}: {problem}")
                with self.log.open("a") as log:
                    log.write(f"=== {act.name}: {problem}; keys {self.last[-20:]}\n{self.screen()}\n\n")
                if not self.hands.alive():
                    return
                self.recover()
            self.done[act.name] += 1

    def recover(self) -> None:
        """Twice Esc is a key of its own."""
        for _ in range(4):
            if self.takes_keys():
                return
            self.press_one(ESCAPE)
            time.sleep(1.5)


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--minutes", type=float, default=10.0)
    given.add_argument("--in", dest="where", choices=("tmux", "pty"), default="tmux")
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--log", type=Path, default=Path("minutes.log"))
    options = given.parse_args()
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="oa-minutes-")))
        sim = stack.enter_context(ThreadedSimulator(SCRIPT))
        machine = Machine(root, sim, {"OPENAGENT_MODE": "ask"})
        (machine.workspace / "app.py").write_text("def greet(name):\n    return name\n")
        stack.callback(machine.run, "stop")
        if options.where == "tmux":
            hands: Hands = InTmux(machine)
            stack.callback(hands.close)
        else:
            hands = InPty(stack.enter_context(BareTerminal(machine)))
        person = Person(machine, hands, options.seed, options.log)
        person.live(options.minutes * 60)
    told = ", ".join(f"{name} {count}" for name, count in sorted(person.done.items()))
    sys.stdout.write(
        f"{options.minutes:g} minutes in {options.where}, seed {options.seed}: {person.keys} keys; {told}\n"
    )
    for problem in person.found:
        sys.stdout.write(f"  {problem}\n")
    sys.stdout.write(f"{len(person.found)} lost\n")
    return bool(person.found)


if __name__ == "__main__":
    sys.exit(main())
