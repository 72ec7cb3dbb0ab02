"""An https address at whose port nobody speaks TLS."""

import asyncio
from pathlib import Path

import pytest

from openagent.protocol.models import ModelsTest

from ..servers import patient
from .doing import ask
from .house import house

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"])
async def test_the_reason_is_told_when_a_port_does_not_speak_tls(tmp_path: Path, said: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        writer.close()

    async with await asyncio.start_server(patient(answer), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        config = f'[providers.plain]\nkind = "compatible"\nbase_url = "https://127.0.0.1:{port}/v1"\napi_key = "k"\n'
        async with house(tmp_path, [], config=config) as h, await h.client() as client:
            tested = await ask(client, ModelsTest, name="plain/x")
        problem = tested.tests[0].error
        assert problem is not None
        assert (
            f"Could not connect to plain at https://127.0.0.1:{port}/v1: it does not answer with TLS" in problem.message
        )
