"""`openagent tui`: connect, find the session to show, and show it."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from openagent.client import Client, connect
from openagent.client.text import clean
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.ops import SessionList, SessionPage
from openagent.tui.app import OpenAgent
from openagent.tui.link import Link


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="openagent tui", add_help=False)
    parser.add_argument("session", nargs="?", default="")
    parser.add_argument("--new", action="store_true")
    given = parser.parse_args(arguments)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _complain("This needs a terminal. `openagent run` and `openagent attach` do not.")
    try:
        return asyncio.run(show(given.session, new=given.new))
    except (OpenAgentError, OSError) as problem:
        return _complain(str(problem))


def _complain(problem: str) -> int:
    sys.stderr.write(f"openagent: {clean(problem)}\n")
    return 1


async def show(session: str = "", *, new: bool = False) -> int:
    cwd = os.getcwd()
    client = await _connect(True)
    link = Link(client, _connect)
    try:
        if not session:
            session = await choose(client, cwd, new=new)
        app = OpenAgent(link, session, cwd, os.environ)
        await app.run_async()
        return app.return_code or 0
    finally:
        await link.client.close()


async def _connect(may_start: bool) -> Client:
    return await connect(name="tui", interactive=True, auto_start=may_start)


async def choose(client: Client, cwd: str, *, new: bool) -> str:
    """The newest session of the folder, or one made for it."""
    if not new:
        page = await client.request(SessionList(id=client.next_id(), cwd=cwd, limit=1), SessionPage)
        if page.sessions:
            return page.sessions[0].id
    return (await client.create_session(cwd)).id
