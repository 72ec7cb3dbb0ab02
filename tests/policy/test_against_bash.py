"""The reader beside real bash: every command bash starts is among those the reader saw, unless it said it was unsure.
A rule that denies just its words is applied, or asked about. `OPENAGENT_POLICY_SCRIPTS` says how many are tried.

Bash runs with no programs to find and reports each name it looks for instead, so nothing is ever started.
"""

import os
import random
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from openagent.policy.analysis import analyse
from openagent.policy.paths import glob_escape
from openagent.policy.rules import Rule, RuleSet
from tests.policy.labelled import WORKSPACE, decided

BASH = shutil.which("bash")
# In one write each: two that start at the same time would mix their words.
REPORT = (
    'ulimit -f 200 -t 3; command_not_found_handle() { printf -v told "%s\\1" "$@"; printf "%s\\2" "$told" >&9; }; '
    'exec 9>>"$LOG"; eval "$SCRIPT"'
)
TRIED = int(os.environ.get("OPENAGENT_POLICY_SCRIPTS", "200"))
UNSURE = frozenset({"not-understood", "dynamic", "dynamic-danger", "hidden-characters"})
INSERTED = (" ", "'", '"', "\\", "$(", "`", ")", ";", "&&", "|", "\n", "(", "#", "{", "}", "\\\n", "<", "x=", "<(")
WORDS = (
    *("zz", "yy", "ww", "a", "zz", "yy", "echo", "eval", "command"),
    *("'zz'", '"yy"', "z\\z", "y''y", "$'z\\x7a'", "w\\\nw", '"z"z', "`zz`", "`echo ww`", "`zz;yy`"),
    *("$x", "${x}", '"$x"', "${x:-yy}", "${x}z", "$y", "{zz,yy}", "a{1,2}", "z*", "~", "#a", "a#b", "$((1+2))"),
)
NESTED_WORDS = ("$(<script>)", '"$(<script>)"', "<(<script>)", "${x:-<word>}", "<word><word>", '"a <name> b"')
COMMANDS = (
    *("<words>", "<words>", "<words>", "x=<word> <words>", "x=<word>; <words>", "<words> > a", "<words> 2>&1"),
    *("<words> <<< <word>", "<words> <<E\n$(zz) $x\nE\n", "echo <words> | eval", "eval '<name> <name>'"),
    *("f() { <words>; }; f <word>", 'set -- <words>; "$@"', 'q=(<words>); "${q[@]}"'),
)
SCRIPTS = (
    *(
        "<script>; <script>",
        "<script> && <script>",
        "<script> || <script>",
        "<script> | <script>",
        "<script>\n<script>",
    ),
    *("( <script> )", "{ <script>; }", "if <script>; then <script>; fi", "! <script>", "[[ -n <word> ]] && <script>"),
    *("for x in <word>; do <script>; done", "case <word> in a|zz) <script>;; *) <script> ;; esac"),
    "while <script>; do <script>; break; done",
)


ODD_WORDS = (
    *WORDS,
    *(
        "{zz,}",
        "{,yy}",
        "{a,{zz,yy}}",
        "$'z\\0q'",
        "z\u200bz",
        "zz\u00a0yy",
        "$'\\u200b'",
        "${q[0]}",
        "${q[@]}",
        '"${q[@]}"',
    ),
    *("${q[1]}", "$1", "$2", '"$@"', '"a$@b"', "$*", "$#", "${#x}", "${x+yy}", "${x:+yy}", "${x-yy}", "${x=zz}", "$xé"),
    *(
        "$'zz'yy",
        '"$(echo zz)"',
        "zz=yy",
        "'z z'",
        "\\zz",
        "zz\\ yy",
        '$"zz"',
        "'$x'",
        "\\$x",
        "[",
        "[[",
        "zz$IFS",
        "a$IFS'b'",
    ),
)
ODD_COMMANDS = (
    *COMMANDS,
    *("x=<word>; y=<word>; <words>", "declare x=<word>; <words>", "declare -l x=<word>; $x <word>", "unset x; <words>"),
    *("declare -n x=y; y=<word>; $x", "set -- <word> <word>; shift; $1 <word>", 'set -- <words>; shift; "$@"'),
    *("IFS=z; <words>", "IFS=<word> <words>", "alias zz=yy\nzz", "<name>() { <words>; }; command <name> <word>"),
    *("<name>() { <words>; }; <name> <word>", "read x <<< <word>; <words>", "read -r x y <<< '<name> <name>'; <words>"),
    *("printf -v x %s <word>; <words>", "echo <word> | { read x; <words>; }", "<words> && x=<word>; <words>"),
    *("if <words>; then x=<word>; fi; <words>", "(x=<word>; <words>); <words>", "trap '<name> <word>' EXIT"),
    *(
        "time x=<word>; <words>",
        "cat <<E\n`<name>`\nE\n<words>",
        "<words> <<-E\n\t$(<name>)\n\tE\n<words>",
        "exec <words>",
    ),
    *(". /dev/stdin <<< '<name> <name>'", "source <(echo <name> <name>)", "x+=<word>; <words>", "q[0]=<word>; ${q[0]}"),
    *(
        'q+=(<word>); "${q[@]}"',
        'set -- <words>; eval "$*"',
        "x='<name> <name>'; $x",
        "f() { $1 $2; }; f <word> <word>",
    ),
    *('f() { shift; "$@"; }; f <word> <word> <word>', "f() { local x=<word>; g; }; g() { $x; }; f", "x=f; $x <word>"),
    *("x=$(<words>); $x", "x=(<word> [1]=<word>); ${x[1]}", 'set -- <words>; for x in "$@"; do $x; done'),
)


def random_script(chance: random.Random) -> str:
    text = expanded("<script>", chance, 0)
    if chance.random() < 0.3:
        position = chance.randint(0, len(text))
        text = text[:position] + chance.choice(INSERTED) + text[position:]
    return text


def expanded(template: str, chance: random.Random, depth: int, *, odd: bool = False) -> str:
    commands, words = (ODD_COMMANDS, ODD_WORDS) if odd else (COMMANDS, WORDS)

    def fill(slot: re.Match[str]) -> str:
        match slot[1]:
            case "script":
                forms = commands if depth > 2 else commands + SCRIPTS
            case "words":
                forms = ("<word>", "<word> <word>", "<word> <word> <word>")
            case "word":
                forms = words if depth > 3 else words + NESTED_WORDS
            case _:
                forms = ("zz", "yy", "ww")
        return expanded(chance.choice(forms), chance, depth + 1, odd=odd)

    return re.sub(r"<(script|words|word|name)>", fill, template)


@pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
@pytest.mark.parametrize("seed", range(4))
def test_bash_starts_nothing_that_was_not_seen(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    compared = 0
    for number in range(100):
        script = random_script(chance)
        units = analyse(script, WORKSPACE)
        if UNSURE & {finding.rule.name for unit in units for finding in unit.findings}:
            continue
        started = {words[0] for words in commands_started(script, tmp_path / str(number))}
        assert started <= {unit.argv[0] for unit in units}, script
        compared += bool(started)
    assert compared > 10


@pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
@pytest.mark.timeout(60 + TRIED // 5)
def test_a_rule_about_just_what_bash_starts_is_applied_or_asked_about(tmp_path: Path) -> None:
    compared = 0
    for number in range(TRIED):
        script = expanded("<script>", random.Random(number), 0, odd=True)
        for words in commands_started(script, tmp_path / str(number)):
            rule = Rule(decision="deny", argv=[glob_escape(word) for word in words])
            decision = decided(script, "full", RuleSet.merge([rule], [], trusted=False))
            assert decision.kind != "allow" or words[0] == "echo", (number, script, words)
            compared += 1
    assert compared > TRIED // 3


def commands_started(script: str, folder: Path) -> list[tuple[str, ...]]:
    folder.mkdir()
    log = folder.parent / f"{folder.name}.log"
    with subprocess.Popen(
        [str(BASH), "-c", REPORT],
        env={"PATH": "/nonexistent", "HOME": "~", "LC_ALL": "C.UTF-8", "SCRIPT": script, "LOG": str(log)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        with suppress(subprocess.TimeoutExpired):  # some turn round for ever
            process.wait(4)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    told = log.read_bytes().decode(errors="replace") if log.exists() else ""
    found = [tuple(words.split("\1")[:-1]) for words in told.split("\2")]
    return [words for words in dict.fromkeys(found) if words and words[0]]
