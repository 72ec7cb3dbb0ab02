"""What help, handbook and messages tell people to type is understood by the program."""

import ast
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import openagent
from openagent.cli.guessed_commands import COMMANDS_ELSEWHERE

from ..cli.test_json import TREE
from .command_lines import commands_in, problem_of
from .pages import PAGES, named, typed

SOURCES = Path(openagent.__file__).parent
MEANT_TO_BE_WRONG = {'openagent "prompt"', "openagent run --jsn"}
"""Pages show what is said about them."""


def examples() -> Iterator[str]:
    for path, command in TREE.items():
        shown = command.get_help(click.Context(command, info_name=" ".join(("openagent", *path))))
        for line in shown.partition("Examples:")[2].splitlines():
            if line.strip():
                yield line.strip()


def wrong(lines: Iterator[str], *, in_a_sentence: bool = False) -> list[str]:
    return [
        f"{line}: {problem}"
        for line in lines
        if line not in MEANT_TO_BE_WRONG
        for words in commands_in(line)
        if (problem := problem_of(words, in_a_sentence=in_a_sentence))
    ]


def test_every_example_of_the_help_is_a_command() -> None:
    every = list(examples())
    assert len(every) > 300
    assert [line for line in every if not list(commands_in(line))] == []
    assert wrong(iter(every)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_people_type_only_what_is_understood(page: Path) -> None:
    text = page.read_text()
    assert wrong(typed(text)) == []
    assert wrong(named(text), in_a_sentence=True) == []


def test_messages_name_only_commands_that_there_are() -> None:
    sources = [(file, file.read_text()) for file in SOURCES.rglob("*.py")]
    said = {file: "\n".join(_texts(ast.parse(text))) for file, text in sources if "`openagent " in text}
    found = [(file.name, each) for file, text in said.items() for each in wrong(named(text), in_a_sentence=True)]
    assert found == []


def test_commands_of_other_programs_lead_to_commands_that_there_are() -> None:
    named = (f"openagent {same}".rstrip() for same in COMMANDS_ELSEWHERE.values())
    assert wrong(named, in_a_sentence=True) == []


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("openagent context restore 06gx --everything", "No such option"),
        ("openagent sessions frobnicate 06gx", "No such command"),
        ("git diff | openagent run --modle x 'Review'", "There is no option --modle"),
        ("openagent tasks move 06gx", "Missing argument"),
        ('eval "$(openagent completion tcsh)"', "is not one of"),
    ],
)
def test_a_line_that_the_program_would_refuse_is_found(line: str, why: str) -> None:
    (found,) = wrong(iter([line]))
    assert why in found
