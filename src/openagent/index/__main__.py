"""The processes that index: `python -m openagent.index build|embed`.

Parsing hostile files cannot harm the daemon from here, and the work and the memory are not the daemon's. One JSON
object a line on stdout: progress, then what was built.
"""

import os
import sys
from pathlib import Path

import msgspec

from openagent.index.building import build, embed, update

_POLITE = 5


def main(what: str, arguments: list[str]) -> None:
    os.nice(_POLITE)
    first, second = map(Path, arguments[:2])
    if what == "embed":
        embed(first, second, Path(arguments[2]) if arguments[2:] else None)
        return
    paths = arguments[2:]
    if paths:
        _say({"built": update(first, second, paths)})
        return
    without: set[str] = set()
    built = build(first, second, _tell, without=without)
    _say({"built": built, "without": sorted(without)})


def _tell(stage: str, done: int, total: int) -> None:
    _say({"stage": stage, "done": done, "total": total})


def _say(line: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


main(sys.argv[1], sys.argv[2:])
