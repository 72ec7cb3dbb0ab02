"""HTTP against a whole daemon, as any program would speak it."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from openagent.protocol.scopes import Scope
from openagent.protocol.tokens import TokensCreate

from ..interaction.house import MODEL, House


class Rest:
    def __init__(self, house: House, client: httpx2.AsyncClient) -> None:
        self.house = house
        self.client = client

    async def __call__(
        self, method: str, path: str, body: Any = None, *, query: dict[str, Any] | None = None, **headers: str
    ) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.request(method, path, json=body, params=query, headers=named)

    async def agent(self, **settings: Any) -> str:
        chosen = {"model": MODEL, "mode": "full", **settings}
        made = await self("POST", "/api/agents", {"cwd": str(self.house.workspace), "settings": chosen})
        assert made.status_code == 201, made.text
        return made.json()["id"]


@asynccontextmanager
async def rest(house: House, token: str | None = None, **headers: str) -> AsyncGenerator[Rest, None]:
    """As the owner, unless another token, or none (empty), is given."""
    token = (house.home / "token").read_text() if token is None else token
    given = {**({"Authorization": f"Bearer {token}"} if token else {}), **headers}
    async with httpx2.AsyncClient(base_url=house.daemon.place.web_url, headers=given, timeout=60) as client:
        yield Rest(house, client)


async def token_with(house: House, *scopes: Scope, name: str = "") -> str:
    async with await house.client() as owner:
        op = TokensCreate(
            id=owner.next_id(), name=name or " ".join(scopes), scopes=list(scopes), roots=[str(house.workspace)]
        )
        return (await owner.request(op)).secret


async def events(response: httpx2.Response) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
    kind = ""
    async for line in response.aiter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))
