"""No name leads a file tool out of the workspace, and nothing swapped in on the way does."""

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openagent.plugins.tool import Tool
from openagent.protocol.errors import OpenAgentError
from openagent.tools.apply_patch import apply_patch
from openagent.tools.beneath import Root
from openagent.tools.edit_file import edit_file
from openagent.tools.glob import glob
from openagent.tools.grep import grep
from openagent.tools.list_dir import list_dir
from openagent.tools.read_file import read_file
from openagent.tools.write_file import write_file

from .bench import Bench

pytestmark = pytest.mark.anyio

SECRET = "the secret outside"


@pytest.fixture
def outside(bench: Bench) -> Path:
    """A folder beside the workspace, and in the workspace every trick that could lead there."""
    outside = bench.workspace.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    inside = bench.workspace
    (inside / "sub").mkdir()
    (inside / "file_link").symlink_to(outside / "secret.txt")
    (inside / "folder_link").symlink_to(outside)
    (inside / "relative_link").symlink_to("../outside")
    (inside / "sub/up").symlink_to("../../outside/secret.txt")
    (inside / "chain").symlink_to("folder_link/secret.txt")
    (inside / "root").symlink_to("/proc/self/root")
    (inside / "descriptors").symlink_to("/dev/fd")
    (inside / "loop").symlink_to("loop")
    return outside


def names(outside: Path) -> list[str]:
    return [
        "file_link",
        "folder_link/secret.txt",
        "relative_link/secret.txt",
        "sub/up",
        "chain",
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        str(outside / "secret.txt"),
        f"root{outside}/secret.txt",
        f"/proc/self/root{outside}/secret.txt",
        f"/proc/self/cwd/../..{outside}/secret.txt",
        "/dev/fd/0",
        "descriptors/0",
        "loop",
        "nul\0byte",
    ]


def calls(name: str, content: str = SECRET) -> list[tuple[Tool, dict[str, object]]]:
    patch = f"*** Begin Patch\n*** Update File: {name}\n-{content}\n+changed\n*** End Patch"
    return [
        (read_file, {"path": name}),
        (write_file, {"path": name, "content": "changed"}),
        (edit_file, {"path": name, "old": content[:8], "new": "changed"}),
        (apply_patch, {"patch": patch}),
        (grep, {"pattern": "secret", "path": name}),
        (list_dir, {"path": name}),
        (glob, {"pattern": "*", "path": name}),
    ]


async def test_no_name_leads_out(bench: Bench, outside: Path) -> None:
    for name in names(outside):
        for tool, arguments in calls(name):
            told = await bench.refusal(tool, **arguments)
            assert SECRET not in told, (tool.name, name)
    assert (outside / "secret.txt").read_text() == SECRET
    assert os.listdir(outside) == ["secret.txt"]


async def test_nothing_is_created_through_a_link_that_leads_out(bench: Bench, outside: Path) -> None:
    (bench.workspace / "dangling").symlink_to(outside / "new.txt")
    for name in ("dangling", "folder_link/new.txt", "folder_link/deep/new.txt", "relative_link/new.txt"):
        await bench.refusal(write_file, path=name, content="x")
        await bench.refusal(apply_patch, patch=f"*** Begin Patch\n*** Add File: {name}\n+x\n*** End Patch")
    assert os.listdir(outside) == ["secret.txt"]


@pytest.mark.parametrize("kernel_resolves", [True, False])
async def test_a_kernel_without_openat2_gives_the_same_answers(
    bench: Bench, outside: Path, kernel_resolves: bool
) -> None:
    bench.write("sub/real.txt", "inside")
    (bench.workspace / "near").symlink_to("sub/real.txt")
    (bench.workspace / "absolute").symlink_to(bench.workspace / "sub/real.txt")
    (bench.workspace / "folder").symlink_to("sub")
    with Root(bench.workspace, kernel_resolves=kernel_resolves) as root:
        for name in ("near", "absolute", "folder/real.txt", "folder/../near", str(bench.workspace / "near")):
            fd = root.open(name, os.O_RDONLY)
            assert (os.read(fd, 100), root.real(fd)) == (b"inside", "sub/real.txt")
            os.close(fd)
        for name in names(outside):
            with pytest.raises((OpenAgentError, OSError)):
                root.open(name, os.O_RDONLY)


async def test_links_that_stay_inside_are_followed_and_stay_links(bench: Bench) -> None:
    file = bench.write("sub/real.txt", "old text")
    (bench.workspace / "near").symlink_to("sub/real.txt")
    await bench.text(edit_file, path="near", old="old", new="new")
    assert (bench.workspace / "near").is_symlink()
    assert file.read_text() == "new text"


async def test_a_link_does_not_hide_from_policy_where_it_leads(bench: Bench) -> None:
    hook = bench.write(".git/hooks/pre-commit", "#!/bin/sh\n")
    bench.write(".env", "KEY=1")
    (bench.workspace / "innocent").symlink_to(".git/hooks")
    (bench.workspace / "notes.txt").symlink_to(".env")
    for tool, arguments in [*calls("innocent/pre-commit")[:4], *calls("notes.txt")[:4]]:
        assert "is a link that leads to ." in await bench.refusal(tool, **arguments)
    assert hook.read_text() == "#!/bin/sh\n"
    assert await bench.text(read_file, path=".env") == "1\tKEY=1"
    bench.write("node_modules/.pnpm/pkg/index.js", "x")
    (bench.workspace / "node_modules/pkg").symlink_to(".pnpm/pkg")
    assert await bench.text(read_file, path="node_modules/pkg/index.js") == "1\tx"


async def test_writing_to_a_hard_link_leaves_the_other_name_alone(bench: Bench, outside: Path) -> None:
    for place in (1, 2, 3):
        linked = bench.workspace / f"linked{place}"
        os.link(outside / "secret.txt", linked)
        tool, arguments = calls(linked.name)[place]
        await bench.text(tool, **arguments)
        assert "changed" in linked.read_text()
        assert (outside / "secret.txt").read_text() == SECRET


async def test_pipes_sockets_and_devices_are_refused_at_once(bench: Bench) -> None:
    os.mkfifo(bench.workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(bench.workspace):
        listener.bind("socket")
        with contextlib.suppress(PermissionError):
            os.mknod(bench.workspace / "device", 0o20666, os.makedev(1, 5))
        for name in os.listdir(bench.workspace):
            for tool, arguments in calls(name)[:4]:
                told = await bench.refusal(tool, **arguments)
                assert any(word in told for word in ("pipe", "socket", "device")), told
        assert "No" in await bench.text(grep, pattern="x")
        assert "pipe (special)" in await bench.text(list_dir)


SWAPPED_CALLS = ("open", "stat", "lstat", "readlink", "mkdir", "rename", "unlink", "rmdir", "scandir", "listdir")


class Swap:
    """Puts a link to the outside in a folder's place, right before one chosen call to the operating system."""

    def __init__(self, bench: Bench, outside: Path, before_call: int, patch: pytest.MonkeyPatch) -> None:
        self._folder = bench.workspace / "folder"
        self._link = bench.workspace / "link"
        self._left = before_call
        self._rename = os.rename
        bench.write("folder/secret.txt", "harmless")
        self._link.symlink_to(outside)
        for name in SWAPPED_CALLS:
            patch.setattr(os, name, self._watched(getattr(os, name)))

    def _watched(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **more: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                self._rename(self._folder, self._folder.with_name("aside"))
                self._rename(self._link, self._folder)
            return call(*arguments, **more)

        return watched

    @property
    def happened(self) -> bool:
        return self._left <= 0


@pytest.mark.parametrize("resolved_by", ["kernel", "walking"])
@pytest.mark.parametrize("name", ["folder/secret.txt", "folder/new/file.txt"])
async def test_a_folder_swapped_for_a_link_at_any_moment_leads_nowhere(
    tmp_path: Path, outside: Path, resolved_by: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if resolved_by == "walking":
        monkeypatch.setattr("openagent.filesystem.resolving._OPENAT2", 1 << 20)
    for tool, arguments in calls(name, "harmless")[:4]:
        for moment in itertools.count(1):
            workspace = tmp_path / f"{tool.name}-{moment}"
            workspace.mkdir()
            bench = Bench(workspace, tmp_path / "scratch")
            with monkeypatch.context() as patch:
                swap = Swap(bench, outside, moment, patch)
                outcome = await bench.run(tool, **arguments)
            assert SECRET not in outcome.text
            assert (outside / "secret.txt").read_text() == SECRET
            assert os.listdir(outside) == ["secret.txt"]
            if not swap.happened:
                break


SWAPPER = """
import contextlib, os
while True:
    for way in ("real", "link"):
        with contextlib.suppress(OSError):
            os.rename(way, "folder")
            os.rename("folder", way)
"""


async def test_a_folder_swapped_for_a_link_again_and_again_leads_nowhere(bench: Bench, outside: Path) -> None:
    bench.write("real/secret.txt", "harmless")
    (bench.workspace / "link").symlink_to(outside)
    worked = 0
    with subprocess.Popen([sys.executable, "-c", SWAPPER], cwd=bench.workspace) as swapper:
        try:
            end = time.monotonic() + 1.0
            while time.monotonic() < end:
                for tool, arguments in calls("folder/secret.txt", "harmless")[:4]:
                    outcome = await bench.run(tool, **arguments)
                    assert SECRET not in outcome.text
                    worked += not outcome.is_error
                await bench.run(write_file, path="folder/new/file.txt", content="x")
        finally:
            swapper.kill()
    assert (outside / "secret.txt").read_text() == SECRET
    assert os.listdir(outside) == ["secret.txt"]
    assert worked


async def test_no_descriptor_is_left_open(bench: Bench, outside: Path) -> None:
    bench.write("a.txt", "text")
    before = len(os.listdir("/proc/self/fd"))
    for name in [*names(outside), "a.txt", "sub", "none/none"]:
        for tool, arguments in calls(name):
            if tool is not grep:
                await bench.run(tool, **arguments)
    assert len(os.listdir("/proc/self/fd")) == before
