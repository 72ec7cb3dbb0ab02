"""`openagent`: which part of the house a command line is for. Everything else loads when it is needed."""

import sys

_HELP = {"--help", "-h"}
_SERVE_AS_CLIENT = {"--daemon", "--status", "--stop", *_HELP}


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
            from openagent.app import main as serve

            return serve(rest)
        case ["rpc", *rest] if not _HELP.intersection(rest):
            from openagent.rpc import main as speak

            return speak(rest)
        case ["tui", *rest] if not _HELP.intersection(rest):
            from openagent.tui.main import main as show

            return show(rest)
        case ["simulator", *rest]:
            from openagent.simulator.__main__ import main as simulate

            return simulate(rest)
        case _:
            from openagent.cli.commands import main as command

            return command(arguments)


if __name__ == "__main__":
    sys.exit(main())
