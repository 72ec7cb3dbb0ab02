"""`openagent diff`, `undo`, `redo` and `revert`"""

from collections.abc import Sequence
from typing import NamedTuple

import click
import msgspec

from openagent.cli.changes import show_changes
from openagent.cli.command import as_json, command, complete, daemon, plain, print_json, say
from openagent.cli.completion import session_and_paths_argument, session_argument
from openagent.cli.session_here import is_within, session_and_paths, session_or_newest
from openagent.client import Client
from openagent.client.text import clean, outside
from openagent.client.turns import newest_turn
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.review import Reverted, ReviewRevert, ReviewShow
from openagent.protocol.undo import Changes, Rewound, SessionChanges, SessionRedo, SessionUndo

_SHOWN = 20


@command(
    "undo",
    "openagent undo",
    "openagent undo src/app.py",
    "openagent undo 06gx --turn 3",
    "openagent undo 06gx --turn 3 src/app.py docs",
    "openagent undo --conversation",
)
@session_and_paths_argument()
@click.option("--turn", type=click.IntRange(min=1), metavar="N", help="Undo this turn and all after it.")
@click.option("--conversation", is_flag=True, help="Also take the turns out of the conversation.")
@click.option("--files/--no-files", default=True, show_default=True, help="Undo the changes to files.")
@click.option("--git", "git_state", is_flag=True, help="Also the repository's HEAD, branches and index.")
@click.option("--overwrite-others", is_flag=True, help="Also undo files that others changed since, with their changes.")
@as_json
def undo(
    *,
    words: tuple[str, ...],
    turn: int | None,
    conversation: bool,
    files: bool,
    git_state: bool,
    overwrite_others: bool,
    as_json: bool,
) -> int:
    """Undo what the last turn that changed files did to them, or to each PATH alone: a file or a folder.

    Without SESSION, in the newest session of this folder. Run it again to undo the turn before. What others changed
    stays, and so does the conversation, unless you ask for it. `openagent redo` brings everything back.
    """
    if not files and not conversation:
        raise click.UsageError("--no-files leaves nothing to undo without --conversation.")
    others = "overwrite" if overwrite_others else "keep"
    op = SessionUndo(
        id="", session="", turn=0, files=files, conversation=conversation, git_state=git_state, others=others
    )
    done = complete(_undo(words, turn, op))
    nothing = _nothing_undone(done.rewound) and not conversation
    if as_json:
        print_json(plain(done.rewound))
        return int(nothing)
    later = " and the turns after it" if turn else ""
    undid = "Undid nothing of" if nothing else "Undid"
    say(f"{undid} turn {done.rewound.turn}{later} of {done.session}.")
    if files:
        _show(done.rewound, nothing="No file had to change.")
    if done.rewound.others:
        say("To undo those too, with what others did: the same command with --overwrite-others and their paths.")
    if conversation:
        say(f"The agent no longer sees turn {done.rewound.turn} and what came after it.")
    elif not done.paths:
        say("The conversation is as it was; --conversation undoes that too.")
    if done.rewound.undo and not nothing:
        say(f"To bring it back: openagent redo {done.session} {done.rewound.undo}")
    return int(nothing)


def _nothing_undone(done: Rewound) -> bool:
    """All that was wanted was left as it is."""
    return bool(done.others or done.kept) and not (done.written or done.removed or done.git)


class _Undone(NamedTuple):
    session: str
    paths: list[str]
    rewound: Rewound


async def _undo(words: Sequence[str], turn: int | None, op: SessionUndo) -> _Undone:
    async with daemon() as client:
        info, paths = await session_and_paths(client, words)
        if op.conversation and turn is None:
            turn = await newest_turn(client, info.id)
            if not turn:
                raise OpenAgentError("not_found", f"Session {info.id} has no turn left to undo.")
        if op.files and (paths or turn is None):
            turn = await _turn_with(client, info.id, paths, turn, git_state=op.git_state)
        op = msgspec.structs.replace(op, id=client.next_id(), session=info.id, turn=turn or 0, paths=paths)
        return _Undone(info.id, paths, await client.request(op))


async def _turn_with(client: Client, session: str, paths: Sequence[str], turn: int | None, *, git_state: bool) -> int:
    """The turn to undo from, where each path was changed in it or after it."""
    review = await client.request(ReviewShow(id=client.next_id(), session=session))
    turns = review.turns
    changing = [*(each.turn for each in turns), *(review.repository if git_state else ())]
    if not changing:
        also = " or to the repository" if git_state else ""
        if review.missing:
            raise OpenAgentError("not_found", review.missing)
        raise OpenAgentError("not_found", f"Session {session} has no changes to files{also} left to undo.")
    first = turn or max(changing)
    for path in paths:
        changed = [
            each.turn
            for each in turns
            for one in each.files
            if any(is_within(name, path) for name in (one.file.path, one.file.old_path) if name)
        ]
        if not changed:
            raise OpenAgentError(
                "not_found",
                f"Session {session} has no change to {path} left to undo, and no session is called that.",
                hint="`openagent diff --names` shows what the session changed.",
            )
        if changed[-1] < first:
            raise OpenAgentError(
                "not_found",
                f"{path} has no change since turn {first}; turn {changed[-1]} was the last to change it.",
                hint=f"`openagent undo {session} {path} --turn {changed[-1]}` undoes that.",
            )
    return first


@command("redo", "openagent redo", "openagent redo 06gx", "openagent redo 06gx 4f2a91c07be3")
@session_argument("[SESSION]", required=False)
@click.argument("undo", required=False)
@as_json
def redo(session: str | None, undo: str | None, as_json: bool) -> None:
    """Bring back what `undo` or `revert` took: the files, and the conversation if it went too.

    Without SESSION, in the newest session of this folder. Without UNDO, which they print, the last one; run again, the
    one before.
    """
    name, done = complete(_redo(session or "", undo or ""))
    if as_json:
        print_json(plain(done))
        return
    _show(done, nothing="No file had to change.")
    say(f"Redone in {name}.")


async def _redo(session: str, undo: str) -> tuple[str, Rewound]:
    async with daemon() as client:
        info = await session_or_newest(client, session)
        return info.id, await client.request(SessionRedo(id=client.next_id(), session=info.id, undo=undo))


def _show(done: Rewound, *, nothing: str) -> None:
    if done.written or done.removed:
        say(f"{len(done.written)} written, {len(done.removed)} removed.")
    elif nothing and not done.others and not done.kept:
        say(nothing)
    changed = [*done.written, *done.removed]
    for path in changed[:_SHOWN]:
        say(f"  {clean(path)}{_notes(path, done)}")
    if len(changed) > _SHOWN:
        say(f"  … and {len(changed) - _SHOWN} more")
        for path in (path for path in changed[_SHOWN:] if path in done.runs_outside):
            say(f"  {clean(path)}{_notes(path, done)}")
    for left in done.others[:_SHOWN]:
        say(f"! {clean(left.path)} was left as it is: {clean(left.reason)}")
    if len(done.others) > _SHOWN:
        say(f"! … and {len(done.others) - _SHOWN} more were left as they are; --json names them all.")
    for problem in done.kept:
        say(f"! {clean(problem)}")
    if done.git:
        say(f"git: {clean(done.git)}")
    if done.stopped:
        say(clean(f"Stopped what was still at work in the background: {', '.join(done.stopped)}."))
    if done.beside:
        say(clean(f"At work in the same folder, and untouched: {', '.join(done.beside)}."))


def _notes(path: str, done: Rewound | Reverted) -> str:
    notes = ["others’ changes are still in it"] if path in done.merged else []
    notes += [outside(done.runs_outside[path])] if path in done.runs_outside else []
    return f"  ({'; '.join(notes)})" if notes else ""


@command(
    "revert",
    "openagent revert src/app.py",
    "openagent revert src/app.py --hunk 2",
    "openagent revert 06gx src/app.py --turn 3",
)
@session_and_paths_argument("[SESSION] PATH")
@click.option("--hunk", "hunks", type=click.IntRange(min=1), multiple=True, metavar="N", help="Only this hunk of it.")
@click.option("--turn", type=click.IntRange(min=1), metavar="N", help="Only what this turn did to it.")
@as_json
def revert(*, words: tuple[str, ...], hunks: tuple[int, ...], turn: int | None, as_json: bool) -> None:
    """Revert what a session did to one file, or some hunks of it as `openagent diff` shows them, from the top.

    What others wrote stays. Without SESSION, the newest session in this folder.
    """
    name, done = complete(_reverted(words, list(hunks), turn))
    if as_json:
        print_json(plain(done))
        return
    for changed in (*done.written, *done.removed):
        say(f"  {clean(changed)}{_notes(changed, done)}")
    say(f"To bring it back: openagent redo {name} {done.undo}")


async def _reverted(words: Sequence[str], hunks: list[int], turn: int | None) -> tuple[str, Reverted]:
    async with daemon() as client:
        info, paths = await session_and_paths(client, words)
        if len(paths) != 1:
            raise OpenAgentError("invalid_argument", "Name one file: `openagent revert [SESSION] PATH`.")
        path = paths[0]
        found = await client.request(ReviewShow(id=client.next_id(), session=info.id, turn=turn))
        version = next((each.version for each in found.files if each.file.path == path), None)
        if version is None:
            raise OpenAgentError(
                "not_found",
                f"Session {info.id} has not changed {path}.",
                hint="`openagent diff` shows what it changed.",
            )
        op = ReviewRevert(id=client.next_id(), session=info.id, path=path, version=version, turn=turn, hunks=hunks)
        return info.id, await client.request(op)


@command("diff", "openagent diff", "openagent diff 06gx --turn 3", "openagent diff --names")
@session_argument("[SESSION]", required=False)
@click.option("--turn", type=click.IntRange(min=1), metavar="N", help="Only what this turn changed.")
@click.option("--names", is_flag=True, help="Only which files.")
@click.option("--ignored", is_flag=True, help="Also what changed in files that git ignores, at the end.")
@as_json
def diff(*, session: str | None, turn: int | None, names: bool, ignored: bool, as_json: bool) -> None:
    """Show what a session, or one turn of it, changed in its workspace; what others changed is left out.

    Without SESSION, the newest session in this folder.
    """
    changes = complete(_changes(session or "", turn))
    if as_json:
        print_json(changes)
    else:
        show_changes(changes.files, nothing="It has changed nothing.", only_names=names, ignored_too=ignored)


async def _changes(session: str, turn: int | None) -> Changes:
    async with daemon() as client:
        info = await session_or_newest(client, session)
        return await client.request(SessionChanges(id=client.next_id(), session=info.id, turn=turn))
