"""`openagent`: the list of commands. Each one's module loads when it is called."""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click

from openagent import __version__
from openagent.cli.exit_codes import CANCELLED, FAILED, READER_LEFT, USAGE, of_error
from openagent.cli.plugin_commands import plugin_command, plugin_commands
from openagent.cli.terminal import complain, forgiving_streams, silence_stdout
from openagent.client.command_line import json_problem, wants_json
from openagent.client.thin import reader_left
from openagent.protocol.errors import OpenAgentError


class Entry(NamedTuple):
    place: str
    """module:attribute"""
    help: str


if TYPE_CHECKING:
    from openagent.cli.run import Draw

EVERYDAY = "everyday"

GROUPS: dict[str, dict[str, Entry]] = {
    EVERYDAY: {
        "run": Entry("openagent.cli.run_help:run", "Ask an agent for one thing and print its answer"),
        "resume": Entry("openagent.cli.tui:resume", "Go on with an earlier session"),
        "sessions": Entry("openagent.cli.sessions:sessions", "List, search, fork, export, import and delete sessions"),
        "diff": Entry("openagent.cli.undo:diff", "Show what a session changed in your files"),
        "undo": Entry("openagent.cli.undo:undo", "Undo what a session changed, or some files of it"),
        "usage": Entry("openagent.cli.usage:usage", "Show the tokens used and the money spent"),
        "init": Entry("openagent.cli.init:init", "Write an AGENTS.md: what an agent must know here"),
        "login": Entry("openagent.cli.login:login_or_key", "Log in to a provider, or store its API key"),
        "models": Entry("openagent.cli.models:models", "List, test and install models"),
        "config": Entry("openagent.cli.config:config", "Show and change settings"),
        "update": Entry("openagent.cli.update:update", "Update OpenAgent and show what has changed"),
        "help": Entry("openagent.cli.help:help_topic", "Read the handbook, or the help of a command"),
    },
    "work": {
        "tui": Entry("openagent.cli.tui:tui", "Open the full-screen terminal app, as `openagent` alone does"),
        "web": Entry("openagent.cli.web:web", "Open the web app, logged in"),
        "tasks": Entry("openagent.cli.tasks:tasks", "List, add, move and sync the tasks on the board"),
        "flows": Entry("openagent.cli.flow:flows", "Run agents in a chain, described in a file"),
        "index": Entry("openagent.cli.index:index", "Index the code of a workspace and search it"),
        "files": Entry("openagent.cli.files:files", "List, read and write the files of a session"),
        "workspaces": Entry("openagent.cli.workspaces:workspaces", "Copy a workspace, merge a copy back, make backups"),
        "tools": Entry("openagent.cli.tools:tools", "List the tools of agents, switch them, run one"),
        "extras": Entry("openagent.cli.extras:extras", "List and fetch large libraries that some features need"),
        "eval": Entry("openagent.evals.commands:evals", "Measure agents: SWE-bench, a suite of tasks, comparisons"),
        "demo": Entry("openagent.cli.demo:demo", "Watch a scripted model fix a bug with real tools"),
    },
    "sessions": {
        "attach": Entry("openagent.cli.attach:attach", "Follow a session live, reply and approve"),
        "retry": Entry("openagent.cli.retry:retry", "Retry now, or continue a turn that failed"),
        "compact": Entry("openagent.cli.context:compact", "Shorten what the model is shown of a session"),
        "context": Entry("openagent.cli.context:context", "Show what fills the model's window; pin, restore"),
        "agents": Entry("openagent.cli.agents:agents", "Show running agents and their sub-agents; cancel one"),
        "share": Entry("openagent.cli.people:share", "Share a session with a team, or by a link"),
        "revert": Entry("openagent.cli.undo:revert", "Take back what a session did to one file, or a part of it"),
        "redo": Entry("openagent.cli.undo:redo", "Bring back what `undo` or `revert` took"),
        "import": Entry("openagent.cli.history:import_history", "Bring your sessions of Claude Code, codex and others"),
        "backup": Entry("openagent.cli.backup:backup", "Back up sessions, keys and settings, and restore them"),
    },
    "setup": {
        "logout": Entry("openagent.cli.auth:logout", "Forget a provider's login or key"),
        "auth": Entry("openagent.cli.auth:auth", "List, renew and remove logins and keys"),
        "mcp": Entry("openagent.cli.mcp:mcp", "Add, list, test and switch MCP servers"),
        "templates": Entry("openagent.cli.templates:templates", "Save, list and share templates to start agents from"),
        "skills": Entry("openagent.cli.customizing:skills", "List and show skills"),
        "slash": Entry("openagent.cli.customizing:slash", "List the slash commands you can use in a session"),
        "hooks": Entry("openagent.cli.customizing:hooks", "List hooks and try them"),
        "plugins": Entry("openagent.cli.customizing:plugins", "List, install and remove plugins"),
        "customizing": Entry("openagent.cli.customizing:found", "Show what is found for agents, and from where"),
    },
    "team": {
        "access": Entry("openagent.cli.tokens:access", "Give programs and other machines access over HTTP"),
        "whoami": Entry("openagent.cli.team_login:whoami", "Say who you are to the daemon, and what you may do"),
        "people": Entry("openagent.cli.people:people", "Say who works here beside you, and what they may do"),
        "teams": Entry("openagent.cli.people:teams", "Make teams of people, who share a folder and sessions"),
        "trust": Entry("openagent.cli.trust:trust", "Trust a folder's own settings and rules"),
        "policy": Entry("openagent.cli.policy:policy", "Explain and test the rules for what agents may do"),
        "grants": Entry("openagent.cli.grants:grants", "List and revoke what you allowed for longer than once"),
        "audit": Entry("openagent.cli.audit:audit", "Show and export what was decided, run and written"),
        "metrics": Entry(
            "openagent.cli.monitoring:metrics", "Print what the daemon counted, for Prometheus or InfluxDB"
        ),
        "report": Entry("openagent.cli.report:report", "Report what a day, week or month came to"),
    },
    "admin": {
        "serve": Entry("openagent.cli.serve:serve", "Run the daemon, here or in the background"),
        "status": Entry("openagent.cli.status:status", "Show whether the daemon runs, and how it is"),
        "stop": Entry("openagent.cli.stop:stop", "Stop the daemon; running turns are saved"),
        "service": Entry("openagent.cli.service:service", "Start the daemon when you log in"),
        "logs": Entry("openagent.cli.logs:logs", "Show the daemon's log, and follow it"),
        "doctor": Entry("openagent.cli.doctor:doctor", "Check the installation and say how to fix it"),
        "acp": Entry("openagent.cli.serve:acp", "Serve editors: the Agent Client Protocol on stdio"),
        "rpc": Entry("openagent.cli.serve:rpc", "Serve programs: JSON-RPC 2.0 on stdin and stdout"),
        "protocol": Entry("openagent.cli.protocol:protocol", "Print the protocol's JSON Schema"),
        "completion": Entry("openagent.cli.completion:completion", "Print the completion script of your shell"),
    },
}

COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}

SYNONYMS = {
    "task": Entry("openagent.cli.tasks:tasks", "tasks"),
    "flow": Entry("openagent.cli.flow:flows", "flows"),
    "commands": Entry("openagent.cli.customizing:slash", "slash"),
    "tokens": Entry("openagent.cli.tokens:access", "access"),
    "search": Entry("openagent.cli.search:search", "sessions search"),
    "session": Entry("openagent.cli.sessions:sessions", "sessions"),
    "model": Entry("openagent.cli.models:models", "models"),
    "settings": Entry("openagent.cli.config:config", "config"),
    "version": Entry("openagent.cli.help:version", "version"),
}
"""Names that commands had once, or have elsewhere, and the name they have now. They work, and no help shows them;
`--version` is in it already."""


def is_a_command(name: str) -> bool:
    return name in COMMANDS or name in SYNONYMS or name in plugin_commands()


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name) or SYNONYMS.get(cmd_name)
        if entry is None:
            return plugin_command(cmd_name)
        module, attribute = entry.place.split(":")
        return getattr(import_module(module), attribute)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Whole on a screen of 80 columns and 24 lines: the everyday commands, and where the others are."""
        write = formatter.write
        write('Usage: openagent [OPTIONS] [COMMAND | "PROMPT"]\n')
        write(f"{self.help} Alone, it opens the terminal app.\n\n")
        for name, entry in GROUPS[EVERYDAY].items():
            write(f"  {name:10}{entry.help}\n")
        write("\nMore commands, all explained by `openagent help commands`:\n")
        for title, entries in [(title, list(each)) for title, each in GROUPS.items() if title != EVERYDAY]:
            write(f"  {title:10}{' '.join(entries)}\n")
        if added := plugin_commands():
            write(f"  {'plugins':10}{' '.join(added)}\n")
        write("Options: --connect URL  --token-file FILE  -V, --version  -h, --help\n")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        known = COMMANDS | SYNONYMS
        if name not in known and not name.startswith("-") and name not in (added := plugin_commands()):
            near = get_close_matches(name, [*COMMANDS, *added], n=1)
            guess = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"There is no command {name!r}.{guess}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
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
@click.version_option(__version__, "-V", "--version", prog_name="openagent", message="%(prog)s %(version)s")
def openagent() -> None:
    """A team of coding agents on your own machine."""


def main(arguments: Sequence[str], draw: "Draw | None" = None) -> int:
    """`draw` is what makes something of Markdown on a terminal, where this program has it."""
    forgiving_streams()
    fails = Failing(for_programs=wants_json(arguments))
    try:
        code = openagent.main(list(arguments) or ["--help"], prog_name="openagent", standalone_mode=False, obj=draw)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as problem:
        problem.show()
        return USAGE
    except click.UsageError as problem:
        path = problem.ctx.command_path if problem.ctx else "openagent"
        return fails("usage", problem.format_message(), f"See `{path} --help`.", USAGE)
    except click.ClickException as problem:
        return fails("failed", problem.format_message(), "", problem.exit_code)
    except OpenAgentError as problem:
        return fails(problem.info.code, problem.info.message, problem.info.hint, of_error(problem.info.code))
    except BrokenPipeError:
        silence_stdout()
        return READER_LEFT
    except SystemExit:
        if not reader_left():
            raise
        silence_stdout()  # click noticed it first
        return READER_LEFT
    except OSError as problem:
        where = problem.filename or "the daemon cannot be reached"
        return fails("failed", f"{problem.strerror or problem}: {where}.", "", FAILED)
    except (click.Abort, KeyboardInterrupt):
        return fails("cancelled", "Cancelled.", "", CANCELLED)
    return code if isinstance(code, int) else 0


class Failing(NamedTuple):
    """How a command ends that cannot do what it should: with a sentence, or with the same as JSON."""

    for_programs: bool

    def __call__(self, code: str, message: str, hint: str, exit_code: int) -> int:
        if self.for_programs:
            return json_problem({"code": code, "message": message, "hint": hint}, exit_code)
        return complain(f"{message} {hint}".strip(), exit_code)
