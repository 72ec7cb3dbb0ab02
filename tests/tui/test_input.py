"""What is typed and pasted."""

import asyncio
import base64
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import TextArea

from openagent.protocol.messages import ImagePart, TextPart
from openagent.tui.paste import Pasted, TooLarge
from openagent.tui.vim import Vim

from ..interaction.doing import messages_of
from .screens import Seen, screens

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 40


async def paste(seen: Seen, text: str) -> None:
    seen.view.prompt.post_message(events.Paste(text))
    await seen.pilot.pause()


@pytest.mark.anyio
async def test_long_text_is_a_chip_in_the_input_and_whole_in_the_message(tmp_path: Path) -> None:
    long = "\n".join(f"line {number}" for number in range(240))
    async with screens(tmp_path, [{"text": "read"}]) as seen:
        await seen.write("see ", send=False)
        await paste(seen, long)
        await seen.until_shown("see [pasted 240 lines]")
        await seen.pilot.press("enter")
        await seen.until_shown("read")
        (said, _) = await messages_of(seen.client, seen.session)
        assert said.text == f"see {long}"


@pytest.mark.anyio
async def test_an_image_is_pasted_by_its_path_and_goes_with_the_message(tmp_path: Path) -> None:
    picture = tmp_path / "a picture.png"
    picture.write_bytes(PNG)
    async with screens(tmp_path, [{"text": "seen"}]) as seen:
        await seen.write("what is ", send=False)
        await paste(seen, f"'{picture}'")
        await seen.until_shown("what is [image a picture.png]")
        await seen.pilot.press("enter")
        await seen.until_shown("seen")
        (said, _) = await messages_of(seen.client, seen.session)
        assert said.parts == [
            TextPart("what is [image a picture.png]"),
            ImagePart("image/png", base64.b64encode(PNG).decode()),
        ]


@pytest.mark.anyio
async def test_a_chip_is_deleted_as_a_whole_and_then_sends_nothing(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"text": "ok"}]) as seen:
        await seen.write("hi ", send=False)
        await paste(seen, "data:image/png;base64," + base64.b64encode(PNG).decode())
        await seen.until_shown("hi [image pasted]")
        await seen.pilot.press("backspace", "enter")
        await seen.until_shown("ok")
        (said, _) = await messages_of(seen.client, seen.session)
        assert said.parts == [TextPart("hi")]


def test_pasting_knows_images_from_text(tmp_path: Path) -> None:
    (tmp_path / "note.png").write_text("not an image")
    (tmp_path / "real.png").write_bytes(PNG)
    pasted = Pasted()
    assert pasted.take(str(tmp_path / "note.png")) == str(tmp_path / "note.png")
    assert pasted.take(f"file://{tmp_path}/real.png") == "[image real.png]"
    assert pasted.take(f"{tmp_path}/real.png") == "[image real.png #2]"
    assert pasted.take("short") == "short"
    assert pasted.take("x" * 5000) == "[pasted 5000 characters]"
    with pytest.raises(TooLarge):
        pasted.take_image(PNG + b"\x00" * 6_000_000)


class _Editor(App[None]):
    def compose(self) -> ComposeResult:
        yield TextArea()


async def _typed(text: str, keys: str, at: tuple[int, int] = (0, 0)) -> tuple[str, tuple[int, int]]:
    app = _Editor()
    async with app.run_test():
        area = app.query_one(TextArea)
        area.text = text
        area.move_cursor(at)
        vim = Vim(area)
        vim.start(inserting=False)
        for key in keys:
            if vim.inserting:
                vim.start(inserting=True)
                if key == "␛":
                    vim.handles("escape")
                else:
                    area.insert(key)
            else:
                vim.handles("escape" if key == "␛" else key)
        return area.text, area.cursor_location


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "keys", "after"),
    [
        ("one two three", "dw", "two three"),
        ("one two three", "2dw", "three"),
        ("one two", "wdw", "one "),
        ("one two", "cwsix␛", "six two"),
        ("one two", "$x", "one two"),
        ("one two", "ex", "on two"),
        ("one\ntwo\nthree", "dd", "two\nthree"),
        ("one\ntwo\nthree", "2dd", "three"),
        ("one\ntwo", "jdd", "one"),
        ("one\ntwo", "yyp", "one\none\ntwo"),
        ("one\ntwo", "jyyP", "one\ntwo\ntwo"),
        ("one", "ywP", "oneone"),
        ("one\ntwo", "ofour␛", "one\nfour\ntwo"),
        ("one\ntwo", "jOzero␛", "one\nzero\ntwo"),
        ("one", "A!␛", "one!"),
        ("one", "lrx", "oxe"),
        ("one two", "wD", "one "),
        ("one two", "wCsix␛", "one six"),
        ("one\ntwo\nthree", "jdG", "one\n"),
        ("one two", "dwu", "one two"),
        ("  one", "$d0", ""),
        ("one\ntwo", "ccnew␛", "new\ntwo"),
    ],
)
async def test_vim_keys_do_what_vim_does(text: str, keys: str, after: str) -> None:
    assert (await _typed(text, keys))[0] == after


@pytest.mark.anyio
async def test_vim_moves() -> None:
    text = "one two\n  three"
    for keys, place in (("w", (0, 4)), ("e", (0, 2)), ("$", (0, 7)), ("j", (1, 0)), ("j^", (1, 2)), ("G", (1, 7))):
        assert (await _typed(text, keys))[1] == place, keys
    assert (await _typed(text, "gg", at=(1, 3)))[1] == (0, 0)
    assert (await _typed(text, "b", at=(0, 6)))[1] == (0, 4)


@settings(max_examples=25, deadline=None)
@given(st.text("ab \n", max_size=12), st.text("hjklwbe0$G123dcyxpuoOaAiIDC␛", max_size=14))
def test_no_sequence_of_vim_keys_breaks_the_input(text: str, keys: str) -> None:
    asyncio.run(_typed(text, keys))


@pytest.mark.anyio
async def test_vim_mode_is_switched_on_shown_and_kept(tmp_path: Path) -> None:
    async with screens(tmp_path, [{"text": "yes"}]) as seen:
        await seen.write("/vim")
        await seen.until(lambda: seen.app.liked.vim)
        await seen.write("wrong", send=False)
        await seen.pilot.press("escape")
        await seen.until(lambda: seen.view.prompt.has_class("normal"))
        await seen.pilot.press("d", "d", "i")
        await seen.write("right", send=False)
        assert seen.view.prompt.text == "right"
        await seen.pilot.press("escape", "enter")
        await seen.until_shown("yes")
    assert '"vim":true' in (tmp_path / ".config" / "openagent" / "tui.json").read_text()
