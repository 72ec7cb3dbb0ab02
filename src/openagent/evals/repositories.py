"""An instance's repository as it was, from a folder, an archive or a clone, as a git repository of one commit."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from openagent.evals.instances import Instance
from openagent.protocol.errors import OpenAgentError

_ARCHIVES = (".tar.xz", ".tar.gz", ".tgz", ".tar")
_IDENTITY = ("-c", "user.name=eval", "-c", "user.email=eval@localhost", "-c", "commit.gpgsign=false")
_PLAIN = ("-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false", "-c", "gc.auto=0")


def lay_out(instance: Instance, repositories: Path, place: Path) -> None:
    """Into a folder that is not there yet."""
    if place.exists():
        shutil.rmtree(place)
    for suffix in _ARCHIVES:
        if (archive := repositories / f"{instance.instance_id}{suffix}").is_file():
            _unpack(archive, place)
            break
    else:
        _from_folder_or_clone(instance, repositories, place)
    if not (place / ".git").exists():
        _git(place, "init", "--quiet", "--initial-branch=main")
    (place / ".git/info").mkdir(exist_ok=True)
    commit(place)


def commit(place: Path) -> None:
    """All that is there, so that what is changed afterwards can be told from it."""
    _git(place, "add", "--all", "--force")
    _git(place, "commit", "--quiet", "--allow-empty", "--message", "As it was")


def difference(place: Path, before: Path) -> str:
    """What was changed since, new files included. `before` is a git directory that nobody else has touched: what one
    says that an agent had in its hands, git would do."""
    there = ("--git-dir", str(before), "--work-tree", str(place))
    _git(place, *there, "add", "--all")
    return _git(place, *there, "diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "HEAD")


def _from_folder_or_clone(instance: Instance, repositories: Path, place: Path) -> None:
    if (folder := repositories / instance.instance_id).is_dir():
        shutil.copytree(folder, place, symlinks=True)
        return
    owner, _, name = instance.repo.partition("/")
    tried = [f"{owner}__{name}", f"{owner}__{name}.git", name, f"{name}.git", instance.repo]
    for clone in (repositories / each for each in tried):
        if (clone / "HEAD").is_file() or (clone / ".git").exists():
            _from_clone(clone, instance.base_commit, place)
            return
    raise OpenAgentError(
        "not_found",
        f"{repositories} has no repository for {instance.instance_id}.",
        hint=f"Put a folder {instance.instance_id}, an archive {instance.instance_id}.tar.xz or a clone "
        f"{owner}__{name} there.",
    )


def _from_clone(clone: Path, base_commit: str, place: Path) -> None:
    """Without its history: later commits hold the answer."""
    place.mkdir(parents=True)
    git_dir = clone if (clone / "HEAD").is_file() else clone / ".git"
    with subprocess.Popen(
        ("git", *_PLAIN, "--git-dir", str(git_dir), "archive", "--format=tar", base_commit),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as exported:
        assert exported.stdout is not None
        assert exported.stderr is not None
        try:
            with tarfile.open(fileobj=exported.stdout, mode="r|") as archive:
                _extract(archive, place)
        except tarfile.TarError:
            pass
        said = exported.stderr.read().decode(errors="replace").strip()
    if exported.returncode:
        raise OpenAgentError("not_found", f"{clone} has no commit {base_commit}: {said}.")


def _extract(archive: tarfile.TarFile, place: Path) -> None:
    """Nothing outside `place`. Python 3.11.0 to 3.11.3, Debian 12's among them, have no filter for that."""
    if hasattr(tarfile, "tar_filter"):
        archive.extractall(place, filter="tar")
        return
    for member in archive:
        if not (place / member.name).parent.resolve().is_relative_to(place.resolve()):
            raise tarfile.TarError(f"{member.name} leads out of the archive")
        archive.extract(member, place)


def _unpack(archive: Path, place: Path) -> None:
    """With or without one folder around everything."""
    beside = place.with_name(f"{place.name}.unpacked")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        with tarfile.open(archive) as packed:
            _extract(packed, beside)
    except (OSError, tarfile.TarError) as problem:
        raise OpenAgentError("invalid_argument", f"{archive} cannot be unpacked: {problem}.") from None
    within = list(beside.iterdir())
    if len(within) == 1 and within[0].is_dir() and within[0].name != ".git":
        within[0].rename(place)
        beside.rmdir()
    else:
        beside.rename(place)


def _git(place: Path, *arguments: str) -> str:
    done = subprocess.run(
        ("git", *_PLAIN, *_IDENTITY, *arguments),
        cwd=place,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", ""), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"},
    )
    if done.returncode:
        raise OpenAgentError(
            "internal", f"git {' '.join(arguments)} failed: {done.stderr.decode(errors='replace').strip()}"
        )
    return done.stdout.decode(errors="surrogateescape")
