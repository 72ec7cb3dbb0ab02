"""A connection out of the jail lasts no longer than what allowed it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from openagent.protocol.grants import GrantsList, GrantsRevoke
from tests.jail.conftest import needs_bwrap

from ..servers import patient
from .doing import answer, ask, asked, call, results_of, shell
from .house import PATIENCE, house
from .test_egress import NAMES, begin, ended, questions

pytestmark = [pytest.mark.anyio, needs_bwrap]
DONE = {"text": "done"}


class Talker:
    """A server that speaks when it is told to."""

    def __init__(self) -> None:
        self.port = 0
        self._clients: list[asyncio.StreamWriter] = []

    def say(self, word: str) -> None:
        for client in self._clients:
            client.write(f"{word}\n".encode())

    async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.append(writer)
        writer.write(b"up\n")
        while await reader.read(1000):
            pass
        writer.close()


@asynccontextmanager
async def talker() -> AsyncGenerator[Talker]:
    made = Talker()
    server = await asyncio.start_server(patient(made.hear), "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()
    await server.wait_closed()


def listen(port: int) -> str:
    """Each word it hears becomes a file; so does the end."""
    connect = f"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT far.test:{port} HTTP/1.1\\r\\n\\r\\n' >&3"
    return f"{connect}; {_heard}"


_heard = 'while read -r word <&3; do case $word in [a-z]*) touch "$word";; esac; done; touch cut'


async def appeared(file: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not file.exists():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("scope", ["session", "always"])
async def test_a_grant_that_is_taken_back_closes_the_open_connection(tmp_path: Path, scope: str):
    async with talker() as far:
        again = f"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT far.test:{far.port} HTTP/1.1\\r\\n\\r\\n' >&3"
        script = [shell(f"{listen(far.port)}; {again}; head -n 1 <&3"), DONE]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="allow", scope=scope)
            await appeared(h.workspace / "up")
            (grant,) = (await ask(client, GrantsList)).grants
            assert not (h.workspace / "cut").exists()
            await ask(client, GrantsRevoke, grant=grant.id)
            await answer(client, await asked(attachment), decision="deny")  # the same command, once more
            assert questions(await ended(attachment)) == []
            [result] = await results_of(client, session)
            assert "403 Forbidden" in result.text
            assert (h.workspace / "cut").exists()


async def test_a_port_of_this_machine_that_is_taken_back_closes_with_what_goes_through_it(tmp_path: Path):
    async with talker() as near:
        command = f"exec 3<>/dev/tcp/127.0.0.1/{near.port}; {_heard}; : <>/dev/tcp/127.0.0.1/{near.port}"
        script = [call("shell", command=command, leave=[f"localhost:{near.port}"]), DONE]
        async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="allow", scope="session")
            await appeared(h.workspace / "up")
            (grant,) = (await ask(client, GrantsList)).grants
            await ask(client, GrantsRevoke, grant=grant.id)
            assert questions(await ended(attachment)) == []
            [result] = await results_of(client, session)
            assert (h.workspace / "cut").exists()
            assert "Connection refused" in result.text


async def test_what_was_allowed_once_closes_with_its_command(tmp_path: Path):
    async with talker() as far:
        left = f"({listen(far.port)}) > /dev/null 2>&1 & disown; until [ -e up ]; do sleep 0.02; done"
        async with (
            house(tmp_path, [shell(left), DONE], config=NAMES) as h,
            await h.client(interactive=True) as client,
        ):
            _, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="allow", scope="once")
            await ended(attachment)
            await appeared(h.workspace / "cut")


async def test_a_command_in_the_background_keeps_its_connection_beside_others(tmp_path: Path):
    config = NAMES + "background_after = 0.3\n"
    async with talker() as far:
        script = [shell(listen(far.port)), shell("until [ -e up ]; do sleep 0.02; done"), DONE]
        async with house(tmp_path, script, config=config) as h, await h.client(interactive=True) as client:
            _, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="allow", scope="once")
            await ended(attachment)
            far.say("later")
            await appeared(h.workspace / "later")
            assert not (h.workspace / "cut").exists()
