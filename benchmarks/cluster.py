"""A team on this machine: real PostgreSQL and Redis, gateways and workers as processes of their own."""

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import psycopg
from redis import asyncio as redis

from devtools.simulator import Simulator
from openagent.client import Client, connect
from openagent.protocol.errors import OpenAgentError
from tests.postgres import running_postgres

PATIENCE = 120.0


class Member:
    """One process of the team."""

    def __init__(self, cluster: "Cluster", role: str, name: str, env: Mapping[str, str] | None = None) -> None:
        self._more_env = env or {}
        self._cluster = cluster
        self.role = role
        self.name = name
        self.home = cluster.folder / name
        self.socket = self.home / "daemon.sock"
        self.port = free_port() if role == "gateway" else 0
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self.home.mkdir(exist_ok=True)
        env = {
            "OPENAGENT_HOME": str(self.home),
            "OPENAGENT_CONFIG": str(self._cluster.config),
            "HOME": str(self._cluster.folder),
            "PATH": os.environ["PATH"],
            **({"PYTHONPATH": str(self._cluster.source)} if self._cluster.source else {}),
            **self._more_env,
        }
        log = (self.home / "output").open("ab")
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "openagent", "serve", "--role", self.role),
            *(("--web-socket", f"127.0.0.1:{self.port}") if self.port else ()),
            env=env, stdin=DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
        log.close()

    async def client(self, *, interactive: bool = False) -> Client:
        """As soon as it can be asked."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return await connect(
                        socket=str(self.socket), name=self.name, interactive=interactive, auto_start=False, env={}
                    )
                except (OSError, OpenAgentError):
                    await asyncio.sleep(0.1)

    def send(self, number: signal.Signals) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)

    async def kill(self) -> None:
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.send(number)
            await self.process.wait()
            self.process = None

    @property
    def log(self) -> str:
        return "".join(file.read_text() for file in sorted((self.home / "logs").glob("*")))


class Balancer:
    """HAProxy before the gateways, as the guide has it: the one that is ready and has the fewest clients."""

    def __init__(self, folder: Path, ports: Sequence[int], host: str = "") -> None:
        """`host`: what its probes name, for gateways that answer no others."""
        self._config = folder / "haproxy.cfg"
        self._probe = "option httpchk GET /readyz" + (f"\n  http-check send hdr Host {host}" if host else "")
        self._ports = ports
        self.port = free_port()
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        program = shutil.which("haproxy") or "/usr/sbin/haproxy"
        servers = "\n".join(
            f"  server g{n} 127.0.0.1:{port} check inter 1s fall 2" for n, port in enumerate(self._ports)
        )
        self._config.write_text(
            "defaults\n  mode http\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n"
            "  timeout tunnel 1h\n  timeout check 5s\n"
            f"frontend door\n  bind 127.0.0.1:{self.port}\n  default_backend gateways\n"
            f"backend gateways\n  balance leastconn\n  {self._probe}\n{servers}\n"
        )
        self._process = await asyncio.create_subprocess_exec(program, "-f", str(self._config), stderr=DEVNULL)

    async def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.wait()
            self._process = None


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class RedisServer:
    def __init__(self, folder: Path, *, asks_for_password: bool = True, port: int = 0) -> None:
        """`port`: it listens there too, on loopback."""
        self._folder = folder
        self.socket = folder / "redis.sock"
        self.port = port
        self.password = secrets.token_hex(16)
        self._asks = asks_for_password
        self._process: asyncio.subprocess.Process | None = None
        self.pid = 0

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}" if self.port else self.socket_url

    @property
    def socket_url(self) -> str:
        return f"unix://:{self.password}@{self.socket}" if self._asks else f"unix://{self.socket}"

    async def start(self) -> None:
        """Empty: what it had before is gone."""
        program = shutil.which("redis-server")
        if program is None:
            raise FileNotFoundError("redis-server is missing. On Debian and Ubuntu: sudo apt-get install redis-server")
        self._process = await asyncio.create_subprocess_exec(
            program, "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", str(self.socket),
            "--save", "", "--dir", str(self._folder),
            *(("--requirepass", self.password) if self._asks else ()),
            stdout=DEVNULL,
        )  # fmt: skip
        self.pid = self._process.pid
        link: Any = redis.from_url(self.socket_url)
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await link.ping()
                    break
                except redis.RedisError:
                    await asyncio.sleep(0.05)
        await link.aclose()

    async def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.wait()
            self._process = None


class Cluster:
    def __init__(
        self, folder: Path, model: Simulator | str, database: str, source: Path | None, redis_port: int = 0
    ) -> None:
        """`model`: the simulator, or the url of one that runs elsewhere."""
        self.folder = folder
        self.source = source
        """Where the program lies that the next process is started from; this one's own, if nowhere."""
        self._model = model
        self.database = database
        self.config = folder / "config.toml"
        self.workspace = folder / "workspace"
        self.redis = RedisServer(folder, port=redis_port)
        self.gateways: list[Member] = []
        self.workers: list[Member] = []

    async def start(self, gateways: int, workers: int, settings: str) -> None:
        self.workspace.mkdir()
        url = self._model if isinstance(self._model, str) else self._model.base_url
        self.config.write_text(
            f'database = "{self.database}"\nredis = "{self.redis.url}"\n'
            f'mode = "full"\nmodel = "compatible/scripted"\n{settings}\n[providers.compatible]\nkind = "compatible"\n'
            f'base_url = "{url}/v1"\napi_key = "k"\n'
        )
        await self.redis.start()
        self.gateways = [Member(self, "gateway", f"g{number}") for number in range(gateways)]
        self.workers = [Member(self, "worker", f"w{number}") for number in range(workers)]
        for member in self.members:
            await member.start()

    @property
    def sim(self) -> Simulator:
        assert isinstance(self._model, Simulator), "it runs in a process of its own"
        return self._model

    async def another_worker(self, **env: str) -> Member:
        made = Member(self, "worker", f"w{len(self.workers)}", env)
        self.workers.append(made)
        await made.start()
        return made

    def holder_of(self, session: str) -> Member:
        """The worker that has it."""
        asked = "SELECT home FROM daemons JOIN sessions ON sessions.daemon = daemons.id WHERE sessions.id = %s"
        with psycopg.connect(self.database) as connection:
            row = connection.execute(asked, [session]).fetchone()
        assert row is not None, f"nobody has {session}"
        return next(worker for worker in self.workers if str(worker.home) == row[0])

    @property
    def members(self) -> list[Member]:
        return [*self.gateways, *self.workers]

    async def close(self) -> None:
        for member in self.members:
            member.send(signal.SIGCONT)
            await member.kill()
        await self.redis.stop()


@contextlib.asynccontextmanager
async def cluster(
    folder: Path,
    script: Sequence[dict[str, Any]] | dict[str, Any],
    *,
    gateways: int = 2,
    workers: int = 2,
    settings: str = "",
    source: Path | None = None,
    model_url: str = "",
    redis_port: int = 0,
) -> AsyncGenerator[Cluster, None]:
    """`model_url`: of a simulator that runs already, in a process of its own. `redis_port`: Redis listens there."""
    with running_postgres() as database:
        async with contextlib.AsyncExitStack() as stack:
            model = model_url or await stack.enter_async_context(Simulator(script))
            made = Cluster(folder, model, database, source, redis_port)
            try:
                await made.start(gateways, workers, settings)
                yield made
            finally:
                await made.close()
