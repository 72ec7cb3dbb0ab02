"""What changed between two trees of the private store: counts for every file, patches up to a bound."""

import subprocess
from pathlib import Path
from typing import Literal, NamedTuple

from openagent.plugins.runs_outside import runs_outside
from openagent.protocol.undo import ChangedFile
from openagent.workspace.git import private_environment, require_git, run_git
from openagent.workspace.ignored import Ignored
from openagent.workspace.tree import shown

MAX_PATCH = 64 << 10
MAX_PATCHES = 4 << 20
_OPTIONS = ["diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--full-index"]
_STATUS: dict[bytes, Literal["A", "M", "D", "R"]] = {b"A": "A", b"D": "D", b"R": "R"}


class _Change(NamedTuple):
    path: bytes
    old_path: bytes
    status: Literal["A", "M", "D", "R"]


def tree_changes(
    git_dir: Path, before: str, after: str, ignored: Ignored, *, patches: bool = True, longest: int = MAX_PATCH
) -> list[ChangedFile]:
    """Patches of up to `longest` bytes each."""
    changes = _raw(run_git(git_dir, [*_OPTIONS, "--raw", "-z", before, after]).stdout)
    if not changes:
        return []
    counts = _counts(run_git(git_dir, [*_OPTIONS, "--numstat", "-z", before, after]).stdout)
    found = _patches(git_dir, before, after) if patches else []
    unseen = ignored.among([path for change in changes for path in (change.path, change.old_path) if path])
    result: list[ChangedFile] = []
    for number, change in enumerate(changes):
        added, removed = counts.get(change.path, ("0", "0"))
        patch = found[number] if number < len(found) else b""
        outside = runs_outside(shown(change.path)) if change.status != "D" else ""
        folded = not outside and change.path in unseen and (not change.old_path or change.old_path in unseen)
        result.append(
            ChangedFile(
                path=shown(change.path),
                status=change.status,
                added=0 if added == "-" else int(added),
                removed=0 if removed == "-" else int(removed),
                patch=_whole_lines(patch, longest).decode("utf-8", "replace"),
                old_path=shown(change.old_path),
                binary=added == "-",
                runs_outside=outside,
                ignored=folded,
                cut=len(patch) > longest or (patches and number >= len(found)),
            )
        )
    return result


def _whole_lines(patch: bytes, longest: int) -> bytes:
    """A line that is cut would pass for one that was written so."""
    return patch if len(patch) <= longest else patch[: patch.rfind(b"\n", 0, longest) + 1]


def whole_patch(git_dir: Path, before: str, after: str) -> bytes:
    """Between two objects, not cut, with the same hunks as `tree_changes` tells."""
    return run_git(git_dir, ["diff", "--no-ext-diff", "--no-textconv", before, after]).stdout


def _raw(listing: bytes) -> list[_Change]:
    fields = iter(listing.split(b"\0")[:-1])
    changes: list[_Change] = []
    for description in fields:
        letter = description.split(b" ")[4][:1]
        path = next(fields)
        old = b""
        if letter == b"R":
            old, path = path, next(fields)
        changes.append(_Change(path, old, _STATUS.get(letter, "M")))
    return changes


def _counts(listing: bytes) -> dict[bytes, tuple[str, str]]:
    fields = iter(listing.split(b"\0")[:-1])
    counts: dict[bytes, tuple[str, str]] = {}
    for field in fields:
        added, removed, path = field.split(b"\t", 2)
        if not path:
            next(fields)
            path = next(fields)
        counts[path] = (added.decode(), removed.decode())
    return counts


def _patches(git_dir: Path, before: str, after: str) -> list[bytes]:
    """One for each change, in order, as far as they fit; the last one that was read may be cut."""
    with subprocess.Popen(
        [require_git(), *_OPTIONS, "-p", before, after],
        env=private_environment(git_dir),
        cwd=git_dir,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        if process.stdout is None:
            raise AssertionError("the pipe was asked for")
        output = process.stdout.read(MAX_PATCHES + 1)
        process.kill()
    patches = [b"diff --git " + patch for patch in (b"\n" + output).split(b"\ndiff --git ")[1:]]
    return patches[:-1] if len(output) > MAX_PATCHES else patches
