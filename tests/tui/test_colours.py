"""What a terminal can show, and the palette that is chosen for it."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.color import Color, ColorSystem
from textual.theme import Theme

from devtools.simulator import ThreadedSimulator
from openagent.client.terminal_colours import depth, ground_in, ground_told
from openagent.tui.theme import PALETTES

from ..cli.machine import Machine
from ..cli.pseudo_terminal import CTRL_D, Terminal

SYSTEMS = {"truecolor": ColorSystem.TRUECOLOR, "256": ColorSystem.EIGHT_BIT, "16": ColorSystem.STANDARD}
LIGHT_ANSWER, DARK_ANSWER = "\x1b]11;rgb:ffff/fafa/f0f0\x1b\\\x1b[?62;4c", "\x1b]11;rgb:1e/1e/2e\x07\x1b[?62;4c"


@pytest.mark.parametrize(("place", "theme"), PALETTES.items())
def test_surfaces_are_distinct_and_text_is_seen_in_every_palette(place: tuple[str, str], theme: Theme) -> None:
    system = SYSTEMS[place[1]]

    def shown(colour: str | None) -> object:
        seen = Color.parse((colour or "").split()[0]).downgrade(system)
        return seen.number if seen.triplet is None else seen.triplet

    grounds = [shown(theme.background), shown(theme.surface), shown(theme.panel)]
    if place[1] == "16":  # the greys of sixteen are middle ones in many terminals: nothing is written on them
        assert not {7, 8} & set(grounds)
        assert grounds[1] != grounds[2]
    else:
        assert len(set(grounds)) == 3
    texts = [theme.foreground, theme.primary, theme.success, theme.warning, theme.error, theme.variables["gutter"]]
    assert not set(map(shown, texts)) & set(grounds)
    assert shown(theme.variables["added-word"]) != shown(theme.variables["removed-word"])
    if (chosen := theme.variables.get("block-cursor-blurred-background")) is not None:
        assert shown(chosen) != shown(theme.surface), "what is chosen in a list"
    assert shown(theme.variables["found"]) != shown(theme.variables["found-now"])


def test_every_palette_has_every_name() -> None:
    full = PALETTES["dark", "truecolor"].variables.keys()
    assert all(full <= theme.variables.keys() for theme in PALETTES.values())


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, "256"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "truecolor"),
        ({"TERM": "xterm-256color", "WT_SESSION": "1"}, "truecolor"),
        ({"TERM": "xterm-kitty"}, "truecolor"),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x", "TERM_PROGRAM": "vscode"}, "256"),
        ({"TERM": "screen"}, "16"),
        ({"TERM": "linux"}, "16"),
        ({"TERM": "xterm-kitty", "OPENAGENT_COLORS": "16"}, "16"),
    ],
)
def test_how_many_colours_there_are_is_known_from_the_environment(env: Mapping[str, str], expected: str) -> None:
    assert depth(env) == expected


def test_the_ground_is_known_from_an_answer_or_the_environment() -> None:
    assert ground_in(LIGHT_ANSWER.encode()) == "light"
    assert ground_in(DARK_ANSWER.encode()) == "dark"
    assert ground_in(b"\x1b[?62;4c") is None
    assert ground_told({"COLORFGBG": "0;default;15"}) == "light"
    assert ground_told({"COLORFGBG": "15;0"}) == "dark"
    assert ground_told({"COLORFGBG": "default"}) is None


def test_the_theme_follows_the_terminals_ground_and_nothing_typed_meanwhile_is_lost(tmp_path: Path) -> None:
    with ThreadedSimulator([]) as sim:
        machine = Machine(tmp_path, sim, {"TERM": "xterm-256color", "COLORTERM": "truecolor"})
        try:
            with Terminal(machine, size=(100, 30)) as terminal:
                terminal.until("\x1b]11;?")
                terminal.enter("early words" + LIGHT_ANSWER)
                terminal.until("48;2;251;251;253")
                terminal.until("early words")
                assert "rgb:" not in terminal.seen
                terminal.enter("\x15" + CTRL_D)
            with Terminal(machine, size=(100, 30)) as terminal:
                terminal.enter(DARK_ANSWER)
                terminal.until("48;2;14;16;22")
                assert "48;2;251;251;253" not in terminal.seen
            machine.extra = {"TERM": "xterm-256color"}
            with Terminal(machine, size=(100, 30)) as terminal:  # one that answers nothing
                terminal.until("48;5;233")
                terminal.until("message, @file")
                assert "48;5;235" in terminal.seen
                assert not re.search(r"[34]8;2;", terminal.seen)
                terminal.enter(LIGHT_ANSWER)  # too late
                terminal.enter("later words" + LIGHT_ANSWER)
                terminal.until("later words")
                assert "rgb:" not in terminal.seen
                assert "62;4c" not in terminal.seen
        finally:
            machine.run("stop")
