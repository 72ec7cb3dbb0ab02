"""`openagent sessions rewind` and `openagent sessions diff`"""

import click

from openagent.cli.changes import show_changes
from openagent.cli.command import as_json, command, complete, daemon, plain, print_json, say
from openagent.cli.completion import session_argument
from openagent.client.text import clean
from openagent.protocol.ops import Changes, Rewound, SessionChanges, SessionRewind

_SHOWN = 20


@command(
    "rewind",
    "openagent sessions rewind 06gx --turn 3",
    "openagent sessions rewind 06gx --turn 3 --no-conversation",
    "openagent sessions rewind 06gx --turn 3 --git",
)
@session_argument()
@click.option("--turn", type=click.IntRange(min=1), required=True, metavar="N", help="Back to before this turn.")
@click.option("--files/--no-files", default=True, show_default=True, help="Bring the workspace's files back.")
@click.option(
    "--conversation/--no-conversation", default=True, show_default=True, help="Take what was said since out of sight."
)
@click.option("--git", "git_state", is_flag=True, help="Also the repository's HEAD, branches and index.")
@as_json
def rewind(*, session: str, turn: int, files: bool, conversation: bool, git_state: bool, as_json: bool) -> None:
    """Go back to before a turn. The messages stay stored, and the files as they are now are saved first."""
    if not files and not conversation:
        raise click.UsageError("With neither files nor conversation there is nothing to rewind.")
    done = complete(_rewind(session, turn, files, conversation, git_state))
    if as_json:
        print_json(plain(done))
        return
    if files:
        say(f"{len(done.written)} written, {len(done.removed)} removed." if done.undo else "No file had changed.")
        for path in [*done.written, *done.removed][:_SHOWN]:
            say(f"  {clean(path)}")
    for left in done.kept:
        say(f"! {clean(left)}")
    if done.git:
        say(f"git: {clean(done.git)}")
    if conversation:
        say(f"The agent no longer sees turn {turn} and what came after it.")


async def _rewind(session: str, turn: int, files: bool, conversation: bool, git_state: bool) -> Rewound:
    async with daemon() as client:
        op = SessionRewind(
            id=client.next_id(), session=session, turn=turn, files=files, conversation=conversation, git_state=git_state
        )
        return await client.request(op, Rewound)


@command("diff", "openagent sessions diff 06gx", "openagent sessions diff 06gx --turn 3 --names")
@session_argument()
@click.option("--turn", type=click.IntRange(min=1), metavar="N", help="Only what this turn changed.")
@click.option("--names", is_flag=True, help="Only which files.")
@as_json
def diff(session: str, turn: int | None, names: bool, as_json: bool) -> None:
    """Show what a session, or one turn of it, has changed in its workspace."""
    changes = complete(_changes(session, turn))
    if as_json:
        print_json(plain(changes.files))
    else:
        show_changes(changes.files, nothing="It has changed nothing.", only_names=names)


async def _changes(session: str, turn: int | None) -> Changes:
    async with daemon() as client:
        return await client.request(SessionChanges(id=client.next_id(), session=session, turn=turn), Changes)
