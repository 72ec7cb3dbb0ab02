"""Tabs, pickers, panels, keys and sizes."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.protocol.locations import socket_path
from openagent.protocol.sessions import SessionGet
from openagent.tui.keys import load, translate
from openagent.tui.said import Said

from ..cli.machine import Machine
from ..cli.pseudo_terminal import Terminal
from ..interaction.doing import ask, call, shell, write
from .screens import screens

pytestmark = pytest.mark.anyio


async def test_each_session_has_a_tab_and_a_key(tmp_path: Path) -> None:
    async with screens(tmp_path, []) as seen:
        await seen.until_shown("1 first")
        await seen.pilot.press("ctrl+x", "n")
        await seen.until(lambda: seen.view.session != seen.session)
        await seen.until_shown("1 first", "2 new session")
        await seen.pilot.press("alt+1")
        await seen.until(lambda: seen.view.session == seen.session)
        await seen.write("/close")
        await seen.until(lambda: seen.view.session != seen.session)


async def test_a_session_is_found_by_its_name(tmp_path: Path) -> None:
    async with screens(tmp_path, []) as seen:
        other = await seen.client.create_session(str(seen.house.workspace), name="the other one")
        await seen.pilot.press("ctrl+x", "l")
        await seen.until_shown("Sessions", "the other one", "first")
        await seen.write("zzz", send=False)
        await seen.until_shown("Nothing fits.")
        await seen.pilot.press("backspace", "backspace", "backspace")
        await seen.write("other")
        await seen.until(lambda: seen.view.session == other.id)


async def test_the_mode_is_chosen_and_always_in_sight(tmp_path: Path) -> None:
    async with screens(tmp_path, [], mode="ask") as seen:
        await seen.until_shown("scripted · ask · ")
        await seen.write("/mode")
        await seen.until_shown("reads only, and makes a plan")
        await seen.write("plan")
        await seen.until_shown("scripted · plan · ")
        info = await ask(seen.client, SessionGet, session=seen.session)
        assert info.settings.mode == "plan"


async def test_the_plan_the_tools_and_the_tokens_have_panels(tmp_path: Path) -> None:
    plan = [{"text": "reproduce", "state": "done"}, {"text": "repair", "state": "active"}]
    script = [{**call("todo", plan=plan), "usage": {"input": 1500, "output": 20}}, {"text": "planned"}]
    async with screens(tmp_path, script) as seen:
        await seen.write("go")
        await seen.until_shown("planned")
        await seen.pilot.press("ctrl+x", "p")
        await seen.until_shown("✓ reproduce", "▸ repair", "Tokens")
        await seen.pilot.press("ctrl+x", "t")
        await seen.until_shown("✓ shell")
        await seen.pilot.press("ctrl+x", "t", "ctrl+x", "p")
        await seen.until(lambda: "✓ reproduce" not in seen.screen())


async def test_the_agents_task_list_lives_above_the_input_until_it_is_done(tmp_path: Path) -> None:
    def todo(*states: str) -> dict[str, Any]:
        texts = ("reproduce", "repair", "verify")
        return call("todo", plan=[{"text": text, "state": state} for text, state in zip(texts, states, strict=True)])

    script = [
        todo("done", "active", "pending"),
        {"text": "half done"},
        todo("done", "done", "done"),
        {"text": "all done"},
    ]
    async with screens(tmp_path, script) as seen:
        await seen.write("go")
        await seen.until_shown("half done", "☑☐☐  1/3  ▸ repair  then verify")
        await seen.until_idle()
        await seen.write("go on")
        await seen.until_shown("all done")
        await seen.until(lambda: "▸ repair" not in seen.screen())


async def test_going_back_shows_what_would_be_undone_and_undoes_it(tmp_path: Path) -> None:
    async with screens(tmp_path, [write("a.txt", "made\n"), {"text": "written"}]) as seen:
        await seen.write("make it")
        await seen.until_shown("written")
        await seen.until_idle()
        await seen.write("/rewind")
        await seen.until_shown("make it", "A a.txt +1 −0", "+ made")
        await seen.pilot.press("enter")
        await seen.until_shown("Back to before turn 1: undo …", "files only")
        await seen.pilot.press("down", "enter")
        await seen.until(lambda: not (seen.house.workspace / "a.txt").exists())
        await seen.until_shown("Went back to before turn 1.", "/redo brings it")
        await seen.write("/redo")
        await seen.until((seen.house.workspace / "a.txt").exists)
        await seen.until_shown("The rewind was taken back.")


async def test_what_others_changed_is_offered_after_going_back(tmp_path: Path) -> None:
    async with screens(tmp_path, [write("a.txt", "made\n"), {"text": "written"}]) as seen:
        await seen.write("make it")
        await seen.until_shown("written")
        await seen.until_idle()
        (seen.house.workspace / "a.txt").write_text("by hand\n")
        await seen.write("/rewind")
        await seen.until_shown("make it", "others have changed it since")
        await seen.pilot.press("enter")
        await seen.until_shown("Back to before turn 1: undo …", "files only")
        await seen.pilot.press("enter")
        await seen.until_shown("Others changed these since", "changed by others since")
        assert (seen.house.workspace / "a.txt").read_text() == "by hand\n"
        await seen.pilot.press("enter")
        await seen.until(lambda: not (seen.house.workspace / "a.txt").exists())


async def test_undo_takes_the_named_file_alone_and_leaves_the_conversation(tmp_path: Path) -> None:
    script = [write("a.txt", "made\n"), write("b c.txt", "made\n"), {"text": "written"}]
    async with screens(tmp_path, script) as seen:
        await seen.write("make it")
        await seen.until_shown("written")
        await seen.until_idle()
        await seen.write("/undo 'b c.txt'")
        await seen.until_shown("Changes to b c.txt were reverted.")
        assert sorted(path.name for path in seen.house.workspace.iterdir()) == ["a.txt"]
        assert not [said for said in seen.all_of(Said) if said.has_class("rewound")]


async def test_files_that_run_outside_the_sandbox_are_marked_in_the_diff_and_before_an_undo(tmp_path: Path) -> None:
    async with screens(tmp_path, [write(".envrc", "made\n"), {"text": "written"}]) as seen:
        await seen.write("make it")
        await seen.until_shown("written")
        await seen.until_idle()
        await seen.write("/diff")
        await seen.until_shown("runs outside the sandbox: direnv or environment", "+ made")
        await seen.pilot.press("q")
        await seen.write("/rewind")
        await seen.until_shown("A .envrc +1 −0  runs outside the sandbox: direnv or environment")


async def test_files_that_git_ignores_are_one_line_of_the_diff_until_it_is_opened(tmp_path: Path) -> None:
    script = [write("__pycache__/a.pyc", "compiled\n"), write("app.py", "made\n"), {"text": "written"}]
    async with screens(tmp_path, script) as seen:
        (seen.house.workspace / ".gitignore").write_text("__pycache__/\n")
        await seen.write("make it")
        await seen.until_shown("written")
        await seen.until_idle()
        await seen.write("/diff")
        line = "1 ignored file (+1 −0): __pycache__/a.pyc"
        await seen.until_shown("Changed: 1 file +1 −0", "+ made", f"▸ {line}  Enter opens it")
        assert "compiled" not in seen.screen()
        await seen.pilot.press("enter")
        await seen.until_shown("+ made", "+ compiled", f"▾ {line}  Enter closes it")
        await seen.pilot.click(".fold", offset=(4, 0))
        await seen.until_shown("+ made", f"▸ {line}")
        await seen.until(lambda: "compiled" not in seen.screen())
        await seen.pilot.press("q")
        await seen.write("/rewind")
        await seen.until_shown("A app.py +1 −0", f"{line}  /diff 1 opens")
        assert "A __pycache__/a.pyc" not in seen.screen()


async def test_a_change_without_lines_is_named_in_the_diff(tmp_path: Path) -> None:
    command = "touch empty.py; chmod +x run.sh; mv old.txt new.txt; printf '\\0' > logo.bin"
    async with screens(tmp_path, [shell(command), {"text": "written"}]) as seen:
        (seen.house.workspace / "run.sh").write_text("run\n")
        (seen.house.workspace / "old.txt").write_text("text\n" * 20)
        await seen.write("make it")
        await seen.until_shown("written")
        await seen.until_idle()
        await seen.write("/diff")
        await seen.until_shown("empty.py (new file)", "logo.bin (new file)", "renamed from old.txt")
        await seen.until_shown("run.sh", "only its rights changed")
        assert "file mode" not in seen.screen()
        assert "Binary files" not in seen.screen()


async def test_files_and_commands_are_completed(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "retry.py").touch()
    async with screens(tmp_path, []) as seen:
        await seen.until(lambda: "retry.py" in seen.view.completion.files)
        await seen.write("see @ret", send=False)
        await seen.until_shown("retry.py")
        await seen.pilot.press("tab")
        assert seen.view.prompt.text == "see @retry.py "
        await seen.pilot.press("escape", "escape")
        await seen.until(lambda: not seen.view.prompt.text)
        await seen.write("/the", send=False)
        await seen.until_shown("switch between dark and light")
        await seen.pilot.press("tab", "enter")
        await seen.until(lambda: seen.app.theme == "openagent-light")


async def test_what_was_said_comes_back_with_the_up_key(tmp_path: Path) -> None:
    async with screens(tmp_path, {"conversations": [{"steps": [{"text": "yes"}], "loop": True}]}) as seen:
        await seen.write("first thing")
        await seen.write("second thing")
        await seen.pilot.press("up")
        assert seen.view.prompt.text == "second thing"
        await seen.pilot.press("up")
        assert seen.view.prompt.text == "first thing"
        await seen.pilot.press("down", "down")
        assert seen.view.prompt.text == ""


async def test_a_message_has_as_many_lines_as_wanted(tmp_path: Path) -> None:
    async with screens(tmp_path, []) as seen:
        await seen.write("one", send=False)
        await seen.pilot.press("ctrl+j")
        await seen.write("two", send=False)
        assert seen.view.prompt.text == "one\ntwo"


async def test_question_mark_shows_what_is_bound(tmp_path: Path) -> None:
    async with screens(tmp_path, [], size=(100, 44), env={"OPENAGENT_KEY_TOGGLE_PLAN": "f8"}) as seen:
        await seen.pilot.press("question_mark")
        await seen.until_shown("Keys", "answer a permission")
        assert "f8" in seen.screen()
        await seen.pilot.press("escape", "f8")
        await seen.until_shown("No plan yet.")


async def test_help_begins_with_the_commands(tmp_path: Path) -> None:
    async with screens(tmp_path, [], size=(100, 44)) as seen:
        await seen.write("/help")
        await seen.until_shown("Commands and keys", "/undo PATH", "/redo")


@pytest.mark.parametrize(("words", "found"), [("ollama", "login"), ("add mcp", "mcp"), ("undo", "undo")])
async def test_commands_are_found_by_what_people_call_them(tmp_path: Path, words: str, found: str) -> None:
    async with screens(tmp_path, []) as seen:
        await seen.pilot.press("ctrl+x", "k")
        await seen.until_shown("Everything, by name")
        await seen.write(words, send=False)
        await seen.until(lambda: found in seen.screen() and "compact" not in seen.screen())


async def test_a_small_terminal_works_and_a_tiny_one_says_so(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"text": "a small answer"}], size=(60, 20)) as seen:
        await seen.write("go")
        await seen.until_shown("a small answer", "scripted · full", "ctx")
        await seen.pilot.resize_terminal(20, 5)
        await seen.until_shown("OpenAgent needs")
        await seen.pilot.resize_terminal(100, 30)
        await seen.until_shown("a small answer")
        await seen.until(lambda: seen.view.prompt.has_focus)


def test_the_environment_wins_over_the_project_and_the_project_over_the_user(tmp_path: Path) -> None:
    project, user = tmp_path / "project", tmp_path / "user"
    for folder, bound in (
        (project / ".openagent", {"cancel": "c-g", "toggle_plan": "f2"}),
        (user / "openagent", {"cancel": "c-b", "toggle_plan": "f3", "yank": "f4", "newline": ["escape", "enter"]}),
    ):
        folder.mkdir(parents=True)
        (folder / "keybindings.json").write_text(json.dumps(bound))
    keys = load(str(project), {"XDG_CONFIG_HOME": str(user), "OPENAGENT_KEY_CANCEL": "c-x"})
    bound = keys.bound
    assert (bound["cancel"], bound["toggle_plan"], bound["yank"]) == ("ctrl+x", "f2", "f4")
    assert bound["newline"] == "alt+enter"
    assert not keys.problems


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "was left out"),
        ('{"dance": "c-x"}', "no action 'dance'"),
        ('{"yank": "c-c"}', "ctrl+c is bound to both cancel and yank"),
        ('{"yank": "a b c"}', "a sequence begins with escape"),
        ('{"yank": 7}', "yank"),
    ],
)
def test_what_is_wrong_with_a_key_file_is_reported(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / ".openagent").mkdir()
    (tmp_path / ".openagent" / "keybindings.json").write_text(content)
    keys = load(str(tmp_path), {"XDG_CONFIG_HOME": str(tmp_path)})
    assert any(problem in said for said in keys.problems)


async def test_changed_keys_count_after_a_reload(tmp_path: Path) -> None:
    async with screens(tmp_path, []) as seen:
        folder = seen.house.workspace / ".openagent"
        folder.mkdir(exist_ok=True)
        (folder / "keybindings.json").write_text(json.dumps({"toggle_plan": "f6"}))
        await seen.pilot.press("f6")
        assert not seen.view.side.shows("plan")
        await seen.write("/keybindings reload")
        await seen.until(lambda: seen.app.keys.bound["toggle_plan"] == "f6")
        await seen.pilot.press("f6")
        await seen.until(lambda: seen.view.side.shows("plan"))
        await seen.pilot.press("ctrl+x", "p")
        assert seen.view.side.shows("plan")


def test_keys_are_written_as_other_programs_write_them() -> None:
    assert [translate(key) for key in ("c-p", "escape enter", "s-tab", "F2", "q")] == [
        "ctrl+p",
        "alt+enter",
        "shift+tab",
        "f2",
        "q",
    ]


async def test_everything_is_chosen_by_name_as_sessions_and_models_are(tmp_path: Path) -> None:
    async with screens(tmp_path, []) as seen:
        await seen.pilot.press("ctrl+x", "k")
        await seen.until_shown("Everything, by name", "search", "Enter chooses", "^X n")
        await seen.write("vim keys")
        await seen.until(lambda: seen.app.liked.vim)


def test_a_daemon_that_stops_as_somebody_comes_makes_place_for_the_next(tmp_path: Path) -> None:
    with ThreadedSimulator([]) as sim:
        machine = Machine(tmp_path, sim)
        place = Path(socket_path(machine.env))
        place.parent.mkdir(parents=True, mode=0o700)
        with socket.socket(socket.AF_UNIX) as stopping:
            stopping.bind(str(place))
            stopping.listen()
            try:
                with Terminal(machine, size=(100, 30)) as terminal:
                    there, _ = stopping.accept()
                    place.unlink()
                    there.close()
                    terminal.enter("words")
                    terminal.until("words")
                    terminal.until("scripted")
            finally:
                machine.run("stop")
