"""`openagent attach`: a session in a plain terminal, live."""

import asyncio
import signal
import sys
from collections.abc import Callable

import msgspec

from openagent.cli.asking import ground_of_terminal
from openagent.cli.command import as_events, command, complete, print_line, say
from openagent.cli.completion import session_argument
from openagent.cli.conversation import Conversation
from openagent.cli.drawing import drawing
from openagent.cli.keyboard import Keyboard
from openagent.cli.terminal import DIM, RED, paint
from openagent.client import Attachment, ConnectionLost, connect
from openagent.client.reconnect import FIRST_WAIT, Link
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import SessionDeleted

LAST_MESSAGES = 20
REATTACH_SECONDS = 30.0


@command("attach", "openagent attach 06gx", "openagent attach 06gx --json | jq .type")
@session_argument(metavar="SESSION")
@as_events
def attach(session: str, as_json: bool) -> int:
    """Show a session's last messages, then what happens in it, live.

    In a terminal: type a message and Enter to send it; when the agent asks for permission, a key answers (a, s, A or d;
    D says why, v shows all of it); Ctrl-C cancels the running turn; Ctrl-D leaves.
    """
    return complete(_attach(session, as_json=as_json))


async def _attach(session: str, *, as_json: bool) -> int:
    may_type = not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    link = Link(lambda may_start: connect(name="attach", interactive=may_type, auto_start=may_start))
    try:
        attachment = await (await link.open()).attach(session, messages=LAST_MESSAGES)
        if as_json:
            return await _print_events(attachment)
        return await View(link, attachment, may_type=may_type).run()
    finally:
        await link.close()


async def _print_events(attachment: Attachment) -> int:
    print_line({"type": "snapshot", **msgspec.to_builtins(attachment.snapshot)})
    async for event in attachment.events():
        print_line(event)
        if isinstance(event, SessionDeleted):
            return 0
    raise ConnectionLost


class View:
    """One attachment after the other, until the person leaves or the session is deleted."""

    def __init__(self, link: Link, attachment: Attachment, *, may_type: bool) -> None:
        self._link = link
        self._attachment = attachment
        self._conversation = Conversation(attachment.session, drawing())
        self._may_type = may_type
        self._cancelling: asyncio.Task[None] | None = None

    async def run(self) -> int:
        tasks = [asyncio.create_task(self._follow())]
        if self._may_type:
            say(paint("Type a message and Enter to send it. Ctrl-C cancels the turn, Ctrl-D leaves.", DIM))
            self._conversation.ground = ground_of_terminal()
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupt)
            tasks.append(asyncio.create_task(self._type()))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return max(task.result() for task in done)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._conversation.end_line()

    async def _follow(self) -> int:
        while True:
            if self._attachment.snapshot:
                self._conversation.begin(self._attachment.snapshot)
            async for event in self._attachment.events():
                self._conversation.show(event)
                if isinstance(event, SessionDeleted):
                    return 0
            await self._attach_again()

    async def _attach_again(self) -> None:
        session, seq = self._attachment.session, self._attachment.seq
        problems: list[str] = []

        def tell(problem: str) -> None:
            if not problems:
                self._conversation.note(f"The connection was lost: {problem} Attaching again …", RED)
            problems.append(problem)

        try:
            async with asyncio.timeout(REATTACH_SECONDS):
                await self._link.mend(self._link.client, tell)
                found = None
                while found is None:
                    found = await self._attached(session, seq, tell)
        except TimeoutError:
            raise OpenAgentError(
                "shutting_down",
                f"The session could not be attached again: {problems[-1]}",
                hint=f"`openagent attach {session}` tries anew.",
            ) from None
        self._attachment = found
        self._conversation.note("Attached again; nothing was missed.", DIM)

    async def _attached(self, session: str, seq: int, tell: Callable[[str], None]) -> Attachment | None:
        client = self._link.client
        try:
            return await client.attach(session, after=seq, messages=LAST_MESSAGES)
        except ConnectionLost:
            await self._link.mend(client, tell)
        except OpenAgentError as problem:
            tell(str(problem))
            await asyncio.sleep(FIRST_WAIT)
        return None

    async def _type(self) -> int:
        with Keyboard() as keyboard:
            self._conversation.use_keys(keyboard.by_key)
            async for line in keyboard.lines():
                try:
                    await self._conversation.take(line, self._link.client)
                except OpenAgentError as problem:
                    self._conversation.note(str(problem), RED)
        return 0

    def _interrupt(self) -> None:
        self._cancelling = asyncio.create_task(self._cancel())

    async def _cancel(self) -> None:
        try:
            running = await self._link.client.cancel(self._attachment.session)
        except OpenAgentError as problem:
            self._conversation.note(str(problem), RED)
        else:
            if not running:
                self._conversation.note("Nothing is running. Ctrl-D leaves.", DIM)
