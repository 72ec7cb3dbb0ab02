"""Plain requests to a simulator, without any SDK in between."""

import asyncio
from typing import Any

import httpx2

from devtools.simulator import Simulator

Json = dict[str, Any]

USER: Json = {"role": "user", "content": "hi"}


async def post(sim: Simulator, path: str, body: Any, headers: dict[str, str] | None = None) -> httpx2.Response:
    async with client(sim) as http:
        return await http.post(path, json=body, headers=headers)


async def complaint(path: str, body: Json, headers: dict[str, str] | None = None, script: Any = None) -> Json:
    """The error object of a request that must be refused."""
    async with Simulator(script or [{"text": "accepted"}]) as sim:
        answer = await post(sim, path, body, headers)
        assert sim.requests[-1].error
    assert answer.status_code in (400, 404), answer.text
    return answer.json()["error"]


def client(sim: Simulator) -> httpx2.AsyncClient:
    # Nothing here speaks TLS, and loading certificates takes longer than most tests.
    return httpx2.AsyncClient(base_url=sim.base_url, verify=False, timeout=60)


async def exchange(sim: Simulator, sent: bytes) -> bytes:
    """Raw bytes out, everything that comes back until the simulator closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", sim.port)
    try:
        writer.write(sent)
        writer.write_eof()
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()
