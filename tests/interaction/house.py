"""A whole daemon in the test's own process, answered by the simulator."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devtools.simulator import Simulator
from openagent.app import ConfigCache, WebAddress, running
from openagent.client import Attachment, Client, connect
from openagent.daemon.daemon import Daemon
from openagent.gateway.inprocess import InProcessLine
from openagent.protocol.events import AnyEvent, Event

PATIENCE = 60.0
MODEL = "compatible/scripted"


@dataclass
class House:
    daemon: Daemon
    sim: Simulator
    home: Path
    workspace: Path

    async def client(self, *, interactive: bool = False, name: str = "test") -> Client:
        return await connect(
            socket=self.daemon.place.socket, name=name, interactive=interactive, auto_start=False, env={}
        )

    async def web_client(self) -> Client:
        url = self.daemon.place.web_url.replace("http", "ws") + "/ws"
        return await connect(url=url, token=(self.home / "token").read_text(), env={})

    async def in_process_client(self) -> Client:
        return await connect(transport=InProcessLine(self.daemon), env={})


@asynccontextmanager
async def house(
    tmp_path: Path,
    script: Sequence[dict[str, Any]] | dict[str, Any],
    *,
    config: str = "",
    provider: str = "",
    web: bool = False,
) -> AsyncGenerator[House, None]:
    """`config` is what else the settings hold, `provider` what else the provider's entry holds."""
    async with Simulator(script) as sim, house_over(tmp_path, sim, config=config, provider=provider, web=web) as built:
        yield built


@asynccontextmanager
async def house_over(
    tmp_path: Path,
    sim: Simulator,
    *,
    config: str = "",
    provider: str = "",
    web: bool = False,
    patience: float = PATIENCE * 6,
) -> AsyncGenerator[House, None]:
    """A daemon on what `tmp_path` holds, possibly from an earlier one."""
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir(exist_ok=True)
    workspace.mkdir(exist_ok=True)
    settings = home / "config.toml"
    settings.write_text(
        f'{config}\n[providers.compatible]\nkind = "compatible"\nbase_url = "{sim.base_url}/v1"\napi_key = "k"\n'
        f"{provider}\n"
    )
    env = {
        "OPENAGENT_HOME": str(home),
        "OPENAGENT_CONFIG": str(settings),
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
    }
    address = WebAddress("127.0.0.1:0") if web else None
    async with asyncio.timeout(patience):
        async with running(home / "daemon.sock", home, ConfigCache(env), address) as daemon:
            yield House(daemon, sim, home, workspace)


async def new_session(house: House, client: Client, **settings: Any) -> str:
    settings = {"model": MODEL, "mode": "full", **settings}
    return (await client.create_session(str(house.workspace), **settings)).id


async def until(attachment: Attachment, wanted: Callable[[AnyEvent], bool]) -> list[Event]:
    """Everything up to and including the first event that is wanted."""
    seen: list[Event] = []
    async with asyncio.timeout(PATIENCE):
        async for event in attachment.events():
            seen.append(event)
            if wanted(event):
                return seen
    raise AssertionError(f"the events ended after {[type(event).__name__ for event in seen]}")
