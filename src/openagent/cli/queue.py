"""`openagent sessions queue`"""

import click

from openagent.cli.command import as_json, command, complete, daemon, plain, print_json, say
from openagent.cli.completion import session_argument
from openagent.client.text import one_line
from openagent.protocol.messages import TextPart
from openagent.protocol.op import Op
from openagent.protocol.queue import Queue, QueueEdit, QueueMove, QueueRemove, QueueResume, QueueShow
from openagent.protocol.sessions import QueuedMessage


@command(
    "queue",
    "openagent sessions queue 06gx",
    "openagent sessions queue 06gx --edit 1f2e3d 'run the tests twice'",
    "openagent sessions queue 06gx --move 1f2e3d 1 --resume",
)
@session_argument()
@click.option("--remove", multiple=True, metavar="MESSAGE", help="Withdraw a message.")
@click.option("--edit", nargs=2, multiple=True, metavar="MESSAGE TEXT", help="Say it in other words.")
@click.option(
    "--move", nargs=2, type=(str, int), multiple=True, metavar="MESSAGE N", help="Put it in place N; 1 is next."
)
@click.option("--resume", is_flag=True, help="Go on with them after a turn was cancelled.")
@as_json
def queue(
    *,
    session: str,
    remove: tuple[str, ...],
    edit: tuple[tuple[str, str], ...],
    move: tuple[tuple[str, int], ...],
    resume: bool,
    as_json: bool,
) -> None:
    """Show the messages that wait for a session's turn to end; edit, remove or move them."""
    ops: list[Op[Queue]] = [QueueRemove(id="-", session=session, queued=each) for each in remove]
    ops += [QueueEdit(id="-", session=session, queued=each, text=text) for each, text in edit]
    ops += [QueueMove(id="-", session=session, queued=each, position=position) for each, position in move]
    if resume:
        ops.append(QueueResume(id="-", session=session))
    found = complete(_ask(ops or [QueueShow(id="-", session=session)]))
    if as_json:
        print_json(plain(found))
        return
    for place, message in enumerate(found.queued, 1):
        say(f"{place:>3}  {message.id}  {_text(message)}")
    if not found.queued:
        say("No message waits.")
    elif found.held:
        say("They wait until you go on: with the next message, or `--resume`.")


async def _ask(ops: list[Op[Queue]]) -> Queue:
    found = Queue([])
    async with daemon() as client:
        for op in ops:
            found = await client.request(op)
    return found


def _text(message: QueuedMessage) -> str:
    return one_line(" ".join(part.text if isinstance(part, TextPart) else "(image)" for part in message.parts), 70)
