"""Backups: a whole workspace in one file, and archives that are not to be trusted."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from openagent.plugins.workspace import Quota
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.copies import WorkspaceCopies
from tests.workspace.trees import Editor, git, manifest

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("seed", range(5))
async def test_a_backup_brings_everything_back(
    copies: WorkspaceCopies, workspace: Path, tmp_path: Path, seed: int
) -> None:
    Editor(workspace, seed).edit(60)
    git(workspace, "init", "-q")
    os.mkfifo(workspace / "pipe")
    archive = tmp_path / "backup.tar.gz"
    made = await copies.backup(workspace, archive)
    assert [left.path for left in made.left_out] == ["pipe"]
    restored = await copies.restore_backup(archive, tmp_path / "again")
    outside = {os.fsencode(left.path) for left in restored.left_out if left.path.isascii() and "\\" not in left.path}
    want, have = manifest(workspace, without=()), manifest(tmp_path / "again", without=())
    missing = {path for path in want if path not in have}
    assert missing >= outside
    assert len(missing) == len(restored.left_out)
    assert all(want[path][0] == "link" for path in missing)
    assert have == {path: entry for path, entry in want.items() if path not in missing}


def _archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "./a", "a//b", ".."])
async def test_a_path_that_leads_out_is_refused(copies: WorkspaceCopies, tmp_path: Path, name: str) -> None:
    archive = _archive(tmp_path / "evil.tar.gz", (_member(name), b"evil"))
    with pytest.raises(OpenAgentError, match="cannot be restored"):
        await copies.restore_backup(archive, tmp_path / "into" / "folder")
    assert list((tmp_path / "into").iterdir()) == []
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("target", ["/etc", "..", "../outside", "a/../../outside", "inside/.."])
async def test_a_link_that_leads_out_is_left_out_and_not_written_through(
    copies: WorkspaceCopies, tmp_path: Path, target: str
) -> None:
    (tmp_path / "outside").mkdir()
    link = _member("link", tarfile.SYMTYPE, target)
    alone = _archive(tmp_path / "link.tar.gz", (link, b""))
    restored = await copies.restore_backup(alone, tmp_path / "one")
    assert [left.path for left in restored.left_out] == ["link"]
    assert list((tmp_path / "one").iterdir()) == []
    through = _archive(tmp_path / "through.tar.gz", (link, b""), (_member("link/evil"), b"evil"))
    with pytest.raises(OpenAgentError, match="cannot be restored"):
        await copies.restore_backup(through, tmp_path / "two")
    assert list((tmp_path / "outside").iterdir()) == []


async def test_a_link_inside_is_kept_but_not_written_through(copies: WorkspaceCopies, tmp_path: Path) -> None:
    archive = _archive(
        tmp_path / "archive.tar.gz",
        (_member("folder", tarfile.DIRTYPE), b""),
        (_member("link", tarfile.SYMTYPE, "folder"), b""),
        (_member("link/file"), b"data"),
    )
    with pytest.raises(OpenAgentError, match="cannot be restored"):
        await copies.restore_backup(archive, tmp_path / "to")


async def test_devices_and_hard_links_are_left_out(copies: WorkspaceCopies, tmp_path: Path) -> None:
    archive = _archive(
        tmp_path / "archive.tar.gz",
        (_member("device", tarfile.CHRTYPE), b""),
        (_member("hard", tarfile.LNKTYPE, "/etc/passwd"), b""),
        (_member("file"), b"data"),
    )
    restored = await copies.restore_backup(archive, tmp_path / "to")
    assert [left.path for left in restored.left_out] == ["device", "hard"]
    assert list(manifest(tmp_path / "to")) == [b"file"]


async def test_a_backup_over_the_quota_leaves_nothing(copies: WorkspaceCopies, tmp_path: Path) -> None:
    archive = _archive(tmp_path / "bomb.tar.gz", (_member("zeros"), bytes(1 << 20)))
    with pytest.raises(OpenAgentError) as problem:
        await copies.restore_backup(archive, tmp_path / "into" / "folder", quota=Quota(bytes=1000))
    assert problem.value.info.code == "workspace_full"
    assert list((tmp_path / "into").iterdir()) == []


async def test_a_folder_that_is_not_empty_and_a_broken_archive_are_refused(
    copies: WorkspaceCopies, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "file").write_text("mine")
    archive = tmp_path / "backup.tar.gz"
    await copies.backup(workspace, archive)
    with pytest.raises(OpenAgentError, match="not empty"):
        await copies.restore_backup(archive, workspace)
    archive.write_bytes(archive.read_bytes()[:40])
    with pytest.raises(OpenAgentError, match="cannot be restored"):
        await copies.restore_backup(archive, tmp_path / "into" / "folder")
    assert list((tmp_path / "into").iterdir()) == []


async def test_a_foreign_archive_brings_nothing_that_git_would_run(
    copies: WorkspaceCopies, workspace: Path, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    for repository in (workspace, workspace / "sub", workspace / "away"):
        repository.mkdir(exist_ok=True)
        git(repository, "init", "-q")
        git(repository, "config", "core.fsmonitor", f"touch {canary} #")
        git(repository, "config", "remote.origin.url", "https://example.org/x")
        hook = repository / ".git" / "hooks" / "post-index-change"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
        hook.chmod(0o755)
    (workspace / "away" / ".git").rename(workspace / "store")
    (workspace / "away" / ".git").write_text("gitdir: ../store\n")
    (workspace / "sub" / ".git").chmod(0o500)
    archive = tmp_path / "foreign.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for path in sorted(workspace.iterdir()):
            tar.add(path, arcname=path.name)
    restored = await copies.restore_backup(archive, tmp_path / "to")
    canary.unlink(missing_ok=True)
    for repository in (".", "sub", "away"):
        git(tmp_path / "to" / repository, "status")
        git(tmp_path / "to" / repository, "add", "-A", check=False)
        assert git(tmp_path / "to" / repository, "config", "remote.origin.url") == "https://example.org/x\n"
    assert not canary.exists()
    told = [f"{left.path}: {left.reason}" for left in restored.left_out]
    assert any(line.startswith("sub/.git") and "core.fsmonitor" in line for line in told), told
    assert any("post-index-change" in line for line in told)


async def test_an_archive_that_was_made_here_keeps_the_persons_hooks(
    copies: WorkspaceCopies, workspace: Path, tmp_path: Path
) -> None:
    git(workspace, "init", "-q")
    git(workspace, "config", "core.hooksPath", ".husky/_")
    made = await copies.backup(workspace, tmp_path / "own.tar.gz")
    (tmp_path / "own.tar.gz").rename(tmp_path / "moved.tar.gz")
    restored = await copies.restore_backup(tmp_path / "moved.tar.gz", tmp_path / "to")
    assert (made.left_out, restored.left_out) == ([], [])
    assert git(tmp_path / "to", "config", "core.hooksPath") == ".husky/_\n"
