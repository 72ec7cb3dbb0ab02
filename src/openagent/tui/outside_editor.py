"""The draft in the person's own editor."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path


class NoEditor(Exception):
    """Says why, and what to do."""


def command(env: Mapping[str, str]) -> list[str]:
    """VISUAL counts over EDITOR, and `vi` is what every machine has."""
    try:
        return shlex.split(env.get("VISUAL") or env.get("EDITOR") or "vi") or ["vi"]
    except ValueError as problem:
        raise NoEditor(f"VISUAL or EDITOR cannot be read: {problem}. Set it to a command.") from None


def edit(text: str, program: list[str], env: Mapping[str, str]) -> str:
    """What the editor left; as it was when it failed. Blocks until it has ended."""
    descriptor, name = tempfile.mkstemp(suffix=".md", prefix="openagent-")
    file = Path(name)
    try:
        with os.fdopen(descriptor, "w") as draft:
            draft.write(text)
        ended = subprocess.run([*program, name], env=dict(env), check=False)
        if ended.returncode != 0:
            raise NoEditor(f"{program[0]} ended with {ended.returncode}; the draft is as it was.")
        return file.read_text(errors="replace").removesuffix("\n")
    except OSError as problem:
        raise NoEditor(f"{program[0]} could not be started: {problem.strerror}. Set VISUAL or EDITOR.") from None
    finally:
        file.unlink(missing_ok=True)
