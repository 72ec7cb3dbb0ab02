"""Structured logs: one JSON object a line, with the op everything was done for."""

import logging
import sys
import time
from collections.abc import Mapping, Sequence
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import msgspec

import openagent
from openagent.daemon.connection import trace_id
from openagent.protocol.errors import OpenAgentError

LEVELS = ("debug", "info", "warning", "error")
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


def read_levels(text: str, level: str) -> dict[str, str]:
    """The level of each area from `OPENAGENT_LOG`, such as `info,team=debug`. The area "" is everything else."""
    levels = {"": level}
    if not text:
        return levels
    from pkgutil import iter_modules  # only here: every start of the daemon would pay for it

    areas = sorted(each.name for each in iter_modules(openagent.__path__) if not each.name.startswith("_"))
    given = set[str]()
    for item in text.lower().split(","):
        area, sign, level = (each.strip() for each in item.rpartition("="))
        if level not in LEVELS:
            hint = f"Write {level}=debug, for example." if level in areas else f"The levels are {', '.join(LEVELS)}."
            raise OpenAgentError("config_error", f"OPENAGENT_LOG: {level!r} is not a level.", hint=hint)
        if area in given or (sign and not area):
            hint = "Separate areas with commas: info,team=debug."
            raise OpenAgentError(
                "config_error", f"OPENAGENT_LOG: the area of {item!r} is missing or repeated.", hint=hint
            )
        given.add(area)
        if area and area not in areas:
            raise OpenAgentError(
                "config_error", f"OPENAGENT_LOG: {area!r} is not an area.", hint=f"The areas are {', '.join(areas)}."
            )
        levels[area] = level
    return levels


def start_logging(
    directory: Path, levels: Mapping[str, str], *, to_terminal: bool, filters: Sequence[logging.Filter] = ()
) -> Path:
    """`levels` as `read_levels` returns them."""
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
    logging.basicConfig(level=levels[""].upper(), handlers=handlers, force=True)
    for area, level in levels.items():
        if area:
            logging.getLogger(f"openagent.{area}").setLevel(level.upper())
    return file
