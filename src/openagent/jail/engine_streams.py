"""The three streams of a program in a container, over the engine's socket.

What comes is framed by the engine: which stream it is of, and how long it is. What goes is plain, and its end is the
end of the program's input.
"""

import asyncio
import struct
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from openagent.jail.engine import Engine, EngineRefusal
from openagent.protocol.errors import OpenAgentError

_FRAME = struct.Struct(">BxxxI")
_HEAD_LIMIT = 64 * 1024
_SWITCHED = (b"101", b"200")
PATIENCE = 60.0
"""Seconds an engine has to start a program: a busy machine needs some."""
OUTPUT, ERRORS = 1, 2
"""As the engine numbers the streams."""


class _Created(Struct, rename="pascal"):
    id: str


class ProgramStreams:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> tuple[int, bytes] | None:
        """Which stream, and what came of it; None when all of them are at their end."""
        try:
            kind, size = _FRAME.unpack(await self._reader.readexactly(_FRAME.size))
            return kind, await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError):
            return None

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def end_input(self) -> None:
        if self._writer.can_write_eof() and not self._writer.is_closing():
            self._writer.write_eof()

    def close(self) -> None:
        self._writer.close()


async def attached(engine: Engine, container: str) -> ProgramStreams:
    """To a container's first process, whose input ends when we do."""
    return await _switched(engine, f"/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1", b"")


async def started(
    engine: Engine,
    container: str,
    argv: Sequence[str],
    *,
    has_input: bool = False,
    env: Mapping[str, str] | None = None,
) -> ProgramStreams:
    """A program beside those that run there, as the container's own user."""
    described = {
        "AttachStdin": has_input,
        "AttachStdout": True,
        "AttachStderr": True,
        "Cmd": list(argv),
        "Env": [f"{name}={value}" for name, value in (env or {}).items()],
    }
    answer = await engine.ask("POST", f"/containers/{container}/exec", msgspec.json.encode(described))
    program = msgspec.json.decode(answer, type=_Created).id
    return await _switched(engine, f"/exec/{program}/start", b'{"Detach":false,"Tty":false}')


async def _switched(engine: Engine, path: str, body: bytes) -> ProgramStreams:
    try:
        async with asyncio.timeout(PATIENCE):
            return await _asked_to_switch(engine, path, body)
    except TimeoutError:
        raise OpenAgentError(
            "jail_error",
            f"The container engine did not start a program within {PATIENCE:g} seconds.",
            hint="Check it: `docker ps` or `podman ps`.",
        ) from None


async def _asked_to_switch(engine: Engine, path: str, body: bytes) -> ProgramStreams:
    try:
        reader, writer = await asyncio.open_unix_connection(engine.path, limit=_HEAD_LIMIT)
    except OSError as problem:
        raise OpenAgentError("jail_error", f"The container engine does not answer: {problem.strerror}.") from problem
    try:
        await _switch(reader, writer, path, body)
    except BaseException:
        writer.close()
        raise
    return ProgramStreams(reader, writer)


async def _switch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    try:
        answer = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as problem:
        raise OpenAgentError("jail_error", "The container engine broke off while a program was started.") from problem
    status = answer.split(None, 2)[1]
    if status not in _SWITCHED:
        reason = (await reader.read(4096)).decode("utf-8", "replace").strip()
        raise EngineRefusal(int(status), reason or "it gave no reason")
