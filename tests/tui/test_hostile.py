"""What models, tools, files and names may contain, and what a terminal must never see of it."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.client.text import clean
from openagent.protocol.sessions import SessionUpdate
from openagent.tui.answer import LONGEST_LINE, Answer
from openagent.tui.pager import Pager

from ..interaction.doing import ask, call, shell
from .screens import UNPRINTABLE, screens

pytestmark = pytest.mark.anyio
NASTY = "be\x1b]52;c;aGk=\x07fore \x1b[31mred\x1b[0m \x9b2J\x90q\x9cafter\u202e [bold]not markup[/] \x00\x08\x7f"


async def test_nothing_of_it_reaches_the_terminal_from_any_side(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "na\x1b[2Jme\x07.txt").touch()
    plan = [{"text": NASTY, "state": "active"}]
    question = {"question": f"which {NASTY}", "choices": [f"this {NASTY}"]}
    script = [
        {"text": NASTY, **call("todo", plan=plan)},
        shell("printf '\\033]0;title\\007\\033[2Jplain \\033[5;1H'"),
        call("ask_user", **question),
        {"text": f"# {NASTY}\n\n- {NASTY}\n\n```\n{NASTY}\n```\n\n| {NASTY} | b |\n|---|---|\n| {NASTY} | d |\n"},
    ]
    async with screens(tmp_path, script, size=(120, 40)) as seen:
        await ask(seen.client, SessionUpdate, session=seen.session, name=NASTY)
        await seen.write("go")
        await seen.until_shown("the agent asks", "which before red")
        await seen.pilot.press("ctrl+x", "p")
        await seen.until_shown("▸ before red")
        await seen.write("1")
        await seen.until_idle()
        await seen.pilot.press("ctrl+o", "ctrl+x", "f")
        await seen.until_shown("name.txt", "[bold]not markup[/]")
        await seen.pilot.press("ctrl+x", "f")
        await seen.pilot.press("ctrl+x", "l")
        await seen.until_shown("Sessions", "before red")
        await seen.pilot.press("escape")
        await seen.write("/view")
        await seen.until(lambda: isinstance(seen.app.screen, Pager))
        await seen.pilot.press("q")
        await seen.write(f"/{NASTY[:2]}\u202ex")
        await seen.write("/rewind")
        await seen.until_shown("Go back to before")
        assert seen.screen()


async def test_giant_lines_right_to_left_and_wide_characters_are_laid_out(tmp_path: Path) -> None:
    giant = "x" * 300_000
    script = [
        shell("head -c 200000 /dev/zero | tr '\\0' y"),
        {"text": f"{giant}\n\nשלום עולם 你好世界 👩‍👩‍👧 e\u0301 end"},
    ]
    async with screens(tmp_path, script) as seen:
        await seen.write("go")
        await seen.until_shown("end", "你好世界")
        await seen.pilot.press("ctrl+o")
        await seen.until_shown("yyyy")
        await seen.write("/view")
        await seen.until(lambda: isinstance(seen.app.screen, Pager))
        assert "yyyy" in seen.screen()
        await seen.pilot.press("end", "q")
        width = seen.app.size.width
        lines = seen.app.screen_stack[0]._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        assert {line.cell_length if hasattr(line, "cell_length") else width for line in lines} == {width}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=6))
def test_text_that_comes_in_pieces_is_clean_however_it_is_cut(pieces: list[str]) -> None:
    answer = Answer()
    shown = "".join(answer._fit(piece) for piece in pieces)  # pyright: ignore[reportPrivateUsage]
    assert not UNPRINTABLE.search(shown.replace("\n", "").replace("\t", ""))
    assert shown == "".join(clean(piece) for piece in pieces)


def test_a_line_without_end_is_cut_once() -> None:
    answer = Answer()
    shown = "".join(answer._fit("z" * 999) for _ in range(30))  # pyright: ignore[reportPrivateUsage]
    assert len(shown) < LONGEST_LINE + 10
    assert shown.count("…") == 1
    assert answer._fit("\nnext") == "\nnext"  # pyright: ignore[reportPrivateUsage]


async def test_key_files_and_their_complaints_are_clean(tmp_path: Path) -> None:
    (tmp_path / "workspace" / ".openagent").mkdir(parents=True)
    (tmp_path / "workspace" / ".openagent" / "keybindings.json").write_text(json.dumps({"da\x1b[2Jnce": "c-x"}))
    async with screens(tmp_path, []) as seen:
        await seen.pilot.press("question_mark")
        await seen.until_shown("Keys")
        await seen.pilot.press("end")
        await seen.until_shown("there is no action")
