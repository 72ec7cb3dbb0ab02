"""Daemons elsewhere, lost connections, and two programs on one session."""

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from openagent.client import Client, connect
from openagent.client.elsewhere import web_socket_url
from openagent.client.reconnect import Link
from openagent.protocol.errors import OpenAgentError
from openagent.tui.app import OpenAgent, Wanted

from ..interaction.doing import shell
from .screens import picture, screens

pytestmark = pytest.mark.anyio


async def test_a_daemon_elsewhere_is_used_over_its_web_socket(tmp_path: Path) -> None:
    async with screens(tmp_path, [shell("touch made"), {"text": "from afar"}], remote=True, mode="ask") as seen:
        await seen.write("go")
        await seen.until(lambda: seen.view.asks.permission and seen.view.asks.permission.armed)
        await seen.pilot.press("a")
        await seen.until_shown("from afar")
        assert (seen.house.workspace / "made").exists()


async def test_files_and_branch_of_the_other_machine_are_known(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / ".git").mkdir(parents=True)
    (workspace / ".git" / "HEAD").write_text("ref: refs/heads/far-away\n")
    (workspace / "src").mkdir()
    (workspace / "src" / "deep.py").touch()
    (workspace / "made.log").touch()
    (workspace / ".gitignore").write_text("*.log\n")
    async with screens(tmp_path, [], remote=True) as seen:
        await seen.until_shown("far-away", "openagent · build-server")
        await seen.until(lambda: seen.view.completion.files)
        assert sorted(seen.view.completion.files) == [".gitignore", "src/deep.py"]
        await seen.pilot.press("ctrl+x", "f")
        await seen.until_shown("src", "made.log")
        await seen.pilot.press("down", "enter")
        await seen.until_shown("deep.py")
        await seen.pilot.press("down", "enter")
        await seen.until(lambda: seen.view.prompt.text == "@src/deep.py ")


async def test_a_lost_web_socket_is_shown_mended_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"text": "first"}, {"text": "second"}, {"text": "third"}], remote=True) as seen:
        await seen.write("one")
        await seen.until_shown("first")
        link = seen.app.link
        refuse = True
        really_open = link._open  # pyright: ignore[reportPrivateUsage]

        async def open_(may_start: bool):
            if refuse:
                raise OpenAgentError("not_found", "Nobody answers there.")
            return await really_open(may_start)

        link._open = open_  # pyright: ignore[reportPrivateUsage]
        lost = link.client
        # It tries once by itself before anybody is told.
        lost._reopen = partial(open_, False)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        await lost._transport.close()  # pyright: ignore[reportPrivateUsage]
        await seen.until_shown("connection lost, trying again … Nobody answers there.")
        await seen.client.send(seen.session, "two")
        refuse = False
        await seen.until_shown("second")
        await seen.write("three")
        await seen.until_shown("first", "second", "third")
        assert [seen.screen().count(word) for word in ("first", "second", "third")] == [2, 1, 1]
        assert "connection lost" not in seen.screen()


async def test_a_daemon_that_stops_answering_is_told_of_and_what_was_sent_arrives(tmp_path: Path) -> None:
    goes_on, over = asyncio.Event(), asyncio.Event()
    goes_on.set()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            await goes_on.wait()
            writer.write(data)
        writer.close()
        await writer.wait_closed()

    async with screens(tmp_path, [{"text": "as if nothing had been"}]) as seen:
        socket = str(tmp_path / "between.sock")

        async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            to_daemon = await asyncio.open_unix_connection(str(seen.house.daemon.place.socket))
            await asyncio.gather(pipe(reader, to_daemon[1]), pipe(to_daemon[0], writer))
            over.set()

        async def open_(may_start: bool) -> Client:
            return await connect(socket=socket, name="tui", interactive=True, auto_start=False, env={})

        server = await asyncio.start_unix_server(between, socket)
        link = Link(open_, pulse=0.3)
        other = OpenAgent(link, Wanted(seen.session), str(seen.house.workspace), {"HOME": str(tmp_path)})
        try:
            async with other.run_test(size=(100, 30)) as pilot:
                await seen.until(lambda: other.view.follows)
                goes_on.clear()
                await seen.until(lambda: "The daemon has not answered for" in picture(other))
                await pilot.press("h", "i", "enter")
                goes_on.set()
                await seen.until(lambda: "as if nothing had been" in picture(other))
                await seen.until(lambda: "has not answered" not in picture(other))
        finally:
            goes_on.set()
            await link.close()
            server.close()
            await over.wait()


async def test_two_programs_on_one_session_show_the_same(tmp_path: Path) -> None:
    async with screens(tmp_path, [shell("touch both"), {"text": "For *both*."}], mode="ask") as seen:
        other = OpenAgent(
            Link(seen.app.link._open),  # pyright: ignore[reportPrivateUsage]
            Wanted(seen.session),
            str(seen.house.workspace),
            {"HOME": str(tmp_path)},
        )
        async with other.run_test(size=(100, 30)) as pilot:
            await seen.until(lambda: other.view.follows)
            await seen.write("go")
            await seen.until(lambda: other.view.asks.permission and other.view.asks.permission.armed)
            await pilot.press("a")
            await seen.until_shown("For both.")
            await seen.until_idle()
            await seen.until(lambda: not other.view.running)
            with suppress(AssertionError):
                await seen.until(lambda: picture(other) == seen.screen())
            assert picture(other) == seen.screen()
        await other.link.close()


async def test_a_daemon_that_cannot_be_reached_ends_the_program_with_its_reason(tmp_path: Path) -> None:
    async def open_(may_start: bool):
        raise OpenAgentError("not_found", "No daemon answers at ws://nowhere.", hint="Check the address.")

    app = OpenAgent(Link(open_, remote="build-server"), Wanted(), str(tmp_path), {"HOME": str(tmp_path)})
    async with app.run_test():
        pass
    assert app.return_code == 1
    assert "No daemon answers" in str(app.failure)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("host:8080", "ws://host:8080/ws"),
        ("http://host:8080", "ws://host:8080/ws"),
        ("https://host/", "wss://host/ws"),
        ("ws://host:1/ws", "ws://host:1/ws"),
        ("wss://host/behind/ws", "wss://host/behind/ws"),
    ],
)
async def test_an_address_may_be_written_in_several_ways(given: str, url: str) -> None:
    assert web_socket_url(given) == url
