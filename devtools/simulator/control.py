"""The control plane: how another process looks into a simulator and steers it."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from devtools.simulator import answers
from devtools.simulator.faults import Fault
from devtools.simulator.http import Write
from devtools.simulator.records import Record
from devtools.simulator.script import ScriptError


class Controlled(Protocol):
    @property
    def requests(self) -> Sequence[Record]: ...

    def reset(self, script: Any = None) -> None: ...

    def fail(self, fault: Fault) -> None: ...

    def release(self) -> None: ...


class ControlPlane:
    def __init__(self, simulator: Controlled) -> None:
        self._simulator = simulator

    def answer(self, method: str, path: str, body: bytes) -> list[Write]:
        try:
            match method, path:
                case "GET", "/_sim/health":
                    return answers.json_writes(200, {}, {"ok": True, "requests": len(self._simulator.requests)})
                case "GET", "/_sim/requests":
                    return answers.json_writes(200, {}, {"requests": list(self._simulator.requests)})
                case "POST", "/_sim/reset":
                    self._simulator.reset(msgspec.json.decode(body) if body.strip() else None)
                case "POST", "/_sim/fail":
                    self._simulator.fail(msgspec.json.decode(body, type=Fault))
                case "POST", "/_sim/release":
                    self._simulator.release()
                case _:
                    return answers.json_writes(404, {}, {"error": f"no {method} {path} in the control plane"})
        except (msgspec.DecodeError, ScriptError, ValueError) as error:
            return answers.json_writes(400, {}, {"error": str(error)})
        return answers.json_writes(200, {}, {"ok": True})
