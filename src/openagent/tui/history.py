"""What was typed before, kept across runs: one file of the person's, which nobody else reads."""

import contextlib
import os
import re
from pathlib import Path

import msgspec

from openagent.filesystem.atomic_files import replace_file

FILE = "input_history.jsonl"
MOST, LONGEST = 2000, 20_000
"""Entries that are kept, and characters of one that is kept."""
_SECRET = re.compile(
    r"\b(sk-|AIza|gh[pousr]_|github_pat_|glpat-|xox[abp]-|AKIA|eyJ|Bearer\s+)[\w.*\-]{6,}|^/login\s+\S"
)


class Entry(msgspec.Struct, frozen=True):
    text: str


class History:
    def __init__(self, home: str) -> None:
        self._file = Path(home) / FILE
        self.texts: list[str] = []
        """Oldest first."""

    def load(self) -> None:
        """What other runs kept goes before what this one added meanwhile."""
        found: list[str] = []
        lines: list[bytes] = []
        with contextlib.suppress(OSError):
            lines = self._file.read_bytes().splitlines()
        for line in lines:
            with contextlib.suppress(msgspec.MsgspecError):
                found.append(msgspec.json.decode(line, type=Entry).text)
        self.texts = found[-MOST:] + self.texts
        if len(lines) > 2 * MOST:
            with contextlib.suppress(OSError):
                replace_file(self._file, b"".join(map(_line, found[-MOST:])), mode=0o600, flush=False)

    def add(self, text: str) -> None:
        if not text.strip() or (self.texts and self.texts[-1] == text):
            return
        self.texts.append(text)
        if len(text) > LONGEST or _SECRET.search(text):
            return
        with contextlib.suppress(OSError):  # a history that cannot be kept is no reason to stop somebody
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, _line(text))
            finally:
                os.close(file)


def _line(text: str) -> bytes:
    return msgspec.json.encode(Entry(text)) + b"\n"
