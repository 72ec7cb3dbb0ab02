"""What is printed: nothing that moves a cursor, and numbers that read well."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openagent.cli.terminal import table
from openagent.client.text import ago, call_line, clean, duration, one_line, size


@given(st.text())
def test_no_control_character_survives_but_tab_and_newline(text: str) -> None:
    cleaned = clean(text)
    assert not any(unicodedata.category(character) == "Cc" for character in cleaned if character not in "\t\n")
    assert not any(character in cleaned for character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert clean(cleaned) == cleaned


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"])))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"])),
    st.sampled_from(
        [
            "\x1b[31m",
            "\x1b[38;5;196m",
            "\x1b[2J",
            "\x1b]0;title\x07",
            "\x1b]8;;http://x\x1b\\",
            "\x1b(B",
            "\x1bc",
            "\x9b1A",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"])),
)
def test_a_whole_sequence_goes_and_the_text_around_it_stays(before: str, sequence: str, after: str) -> None:
    assert clean(before + sequence + after) == before + after


def test_an_endless_title_takes_its_line_and_no_more() -> None:
    assert clean("a\x1b]0;never ended\nb") == "a\nb"


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (("edit_file", "core/turn.py", "done", "+12 −3", 4.2), "✓ edited core/turn.py +12 −3 · 4 ms"),
        (
            ("shell", "make\ttest\nmore", "failed", "exit 2", 61_500),
            "✗ failed: run make test more · exit 2 · 1 min 1 s",
        ),
        (("search", "x", "done", "", 1500), "✓ search x · 1.5 s"),
        (("edit_file", "app.py", "denied", "", 0), "✗ denied: edit app.py (because)"),
        (("shell", "npm test", "stopped", "", 0), "■ stopped: run npm test (because)"),
        (("shell", "npm test", "interrupted", "", 0), "■ interrupted: run npm test (because)"),
        (("write_file", "app.py", "not_run", "", 0), "– not run: write app.py (because)"),
    ],
)
def test_a_call_is_one_line(call: tuple[str, str, str, str, float], line: str) -> None:
    tool, subject, ended, summary, took = call
    assert call_line(tool, subject, ended=ended, reason="because", summary=summary, duration_ms=took) == line


def test_long_texts_are_cut_and_columns_stand_straight() -> None:
    assert one_line("word " * 100, 20) == "word word word word…"
    assert table(("A", "B"), [("long", "1"), ("x", "22")]) == "A     B\nlong  1\nx     22"


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "just now"), (59 * 60, "59 min ago"), (90_000, "1 d ago"), (-5, "just now")]
)
def test_times_read_well(seconds: float, text: str) -> None:
    assert ago(1_000_000 - seconds, 1_000_000) == text


def test_sizes_and_durations_read_well() -> None:
    assert [size(count) for count in (5, 54_000_000, 3_200_000_000)] == ["5 B", "54 MB", "3.2 GB"]
    assert [duration(ms) for ms in (0.4, 999, 7_260_000, 300_000_000)] == ["0 ms", "999 ms", "2 h 1 min", "3 d 11 h"]
