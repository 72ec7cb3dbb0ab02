"""The real program: `python -m openagent`, in a home of its own."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from openagent.client import Client, connect


@dataclass
class Binary:
    home: Path
    model_url: str
    daemons: list["subprocess.Popen[bytes]"] = field(default_factory=list["subprocess.Popen[bytes]"])

    def __post_init__(self) -> None:
        self.workspace = self.home / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "OPENAGENT_HOME": str(self.home / "data"),
            "OPENAI_BASE_URL": f"{self.model_url}/v1",
            "OPENAI_API_KEY": "k",
            "OPENAGENT_JAIL_KIND": "host",
        }

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def socket(self) -> str:
        return str(self.data / "daemon.sock")

    def serve(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Returns when it accepts connections."""
        reading, writing = os.pipe()
        daemon = subprocess.Popen(
            [sys.executable, "-m", "openagent", "serve", *arguments],
            env={**self.env, "OPENAGENT_READY_FD": str(writing)},
            pass_fds=[writing],
            start_new_session=True,
        )
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        assert said == "ok", said
        self.daemons.append(daemon)
        return daemon

    def run(self, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "openagent", *arguments],
            env={**self.env, **more},
            cwd=self.workspace,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )

    async def client(self) -> Client:
        return await connect(socket=self.socket, auto_start=False, env={})

    def close(self) -> None:
        for daemon in self.daemons:
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    daemon.wait(15)
                daemon.kill()
                daemon.wait()
        self.run("stop")


@contextlib.contextmanager
def binary(home: Path, model_url: str) -> Generator[Binary, None, None]:
    program = Binary(home, model_url)
    try:
        yield program
    finally:
        program.close()
