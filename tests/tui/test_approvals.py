"""A change can be reviewed, all of it, before it is allowed."""

from pathlib import Path

import pytest

from openagent.tui.pager import Pager
from openagent.tui.permission import PermissionPanel

from ..interaction.doing import call, shell
from .screens import Seen, focused, screens

pytestmark = pytest.mark.anyio
OLD = "".join(f"value_{number} = {number}\n" for number in range(1, 201))
NEW = OLD.replace("value_40 = 40\n", "value_40 = 41\n") + "".join(f"added_{number} = 0\n" for number in range(60))
BIG = [call("write_file", path="a.py", content=NEW), {"text": "done"}]


async def _asked(seen: Seen, text: str = "go") -> PermissionPanel:
    (seen.house.workspace / "a.py").write_text(OLD)
    await seen.write(text)
    await seen.until(lambda: focused(seen, PermissionPanel) and seen.all_of(PermissionPanel)[0].armed)
    return seen.all_of(PermissionPanel)[0]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (160, 45)])
async def test_all_of_a_change_comes_into_sight_by_keys_before_it_is_allowed(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with screens(tmp_path, BIG, size=size, mode="ask") as seen:
        await _asked(seen)
        await seen.until_shown("write a.py", "+61 −1", "value_37 = 37", "lines 1–", "d deny")
        assert "added_59" not in seen.screen()
        await seen.pilot.press("end")
        await seen.until_shown("260 + added_59 = 0", "d deny")
        await seen.pilot.press("home", "down")
        await seen.until_shown("lines 2–")
        await seen.pilot.press("pagedown")
        await seen.until(lambda: "lines 2–" not in seen.screen())
        assert (seen.house.workspace / "a.py").read_text() == OLD
        await seen.pilot.press("a")
        await seen.until_shown("✓ wrote a.py +61 −1")


async def test_the_full_screen_shows_the_change_and_takes_the_answer(tmp_path: Path) -> None:
    async with screens(tmp_path, BIG, mode="ask") as seen:
        await _asked(seen)
        await seen.pilot.press("v")
        await seen.until(lambda: isinstance(seen.app.screen, Pager))
        await seen.until_shown("40     - value_40 = 40", "40 + value_40 = 41", "s Any `write_file` of `a.py`, for")
        await seen.pilot.press("end")
        await seen.until_shown("260 + added_59 = 0")
        await seen.pilot.press("pageup")
        await seen.until(lambda: "260 + added_59 = 0" not in seen.screen())
        await seen.pilot.press("d")
        await seen.until_shown("✗ denied: write a.py (the user said no)")
        assert (seen.house.workspace / "a.py").read_text() == OLD


async def test_ctrl_o_opens_the_full_screen_and_escape_leads_back_to_the_question(tmp_path: Path) -> None:
    async with screens(tmp_path, BIG, mode="ask") as seen:
        await _asked(seen)
        await seen.pilot.press("ctrl+o")
        await seen.until(lambda: isinstance(seen.app.screen, Pager))
        await seen.pilot.press("escape")
        await seen.until(lambda: not isinstance(seen.app.screen, Pager))
        await seen.until(lambda: focused(seen, PermissionPanel))


async def test_a_risky_command_is_shown_whole_and_says_why_it_is_risky(tmp_path: Path) -> None:
    command = "rm -rf build && echo " + " ".join(f"word{number}" for number in range(40))
    async with screens(tmp_path, [shell(command), {"text": "done"}], size=(80, 24), mode="ask") as seen:
        await _asked(seen)
        await seen.until_shown("high risk: It deletes folders with all they hold. (build)", "rm -rf build", "word39")


async def test_of_several_questions_the_first_is_in_sight_with_their_number(tmp_path: Path) -> None:
    both = {"tool_calls": [call("read_file", path=path)["tool_calls"][0] for path in (".env", ".env.local")]}
    async with screens(tmp_path, [both, {"text": "done"}], mode="ask") as seen:
        await seen.write("go")
        await seen.until_shown("approve? 1 of 2", "read .env")
        await seen.until(lambda: focused(seen, PermissionPanel) and seen.all_of(PermissionPanel)[0].armed)
        await seen.pilot.press("d")
        await seen.until(lambda: "1 of 2" not in seen.screen() and "approve?" in seen.screen())
        await seen.pilot.press("d")
