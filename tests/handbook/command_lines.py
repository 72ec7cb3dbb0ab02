"""Command lines as people read them, held against the command tree. Nothing of them is run."""

import re
import shlex
from collections.abc import Iterator

import click

from openagent.cli.commands import is_a_command, openagent
from openagent.cli.guessed_commands import refuse_guess
from openagent.client.command_line import WrongUse, read

ENDS_A_COMMAND = {"|", "||", "&&", ";", "&", "<", ">", ">>"}
HAS_ITS_OWN_GRAMMAR = {"run": False, "tui": True, "resume": True}
"""Whether it is read as the terminal interface's."""
OF_EVERY_COMMAND = {"--connect", "--token-file"}


def commands_in(line: str) -> Iterator[list[str]]:
    """The words behind each `openagent` of a shell's line, those in `$( )` too."""
    for inner in re.findall(r"\$\(([^()]*)\)", line):
        yield from commands_in(inner)
    words = shlex.shlex(re.sub(r"\$\([^()]*\)", "X", line), posix=True, punctuation_chars="|&;<>")
    words.whitespace_split = True
    found: list[str] | None = None
    for word in words:
        if word in ENDS_A_COMMAND:
            if found is not None:
                yield found
            found = None
        elif found is not None:
            found.append(word)
        elif word == "openagent":
            found = []
    if found is not None:
        yield found


def problem_of(words: list[str], *, in_a_sentence: bool = False) -> str:
    """Empty where the program would understand them. Files they name need not be there. In a sentence, `openagent auth
    add` may be named without what it needs, `--turn N` stand for a number, and `openagent NAME` for any command."""
    words = _without_whereto(words)
    if not words or words[-1] in ("--help", "--version"):
        return ""
    name = words[0]
    if in_a_sentence and name.isupper():
        return ""
    try:
        if name in HAS_ITS_OWN_GRAMMAR:
            read(_without_images(words[1:]), interactive=HAS_ITS_OWN_GRAMMAR[name])
        elif not is_a_command(name):
            parsed = read(_without_images(words), interactive=True)
            if not parsed.printed and "--" not in words:
                refuse_guess(parsed.words)
        else:
            _parse(openagent, "openagent", words, None)
    except WrongUse as problem:
        return str(problem)
    except click.UsageError as problem:
        fine = _is_about_a_file(problem) or (in_a_sentence and _is_left_open(problem))
        return "" if fine else problem.format_message()
    except click.exceptions.Exit:
        return ""
    return ""


def _parse(command: click.Command, name: str, words: list[str], parent: click.Context | None) -> None:
    context = command.make_context(name, list(words), parent=parent)
    rest = [*context._protected_args, *context.args]  # pyright: ignore[reportPrivateUsage]
    if not isinstance(command, click.Group) or not rest:
        return
    inner_name, inner, inner_words = command.resolve_command(context, rest)
    if inner is None or inner_name is None:
        raise click.UsageError(f"There is no command {rest[0]!r}.")
    _parse(inner, inner_name, inner_words, context)


def _is_left_open(problem: click.UsageError) -> bool:
    if isinstance(problem, click.MissingParameter | click.exceptions.NoArgsIsHelpError):
        return True
    stands_for_another = isinstance(problem, click.BadParameter) and re.search(r"'[A-Z]+' is not", problem.message)
    return bool(stands_for_another) or "requires an argument" in problem.message


def _is_about_a_file(problem: click.UsageError) -> bool:
    return isinstance(problem, click.BadParameter) and (
        "does not exist" in problem.message or "No such file" in problem.message
    )


def _without_whereto(words: list[str]) -> list[str]:
    left, waiting = list[str](), iter(words)
    for word in waiting:
        if word.partition("=")[0] not in OF_EVERY_COMMAND:
            left.append(word)
        elif "=" not in word:
            next(waiting, None)
    return left


def _without_images(words: list[str]) -> list[str]:
    """They are read with the command line, and need not be there."""
    left, waiting = list[str](), iter(words)
    for word in waiting:
        if word in ("-i", "--image"):
            next(waiting, None)
        else:
            left.append(word)
    return left
