"""What was defined or started while more ran unasked does not reach a mode in which less does."""

import asyncio
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.sessions import SessionUpdate, SettingsChange

from ..jail.processes import alive_with, appears, gone_within
from .doing import answer, ask, call, results_of, shell
from .house import PATIENCE, House, house, house_over, new_session

pytestmark = pytest.mark.anyio

DONE = {"text": "ok"}
STRICTER = [
    ("plan", "ask"),
    ("plan", "edits"),
    ("ask", "plan"),
    ("edits", "plan"),
    ("edits", "ask"),
    ("auto", "plan"),
    ("auto", "ask"),
    ("auto", "edits"),
    ("full", "plan"),
    ("full", "ask"),
    ("full", "edits"),
    ("full", "auto"),
]
LAXER = [("ask", "edits"), ("ask", "auto"), ("ask", "full"), ("edits", "auto"), ("edits", "full"), ("auto", "full")]
SOW = """\
cd sub
export WORD='kept, both of them' PATH="$PWD/bin:$PATH" BASH_ENV="$PWD/sown" PROMPT_COMMAND='echo sown' GIT_PAGER=./sown
date() { echo sown; }; export -f date
shopt -s expand_aliases; alias cal='echo sown'; hash -p "$PWD/bin/sown" wc
trap 'echo sown' DEBUG; declare -i NUMBER=1; UNEXPORTED=1; PS4='$(echo sown >&2)'; set -o noglob
bash -c 'exec -a MARKER sleep 1000' > /dev/null 2>&1 & disown
"""
LOOK = """\
pwd; echo "$WORD"; type -t date; echo "$-" | tr -cd f; shopt -q expand_aliases; echo "$?"
env; alias; trap -p; declare -F; hash; echo "$PS4 left:$NUMBER$UNEXPORTED"
"""


async def set_mode(h: House, session: str, mode: str) -> None:
    async with await h.client() as client:
        change = SettingsChange(mode=mode)  # pyright: ignore[reportArgumentType]
        await ask(client, SessionUpdate, session=session, settings=change)


async def turn_allowing_all(client: Client, attachment: Attachment) -> list[e.Event]:
    """A person is there who allows whatever is asked."""
    seen: list[e.Event] = []
    await client.send(attachment.session, "go")
    async with asyncio.timeout(PATIENCE):
        async for event in attachment.events():
            seen.append(event)
            if isinstance(event, e.PermissionRequested):
                await answer(client, event, decision="allow")
            if isinstance(event, e.TurnCompleted):
                return seen
    raise AssertionError("the events ended before the turn")


@asynccontextmanager
async def sown(
    tmp_path: Path, mode: str, *then: dict[str, Any]
) -> AsyncGenerator[tuple[House, Client, Attachment, str]]:
    """A session in which a command of that mode left what it could, and the marker of a process among that."""
    marker = f"sown-{uuid.uuid4().hex}"
    (tmp_path / "workspace" / "sub" / "bin").mkdir(parents=True)
    async with (
        house(tmp_path, [shell(SOW.replace("MARKER", marker)), DONE, *then, DONE]) as h,
        await h.client(interactive=True) as client,
    ):
        attachment = await client.attach(await new_session(h, client, mode=mode))
        await turn_allowing_all(client, attachment)
        await appears(marker)
        yield h, client, attachment, marker


@pytest.mark.parametrize(("before", "after"), STRICTER)
async def test_nothing_of_a_laxer_mode_reaches_a_stricter_one(tmp_path: Path, before: str, after: str) -> None:
    async with sown(tmp_path, before, shell(LOOK)) as (h, client, attachment, marker):
        await set_mode(h, attachment.session, after)
        assert await gone_within(marker, 5)
        seen = await turn_allowing_all(client, attachment)
        _, looked = await results_of(client, attachment.session)
        found = looked.text.splitlines()
        kept = [str(h.workspace / "sub"), "kept, both of them", "file", "1"]
        assert found[:4] == kept, looked.text
        assert "sown" not in looked.text
        assert "+  left:" in found
        assert "the session's mode changed" in looked.text  # so the model is told
        assert [event.mode for event in seen if isinstance(event, e.ShellReplaced)] == [after]  # and so are people


@pytest.mark.parametrize(("before", "after"), LAXER)
async def test_all_that_was_allowed_goes_on_in_a_laxer_mode(tmp_path: Path, before: str, after: str) -> None:
    async with sown(tmp_path, before, shell("date; cal; echo $WORD")) as (h, client, attachment, marker):
        await set_mode(h, attachment.session, after)
        seen = await turn_allowing_all(client, attachment)
        _, looked = await results_of(client, attachment.session)
        assert "sown\nkept" in looked.text, looked.text
        assert alive_with(marker)
        assert not [event for event in seen if isinstance(event, e.ShellReplaced)]


@pytest.mark.parametrize("after", ["auto", "full"])
async def test_what_plan_left_in_the_shell_is_there_where_all_of_it_runs_unasked(tmp_path: Path, after: str) -> None:
    async with sown(tmp_path, "plan", shell("date; cal; echo $WORD; echo x > made")) as (h, client, attachment, marker):
        await set_mode(h, attachment.session, after)
        assert await gone_within(marker, 5)  # it was in the enclosure that cannot write
        await turn_allowing_all(client, attachment)
        _, looked = await results_of(client, attachment.session)
        assert "sown\nkept" in looked.text, looked.text
        assert (h.workspace / "sub" / "made").exists()


async def test_what_a_laxer_mode_defined_does_not_outlive_a_restart_into_a_stricter_one(tmp_path: Path) -> None:
    (tmp_path / "workspace" / "sub" / "bin").mkdir(parents=True)
    again = [shell("type -t date; echo $WORD"), DONE]
    async with Simulator([shell(SOW.replace("MARKER", "none")), DONE, *again, *again]) as sim:
        async with house_over(tmp_path, sim) as h, await h.client(interactive=True) as client:
            attachment = await client.attach(await new_session(h, client, mode="auto"))
            await turn_allowing_all(client, attachment)
        async with house_over(tmp_path, sim) as h, await h.client(interactive=True) as client:
            attachment = await client.attach(attachment.session)
            await turn_allowing_all(client, attachment)
        async with house_over(tmp_path, sim) as h, await h.client(interactive=True) as client:
            await set_mode(h, attachment.session, "ask")  # no shell is open
            attachment = await client.attach(attachment.session)
            await turn_allowing_all(client, attachment)
            _, kept, gone = await results_of(client, attachment.session)
        assert kept.text.splitlines()[:2] == ["function", "kept, both of them"]
        assert gone.text.splitlines()[:2] == ["file", "kept, both of them"]


async def test_a_running_command_ends_when_the_mode_becomes_stricter(tmp_path: Path) -> None:
    marker = f"sown-{uuid.uuid4().hex}"
    steps = [shell(f"bash -c 'exec -a {marker} sleep 1000'"), shell("echo next"), DONE]
    async with house(tmp_path, steps) as h, await h.client(interactive=True) as client:
        attachment = await client.attach(await new_session(h, client, mode="auto"))
        running = asyncio.create_task(turn_allowing_all(client, attachment))
        await appears(marker)
        await set_mode(h, attachment.session, "ask")
        assert await gone_within(marker, 5)
        await running
        ended, after = await results_of(client, attachment.session)
        assert (ended.ended, after.text.splitlines()[0]) == ("failed", "next")
        assert "the session's mode changed" in ended.text


async def test_what_a_sub_agent_runs_ends_when_its_callers_mode_becomes_stricter(tmp_path: Path) -> None:
    marker = f"sown-{uuid.uuid4().hex}"
    child = {
        "name": "child",
        "match": {"said": "Behind."},
        "steps": [shell(f"bash -c 'exec -a {marker} sleep 1000'"), {"text": "Ended."}],
    }
    steps = [call("agent", tasks=[{"template": "coder", "task": "Behind."}], background=True), DONE]
    script = {"conversations": [child, {"steps": steps}]}
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        attachment = await client.attach(await new_session(h, client, mode="auto"))
        await turn_allowing_all(client, attachment)
        await appears(marker)
        await set_mode(h, attachment.session, "ask")
        assert await gone_within(marker, 5)
