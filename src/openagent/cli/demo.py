"""`openagent demo`"""

import tempfile
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from openagent.cli.command import as_json, command, say
from openagent.cli.run import Arguments, perform
from openagent.protocol.errors import OpenAgentError

PROMPT = "A test of this small library fails. Find out why, fix it, and prove that it is fixed."
MODEL = "demo/tour"


@command("demo", "openagent demo", "openagent demo --cwd ~/demo")
@click.option("--cwd", metavar="DIR", help="Where to put the sample project; a new temporary directory.")
@as_json
def demo(cwd: str | None, as_json: bool) -> int:
    """See a scripted model repair a bug in a sample project with real tools. Needs no key and no network."""
    target = _place(cwd)
    for file in _project():
        (target / file.name).write_bytes(file.read_bytes())
    if not as_json:
        say("The guided tour. The model is scripted: what it says was written beforehand. The tools are real.")
        say(f"> {PROMPT}\n")
    arguments = Arguments()
    arguments.prompt, arguments.cwd = PROMPT, str(target)
    arguments.output = "json" if as_json else "text"
    arguments.settings = {"model": MODEL, "mode": "full"}
    code, session = perform(arguments)
    if not as_json:
        say(f"\nThe files are in     {target}")
        say(f"See the session      openagent sessions show {session}")
        say(f"Go on with it live   openagent attach {session}")
        say("End the daemon       openagent stop")
    return code


def _project() -> list[Traversable]:
    """Read as data: the provider that plays the tour lives in the daemon."""
    return [file for file in files("openagent").joinpath("providers", "demo_project").iterdir() if file.is_file()]


def _place(cwd: str | None) -> Path:
    if cwd is None:
        return Path(tempfile.mkdtemp(prefix="openagent-demo-"))
    target = Path(cwd).expanduser().absolute()
    target.mkdir(parents=True, exist_ok=True)
    if taken := [file.name for file in _project() if (target / file.name).exists()]:
        raise OpenAgentError(
            "conflict", f"{target} already holds {', '.join(sorted(taken))}.", hint="Choose an empty directory."
        )
    return target
