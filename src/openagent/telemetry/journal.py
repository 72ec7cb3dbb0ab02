"""The JSONL ledger: one line per model request, appended to the file that LEDGER_PATH names."""

import logging
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.plugins.ledger import Activity
from openagent.protocol.usage import Usage
from openagent.telemetry.tokens import TokenUsage

_log = logging.getLogger(__name__)


class JournalLine(Struct, frozen=True):
    """Every field is always written, so that each line can be read on its own."""

    at: float
    session: str
    model: str
    activity: Activity
    usage: dict[str, int | bool]
    cost_usd: float | None


class Journal:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._failing = False

    def append(self, record: TokenUsage) -> None:
        """The file is opened for each line, so that it may be moved away at any time. A full disk is told once and
        stops nobody's work: the store has the same figures."""
        try:
            self._write(_line(record))
            self._failing = False
        except OSError as problem:
            if not self._failing:
                self._failing = True
                _log.warning("token ledger %s cannot be written: %s", self._path, problem.strerror)

    def _write(self, line: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def _line(record: TokenUsage) -> bytes:
    line = JournalLine(
        at=record.at,
        session=record.session,
        model=record.model,
        activity=record.activity,
        usage={field: getattr(record.usage, field) for field in Usage.__struct_fields__},
        cost_usd=record.cost_usd,
    )
    return msgspec.json.encode(line) + b"\n"
