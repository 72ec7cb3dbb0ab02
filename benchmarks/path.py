"""How long the way of a message is: the files and functions of ours that one message with one shell call runs through.

`python -m benchmarks.path` starts a daemon that counts, has it answer two messages in one session, and prints what the
second one met, from the op's arrival to the turn's end, by room. `--list` names the functions.
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import msgspec

from benchmarks.model import shell_step
from benchmarks.stage import Stage, stage_with

_COUNTED = "OPENAGENT_BENCH_PATH"
"""Names the file into which the daemon writes what it met."""
_SOURCES = "/openagent/"
_PARTS = ("comp>", "<genexpr>")
"""They are frames of their own to the interpreter, and a part of their function to whoever reads it."""
_PATIENCE_S = 300.0


class _Counting:
    """In the daemon: SIGUSR1 begins, with the next bytes that come in; SIGUSR2 ends and writes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._met: set[CodeType] = set()
        self._began = self._armed = False

    def watch(self) -> None:
        signal.signal(signal.SIGUSR1, self._arm)
        signal.signal(signal.SIGUSR2, self._write)
        threading.setprofile(self._hear)
        sys.setprofile(self._hear)

    def _arm(self, _number: int, _frame: FrameType | None) -> None:
        self._met.clear()
        self._armed, self._began = True, False

    def _hear(self, frame: FrameType, event: str, _: Any) -> None:
        if not self._armed or event != "call":
            return
        code = frame.f_code
        self._began = self._began or code.co_name == "data_received"
        if self._began and _SOURCES in code.co_filename:
            self._met.add(code)

    def _write(self, _number: int, _frame: FrameType | None) -> None:
        self._armed = False
        met = [(code.co_filename, code.co_qualname) for code in self._met]
        ready = self._file.with_suffix(".new")
        ready.write_bytes(msgspec.json.encode(met))
        ready.replace(self._file)


def _serve() -> int:
    from openagent.app import main  # a daemon's, which the one who measures does not need

    _Counting(Path(os.environ[_COUNTED])).watch()
    return main([])


async def _two_messages(stage: Stage, daemon: int) -> None:
    async with await stage.client() as client:
        session = await stage.new_session(client)
        attached = await client.attach(session)
        for is_counted in (False, True):
            if is_counted:
                await asyncio.sleep(1)  # until what the first one left to do is done
                os.kill(daemon, signal.SIGUSR1)
            await client.send(session, "go")
            end, _ = await attached.until_turn_ends()
            if end.reason != "done":
                raise RuntimeError(f"the turn ended as {end.reason}: {end.error}")
        os.kill(daemon, signal.SIGUSR2)


def _measured() -> list[tuple[str, str]]:
    turn = [shell_step("echo hi"), {"text": "Done."}]
    with stage_with({"referee": False, "steps": [*turn, *turn]}) as (stage, _):
        file = stage.folder / "path.json"
        command = [sys.executable, "-m", "benchmarks.path", "--daemon"]
        with subprocess.Popen(command, env={**stage.env, _COUNTED: str(file)}) as daemon:
            try:
                _wait_for(Path(stage.socket))
                asyncio.run(_two_messages(stage, daemon.pid))
                _wait_for(file)
            finally:
                daemon.terminate()
        found = msgspec.json.decode(file.read_bytes(), type=list[tuple[str, str]])
    return sorted({(path.rpartition(_SOURCES)[2], name) for path, name in found if not name.endswith(_PARTS)})


def _wait_for(file: Path) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not file.exists():
        if time.monotonic() > until:
            raise RuntimeError(f"{file.name} did not come")
        time.sleep(0.05)


def main() -> int:
    parser = argparse.ArgumentParser(description="How long the way of a message is.")
    parser.add_argument("--list", action="store_true", help="name the functions")
    parser.add_argument("--daemon", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.daemon:
        return _serve()
    found = _measured()
    if given.list:
        print("\n".join(f"{path} {name}" for path, name in found))
    rooms = Counter(path.partition("/")[0] for path, _ in found)
    for room, functions in rooms.most_common():
        files = len({path for path, _ in found if path.partition("/")[0] == room})
        print(f"{room:14} {files:4} files {functions:5} functions")
    print(f"{'all':14} {len({path for path, _ in found}):4} files {len(found):5} functions")
    return 0


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
