"""A team's Redis that asks nobody for a password is refused."""

import asyncio
import os
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from benchmarks.cluster import RedisServer
from tests.interaction.house import PATIENCE
from tests.postgres import running_postgres

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

ADDRESS = "The address of the team's Redis has no password, and without one whoever reaches it reads along."
SERVER = "The team's Redis lets in whoever reaches it: it asks for no password."
DO = 'Set `requirepass` in its redis.conf, and `redis = "redis://:PASSWORD@host:6379/0"` in config.toml.'


async def _run(folder: Path, database: str, redis: str, *arguments: str) -> tuple[int, str]:
    (folder / "config.toml").write_text(f'database = "{database}"\nredis = "{redis}"\n')
    env = {
        "OPENAGENT_HOME": str(folder / "home"),
        "OPENAGENT_CONFIG": str(folder / "config.toml"),
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
    }
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "openagent", *arguments, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    async with asyncio.timeout(PATIENCE):
        out, problem = await program.communicate()
    assert program.returncode is not None
    return program.returncode, (out + problem).decode()


@pytest.mark.parametrize("with_one", [False, True], ids=["the address has none", "the server asks for none"])
async def test_a_redis_that_lets_in_everybody_is_refused_with_what_to_do(tmp_path: Path, with_one: bool) -> None:
    server = RedisServer(tmp_path, asks_for_password=False)
    await server.start()
    address = f"unix://:one@{server.socket}" if with_one else f"unix://{server.socket}"
    try:
        with running_postgres() as database:
            code, said = await _run(tmp_path, database, address, "serve", "--role", "worker")
            assert code == 1
            assert (SERVER if with_one else ADDRESS) in said
            assert DO in said
            code, said = await _run(tmp_path, database, address, "doctor")
            assert code == 1
            assert (SERVER if with_one else ADDRESS) in said
            assert DO in said
    finally:
        await server.stop()
