"""`openagent workspaces`"""

import os
import re
import time
from collections.abc import Sequence
from typing import TypeVar, cast

import click
from msgspec import Struct

from openagent.cli.changes import show_changes
from openagent.cli.command import as_json, ask_daemon, command, examples, group, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client.text import ago, clean, size
from openagent.protocol.workspaces import (
    CopyMethod,
    WorkspaceBackup,
    WorkspacesBackup,
    WorkspacesCollect,
    WorkspacesCreate,
    WorkspacesDiff,
    WorkspacesList,
    WorkspacesMerge,
    WorkspacesRemove,
    WorkspacesRestore,
)

R = TypeVar("R", bound=Struct)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@group(
    "workspaces",
    invoke_without_command=True,
    epilog=examples(
        "openagent workspaces create . attempt",
        'openagent run --cwd "$(openagent workspaces list --json | jq -r .copies[0].path)" "Try it another way"',
        "openagent workspaces merge attempt-1a2b3c",
    ),
)
@click.pass_context
def workspaces(ctx: click.Context) -> None:
    """Copies of workspaces, to try something in and merge back; backups; listed when no command is given."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_copies)


@command("list", "openagent workspaces list", "openagent workspaces list --cwd . --json")
@click.option("--cwd", metavar="DIR", help="Only copies of this workspace.")
@as_json
def list_copies(cwd: str | None, as_json: bool) -> None:
    """List the copies there are."""
    answer = ask_daemon(WorkspacesList(id="-", cwd=_absolute(cwd) if cwd else ""))
    found = answer.copies
    if as_json:
        print_json(answer)
    elif found:
        now = time.time()
        rows = [(copy.id, ago(copy.created_at, now), copy.method, copy.origin, copy.path) for copy in found]
        say(table(("ID", "MADE", "METHOD", "OF", "PATH"), rows))
    else:
        say("There are no copies. `openagent workspaces create DIR NAME` makes one.")


@command("create", "openagent workspaces create . attempt", "openagent workspaces create ~/project big --max-size 2g")
@click.argument("cwd", metavar="DIR")
@click.argument("name")
@click.option(
    "--method", type=click.Choice(["overlay", "worktree", "copy"]), help="The cheapest that works when left out."
)
@click.option("--max-size", metavar="SIZE", help="Refuse when DIR is larger, such as 500m or 2g.")
@click.option("--max-files", type=click.IntRange(min=1), metavar="N", help="Refuse when DIR holds more files.")
@as_json
def create(
    *, cwd: str, name: str, method: str | None, max_size: str | None, max_files: int | None, as_json: bool
) -> None:
    """Make a copy of DIR. Work in it with `openagent run --cwd PATH`; DIR stays as it is until you merge."""
    op = WorkspacesCreate(
        id="-",
        cwd=_absolute(cwd),
        name=name,
        method=cast("CopyMethod | None", method),
        max_bytes=_bytes(max_size) if max_size else None,
        max_files=max_files,
    )
    copy = ask_daemon(op)
    if as_json:
        print_json(plain(copy))
        return
    say(f'{copy.id}  ({copy.method})\n{clean(copy.path)}\nGo on with `openagent run --cwd {clean(copy.path)} "…"`.')
    _show_left_out(copy.left_out)


@command("diff", "openagent workspaces diff attempt-1a2b3c")
@click.argument("copy", metavar="COPY")
@click.option("--names", is_flag=True, help="Only which files.")
@click.option("--ignored", is_flag=True, help="Also what changed in files that git ignores, at the end.")
@as_json
def diff(copy: str, *, names: bool, ignored: bool, as_json: bool) -> None:
    """Show what a copy has changed since it was made or last merged."""
    changes = ask_daemon(WorkspacesDiff(id="-", copy=copy))
    if as_json:
        print_json(changes)
    else:
        show_changes(changes.files, nothing="It has changed nothing.", only_names=names, ignored_too=ignored)


@command("merge", "openagent workspaces merge attempt-1a2b3c")
@click.argument("copy", metavar="COPY")
@as_json
def merge(copy: str, as_json: bool) -> int:
    """Bring a copy's changes back. Exit code 1 when some conflict: those stay as they are on both sides."""
    merged = ask_daemon(WorkspacesMerge(id="-", copy=copy))
    if as_json:
        print_json(plain(merged))
        return int(bool(merged.conflicts))
    for path in merged.applied:
        say(f"  {clean(path)}")
    for path in merged.merged:
        say(f"  {clean(path)}  (both changes are in)")
    for conflict in merged.conflicts:
        say(f"! {clean(conflict.path)}: {clean(conflict.reason)}")
    count = len(merged.applied) + len(merged.merged)
    say(f"{count} merged, {len(merged.conflicts)} in conflict." if count or merged.conflicts else "Nothing to merge.")
    return int(bool(merged.conflicts))


@command("remove", "openagent workspaces remove attempt-1a2b3c", "openagent workspaces remove --force attempt-1a2b3c")
@click.argument("copy", metavar="COPY")
@click.option("--force", is_flag=True, help="Also with changes that were not merged back.")
@as_json
def remove(copy: str, force: bool, as_json: bool) -> None:
    """Delete a copy."""
    ask_daemon(WorkspacesRemove(id="-", copy=copy, force=force))
    if as_json:
        print_json({"removed": copy})
    else:
        say(f"Removed {clean(copy)}.")


@command("backup", "openagent workspaces backup . ~/project.tar.gz")
@click.argument("cwd", metavar="DIR")
@click.argument("archive", metavar="ARCHIVE")
@as_json
def backup(cwd: str, archive: str, as_json: bool) -> None:
    """Write all of DIR into an archive."""
    _show_backup(ask_daemon(WorkspacesBackup(id="-", cwd=_absolute(cwd), archive=_absolute(archive))), as_json)


@command("restore", "openagent workspaces restore ~/project.tar.gz ~/project-restored")
@click.argument("archive", metavar="ARCHIVE")
@click.argument("to", metavar="DIR")
@as_json
def restore(archive: str, to: str, as_json: bool) -> None:
    """Unpack an archive into DIR, which must be empty or not exist yet."""
    _show_backup(ask_daemon(WorkspacesRestore(id="-", archive=_absolute(archive), to=_absolute(to))), as_json)


@command("gc", "openagent workspaces gc", "openagent workspaces gc --keep 50")
@click.option("--keep", type=click.IntRange(min=1), default=200, show_default=True, help="Checkpoints of each session.")
@as_json
def gc(keep: int, as_json: bool) -> None:
    """Give back the space of old checkpoints, of deleted sessions and of copies that were left behind."""
    done = ask_daemon(WorkspacesCollect(id="-", keep=keep))
    if as_json:
        print_json(plain(done))
    else:
        say(f"{size(done.freed_bytes)} freed: {done.checkpoints} checkpoints, {done.copies} copies.")


def _show_backup(done: WorkspaceBackup, as_json: bool) -> None:
    if as_json:
        print_json(plain(done))
        return
    say(f"{done.files} files: {clean(done.archive)}")
    _show_left_out(done.left_out)


def _show_left_out(left_out: Sequence[str]) -> None:
    for left in left_out:
        say(f"! left out: {clean(left)}")


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _bytes(text: str) -> int:
    parsed = re.fullmatch(r"(\d+)([kmgt]?)", text.lower())
    if parsed is None:
        raise click.UsageError(f"{text!r} is no size: write 500m or 2g.")
    return int(parsed[1]) * _UNITS[parsed[2]]


for each in (list_copies, create, diff, merge, remove, backup, restore, gc):
    workspaces.add_command(each)
