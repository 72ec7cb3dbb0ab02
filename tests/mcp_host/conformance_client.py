"""What the official conformance suite starts: a whole daemon that uses the server at the address in its argument."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2
from msgspec.structs import replace

from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.conversation import QuestionAnswer
from openagent.protocol.mcp import McpAdd, McpLogin, McpLoginFinish, McpOAuth, McpServerEntry, McpShow, McpTest
from openagent.protocol.tools import ToolRun, ToolsList

from ..interaction.doing import ask
from ..interaction.house import house, new_session
from ..models.browser import visit

CLIENT_PAGE = "https://conformance-test.local/client-metadata.json"


async def answer_with_defaults(client: Client, attachment: Attachment) -> None:
    async for event in attachment.events():
        if isinstance(event, e.QuestionAsked):
            said = ""
            if "open a page" in event.question.text:
                await visit(event.question.text.splitlines()[-1])
                said = "Done"
            answer = QuestionAnswer(
                id=client.next_id(), session=attachment.session, question=event.question.id, answer=said
            )
            await client.request(answer)


async def known_as(url: str) -> McpOAuth:
    """What a scenario says about the client, or the address that the suite takes for a client's own."""
    given: dict[str, str] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    known = McpOAuth(given.get("client_id", CLIENT_PAGE), given.get("client_secret", ""))
    if "client-credentials" in scenario:
        return replace(known, grant="client_credentials", private_key=given.get("private_key_pem", ""))
    if "cross-app-access" in scenario:
        return replace(
            known,
            grant="identity_assertion",
            issuer=await issuer_for(url),
            identity_url=given["idp_token_endpoint"],
            identity_client=given["idp_client_id"],
            identity_token=given["idp_id_token"],
        )
    return known


async def issuer_for(url: str) -> str:
    """The suite leaves it out; in a company somebody tells it."""
    place = httpx2.URL(url)
    async with httpx2.AsyncClient() as client:
        page = await client.get(place.copy_with(path=f"/.well-known/oauth-protected-resource{place.path}"))
    return page.json()["authorization_servers"][0]


async def log_in(client: Client) -> None:
    started = await ask(client, McpLogin, name="it")
    await visit(started.url)
    await ask(client, McpLoginFinish, login=started.login)


async def main(url: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        async with house(Path(folder), []) as h, await h.client(interactive=True) as client:
            await ask(client, McpAdd, name="it", server=McpServerEntry(url=url, oauth=await known_as(url)))
            shown = (await ask(client, McpShow, name="it")).server
            assert not any((shown.oauth.client_secret, shown.oauth.private_key, shown.oauth.identity_token))
            # As somebody who edits it does: what was not shown is kept.
            await ask(client, McpAdd, name="it", server=replace(shown, description="Edited."), replace=True)
            where = str(h.workspace)
            (server,) = (await ask(client, McpTest, name="it", cwd=where)).servers
            if "wants a login" in server.detail:
                await log_in(client)
                (server,) = (await ask(client, McpTest, name="it", cwd=where)).servers
            session = await new_session(h, client)
            attachment = await client.attach(session)
            answering = asyncio.create_task(answer_with_defaults(client, attachment))
            listed = await ask(client, ToolsList, session=session)
            for tool in listed.tools:
                if tool.source == "mcp:it":
                    given: dict[str, Any] = dict.fromkeys(tool.parameters.get("properties", {}), 5)
                    await ask(client, ToolRun, session=session, tool=tool.name, arguments=given)
            answering.cancel()
            sys.stderr.write(f"{server.status} {server.detail}\n")
            return int(server.status != "up")


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
