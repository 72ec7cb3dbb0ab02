"""The protocol's own shapes, as far as they come in. Fields that are not named here are passed over."""

import re
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from openagent.protocol.mcp import McpServerEntry

VERSION = 1


class Editor(Protocol):
    """The other side."""

    def notify(self, method: str, params: Mapping[str, Any]) -> None: ...

    def request(self, method: str, params: Mapping[str, Any]) -> Awaitable[Any]: ...

    def cancel(self, request_id: Any) -> None: ...


class FileAccess(Struct, rename="camel"):
    read_text_file: bool = False


class Capabilities(Struct, rename="camel"):
    """What the editor can do."""

    fs: FileAccess | None = None
    session: dict[str, Any] | None = None
    elicitation: dict[str, Any] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    @property
    def reads_files(self) -> bool:
        return self.fs is not None and self.fs.read_text_file

    @property
    def shows_terminals(self) -> bool:
        """It can show the output of commands that run elsewhere: an extension several editors share."""
        return bool((self.meta or {}).get("terminal_output"))

    @property
    def asks_forms(self) -> bool:
        return (self.elicitation or {}).get("form") is not None

    @property
    def shows_notices(self) -> bool:
        return (self.session or {}).get("notices") is not None

    @property
    def shows_compaction(self) -> bool:
        return (self.session or {}).get("compaction") is not None


class Implementation(Struct, rename="camel"):
    name: str = ""


class Initialize(Struct, rename="camel"):
    protocol_version: int
    client_capabilities: Capabilities | None = None
    client_info: Implementation | None = None


class Authenticate(Struct, rename="camel"):
    method_id: str


class Pair(Struct):
    name: str
    value: str


class McpServer(Struct):
    """One that the editor wants the session to use."""

    name: str
    type: str = "stdio"
    command: str = ""
    args: list[str] = []
    env: list[Pair] = []
    url: str = ""
    headers: list[Pair] = []


def server_entry(server: McpServer) -> tuple[str, McpServerEntry]:
    """A name that tools can go by, and the server in our form."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", server.name).strip("-_.")[:40] or "editor"
    return name, McpServerEntry(
        kind=server.type,
        command=server.command,
        args=server.args,
        env={each.name: each.value for each in server.env},
        url=server.url,
        headers={each.name: each.value for each in server.headers},
    )


class NewSession(Struct, rename="camel"):
    cwd: str
    mcp_servers: list[McpServer] | None = None


class OpenSession(Struct, rename="camel"):
    """Load, resume or fork."""

    session_id: str
    cwd: str = ""
    mcp_servers: list[McpServer] | None = None


class ListSessions(Struct, rename="camel"):
    cwd: str | None = None
    cursor: str | None = None


class InSession(Struct, rename="camel"):
    session_id: str


class SetMode(Struct, rename="camel"):
    session_id: str
    mode_id: str


class SetOption(Struct, rename="camel"):
    session_id: str
    config_id: str
    value: str | bool


class CancelRequest(Struct, rename="camel"):
    request_id: str | int | None


class TextBlock(Struct, tag="text"):
    text: str


class ImageBlock(Struct, tag="image", rename="camel"):
    data: str
    mime_type: str


class AudioBlock(Struct, tag="audio"):
    pass


class LinkBlock(Struct, tag="resource_link"):
    uri: str
    name: str = ""


class Resource(Struct, rename="camel"):
    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class ResourceBlock(Struct, tag="resource"):
    resource: Resource


Block = TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock


class Prompt(Struct, rename="camel"):
    session_id: str
    prompt: list[Block]
