"""What must hold for any command: disguise never helps, and reading never fails."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policy.labelled import decided, labelled_commands

STRICTNESS = ("allow", "ask", "deny")
DISGUISES = (
    "{}",
    "bash -c {quoted}",
    "sh -c {quoted}",
    "bash -lc {quoted}",
    "eval {quoted}",
    "env -i bash -c {quoted}",
    "env A=b sh -c {quoted}",
    "nohup bash -c {quoted}",
    "timeout 9 bash -c {quoted}",
    "nice -n 5 bash -c {quoted}",
    "setsid sh -c {quoted}",
    "command bash -c {quoted}",
    "sudo bash -c {quoted}",
    "echo {quoted} | bash",
    "printf %s {quoted} | sh",
    "bash <<< {quoted}",
    "xargs -I@ bash -c @ <<< x; bash -c {quoted}",
    "watch {quoted}",
    "trap {quoted} EXIT",
    "ls; {}",
    "ls && {}",
    "false || {}",
    "ls\n{}",
    "({}\n)",
    "{{ {}\n}}",
    "if true; then {}\nfi",
    "while true; do {}\ndone",
    "for i in 1; do {}\ndone",
    "case x in *) {}\nesac",
    "f() {{ {}\n}}; f",
    "echo $({}\n)",
    'echo "$({}\n)"',
    "cat <({}\n)",
    "x=$({}\n)",
    "find . -exec bash -c {quoted} \\;",
    "git -c alias.x=!{quoted} x",
    "! {}",
    "bash <<'ENDMARK'\n{}\nENDMARK",
    "cat <<'ENDMARK' | sh\n{}\nENDMARK",
)

MEANS_ANOTHER_THING_INSIDE = ("$1", '"$@"', "{}", "cd .. &&", "ls )")
"""Arguments of the shell around it, what `find -exec` fills in, where it starts, what may close a wrapper's bracket: a
wrapper changes these."""

LABELLED = [
    labelled
    for labelled in labelled_commands()
    if labelled.expect != "allow" and not any(words in labelled.command for words in MEANS_ANOTHER_THING_INSIDE)
]
never_allowed = st.sampled_from([labelled.command for labelled in LABELLED if labelled.expect == "deny"])
dangerous = st.sampled_from([labelled.command for labelled in LABELLED])
disguises = st.sampled_from(DISGUISES)
shell_text = st.text(st.sampled_from("ab /~$(){}[]'\"\\`;|&<>!#\n=*?-+:@%^,.1\tä"), max_size=80)


def disguised(command: str, disguise: str) -> str:
    return disguise.format(command, quoted=shlex.quote(command))


@given(dangerous, st.lists(disguises, min_size=1, max_size=2))
@settings(max_examples=400, deadline=None)
def test_wrapping_a_dangerous_command_never_gets_it_allowed(command: str, wrappers: list[str]) -> None:
    for wrapper in wrappers:
        command = disguised(command, wrapper)
    assert decided(command).kind != "allow", command
    edits = decided(command, "edits")
    assert edits.kind != "allow" or edits.rule == "mode:edits", command


@given(never_allowed, disguises)
@settings(max_examples=400, deadline=None)
def test_wrapping_what_is_never_allowed_does_not_get_it_past_full_mode(command: str, wrapper: str) -> None:
    before = decided(command, "full")
    after = decided(disguised(command, wrapper), "full", walled=False)
    assert STRICTNESS.index(after.kind) >= STRICTNESS.index("ask"), after
    assert before.kind == "deny"


@given(st.sampled_from(("rm", "mkfs", "shutdown")), st.data())
@settings(max_examples=200, deadline=None)
def test_quoting_any_letters_of_a_name_changes_nothing(name: str, data: st.DataObject) -> None:
    forms = ("{}", "'{}'", '"{}"', "\\{}", "$'{}'", "''{}", '{}""', "\\\n{}", "$(echo {})", "`printf {}`")
    spelled = "".join(data.draw(st.sampled_from(forms)).format(letter) for letter in name)
    assert decided(f"{spelled} -rf /", "full").kind == "deny", spelled


@given(shell_text)
@settings(max_examples=1500, deadline=None)
def test_any_text_is_read_without_failing(text: str) -> None:
    assert decided(text).kind in STRICTNESS


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_unicode_text_is_read_without_failing(text: str) -> None:
    assert decided(text, "full").kind in STRICTNESS


@given(shell_text)
@settings(max_examples=300, deadline=None)
def test_a_dangerous_line_after_any_text_is_seen_or_asked_about(text: str) -> None:
    decision = decided(f"{text}\nrm -rf /")
    swallowed = any(mark in text for mark in ("'", '"', "`", "<<", "\\", "#", "exit"))
    assert decision.kind != "allow" or swallowed, text


def test_an_empty_alternative_in_braces_is_no_word() -> None:
    assert decided("rm {-rf,} {,/}", "full").kind == "deny"
    assert decided("{,ls}").kind == decided("ls").kind


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "opening", ["(", "$(", "{", "${", "$((", "if ", "f(){ ", "case x in ", "{a,", "<(", "eval ", "sudo "]
)
def test_deep_nesting_is_refused_and_not_followed(opening: str) -> None:
    assert decided(opening * 4000 + "ls").kind == "ask"


@pytest.mark.timeout(20)
def test_a_long_command_is_read_in_time_that_grows_with_its_length() -> None:
    body = "print(1)\n" * 20_000
    assert decided(f"cat > a.py <<'EOF'\n{body}EOF").rule == "builtin:writes-workspace"
    assert decided("x=1;" * 50_000).kind == "allow"
    assert decided("x=ls;" + "x=$x$x;" * 100 + "$x").kind == "ask"
    assert decided("sed '" + "s/a/b/;" * 20_000 + "' x").kind == "allow"
    assert decided("ls && " * 5_000 + "ls").rule == "builtin:not-understood"
    assert decided("[[ " + "a && " * 5_000 + "b ]]").kind == "allow"
    assert decided("echo $((" + "1+" * 5_000 + "1))").kind == "allow"


@pytest.mark.timeout(20)
def test_loops_inside_loops_are_not_followed_without_end() -> None:
    inside = "".join(f"for v{depth} in 1 2 3 4 5 6; do " for depth in range(12)) + "x=1" + "; done" * 12
    assert decided(inside).rule == "builtin:not-understood"
    assert decided("for a in 1 2 3 4 5 6; do for b in 1 2 3 4 5 6; do echo $a$b; done; done").kind == "allow"


@pytest.mark.timeout(20)
def test_a_command_too_long_or_with_too_many_parts_is_asked_about() -> None:
    assert decided("echo " + "x" * 300_000).rule == "builtin:not-understood"
    assert decided("ls;" * 1000).rule == "builtin:not-understood"
    assert decided("echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}").rule == "builtin:not-understood"
