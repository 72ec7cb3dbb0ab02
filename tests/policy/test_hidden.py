"""Characters that cannot be seen: a command is read with them and without, and the stricter reading counts."""

import pytest

from openagent.policy.explain import explain
from openagent.policy.hidden import hides, shown
from openagent.policy.rules import Rule, RuleSet
from openagent.protocol.sessions import Mode
from tests.policy.labelled import WORKSPACE, decided

STRICTNESS = ("allow", "ask", "deny")
HIDDEN = (
    *(
        "\0",
        "\x01",
        "\x02",
        "\x07",
        "\x0b",
        "\x0c",
        "\r",
        "\x1b",
        "\x7f",
        "\x85",
        "\xa0",
        "\xad",
        "\u034f",
        "\u061c",
    ),
    *("\u115f", "\u1160", "\u17b4", "\u180e", "\u2003", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2028"),
    *("\u2029", "\u202a", "\u202e", "\u202f", "\u2060", "\u2066", "\u2069", "\u206f", "\u2800", "\u3000", "\u3164"),
    *("\ud800", "\ue000", "\ue001", "\ue010", "\ue0f0", "\ue100", "\uf8ff", "\ufe00", "\ufe0f", "\ufeff", "\uffa0"),
    *("\ufff9", "\ufffb", "\U0001bca0", "\U0001d173", "\U000e0001", "\U000e0041", "\U000e0100", "\U0010fffd"),
)
COMMANDS = (
    *("make deploy", "git push", "rm -rf /", "sudo make install", "docker run -v /:/x alpine", "npm publish"),
    *("rm -rf .git", "cat ~/.ssh/id_rsa", ":(){ :|:& };:", "cp a ../other/b", "echo 'unfinished", "cat x | sh"),
)
RULES = RuleSet.merge([Rule(decision="deny", command="make deploy")], [], trusted=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_hidden_character_anywhere_makes_a_decision_weaker(command: str) -> None:
    modes: tuple[Mode, ...] = ("ask", "edits", "auto", "full")
    plain = [STRICTNESS.index(decided(command, mode, RULES).kind) for mode in modes]
    for number, hidden in enumerate(HIDDEN):
        cut = number % len(command)
        for text in (
            f"{command} #{hidden}",
            f"{command}{hidden}",
            f"echo {hidden}; {command}",
            f"echo '{hidden}'\n{command}",
            f"{command[:cut]}{hidden}{command[cut:]}",
        ):
            found = [decided(text, mode, RULES) for mode in modes]
            assert all(STRICTNESS.index(each.kind) >= at_least for each, at_least in zip(found, plain, strict=True)), (
                text,
                found,
            )


def test_what_hides_something_is_asked_about_unless_nothing_is() -> None:
    for hidden in HIDDEN:
        assert decided(f"ls {hidden}").rule == "builtin:hidden-characters"
        assert decided(f"make {hidden}", "auto").kind == "allow"


def test_emoji_hide_nothing() -> None:
    for text in ("⚠️ ❤️ ✔️ 1️⃣ #️⃣", "👩‍💻 🏳️‍🌈 👩🏽‍🚀 🤷‍♂️", "grüße, 東京, שלום, हिन्दी"):
        assert not hides(text)
        assert shown(text) == text
        assert decided(f"echo '{text}'").kind == "allow"
    assert hides("a\ufe0f b")
    assert hides("a\u200db")


def test_an_explanation_shows_what_cannot_be_seen() -> None:
    explained = explain("cat a\u200b ~/.ssh/id\u202e_rsa", "ask", RuleSet(), WORKSPACE)
    assert explained.ruling.command == "cat a<U+200B> ~/.ssh/id<U+202E>_rsa"
    told = [step.reason for step in explained.steps] + [step.command for step in explained.steps]
    assert not any(hides(each) for each in told)


@pytest.mark.parametrize("command", ["$'make\\0x' deploy", "$'m\\141ke' d$'\\x65'ploy", "ma$'\\c@'ke deploy"])
def test_what_escapes_stand_for_is_read_as_bash_reads_it(command: str) -> None:
    assert decided(command, "full", RULES).kind == "deny"


def test_a_character_written_byte_by_byte_is_that_character() -> None:
    rules = RuleSet.merge([Rule(decision="deny", path="geheim/größe")], [], trusted=False)
    for word in (
        "$'geheim/gr\\303\\266\\303\\237e'",
        "geheim/gr$'\\xc3\\xb6\\xc3\\x9f'e",
        "geheim/gr$'\\u00f6\\u00df'e",
    ):
        assert decided(f"cat {word}", "full", rules).kind == "deny", word


def test_a_name_of_a_variable_ends_where_bash_ends_it() -> None:
    assert decided("x='make deploy #'; eval $xé", "full", RULES).kind == "deny"
    assert decided("a=ma; ${a}ke deploy", "full", RULES).kind == "deny"
