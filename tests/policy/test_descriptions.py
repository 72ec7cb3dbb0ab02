"""Commands are described as data: what is not described is not believed."""

import subprocess
import sys
from pathlib import Path

import pytest

from openagent.policy.analysis import analyse
from openagent.policy.builtin.catalogue import KINDS, Kind
from openagent.policy.builtin.describing import COMMANDS, described
from tests.policy.labelled import WORKSPACE, decided

NEWCOMER = """
frob = { options = "-qv --format:text --log:write --hook:helper", operands = "pattern read*" }
"frob publish|release" = { finds = "publishes" }
"frob fix" = { options = "--all", operands = "write*" }
"""


def kind_of(command: str) -> Kind:
    return KINDS[max((KINDS.index(unit.kind) for unit in analyse(command, WORKSPACE)), default=0)]


def test_a_command_is_added_by_writing_data_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kind_of("frob -q x a.txt") == "unknown"
    assert decided("frob -q x a.txt").rule == "builtin:unknown-command"
    file = tmp_path / "frob.toml"
    file.write_text(NEWCOMER)
    for name, command in described(file.read_text(), file.name).items():
        monkeypatch.setitem(COMMANDS, name, command)
    assert kind_of("frob -qv --format=short x a.txt | head") == "read"
    assert (decided("frob -q x b.txt").kind, decided("frob -q x b.txt").wall) == ("allow", "read")
    assert kind_of("frob -q x .env") == "leave"
    assert kind_of("frob -q --form=short x a.txt") == "unknown", "an abbreviation is not described"
    assert kind_of("frob -qz x a.txt") == "unknown"
    assert kind_of("frob --log out.txt x a.txt") == "write"
    assert kind_of("frob fix --all a.txt") == "write"
    assert kind_of("frob fix --all ../a.txt") == "leave"
    assert kind_of("frob --hook 'rm -rf /' x") == "never"
    assert decided("frob release").rule == "builtin:publishes"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('frob = { finds = "publishing" }', "no rule 'publishing'"),
        ('frob = { options = "-q ???" }', r"'\?\?\?' is no option"),
        ('frob = { operands = "reed*" }', "no role 'reed'"),
        ('frob = { options = "--log:wirte" }', "no role 'wirte'"),
        ('frob = { options = "-f+git-destoys" }', "no mark 'git-destoys'"),
    ],
)
def test_a_mistake_in_a_description_is_named(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"frob.toml: frob: (there is )?{words}"):
        described(text, "frob.toml")


EXAMPLES = [
    (example, kind) for command in {id(c): c for c in COMMANDS.values()}.values() for kind in command.told.examples
    for example in command.told.examples[kind]
]  # fmt: skip


def test_every_description_does_what_its_examples_say() -> None:
    assert len(EXAMPLES) > 20
    assert not [(example, kind, kind_of(example)) for example, kind in EXAMPLES if kind_of(example) != kind]


@pytest.mark.parametrize(
    "command",
    [
        "sed --i s/a/b/ x", "sed --in-pl s/a/b/ x", "sort --o=x y", "sort --out x y", "tar --use=./x -tf a.tar",
        "tar -tf a.tar --to-comm=./x", "git grep -nO./x foo", "git grep --open-files-in-pager=./x foo",
        "git branch --sort=x new", "git tag --sort=x v9", "git log --outp=x", "git show --textc",
        "git diff --ext-diff", "git status --frob", "GIT_TRACE=f git status", "GIT_TRACE2_EVENT=f git log",
        "GIT_COMMON_DIR=x git status", "GIT_INDEX_FILE=x git status", "printf -v PATH x; ls", "read PATH; ls",
        "for PATH in x; do ls; done", ": ${LD_PRELOAD:=x}; ls", "echo ${PATH:=x}", "BASH_CMDS[ls]=./x; ls",
        "BASH_ALIASES[ls]=./x; ls", "mapfile -C ./x -c 1 a", "/usr/bin/../../tmp/x/ls", "/bin/../tmp/ls",
        "nm --plugin ./x a", "objdump --plugin ./x a", "openssl dgst -engine ./x a", "apt list -o Dir::Bin::dpkg=./x",
        "flock x ls", "script -c ls f", "script f", "pip list --log x", "pip list --log=x", "yq -i .a x.yml",
        "fd -x ./y", "fd --exec ./y", "go list -toolexec ./x", "go list -toolexec=./x ./...", "gawk -o x",
        "gawk --pretty-print=x 'BEGIN{}'", "rpm --pipe x -q a", "less -o log a", "less --log-file=x a",
        "find . -frob x", "awk -i inplace '{print}' x", "awk '@load \"x\"'", "hash -p ./x ls", "ls --unknown-option",
        "grep --exclude-fro=x y z", "column -t --foo", "rg --pre-glob x y", "bat --pager=./x y",
        "ruff check --config x .", "npm ls --prefix ./x", "sed -n 'w x' y", "git fsck --lost-found",
    ],
)  # fmt: skip
def test_what_is_not_described_is_not_believed_to_read(command: str) -> None:
    assert decided(command).kind != "allow"
    assert kind_of(command) != "read"


def test_no_part_of_a_daemons_start_loads_the_grammar_or_the_descriptions() -> None:
    loaded = "import sys, openagent.policy.decision, openagent.grants.offers; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True).stdout.split()
    assert not {"tree_sitter", "tree_sitter_bash", "openagent.policy.builtin.describing"} & set(modules)
