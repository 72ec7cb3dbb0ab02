"""The Agent Client Protocol: what an editor sees of sessions, told by the client of the official SDK."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema as s

from openagent.client import Attachment
from openagent.protocol import events as e
from openagent.protocol.mcp import McpList
from openagent.protocol.sessions import SessionDelete
from openagent.protocol.tools import ToolsList

from ..e2e.editor import Editor, ask, editing_in, open_session, states
from ..interaction.doing import results_of
from ..interaction.house import MODEL, House, house, until
from ..jail.conftest import needs_bwrap

pytestmark = pytest.mark.anyio


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "arguments": {"command": command}}], **more}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the gateway looks for its daemon."""
    monkeypatch.setenv("OPENAGENT_HOME", str(tmp_path / "home"))
    return tmp_path


@asynccontextmanager
async def daemon(home: Path, script: Any, mode: str = "ask") -> AsyncGenerator[House, None]:
    config = f'model = "{MODEL}"\nmode = "{mode}"\n[jail]\nkind = "host"'
    async with house(home, script, config=config) as h:
        yield h


async def test_a_cancel_while_a_permission_is_asked_ends_the_turn_and_nothing_is_run(home: Path) -> None:
    turned_away = asyncio.Event()

    async def wait(_: s.ToolCallUpdate) -> str:
        await turned_away.wait()
        return ""

    async with daemon(home, [shell("touch made"), {"text": "never"}]) as h:
        async with editing_in(h, Editor(wait)) as editor:
            session = await open_session(editor, h)
            turn = asyncio.create_task(ask(editor, session, "go"))
            await editor.until(lambda: editor.asked)
            await editor.agent.cancel(session_id=session)
            turned_away.set()
            assert await turn == "cancelled"
        assert not (h.workspace / "made").exists()


async def test_a_rejected_call_is_not_run_and_the_turn_goes_on(home: Path) -> None:
    async with daemon(home, [shell("touch made"), {"text": "Then not."}]) as h:
        async with editing_in(h) as editor:
            session = await open_session(editor, h)
            assert await ask(editor, session, "go") == "end_turn"
            assert editor.said() == "Then not."
            assert states(editor, editor.asked[0][0].tool_call_id) == ["pending", "failed"]
        assert not (h.workspace / "made").exists()


@needs_bwrap
async def test_a_host_that_a_command_wants_is_asked_about_beside_the_command(home: Path) -> None:
    script = [shell("curl -sS http://far.test/"), {"text": "Then not."}]
    async with house(home, script, config=f'model = "{MODEL}"\nmode = "auto"') as h, editing_in(h) as editor:
        session = await open_session(editor, h)
        assert await ask(editor, session, "go") == "end_turn"
        [asked] = [one[0] for one in editor.asked]
        assert asked.title == "connect to far.test:80"
        [command] = [one for one in editor.of("tool_call") if one.tool_call_id != asked.tool_call_id]
        assert states(editor, asked.tool_call_id) == ["pending", "failed"]
        assert states(editor, command.tool_call_id)[-1] == "completed"


async def test_loading_replays_the_history_and_resuming_does_not(home: Path) -> None:
    script = [{"text": "Looking.", **shell("echo found")}, {"text": "Here."}, {"text": "Again."}]
    async with daemon(home, script, mode="full") as h:
        async with editing_in(h) as first:
            session = await open_session(first, h)
            await ask(first, session, "where?")
        async with editing_in(h) as second:
            listed = await second.agent.list_sessions(cwd=str(h.workspace))
            assert [(one.session_id, one.title) for one in listed.sessions] == [(session, "where?")]
            loaded = await second.agent.load_session(cwd=str(h.workspace), session_id=session, mcp_servers=[])
            assert loaded.modes.current_mode_id == "full"
            kinds = [update.session_update for _, update in second.updates if "chunk" in update.session_update]
            assert kinds == ["user_message_chunk", "agent_message_chunk", "agent_message_chunk"]
            assert (second.said("user_message_chunk"), second.said()) == ("where?", "Looking.Here.")
            (told,) = second.of("tool_call")
            assert (told.title, told.kind, states(second, told.tool_call_id)) == (
                "echo found",
                "execute",
                ["pending", "completed"],
            )
            assert second.of("tool_call_update")[-1].content[0].content.text == "found"
        async with editing_in(h) as third:
            await third.agent.resume_session(cwd=str(h.workspace), session_id=session)
            assert await ask(third, session, "and?") == "end_turn"
            assert (third.said("user_message_chunk"), third.said()) == ("", "Again.")
            forked = await third.agent.fork_session(cwd=str(h.workspace), session_id=session)
            assert forked.session_id != session
            await third.agent.close_session(session_id=session)


async def test_two_editors_and_a_client_on_one_session_agree(home: Path) -> None:
    release = asyncio.Event()

    async def wait(_: s.ToolCallUpdate) -> str:
        await release.wait()
        return ""

    script = [shell("touch made"), {"text": "Done."}, {"text": "Hello all."}]
    async with daemon(home, script) as h:  # noqa: SIM117
        async with editing_in(h, Editor(wait)) as one, editing_in(h, Editor(wait)) as two:
            session = await open_session(one, h)
            await two.agent.load_session(cwd=str(h.workspace), session_id=session, mcp_servers=[])
            async with await h.client(interactive=True) as client:
                watched = await client.attach(session)
                turn = asyncio.create_task(ask(one, session, "make it"))
                await one.until(lambda: one.asked)
                await two.until(lambda: two.asked)
                async for event in watched.events():
                    if isinstance(event, e.PermissionRequested):
                        await client.answer_permission(session, event.ask.id, allow=True)
                        break
                assert await turn == "end_turn"
                assert (h.workspace / "made").exists()
                await two.until(lambda: two.said() == "Done.")
                assert (two.said("user_message_chunk"), one.said("user_message_chunk")) == ("make it", "")
                await client.send(session, "from the terminal")
                for editor in (one, two):
                    await editor.until(lambda editor=editor: editor.said().endswith("Hello all."))
                assert one.said("user_message_chunk") == "from the terminal"
                assert one.said() == two.said() == "Done.Hello all."
                release.set()


async def test_modes_and_options_change_from_either_side(home: Path) -> None:
    async with daemon(home, {"steps": [{"text": "x"}], "models": ["scripted", "other"]}) as h:  # noqa: SIM117
        async with editing_in(h) as editor:
            opened = await editor.agent.new_session(cwd=str(h.workspace), mcp_servers=[])
            session = opened.session_id
            assert [mode.id for mode in opened.modes.available_modes] == ["plan", "ask", "edits", "auto", "full"]
            await editor.agent.set_session_mode(session_id=session, mode_id="plan")
            await editor.until(lambda: [one.current_mode_id for one in editor.of("current_mode_update")] == ["plan"])
            found = await editor.until(
                lambda: [
                    option
                    for update in editor.of("config_option_update")
                    for option in update.config_options
                    if option.id == "model" and len(option.options) > 1
                ]
            )
            assert {"compatible/scripted", "compatible/other"} <= {option.value for option in found[0].options}
            changed = await editor.agent.set_config_option(
                config_id="model", session_id=session, value="compatible/other"
            )
            assert [option.current_value for option in changed.config_options] == [
                "plan",
                "compatible/other",
                "default",
            ]
            with pytest.raises(acp.RequestError) as refused:
                await editor.agent.set_session_mode(session_id=session, mode_id="wild")
            assert refused.value.code == -32602


async def test_images_links_and_unsaved_buffers_reach_the_model(home: Path) -> None:
    async with daemon(home, {"steps": [{"text": "{last_user}"}]}) as h:
        saved, unsaved = h.workspace / "saved.txt", h.workspace / "unsaved.txt"
        saved.write_text("as it is\n")
        unsaved.write_text("old\n")
        editor = Editor()
        editor.buffers = {str(saved): "as it is\n", str(unsaved): "typed, not saved\n"}
        can = s.ClientCapabilities(fs=s.FileSystemCapabilities(read_text_file=True))
        async with editing_in(h, editor, capabilities=can):
            session = await open_session(editor, h)
            pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
            prompt = [
                acp.text_block("look: "),
                acp.image_block(pixel, "image/png"),
                acp.resource_link_block("saved.txt", saved.as_uri()),
                acp.resource_link_block("unsaved.txt", unsaved.as_uri()),
                acp.resource_block(acp.embedded_text_resource("file:///else.txt", "embedded text")),
            ]
            assert (await editor.agent.prompt(session_id=session, prompt=prompt)).stop_reason == "end_turn"
            async with await h.client(interactive=True) as client:
                snapshot = (await client.attach(session)).snapshot
                assert snapshot is not None
                said = snapshot.messages[0]
        assert "typed, not saved" in said.text
        assert "embedded text" in said.text
        assert "as it is" not in said.text
        assert [part for part in said.parts if getattr(part, "media_type", "") == "image/png"]


async def test_a_commands_output_is_shown_while_it_runs(home: Path) -> None:
    command = "echo one; until test -e go; do sleep 0.02; done; echo two"
    script = [shell(command), {"text": "ok"}, shell(f"rm go; {command}"), {"text": "ok"}]
    async with daemon(home, script, "full") as h:
        go = h.workspace / "go"
        async with editing_in(h) as plain:
            session = await open_session(plain, h)
            turn = asyncio.create_task(ask(plain, session, "run"))
            await plain.until(
                lambda: [
                    one
                    for one in plain.of("tool_call_update")
                    if one.content and one.content[0].content.text == "one\n"
                ]
            )
            go.touch()
            assert await turn == "end_turn"
            assert plain.of("tool_call_update")[-1].content[0].content.text == "one\ntwo"
        can = s.ClientCapabilities(field_meta={"terminal_output": True})
        async with editing_in(h, capabilities=can) as rich:
            await rich.agent.resume_session(cwd=str(h.workspace), session_id=session)

            def printed() -> str:
                meta: list[dict[str, Any]] = [one.field_meta or {} for one in rich.of("tool_call_update")]
                return "".join(one["terminal_output"]["data"] for one in meta if "terminal_output" in one)

            turn = asyncio.create_task(ask(rich, session, "again"))
            await rich.until(lambda: printed() == "one\n")
            go.touch()
            assert await turn == "end_turn"
            assert printed() == "one\ntwo\n"
            assert rich.of("tool_call")[0].content[0].terminal_id == rich.of("tool_call")[0].tool_call_id
            assert rich.of("tool_call_update")[-1].field_meta["terminal_exit"]["exit_code"] == 0


async def test_a_question_is_put_as_a_form_or_else_as_options(home: Path) -> None:
    question = {"name": "ask_user", "arguments": {"question": "Which?", "choices": ["red", "blue"]}}
    script = [{"tool_calls": [question]}, {"text": "First."}, {"tool_calls": [question]}, {"text": "Second."}]

    async def second(_: s.ToolCallUpdate) -> str:
        return "1"

    async with daemon(home, script) as h:
        with_forms = Editor()
        with_forms.form_answer = {"answer": "red"}
        form = s.ElicitationCapabilities(form=s.ElicitationFormCapabilities())
        async with editing_in(h, with_forms, capabilities=s.ClientCapabilities(elicitation=form)) as editor:
            session = await open_session(editor, h)
            assert await ask(editor, session, "choose") == "end_turn"
            assert (editor.forms, editor.asked) == (["Which?"], [])
            assert editor.of("tool_call_update")[-1].content[0].content.text == "red"
        async with editing_in(h, Editor(second)) as editor:
            await editor.agent.resume_session(cwd=str(h.workspace), session_id=session)
            assert await ask(editor, session, "again") == "end_turn"
            ((call, options),) = editor.asked
            assert (call.title, [option.name for option in options]) == ("Which?", ["red", "blue"])
            assert editor.of("tool_call_update")[-1].content[0].content.text == "blue"


async def test_cancelling_a_prompt_that_waits_leaves_another_clients_turn_alone(home: Path) -> None:
    wait = "until test -e go; do sleep 0.02; done"
    script = [shell(wait), {"text": "Theirs."}, {"text": "never"}]
    async with daemon(home, script, "full") as h:  # noqa: SIM117
        async with editing_in(h) as editor, await h.client() as client:
            session = await open_session(editor, h)
            watched = await client.attach(session)
            await client.send(session, "theirs")
            await editor.until(lambda: editor.of("tool_call"))
            turn = asyncio.create_task(ask(editor, session, "mine"))
            async for event in watched.events():
                if isinstance(event, e.MessageQueued):
                    break
            await editor.agent.cancel(session_id=session)
            assert await turn == "cancelled"
            (h.workspace / "go").touch()
            ends = [event async for event in _turns(watched)]
            assert [(end.text, end.reason) for end in ends] == [("Theirs.", "done"), ("", "cancelled")]


async def _turns(watched: Attachment) -> AsyncGenerator[e.TurnCompleted, None]:
    """The next two turns' ends."""
    for _ in range(2):
        yield (await watched.until_turn_ends())[0]


async def test_a_failing_turn_is_an_error_in_words(home: Path) -> None:
    async with daemon(home, [{"text": "", "fault": "401"}]) as h, editing_in(h) as editor:
        session = await open_session(editor, h)
        with pytest.raises(acp.RequestError, match="key") as failed:
            await ask(editor, session, "go")
        assert failed.value.code == -32603


async def test_an_outage_is_told_and_a_failed_turn_continued_from_the_editor(home: Path) -> None:
    faults = [{"name": "overloaded", "times": 1}, {"name": "401", "times": 1}]
    script = [shell("echo once >> log"), {"text": "Done.", "fault": faults}]
    async with daemon(home, script, mode="full") as h, editing_in(h) as editor:
        session = await open_session(editor, h)
        await editor.until(lambda: editor.of("available_commands_update"))
        offered = [each.name for each in editor.of("available_commands_update")[-1].available_commands]
        assert "retry" in offered
        with pytest.raises(acp.RequestError, match="key"):
            await ask(editor, session, "go")
        assert "Retrying in " in editor.said("agent_thought_chunk")
        assert await ask(editor, session, "/retry") == "end_turn"
        assert editor.said() == "Done."
        assert (h.workspace / "log").read_text() == "once\n"
        with pytest.raises(acp.RequestError, match="nothing to retry"):
            await ask(editor, session, "/retry")


async def test_servers_of_the_editor_are_for_its_session_alone_and_gone_when_it_closes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}")
    converted = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    script = [{"tool_calls": [{"name": "convert_time", "arguments": converted}]}, {"text": "ok"}]
    async with house(home, script, config=f'model = "{MODEL}"\nmode = "full"') as h, editing_in(h) as editor:
        server = s.McpServerStdio(name="the time", command="mcp-server-time", args=[], env=[])
        opened = await editor.agent.new_session(cwd=str(h.workspace), mcp_servers=[server])
        other = await editor.agent.new_session(cwd=str(h.workspace), mcp_servers=[])
        async with await h.client() as client:
            attachment = await client.attach(opened.session_id)
            await client.request(ToolsList(id=client.next_id(), session=opened.session_id))
            *_, told = await until(attachment, lambda event: isinstance(event, e.McpServerStatus))
            assert isinstance(told, e.McpServerStatus)
            assert told.detail == ""
            await ask(editor, opened.session_id, "go")
            assert "21:00:00" in (await results_of(client, opened.session_id))[0].text

            async def servers_of(session: str) -> list[tuple[str, str]]:
                op = McpList(id=client.next_id(), session=session)
                listed = await client.request(op)
                return [(each.name, each.status) for each in listed.servers]

            assert await servers_of(opened.session_id) == [("the-time", "up")]
            assert await servers_of(other.session_id) == []
            await editor.agent.close_session(session_id=opened.session_id)
            assert await servers_of(opened.session_id) == []


async def test_a_server_of_the_editor_that_cannot_be_one_is_refused(home: Path) -> None:
    async with daemon(home, []) as h, editing_in(h) as editor:
        server = s.HttpMcpServer(type="http", name="far", url="ftp://example.com", headers=[])
        with pytest.raises(acp.RequestError, match="no http address"):
            await editor.agent.new_session(cwd=str(h.workspace), mcp_servers=[server])


async def test_a_session_deleted_elsewhere_ends_its_prompt(home: Path) -> None:
    async with daemon(home, [shell("sleep 60")], "full") as h, editing_in(h) as editor, await h.client() as client:
        session = await open_session(editor, h)
        turn = asyncio.create_task(ask(editor, session, "go"))
        await editor.until(lambda: editor.of("tool_call"))
        await client.request(SessionDelete(id=client.next_id(), session=session))
        assert await turn == "cancelled"
        with pytest.raises(acp.RequestError) as gone:
            await ask(editor, session, "more")
        assert gone.value.code == -32002


async def test_a_prompt_can_be_taken_back_by_its_request_id(home: Path) -> None:
    async with daemon(home, [shell("sleep 60")], "full") as h, editing_in(h) as editor, await h.client() as client:
        session = await open_session(editor, h)
        watched = await client.attach(session)
        line = editor.agent._conn
        turn = asyncio.create_task(ask(editor, session, "go"))
        await editor.until(lambda: editor.of("tool_call"))
        await line.send_notification("$/cancel_request", {"requestId": line._next_request_id - 1})
        with pytest.raises(acp.RequestError) as cancelled:
            await turn
        assert cancelled.value.code == -32800
        assert (await watched.until_turn_ends())[0].reason == "cancelled"


async def test_the_editor_is_told_of_slash_commands_and_a_prompt_may_be_one(home: Path) -> None:
    async with daemon(home, [{"text": "Checked."}]) as h:
        commands = h.workspace / ".openagent" / "commands"
        commands.mkdir(parents=True)
        (commands / "check.md").write_text(
            "---\ndescription: Look for mistakes\nargument-hint: FILE\n---\nLook for mistakes in $1 very carefully.\n"
        )
        async with editing_in(h) as editor:
            session = await open_session(editor, h)
            await editor.until(lambda: editor.of("available_commands_update"))
            offered = {each.name: each for each in editor.of("available_commands_update")[-1].available_commands}
            assert offered["check"].description == "Look for mistakes"
            assert offered["check"].input.root.hint == "FILE"
            assert await ask(editor, session, "/check till.py") == "end_turn"
        (request,) = (request for request in h.sim.requests if request.method == "POST")
        assert "Look for mistakes in till.py very carefully." in str(request.json())


async def test_what_nobody_answered_in_time_is_told_and_asked_again_by_a_command(home: Path) -> None:
    script = [shell("touch made"), {"text": "I could not."}, shell("touch made"), {"text": "Neither now."}]
    config = f'model = "{MODEL}"\nmode = "ask"\n[jail]\nkind = "host"\n[limits]\nask_timeout = 0.5\n'
    away = asyncio.Event()

    async def wait(_: s.ToolCallUpdate) -> str:
        await away.wait()
        return ""

    async with house(home, script, config=config) as h, editing_in(h, Editor(wait)) as editor:
        session = await open_session(editor, h)
        assert await ask(editor, session, "go") == "end_turn"
        assert "Nobody answered in time, so this was not done: run touch made." in editor.said()
        away.set()
        assert await ask(editor, session, "/ask-again") == "end_turn"
        assert len(editor.asked) == 2
        assert "Neither now." in editor.said()
