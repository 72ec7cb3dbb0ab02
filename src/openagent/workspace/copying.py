"""The three ways to make a copy of a workspace, and to take it away again.

Git is run in the user's repository here and nowhere else, with hooks and helpers off and nothing checked out by it:
whoever could write to that repository's settings must not get a program run by us.
"""

import logging
import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from openagent.filesystem.beneath import opened_root
from openagent.filesystem.handles import LINUX
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.apply import Apply
from openagent.workspace.backup import discard_tree
from openagent.workspace.git import BlobReader, private_environment, require_git
from openagent.workspace.git_state import passed_over
from openagent.workspace.snapshots import Snapshot, Snapshots
from openagent.workspace.tree import Folder, Manifest, empty_folder

_HARMLESS = [
    *(
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "gc.auto=0",
        "-c",
        "maintenance.auto=false",
    ),
    *("-c", "core.sshCommand=false", "-c", "protocol.allow=never", "-c", "submodule.recurse=false"),
    *("-c", "core.pager=cat", "-c", "core.editor=false", "-c", "credential.helper="),
]

_log = logging.getLogger(__name__)


class CannotCopy(Exception):
    """This way does not work here; the message says why."""


def materialise(store: Snapshots, files: Manifest, to: Path, debris: bytes = b".openagent-new-") -> None:
    with BlobReader(store.directory) as reader, opened_root(to) as root:
        Apply(reader, Manifest(empty_folder(), []), files, debris).run(root)


def without_repository(files: Manifest) -> Manifest:
    """A work tree's `.git` file belongs to that place, and is no content to carry elsewhere."""
    if b".git" not in files.root.files:
        return files
    kept = {name: entry for name, entry in files.root.files.items() if name != b".git"}
    return Manifest(Folder(files.root.mode, kept, files.root.folders), files.left_out)


_SHARING = ("--reflink=auto",) if LINUX else ("-c",)
"""How `cp` is told to share blocks; that of macOS copies where it cannot."""


def copy_tree(origin: Path, to: Path) -> None:
    """Shares blocks with the origin where the filesystem can."""
    if (origin / ".git").is_file():
        raise CannotCopy("it is a work tree of another repository, and only git can make another one of those")
    to.mkdir(parents=True)
    done = subprocess.run(
        ["cp", "-a", *_SHARING, "--", f"{origin}/.", str(to)],
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise CannotCopy(said[0] if said else f"cp ended with {done.returncode}")


def add_worktree(store: Snapshots, snapshot: Snapshot, to: Path) -> list[str]:
    """A detached work tree with the origin's files as they are, staged changes included. Gives what it depends on."""
    origin = store.workspace
    if not (origin / ".git").exists():
        raise CannotCopy("the workspace is no git repository")
    common = _git(origin, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if Path(_git(origin, "rev-parse", "--show-toplevel")) != origin:
        raise CannotCopy("the workspace is not the top folder of its repository")
    index = Path(_git(origin, "rev-parse", "--path-format=absolute", "--git-path", "index"))
    _git(origin, "worktree", "add", "--no-checkout", "--detach", "--quiet", str(to), "HEAD")
    materialise(store, without_repository(snapshot.files), to)
    if index.is_file():
        shutil.copyfile(index, Path((to / ".git").read_text().removeprefix("gitdir:").strip()) / "index")
    return [common]


def remove_worktree(origin: Path, path: Path) -> None:
    with suppress(CannotCopy, OSError):
        _git(origin, "worktree", "remove", "--force", "--force", str(path))
    discard_tree(path)


def _git(workspace: Path, *arguments: str) -> str:
    environment = private_environment(workspace)
    del environment["GIT_DIR"]
    done = subprocess.run(
        [require_git(), *_HARMLESS, *arguments], cwd=workspace, env=environment, capture_output=True, check=False
    )
    if done.returncode:
        raise CannotCopy(done.stderr.decode("utf-8", "replace").strip()[:300])
    return os.fsdecode(done.stdout).removesuffix("\n")


class Overlays:
    """Copies that share one read-only base and keep only what changes. Mounting needs root.

    The base is a frozen copy and not the workspace itself: the kernel does not define what an overlay shows when
    what lies under it changes, and the person goes on working there.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def create(self, store: Snapshots, snapshot: Snapshot, copy: str, name: str) -> str:
        """Gives the name of the base."""
        if not LINUX:
            raise CannotCopy("only Linux has overlays")
        if os.geteuid() != 0:
            raise CannotCopy("only root may mount an overlay")
        if (store.workspace / ".git").is_file():
            raise CannotCopy("it is a work tree of another repository, and only git can make another one of those")
        base = self._base(store, snapshot)
        place = self._directory / copy
        for folder in ("upper", "work", name):
            (place / folder).mkdir(parents=True)
        status = os.stat(self._directory / "bases" / base)
        shutil.copymode(self._directory / "bases" / base, place / "upper")
        os.chown(place / "upper", status.st_uid, status.st_gid)
        self.mount(copy, name, base)
        return base

    def _base(self, store: Snapshots, snapshot: Snapshot) -> str:
        name = snapshot.tree.hex()
        base = self._directory / "bases" / name
        if base.is_dir():
            return name
        partial = base.with_name(f"{name}.partial")
        discard_tree(partial)
        partial.mkdir(parents=True)
        owner = os.stat(store.workspace)
        os.chown(partial, owner.st_uid, owner.st_gid)
        materialise(store, snapshot.files, partial)
        if snapshot.repository:
            (partial / ".git").mkdir()
            os.chown(partial / ".git", owner.st_uid, owner.st_gid)
            materialise(store, snapshot.repository, partial / ".git")
            _share_objects(store.workspace / ".git", partial / ".git")
        partial.rename(base)
        return name

    def mount(self, copy: str, name: str, base: str) -> None:
        """Names relative to where mount runs: they hold none of the characters its options give a meaning."""
        merged = self._directory / copy / name
        if os.path.ismount(merged):
            return
        options = f"lowerdir=bases/{base},upperdir={copy}/upper,workdir={copy}/work"
        try:
            done = subprocess.run(
                ["mount", "-t", "overlay", "overlay", "-o", options, str(merged)],
                cwd=self._directory,
                capture_output=True,
                check=False,
            )
        except FileNotFoundError:
            raise CannotCopy("there is no mount program") from None
        if done.returncode:
            raise CannotCopy(done.stderr.decode("utf-8", "replace").strip()[:300])

    def unmount(self, copy: str, name: str) -> None:
        merged = self._directory / copy / name
        if os.path.ismount(merged):
            done = subprocess.run(["umount", str(merged)], capture_output=True, check=False)
            if done.returncode:
                raise OpenAgentError(
                    "busy",
                    f"The copy {copy} is still in use: {done.stderr.decode('utf-8', 'replace').strip()[:300]}.",
                    hint="End what runs in it, then try again.",
                )

    def unmount_all(self) -> None:
        """None is needed while no daemon runs: whoever wants one mounts it again. One in use stays."""
        for place in self._mounted():
            done = subprocess.run(["umount", place], capture_output=True, check=False)
            if done.returncode:
                said = done.stderr.decode("utf-8", "replace").strip()[:300]
                _log.warning(
                    "workspace copy could not be unmounted", extra={"path": os.fsdecode(place), "reason": said}
                )

    def _mounted(self) -> list[bytes]:
        """Of our copies, the last mounted first."""
        below = os.fsencode(self._directory.resolve()) + b"/"
        if not os.path.isdir(below):
            return []
        try:
            lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
        except OSError:
            return []
        # The kernel writes blanks and the like in a path as octal numbers.
        places = [re.sub(rb"\\(\d{3})", lambda found: bytes([int(found[1], 8)]), line.split()[4]) for line in lines]
        return [place for place in reversed(places) if place.startswith(below)]

    def discard_unused_bases(self, used: set[str]) -> None:
        bases = self._directory / "bases"
        for base in bases.iterdir() if bases.is_dir() else ():
            if base.name not in used:
                discard_tree(base)


def _share_objects(repository: Path, to: Path) -> None:
    """Linked, not copied: through the overlay nobody can write to the base."""
    for folder, names, _ in os.walk(repository):
        inside = Path(folder).relative_to(repository)
        siblings = {os.fsencode(name) for name in os.listdir(folder)}
        for name in [name for name in names if passed_over(os.fsencode(inside), os.fsencode(name), siblings)]:
            names.remove(name)
            if name in ("objects", "lfs"):
                shutil.copytree(Path(folder) / name, to / inside / name, copy_function=_link_or_copy, symlinks=True)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
