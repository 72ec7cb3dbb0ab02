"""`openagent`: which part of the house a command line is for. Everything else loads when it is needed."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_HELP = {"--help", "-h"}
_SERVE_AS_CLIENT = {"--daemon", "--status", "--stop", *_HELP}
_ELSEWHERE = {"--connect": "OPENAGENT_CONNECT", "--token-file": "OPENAGENT_TOKEN"}
_PROGRAMS = {"rpc": "openagent.rpc", "acp": "openagent.acp", "tui": "openagent.tui.main"}


def main() -> int:
    arguments = sys.argv[1:]
    if any(word.partition("=")[0] in _ELSEWHERE for word in arguments):
        arguments = _go_elsewhere(arguments)
        if not arguments or (arguments[0].startswith("-") and arguments[0] not in {*_HELP, "--version"}):
            arguments = ["tui", *arguments]
    if not arguments and sys.stdin.isatty() and sys.stdout.isatty():
        arguments = ["tui"]
    match arguments:
        case ["run", *rest]:
            from openagent.cli.run import main as run

            return run(rest)
        case ["serve", *rest] if not _SERVE_AS_CLIENT.intersection(rest):
            return _load("openagent.app")(rest)
        case ["rpc" | "acp" | "tui" as program, *rest] if not _HELP.intersection(rest):
            return _load(_PROGRAMS[program])(rest)
        case ["resume", *rest] if not _HELP.intersection(rest):
            return _load(_PROGRAMS["tui"])(["--resume", *rest])
        case ["mcp", "serve", *rest] if not _HELP.intersection(rest):
            return _load("openagent.mcp_serve")(rest)
        case _:
            from openagent.cli.commands import main as command

            return command(arguments)


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


def _refuse(problem: str) -> "NoReturn":
    sys.stderr.write(f"openagent: {problem} See `openagent --help`.\n")
    sys.exit(2)


def _load(module: str) -> "Callable[[list[str]], int]":
    from importlib import import_module

    return import_module(module).main


if __name__ == "__main__":
    sys.exit(main())
