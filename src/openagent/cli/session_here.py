"""Which session is meant when none is named: the newest one in this folder."""

import asyncio
import os
import posixpath
from collections.abc import Sequence

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionGet, SessionInfo, SessionList
from openagent.protocol.undo import SessionChanges


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


async def session_and_paths(client: Client, words: Sequence[str]) -> tuple[SessionInfo, list[str]]:
    """`[SESSION] [PATH]...` of a command line, the paths from the workspace's root. A word that could be either is
    refused: taken for a session, it would stand for all of its files."""
    first = words[0] if words else ""
    if not first.isalnum() or not (named := await _named(client, first)):
        info = await session_or_newest(client, "")
        return info, [_from_root(info.cwd, word) for word in words]
    if await asyncio.to_thread(os.path.lexists, first) or first in await _changed_here(client):
        raise OpenAgentError(
            "invalid_argument",
            f"{first} is a session and a file, too.",
            hint=f"Write ./{first} for the file, or {named.id} for the session.",
        )
    return named, [_from_root(named.cwd, word) for word in words[1:]]


async def _named(client: Client, session: str) -> SessionInfo | None:
    try:
        return await session_or_newest(client, session)
    except OpenAgentError as problem:
        if problem.info.code != "not_found":
            raise
        return None


async def _changed_here(client: Client) -> set[str]:
    """The first part of each path that the newest session of this folder changed."""
    page = await client.request(SessionList(id=client.next_id(), cwd=os.getcwd(), limit=1, roots=True, archived=False))
    found: set[str] = set()
    for info in page.sessions:
        changes = await client.request(SessionChanges(id=client.next_id(), session=info.id))
        found |= {path.split("/")[0] for file in changes.files for path in (file.path, file.old_path)}
    return found


def _from_root(root: str, word: str) -> str:
    """As the protocol names it. Below another folder than the workspace, words count from the workspace's root."""
    root, here = os.path.realpath(root), os.path.realpath(os.getcwd())
    start = here if is_within(here, root) else root
    path = os.path.relpath(posixpath.normpath(os.path.join(start, word)), root) if word else ""
    if not word or path.split("/")[0] == "..":
        raise OpenAgentError("invalid_argument", f"{word!r} is no path in the workspace, {root}.")
    return path


def is_within(path: str, folder: str) -> bool:
    return folder in (".", path) or path.startswith(f"{folder.rstrip('/')}/")
