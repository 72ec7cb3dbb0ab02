"""Programs in containers, of an engine that does not do its part."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from openagent.jail import engine_streams
from openagent.jail.engine import Engine, EngineRefusal
from openagent.protocol.errors import OpenAgentError

from ..servers import patient

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def engine_that_says(path: Path, answer: bytes) -> AsyncGenerator[asyncio.Event]:
    """The event is set when its client has gone."""
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await reader.read()
        left.set()
        writer.close()

    server = await asyncio.start_unix_server(patient(serve), path)
    try:
        yield left
    finally:
        server.close()


async def test_an_engine_that_says_nothing_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_streams, "PATIENCE", 0.1)
    async with asyncio.timeout(20), engine_that_says(tmp_path / "s", b"HTTP/1.1 101") as left:
        with pytest.raises(OpenAgentError, match="did not start a program within"):
            await engine_streams.attached(Engine(str(tmp_path / "s")), "c1")
        await left.wait()


async def test_a_refusal_ends_the_connection(tmp_path: Path) -> None:
    refusal = b"HTTP/1.1 409 Conflict\r\nContent-Length: 7\r\n\r\nstopped"
    async with asyncio.timeout(20), engine_that_says(tmp_path / "s", refusal) as left:
        with pytest.raises(EngineRefusal, match="stopped"):
            await engine_streams.attached(Engine(str(tmp_path / "s")), "c1")
        await left.wait()
