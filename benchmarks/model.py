"""The scripted model: the simulator in a process of its own, so that it takes no time from what is measured."""

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from devtools.simulator import Record

STEPS = 50


class Model:
    def __init__(self, url: str) -> None:
        self.url = url

    def requests(self) -> list[Record]:
        return msgspec.json.decode(self._control("requests"), type=_Recorded).requests

    def forget(self) -> None:
        self._control("reset", b"")

    def _control(self, name: str, body: bytes | None = None) -> bytes:
        request = urllib.request.Request(f"{self.url}/_sim/{name}", data=body)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            return answer.read()


class _Recorded(msgspec.Struct):
    requests: list[Record]


@contextlib.contextmanager
def serving(module: str, *arguments: str) -> Generator[str, None, None]:
    """A server that prints one line of JSON with its url when it is ready."""
    process = subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def scripted_model(folder: Path, script: Mapping[str, Any]) -> Generator[Model, None, None]:
    file = folder / "script.json"
    file.write_bytes(msgspec.json.encode(script))
    with serving("devtools.simulator", "--script", str(file)) as url:
        yield Model(url)


def shell_step(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "arguments": {"command": command}}]}


def usual_script() -> dict[str, Any]:
    """T1 is one answer, T3 fifty shell calls and an answer. Without a referee, which would take time of its own."""
    steps = [shell_step(f"echo hi {number}") for number in range(STEPS)]
    return {
        "referee": False,
        "conversations": [
            {"name": "T3", "match": "T3", "steps": [*steps, {"text": "Done."}]},
            {"name": "T1", "steps": [{"text": "Done."}], "loop": True},
        ],
    }
