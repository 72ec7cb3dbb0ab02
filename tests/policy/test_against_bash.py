"""The reader beside real bash: every command bash starts is among those the reader saw, unless it said it was unsure.

Bash runs with no programs to find and reports each name it looks for instead, so nothing is ever started.
"""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from openagent.policy.analysis import analyse
from tests.policy.labelled import WORKSPACE

BASH = shutil.which("bash")
REPORT = 'command_not_found_handle() { printf "%s\\0" "$1" >&9; return 0; }; exec 9>>"$LOG"; eval "$SCRIPT"'
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


def random_script(chance: random.Random) -> str:
    text = expanded("<script>", chance, 0)
    if chance.random() < 0.3:
        position = chance.randint(0, len(text))
        text = text[:position] + chance.choice(INSERTED) + text[position:]
    return text


def expanded(template: str, chance: random.Random, depth: int) -> str:
    def fill(slot: re.Match[str]) -> str:
        match slot[1]:
            case "script":
                forms = COMMANDS if depth > 2 else COMMANDS + SCRIPTS
            case "words":
                forms = ("<word>", "<word> <word>", "<word> <word> <word>")
            case "word":
                forms = WORDS if depth > 3 else WORDS + NESTED_WORDS
            case _:
                forms = ("zz", "yy", "ww")
        return expanded(chance.choice(forms), chance, depth + 1)

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
        started = names_started(script, tmp_path / str(number))
        assert started <= {unit.argv[0] for unit in units}, script
        compared += bool(started)
    assert compared > 10


def names_started(script: str, folder: Path) -> set[str]:
    folder.mkdir()
    log = folder.parent / f"{folder.name}.log"
    subprocess.run(
        [str(BASH), "-c", REPORT],
        env={"PATH": "/nonexistent", "HOME": "~", "SCRIPT": script, "LOG": str(log)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
        check=False,
    )
    return {name for name in log.read_text(errors="replace").split("\0") if name} if log.exists() else set()
