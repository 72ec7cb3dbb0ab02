"""What is known of tools where no tool is at hand comes from the tools."""

import subprocess
import sys
from pathlib import Path

import pytest

from openagent.protocol.words import about, call_ended, call_going_on, call_to_come, subject_of

ROOT = Path(__file__).parent.parent.parent


def test_what_is_written_down_of_tools_is_what_they_say() -> None:
    asked = [sys.executable, ROOT / "scripts" / "words.py", "--check"]
    checked = subprocess.run(asked, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("edit_file", {"path": "a.py"}, ("edit a.py", "editing a.py", "edited a.py")),
        ("shell", {"command": "ls"}, ("run ls", "running ls", "ran ls")),
        ("git", {"subcommand": "log", "args": ["-1"]}, ("run git log -1", "running git log -1", "ran git log -1")),
        ("read_file", {"file_path": "a.py"}, ("read a.py", "reading a.py", "read a.py")),
        ("todo", {"plan": []}, ("plan", "planning", "planned")),
        ("mcp__hub__close", {"id": "7"}, ("call 7", "calling 7", "called 7")),
        ("word_count", {"path": "a"}, ("word_count a", "word_count a", "word_count a")),
    ],
)
def test_a_call_is_told_before_while_and_after(tool: str, arguments: dict[str, object], told: tuple[str, ...]) -> None:
    subject = subject_of(tool, arguments)
    assert (call_to_come(tool, subject), call_going_on(tool, subject), call_ended(tool, subject, "done")) == told
    assert call_ended(tool, subject, "not_run") == f"not run: {told[0]}"


def test_a_tool_that_nobody_knows_is_of_no_kind() -> None:
    assert about("no_such_tool").kind == "other"
