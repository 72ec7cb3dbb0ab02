"""`openagent agents ask-again`"""

import click

from openagent.cli.command import as_json, command, complete, daemon, print_json, say
from openagent.cli.completion import session_argument
from openagent.cli.drawing import drawing
from openagent.cli.run import perform
from openagent.cli.session_here import session_or_newest
from openagent.client.command_line import Arguments
from openagent.protocol.conversation import AskAgain, Sent


@command(
    "ask-again",
    "openagent agents ask-again",
    "openagent agents ask-again 06gx",
    "openagent agents ask-again 06gx --drop",
)
@session_argument("[SESSION]", required=False)
@click.option("--drop", is_flag=True, help="Let it go instead.")
@as_json
def ask_again(*, session: str | None, drop: bool, as_json: bool) -> int:
    """Have the agent ask again for what nobody answered in time, and answer it here.

    `openagent agents waiting` lists what that is. Without SESSION: the newest session in this folder.
    """
    if drop:
        dropped = complete(_drop(session or ""))
        if as_json:
            print_json(dropped)
        else:
            say("Let go.")
        return 0
    arguments = Arguments()
    arguments.session, arguments.go_on, arguments.ask_again = session or "", not session, True
    arguments.output = "json" if as_json else "text"
    return perform(arguments, drawing())[0]


async def _drop(session: str) -> Sent:
    async with daemon() as client:
        info = await session_or_newest(client, session)
        return await client.request(AskAgain(id=client.next_id(), session=info.id, drop=True))
