"""What a person allows once is over when the command is, also for what it leaves running."""

import asyncio
import uuid
from pathlib import Path

import pytest

from openagent.protocol import events as e
from tests.jail.conftest import needs_bwrap

from ..jail.processes import appears, gone_within
from .doing import answer, asked, call, results_of, shell
from .house import PATIENCE, house
from .loopback import web_server
from .test_beyond_undo import project
from .test_egress import NAMES, begin, curl, ended, questions
from .test_modes import below_home

pytestmark = [pytest.mark.anyio, needs_bwrap]
DONE = {"text": "done"}
SAID = "What an earlier command left running wants to connect to far.test"


def when(file: str, command: str) -> str:
    return f"until [ -e {file} ]; do sleep 0.02; done; {command}"


async def appeared(file: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not file.exists():
            await asyncio.sleep(0.01)


async def test_a_host_is_asked_for_again_at_each_connection_of_what_a_command_left(tmp_path: Path):
    async with web_server() as far:
        get = curl("far.test", far.port)
        left = f"({when('go', f'{get}; {get}; touch over')}) > /dev/null 2>&1 & disown"
        async with (
            house(tmp_path, [shell(f"{get}; {left}"), DONE], config=NAMES) as h,
            await h.client(interactive=True) as client,
        ):
            _, attachment = await begin(h, client)
            first = await asked(attachment)
            await answer(client, first, decision="allow", scope="once")
            assert questions(await ended(attachment)) == []
            (h.workspace / "go").touch()
            for _ in range(2):
                again = await asked(attachment)
                assert again.ask.reason.startswith(SAID)
                assert (again.ask.summary, again.ask.call_id) == (first.ask.summary, "")
                await answer(client, again, decision="allow", scope="once")
            await appeared(h.workspace / "over")
            assert len(far.requests) == 3


async def test_a_command_in_the_background_keeps_it_until_it_ends(tmp_path: Path):
    config = NAMES + "background_after = 0.3\n"
    async with web_server() as far:
        get = curl("far.test", far.port)
        left = f"({when('last', get)}) > /dev/null 2>&1 & disown"
        async with (
            house(tmp_path, [shell(f"{get}; {left}; {when('go', get)}"), DONE], config=config) as h,
            await h.client(interactive=True) as client,
        ):
            _, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="allow", scope="once")
            await ended(attachment)
            (h.workspace / "go").touch()
            seen: list[e.Event] = []
            async with asyncio.timeout(PATIENCE):
                async for event in attachment.events():
                    seen.append(event)
                    if isinstance(event, e.BackgroundFinished):
                        break
            assert questions(seen) == []
            assert len(far.requests) == 2
            (h.workspace / "last").touch()
            again = await asked(attachment)
            assert again.ask.reason.startswith(SAID)
            await answer(client, again, decision="deny")


async def test_a_port_of_this_machine_is_closed_at_the_commands_end(tmp_path: Path):
    async with web_server() as near:
        touch = f"(: < /dev/tcp/127.0.0.1/{near.port}) 2> /dev/null"
        left = f"({when('go', f'{touch} && touch reached; touch over')}) > /dev/null 2>&1 & disown"
        wish = {"leave": [f"localhost:{near.port}"]}
        async with (
            house(tmp_path, [call("shell", command=f"{touch} && echo reached; {left}", **wish), DONE]) as h,
            await h.client(interactive=True) as client,
        ):
            session, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="allow", scope="once")
            await ended(attachment)
            (h.workspace / "go").touch()
            await appeared(h.workspace / "over")
            [result] = await results_of(client, session)
            assert result.text == "reached"
            assert not (h.workspace / "reached").exists()


async def test_what_runs_where_a_folder_is_opened_ends_with_the_command(tmp_path: Path):
    marker = f"left-{uuid.uuid4().hex}"
    with below_home() as outside:
        command = f"echo made > {outside}/made; bash -c 'exec -a {marker} sleep 1000' > /dev/null 2>&1 & disown"
        steps = [call("shell", command=f"{command}; {when('seen', 'true')}", leave=[f"rw:{outside}"]), DONE]
        async with house(tmp_path, steps) as h, await h.client(interactive=True) as client:
            _, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="allow", scope="once")
            await appears(marker)
            (h.workspace / "seen").touch()
            await ended(attachment)
            assert await gone_within(marker, 5)
            assert (outside / "made").read_text() == "made\n"


async def test_what_undo_could_not_bring_back_is_held_again_at_the_commands_end(tmp_path: Path):
    large = project(tmp_path / "workspace") / "data" / "large"
    later = "echo two > data/large; touch over"
    steps = [shell(f"echo one > data/large && {{ ({when('go', later)}) > /dev/null 2>&1 & disown; }}"), DONE]
    async with house(tmp_path, steps) as h, await h.client(interactive=True) as client:
        _, attachment = await begin(h, client, mode="auto")
        await answer(client, await asked(attachment), decision="allow", scope="once")
        await ended(attachment)
        (h.workspace / "go").touch()
        await appeared(h.workspace / "over")
        assert large.read_text() == "one\n"
