"""The ways in which tokens once reached further than they were meant to, step by step."""

import asyncio
import json
import os
import pwd
from pathlib import Path

import pytest

from openagent.client import Client, connect
from openagent.protocol.conversation import PermissionAnswer, TurnCancel
from openagent.protocol.daemon import DaemonFollow
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.files import FilesRead, FilesWrite
from openagent.protocol.index import IndexSearch, IndexWatch
from openagent.protocol.scopes import Scope
from openagent.protocol.sessions import SessionDelete
from openagent.protocol.tasks import TaskCreate
from openagent.protocol.terminals import TerminalInput, TerminalOpen
from openagent.protocol.tokens import TokensCreate, WebLogin
from openagent.protocol.undo import SessionChanges

from ..interaction.doing import answer, ask, asked, call, shell
from ..interaction.house import MODEL, PATIENCE, House, house, new_session
from ..rest.calling import events, rest, token_with

pytestmark = pytest.mark.anyio


async def client_with(h: House, *scopes: Scope, interactive: bool = False) -> Client:
    url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
    return await connect(url=url, token=await token_with(h, *scopes), interactive=interactive, env={})


async def test_no_token_makes_a_session_where_keys_and_settings_are(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h:
        (tmp_path / ".ssh").mkdir()
        (tmp_path / ".ssh" / "id_rsa").write_text("a key")
        (h.workspace / "below").symlink_to(tmp_path / ".ssh")
        (h.home / "copies").mkdir(exist_ok=True)
        kept = [h.home, h.home / "logs", h.home / "copies", tmp_path / ".ssh", tmp_path / ".config" / "openagent"]
        kept += [Path(each) for each in ("/", "/etc", "/usr/lib", "/proc/self", "/var/lib", "/home")]
        kept.append(Path(pwd.getpwuid(os.getuid()).pw_dir) / ".ssh")
        async with await h.client() as owner:
            made = TokensCreate(id=owner.next_id(), name="all", scopes=["chat", "approve"], roots=["/"])
            everywhere = (await owner.request(made)).secret
            for folder in [*kept, h.workspace / "below"]:
                with pytest.raises(OpenAgentError, match="can be no workspace"):  # not even over the socket
                    await owner.create_session(str(folder))
        for token in (await token_with(h, "chat"), everywhere):
            async with rest(h, token) as caller:
                for folder in [*kept, h.workspace / "below", tmp_path]:
                    refused = await caller("POST", "/api/agents", {"cwd": str(folder)})
                    assert refused.status_code in (403, 422), (folder, refused.text)
                made_here = await caller("POST", "/api/agents", {"cwd": str(h.workspace)})
                assert made_here.status_code == 201, made_here.text
        async with rest(h) as owner:
            without = await owner("POST", "/api/tokens", {"name": "nowhere", "scopes": ["chat"]})
        async with rest(h, without.json()["secret"]) as nowhere:
            refused = await nowhere("POST", "/api/agents", {"cwd": str(h.workspace)})
            assert (refused.status_code, "no folder" in refused.json()["detail"]) == (403, True)


async def test_a_folder_that_became_a_link_to_keys_is_no_workspace_any_more(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}] * 2, web=True) as h:
        place, keys, others = h.workspace / "sub", tmp_path / ".ssh", tmp_path / "others"
        for folder in (place, keys, others):
            folder.mkdir()
        (others / "theirs.txt").write_text("theirs")
        async with await h.client() as owner, await client_with(h, "chat", "approve") as token:
            session = (await token.create_session(str(place), model=MODEL, mode="full")).id
            place.rename(h.workspace / "moved")
            place.symlink_to(keys)
            for client in (token, owner):
                with pytest.raises(OpenAgentError, match=r"no workspace|works below"):
                    await client.send(session, "Read my key.")
                with pytest.raises(OpenAgentError, match=r"no workspace|works below"):
                    await ask(client, TerminalOpen, session=session)
            place.unlink()
            place.symlink_to(others)
            with pytest.raises(OpenAgentError, match="works below"):
                await ask(token, FilesRead, session=session, path="theirs.txt")


async def test_a_folder_that_becomes_a_link_in_the_middle_of_a_turn_is_not_followed(tmp_path: Path) -> None:
    read = {"tool_calls": [{"name": "read_file", "arguments": {"path": "secret.txt"}}]}
    waits = shell("touch begun; until [ -e go ]; do sleep 0.01; done")
    async with house(tmp_path, [waits, read, shell("cat secret.txt"), {"text": "ok"}], web=True) as h:
        place, others, moved = h.workspace / "sub", tmp_path / "others", h.workspace / "moved"
        for folder in (place, others):
            folder.mkdir()
        (others / "secret.txt").write_text("xylophone")
        async with await client_with(h, "chat", "approve") as token:
            session = (await token.create_session(str(place), model=MODEL, mode="full")).id
            attachment = await token.attach(session)
            await token.send(session, "go")
            while not (place / "begun").exists():
                await asyncio.sleep(0.01)
            place.rename(moved)
            place.symlink_to(others)
            (moved / "go").touch()
            await attachment.until_turn_ends()
        assert "a link in its path leads elsewhere" in h.sim.requests[-1].body
        assert not any("xylophone" in request.body for request in h.sim.requests)
        place.unlink()
        moved.rename(place)
        async with await h.client() as owner:  # nor was it taken for what the session wrote
            assert "xylophone" not in str(await ask(owner, SessionChanges, session=session))


async def test_files_are_judged_by_their_sessions_own_mode(tmp_path: Path) -> None:
    async with (
        house(tmp_path, [], web=True) as h,
        await h.client() as owner,
        await client_with(h, "chat") as chat,
        await client_with(h, "chat", "approve") as approver,
    ):
        everybody = (chat, approver, owner)
        for mode, may in (("plan", ()), ("ask", (approver, owner)), ("auto", everybody), ("full", everybody)):
            session = await new_session(h, owner, mode=mode)
            for client in (chat, approver, owner):
                written = ask(client, FilesWrite, session=session, path="a.txt", text=mode)
                if client in may:
                    assert (await written).path == "a.txt"
                else:
                    with pytest.raises(OpenAgentError, match=r"a\.txt"):
                        await written
        assert (h.workspace / "a.txt").read_text() == "full"


async def test_who_may_only_chat_does_nothing_in_a_session_where_nobody_is_asked(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}] * 9, web=True) as h:
        async with rest(h) as owner:
            full = await owner.agent(mode="full")
            saved = {"template": {"name": "free", "mode": "full", "prompt": "Do it."}}
            assert (await owner("POST", "/api/config/agent-templates", saved)).status_code == 201
        async with rest(h, await token_with(h, "chat")) as chat:
            for path, body in (
                ("shell", {"command": "touch reached"}),
                ("message", {"text": "touch reached"}),
                ("tools/shell", {"arguments": {"command": "touch reached"}}),
                ("answer", {"question": "x", "answer": "y"}),
                ("queue/resume", {}),
            ):
                refused = await chat("POST", f"/api/agents/{full}/{path}", body)
                assert refused.status_code == 403, (path, refused.text)
                assert "approve" in refused.json()["detail"]
            steered = await chat("PATCH", f"/api/agents/{full}/settings", {"instructions": "touch x"}, If_Match="*")
            assert steered.status_code == 403
            forked = (await chat("POST", f"/api/agents/{full}/fork", {})).json()
            by_template = await chat("POST", "/api/agents", {"cwd": str(h.workspace), "template": "free"})
            below = await chat("POST", "/api/agents", {"cwd": str(h.workspace), "parent": full})
            assert below.status_code == 403
            for made in (forked, by_template.json()):
                assert made["settings"].get("mode", "ask") != "full", made
            for mode in ("full",):
                asked_for = {"cwd": str(h.workspace), "settings": {"mode": mode}}
                assert (await chat("POST", "/api/agents", asked_for)).status_code == 403
                wider = await chat("PATCH", f"/api/agents/{forked['id']}/settings", {"mode": mode}, If_Match="*")
                assert wider.status_code == 403
            stricter = await chat("PATCH", f"/api/agents/{full}/settings", {"mode": "plan"}, If_Match="*")
            assert stricter.status_code == 200
        assert not (h.workspace / "reached").exists()


async def test_a_configured_mode_in_which_nobody_is_asked_is_not_for_who_may_only_chat(tmp_path: Path) -> None:
    async with house(tmp_path, [], config='mode = "full"\n', web=True) as h:
        async with rest(h, await token_with(h, "chat")) as chat:
            made = await chat("POST", "/api/agents", {"cwd": str(h.workspace)})
            assert made.json()["settings"].get("mode", "ask") not in ("edits", "full")
        async with rest(h, await token_with(h, "chat", "approve")) as approver:
            made = await approver("POST", "/api/agents", {"cwd": str(h.workspace)})
            assert made.json()["settings"]["mode"] == "full"


async def test_a_terminal_is_not_for_who_could_not_allow_what_is_done_in_it(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h, await h.client() as owner:
        session = await new_session(h, owner, mode="ask")
        opened = await ask(owner, TerminalOpen, session=session)
        async with await client_with(h, "chat") as chat:
            for terminal in ("", opened.terminal):
                with pytest.raises(OpenAgentError, match="approve"):
                    await ask(chat, TerminalOpen, session=session, terminal=terminal)
            with pytest.raises(OpenAgentError, match="approve"):
                await ask(chat, TerminalInput, terminal=opened.terminal, text="touch reached\n")


async def test_who_may_only_read_has_no_folder_read_for_them(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h:
        other = tmp_path / "other"
        for folder in (other, h.workspace):
            (folder / "till.py").parent.mkdir(exist_ok=True)
            (folder / "till.py").write_text("def total():\n    return 1\n")
        async with await client_with(h, "read") as reader, await client_with(h, "chat") as chat:
            for client, folder in ((reader, h.workspace), (reader, other), (chat, other)):
                with pytest.raises(OpenAgentError, match=r"chat|works below"):
                    await ask(client, IndexWatch, cwd=str(folder))
                with pytest.raises(OpenAgentError, match=r"not indexed|works below"):
                    await ask(client, IndexSearch, cwd=str(folder), query="total")
        assert not list((h.home / "index").glob("*.db"))


@pytest.mark.parametrize("way", ["rest", "socket"])
async def test_a_permanent_rule_takes_more_than_the_scope_approve(tmp_path: Path, way: str) -> None:
    async with house(tmp_path, [shell("touch here"), {"text": "ok"}], web=True) as h, await h.client() as owner:
        session = await new_session(h, owner, mode="ask")
        attachment = await owner.attach(session)
        token = await token_with(h, "approve")
        url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
        async with await connect(url=url, token=token, interactive=True, env={}) as approver, rest(h, token) as by_rest:
            await approver.attach(session)
            await owner.send(session, "go")
            question = await asked(attachment)
            said = {"ask": question.ask.id, "decision": "allow", "scope": "always"}
            if way == "rest":
                refused = await by_rest("POST", f"/api/agents/{session}/approve-tool", said)
                assert (refused.status_code, "admin" in refused.json()["detail"]) == (403, True)
            else:
                with pytest.raises(OpenAgentError, match="admin"):
                    await ask(approver, PermissionAnswer, session=session, **said)
            await ask(approver, PermissionAnswer, session=session, **{**said, "scope": "once"})
            await attachment.until_turn_ends()
        assert not (h.home / "policy.toml").exists()
        assert (h.workspace / "here").exists()


async def test_a_flow_takes_who_may_chat_and_approve(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h:
        flow = {"text": "[[step]]\nname = 'a'\n", "cwd": str(h.workspace), "mode": "full"}
        alone: list[Scope] = ["approve", "chat"]
        for scope in alone:
            async with rest(h, await token_with(h, scope)) as caller:
                assert (await caller("POST", "/api/flows", flow)).status_code == 403


async def test_one_who_follows_the_daemon_hears_of_their_own_folders_alone(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}] * 2, web=True) as h, await h.client() as owner:
        other = tmp_path / "other"
        other.mkdir()
        async with rest(h, await token_with(h, "read")) as reader, reader.client.stream("GET", "/api/events") as stream:
            foreign = (await owner.create_session(str(other), model=MODEL)).id
            await ask(owner, TaskCreate, title="theirs", cwd=str(other))
            await ask(owner, SessionDelete, session=foreign)
            own = (await owner.create_session(str(h.workspace), model=MODEL)).id
            await ask(owner, TaskCreate, title="ours", cwd=str(h.workspace))
            await ask(owner, SessionDelete, session=own)
            heard = list[str]()
            async for kind, event in events(stream):
                heard.append(json.dumps(event))
                if kind == "session.deleted":
                    break
            assert not [each for each in heard if foreign in each or "theirs" in each or str(other) in each]
            assert [each for each in heard if "session.created" in each]
            assert [each for each in heard if "ours" in each]


async def test_a_token_gives_away_no_more_than_it_has(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h:
        (h.workspace / "sub").mkdir()
        async with await client_with(h, "admin") as admin, await h.client() as owner:
            for roots in (["/"], [str(tmp_path)], [str(h.workspace), str(h.workspace.parent)]):
                with pytest.raises(OpenAgentError, match="reach"):
                    await ask(admin, TokensCreate, name="wider", scopes=["read"], roots=roots)
                with pytest.raises(OpenAgentError, match="reach"):
                    await ask(admin, WebLogin, roots=roots)
            sub = [str(h.workspace / "sub")]
            made = await ask(admin, TokensCreate, name="narrower", scopes=["admin"], roots=sub)
            assert made.info.roots == sub
            address = await ask(admin, WebLogin)
            async with rest(h, "") as browser:
                said = {"code": address.url.partition("#")[2]}
                me = (await browser("POST", "/api/login", said, Origin=h.daemon.place.web_url)).json()
                assert me["roots"] == [str(h.workspace)]
            for bad in ("relative", str(tmp_path / "missing"), str(h.home), "/etc"):
                with pytest.raises(OpenAgentError):
                    await ask(owner, TokensCreate, name="bad", scopes=["read"], roots=[bad])


async def test_who_follows_the_daemon_is_nobody_to_ask_about_other_folders(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with (
        house(tmp_path, [shell("touch x"), {"text": "ok"}], web=True) as h,
        await client_with(h, "chat", "approve", interactive=True) as far,
        await h.client() as owner,
    ):
        await ask(far, DaemonFollow)
        session = (await owner.create_session(str(other), model=MODEL, mode="ask")).id
        attachment = await owner.attach(session)
        await owner.send(session, "go")
        assert not (await asked(attachment)).answerable
        await ask(owner, TurnCancel, session=session)


async def test_nobody_lets_an_agent_out_to_where_they_do_not_reach(tmp_path: Path) -> None:
    others = tmp_path / "others"
    others.mkdir()
    (others / "secret.txt").write_text("xylophone")
    wish = {"command": f"cat {others}/secret.txt", "leave": [str(others)], "justification": "It is needed."}
    script = [call("shell", **wish), {"text": "ok"}] * 2
    async with (
        house(tmp_path, script, web=True) as h,
        await client_with(h, "chat", "approve", interactive=True) as token,
        await h.client(interactive=True) as owner,
    ):
        session = (await token.create_session(str(h.workspace), model=MODEL, mode="auto")).id
        attachment = await owner.attach(session)
        for decision in ("deny", "allow"):
            await token.send(session, "go")
            question = await asked(attachment)
            assert question.ask.tool == "folder"
            with pytest.raises(OpenAgentError, match="beyond what the token"):
                await answer(token, question, decision="allow")
            await answer(owner, question, decision=decision, scope="session")
            await attachment.until_turn_ends()
        assert "xylophone" in h.sim.requests[-1].body
        with pytest.raises(OpenAgentError, match="is opened to the folder"):
            await token.send(session, "Once more.")


async def test_a_token_lets_no_agent_out_to_where_it_does_not_reach_itself(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    wanted = [
        call("write_file", path=f"{other}/a", content="x"),
        shell("touch /srv/elsewhere/b"),
        call("read_file", path=f"{other}/c"),
        call("shell", command="true", leave=["0.0.0.0:9"]),
        call("shell", command="true", leave=["2130706433:9"]),
        shell("curl -sS http://[::ffff:127.0.0.1]:9/"),
    ]
    async with house(tmp_path, [*wanted, {"text": "ok"}], web=True) as h:
        async with await client_with(h, "chat", "approve", interactive=True) as client:
            attachment = await client.attach(await new_session(h, client, mode="auto"))
            await client.send(attachment.session, "go")
            for _ in wanted:
                question = await asked(attachment)
                with pytest.raises(OpenAgentError, match="beyond what the token"):
                    await answer(client, question, decision="allow")
                await answer(client, question, decision="deny")
            async with asyncio.timeout(PATIENCE):
                await attachment.until_turn_ends()
        assert list(other.iterdir()) == []
