"""Which session is meant when none is named: the newest one in this folder."""

import os

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionGet, SessionInfo, SessionList


async def session_or_newest(client: Client, session: str) -> SessionInfo:
    if session:
        return await client.request(SessionGet(id=client.next_id(), session=session))
    here = os.getcwd()
    page = await client.request(SessionList(id=client.next_id(), cwd=here, limit=1, roots=True, archived=False))
    if not page.sessions:
        raise OpenAgentError(
            "not_found",
            f"There is no session in {here} yet.",
            hint="Name one: `openagent sessions list` shows those of all folders.",
        )
    return page.sessions[0]
