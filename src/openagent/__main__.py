"""`openagent`: which part of the house a command line is for. Everything else loads when it is needed."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_HELP = {"--help", "-h"}
_SERVE_AS_CLIENT = {"--daemon", "--status", "--stop", *_HELP}
_PROGRAMS = {"rpc": "openagent.rpc", "acp": "openagent.acp", "tui": "openagent.tui.main"}


def main() -> int:
    arguments = sys.argv[1:]
    if not arguments and sys.stdin.isatty() and sys.stdout.isatty():
        arguments = ["tui"]
    elif arguments and arguments[0].split("=")[0] == "--connect":
        arguments = ["tui", *arguments]
    match arguments:
        case ["run", *rest]:
            from openagent.cli.run import main as run

            return run(rest)
        case ["serve", *rest] if not _SERVE_AS_CLIENT.intersection(rest):
            return _load("openagent.app")(rest)
        case ["rpc" | "acp" | "tui" as program, *rest] if not _HELP.intersection(rest):
            return _load(_PROGRAMS[program])(rest)
        case ["mcp", "serve", *rest] if not _HELP.intersection(rest):
            return _load("openagent.mcp_serve")(rest)
        case ["simulator", *rest]:
            return _load("openagent.simulator.__main__")(rest)
        case _:
            from openagent.cli.commands import main as command

            return command(arguments)


def _load(module: str) -> "Callable[[list[str]], int]":
    from importlib import import_module

    return import_module(module).main


if __name__ == "__main__":
    sys.exit(main())
