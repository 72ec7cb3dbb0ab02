"""One session on the screen."""

import re
from pathlib import Path

import pytest
from textual.containers import VerticalScroll

from openagent.protocol.events import ToolOutput
from openagent.tui.permission import PermissionPanel
from openagent.tui.prompt import Prompt
from openagent.tui.said import LongSaid
from openagent.tui.thought import Thought
from openagent.tui.tool_call import ToolCall

from ..interaction.doing import shell, turn
from ..interaction.house import new_session, until
from .screens import focused, screens

pytestmark = pytest.mark.anyio


async def test_a_message_is_sent_and_its_answer_is_drawn_as_markdown(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"chunks": ["It is ", "**bold**", " and\n\n- listed"]}]) as seen:
        await seen.write("why?")
        await seen.until_shown("why?", "It is bold and", "• listed")
        await seen.until_idle()
        assert "**" not in seen.screen()


async def test_a_tool_call_is_one_line_until_it_is_opened(tmp_path: Path) -> None:
    async with screens(tmp_path, [shell("echo inside; exit 3"), {"text": "done"}]) as seen:
        await seen.write("go")
        await seen.until_shown("✗ failed: run echo inside; exit 3 · exit 3", "done")
        assert "[exit code 3]" not in seen.screen()
        await seen.pilot.press("ctrl+o")
        await seen.until_shown("[exit code 3]")
        (call,) = seen.all_of(ToolCall)
        call.focus()
        await seen.pilot.press("enter")
        await seen.until(lambda: "[exit code 3]" not in seen.screen())


async def test_an_edit_opens_as_a_diff(tmp_path: Path) -> None:
    write = {"tool_calls": [{"name": "write_file", "arguments": {"path": "a.py", "content": "one = 1\n"}}]}
    async with screens(tmp_path, [write, {"text": "done"}]) as seen:
        await seen.write("go")
        await seen.until_shown("✓ wrote a.py +1 −0", "done")
        await seen.pilot.press("ctrl+o")
        await seen.until_shown("1 + one = 1", "▌ a.py +1")


async def test_an_edit_shows_how_it_begins_and_how_much_more_there_is(tmp_path: Path) -> None:
    lines = "".join(f"value_{number} = {number}\n" for number in range(1, 31))
    write = {"tool_calls": [{"name": "write_file", "arguments": {"path": "a.py", "content": lines}}]}
    async with screens(tmp_path, [write, {"text": "done"}], size=(80, 40)) as seen:
        await seen.write("go")
        await seen.until_shown(
            "✓ wrote a.py +30 −0", "1 + value_1 = 1", "12 + value_12 = 12", "⋯ 18 more lines", "done"
        )
        assert "value_13" not in seen.screen()
        await seen.pilot.press("ctrl+o")
        await seen.until_shown("13 + value_13 = 13")
        assert "more lines" not in seen.screen(), "opened, it is there once"
        await seen.pilot.press("ctrl+o")
        await seen.until_shown("⋯ 18 more lines")


async def test_an_edit_that_was_denied_shows_none_of_it_as_if_it_were_there(tmp_path: Path) -> None:
    write = {"tool_calls": [{"name": "write_file", "arguments": {"path": "a.py", "content": "one = 1\n"}}]}
    async with screens(tmp_path, [write, {"text": "a pity"}], mode="plan") as seen:
        await seen.write("go")
        await seen.until_shown("✗ denied: write a.py", "a pity")
        assert "one = 1" not in seen.screen()


async def test_thinking_is_one_line(tmp_path: Path) -> None:
    script = {
        "show_thinking": "always",
        "conversations": [{"steps": [{"thinking": "Secretly I wonder.", "text": "Yes."}]}],
    }
    async with screens(tmp_path, script) as seen:
        await seen.write("go")
        await seen.until_shown("thought · 3 words", "Yes.")
        assert "wonder" not in seen.screen()
        (thought,) = seen.all_of(Thought)
        thought.focus()
        await seen.pilot.press("enter")
        await seen.until_shown("Secretly I wonder.")


@pytest.mark.parametrize(("key", "runs"), [("a", True), ("s", True), ("d", False)])
async def test_a_permission_is_answered_with_one_key(tmp_path: Path, key: str, runs: bool) -> None:
    async with screens(tmp_path, [shell("touch made"), {"text": "over"}], mode="ask") as seen:
        await seen.write("go")
        await seen.until_shown(
            *("approve?", "touch made", "◆", "a Only this, this one time."),
            "s Exactly `touch made`, for the rest of this session.",
            "A Exactly `touch made`, always in this workspace.",
            "d deny · D deny, saying why · ? why",
        )
        await seen.until(lambda: focused(seen, PermissionPanel) and seen.all_of(PermissionPanel)[0].armed)
        await seen.pilot.press(key)
        await seen.until_shown("over")
        await seen.until(lambda: not seen.all_of(PermissionPanel))
        assert (seen.house.workspace / "made").exists() is runs
        assert focused(seen, Prompt)


async def test_a_narrower_answer_has_a_number_and_grants_are_listed_and_revoked(tmp_path: Path) -> None:
    steps = [shell("make test"), shell("make test -k"), {"text": "over"}, shell("make test"), {"text": "again"}]
    async with screens(tmp_path, steps, mode="ask") as seen:
        await seen.write("go")
        await seen.until_shown(
            "s `make test` with any arguments, unless they change what it does",
            "1 Exactly `make test`, for the rest of this",
        )
        await seen.until(lambda: focused(seen, PermissionPanel) and seen.all_of(PermissionPanel)[0].armed)
        await seen.pilot.press("1")
        await seen.until_shown("Exactly `make test -k`")
        await seen.until(lambda: focused(seen, PermissionPanel) and seen.all_of(PermissionPanel)[0].armed)
        await seen.pilot.press("d")
        await seen.until_shown("over")
        await seen.until(lambda: not seen.all_of(PermissionPanel) and focused(seen, Prompt))
        await seen.write("/grants")
        await seen.until_shown("Enter revokes", "this session", "Exactly `make test`.")
        await seen.pilot.press("enter")
        await seen.until(lambda: focused(seen, Prompt))
        await seen.write("go")
        await seen.until_shown("approve?")


async def test_a_permission_does_not_take_what_is_being_typed(tmp_path: Path) -> None:
    async with screens(tmp_path, [shell("touch made"), {"text": "over"}], mode="ask") as seen:
        await seen.client.send(seen.session, "go")
        seen.view.prompt.text = "a"
        await seen.until(lambda: seen.all_of(PermissionPanel))
        await seen.write("ad", send=False)
        assert seen.view.prompt.text in ("ada", "aad")
        assert not (seen.house.workspace / "made").exists()


async def test_a_question_is_answered_by_its_number(tmp_path: Path) -> None:
    question = {"question": "Which one?", "choices": ["left", "right"]}
    script = [{"tool_calls": [{"name": "ask_user", "arguments": question}]}, {"text": "You said {last_result}"}]
    async with screens(tmp_path, script) as seen:
        await seen.write("go")
        await seen.until_shown("Which one?", "1 left", "2 right")
        await seen.write("2")
        await seen.until_shown("You said right")


async def test_escape_ends_the_running_turn_and_holds_back_what_waited(tmp_path: Path) -> None:
    async with screens(tmp_path, [shell("sleep 60"), {"text": "second answer"}]) as seen:
        await seen.write("first")
        await seen.until_shown("● running sleep 60")
        await seen.write("second")
        await seen.until_shown("Next  second")
        await seen.pilot.press("escape")
        await seen.until_shown(
            "■ stopped: run sleep 60", "■ Stopped from tui", "Next  second", "Held back since you stopped"
        )


async def test_what_another_client_says_is_seen_here(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"text": "For both of you."}]) as seen:
        await seen.client.send(seen.session, "from elsewhere")
        await seen.until_shown("from elsewhere", "For both of you.")


async def test_a_lost_connection_is_made_again_without_loss(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"text": "first answer"}, {"text": "second answer"}]) as seen:
        await seen.write("one")
        await seen.until_shown("first answer")
        line = seen.app.link.client._transport  # pyright: ignore[reportPrivateUsage]
        await line.close()
        await seen.until(lambda: seen.app.link.client._transport is not line)  # pyright: ignore[reportPrivateUsage]
        await seen.write("two")
        await seen.until_shown("first answer", "second answer")
        assert seen.screen().count("first answer") == 1


async def test_escape_sequences_never_reach_the_terminal(tmp_path: Path) -> None:
    nasty = "be\x1b]52;c;aGk=\x07fore \x1b[31mred\x1b[0m \x9b2Jafter\u202e"
    script = [shell("printf '\\033]0;title\\007\\033[2Jplain'"), {"text": nasty}]
    async with screens(tmp_path, script, mode="full") as seen:
        await seen.write("go")
        await seen.until_shown("before red", "after")
        await seen.pilot.press("ctrl+o")
        await seen.until_shown("plain")
        controls = [character for character in seen.screen() if ord(character) < 32 and character != "\n"]
        assert not controls
        assert not set("\x9b\x9d\u202e").intersection(seen.screen())


async def test_a_command_after_an_exclamation_mark_runs_in_the_sessions_shell(tmp_path: Path) -> None:
    async with screens(tmp_path, []) as seen:
        await seen.write("!echo from the shell")
        await seen.until_shown("✓ ran echo from the shell")
        await seen.until(lambda: seen.screen().count("from the shell") == 2)


async def test_a_command_that_runs_already_is_shown_as_running_with_what_it_printed(tmp_path: Path) -> None:
    script = [shell("echo printed before; until [ -e go ]; do sleep 0.05; done"), {"text": "It ended."}]
    async with screens(tmp_path, script) as seen:
        elsewhere = await new_session(seen.house, seen.client)
        attachment = await seen.client.attach(elsewhere)
        await seen.client.send(elsewhere, "go")
        await until(attachment, lambda event: isinstance(event, ToolOutput))
        await seen.app.open_session(elsewhere)
        await seen.until_shown("running echo printed before")
        await seen.pilot.press("ctrl+o")
        await seen.until_shown("▌ printed before")
        (seen.house.workspace / "go").touch()
        await seen.until_shown("✓ ran echo printed before", "It ended.")


async def test_older_messages_load_on_scrolling_up(tmp_path: Path) -> None:
    script = {"conversations": [{"steps": [{"text": "reply to {last_user}"}], "loop": True}]}
    async with screens(tmp_path, script) as seen:
        long = await new_session(seen.house, seen.client)
        attachment = await seen.client.attach(long)
        for number in range(30):
            await turn(seen.client, attachment, f"message {number:02}.")
        await seen.app.open_session(long)
        await seen.until_shown("reply to message 29.")
        assert seen.view.chat.oldest == 11
        await seen.pilot.press("ctrl+home")
        await seen.until(lambda: seen.view.chat.oldest == 1)
        assert not seen.view.chat.has_more


async def test_what_is_selected_with_the_mouse_is_copied_without_the_breaks_that_fit_it_to_the_screen(
    tmp_path: Path,
) -> None:
    said = "one sentence that is longer than a line of this narrow screen can ever be"
    async with screens(tmp_path, [{"text": f"First.\n\n{said}\n\nLast."}], size=(60, 24)) as seen:
        await seen.write("go")
        await seen.until_shown("one sentence", "Last.")
        await seen.until_idle()
        lines = seen.screen().splitlines()
        top = next(y for y, line in enumerate(lines) if "one sentence" in line)
        left = lines[top].index("one")
        bottom = next(y for y, line in enumerate(lines) if "ever be" in line)
        assert bottom > top
        await seen.pilot.mouse_down(offset=(left, top))
        await seen.pilot.hover(offset=(lines[bottom].index("ever be") + 7, bottom))
        await seen.pilot.mouse_up(offset=(lines[bottom].index("ever be") + 7, bottom))
        await seen.pilot.press("ctrl+c")
        assert seen.app.clipboard == said


async def test_a_link_that_is_explained_at_the_end_is_one_when_the_answer_is_complete(tmp_path: Path) -> None:
    async with screens(
        tmp_path, [{"chunks": ["See [the docs][1].\n\n", "And so on.\n\n", "[1]: http://x.y\n"]}]
    ) as seen:
        await seen.write("go")
        await seen.until_shown("See the docs.", "And so on.")
        assert "[1]" not in seen.screen()


async def test_how_a_turn_failed_is_told_once_and_the_same_after_a_restart(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"text": "never", "fault": "401"}]) as seen:
        await seen.write("one")
        await seen.until_shown("refused the API key", "✗ Failed")
        assert seen.screen().count("refused the API key") == 1
        await seen.until_idle()
        snapshot = (await seen.client.attach(seen.session)).snapshot
        assert snapshot is not None
        await seen.view._begin(snapshot)  # pyright: ignore[reportPrivateUsage]
        await seen.until_shown("✗ Failed: compatible refused the API key", "Run `openagent auth add")
        assert seen.screen().count("refused the API key") == 1


async def test_a_key_retries_while_a_provider_is_waited_for_and_after_a_failed_turn(tmp_path: Path) -> None:
    faults = [{"name": "503", "times": 1, "retry_after": 400}, {"name": "401", "times": 1}]
    async with screens(tmp_path, [{"text": "There it is.", "fault": faults}]) as seen:
        await seen.write("one")
        await seen.until_shown("retrying in 6 min", "f5 now")
        snapshot = (await seen.client.attach(seen.session)).snapshot
        assert snapshot is not None
        await seen.view._begin(snapshot)  # pyright: ignore[reportPrivateUsage]
        await seen.until_shown("retrying in 6 min")
        await seen.pilot.press("f5")
        await seen.until_shown("✗ Failed", "f5 retries.")
        await seen.pilot.press("f5")
        await seen.until_shown("There it is.")
        await seen.until_idle()
        assert "✗ Failed" not in seen.screen()


async def test_a_long_message_is_one_line_that_opens_and_is_copied_whole(tmp_path: Path) -> None:
    pasted = "why does this fail?\n" + "\n".join(f"line {number} of the log" for number in range(300))
    async with screens(tmp_path, [{"text": "because"}]) as seen:
        await seen.client.send(seen.session, pasted)
        await seen.until_shown("why does this fail?", "300 more lines", "because")
        await seen.until_idle()
        await seen.pilot.pause()
        assert "line 0 of the log" not in seen.screen()
        seen.all_of(LongSaid)[0].focus()
        await seen.pilot.press("enter")
        await seen.until_shown("line 0 of the log", "line 5 of the log")
        seen.view.prompt.focus()
        await seen.pilot.pause()
        await seen.write("/copy user")
        await seen.until(lambda: seen.app.clipboard == pasted)


async def test_an_output_of_ten_thousand_lines_is_shown_by_its_end_with_what_is_hidden(tmp_path: Path) -> None:
    script = [shell("seq -f 'number %g' 10000"), {"text": "counted"}]
    async with screens(tmp_path, script) as seen:
        await seen.write("go")
        await seen.until_shown("counted")
        await seen.pilot.press("ctrl+o")
        await seen.until_shown("number 10000")
        await seen.pilot.press("ctrl+o", "ctrl+o")
        await seen.until(lambda: "number 10000" in seen.screen())
        body = seen.app.query_one("ToolCall > .body", VerticalScroll)
        body.scroll_home(animate=False)
        await seen.until_shown("lines before this; the full view shows all")


async def test_what_streams_does_not_move_what_is_read_and_is_told_of(tmp_path: Path) -> None:
    long = "\n\n".join(f"paragraph {number}" for number in range(40))
    slow = {"text": "\n\n".join(f"later {number}" for number in range(30)), "chunk_ms": 60, "chunk_chars": 8}
    async with screens(tmp_path, [{"text": long}, slow]) as seen:
        await seen.write("go")
        await seen.until_shown("paragraph 39")
        await seen.until_idle()
        await seen.client.send(seen.session, "go on")
        await seen.until_shown("later 1")
        await seen.pilot.press("pageup", "pageup")
        await seen.until_shown("more below")
        before = re.findall(r"paragraph \d+", seen.screen())
        await seen.until_idle()
        assert before
        assert re.findall(r"paragraph \d+", seen.screen())[: len(before) - 2] == before[:-2]  # a line may tell of news
        await seen.pilot.press("ctrl+end")
        await seen.until_shown("later 29")
