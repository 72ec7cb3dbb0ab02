"""The real program in a real terminal, driven by keys."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openagent.simulator import ThreadedSimulator

from ..cli.machine import Machine

PATIENCE = 20.0
pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


class Terminal:
    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def tmux(self, *arguments: str) -> str:
        ran = subprocess.run(
            ["tmux", "-S", str(self._socket), "-f", os.devnull, *arguments], capture_output=True, text=True, check=True
        )
        return ran.stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def write(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def until_shown(self, *texts: str, gone: str = "") -> None:
        deadline = time.monotonic() + PATIENCE
        while not _fits(screen := self.screen(), texts, gone):
            assert time.monotonic() < deadline, f"{texts} not in, or {gone!r} in:\n{screen}"
            time.sleep(0.05)


def _fits(screen: str, texts: tuple[str, ...], gone: str) -> bool:
    return all(text in screen for text in texts) and not (gone and gone in screen)


@contextmanager
def terminal(machine: Machine) -> Generator[Terminal, None, None]:
    seen = Terminal(machine.root / "tmux.sock")
    settings = [f"{name}={value}" for name, value in machine.env.items()]
    command = ["env", *settings, sys.executable, "-m", "openagent"]
    seen.tmux("new-session", "-d", "-x", "100", "-y", "30", "-c", str(machine.workspace), *command)
    try:
        yield seen
    finally:
        subprocess.run(["tmux", "-S", str(machine.root / "tmux.sock"), "kill-server"], check=False, capture_output=True)
        machine.run("stop")


def test_plain_openagent_opens_asks_and_answers_in_a_terminal(tmp_path: Path) -> None:
    script = [
        {"tool_calls": [{"name": "shell", "arguments": {"command": "touch made"}}]},
        {"text": "All **done**."},
    ]
    with ThreadedSimulator(script) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODE": "ask"})
        with terminal(machine) as seen:
            seen.until_shown("message, @file, /command, !shell", "ask")
            seen.write("make it")
            seen.press("Enter")
            seen.until_shown("approve?", "touch made")
            time.sleep(0.4)
            seen.press("a")
            seen.until_shown("✓ ran touch made", "All done.")
            assert (machine.workspace / "made").exists()
            seen.press("?")
            seen.until_shown("answer a permission")
            seen.press("Escape")
            seen.until_shown("message, @file", gone="answer a permission")
            seen.tmux("resize-window", "-x", "60", "-y", "20")
            seen.until_shown("All done.", gone="^P plan")
            seen.tmux("set-option", "-g", "remain-on-exit", "on")
            seen.press("C-d")
            seen.until_shown("Pane is dead")
