"""`openagent retry`"""

from openagent.cli.command import as_json, command
from openagent.cli.completion import session_argument
from openagent.cli.drawing import drawing
from openagent.cli.run import perform
from openagent.client.command_line import Arguments


@command("retry", "openagent retry", "openagent retry 06gx")
@session_argument("[SESSION]", required=False)
@as_json
def retry(*, session: str | None, as_json: bool) -> int:
    """Retry now, and show what follows until the turn ends.

    A turn that waits for its provider sends its request at once. A newest turn that failed, was stopped or met a limit
    continues where it stopped: your message is not said again, and no tool call is made again. Without SESSION: the
    newest one in this folder.
    """
    arguments = Arguments()
    arguments.session, arguments.go_on, arguments.retry = session or "", not session, True
    arguments.output = "json" if as_json else "text"
    return perform(arguments, drawing())[0]
