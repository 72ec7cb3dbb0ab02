"""Texts put together at random from what shells, the grammar and the reader itself give a meaning to.

`OPENAGENT_POLICY_TEXTS` says how many, `OPENAGENT_POLICY_FROM` the first seed.
"""

import os
import random

import pytest

from openagent.policy.analysis import READER_FAILED, analyse
from tests.policy.labelled import WORKSPACE

TEXTS = int(os.environ.get("OPENAGENT_POLICY_TEXTS", "3000"))
FIRST = int(os.environ.get("OPENAGENT_POLICY_FROM", "0"))
PIECES = (
    *("<<E\\", "<<", "<<<", "<<-", "E", "\\", "\n", "'", '"', "`", "$(", ")", "(", "${", "}", "$((", "))", "{", "a,b"),
    *("#", "|", "&", "&&", "||", ";", "<", ">", "<>", ">&", "&>", "<(", "\t", " ", "x", "=", "rm -rf /", "ls", "$'"),
    *("\\x41", '$"', "if", "then", "fi", "for", "in", "do", "done", "case", "esac", "[[", "]]", "[", "]", "!", "*"),
    *("?", "~", "$x", "1", "+", "-", "%", "^", "@", ",", ":", "é", "\u200b", "\r", "\0", "\x01", "\ue001", "\ue0010"),
    *("\U0001f600", "\ud800", "\udc80", "\\\n", "\\\r\n", "function f", "coproc", "select", "time", "eval", "echo"),
    *("a=", "x[", "]=", "<<'E'", '<<"E"', "<<$E", "2>", "{fd}>", "&>>", "|&", ";;", ";&", "\x0b", "\x0c", "\x85"),
    *("\u2028", "\u00a0", "\u202e", "\ufe0f", "\U000e0041", "0", "9" * 30, f"shift {'9' * 5000}", "printf", "%b"),
    *("\\u1", "\\U99999999", "base64 -d", "base32 -d", "tr", "a-z", "xxd -r -p", "read", "let", "export", "trap"),
    *("declare -A", "alias x=", "unset", "set --", "shift", "source", "cd", "rev", "sed", "e", "awk", "find", "-exec"),
    *("xargs", "git", "-c", "alias.x=!", "bash -c", "<<<x", "$#", "$@", "$*", "$$", "$!", "$-", "${!x}", "${x//a/b}"),
    *("${x:0:1}", "${#x}", "{1..9}", "{a..z}", "{1..99999999999}", "٣", "$((9**9))", "env", "sudo", "python -c"),
)


@pytest.mark.timeout(30 + TEXTS // 100)
def test_no_text_makes_the_reader_fail() -> None:
    for seed in range(FIRST, FIRST + TEXTS):
        chance = random.Random(seed)
        blanks = chance.random()
        text = "".join(chance.choice(PIECES) + " " * (chance.random() < blanks) for _ in range(chance.randint(1, 12)))
        failed = [unit for unit in analyse(text, WORKSPACE) for each in unit.findings if READER_FAILED in each.detail]
        assert not failed, (seed, text, failed)


@pytest.mark.parametrize("mark", ["E\\", "E'", 'E"', "E\\\n", "E<(x)", "'E\\'", "\\", "E$x", "''\\", "E`x`"])
def test_an_end_mark_that_is_no_plain_word_is_not_understood(mark: str) -> None:
    units = analyse(f"cat <<{mark}\nx\nE\nls", WORKSPACE)
    assert any(unit.meets("not-understood") for unit in units)


@pytest.mark.parametrize(
    "command",
    [
        "cat <<E\nx\nE\\\n\nrm -rf /",
        "cat <<'a\\b'\nx\na\\b\nrm -rf /",
        "cat <<E\nx\\\nE\n'\nE\nrm -rf /\n#'",
        'cat <<"a\\b"\nx\na\\b\nrm -rf /',
    ],
)
def test_what_follows_a_here_document_is_never_taken_for_a_part_of_it(command: str) -> None:
    units = analyse(command, WORKSPACE)
    assert any(unit.meets("not-understood") or unit.meets("destroys-system") for unit in units)


@pytest.mark.parametrize("count", ["9", "$n", "9" * 5000, "-1", "\u00b2"])
def test_arguments_that_bash_would_not_drop_still_count(count: str) -> None:
    units = analyse(f'set -- rm -rf /; shift {count}; "$@"', WORKSPACE)
    assert any(unit.meets("destroys-system") or unit.meets("hidden-code") for unit in units)
