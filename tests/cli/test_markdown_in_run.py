"""`openagent run` draws Markdown on a terminal, each line once, and leaves it as it is everywhere else."""

import re
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from devtools.simulator import ThreadedSimulator
from openagent.tui.printed import Printed

from .machine import Machine
from .pseudo_terminal import Terminal

ANSWER = """# Found it

The clock is read **twice** in `retry`, see [the docs](https://example.org/x).

```python
def retry(n):
    return time.time() + n  # a long line of code is left to the terminal, which copies it as the one line that it is
```

- [x] reproduce
- [ ] repair
  - nested

| file | lines |
|---|--:|
| retry.py | 12 |
"""
FRAGMENTS = (
    *("word ", "with `code` and **strong** words, ", "\n", "\n\n", "# ", "## head\n", "- item\n", "- [ ] task\n"),
    *("  - nested\n", "1. first\n", "2. second\n", "    indented\n", "> quote ", "```python\n", "```\n", "x = 1\n"),
    *("| a | b |\n|---|--:|\n", "| 1 | two words |\n", "---\n", "[link](http://x.y)", "界界界"),
)
SEQUENCES = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\")


@settings(max_examples=200, deadline=None)
@example(["```\n", "\n", "with `code` and **strong** words, "])
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30))
def test_every_word_is_printed_once_however_the_text_arrives(pieces: list[str]) -> None:
    grown, whole = Printed(60, {}), Printed(60, {})
    came = "".join(grown.feed(piece) for piece in pieces) + grown.flush()
    at_once = whole.feed("".join(pieces)) + whole.flush()
    assert SEQUENCES.sub("", came).split() == SEQUENCES.sub("", at_once).split()


def test_what_is_complete_is_printed_before_the_rest_comes() -> None:
    printed = Printed(60, {})
    assert "Title" in printed.feed("# Title\n\nThe ")
    assert printed.feed("paragraph") == ""
    printed = Printed(60, {})
    assert "x = 1" in SEQUENCES.sub("", printed.feed("```\nx = 1\ny = "))
    assert "one" in SEQUENCES.sub("", Printed(60, {}).feed("- one\n- two\n"))


def test_a_terminal_that_knows_links_gets_links_and_any_other_the_address() -> None:
    def shown(env: dict[str, str]) -> str:
        printed = Printed(60, env)
        return printed.feed("[the docs](https://example.org/x)") + printed.flush()

    assert "\x1b]8;;https://example.org/x\x1b\\" in shown({"TERM": "xterm-kitty"})
    assert "(https://example.org/x)" in shown({"TERM": "xterm-256color"})


def test_on_a_terminal_it_is_drawn_and_nothing_is_printed_twice(tmp_path: Path) -> None:
    with ThreadedSimulator({"conversations": [{"steps": [{"text": ANSWER}], "loop": True}]}) as sim:
        machine = Machine(tmp_path, sim, {"TERM": "xterm-256color"})
        try:
            with Terminal(machine, "run", "why?", size=(80, 24)) as terminal:
                assert terminal.exit_code() == 0
                seen = terminal.seen
            assert "\x1b[1;36mFound it\x1b[0m" in seen
            assert "\x1b[1mtwice\x1b[0m" in seen
            words = SEQUENCES.sub("", seen)
            assert "\x1b" not in words, "nothing moves the cursor"
            assert all(words.count(each) == 1 for each in ("Found it", "def retry(n):", "☑ reproduce", "retry.py  "))
            assert "☐ repair\n  • nested" in words
            assert (
                "# a long line of code is left to the terminal, which copies it as the one line that it is\n" in words
            )
            assert machine.run("run", "why?").stdout == ANSWER
            with Terminal(machine, "run", "--plain", "why?", size=(200, 24)) as terminal:
                assert terminal.exit_code() == 0
                assert ANSWER in terminal.seen
            machine.extra = {"TERM": "xterm-256color", "NO_COLOR": "1"}
            with Terminal(machine, "run", "why?", size=(200, 24)) as terminal:
                assert terminal.exit_code() == 0
                assert ANSWER in terminal.seen
        finally:
            machine.run("stop")
