"""Everything decided, run and written is in the audit trail, and stays there."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from openagent.client import Client, connect
from openagent.protocol import events as e
from openagent.protocol.safety import AuditAsk, AuditRow
from openagent.protocol.sessions import SessionDelete, SessionUpdate, SettingsChange
from openagent.protocol.tokens import TokensCreate
from openagent.protocol.tools import ToolRun
from openagent.protocol.undo import SessionUndo
from tests.jail.conftest import needs_bwrap

from .doing import answer, ask, asked, call, one_turn, shell, turn, write
from .house import PATIENCE, house, new_session, until

pytestmark = pytest.mark.anyio


async def rows(client: Client, **filters: Any) -> list[AuditRow]:
    """Oldest first."""
    return (await ask(client, AuditAsk, **filters)).entries[::-1]


async def test_every_call_leaves_its_decision_and_what_came_of_it(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: p.txt\n+x\n*** End Patch\n"
    script = [
        write("a.txt", "grüße\n"),
        shell("echo out; exit 3"),
        call("read_file", path="a.txt"),
        call("apply_patch", patch=patch),
        shell("rm -rf /"),
        call("no_such_tool"),
        {"text": "ok"},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        seen = await rows(client, session=session)
        told = [(row.kind, row.subject, row.detail.get("decision"), row.detail.get("bytes")) for row in seen]
        assert told == [
            ("session", "created", None, None),
            ("message", "sent", None, None),
            ("decision", "a.txt", "allow", None),
            ("file_written", "a.txt", None, 8),
            ("decision", "echo out; exit 3", "allow", None),
            ("command", "echo out; exit 3", None, None),
            ("decision", "a.txt", "allow", None),
            ("call", "a.txt", None, None),
            ("decision", told[8][1], "allow", None),
            ("file_written", "p.txt", None, 2),
            ("decision", "rm -rf /", "deny", None),
            ("decision", "no_such_tool", "none", None),
        ]
        (command,) = await rows(client, session=session, kind="command")
        assert command.detail["tool"] == "shell"
        assert (command.detail["exit_code"], command.detail["is_error"]) == (3, True)
        assert command.detail["output_bytes"] > 3
        (denied,) = [row for row in seen if row.detail.get("decision") == "deny"]
        assert denied.detail["rule"].startswith("builtin:")
        assert denied.detail["reason"]


async def test_the_trail_is_filtered_and_paged(tmp_path: Path) -> None:
    script = [shell(f"echo {n}") for n in range(5)] + [write("a.txt", "1"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        started = time.time()
        session, _, _ = await one_turn(h, client)
        assert [row.subject for row in await rows(client, kind="command")] == [f"echo {n}" for n in range(5)]
        assert {row.detail["tool"] for row in await rows(client, tool="write_file")} == {"write_file"}
        assert await rows(client, session="other1") == []
        assert await rows(client, since=time.time() + 60) == []
        assert len(await rows(client, since=started)) == len(await rows(client, session=session[:8]))
        collected: list[AuditRow] = []
        before: int | None = None
        while True:
            page = await ask(client, AuditAsk, tool="shell", limit=3, before=before)
            collected += page.entries
            before = page.next
            if before is None:
                break
        assert len(collected) == 10
        assert [row.id for row in collected] == sorted((row.id for row in collected), reverse=True)


async def test_grants_rewinds_and_the_end_of_a_session_are_in_it_and_outlive_the_session(tmp_path: Path) -> None:
    script = [shell("touch a"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client(interactive=True, name="me") as client:
        session = await new_session(h, client, mode="ask")
        attachment = await client.attach(session)
        await client.send(session, "go")
        await answer(client, await asked(attachment), decision="allow", scope="session")
        await attachment.until_turn_ends()
        await ask(client, SessionUndo, session=session, turn=1, conversation=True)
        await ask(client, SessionDelete, session=session)
        seen = await rows(client, session=session)
        told = ["session", "message", "grant", "permission", "decision", "command", "rewind", "session"]
        assert [row.kind for row in seen] == told
        grant, answered, decision, rewind = seen[2], seen[3], seen[4], seen[6]
        assert (answered.detail["decision"], answered.detail["scope"]) == ("allow", "session")
        assert (grant.subject, grant.detail["scope"], grant.detail["by"]) == ("touch a", "session", "me")
        assert (decision.detail["decision"], decision.detail["rule"]) == ("allow", "answer:me")
        assert (rewind.subject, rewind.detail["files"], rewind.detail["removed"]) == ("turn 1", True, 1)
        assert seen[-1].subject == "deleted"


async def test_a_persons_own_call_is_in_it_too(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        await ask(client, ToolRun, session=session, tool="shell", arguments={"command": "echo hi"})
        assert [row.kind for row in await rows(client, session=session)] == ["session", "decision", "command"]
        await turn(client, await client.attach(session))
        assert [row.kind for row in await rows(client, session=session)][3:] == ["message"]


async def test_a_command_that_was_cancelled_is_in_it_with_its_decision_before(tmp_path: Path) -> None:
    script = [shell("touch ran; sleep 100"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client(name="me") as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.ToolStarted))
        await until_exists(h.workspace / "ran")
        assert "decision" in [row.kind for row in await rows(client, session=session)], "before its outcome"
        await client.cancel(session)
        decision, command, cancelled = (await rows(client, session=session))[2:]
        assert (decision.kind, decision.detail["decision"]) == ("decision", "allow")
        assert (command.kind, command.subject) == ("command", "touch ran; sleep 100")
        assert (command.detail["ended"], command.detail["call_id"]) == ("stopped", decision.detail["call_id"])
        assert (cancelled.kind, cancelled.subject) == ("turn", "cancel")


async def test_a_persons_own_command_that_was_stopped_is_in_it(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        run = ToolRun(id=client.next_id(), session=session, tool="shell", arguments={"command": "touch ran; sleep 100"})
        running = asyncio.create_task(client.request(run))
        await until_exists(h.workspace / "ran")
        await client.cancel(session)
        await running
        told = [(row.kind, row.detail.get("ended")) for row in await rows(client, session=session)]
        assert told[:3] == [("session", None), ("decision", None), ("command", "stopped")]


async def test_the_end_of_a_command_in_the_background_is_in_it(tmp_path: Path) -> None:
    script = [shell("echo begun; sleep 0.6; exit 3"), {"text": "ok"}]
    async with house(tmp_path, script, config="[jail]\nbackground_after = 0.2\n") as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.BackgroundFinished))
        begun, ended = await rows(client, session=session, kind="command")
        assert begun.detail["background"] == ended.detail["background"]
        assert (ended.subject, ended.detail["exit_code"]) == ("echo begun; sleep 0.6; exit 3", 3)


@needs_bwrap
async def test_a_command_in_the_background_that_a_change_of_mode_ended_is_in_it(tmp_path: Path) -> None:
    script = [shell("echo begun; sleep 60"), {"text": "ok"}]
    async with house(tmp_path, script, config="[jail]\nbackground_after = 0.2\n") as h, await h.client() as client:
        session, _, _ = await one_turn(h, client)
        await ask(client, SessionUpdate, session=session, settings=SettingsChange(mode="plan"))
        begun, ended = await rows(client, session=session, kind="command")
        assert begun.detail["background"] == ended.detail["background"]
        assert (ended.subject, ended.detail["ended"]) == ("echo begun; sleep 60", "stopped")


async def test_every_row_says_who_and_from_where(tmp_path: Path) -> None:
    script = [shell("echo hi"), {"text": "ok"}, shell("echo two"), {"text": "ok"}]
    async with house(tmp_path, script, web=True) as h, await h.client(name="me") as client:
        session, _, _ = await one_turn(h, client)
        scopes, roots = ["chat", "approve"], [str(h.workspace)]
        token = await ask(client, TokensCreate, name="phone", scopes=scopes, roots=roots)
        url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
        async with await connect(url=url, token=token.secret, env={}, name="app") as phone:
            await ask(phone, SessionUpdate, session=session, settings=SettingsChange(mode="plan"))
            await ask(phone, SessionUpdate, session=session, settings=SettingsChange(mode="full"))
            await turn(phone, await phone.attach(session))
        seen = await rows(client)
        assert all(row.detail["by"] and row.detail["actor"] and row.detail["from"] for row in seen)
        mine = {row.detail["from"] for row in seen if row.detail["actor"] == "owner"}
        assert mine == {f"socket, process {os.getpid()}"}
        theirs = [row for row in seen if row.detail["actor"] == "phone"]
        assert {row.detail["by"] for row in theirs} == {"app"}
        assert all(row.detail["from"].startswith("127.0.0.1:") for row in theirs)
        assert [row.subject for row in theirs] == [
            "updated: mode full → plan",
            "updated: mode plan → full",
            "sent",
            "echo two",
            "echo two",
        ]
        (made,) = [row for row in seen if row.kind == "tokens"]
        assert (made.subject, made.detail["scopes"]) == ("create phone", ["chat", "approve"])
        assert token.secret not in str(seen)


async def test_a_message_that_waited_is_told_of_whoever_sent_it(tmp_path: Path) -> None:
    script = [{"chunks": ["one"], "fault": {"name": "stall", "after": 1}}, shell("echo two"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client(name="first") as first:
        session = await new_session(h, first)
        attachment = await first.attach(session)
        await first.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.TextDelta))
        async with await h.client(name="second") as second:
            await second.send(session, "and then")
        h.sim.release()
        await attachment.until_turn_ends()
        await attachment.until_turn_ends()
        (command,) = await rows(first, session=session, kind="command")
        assert command.detail["by"] == "second"


async def until_exists(path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not path.exists():
            await asyncio.sleep(0.01)
