"""A whole daemon in the test's own process, with settings and an environment of the test's choice."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from devtools.simulator import Simulator, ThreadedSimulator
from openagent.app import ConfigCache, running
from openagent.client import Client
from openagent.protocol import events as e

from ..interaction.house import PATIENCE, House

T = TypeVar("T", bound=e.Event)
FAST_RETRIES = {"AI_RETRY_ATTEMPTS": "3", "AI_RETRY_BASE_DELAY": "0.01", "AI_RETRY_MAX_DELAY": "0.02"}
NO_RETRIES = {"AI_RETRY_ATTEMPTS": "1"}


def provider(name: str, kind: str, sim: Simulator | ThreadedSimulator, *more: str) -> str:
    prefix = "" if kind in ("anthropic", "gemini") else "/v1"
    lines = [f"[providers.{name}]", f'kind = "{kind}"', f'base_url = "{sim.base_url}{prefix}"', *more]
    return "\n".join(lines) + "\n"


@asynccontextmanager
async def place(tmp_path: Path, sim: Simulator, config: str, **env: str) -> AsyncGenerator[House, None]:
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir(mode=0o700, exist_ok=True)
    workspace.mkdir(exist_ok=True)
    settings = home / "config.toml"
    settings.write_text(f'{config}\n[jail]\nkind = "host"\n')
    environment = {
        "OPENAGENT_HOME": str(home),
        "OPENAGENT_CONFIG": str(settings),
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        **env,
    }
    async with asyncio.timeout(PATIENCE * 6):
        async with running(home / "daemon.sock", home, ConfigCache(environment)) as daemon:
            yield House(daemon, sim, home, workspace)


async def session(house: House, client: Client, model: str, **settings: Any) -> str:
    info = await client.create_session(str(house.workspace), model=model, mode="full", **settings)
    return info.id


async def turn(client: Client, session: str, prompt: str = "go") -> tuple[e.TurnCompleted, list[e.Event]]:
    attachment = await client.attach(session)
    try:
        await client.send(session, prompt)
        async with asyncio.timeout(PATIENCE):
            return await attachment.until_turn_ends()
    finally:
        await attachment.detach()


def only(events: list[e.Event], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]
