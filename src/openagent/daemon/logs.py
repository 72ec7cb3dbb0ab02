"""Structured logs: one JSON object a line, with the op everything was done for."""

import logging
import sys
import time
from collections.abc import Sequence
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import msgspec

from openagent.daemon.connection import trace_id

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if trace := trace_id.get():
            line["trace"] = trace
        line |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            line["exception"] = record.exc_text or self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


def start_logging(directory: Path, level: str, *, to_terminal: bool, filters: Sequence[logging.Filter] = ()) -> Path:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = directory / "daemon.log"
    handlers: list[logging.Handler] = [RotatingFileHandler(file, maxBytes=10_000_000, backupCount=3, encoding="utf-8")]
    if to_terminal:
        handlers.append(logging.StreamHandler(sys.stderr))
    for handler in handlers:
        handler.setFormatter(JsonFormatter())
        for each in filters:
            handler.addFilter(each)
    for chatty in ("httpx2", "httpcore2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.basicConfig(level=level.upper(), handlers=handlers, force=True)
    return file
