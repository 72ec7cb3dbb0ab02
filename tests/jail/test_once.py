"""A command takes effect once or not at all, whatever refuses it: every kind of refusal, mode, answer and sandbox."""

import asyncio
import os
import pwd
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openagent.protocol import events as e
from openagent.protocol.sessions import MODES
from tests.interaction.doing import answer, call, results_of
from tests.interaction.house import PATIENCE, house, new_session

from .conftest import needs_bwrap

pytestmark = pytest.mark.anyio

_LARGE = 11 << 20
"""Larger than an ignored file may be that undo keeps."""
_LINE = "echo ran-{name}; echo line >> log-{name}"
REFUSED = {
    "reading": "NAME={name} git diff",
    "reading-hides-it": "NAME={name} git diff || true",
    "reading-goes-on": "NAME={name} git diff; cat a",
    "unsaved": f"{_LINE} && echo more >> data/large",
    "unsaved-goes-on": f"{_LINE}; echo more >> data/large; cat a",
    "unsaved-by-a-program": f"{_LINE} && python3 grows.py",
    "unsaved-by-a-program-hidden": f"{_LINE}; python3 grows.py 2>/dev/null || true",
    "unsaved-moved": f"{_LINE} && mv data/large data/elsewhere && mv data/elsewhere data/large",
    "shared-repository": f"{_LINE}; git add -A; git commit -qm n; cat a",
    "shared-repository-by-path": f"{_LINE} && touch MAIN/.git/refs/heads/.x",
    "nested-hook": f"{_LINE} && echo x > sub/.git/hooks/post-commit",
    "nested-setting": f"{_LINE} && git -C sub config user.name x",
    "secret": f"{_LINE} && cat .env",
    "outside": f"{_LINE} && touch OUTSIDE/made",
    "network": f"{_LINE} && python3 fetch.py http://far.test:9/x",
    "own-port": f"{_LINE} && python3 fetch.py http://127.0.0.1:9/x",
    "push": f"{_LINE} && git push",
    "rule": f"{_LINE} && deploy now",
    "namespaces": f"{_LINE} && unshare --user true",
    "fails": f"{_LINE}; exit 3",
    "not-bash": f"{_LINE} && echo 'open",
}
"""What the program does that `git diff` starts: it prints and appends its line, and makes a file."""


@pytest.fixture(
    params=[pytest.param("bwrap", marks=needs_bwrap), pytest.param("apart", marks=needs_bwrap), "docker", "host"]
)
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    """The jail's kind, and where the workspace is. Below /tmp the reading shell has an enclosure of its own."""
    parent = pwd.getpwuid(os.getuid()).pw_dir if request.param == "bwrap" else None
    if parent is not None and not os.access(parent, os.W_OK):
        pytest.skip("the home directory cannot be written")
    if request.param == "docker":
        request.getfixturevalue("docker_host")
    with tempfile.TemporaryDirectory(dir=parent, prefix="openagent-once-") as folder:
        yield "bwrap" if request.param == "apart" else request.param, Path(folder).resolve()


def lay_out(root: Path) -> Path:
    """A work tree of a repository elsewhere, with a file that undo does not keep and a repository of its own below."""
    main, workspace = root / "main", root / "workspace"
    settings = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}

    def git(folder: Path, *arguments: str) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(root), **settings}
        subprocess.run(["git", "-C", str(folder), *arguments], check=True, env=env, capture_output=True)

    (root / "outside").mkdir()
    main.mkdir()
    git(main, "init", "-q", "-b", "master")
    for name, value in (("user.name", "T"), ("user.email", "t@example.com"), ("diff.external", "./differ")):
        git(main, "config", name, value)
    (main / "a").write_text("a\n")
    (main / ".gitignore").write_text("data/\nsub/\nlog-*\nmade\n")
    (main / "differ").write_text("#!/bin/sh\necho ran-$NAME; echo line >> log-$NAME; touch made || exit 1\n")
    (main / "differ").chmod(0o755)
    (main / "grows.py").write_text("open('data/large', 'a').write('x')\n")
    (main / "fetch.py").write_text("import sys, urllib.request as u\nprint(u.urlopen(sys.argv[1], timeout=9).status)\n")
    git(main, "add", ".")
    git(main, "commit", "-qm", "one")
    git(main, "worktree", "add", "-q", "-b", "side", str(workspace))
    (workspace / "a").write_text("b\n")
    (workspace / "data").mkdir()
    with (workspace / "data" / "large").open("wb") as large:
        large.truncate(_LARGE)
    (workspace / ".env").write_text("KEY=s3cret\n")
    (workspace / "sub").mkdir()
    git(workspace / "sub", "init", "-q")
    return workspace


def steps(root: Path) -> list[dict[str, Any]]:
    return [
        call(
            "shell",
            command=command.format(name=name).replace("MAIN", f"{root}/main").replace("OUTSIDE", f"{root}/outside"),
        )
        for name, command in REFUSED.items()
    ]


@pytest.mark.parametrize("says", ["allow", "deny"])
@pytest.mark.parametrize("mode", MODES)
async def test_a_line_is_there_once_or_not_at_all(place: tuple[str, Path], mode: str, says: str) -> None:
    kind, root = place
    workspace = lay_out(root)
    config = f'[jail]\nkind = "{kind}"\nnames = {{ "far.test" = "127.0.0.1" }}\n'
    printed: Counter[str] = Counter()
    async with (
        house(root, [*steps(root), {"text": "done"}], config=config) as h,
        await h.client(interactive=True) as client,
    ):
        (h.home / "policy.toml").write_text('[[rule]]\ndecision = "deny"\ncommand = "deploy"\n')
        attachment = await client.attach(await new_session(h, client, mode=mode))
        await client.send(attachment.session, "go")
        async with asyncio.timeout(PATIENCE * 2):
            async for event in attachment.events():
                if isinstance(event, e.PermissionRequested):
                    await answer(client, event, decision=says, **({"scope": "once"} if says == "allow" else {}))
                if isinstance(event, e.ToolOutput):
                    printed.update(event.text.split())
                if isinstance(event, e.TurnCompleted):
                    break
        results = await results_of(client, attachment.session)
    assert len(results) == len(REFUSED)
    for name, result in zip(REFUSED, results, strict=True):
        ran = printed[f"ran-{name}"]
        log = workspace / f"log-{name}"
        lines = log.read_text().splitlines() if log.exists() else []
        assert ran <= 1, (name, result.text)
        assert lines in ([], ["line"]), (name, result.text)
        assert not lines or ran, (name, result.text)
        if result.ended in ("denied", "not_run"):
            assert not ran, (name, result.text)
