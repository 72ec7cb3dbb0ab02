"""`openagent`: which part of the house a command line is for. Everything else loads when it is needed."""

import sys
from os import environ, getcwd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from openagent.cli.run import Written
    from openagent.client.command_line import Arguments

_HELP = {"--help", "-h"}
_OF_THE_PROGRAM = {*_HELP, "--version", "-V"}
_SERVE_AS_CLIENT = {"--daemon", "--status", "--stop", *_HELP}
_ELSEWHERE = {"--connect": "OPENAGENT_CONNECT", "--token-file": "OPENAGENT_TOKEN"}
_PROGRAMS = {"rpc": "openagent.rpc", "acp": "openagent.acp", "tui": "openagent.tui.main"}


def main() -> int:
    _stand_somewhere()
    arguments = sys.argv[1:]
    led_elsewhere = any(word.partition("=")[0] in _ELSEWHERE for word in arguments)
    if led_elsewhere:
        arguments = _go_elsewhere(arguments)
    if (named := environ.get("OPENAGENT_CONNECT", "")) and not _is_address(named):
        _use_socket(named)
    if arguments[:1] == ["--json"] and arguments[1:] and not _is_prompt(arguments[1:]):
        arguments = [arguments[1], "--json", *arguments[2:]]
    match arguments:
        case ["run", *rest]:
            from openagent.cli.run import main as run

            return run(rest, _drawn)
        case ["serve", "--restore"]:
            return _load("openagent.restore")([])
        case ["serve", *rest] if not _SERVE_AS_CLIENT.intersection(rest):
            return _load("openagent.app")(rest)
        case ["rpc" | "acp" | "tui" as program, *rest] if not _HELP.intersection(rest):
            return _load(_PROGRAMS[program])(rest)
        case ["resume", *rest] if not _HELP.intersection(rest):
            return _load(_PROGRAMS["tui"])(["--resume", *rest])
        case ["mcp", "serve", *rest] if not _HELP.intersection(rest):
            return _load("openagent.mcp_serve")(rest)
        case []:
            return _bare(led_elsewhere)
        case _ if _is_prompt(arguments):
            return _prompt(arguments)
        case _:
            return _command(arguments)


def _drawn(width: int) -> "Written | None":
    """The terminal interface's Markdown for a plain terminal. It loads while the model thinks."""
    import os

    try:
        from openagent.tui.printed import Printed
    except ImportError:  # a client that was built without the interface
        return None
    return Printed(width, os.environ)


def _bare(led_elsewhere: bool) -> int:
    """Nothing but the name: the terminal interface on a terminal, an answer to what is led in, or help."""
    from openagent.client.command_line import stdin_is_given

    if led_elsewhere or (sys.stdin.isatty() and sys.stdout.isatty()):
        return _load(_PROGRAMS["tui"])([])
    return _prompt([]) if stdin_is_given() else _command([])


def _is_prompt(arguments: list[str]) -> bool:
    """Everything that is no command. What only looks like one is refused there."""
    first = arguments[0]
    if first.startswith("-"):
        return first not in _OF_THE_PROGRAM
    if any(character.isspace() for character in first):
        return True
    from openagent.cli.commands import is_a_command

    return not is_a_command(first)


def _prompt(arguments: list[str]) -> int:
    """As Claude Code and codex do it: on a terminal the interface opens with the prompt sent; `-p`, JSON and pipes get
    the answer alone."""
    import os

    from openagent.cli.run import answer
    from openagent.cli.terminal import forgiving_streams
    from openagent.client.command_line import WrongUse, before_dashes, stdin_is_given, wrong_use

    forgiving_streams()
    try:
        if not _HELP.isdisjoint(before_dashes(arguments)):
            if not arguments[0].startswith("-"):
                _refuse_guess([word for word in arguments if not word.startswith("-")])
            return _command(["--help"])
        parsed = _read_prompt(arguments)
    except WrongUse as problem:
        return wrong_use(problem, arguments, "openagent")
    on_a_terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    said = bool(parsed.words or parsed.images or stdin_is_given())
    if parsed.printed or parsed.output or (said and not on_a_terminal):
        return answer(parsed, "openagent", _drawn)
    from openagent.tui.main import begin

    return begin(parsed)


def _read_prompt(arguments: list[str]) -> "Arguments":
    """`-p` and `--` say that it is a prompt; without them, what looks like a command is refused. Raises WrongUse."""
    from openagent.client.command_line import WrongUse, read

    try:
        parsed = read(arguments, interactive=True)
    except WrongUse:
        if not arguments[0].startswith("-"):
            _refuse_guess(arguments)
        raise
    if not parsed.printed and "--" not in arguments:
        _refuse_guess(parsed.words)
    return parsed


def _refuse_guess(words: list[str]) -> None:
    if not words or any(character.isspace() for character in words[0]):
        return
    from openagent.cli.guessed_commands import refuse_guess

    refuse_guess(words)


def _command(arguments: list[str]) -> int:
    from openagent.cli.commands import main as command

    return command(arguments, _drawn)


def _go_elsewhere(arguments: list[str]) -> list[str]:
    """`--connect URL` and `--token-file FILE` count for every command, wherever they stand before a `--`."""
    import os

    left: list[str] = []
    waiting = iter(arguments)
    for word in waiting:
        option, has_value, value = word.partition("=")
        if word == "--":
            return [*left, word, *waiting]
        if option not in _ELSEWHERE:
            left.append(word)
            continue
        value = value if has_value else next(waiting, "")
        if not value:
            _refuse(f"{option} needs a value.")
        if option == "--token-file":
            try:
                with open(os.path.expanduser(value)) as file:
                    value = file.read().strip()
            except OSError as problem:
                _refuse(f"The token in {value} cannot be read: {problem.strerror}.")
        os.environ[_ELSEWHERE[option]] = value
    return left


def _is_address(url: str) -> bool:
    """`host:port` or a URL, rather than a file: the commonest forms are told without a look."""
    from openagent.client.elsewhere import socket_of

    return not socket_of(url)


def _use_socket(url: str) -> None:
    """A daemon of this machine, by its socket. Whoever names one wants that one, so none is started for it."""
    from openagent.client.command_line import json_problem, wants_json
    from openagent.client.elsewhere import socket_of
    from openagent.client.launch import listens

    path = socket_of(url)
    try:
        found = listens(path)
    except OSError as problem:
        found, reason = False, problem.strerror
    else:
        reason = "no daemon listens there"
    if not found:
        message, hint = f"No daemon answers at {path}: {reason}.", "`openagent serve --ipc-socket PATH` starts one."
        if wants_json(sys.argv[1:]):
            sys.exit(json_problem({"code": "not_found", "message": message, "hint": hint}, 1))
        sys.stderr.write(f"openagent: {message} {hint}\n")
        sys.exit(1)
    environ["OPENAGENT_SOCKET"] = path
    del environ["OPENAGENT_CONNECT"]


def _stand_somewhere() -> None:
    """A shell stays in a folder that somebody deleted, and nearly every command is about the folder it is called in."""
    try:
        getcwd()
    except OSError:
        _refuse("The folder you are in does not exist any more.", "Go to one that does, with `cd`.")


def _refuse(problem: str, hint: str = "") -> "NoReturn":
    from openagent.client.command_line import WrongUse, wrong_use

    sys.exit(wrong_use(WrongUse(problem, hint), sys.argv[1:], "openagent"))


def _load(module: str) -> "Callable[[list[str]], int]":
    from importlib import import_module

    return import_module(module).main


if __name__ == "__main__":
    sys.exit(main())
