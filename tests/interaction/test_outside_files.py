"""Files outside the workspace: file tools reach what commands reach, after the same question, and no more."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.messages import ToolResultPart

from .doing import answer, asked, call, one_turn, results_of, shell, write
from .house import PATIENCE, House, house, new_session

pytestmark = pytest.mark.anyio

DONE = {"text": "ok"}
HOST = '[jail]\nkind = "host"\n'


async def begin(h: House, client: Client, **settings: Any) -> Attachment:
    attachment = await client.attach(await new_session(h, client, **settings))
    await client.send(attachment.session, "go")
    return attachment


async def to_the_end(client: Client, attachment: Attachment) -> tuple[list[e.Event], list[ToolResultPart]]:
    async with asyncio.timeout(PATIENCE):
        _, seen = await attachment.until_turn_ends()
    return seen, await results_of(client, attachment.session)


def questions(seen: list[e.Event]) -> list[e.Event]:
    return [event for event in seen if isinstance(event, e.PermissionRequested)]


def other_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    (folder / "deep").mkdir(parents=True)
    (folder / "notes").write_text("outside\n")
    (folder / "deep" / "more").write_text("deeper\n")
    return folder


async def test_a_folder_that_was_let_in_is_there_for_file_tools_and_commands_alike(tmp_path: Path) -> None:
    folder = other_folder(tmp_path)
    steps = [
        call("read_file", path=f"{folder}/notes"),
        call("read_file", path=f"{folder}/notes"),
        call("read_file", path="../other/deep/more"),
        call("list_dir", path=str(folder)),
        call("glob", pattern="**/more", path=str(folder)),
        call("grep", pattern="deep", path=str(folder)),
        shell(f"cat {folder}/notes"),
        DONE,
    ]
    async with house(tmp_path, steps) as h, await h.client(interactive=True) as client:
        attachment = await begin(h, client, mode="auto")
        first = await asked(attachment)
        assert (first.ask.tool, first.ask.reason) == ("read_file", "It is outside the workspace.")
        assert [choice.covers for choice in first.ask.choices][1] == (
            f"Reading anything below `{folder}/`, for the rest of this session."
        )
        await answer(client, first, decision="deny", reason="not now")
        await answer(client, await asked(attachment), decision="allow", scope="session")
        seen, (denied, notes, more, listed, found, matched, shown) = await to_the_end(client, attachment)
        assert questions(seen) == []
        assert (denied.ended, "not now" in denied.text) == ("denied", True)
        assert notes.text == "1\toutside"
        assert more.text == "1\tdeeper"
        assert listed.text.startswith("deep/\nnotes")
        assert found.text == f"{folder}/deep/more"
        assert "deep/more:1:deeper" in matched.text
        assert shown.text.startswith("outside")


async def test_what_is_written_outside_is_asked_about_and_then_done(tmp_path: Path) -> None:
    folder = other_folder(tmp_path)
    patch = f"*** Begin Patch\n*** Update File: {folder}/notes\n@@\n-outside\n+patched\n*** End Patch"
    steps = [
        write(f"{folder}/new/file", "made"),
        call("edit_file", path=f"{folder}/notes", old="outside", new="outside"),
        call("apply_patch", patch=patch),
        call("edit_file", path=f"{folder}/deep/more", old="deeper", new="edited"),
        DONE,
    ]
    async with house(tmp_path, steps) as h, await h.client(interactive=True) as client:
        attachment = await begin(h, client, mode="auto")
        first = await asked(attachment)
        assert (first.ask.tool, first.ask.summary) == ("write_file", f"{folder}/new/file")
        await answer(client, first, decision="allow")
        await answer(client, await asked(attachment), decision="deny")
        third = await asked(attachment)
        assert third.ask.tool == "apply_patch"
        await answer(client, third, decision="allow", scope="session")
        seen, results = await to_the_end(client, attachment)
        assert questions(seen) == []
        assert [result.ended for result in results] == ["done", "denied", "done", "done"]
        assert (folder / "new" / "file").read_text() == "made"
        assert (folder / "notes").read_text() == "patched\n"
        assert (folder / "deep" / "more").read_text() == "edited\n"


async def test_nobody_is_asked_about_what_could_not_be_done(tmp_path: Path) -> None:
    folder = other_folder(tmp_path)
    both = "*** Begin Patch\n*** Add File: a\n+a\n*** Add File: {folder}/b\n+b\n*** End Patch"
    steps = [
        call("apply_patch", patch=both.format(folder=folder)),
        call("read_file", path="~/anything"),
        call("read_file", path="/etc/shadow"),
        write("/etc/motd", "x"),
        write(f"/tmp/{tmp_path.name}.txt", "x"),
        DONE,
    ]
    async with house(tmp_path, steps) as h, await h.client(interactive=True) as client:
        attachment = await begin(h, client, mode="auto")
        seen, results = await to_the_end(client, attachment)
        assert questions(seen) == []
        assert [result.ended for result in results] == ["denied"] * 5
        assert "more than one place" in results[0].text
        assert "home directory" in results[1].text
        assert not (folder / "b").exists()


async def test_a_folder_let_in_is_no_way_to_another(tmp_path: Path) -> None:
    folder, secret = other_folder(tmp_path), tmp_path / "secret"
    secret.write_text("hidden")
    (folder / "link").symlink_to(secret)
    (folder / "up").symlink_to(tmp_path)
    (folder / ".git" / "hooks").mkdir(parents=True)
    steps = [
        call("read_file", path=f"{folder}/link"),
        call("read_file", path=f"{folder}/up/secret"),
        write(f"{folder}/up/made", "x"),
        write(f"{folder}/.git/hooks/pre-commit", "x"),
        DONE,
    ]
    async with house(tmp_path, steps) as h, await h.client(interactive=True) as client:
        attachment = await begin(h, client, mode="auto")
        await answer(client, await asked(attachment), decision="allow", scope="session")
        hook = await asked(attachment)
        assert hook.ask.summary.endswith("pre-commit")
        await answer(client, hook, decision="allow")
        _, results = await to_the_end(client, attachment)
        assert [result.is_error for result in results] == [True] * 4
        assert "leads out" in results[0].text
        assert "git's own" in results[3].text
        assert not list((folder / ".git" / "hooks").iterdir())
        assert not (tmp_path / "made").exists()


async def test_without_a_jail_file_tools_go_where_commands_go(tmp_path: Path) -> None:
    folder = other_folder(tmp_path)
    wanted = [call("read_file", path=f"{folder}/notes"), write(f"{folder}/made", "x"), shell(f"touch {folder}/touched")]
    steps = [*wanted, DONE, *wanted, DONE, *wanted, DONE]
    async with house(tmp_path, steps, config=HOST) as h, await h.client(interactive=True) as client:
        planned, _, seen = await one_turn(h, client, mode="plan")
        assert questions(seen) == []
        assert [result.ended for result in await results_of(client, planned)] == ["denied"] * 3

        attachment = await begin(h, client, mode="ask")
        for tool in ("read_file", "write_file", "shell"):
            question = await asked(attachment)
            assert question.ask.tool == tool
            await answer(client, question, decision="allow")
        _, results = await to_the_end(client, attachment)
        assert [result.ended for result in results] == ["done"] * 3
        assert results[0].text == "1\toutside"
        assert {path.name for path in folder.iterdir()} == {"deep", "notes", "made", "touched"}

        for name in ("made", "touched"):
            (folder / name).unlink()
        unasked, _, seen = await one_turn(h, client, mode="full")
        assert questions(seen) == []
        assert [result.ended for result in await results_of(client, unasked)] == ["done"] * 3
        assert {path.name for path in folder.iterdir()} == {"deep", "notes", "made", "touched"}
