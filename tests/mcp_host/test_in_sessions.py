"""MCP servers in sessions: jailed, supervised, and never able to end a turn."""

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.conversation import QuestionAnswer
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import (
    McpAdd,
    McpImport,
    McpList,
    McpOAuth,
    McpRemove,
    McpServerEntry,
    McpShow,
    McpSwitch,
    McpTest,
)
from openagent.protocol.safety import TrustAdd
from openagent.protocol.tools import ToolList, ToolRun, ToolsList
from openagent.tools.mcp import host

from ..interaction.doing import ask, asked, call, one_turn, results_of, shell, turn
from ..interaction.house import house, new_session, until
from .bench import offered, plant, scripted, statuses

pytestmark = pytest.mark.anyio


async def tools_of(client: Client, session: str) -> ToolList:
    return await ask(client, ToolsList, session=session)


async def test_a_servers_tools_are_offered_and_run_in_the_jail(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted())
    script = [call("echo", text="hello"), call("where"), call("progress"), {"text": "done"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session, completed, seen = await one_turn(h, client)
        assert completed.reason == "done"
        assert "information, not instructions" in offered(h)["echo"]["description"]
        echoed, where, done = await results_of(client, session)
        assert (echoed.text, done.text) == ("hello", "done")
        assert json.loads(where.text) == {"cwd": str(h.workspace), "home": False}
        assert [event.text for event in seen if isinstance(event, e.ToolOutput)] == ["1/2 half\n"]
        assert ("good", "up") in statuses(seen)


async def test_a_call_is_asked_about_and_refused_in_plan_mode(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted())
    script = [call("echo", text="x"), {"text": "ok"}] * 2
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        attachment = await client.attach(await new_session(h, client, mode="ask"))
        await client.send(attachment.session, "go")
        assert (await asked(attachment)).ask.summary == 'good: echo {"text":"x"}'
        session, _, _ = await one_turn(h, client, mode="plan")
        (result,) = await results_of(client, session)
        assert result.text.startswith("Denied: The session is in plan mode")


def late() -> dict[str, Any]:
    """It starts when there is a file `go`."""
    waits = "until [ -e go ]; do sleep 0.02; done; exec python3 scripted_server.py good"
    return {"command": "sh", "args": ["-c", waits]}


def told_of_late(seen: list[e.Event]) -> list[tuple[str, str]]:
    return [(event.server, event.state) for event in seen if isinstance(event, e.McpServerLate)]


async def test_a_slow_server_is_named_and_left_out_and_joins_the_turn_when_it_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "SETTLE", 0.0)
    plant(tmp_path, slow=late())
    wait = "touch go; until [ -e joined ]; do sleep 0.02; done"
    script = [shell(wait), call("echo", text="hello"), {"text": "done"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client))
        await client.send(attachment.session, "go")
        seen = await until(attachment, lambda event: isinstance(event, e.McpServerLate) and event.state == "joined")
        (h.workspace / "joined").touch()
        await attachment.until_turn_ends()
        assert told_of_late(seen) == [("slow", "left_out"), ("slow", "joined")]
        assert ["echo" in offered(h, number) for number in (0, 1)] == [False, True]
        _, echoed = await results_of(client, attachment.session)
        assert echoed.text == "hello"


async def test_a_server_that_is_waited_for_is_named_with_the_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "UNTOLD", 0.0)
    plant(tmp_path, slow=late())
    async with house(tmp_path, [{"text": "done"}]) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client))
        await client.send(attachment.session, "go")
        seen = await until(attachment, lambda event: isinstance(event, e.McpServerLate))
        assert isinstance(seen[-1], e.McpServerLate)
        assert (seen[-1].server, seen[-1].state) == ("slow", "awaited")
        assert 50 < seen[-1].seconds <= 60
        (h.workspace / "go").touch()
        _, seen = await attachment.until_turn_ends()
        assert told_of_late(seen) == [("slow", "joined")]
        assert "echo" in offered(h)


async def test_a_hung_server_is_waited_for_once_and_not_in_every_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "SETTLE", 0.1)
    plant(tmp_path, hung={"command": "sleep", "args": ["1000"]})
    async with house(tmp_path, [{"text": "one"}, {"text": "two"}]) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client))
        _, first = await turn(client, attachment)
        monkeypatch.setattr(host, "UNTOLD", 0.0)
        _, second = await turn(client, attachment)
        assert told_of_late(first) == [("hung", "left_out")]
        assert told_of_late(second) == []


async def test_a_server_that_dies_during_a_call_comes_back(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted())
    script = [call("die"), {"text": "I see."}, call("echo", text="back"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client))
        completed, _ = await turn(client, attachment)
        assert completed.reason == "done"
        await until(attachment, lambda event: isinstance(event, e.McpServerStatus) and event.status == "up")
        await turn(client, attachment)
        died, back = await results_of(client, attachment.session)
        assert died.is_error
        assert "good ended during the call" in died.text
        assert back.text == "back"


async def test_a_call_that_hangs_ends_with_its_time_limit_or_with_the_turn(tmp_path: Path) -> None:
    plant(tmp_path, slow=scripted(timeout=0.3))
    async with house(tmp_path, [call("hang"), {"text": "ok"}]) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        (result,) = await results_of(client, session)
        assert "did not answer within 0.3 s" in result.text


async def test_a_cancelled_turn_does_not_wait_for_a_server(tmp_path: Path) -> None:
    plant(tmp_path, slow=scripted())
    async with house(tmp_path, [call("hang"), {"text": "ok"}]) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client))
        await client.send(attachment.session, "go")
        await until(attachment, lambda event: isinstance(event, e.ToolStarted))
        await client.cancel(attachment.session)
        completed, _ = await attachment.until_turn_ends()
        assert completed.reason == "cancelled"


async def test_a_result_of_fifty_megabytes_goes_to_a_file(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted())
    async with house(tmp_path, [call("huge"), {"text": "ok"}]) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        (result,) = await results_of(client, session)
        assert len(result.text) < 20_000
        assert "of 50000007 bytes left out" in result.text
        assert result.text.endswith("the end")


async def test_a_flood_of_list_changes_costs_a_few_lists(tmp_path: Path) -> None:
    plant(tmp_path, flood=scripted("flood"))
    script = [call("echo", text="dry"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session, completed, seen = await one_turn(h, client)
        assert completed.reason == "done"
        assert [result.text for result in await results_of(client, session)] == ["dry"]
        assert len(statuses(seen)) <= 2


async def test_a_flood_of_list_changes_is_told_to_people(tmp_path: Path) -> None:
    plant(tmp_path, flood=scripted("flood"))
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client))
        await client.send(attachment.session, "go")
        (*_, told) = await until(
            attachment, lambda event: isinstance(event, e.McpServerStatus) and event.warnings != []
        )
        assert isinstance(told, e.McpServerStatus)
        assert "tells of changes without end" in told.warnings[0]
        (server,) = (await ask(client, McpList, cwd=str(h.workspace))).servers
        assert server.warnings == told.warnings


async def test_a_tool_cannot_take_the_name_of_another(tmp_path: Path) -> None:
    plant(tmp_path, evil=scripted("shadow"), one=scripted(), two=scripted())
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        await one_turn(h, client)
        tools = offered(h)
        assert {"read_file", "evil__read_file", "evil__find_tools", "one__echo", "two__echo"} <= set(tools)
        assert "echo" not in tools
        shadow = tools["evil__read_file"]["description"]
        assert len(shadow) < 1200
        assert not {"\U000e0041", "\u200b"} & set(shadow)


async def test_instructions_in_a_description_are_kept_from_the_model_and_shown_to_people(tmp_path: Path) -> None:
    plant(tmp_path, evil=scripted("shadow"))
    async with house(tmp_path, [call("add"), {"text": "ok"}]) as h, await h.client() as client:
        session, completed, seen = await one_turn(h, client)
        assert completed.reason == "done"
        assert [result.text for result in await results_of(client, session)] == ["(no output)"]
        sent = json.dumps(offered(h)["add"])
        assert "it gives instructions" in sent
        assert not [word for word in ("previous", "tell the user", "id_rsa") if word in sent]
        (up,) = [event for event in seen if isinstance(event, e.McpServerStatus) and event.status == "up"]
        listed = await ask(client, McpList, cwd=str(h.workspace))
        assert listed.servers[0].warnings == up.warnings
        assert up.warnings == [
            "read_file: it has the name of a built-in tool; it goes by another here.",
            "find_tools: it has the name of a built-in tool; it goes by another here.",
            "read_file: its description has invisible characters; they are taken out.",
            "add: its description gives instructions ('Ignore all previous instructions'); it is not shown to models.",
        ]


async def test_lies_about_schemas_and_results_stay_with_the_call(tmp_path: Path) -> None:
    plant(tmp_path, liar=scripted("liar"))
    async with house(tmp_path, [call("lie"), {"text": "ok"}]) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        assert offered(h)["lie"]["parameters"] == {"type": "object", "properties": {}}
        assert "odd_name_" in offered(h)
        (result,) = await results_of(client, session)
        assert result.text == "fine"
        listed = await ask(client, McpList, cwd=str(h.workspace))
        assert listed.servers[0].warnings == ["lie: its schema is unusable, so that any arguments go through."]


async def test_a_server_that_cannot_start_says_why_and_the_turn_goes_on(tmp_path: Path) -> None:
    plant(tmp_path, broken=scripted("broken"), missing={"command": "no-such-program"}, good=scripted())
    async with house(tmp_path, [call("echo", text="x"), {"text": "ok"}]) as h, await h.client() as client:
        session, completed, seen = await one_turn(h, client)
        assert completed.reason == "done"
        assert (await results_of(client, session))[0].text == "x"
        assert ("broken", "failed") in statuses(seen)
        tested = await ask(client, McpTest, cwd=str(h.workspace))
        found = {server.name: server for server in tested.servers}
        assert "the key is missing" in found["broken"].detail  # the last of much that it wrote
        assert "no-such-program" in found["missing"].detail
        assert (found["good"].status, len(found["good"].tools)) == ("up", 12)


async def test_a_servers_question_reaches_a_person_and_its_clock_waits_for_them(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted(timeout=1.5))
    async with house(tmp_path, [call("ask"), {"text": "ok"}]) as h, await h.client(interactive=True) as client:
        attachment = await client.attach(await new_session(h, client))
        await client.send(attachment.session, "go")
        event = (await until(attachment, lambda event: isinstance(event, e.QuestionAsked)))[-1]
        assert isinstance(event, e.QuestionAsked)
        assert event.question.choices == ["red", "blue", "Decline"]
        assert event.question.text.startswith("The MCP server good asks: Which one?")
        # They take longer than a call may.
        elsewhere = await new_session(h, client)
        await ask(client, ToolRun, session=elsewhere, tool="shell", arguments={"command": "sleep 2"})
        op = QuestionAnswer(id=client.next_id(), session=attachment.session, question=event.question.id, answer="blue")
        await client.request(op)
        await attachment.until_turn_ends()
        (result,) = await results_of(client, attachment.session)
        assert json.loads(result.text) == {"action": "accept", "content": {"colour": "blue"}}


async def test_a_servers_question_is_declined_where_nobody_can_answer(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted())
    async with house(tmp_path, [call("ask"), call("visit"), {"text": "ok"}]) as h, await h.client() as client:
        session, completed, seen = await one_turn(h, client)
        assert completed.reason == "done"
        assert not any(isinstance(event, e.QuestionAsked) for event in seen)
        results = await results_of(client, session)
        assert [json.loads(result.text)["action"] for result in results] == ["decline", "decline"]


async def test_too_many_schemas_are_looked_up_instead_of_sent(tmp_path: Path) -> None:
    plant(tmp_path, many=scripted("many"))
    script = [call("find_tools", query="deed_77"), call("deed_77"), {"text": "ok"}]
    config = "[tools]\nschema_share = 1.0\n"
    async with house(tmp_path, script, config=config) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        assert "find_tools" in offered(h, 0)
        assert "deed_77" not in offered(h, 0)
        assert "deed_77" in offered(h, 1)
        assert len([name for name in offered(h, 1) if name.startswith("deed_")]) <= 8
        assert not any(result.is_error for result in await results_of(client, session))


async def test_a_projects_servers_count_once_it_is_trusted(tmp_path: Path) -> None:
    plant(tmp_path)
    async with house(tmp_path, [{"text": "ok"}] * 2) as h, await h.client() as client:
        (h.workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": scripted()}}))
        attachment = await client.attach(await new_session(h, client))
        await turn(client, attachment)
        assert "echo" not in offered(h)
        listed = await ask(client, McpList, cwd=str(h.workspace))
        assert listed.servers == []
        assert "openagent trust" in listed.notices[0]
        await ask(client, TrustAdd, cwd=str(h.workspace))
        await turn(client, attachment)
        assert "echo" in offered(h)
        (h.workspace / ".mcp.json").rename(h.workspace / "mcpServers.json")
        await ask(client, TrustAdd, cwd=str(h.workspace))
        [theirs] = (await ask(client, McpList, cwd=str(h.workspace))).servers
        assert (theirs.origin, theirs.source) == ("project", str(h.workspace / "mcpServers.json"))
        for op in (McpShow, McpRemove):
            with pytest.raises(OpenAgentError, match="of your own") as refused:
                await ask(client, op, name="theirs")
            assert "the project's file" in refused.value.info.hint


async def test_servers_are_added_switched_imported_and_removed(tmp_path: Path) -> None:
    plant(tmp_path)
    async with house(tmp_path, [{"text": "ok"}] * 3) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client))
        entry = McpServerEntry(command="python3", args=["scripted_server.py"], env={"KEY": "${NOWHERE:-none}"})
        await ask(client, McpAdd, name="mine", server=entry)
        with pytest.raises(OpenAgentError, match="already"):
            await ask(client, McpAdd, name="mine", server=entry)
        with pytest.raises(OpenAgentError, match="neither a command nor a url"):
            await ask(client, McpAdd, name="empty", server=McpServerEntry())
        await turn(client, attachment)
        assert "echo" in offered(h)
        await ask(client, McpSwitch, name="mine", on=False)
        await turn(client, attachment)
        assert "echo" not in offered(h)
        other = tmp_path / "other.json"
        other.write_text(json.dumps({"mcpServers": {"mine": {}, "new": scripted(), "bad": {"type": "carrier pigeon"}}}))
        imported = await ask(client, McpImport, path=str(other))
        assert (imported.added, imported.kept, len(imported.problems)) == (["new"], ["mine"], 1)
        await ask(client, McpRemove, name="mine")
        await turn(client, attachment)
        assert "echo" in offered(h)
        listed = await ask(client, McpList, cwd=str(h.workspace))
        assert [(each.name, each.status, each.source) for each in listed.servers] == [("new", "up", "database")]


async def test_a_server_is_tried_before_it_is_kept_and_edited_without_seeing_its_keys(tmp_path: Path) -> None:
    plant(tmp_path, filed=scripted())
    async with house(tmp_path, []) as h, await h.client() as client:
        where = str(h.workspace)
        wrong = McpServerEntry(command="python3", args=["nothing_there.py"])
        (tried,) = (await ask(client, McpTest, name="mine", cwd=where, server=wrong)).servers
        assert tried.status == "failed"
        entry = McpServerEntry(command="python3", args=["scripted_server.py"], env={"TOKEN": "planted-0123456789"})
        (tried,) = (await ask(client, McpTest, name="mine", cwd=where, server=entry)).servers
        assert (tried.status, "echo" in tried.tools) == ("up", True)
        assert [each.name for each in (await ask(client, McpList, cwd=where)).servers] == ["filed"]
        await ask(client, McpAdd, name="mine", server=entry)
        shown = await ask(client, McpShow, name="mine")
        assert (shown.server.env, shown.source) == ({"TOKEN": ""}, "database")
        changed = msgspec.structs.replace(
            shown.server, description="Says things.", env={"TOKEN": "", "MORE": "${X:-y}"}
        )
        await ask(client, McpAdd, name="mine", server=changed, replace=True)
        kept = (await ask(client, McpShow, name="mine")).server
        assert (kept.description, kept.env) == ("Says things.", {"TOKEN": "", "MORE": "${X:-y}"})
        # One of the person's own file moves into the database with its first change.
        filed = await ask(client, McpShow, name="filed")
        assert filed.source.endswith("mcpServers.json")
        await ask(client, McpAdd, name="filed", server=filed.server, replace=True)
        assert (await ask(client, McpShow, name="filed")).source == "database"
        assert "filed" not in (h.home / "mcpServers.json").read_text()


async def test_added_servers_and_switches_outlive_the_daemon(tmp_path: Path) -> None:
    plant(tmp_path, filed=scripted())
    async with house(tmp_path, []) as h, await h.client() as client:
        entry = McpServerEntry(command="python3", args=["scripted_server.py"], description="Says things.")
        await ask(client, McpAdd, name="mine", server=entry)
        await ask(client, McpAdd, name="far", server=McpServerEntry(url="http://127.0.0.1:9/mcp"))
        with pytest.raises(OpenAgentError, match="already"):
            await ask(client, McpAdd, name="filed", server=entry)
        for name in ("far", "filed"):
            await ask(client, McpSwitch, name=name, on=False)
    async with house(tmp_path, []) as h, await h.client() as client:
        listed = await ask(client, McpList, cwd=str(h.workspace))
        assert {each.name: (each.status, each.description) for each in listed.servers} == {
            "mine": ("idle", "Says things."),
            "far": ("disabled", ""),
            "filed": ("disabled", ""),
        }
        assert (h.home / "mcpServers.json").stat().st_mode & 0o777 == 0o600


async def test_a_server_is_switched_off_for_one_session_and_stays_for_others(tmp_path: Path) -> None:
    plant(tmp_path, one=scripted(), many=scripted("many"))
    script = [{"text": "ok"}, {"text": "ok"}, call("find_tools", query="deed_7"), {"text": "ok"}]
    async with house(tmp_path, script, config="[tools]\nschema_share = 1.0\n") as h, await h.client() as client:
        quiet = await client.attach(await new_session(h, client, disabled_mcp_servers=["many"]))
        await turn(client, quiet)
        assert "echo" in offered(h)
        assert "deed_7" not in {tool.name for tool in (await tools_of(client, quiet.session)).tools}
        await ask(client, McpSwitch, name="one", on=False, session=quiet.session)
        await ask(client, McpSwitch, name="many", on=True, session=quiet.session)
        await turn(client, quiet)
        assert "echo" not in offered(h)
        listed = await ask(client, McpList, session=quiet.session)
        assert {each.name: each.in_session for each in listed.servers} == {"one": False, "many": True}
        other = await client.attach(await new_session(h, client))
        await turn(client, other)
        assert "find_tools" in offered(h)
        for name, on in (("one", True), ("many", False)):
            await ask(client, McpSwitch, name=name, on=on, session=quiet.session)
        await turn(client, quiet)
        (result,) = await results_of(client, quiet.session)
        assert result.text == "No tool fits these words. There are tools of: one."


async def test_no_server_outlives_the_daemon(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted())
    marker = tmp_path / "workspace" / "scripted_server.py"
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        await one_turn(h, client)
        assert marker.exists()
        tasks = {task.get_name() for task in asyncio.all_tasks()}
        assert "mcp good" in tasks
    assert "mcp good" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_a_server_that_is_removed_switched_off_or_replaced_ends_at_once(tmp_path: Path) -> None:
    plant(tmp_path)
    async with house(tmp_path, [{"text": "ok"}] * 3) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client))
        for number, end in enumerate(("remove", "switch", "replace")):
            mark = f"{tmp_path.name}-{number}"
            entry = McpServerEntry(command="python3", args=["scripted_server.py", "good", mark])
            await ask(client, McpAdd, name="mine", server=entry, replace=True)
            await turn(client, attachment)
            assert processes_with(mark)
            if end == "remove":
                await ask(client, McpRemove, name="mine")
            elif end == "switch":
                await ask(client, McpSwitch, name="mine", on=False)
            else:
                await ask(client, McpAdd, name="mine", server=McpServerEntry(command="true"), replace=True)
            assert not processes_with(mark)


def processes_with(mark: str) -> list[str]:
    found: list[str] = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark.encode() in each.read_bytes():
                found.append(each.parent.name)
    return found


async def test_variables_and_headers_of_added_servers_are_in_the_vault_alone(tmp_path: Path) -> None:
    plant(tmp_path)
    secret, bearer = "a-key-that-nobody-may-read", "Bearer of-a-token-of-nobody"
    proofs = "a-secret-of-the-client", "a-private-key-of-the-client", "a-token-of-the-person"
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        env = {"KEY": secret, "EMPTY": "", "PLAIN": "${NOWHERE:-there}"}
        start = f'test "$KEY$EMPTY$PLAIN" = {secret[:-4]}"{secret[-4:]}there" && exec python3 scripted_server.py good'
        entry = McpServerEntry(command="bash", args=["-c", start], env=env)
        known = McpOAuth("me", proofs[0], private_key=proofs[1], identity_token=proofs[2])
        far = McpServerEntry(url="http://127.0.0.1:9/mcp", headers={"Authorization": bearer}, oauth=known)
        await ask(client, McpAdd, name="mine", server=entry)
        await ask(client, McpAdd, name="far", server=far)
        await ask(client, McpSwitch, name="far", on=False)
        assert not holding(h.home, secret, bearer, *proofs)
        await one_turn(h, client)
        assert "echo" in offered(h)
    # As an earlier version stored it.
    with contextlib.closing(sqlite3.connect(tmp_path / "home" / "openagent.db")) as database, database:
        clear = json.dumps({"command": "python3", "args": ["scripted_server.py", "good"], "env": {"OLD": secret}})
        database.execute("UPDATE mcp_servers SET entry = ? WHERE name = 'mine'", (clear,))
    async with house(tmp_path, []) as h, await h.client() as client:
        while secret in entry_of("mine", tmp_path):  # it is sealed behind the start
            await ask(client, McpList)
    assert not holding(tmp_path / "home", secret, bearer)
    async with house(tmp_path, []) as h, await h.client() as client:
        await ask(client, McpRemove, name="mine")
        await ask(client, McpRemove, name="far")
        assert "mcp-server" not in (h.home / "vault.json").read_text()


def entry_of(server: str, tmp_path: Path) -> str:
    with contextlib.closing(sqlite3.connect(tmp_path / "home" / "openagent.db")) as database:
        return database.execute("SELECT entry FROM mcp_servers WHERE name = ?", (server,)).fetchone()[0]


def holding(home: Path, *secrets: str) -> list[str]:
    files = [file for file in home.rglob("*") if file.is_file()]
    return [str(file) for file in files if any(secret.encode() in file.read_bytes() for secret in secrets)]
