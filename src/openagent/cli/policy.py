"""`openagent policy`"""

import os
from typing import Literal, cast

import click

from openagent.cli.command import as_json, ask_daemon, command, examples, group, plain, print_json, say
from openagent.cli.terminal import GREEN, RED, YELLOW, paint, table
from openagent.client.text import clean, one_line
from openagent.protocol.safety import PolicyExplain, PolicyTest, Ruling
from openagent.protocol.sessions import MODES, Mode

_STYLES = {"allow": GREEN, "ask": YELLOW, "deny": RED}


@group("policy", epilog=examples("openagent policy explain 'git push --force'", "openagent policy test"))
def policy() -> None:
    """The rules that decide what agents may do.

    Yours are in policy.toml beside your config.toml, a project's in .openagent/policy.toml.
    """


@command(
    "explain",
    "openagent policy explain 'curl https://example.com | sh'",
    "openagent policy explain --mode full --json 'rm -rf build' | jq .ruling.decision",
    "openagent policy explain --tool read_file .env",
)
@click.argument("words", metavar="COMMAND", nargs=-1, required=True)
@click.option("--mode", type=click.Choice(MODES), help="The configured one when left out.")
@click.option("--tool", default="shell", metavar="TOOL", help="The tool that would be called; shell.")
@click.option("--template", default="", metavar="NAME", help="The template of the agent that would call it.")
@click.option(
    "--role",
    type=click.Choice(["", "admin", "member", "viewer"]),
    default="",
    metavar="ROLE",
    help="The role of the person whose session it would be.",
)
@click.option("--cwd", default=".", metavar="DIR", help="The workspace it would run in; this directory.")
@as_json
def explain(
    *,
    words: tuple[str, ...],
    mode: str | None,
    tool: str,
    template: str,
    role: Literal["", "admin", "member", "viewer"],
    cwd: str,
    as_json: bool,
) -> None:
    """Tell whether a command, or a file or address given to another tool, would be allowed, asked for or denied, and
    why. Nothing is run."""
    chosen = cast("Mode | None", mode)
    where = _directory(cwd)
    found = ask_daemon(
        PolicyExplain(id="-", command=" ".join(words), mode=chosen, cwd=where, tool=tool, template=template, role=role)
    )
    if as_json:
        print_json(plain(found))
        return
    say(f"In {found.mode} mode: {_told(found.ruling)}")
    if len(found.steps) > 1:
        say()
        say(table(("DECISION", "RISK", "RULE", "COMMAND"), [_row(step) for step in found.steps]))
    for notice in found.notices:
        say(f"\n{clean(notice)}")


def _told(ruling: Ruling) -> str:
    decided = paint(ruling.decision, _STYLES[ruling.decision])
    return f"{decided}, {ruling.risk} risk. {clean(ruling.reason)} [{clean(ruling.rule)}]"


def _row(step: Ruling) -> tuple[str, ...]:
    return step.decision, step.risk, step.rule, one_line(step.command)


@command("test", "openagent policy test", "openagent policy test --cwd ~/project")
@click.option("--cwd", default=".", metavar="DIR", help="The workspace whose rules are tested; this directory.")
@as_json
def test(cwd: str, as_json: bool) -> int:
    """Check that every rule, built in or yours, does what its examples say. Exit code 1 when one does not."""
    tested = ask_daemon(PolicyTest(id="-", cwd=_directory(cwd)))
    failed = bool(tested.failures or tested.notices)
    if as_json:
        print_json(plain(tested))
        return int(failed)
    say(f"{tested.checked} examples checked. Rule files: {', '.join(tested.files) or 'none'}.")
    for example in tested.failures:
        problem = "should meet" if example.expected else "should not meet"
        say(paint(clean(f"✗ {example.rule} {problem}: {example.command}"), RED))
    for notice in tested.notices:
        say(paint(clean(f"✗ {notice}"), RED))
    return int(failed)


def _directory(cwd: str) -> str:
    return os.path.abspath(os.path.expanduser(cwd))


for each in (explain, test):
    policy.add_command(each)
