"""Streamed text is broken at words."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from openagent.cli.terminal import Prose

words = st.text(st.sampled_from("abc é漢 \n`"), max_size=200)


def shown(text: str, width: int, cuts: list[int]) -> str:
    prose = Prose(width)
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    return "".join(prose.feed(piece) for piece in pieces) + prose.flush()


@given(words, st.integers(1, 40), st.lists(st.integers(0, 200), max_size=8))
def test_nothing_but_line_breaks_is_added_however_the_text_arrives(text: str, width: int, cuts: list[int]) -> None:
    out = shown(text, width, cuts)
    assert out == shown(text, width, [])
    assert out.replace("\n", "") == text.replace("\n", "")


def test_a_line_is_broken_before_the_word_that_does_not_fit() -> None:
    assert shown("one two three four", 9, []) == "one two \nthree \nfour"


def test_code_is_left_as_it_is() -> None:
    code = "```\na very long line of code stays on one line\n```\n"
    assert shown(code, 10, []) == code
