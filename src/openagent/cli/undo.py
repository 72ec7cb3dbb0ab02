"""`openagent diff`, `undo`, `redo` and `sessions rewind`"""

from typing import NamedTuple

import click

from openagent.cli.changes import show_changes
from openagent.cli.command import as_json, ask_daemon, command, complete, daemon, plain, print_json, say
from openagent.cli.completion import session_argument
from openagent.cli.session_here import session_or_newest
from openagent.client.text import clean
from openagent.client.turns import newest_turn
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.review import Reverted, ReviewRevert, ReviewShow
from openagent.protocol.undo import Changes, Rewound, SessionChanges, SessionRewind, SessionUnrewind

_SHOWN = 20


@command(
    "rewind",
    "openagent sessions rewind 06gx --turn 3",
    "openagent sessions rewind 06gx --turn 3 --no-conversation",
    "openagent sessions rewind 06gx --turn 3 --path src/app.py",
    "openagent sessions rewind 06gx --turn 3 --git",
)
@session_argument()
@click.option("--turn", type=click.IntRange(min=1), required=True, metavar="N", help="Back to before this turn.")
@click.option("--files/--no-files", default=True, show_default=True, help="Bring the workspace's files back.")
@click.option(
    "--conversation/--no-conversation", default=True, show_default=True, help="Take what was said since out of sight."
)
@click.option("--git", "git_state", is_flag=True, help="Also the repository's HEAD, branches and index.")
@click.option(
    "--overwrite-others", is_flag=True, help="Also files that others changed since; otherwise those stay as they are."
)
@click.option("--path", "paths", multiple=True, metavar="FILE", help="The same for this file alone; may be repeated.")
@as_json
def rewind(
    *,
    session: str,
    turn: int,
    files: bool,
    conversation: bool,
    git_state: bool,
    overwrite_others: bool,
    paths: tuple[str, ...],
    as_json: bool,
) -> None:
    """Go back to before a turn. Only what the session itself wrote is taken back, and it can be brought again."""
    if not files and not conversation:
        raise click.UsageError("With neither files nor conversation there is nothing to rewind.")
    op = SessionRewind(
        id="",
        session=session,
        turn=turn,
        files=files,
        conversation=conversation,
        git_state=git_state,
        others="overwrite" if overwrite_others else "keep",
        paths=list(paths),
    )
    done = ask_daemon(op)
    if as_json:
        print_json(plain(done))
        return
    _show(done, nothing="No file had changed." if files else "")
    if done.others:
        say("To take those back too: the same command with --overwrite-others, or with --path FILE for some of them.")
    if conversation:
        say(f"The agent no longer sees turn {turn} and what came after it.")
    if done.undo:
        say(f"To bring it back: openagent redo {session} {done.undo}")


@command("undo", "openagent undo", "openagent undo 06gx", "openagent undo 06gx --files-only")
@session_argument("[SESSION]", required=False)
@click.option("--files-only", is_flag=True, help="Leave the conversation as it is.")
@as_json
def undo(session: str | None, files_only: bool, as_json: bool) -> None:
    """Take back the last turn of a session: the files it changed and what was said in it.

    Without SESSION, of the newest session in this folder. Once more takes back the turn before. What others changed
    stays; `openagent sessions rewind` goes back further at once, or brings back single files.
    """
    done = complete(_undo(session or "", files_only))
    if as_json:
        print_json(plain(done.rewound))
        return
    say(f"Turn {done.rewound.turn} of {done.session} is taken back.")
    _show(done.rewound, nothing="It had changed no file.")
    if done.rewound.undo:
        say(f"To bring it back: openagent redo {done.session} {done.rewound.undo}")


class _Undone(NamedTuple):
    session: str
    rewound: Rewound


async def _undo(session: str, files_only: bool) -> _Undone:
    async with daemon() as client:
        info = await session_or_newest(client, session)
        turn = await newest_turn(client, info.id)
        if not turn:
            raise OpenAgentError("not_found", f"Session {info.id} has no turn that could be taken back.")
        op = SessionRewind(id=client.next_id(), session=info.id, turn=turn, conversation=not files_only)
        return _Undone(info.id, await client.request(op))


@command("redo", "openagent redo 06gx 4f2a91c07be3")
@session_argument()
@click.argument("undo")
@as_json
def redo(session: str, undo: str, as_json: bool) -> None:
    """Bring back what `undo` or `sessions rewind` took back: the files and the conversation. They print the UNDO."""
    done = ask_daemon(SessionUnrewind(id="", session=session, undo=undo))
    if as_json:
        print_json(plain(done))
        return
    _show(done, nothing="")
    say("The rewind is taken back.")


def _show(done: Rewound, *, nothing: str) -> None:
    if done.written or done.removed:
        say(f"{len(done.written)} written, {len(done.removed)} removed.")
    elif nothing and not done.others and not done.kept:
        say(nothing)
    changed = [*done.written, *done.removed]
    for path in changed[:_SHOWN]:
        say(f"  {clean(path)}{'  (others’ changes are still in it)' if path in done.merged else ''}")
    if len(changed) > _SHOWN:
        say(f"  … and {len(changed) - _SHOWN} more")
    for left in done.others:
        say(f"! {clean(left.path)} was left as it is: {clean(left.reason)}")
    for problem in done.kept:
        say(f"! {clean(problem)}")
    if done.git:
        say(f"git: {clean(done.git)}")
    if done.stopped:
        say(clean(f"Stopped what was still at work in the background: {', '.join(done.stopped)}."))
    if done.beside:
        say(clean(f"At work in the same folder, and untouched: {', '.join(done.beside)}."))


@command(
    "revert", "openagent revert src/app.py", "openagent revert src/app.py --hunk 2", "openagent revert a.py --turn 3"
)
@click.argument("path")
@session_argument("[SESSION]", required=False)
@click.option("--hunk", "hunks", type=click.IntRange(min=1), multiple=True, metavar="N", help="Only this hunk of it.")
@click.option("--turn", type=click.IntRange(min=1), metavar="N", help="Only what this turn did to it.")
@as_json
def revert(*, path: str, session: str | None, hunks: tuple[int, ...], turn: int | None, as_json: bool) -> None:
    """Take back what a session did to one file, or some hunks of it as `openagent diff` shows them, from the top.

    What others wrote stays. Without SESSION, the newest session in this folder.
    """
    name, done = complete(_reverted(session or "", path, list(hunks), turn))
    if as_json:
        print_json(plain(done))
        return
    for changed in (*done.written, *done.removed):
        say(f"  {clean(changed)}{'  (others’ changes are still in it)' if changed in done.merged else ''}")
    say(f"To bring it back: openagent redo {name} {done.undo}")


async def _reverted(session: str, path: str, hunks: list[int], turn: int | None) -> tuple[str, Reverted]:
    async with daemon() as client:
        info = await session_or_newest(client, session)
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
@as_json
def diff(session: str | None, turn: int | None, names: bool, as_json: bool) -> None:
    """Show what a session, or one turn of it, changed in its workspace; what others changed is left out.

    Without SESSION, the newest session in this folder.
    """
    changes = complete(_changes(session or "", turn))
    if as_json:
        print_json(changes)
    else:
        show_changes(changes.files, nothing="It has changed nothing.", only_names=names)


async def _changes(session: str, turn: int | None) -> Changes:
    async with daemon() as client:
        info = await session_or_newest(client, session)
        return await client.request(SessionChanges(id=client.next_id(), session=info.id, turn=turn))
