"""`openagent`: the list of commands. Each one's module loads when it is called."""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NamedTuple

import click

from openagent import __version__
from openagent.cli.plugin_commands import plugin_command, plugin_commands
from openagent.cli.terminal import complain, forgiving_streams, silence_stdout
from openagent.protocol.errors import OpenAgentError

FAILED, USAGE, CANCELLED = 1, 2, 130


class Entry(NamedTuple):
    place: str
    """module:attribute"""
    help: str


COMMANDS = {
    "run": Entry("openagent.cli.run_help:run", "Send one prompt to an agent and print its answer."),
    "tui": Entry("openagent.cli.tui:tui", "Talk to agents in a full terminal."),
    "web": Entry("openagent.cli.web:web", "Open the web app, logged in."),
    "attach": Entry("openagent.cli.attach:attach", "Follow a session live, talk to it, approve what it asks."),
    "sessions": Entry("openagent.cli.sessions:sessions", "List, show, rename, set, rewind, fork, export sessions."),
    "search": Entry("openagent.cli.search:search", "Find what was said, in all sessions."),
    "context": Entry("openagent.cli.context:context", "Show what a model is shown; collect, pin, restore."),
    "demo": Entry("openagent.cli.demo:demo", "See a scripted model repair a bug with real tools."),
    "auth": Entry("openagent.cli.auth:auth", "Store, list and remove keys; log in to providers."),
    "models": Entry("openagent.cli.models:models", "List models, test them, install an offline one."),
    "usage": Entry("openagent.cli.usage:usage", "Show the tokens and the money that were used."),
    "metrics": Entry("openagent.cli.metrics:metrics", "Show how agents perform, what they cost, what failed."),
    "tools": Entry("openagent.cli.tools:tools", "List tools, switch them, run one yourself."),
    "mcp": Entry("openagent.cli.mcp:mcp", "Add, list, test and switch MCP servers."),
    "agents": Entry("openagent.cli.agents:agents", "Show agents and their sub-agents as a tree; end one."),
    "flow": Entry("openagent.cli.flow:flow", "Run chains of templates from a file."),
    "task": Entry("openagent.cli.tasks:task", "List, add, move and sync tasks: the board, for the terminal."),
    "templates": Entry("openagent.cli.templates:templates", "Save, list and share personas for agents."),
    "commands": Entry("openagent.cli.customizing:commands", "List slash commands."),
    "skills": Entry("openagent.cli.customizing:skills", "List and show skills."),
    "hooks": Entry("openagent.cli.customizing:hooks", "List hooks and try them out."),
    "plugins": Entry("openagent.cli.customizing:plugins", "List plugins and what is wrong with them."),
    "workspaces": Entry("openagent.cli.workspaces:workspaces", "Copy workspaces, review and merge copies, back up."),
    "files": Entry("openagent.cli.files:files", "List, read and write files of sessions and copies."),
    "index": Entry("openagent.cli.index:index", "Index a workspace's code, and search it."),
    "trust": Entry("openagent.cli.trust:trust", "Let a folder's own settings and rules count."),
    "policy": Entry("openagent.cli.policy:policy", "Explain and test the rules that decide what agents may do."),
    "grants": Entry("openagent.cli.grants:grants", "List and revoke what you allowed for longer than once."),
    "audit": Entry("openagent.cli.audit:audit", "Show and export what was decided, run and written."),
    "tokens": Entry("openagent.cli.tokens:tokens", "Let programs and other machines in over HTTP."),
    "status": Entry("openagent.cli.status:status", "Tell whether a daemon runs, where, and how it is."),
    "stop": Entry("openagent.cli.stop:stop", "End the daemon; running turns are saved."),
    "serve": Entry("openagent.cli.serve:serve", "Run the daemon, here or in the background."),
    "config": Entry("openagent.cli.config:config", "Show the settings and where each came from."),
    "doctor": Entry("openagent.cli.doctor:doctor", "Check what is missing and how to get it."),
    "completion": Entry("openagent.cli.completion:completion", "Let a shell complete commands, sessions and models."),
    "protocol": Entry("openagent.cli.protocol:protocol", "Print the protocol's JSON Schema."),
    "acp": Entry("openagent.cli.serve:acp", "Work inside an editor: the Agent Client Protocol on stdio."),
    "rpc": Entry("openagent.cli.serve:rpc", "Speak JSON-RPC 2.0 on stdin and stdout."),
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return plugin_command(cmd_name)
        module, attribute = COMMANDS[cmd_name].place.split(":")
        return getattr(import_module(module), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])
        if added := plugin_commands():
            with formatter.section("Commands of plugins"):
                formatter.write_dl([(name, f"from {package}") for name, package in added.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and name not in (added := plugin_commands()):
            near = get_close_matches(name, [*COMMANDS, *added], n=1)
            guess = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"There is no command {name!r}.{guess}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='Start with `openagent run "your question"`, or `openagent demo` when no model is set up.',
)
@click.option(
    "--connect",
    metavar="URL",
    expose_value=False,
    help="Talk to the daemon there, with any command.  [env: OPENAGENT_CONNECT]",
)
@click.option(
    "--token-file",
    metavar="FILE",
    expose_value=False,
    help="Where that daemon's token is written.  [env: OPENAGENT_TOKEN holds the token]",
)
@click.version_option(__version__, "--version", prog_name="openagent", message="%(prog)s %(version)s")
def openagent() -> None:
    """A team of coding agents on your own machine."""


def main(arguments: Sequence[str]) -> int:
    forgiving_streams()
    try:
        code = openagent.main(list(arguments) or ["--help"], prog_name="openagent", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as problem:
        return _explain(problem)
    except OpenAgentError as problem:
        return complain(str(problem), FAILED)
    except BrokenPipeError:
        silence_stdout()
        return FAILED
    except OSError as problem:
        return complain(f"{problem.strerror or problem}: {problem.filename or 'the daemon cannot be reached'}.", FAILED)
    except (click.Abort, KeyboardInterrupt):
        return complain("Cancelled.", CANCELLED)
    return code if isinstance(code, int) else 0


def _explain(problem: click.ClickException) -> int:
    if isinstance(problem, click.exceptions.NoArgsIsHelpError):
        problem.show()
        return USAGE
    if isinstance(problem, click.UsageError):
        path = problem.ctx.command_path if problem.ctx else "openagent"
        return complain(f"{problem.format_message()} See `{path} --help`.", USAGE)
    return complain(problem.format_message(), problem.exit_code)
