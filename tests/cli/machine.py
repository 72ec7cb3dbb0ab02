"""The real program on a machine of its own: a private home, and a simulator for a model."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from devtools.simulator import ThreadedSimulator

PATIENCE = 90.0
MODEL = "compatible/scripted"
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "PYTHONPATH")


class Ran(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Started(subprocess.Popen[bytes]):
    """Ends with the `with` it is used in: a test that fails there must not wait for what it failed to end."""

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, *rest)


@dataclass
class Machine:
    root: Path
    sim: ThreadedSimulator
    extra: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.workspace.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.root / "data"

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def env(self) -> dict[str, str]:
        return {
            **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            "HOME": str(self.root),
            "OPENAGENT_HOME": str(self.home),
            "OPENAI_BASE_URL": f"{self.sim.base_url}/v1",
            "OPENAI_API_KEY": "key-of-the-test",
            "OPENAGENT_MODEL": MODEL,
            **self.extra,
        }

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL, cwd: Path | None = None) -> Started:
        return Started(
            [sys.executable, "-m", "openagent", *arguments],
            env=self.env,
            cwd=cwd or self.workspace,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str, given: str | bytes | None = None, cwd: Path | None = None) -> Ran:
        data = given.encode() if isinstance(given, str) else given
        with self.start(*arguments, stdin=subprocess.DEVNULL if given is None else subprocess.PIPE, cwd=cwd) as process:
            try:
                out, err = process.communicate(data, timeout=PATIENCE)
            except BaseException:
                process.kill()
                raise
        return Ran(process.returncode, out.decode(), err.decode())

    def json(self, *arguments: str) -> Any:
        ran = self.run(*arguments, "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    def turn(self, prompt: str, *options: str, script: Sequence[Any] | None = None) -> str:
        """One whole turn; its session."""
        if script is not None:
            self.sim.reset({"steps": list(script)})
        ran = self.run("run", "--mode", "full", "--output", "json", *options, prompt)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)["session"]

    def daemon_pid(self) -> int | None:
        ran = self.run("status", "--json")
        return json.loads(ran.stdout)["pid"] if ran.returncode == 0 else None


@dataclass
class Bare(Machine):
    """Nothing is configured here, and nothing listens but what a test starts. Anthropic is the simulator."""

    @property
    def env(self) -> dict[str, str]:
        usual = super().env
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAGENT_MODEL"):
            usual.pop(name, None)
        return {"OPENAGENT_LOCAL_SERVERS": "ollama:1", "ANTHROPIC_BASE_URL": self.sim.base_url, **usual, **self.extra}

    @property
    def config(self) -> Path:
        return self.root / ".config" / "openagent" / "config.toml"


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "arguments": {"command": command}}], **more}


def is_running(pid: int) -> bool:
    """A zombie has ended: whoever started it has not looked yet."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return re.search(r"^State:\s+Z", status, re.MULTILINE) is None
