"""Files to take away: a backup of a workspace, a conversation."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta
from msgspec.structs import replace
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from openagent.daemon.callers import Caller
from openagent.gateway.rest.asking import Asking, new_op_id
from openagent.gateway.rest.decode import decode_query
from openagent.gateway.rest.endpoint import Custom
from openagent.gateway.rest.in_full import encode_full
from openagent.gateway.rest.problems import Refused
from openagent.protocol.conversation import MessagePage, MessagesPage
from openagent.protocol.files import FilesList
from openagent.protocol.sessions import SessionGet, SessionInfo
from openagent.protocol.tokens import EVERYWHERE
from openagent.protocol.workspaces import WorkspacesBackup, WorkspacesList

_PAGE = 500
LINES = "application/jsonl"
ARCHIVE = "application/gzip"


class Downloads:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def rows(self) -> list[Custom]:
        session = Annotated[str, Meta(description="The session, by its id or the beginning of it.")]
        copy = Annotated[str, Meta(description="The copy, by its id or name.")]
        return [
            Custom(
                "GET", "/api/agents/{id}/export", "Download a conversation.", self._conversation, scope="read",
                path_types={"id": session}, media=LINES,
                description="A line of JSON for the session, then one for each message, oldest first.",
            ),
            Custom(
                "GET", "/api/agents/{id}/backup", "Download a backup of an agent's workspace.", self._workspace,
                scope="admin", path_types={"id": session}, media=ARCHIVE,
            ),
            Custom(
                "GET", "/api/workspaces/{id}/backup", "Download a backup of a copy.", self._copy, scope="admin",
                path_types={"id": copy}, media=ARCHIVE,
            ),
        ]  # fmt: skip

    async def _conversation(self, request: Request) -> Response:
        decode_query(request, None)
        caller: Caller = request.state.caller
        named = SessionGet(id=new_op_id(), session=request.path_params["id"])
        info = await self._asking.perform(caller, named)
        headers = {"Content-Disposition": _attachment(f"{info.name or info.id}.jsonl")}
        return StreamingResponse(self._lines(caller, info), media_type=LINES, headers=headers)

    async def _lines(self, caller: Caller, info: SessionInfo) -> AsyncGenerator[bytes, None]:
        yield _line({"session": info})
        after = 0
        while True:
            op = MessagesPage(id=new_op_id(), session=info.id, after=after, limit=_PAGE)
            page: MessagePage = await self._asking.perform(caller, op)
            for message in page.messages:
                yield _line({"message": message})
            if not page.has_more:
                return
            after = page.messages[-1].number

    async def _workspace(self, request: Request) -> Response:
        decode_query(request, None)
        named = SessionGet(id=new_op_id(), session=request.path_params["id"])
        info = await self._asking.perform(request.state.caller, named)
        # Reading the conversation alone opens no file of the workspace.
        await self._asking.perform(request.state.caller, FilesList(id=new_op_id(), session=info.id))
        return await self._archive(request.state.caller, info.cwd, Path(info.cwd).name)

    async def _copy(self, request: Request) -> Response:
        decode_query(request, None)
        wanted = request.path_params["id"]
        copies = await self._asking.perform(request.state.caller, WorkspacesList(id=new_op_id()))
        for copy in copies.copies:
            if wanted in (copy.id, copy.name):
                return await self._archive(request.state.caller, copy.path, copy.name or copy.id)
        raise Refused(404, "not_found", f"There is no workspace {wanted!r}.")

    async def _archive(self, caller: Caller, cwd: str, name: str) -> Response:
        """The caller was seen to reach the folder. The archive lies where nobody's token works, until it is sent:
        who goes there is not the person, who was let in for other folders."""
        folder = tempfile.TemporaryDirectory(prefix="openagent-download-")
        try:
            archive = Path(folder.name) / "backup.tar.gz"
            op = WorkspacesBackup(id=new_op_id(), cwd=cwd, archive=str(archive))
            await self._asking.perform(replace(caller, roots=(EVERYWHERE,), person=""), op)
        except BaseException:
            await asyncio.to_thread(folder.cleanup)
            raise
        headers = {"Content-Disposition": _attachment(f"{name}.tar.gz")}
        done = BackgroundTask(asyncio.to_thread, folder.cleanup)
        return FileResponse(archive, media_type=ARCHIVE, headers=headers, background=done)


def _line(value: object) -> bytes:
    return encode_full(value) + b"\n"


def _attachment(name: str) -> str:
    plain = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in name)[:100]
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name[:100], safe='')}"
