"""What a jailed process makes of git's own files while it runs, again and again, never runs outside.

`OPENAGENT_TEST_TRIES=100` repeats each plot so often.
"""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from openagent.protocol.events import ErrorRaised, Event, PermissionRequested, TurnCompleted
from openagent.protocol.messages import NotePart
from openagent.protocol.sessions import SessionDelete
from tests.jail.conftest import needs_bwrap

from .doing import answer, ask, messages_of, shell, write
from .house import house, until

pytestmark = [pytest.mark.anyio, needs_bwrap]

TRIES = int(os.environ.get("OPENAGENT_TEST_TRIES", "2"))
_COMMIT = "git -c user.name=x -c user.email=x commit -q --allow-empty -m x"
_HUSKY = (
    "mkdir -p .husky/_; printf 'EVIL\\n' > .husky/pre-commit; "
    "printf '#!/bin/sh\\nsh -e .husky/pre-commit\\n' > .husky/_/pre-commit; chmod +x .husky/_/pre-commit"
)
_HOOK = "printf '#!/bin/sh\\n{0}\\n' > h; chmod +x h; mkdir -p .git/hooks; mv -f h .git/hooks/pre-commit"


class _Plot(NamedTuple):
    name: str
    prepare: str
    again: str
    """Done in a loop in the background."""
    look: tuple[str, ...]
    """What the person does with git."""
    begins: str = ""
    """What the person has before."""


_STATUS, _COMMITS = ("status",), ("commit", "-q", "--allow-empty", "-m", "x")
_NESTED = f"git init -q sub; git -C sub {_COMMIT[4:]}; git add sub"
_PLOTS = [
    _Plot(
        "a nested repository", _NESTED, "git config -f sub/.git/config core.fsmonitor 'EVIL'", _STATUS, "git init -q"
    ),
    _Plot(
        "a nested one replaced",
        f"{_NESTED}; cp -r sub/.git g; git config -f g/config core.fsmonitor 'EVIL'; rm -r sub/.git",
        "cp -r g n; rm -rf sub/.git; mv -T n sub/.git",
        _STATUS,
        "git init -q",
    ),
    _Plot("husky 9", f"git init -q; {_HUSKY}", "git config core.hooksPath .husky/_", _COMMITS),
    _Plot("lefthook", "git init -q; printf 'EVIL\\n' > lefthook.yml", _HOOK.format(". ./lefthook.yml"), _COMMITS),
    _Plot(
        "pre-commit",
        "git init -q; printf 'EVIL\\n' > .pre-commit-config.yaml",
        _HOOK.format(". ./.pre-commit-config.yaml"),
        _COMMITS,
    ),
]


def _person(workspace: Path, *arguments: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(workspace.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com")
    subprocess.run(("git", *identity, *arguments), cwd=workspace, env=env, check=False, capture_output=True)


def _command(plot: _Plot, canary: Path) -> str:
    loop = f"(while :; do {plot.again}; done) >/dev/null 2>&1 </dev/null &"
    return f"{plot.prepare}; {loop}".replace("EVIL", f"touch {canary} #")


def _place(root: Path, plot: _Plot) -> Path:
    workspace = root / "workspace"
    workspace.mkdir(parents=True)
    subprocess.run(("bash", "-c", plot.begins or ":"), cwd=workspace, check=True)
    return workspace


@pytest.mark.parametrize("plot", _PLOTS, ids=lambda plot: plot.name)
@pytest.mark.timeout(60 + 10 * TRIES)
async def test_a_loop_that_arms_a_repository_runs_nothing_outside(tmp_path: Path, plot: _Plot):
    canary = tmp_path / "canary"
    script = {
        "conversations": [
            {"match": f"plot {number}!", "steps": [shell(_command(plot, canary)), {"text": "done"}]}
            for number in range(TRIES)
        ]
    }
    ran: list[int] = []
    async with house(tmp_path, script) as h, await h.client() as client:
        for number in range(TRIES):
            workspace = _place(tmp_path / str(number), plot)
            session = await client.create_session(str(workspace), model="compatible/scripted", mode="full")
            attachment = await client.attach(session.id)
            await client.send(session.id, f"plot {number}!")
            await until(attachment, lambda event: isinstance(event, TurnCompleted))
            for _ in range(5):
                await asyncio.to_thread(_person, workspace, *plot.look)
            if canary.exists():
                ran.append(number)
                canary.unlink()
            await ask(client, SessionDelete, session=session.id)
    assert ran == []


async def test_whoever_makes_armed_repositories_one_after_another_is_stopped_and_all_are_told(tmp_path: Path):
    canary = tmp_path / "canary"
    command = f"for i in $(seq 1000); do git init -q n$i; git -C n$i config core.fsmonitor 'touch {canary} #'; done"
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with house(tmp_path, [shell(command), {"text": "done"}]) as h, await h.client() as client:
        session = await client.create_session(str(workspace), model="compatible/scripted", mode="full")
        attachment = await client.attach(session.id)
        await client.send(session.id, "go")
        said: list[Event] = await until(attachment, lambda event: isinstance(event, TurnCompleted))
        noted = [
            part.text
            for message in await messages_of(client, session.id)
            for part in message.parts
            if isinstance(part, NotePart)
        ]
    assert len(list(workspace.iterdir())) < 100
    assert any(isinstance(event, ErrorRaised) and "was stopped" in event.error.message for event in said)
    assert any("was stopped" in text for text in noted), noted
    for made in workspace.iterdir():
        _person(made, "status")
    assert not canary.exists()


@pytest.mark.parametrize("plot", _PLOTS, ids=lambda plot: plot.name)
def test_the_plots_are_real_ones(tmp_path: Path, plot: _Plot):
    workspace, canary = _place(tmp_path, plot), tmp_path / "canary"
    once = f"{plot.prepare}; {plot.again}".replace("EVIL", f"touch {canary} #")
    subprocess.run(("bash", "-c", once), cwd=workspace, check=True, capture_output=True)
    _person(workspace, *plot.look)
    assert canary.exists()


async def test_a_file_that_the_persons_hooks_would_run_is_put_aside_unless_the_person_allowed_it(tmp_path: Path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    _person(workspace, "init", "-q")
    hook = workspace / ".git/hooks/pre-commit"
    hook.write_text('#!/bin/sh\ncall_lefthook() { lefthook "$@"; }\ncall_lefthook run pre-commit\n')
    hook.chmod(0o755)
    steps = [
        shell(
            "a=lefthook; mkdir -p .lefthook/pre-commit; echo x > $a-local.yml; echo y > .$a/pre-commit/y.sh; echo z > z"
        ),
        write("lefthook.yml", "mine\n"),
        {"text": "done"},
    ]
    async with house(tmp_path, steps) as h, await h.client() as client:
        session = await client.create_session(str(workspace), model="compatible/scripted", mode="auto")
        attachment = await client.attach(session.id)
        await client.send(session.id, "go")
        said: list[Event] = []
        while not any(isinstance(event, TurnCompleted) for event in said):
            said += await until(attachment, lambda event: isinstance(event, PermissionRequested | TurnCompleted))
            if isinstance(asking := said[-1], PermissionRequested):
                await answer(client, asking, decision="allow")
    there = {
        str(path.relative_to(workspace)) for path in workspace.rglob("*") if path.is_file() and ".git/" not in f"{path}"
    }
    assert there == {"lefthook-local.yml.disarmed", ".lefthook/pre-commit/y.sh.disarmed", "z", "lefthook.yml"}
    assert any(isinstance(event, ErrorRaised) and "lefthook-local.yml" in event.error.message for event in said)
