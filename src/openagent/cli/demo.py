"""`openagent demo`"""

from pathlib import Path

import click

from openagent.cli.command import as_json, command, say
from openagent.cli.exit_codes import FAILED
from openagent.cli.run import Arguments, perform
from openagent.cli.terminal import complain
from openagent.filesystem import tour
from openagent.protocol.errors import OpenAgentError


@command("demo", "openagent demo", "openagent demo --cwd ~/demo")
@click.option("--cwd", metavar="DIR", help="Where to put the sample project; a new temporary directory.")
@as_json
def demo(cwd: str | None, as_json: bool) -> int:
    """See a scripted model repair a bug in a sample project with real tools. Needs no key and no network."""
    target = tour.put_project(_place(cwd))
    if not as_json:
        say(tour.LABEL)
        say(f"> {tour.PROMPT}\n")
    arguments = Arguments()
    arguments.prompt, arguments.cwd = tour.PROMPT, str(target)
    arguments.output = "json" if as_json else "text"
    arguments.settings = {"model": tour.MODEL, "mode": "full"}
    code, session = perform(arguments)
    if not as_json and session:
        say(f"\nThe files are in     {target}")
        say(f"See the session      openagent sessions show {session}")
        say(f"Go on with it live   openagent attach {session}")
        say("End the daemon       openagent stop")
    if code == 0 and not tour.is_repaired(target):
        hint = "`openagent doctor` shows what is missing."
        return complain(f"The tour could not finish because a tool failed, as shown above. {hint}", FAILED)
    return code


def _place(cwd: str | None) -> Path | None:
    if cwd is None:
        return None
    target = Path(cwd).expanduser().absolute()
    target.mkdir(parents=True, exist_ok=True)
    if taken := [file.name for file in tour.project() if (target / file.name).exists()]:
        raise OpenAgentError(
            "conflict", f"{target} already holds {', '.join(sorted(taken))}.", hint="Choose an empty directory."
        )
    return target
