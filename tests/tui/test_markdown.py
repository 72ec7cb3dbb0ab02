"""Markdown as lines: complete, within the width, and the same however it came."""

from hypothesis import given, settings
from hypothesis import strategies as st
from textual.selection import SELECT_ALL

from openagent.tui.answer import Answer
from openagent.tui.markdown import PROSE, Page

FRAGMENTS = (
    *("word ", "a longer sentence with `code` and **strong** words, ", "\n", "\n\n", "# ", "## head\n", "- item\n"),
    *("  - nested\n", "1. first\n", "2. second\n", "    indented\n", "> quote ", "```python\n", "```\n", "x = 1\n"),
    *("| a | b |\n|---|--:|\n", "| 1 | two words |\n", "---\n", "===\n", "*", "_", "[link](http://x.y)", "<b>", "\t"),
    "界界界",
)
DOCUMENTS = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)


def page(text: str, width: int = 60) -> Page:
    made = Page(text)
    made.fit(width)
    return made


def lines(made: Page) -> list[str]:
    return [made.line(y).content.plain.rstrip() for y in range(made.height)]


def copied(text: str, width: int) -> str:
    answer = Answer(text)
    answer._page.fit(width)  # pyright: ignore[reportPrivateUsage]
    return answer.get_selection(SELECT_ALL)[0]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30))
def test_what_streams_looks_like_what_is_loaded(pieces: list[str]) -> None:
    grown = page("")
    for piece in pieces:
        grown.append(piece)
    assert lines(grown) == lines(page("".join(pieces)))


@settings(max_examples=200, deadline=None)
@given(DOCUMENTS, st.integers(8, 120))
def test_no_line_is_wider_than_the_room(text: str, width: int) -> None:
    made = page(text, width)
    assert all(made.line(y).content.cell_length <= width for y in range(made.height))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("abcdefg", min_size=1, max_size=30), min_size=1, max_size=60), st.integers(10, 90))
def test_broken_lines_are_whole_when_copied(words: list[str], width: int) -> None:
    assert copied(" ".join(words), width) == " ".join(words)


def test_prose_keeps_to_a_readable_width_and_code_does_not() -> None:
    made = page("word " * 100 + "\n\n```\n" + "x" * 90 + "\n```", 100)
    prose, code = lines(made)[:-1], lines(made)[-1]
    assert max(map(len, prose)) <= PROSE
    assert code.strip() == "x" * 90


@settings(max_examples=200, deadline=None)
@given(st.text("ab 界=.", min_size=1, max_size=300).filter(str.strip), st.integers(9, 60))
def test_a_long_line_of_code_is_all_in_sight_and_copied_as_one(code: str, width: int) -> None:
    fenced = f"```\n{code}\n```"
    made = page(fenced, width)
    assert all(made.line(y).content.cell_length <= width for y in range(made.height))
    assert not any("…" in line for line in lines(made))
    assert copied(fenced, width).strip(" ") == code.strip(" ")


def test_code_that_is_broken_to_fit_says_so_and_keeps_its_indent() -> None:
    made = page("```python\ndef f():\n    return first_word + second_word + third_word\n```", 42)
    assert lines(made) == ["  def f():", "      return first_word + second_word +", "      ↪ third_word"]


def test_wide_tables_share_the_room() -> None:
    made = page(f"| name | what it does | n |\n|---|---|--:|\n| one | {'many words ' * 20} | 7 |\n", 50)
    shown = lines(made)
    assert shown[0].split() == ["name", "what", "it", "does", "n"]
    assert set(shown[1]) == {"─"}
    assert shown[2].startswith("one   many words")
    assert shown[2].endswith("  7")
    assert sum(line.count("many") for line in shown) == 20


def test_lists_hang_and_nest() -> None:
    text = "- a point that is far too long for one line of this width\n  - nested\n\n9. nine\n10. ten\n"
    assert lines(page(text, 30)) == [
        *("• a point that is far too long", "  for one line of this width", "  • nested", "", " 9. nine", "10. ten"),
    ]


def test_task_lists_have_boxes() -> None:
    text = (
        "- [x] reproduce\n- [ ] repair, which takes more than one line\n  - [ ] nested\n\n1. [x] ordered\n\n- [no] box"
    )
    assert lines(page(text, 24)) == [
        *(
            "☑ reproduce",
            "☐ repair, which takes",
            "  more than one line",
            "  ☐ nested",
            "",
            "1. ☑ ordered",
            "",
            "• [no] box",
        ),
    ]


def test_what_hangs_is_copied_without_its_indent() -> None:
    listed = "- a point that is far too long for one line of this width\n  - nested, and that is too long as well"
    assert copied(f"{listed}\n\n> quoted at length, too", 30).splitlines() == [
        "• a point that is far too long for one line of this width",
        "  • nested, and that is too long as well",
        "",
        "▌ quoted at length, too",
    ]


def test_addresses_are_links_and_file_names_are_not() -> None:
    made = page("See retry.py, build.rs and https://example.org/x here.")
    content = made.line(0).content
    linked = [content.plain[span.start : span.end] for span in content.spans if "underline" in str(span.style)]
    assert linked == ["https://example.org/x"]
