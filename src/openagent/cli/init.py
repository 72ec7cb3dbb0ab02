"""`openagent init`"""

import os
import sys

import click

from openagent.cli.command import as_json, ask_daemon, command, print_json, say
from openagent.client import agents_file, elsewhere
from openagent.protocol.daemon import DaemonStatus
from openagent.protocol.errors import OpenAgentError


@command("init", "openagent init", "openagent init --scaffold", "openagent init --force")
@click.option("--scaffold", is_flag=True, help="Ask no model: write headings to fill in.")
@click.option("--force", is_flag=True, help="Also where there is one: the agent revises it, --scaffold replaces it.")
@as_json
def init(scaffold: bool, force: bool, as_json: bool) -> int:
    """Write an AGENTS.md for this folder: what an agent has to know to work here.

    The agent looks through the folder and writes it. Without a model, the file gets headings to fill in, with the
    commands and folders that were found. A file that is there is never replaced without asking.
    """
    if url := elsewhere.wanted(os.environ):
        raise OpenAgentError(
            "invalid_argument", f"The daemon at {url} has no part in this folder.", hint="Run it there."
        )
    path = os.path.abspath(agents_file.FILE)
    if os.path.exists(path) and not force:
        if as_json or not sys.stdin.isatty():
            raise OpenAgentError(
                "invalid_argument", f"There is an {agents_file.FILE} already.", hint="`openagent init --force` goes on."
            )
        click.confirm(f"There is an {agents_file.FILE} already. {'Replace' if scaffold else 'Revise'} it?", abort=True)
    if scaffold or not ask_daemon(DaemonStatus(id="-", cwd=os.getcwd())).model:
        return _write(path, as_json)
    from openagent.cli.run import main as run

    options = ["--output", "json"] if as_json else []
    code = run([*options, "--mode", "edits", agents_file.PROMPT])
    if code == 0 and not os.path.exists(path):
        raise OpenAgentError(
            "tool_error",
            f"The agent ended without writing {agents_file.FILE}.",
            hint="`openagent init --scaffold` does.",
        )
    return code


def _write(path: str, as_json: bool) -> int:
    with open(path, "w", encoding="utf-8") as file:
        file.write(agents_file.scaffold(os.path.dirname(path)))
    if as_json:
        print_json({"written": path})
    else:
        say(f"{path} is written: headings to fill in. With a model, `openagent init --force` fills them.")
    return 0
