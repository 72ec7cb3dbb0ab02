"""Finding words in a conversation and among sessions."""

from pathlib import Path

import pytest

from openagent.tui.lit import places

from ..interaction.doing import shell, turn
from ..interaction.house import MODEL
from .screens import Seen, screens

pytestmark = pytest.mark.anyio
FOUND_NOW = "#8a6a12"


def lines_lit(seen: Seen) -> list[str]:
    """Lines in which something is lit."""
    strips = seen.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    found = [strip for strip in strips if any(FOUND_NOW in str(segment.style) for segment in strip)]
    return ["".join(segment.text for segment in strip) for strip in found]


async def test_words_are_found_in_the_whole_session_and_lit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openagent.tui.chat.KEPT", 40)
    monkeypatch.setattr("openagent.tui.session_view.PAGE", 20)
    script = {"conversations": [{"steps": [{"text": "reply to {last_user}"}], "loop": True}]}
    async with screens(tmp_path, script) as seen:
        attachment = await seen.client.attach(seen.session)
        for number in range(30):
            what = "The Kühlschrank is here" if number in (2, 27) else "nothing"
            await turn(seen.client, attachment, f"message {number:03}: {what}.")
        await seen.until_shown("reply to message 029")
        await seen.pilot.press("ctrl+s")
        await seen.write("kuhlschra", send=False)
        await seen.until_shown("4/4", "reply to message 027")
        await seen.until(lambda: any("reply to message 027" in line for line in lines_lit(seen)))
        await seen.pilot.press("enter")
        await seen.until_shown("3/4")
        await seen.pilot.press("enter")
        await seen.until_shown("2/4", "reply to message 002", "more below")
        await seen.until(lambda: any("reply to message 002" in line for line in lines_lit(seen)))
        await seen.pilot.press("down")
        await seen.until_shown("3/4", "message 027")
        await seen.pilot.press("escape")
        await seen.until(lambda: "3/4" not in seen.screen() and not lines_lit(seen))
        await seen.write("nothing is lost", send=False)
        assert seen.view.prompt.text == "nothing is lost"


async def test_the_word_that_was_found_is_in_sight_however_much_stands_before_it(tmp_path: Path) -> None:
    many = "Sentences of many ordinary words stand before it and some stand below, "
    async with screens(tmp_path, [{"text": f"{many * 4}then the needle. {many}"}], size=(80, 24)) as seen:
        await seen.write("go")
        await seen.until_shown("then the needle")
        await seen.pilot.press("ctrl+s")
        await seen.write("needle", send=False)
        await seen.until(lambda: any("1/1" in line and line.count("needle") == 2 for line in seen.screen().split("\n")))


async def test_what_a_command_printed_is_found_at_its_call(tmp_path: Path) -> None:
    async with screens(tmp_path, [shell("echo needle in a haystack; true"), {"text": "over"}]) as seen:
        await seen.write("go")
        await seen.until_shown("over")
        await seen.until_idle()
        await seen.pilot.press("ctrl+s")
        await seen.write("haystack", send=False)
        await seen.until_shown("2/2", "needle in a haystack")
        await seen.until(lambda: any("ran echo needle" in line for line in lines_lit(seen)))
        await seen.write(" nowhere", send=False)
        await seen.until_shown("Nothing that was said holds these words.")


async def test_a_session_is_found_by_what_was_said_in_it_and_opens_there(tmp_path: Path) -> None:
    script = {"conversations": [{"steps": [{"text": "reply to {last_user}"}], "loop": True}]}
    async with screens(tmp_path, script, size=(100, 20)) as seen:
        other = await seen.client.create_session(str(seen.house.workspace), name="second", model=MODEL, mode="full")
        attachment = await seen.client.attach(other.id)
        for number in range(12):
            await turn(seen.client, attachment, f"message {number}{' of the apples' if number == 3 else ''}")
        await seen.write("/sessions")
        await seen.until_shown("first", "second")
        await seen.write("apples", send=False)
        await seen.until_shown("second", "reply to message 3 of the apples")
        await seen.pilot.press("enter")
        await seen.until(lambda: seen.view.session == other.id)
        await seen.until_shown("reply to message 3 of the apples")


def test_words_are_lit_where_they_begin_whatever_their_case_and_accents() -> None:
    text = "Ein KÜHLSCHRANK, unterkühlt; kühl"
    assert [text[begin:end] for begin, end in places(text, ["kuhl"])] == ["KÜHL", "kühl"]
    assert places(text, []) == []
