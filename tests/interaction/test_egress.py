"""The way out of the jail, asked for at the moment of need: whole turns against servers on loopback."""

import asyncio
import ipaddress
import json
import os
import shlex
import socket
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.mcp import McpTest
from openagent.protocol.safety import AuditAsk, TrustAdd
from openagent.protocol.sessions import SessionGet
from openagent.protocol.terminals import TerminalClose, TerminalInput, TerminalOpen
from openagent.protocol.tools import ToolRun
from tests.jail.conftest import needs_bwrap

from .doing import answer, ask, asked, call, results_of, shell
from .house import PATIENCE, House, house, new_session, until
from .loopback import web_server

pytestmark = [pytest.mark.anyio, needs_bwrap]
NAMES = '[jail]\nnames = { "far.test" = "127.0.0.1", "other.test" = "127.0.0.1" }\n'


def curl(host: str, port: int, more: str = "") -> str:
    return f"curl -sS --max-time 30 {more} http://{host}:{port}/x"


async def begin(house: House, client: Client, **settings: Any) -> tuple[str, Attachment]:
    session = await new_session(house, client, **settings)
    attachment = await client.attach(session)
    await client.send(session, "go")
    return session, attachment


async def ended(attachment: Attachment) -> list[e.Event]:
    async with asyncio.timeout(PATIENCE):
        return (await attachment.until_turn_ends())[1]


def questions(seen: list[e.Event]) -> list[str]:
    return [event.ask.summary for event in seen if isinstance(event, e.PermissionRequested)]


def waiting(attachment: Attachment) -> list[str]:
    assert attachment.snapshot is not None
    return [ask.id for ask in attachment.snapshot.permissions]


async def resolved(attachment: Attachment) -> e.PermissionResolved:
    event = (await until(attachment, lambda event: isinstance(event, e.PermissionResolved)))[-1]
    assert isinstance(event, e.PermissionResolved)
    return event


async def test_a_connection_waits_for_the_answer_and_the_command_goes_on(tmp_path: Path):
    async with web_server() as far:
        script = [shell(curl("far.test", far.port)), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            question = await asked(attachment)
            assert far.requests == []
            assert (question.ask.tool, question.ask.summary) == ("network", f"far.test:{far.port}")
            assert question.ask.call_id
            await answer(client, question, decision="allow")
            await ended(attachment)
            [result] = await results_of(client, session)
            assert result.text == "hello from outside"
            assert far.requests == ["GET /x HTTP/1.1"]
            page = await ask(client, AuditAsk, session=session, kind="decision")
            [row] = [row for row in page.entries if row.detail["tool"] == "network"]
            assert (row.subject, row.detail["decision"]) == (f"far.test:{far.port}", "allow")
            assert row.detail["call_id"] == question.ask.call_id


async def test_an_answer_holds_once_for_a_session_or_always(tmp_path: Path):
    async with web_server() as far:
        get = curl("far.test", far.port)
        script = [shell(get), shell(get), shell(get), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            _, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="allow", scope="once")
            await answer(client, await asked(attachment), decision="allow", scope="always")
            assert questions(await ended(attachment)) == []
            _, attachment = await begin(h, client)
            assert questions(await ended(attachment)) == []
            assert len(far.requests) == 6


async def test_once_is_for_all_connections_of_one_command(tmp_path: Path):
    async with web_server() as far:
        get = curl("far.test", far.port)
        script = [shell(f"{get} && {get}"), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            _, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="allow", scope="once")
            assert questions(await ended(attachment)) == []
            assert len(far.requests) == 2


async def test_what_is_sent_while_a_connection_waits_arrives(tmp_path: Path):
    async with web_server() as far:
        send = f"head -c 300000 /dev/zero | {curl('far.test', far.port, '--data-binary @-')}"
        async with (
            house(tmp_path, [shell(send), {"text": "done"}], config=NAMES) as h,
            await h.client(interactive=True) as client,
        ):
            session, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="allow")
            await ended(attachment)
            [result] = await results_of(client, session)
            assert result.text == "hello from outside"
            assert far.received == [300_000]


async def test_a_refusal_is_one_sentence_for_the_program_and_for_the_model(tmp_path: Path):
    async with web_server() as far:
        get = curl("far.test", far.port, "-w '%{http_code}'")
        script = [shell(f"{get}; {get}"), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            await answer(client, await asked(attachment), decision="deny", reason="not this one")
            assert questions(await ended(attachment)) == []
            [result] = await results_of(client, session)
            refusal = (
                f"OpenAgent did not let this connection to far.test:{far.port} out of the jail: not this one.\n403"
            )
            assert result.text.startswith(refusal + refusal)
            assert f"far.test:{far.port} was not reached, because not this one" in result.text.removeprefix(refusal * 2)
            assert far.requests == []


async def test_nobody_who_answers_in_time_is_a_no(tmp_path: Path):
    config = f"{NAMES}[limits]\nask_timeout = 0.3\n"
    async with web_server() as far:
        script = [shell(curl("far.test", far.port)), {"text": "done"}]
        async with house(tmp_path, script, config=config) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            [answered] = [event for event in await ended(attachment) if isinstance(event, e.PermissionResolved)]
            assert (answered.decision, answered.by) == ("deny", "timeout")
            [result] = await results_of(client, session)
            assert "nobody answered in time" in result.text
            assert far.requests == []


async def test_two_hosts_are_two_questions_and_one_host_is_one(tmp_path: Path):
    async with web_server() as far:
        far_get, other_get = curl("far.test", far.port), curl("other.test", far.port)
        script = [shell(f"{far_get} & {far_get} & {other_get} & wait"), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            first, second = await asked(attachment), await asked(attachment)
            assert {first.ask.summary, second.ask.summary} == {f"far.test:{far.port}", f"other.test:{far.port}"}
            for question in (first, second):
                kind = "allow" if question.ask.summary.startswith("far") else "deny"
                await answer(client, question, decision=kind)
            assert questions(await ended(attachment)) == []
            [result] = await results_of(client, session)
            assert result.text.count("hello from outside") == 2
            assert "OpenAgent did not let this connection to other.test" in result.text


async def test_a_program_that_gives_up_takes_its_question_back(tmp_path: Path):
    async with web_server() as far:
        script = [shell(f"curl -sS --max-time 0.5 http://far.test:{far.port}/"), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            await asked(attachment)
            assert (await resolved(attachment)).by == "withdrawn"
            await ended(attachment)
            assert waiting(await client.attach(session)) == []


async def test_a_program_that_gives_up_while_its_question_is_stored_stands_in_nobodys_way(tmp_path: Path):
    get = "curl -sS --max-time {} http://far.test/"
    script = [shell(f"cat gate; {get.format(1)}; {get.format(20)}"), {"text": "done"}]
    async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
        os.mkfifo(h.workspace / "gate")
        session, attachment = await begin(h, client, mode="auto")
        await until(attachment, lambda event: isinstance(event, e.ToolStarted))
        with closing(sqlite3.connect(h.home / "openagent.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await asyncio.to_thread((h.workspace / "gate").write_text, "through\n")
            await asked(attachment)
            second = await asked(attachment)
            other.execute("ROLLBACK")
        await answer(client, second, decision="deny")
        await ended(attachment)
        assert waiting(await client.attach(session)) == []


async def test_a_question_that_outlives_its_turn_leaves_the_session_idle(tmp_path: Path):
    async with web_server() as far:
        script = [shell(f"{curl('far.test', far.port)} & cat gate"), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            os.mkfifo(h.workspace / "gate")
            session, attachment = await begin(h, client, mode="auto")
            question = await asked(attachment)
            await asyncio.to_thread((h.workspace / "gate").write_text, "through\n")
            await ended(attachment)
            await answer(client, question, decision="allow")
            await resolved(attachment)
            info = await ask(client, SessionGet, session=session)
            assert info.status == "idle"


async def test_a_cancelled_turn_and_a_stopping_daemon_leave_nothing_waiting(tmp_path: Path):
    async with web_server() as far:
        script = [shell(curl("far.test", far.port)), shell(curl("far.test", far.port))]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            await asked(attachment)
            async with asyncio.timeout(PATIENCE):
                await client.cancel(session)
            assert (await resolved(attachment)).by == "withdrawn"
            await client.send(session, "again")
            await asked(attachment)
        assert far.requests == []


async def test_a_question_outlives_the_client_it_was_put_to(tmp_path: Path):
    async with web_server() as far:
        script = [shell(curl("far.test", far.port)), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as watching:
            async with await h.client(interactive=True) as first:
                session, attachment = await begin(h, first)
                question = await asked(attachment)
            attachment = await watching.attach(session)
            assert waiting(attachment) == [question.ask.id]
            await answer(watching, question, decision="allow")
            await ended(attachment)
            [result] = await results_of(watching, session)
            assert result.text == "hello from outside"


async def test_a_commands_time_stands_still_while_a_person_is_asked(tmp_path: Path):
    async with web_server() as far:
        command = f"{curl('far.test', far.port)}"
        script = [call("shell", command=command, timeout=1.0), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            question = await asked(attachment)
            async with asyncio.timeout(PATIENCE):  # longer than the command has: until another second command has run
                await ask(client, ToolRun, session=await new_session(h, client), **_seconds(1.5))
            await answer(client, question, decision="allow")
            await ended(attachment)
            [result] = await results_of(client, session)
            assert result.text == "hello from outside"


def _seconds(seconds: float) -> dict[str, Any]:
    return {"tool": "shell", "arguments": {"command": f"sleep {seconds}"}}


async def test_in_plan_nobody_is_asked_and_nothing_is_reached(tmp_path: Path):
    async with web_server() as far:
        script = [shell(f"curl -sS http://far.test:{far.port}/ || true"), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            _, attachment = await begin(h, client, mode="plan")
            assert questions(await ended(attachment)) == []
            assert far.requests == []


async def test_ports_of_this_machine_are_asked_for_by_their_own_name(tmp_path: Path):
    async with web_server() as near:
        script = [shell(curl("host.openagent.internal", near.port)), {"text": "done"}]
        async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            question = await asked(attachment)
            assert question.ask.summary == f"localhost:{near.port}"
            assert question.ask.risk == "high"
            await answer(client, question, decision="allow")
            await ended(attachment)
            [result] = await results_of(client, session)
            assert result.text == "hello from outside"


def own_addresses() -> list[str]:
    """Of the interface that packets to others leave by: nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as aimed:
        try:
            aimed.connect(("192.0.2.77", 9))
        except OSError:  # there is none
            return []
        own = aimed.getsockname()[0]
    return [own, f"[::ffff:{own}]", str(int(ipaddress.IPv4Address(own)))]


THIS_MACHINE = (
    *("localhost", "LocalHost.", "a.localhost", "host.openagent.internal", "127.0.0.1", "127.0.0.1.", "127.8.8.8"),
    *("0.0.0.0", "0", "127.1", "2130706433", "0x7f000001", "0x7f.0.1", "0177.0.0.1", "017700000001"),
    *("[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::1%lo]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"),
    *("[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", *own_addresses()),
)


def connects_to(hosts: Sequence[str], port: int) -> str:
    """What the proxy answers to each."""
    request = f"printf 'CONNECT %s:{port} HTTP/1.1\\r\\n\\r\\n' \"$host\""
    by_hand = f"exec 3<>/dev/tcp/127.0.0.1/3128; {request} >&3; head -n 1 <&3"
    return f"for host in {' '.join(map(shlex.quote, hosts))}; do {by_hand}; done"


async def test_this_machine_is_asked_for_as_this_machine_however_it_is_written(tmp_path: Path):
    async with web_server() as near:
        connect = connects_to(THIS_MACHINE, near.port)
        config = f'[[rule]]\ndecision = "deny"\ntool = "network"\nhost = "127.8.8.8:{near.port + 1}"\n'
        forbidden = connects_to(["127.8.8.8"], near.port + 1)
        script = [shell(connect), shell(connect), shell(forbidden), {"text": "done"}]
        async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
            (h.home / "policy.toml").write_text(config)
            session, attachment = await begin(h, client)
            refused = await asked(attachment)
            assert (refused.ask.summary, refused.ask.risk) == (f"localhost:{near.port}", "high")
            assert f"port {near.port} of this machine itself" in refused.ask.reason
            await answer(client, refused, decision="deny")
            allowed = await asked(attachment)  # of the second command: each is one question
            await answer(client, allowed, decision="allow", scope="once")
            assert questions(await ended(attachment)) == [], "what is forbidden under one name is under all"
            no, yes, never = await results_of(client, session)
            assert no.text.count("403 Forbidden") == len(THIS_MACHINE)
            assert "403" not in yes.text
            # It does not listen at all of them.
            elsewhere = {"[::1]", "[0:0:0:0:0:0:0:1]", "[::1%lo]", "127.8.8.8", *own_addresses()}
            assert yes.text.count("200 Connection established") == len({*THIS_MACHINE} - elsewhere)
            assert "403 Forbidden" in never.text


async def test_no_public_name_leads_here_and_no_address_to_a_clouds_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    looked_up = list[str]()

    async def get(host: str, port: int, **_: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        looked_up.append(host)
        leads = {"rebound.example": "127.0.0.1", "mirror.corp": "10.1.2.3", "split.example": "10.1.2.4"}
        address = leads.get(host, "127.0.0.1")
        return [(2, 1, 6, "", (address, port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", get)
    script = [
        *(shell(curl(host, 80)) for host in ("rebound.example", "split.example", "mirror.corp", "169.254.169.254")),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client)
        for public in ("rebound.example", "split.example"):
            question = await asked(attachment)
            assert question.ask.summary == f"{public}:80"
            assert public not in looked_up, "to look a name up is to tell what it says"
            await answer(client, question, decision="allow")
        assert questions(await ended(attachment)) == [], "what cannot be had is not asked about"
        rebound, split, mirror, keys = (part.text for part in await results_of(client, session))
        assert "the jail's network: rebound.example:80 was not reached, because rebound.example leads to" in rebound
        assert "127.0.0.1, which is this machine" in rebound
        assert "split.example leads to 10.1.2.4, which is of this machine's network" in split
        assert "mirror.corp leads to 10.1.2.3, which is of this machine's network" in mirror
        assert '`names = { "mirror.corp" = "10.1.2.3" }` under [jail]' in mirror
        assert "169.254.169.254 is never reached" in keys
        rows = (await ask(client, AuditAsk, session=session, kind="decision")).entries
        refused = [row.subject for row in rows if row.detail["rule"] == "jail:never"]
        assert sorted(refused) == ["169.254.169.254:80", "mirror.corp:80", "rebound.example:80", "split.example:80"]


async def test_a_page_is_fetched_from_no_host_that_the_jail_may_not_reach(tmp_path: Path):
    async with web_server() as far:
        url = f"http://far.test:{far.port}/page"
        script = [
            call("web_fetch", url=url),
            shell(curl("far.test", far.port)),
            call("web_fetch", url=url),
            {"text": "."},
        ]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client, mode="full")
            fetching = await asked(attachment)
            assert (fetching.ask.tool, fetching.ask.summary) == ("web_fetch", url)
            assert far.requests == []
            await answer(client, fetching, decision="allow", scope="once")
            connecting = await asked(attachment)
            assert connecting.ask.tool == "network"
            await answer(client, connecting, decision="allow", scope="session")
            assert questions(await ended(attachment)) == []  # a host that commands may reach serves pages, too
            assert [part.text.strip() for part in await results_of(client, session)] == ["hello from outside"] * 3


async def test_without_a_network_no_page_is_fetched_in_any_mode(tmp_path: Path):
    config = NAMES + 'network = "off"\n'
    async with web_server() as far:
        script = [call("web_fetch", url=f"http://far.test:{far.port}/page"), {"text": "."}]
        async with house(tmp_path, script, config=config) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client, mode="full")
            assert questions(await ended(attachment)) == []
            [result] = await results_of(client, session)
            assert result.text.startswith("Denied: The jail's network does not include it")
            assert far.requests == []


async def test_who_allows_a_command_has_allowed_the_host_that_it_names(tmp_path: Path):
    async with web_server() as far:
        named, hidden = curl("far.test", far.port), curl("$(cat host)", far.port)
        script = [shell(named), shell(hidden), {"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            (h.workspace / "host").write_text("other.test")
            _, attachment = await begin(h, client, mode="ask")
            for tool in ("shell", "shell", "network"):  # of the second command nobody could tell the host
                question = await asked(attachment)
                assert question.ask.tool == tool
                await answer(client, question, decision="allow")
            assert question.ask.summary == f"other.test:{far.port}"
            assert questions(await ended(attachment)) == []
            assert len(far.requests) == 2


async def test_a_server_that_a_project_names_is_not_reached_before_the_answer(tmp_path: Path):
    async with web_server() as far:
        script = [{"text": "done"}]
        async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
            servers = {"theirs": {"url": f"http://127.0.0.1:{far.port}/mcp"}}
            (h.workspace / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
            await ask(client, TrustAdd, cwd=str(h.workspace))
            _, attachment = await begin(h, client)
            question = await asked(attachment)
            assert (question.ask.tool, question.ask.summary) == ("network", f"localhost:{far.port}")
            assert question.ask.reason.startswith("The MCP server theirs wants to connect")
            await answer(client, question, decision="deny", reason="not theirs")
            await ended(attachment)
            assert far.requests == []


async def test_a_terminal_asks_like_a_command(tmp_path: Path):
    async with (
        web_server() as far,
        house(tmp_path, [], config=NAMES) as h,
        await h.client(interactive=True) as client,
    ):
        session = await new_session(h, client)
        attachment = await client.attach(session)
        terminal = await ask(client, TerminalOpen, session=session, columns=200, rows=20)
        typed = f"{curl('far.test', far.port)}\n"
        await ask(client, TerminalInput, terminal=terminal.terminal, text=typed)
        question = await asked(attachment)
        assert question.ask.reason == f"A terminal of this session wants to connect to far.test:{far.port}."
        await answer(client, question, decision="allow", scope="session")
        assert (await resolved(attachment)).decision == "allow"
        await ask(client, TerminalClose, terminal=terminal.terminal)


async def test_a_program_that_wants_very_many_hosts_asks_for_a_few_at_a_time(tmp_path: Path):
    connect = "exec {n}<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT %s:443 HTTP/1.1\\r\\n\\r\\n' h$i.test >&$n; "
    script = [shell(f"for i in {{1..40}}; do {connect} done; cat <&$n & wait"), {"text": "done"}]
    async with house(tmp_path, script, config=NAMES) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client)
        for _ in range(8):
            await asked(attachment)
        async with asyncio.timeout(PATIENCE):
            looked = await client.attach(session)
        assert len(waiting(looked)) == 8
        await client.cancel(session)


async def test_what_is_no_host_is_refused_and_nobody_is_shown_it(tmp_path: Path):
    by_hand = "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT a\\033[2Jb:443 HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3"
    async with house(tmp_path, [shell(by_hand), {"text": "."}]) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client)
        assert questions(await ended(attachment)) == []
        [result] = await results_of(client, session)
        assert "403 Forbidden" in result.text
        assert "This is no host and port." in result.text


async def test_a_sub_agents_host_is_asked_for_where_its_caller_is_watched(tmp_path: Path):
    async with web_server() as far:
        job = [shell(curl("far.test", far.port)), {"text": "fetched"}]
        begin_two = [call("agent", tasks=[{"template": "coder", "task": task}]) for task in ("first", "second")]
        talks = [
            *({"match": says, "steps": job} for says in ("first", "second")),
            {"match": "go", "steps": [*begin_two, {"text": "ok"}]},
        ]
        async with (
            house(tmp_path, {"conversations": talks}, config=NAMES) as h,
            await h.client(interactive=True) as client,
        ):
            root, attachment = await begin(h, client, mode="auto")
            question = await asked(attachment)
            assert (question.session, question.ask.tool, question.ask.summary) == (
                root,
                "network",
                f"far.test:{far.port}",
            )
            assert question.ask.child
            await answer(client, question, decision="allow", scope="session")
            assert questions(await ended(attachment)) == []  # what is allowed in one holds for the whole tree
            assert len(far.requests) == 2


async def test_nobody_there_to_answer_is_a_no(tmp_path: Path):
    async with web_server() as far:
        script = [shell(curl("far.test", far.port)), {"text": "done"}]
        config = f"{NAMES}[limits]\naway_timeout = 0.05\n"
        async with house(tmp_path, script, config=config) as h, await h.client() as client:
            session, attachment = await begin(h, client)
            said = await resolved(attachment)
            assert (said.decision, said.reason) == ("deny", "Nobody is there to answer.")
            await ended(attachment)
            [result] = await results_of(client, session)
            assert "was not reached, because nobody is there to answer" in result.text
            assert far.requests == []


@pytest.mark.parametrize("answerable", [True, False])
async def test_a_session_is_idle_again_when_nobody_answered_for_a_server(tmp_path: Path, answerable: bool):
    impatient = f"[limits]\nask_timeout = {0.2 if answerable else 600}\naway_timeout = 0.1\n{NAMES}"
    async with web_server() as far, house(tmp_path, [], config=impatient) as h, await h.client() as client:
        servers = {"theirs": {"url": f"http://127.0.0.1:{far.port}/mcp"}}
        (h.workspace / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
        await ask(client, TrustAdd, cwd=str(h.workspace))
        session = await new_session(h, client)
        async with await h.client(interactive=answerable) as silent:
            attachment = await silent.attach(session)
            tested = await ask(client, McpTest, cwd=str(h.workspace))
            assert [server.status for server in tested.servers] == ["failed"]
            seen = await until(attachment, lambda event: isinstance(event, e.PermissionResolved))
            rests = "unanswered" if answerable else "idle"
            seen += await until(attachment, lambda event: isinstance(event, e.StatusChanged) and event.status == rests)
            assert len(questions(seen)) == 1
        assert (await ask(client, SessionGet, session=session)).status == rests
