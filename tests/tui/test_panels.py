"""Panels, the full view, copying, and what the daemon offers by name."""

import re
from pathlib import Path

import pytest

from openagent.tui.file_panel import FilePanel
from openagent.tui.pager import Lines, Pager
from openagent.tui.said import Said

from ..interaction.doing import call, results_of, shell, turn, write
from ..jail.conftest import needs_bwrap
from .screens import focused, screens

pytestmark = pytest.mark.anyio


async def test_a_denial_can_say_why_and_the_agent_reads_it(tmp_path: Path) -> None:
    async with screens(tmp_path, [shell("touch made"), {"text": "over"}], mode="ask") as seen:
        await seen.write("go")
        await seen.until(lambda: seen.view.asks.permission and seen.view.asks.permission.armed)
        await seen.pilot.press("D")
        await seen.until_shown("deny, because …")
        await seen.write("not here")
        await seen.until_shown("over")
        (result,) = await results_of(seen.client, seen.session)
        assert "not here" in result.text
        assert not (seen.house.workspace / "made").exists()


async def test_an_edit_that_waits_for_permission_shows_what_it_would_change(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.py").write_text("one = 1\n")
    script = [call("read_file", path="a.py"), call("edit_file", path="a.py", old="one = 1", new="one = 2")]
    async with screens(tmp_path, [*script, {"text": "over"}], mode="ask") as seen:
        await seen.write("go")
        await seen.until_shown("edit a.py", "- one = 1", "+ one = 2")


@needs_bwrap
async def test_a_host_that_is_asked_for_says_who_wants_to_reach_it(tmp_path: Path) -> None:
    async with screens(tmp_path, [shell("curl -sS http://far.test/"), {"text": "over"}], mode="auto") as seen:
        await seen.write("go")
        await seen.until_shown("running curl", "connect to far.test:80", "The command wants to connect to far.test:80.")
        await seen.until(lambda: seen.view.asks.permission and seen.view.asks.permission.armed)
        await seen.pilot.press("d")
        await seen.until_shown("over")


async def test_the_files_are_a_tree_and_a_file_goes_into_the_input(tmp_path: Path) -> None:
    (tmp_path / "workspace" / "src").mkdir(parents=True)
    (tmp_path / "workspace" / "src" / "deep.py").touch()
    async with screens(tmp_path, [write("made.txt", "x\n"), {"text": "done"}]) as seen:
        await seen.write("go")
        await seen.until_shown("done")
        await seen.until_idle()
        await seen.pilot.press("ctrl+x", "f")
        await seen.until_shown("src", "made.txt A")
        assert focused(seen, FilePanel)
        await seen.pilot.press("down", "enter")
        await seen.until_shown("deep.py")
        await seen.pilot.press("down", "enter")
        await seen.until(lambda: seen.view.prompt.text == "@src/deep.py ")
        await seen.pilot.press("ctrl+x", "f")
        await seen.until(lambda: "made.txt A" not in seen.screen())


async def test_the_full_view_shows_all_of_a_result_page_by_page(tmp_path: Path) -> None:
    async with screens(tmp_path, [shell("seq 1 200"), {"text": "counted"}]) as seen:
        await seen.write("go")
        await seen.until_shown("counted")
        await seen.write("/view")
        await seen.until(lambda: isinstance(seen.app.screen, Pager))
        await seen.until_shown("shell seq 1 200", "space next page · q closes")
        await seen.pilot.press("space")
        await seen.until(lambda: seen.app.screen.query_one(Lines).scroll_offset.y > 20)
        await seen.pilot.press("q")
        await seen.until_shown("counted")


async def test_copying_takes_the_sources_that_were_asked_for(tmp_path: Path) -> None:
    async with screens(tmp_path, [shell("echo from-tool"), {"text": "from model"}]) as seen:
        await seen.write("from user")
        await seen.until_shown("from model")
        await seen.until_idle()
        await seen.pilot.press("ctrl+x", "y")
        await seen.until(lambda: seen.app.clipboard == "from model")
        await seen.write("/copy model&user&tool")
        await seen.until(lambda: "from-tool" in seen.app.clipboard)
        assert seen.app.clipboard.startswith("from user\n\n$ shell echo from-tool\n")
        assert seen.app.clipboard.endswith("from model")


async def test_the_sources_of_a_copy_can_be_set_in_the_environment(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"text": "from model"}], env={"OPENAGENT_COPY_SOURCES": "user"}) as seen:
        await seen.write("from user")
        await seen.until_shown("from model")
        await seen.pilot.press("ctrl+x", "y")
        await seen.until(lambda: seen.app.clipboard == "from user")


async def test_messages_that_were_taken_back_are_grey_for_everybody_and_after_a_restart(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"text": "first"}, {"text": "second"}]) as seen:
        await seen.write("one")
        await seen.until_shown("first")
        await seen.until_idle()
        await seen.write("two")
        await seen.until_shown("second")
        await seen.until_idle()
        await seen.write("/rewind")
        await seen.until_shown("Go back to before")
        await seen.pilot.press("enter")
        await seen.until_shown("files and conversation")
        await seen.pilot.press("down", "enter")
        await seen.until_shown("Went back to before turn 2.")
        assert [said.has_class("rewound") for said in seen.all_of(Said)] == [False, True]
        snapshot = (await seen.client.attach(seen.session)).snapshot
        assert snapshot is not None
        await seen.view._begin(snapshot)  # pyright: ignore[reportPrivateUsage]
        assert [said.has_class("rewound") for said in seen.all_of(Said)] == [False, True]


async def test_a_session_is_made_from_a_template(tmp_path: Path) -> None:
    async with screens(tmp_path, []) as seen:
        await seen.write("/template")
        await seen.until_shown("Start a session from …", "reviewer")
        await seen.write("reviewer")
        await seen.until(lambda: seen.view.session != seen.session and seen.view.info)
        assert seen.view.info is not None
        assert seen.view.info.template == "reviewer"


async def test_the_context_is_broken_down(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"text": "answer"}]) as seen:
        await seen.write("question")
        await seen.until_shown("answer")
        await seen.until_idle()
        await seen.write("/context")
        await seen.until_shown("What the model is shown", "tools", "system", "question")


async def test_agents_are_a_tree_with_their_cost_and_can_be_gone_to(tmp_path: Path) -> None:
    script = {
        "conversations": [
            {"match": "look closely", "steps": [{"text": "Looked.", "usage": {"input": 1200, "output": 30}}]},
            {"steps": [call("agent", tasks=[{"template": "reviewer", "task": "look closely"}]), {"text": "All done."}]},
        ]
    }
    async with screens(tmp_path, script, size=(120, 30)) as seen:
        await seen.write("go")
        await seen.until_shown("All done.")
        await seen.pilot.press("ctrl+x", "a")
        await seen.until_shown("Agents", "✓ reviewer", "1.2k")
        await seen.pilot.press("ctrl+x", "a")
        await seen.until(lambda: seen.view.session != seen.session and seen.view.info)
        await seen.until_shown("Looked.")


async def test_mcp_servers_are_listed_and_switched(tmp_path: Path) -> None:
    async with screens(tmp_path, []) as seen:
        await seen.write("/mcp")
        await seen.until_shown("No MCP server is configured.")


async def test_a_long_history_is_read_to_its_beginning_and_back_in_flat_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openagent.tui.chat.KEPT", 40)
    monkeypatch.setattr("openagent.tui.session_view.PAGE", 20)
    script = {"conversations": [{"steps": [{"text": "reply to {last_user}"}], "loop": True}]}
    async with screens(tmp_path, script) as seen:
        attachment = await seen.client.attach(seen.session)
        for number in range(30):
            await turn(seen.client, attachment, f"message {number:03}.")
        await seen.until_shown("reply to message 029.")
        assert seen.view.chat.oldest > 21
        await seen.pilot.press("ctrl+home")
        await seen.until_shown("message 000.", "more below")
        assert seen.view.chat.oldest == 1
        assert seen.view.chat.has_newer
        passed = set[int]()
        while 29 not in passed:  # page by page to the end: nothing is jumped over
            passed |= {int(found) for found in re.findall(r"message (\d{3})", seen.screen())}
            assert passed == set(range(max(passed) + 1))
            assert len(seen.view.chat.children) <= 60
            await seen.pilot.press("pagedown")
            await seen.pilot.pause()
            await seen.until(lambda: not seen.view.loading)
        await seen.pilot.press("ctrl+home")
        await seen.client.send(seen.session, "while away")
        await seen.pilot.press("ctrl+end")
        await seen.until_shown("reply to while away")
        assert seen.screen().count("reply to while away") == 1
        await seen.until(lambda: "below" not in seen.screen())
