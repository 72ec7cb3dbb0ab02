"""What the program says about itself."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import openagent
from openagent import __version__
from openagent.cli.commands import COMMANDS, EVERYDAY, GROUPS, SYNONYMS
from openagent.cli.help import topics

from .machine import Machine, Ran
from .pseudo_terminal import Terminal


def test_help_shows_the_everyday_commands_and_names_the_others_without_loading_any(machine: Machine) -> None:
    code = "import sys; from openagent.cli.commands import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name, entry in GROUPS[EVERYDAY].items():
        assert f"  {name} " in ran.stdout
        assert entry.help in ran.stdout
    for title, group in GROUPS.items():
        if title != EVERYDAY:
            assert f"  {title:10}{' '.join(group)}\n" in ran.stdout
    loaded = ran.stderr.split()
    assert not {entry.place.split(":")[0] for entry in COMMANDS.values()} & set(loaded)
    assert "asyncio" not in loaded


def test_the_first_help_fits_a_small_screen_whole(machine: Machine) -> None:
    lines = machine.run("--help").stdout.splitlines()
    assert len(GROUPS[EVERYDAY]) <= 12
    assert len(lines) <= 23, "the prompt that follows needs a line too"
    assert max(map(len, lines)) <= 80


def test_help_commands_explains_every_command_in_a_line(machine: Machine) -> None:
    said = machine.run("help", "commands").stdout
    for name, entry in COMMANDS.items():
        assert any(line.split()[0] == name and line.endswith(entry.help) for line in said.splitlines() if line.strip())


@pytest.mark.parametrize("name", SYNONYMS)
def test_an_old_name_works_and_nobody_is_told(run_here: Callable[..., Ran], name: str) -> None:
    assert run_here(name, "--help").returncode == 0
    assert (
        run_here(name, "--help").stdout.split("\n", 2)[2]
        == run_here(*SYNONYMS[name].help.split(), "--help").stdout.split("\n", 2)[2]
    )
    assert name not in COMMANDS
    assert f"  {name} " not in run_here("help", "commands").stdout


@pytest.mark.parametrize("name", ["context collect", "sessions unrewind", "serve --status"])
def test_an_old_name_below_works_and_nobody_is_told(run_here: Callable[..., Ran], name: str) -> None:
    group, inner = name.split()
    assert run_here(group, inner, "--help").returncode == 0
    assert inner not in run_here(group, "--help").stdout


def test_status_and_serve_status_are_one(machine: Machine) -> None:
    machine.turn("Hi")
    one, other = machine.json("status"), machine.json("serve", "--status")
    assert one["pid"] == other["pid"]
    assert one["socket"] == other["socket"]


@pytest.mark.parametrize(
    "command", ["sessions show", "sessions export", "sessions fork", "attach", "diff", "undo", "tools run", "compact"]
)
def test_what_a_command_is_about_is_called_session_everywhere(run_here: Callable[..., Ran], command: str) -> None:
    usage = run_here(*command.split(), "--help").stdout.splitlines()[0]
    assert "SESSION" in usage
    assert " ID" not in usage


def test_the_handbook_is_listed_shown_and_found_by_a_near_name(machine: Machine) -> None:
    listed = machine.run("help").stdout
    assert "  safety " in listed
    assert "decisions" not in listed
    assert machine.run("help", "safety").stdout.startswith("# Safety\n")
    assert machine.run("help", "docs/safety.md").stdout == machine.run("help", "safety").stdout
    unknown = machine.run("help", "safty")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "There is no help on 'safty'. Did you mean safety?" in unknown.stderr


def test_the_help_of_a_command_is_found_by_its_words(machine: Machine) -> None:
    said = machine.run("help", "sessions", "fork").stdout
    assert said == machine.run("sessions", "fork", "--help").stdout
    assert "Did you mean sessions fork?" in machine.run("help", "sessions", "frok").stderr


def test_the_handbook_is_paged_on_a_terminal(fresh: Machine) -> None:
    paged = replace(fresh, extra={"PAGER": "sed s/^#.Safety/PAGED:/"})
    with Terminal(paged, "help", "safety") as terminal:
        terminal.until("PAGED:")
        assert terminal.exit_code() == 0


def test_messages_point_to_pages_that_are_there() -> None:
    """Whoever installed a wheel has no docs/ folder: what is said names `openagent help TOPIC`."""
    source = Path(openagent.__file__).parent
    texts = {file: file.read_text() for file in source.rglob("*.py")}
    named = {topic for text in texts.values() for topic in re.findall(r"`openagent help ([a-z-]+)`", text)}
    assert named - {"commands"} <= set(topics())
    assert {"editors", "customizing", "plugins", "configuration"} <= named
    said = [(file.name, line) for file, text in texts.items() for line in _strings(text) if "docs/" in line]
    assert [each for each in said if re.search(r"\bdocs/(?!TASKS)[a-z_-]+\.md", each[1])] == []


def test_every_page_of_the_handbook_is_put_into_the_package() -> None:
    root = Path(__file__).parents[2]
    build = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    packed = dict(build["force-include"])
    assert packed.pop("CHANGELOG.md") == "openagent/CHANGELOG.md", "`openagent update` shows it"
    assert {root / page: Path(place) for page, place in packed.items()} == {
        topic.file: Path("openagent/handbook", topic.file.name) for topic in topics().values()
    }


def _strings(source: str) -> list[str]:
    """Those a person may read: no docstring of a module."""
    tree = ast.parse(source)
    own = ast.get_docstring(tree, clean=False)
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != own
    ]


@pytest.mark.parametrize(
    "command",
    [
        *COMMANDS,
        *(f"sessions {each}" for each in ("list", "show", "search", "export", "fork", "delete")),
        *(f"context {each}" for each in ("show", "pin", "unpin", "restore")),
        *(f"usage {each}" for each in ("cost", "agents", "failures")),
        *(f"index {each}" for each in ("build", "search", "symbols", "map", "status", "watch", "setup")),
        *(f"workspaces {each}" for each in ("list", "create", "diff", "merge", "remove", "backup", "restore", "gc")),
        "mcp serve",
        "policy explain",
        "policy test",
        "config show",
    ],
)
def test_every_command_explains_itself(run_here: Callable[..., Ran], command: str) -> None:
    ran = run_here(*command.split(), "--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.lower().startswith(f"usage: openagent {command}")
    assert f"  openagent {command}" in ran.stdout.split("Examples:")[1]


def test_the_version_is_told(machine: Machine) -> None:
    told = {machine.run(word).stdout for word in ("--version", "-V", "version")}
    assert told == {f"openagent {__version__}\n"}


def test_a_misspelt_command_gets_a_suggestion(machine: Machine) -> None:
    ran = machine.run("sesions")
    assert ran.returncode == 2
    assert ran.stderr == (
        "openagent: There is no command 'sesions'. Did you mean sessions? "
        'To send it as a prompt: `openagent run "sesions"`.\n'
    )
    assert machine.run().stdout.startswith("Usage: openagent")
