"""The installed program in a home of its own, with a daemon that ends when the measurement does."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.model import Model, scripted_model
from benchmarks.processes import cpu_seconds
from openagent.client import Client, connect
from openagent.protocol.daemon import DaemonInfo

MODEL = "compatible/bench"
_IDLE = 0.3
"""Seconds without any work after which a daemon has loaded what it loads."""
_INSTALLED = Path(sys.executable).parent / "openagent"


def _wait_until_idle(pid: int) -> None:
    """A daemon loads, after its first answer, what later ones may need: that is not part of a step."""
    used = -1.0
    while (now := cpu_seconds(pid)) > used:
        used = now
        time.sleep(_IDLE)


class Stage:
    def __init__(self, folder: Path, model_url: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.workspace = folder / "workspace"
        self.workspace.mkdir(exist_ok=True)
        self.env = {
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            "HOME": str(folder),
            "OPENAGENT_HOME": str(self.data),
            "OPENAI_BASE_URL": f"{model_url}/v1",
            "OPENAI_API_KEY": "none",
        }

    def program(self, *arguments: str) -> str:
        """Runs the installed command and returns what it printed."""
        command = [str(_INSTALLED)] if _INSTALLED.exists() else [sys.executable, "-m", "openagent"]
        done = subprocess.run(
            [*command, *arguments],
            env=self.env,
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"openagent {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def run(self, prompt: str) -> float:
        """Seconds that `openagent run` took."""
        began = time.perf_counter()
        said = self.program("run", "--model", MODEL, "--mode", "full", prompt)
        took = time.perf_counter() - began
        if "Done." not in said:
            raise RuntimeError(f"the answer to {prompt} is {said!r}")
        return took

    def start(self) -> int:
        """The daemon's process id, once it has answered and all it needs is loaded."""
        self.program("serve", "--daemon")
        self.run("warm up")
        pid = self.status().pid
        _wait_until_idle(pid)
        return pid

    def stop(self) -> None:
        self.program("stop")

    def status(self) -> DaemonInfo:
        return msgspec.json.decode(self.program("status", "--json"), type=DaemonInfo)

    @property
    def socket(self) -> str:
        return str(self.data / "daemon.sock")

    async def client(self) -> Client:
        return await connect(socket=self.socket, auto_start=False, env=self.env, name="benchmark")

    async def new_session(self, client: Client, **settings: Any) -> str:
        return (await client.create_session(str(self.workspace), **{"model": MODEL, "mode": "full", **settings})).id


@contextlib.contextmanager
def temporary_folder() -> Generator[Path, None, None]:
    folder = Path(tempfile.mkdtemp(prefix="openagent-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def stage_at(folder: Path, model_url: str) -> Generator[Stage, None, None]:
    stage = Stage(folder, model_url)
    try:
        yield stage
    finally:
        with contextlib.suppress(RuntimeError):
            stage.stop()


@contextlib.contextmanager
def stage_with(script: Mapping[str, Any]) -> Generator[tuple[Stage, Model], None, None]:
    with temporary_folder() as folder, scripted_model(folder, script) as model, stage_at(folder, model.url) as stage:
        yield stage, model
