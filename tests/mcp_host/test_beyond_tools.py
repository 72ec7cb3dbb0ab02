"""What servers have besides tools: resources, prompts, and questions to people and to the model."""

import json
from pathlib import Path
from typing import Any

import pytest

from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.conversation import QuestionAnswer
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import (
    McpPrompt,
    McpPromptArgument,
    McpPromptGet,
    McpPrompts,
    McpResource,
    McpResourceRead,
    McpResources,
)
from openagent.protocol.messages import TextPart
from openagent.protocol.sessions import SessionGet
from openagent.protocol.usage import UsageAsk
from openagent.tools.mcp.prompts import arguments_from

from ..interaction.doing import answer, ask, asked, call, one_turn, results_of
from ..interaction.house import house, new_session, until
from .bench import offered, plant, scripted

pytestmark = pytest.mark.anyio


async def test_a_model_finds_and_reads_resources_where_a_server_has_some(tmp_path: Path) -> None:
    plant(tmp_path, shop=scripted("library"))
    reading = call("read_mcp_resource", server="shop", uri="book://one")
    script = [call("list_mcp_resources"), reading, call("read_mcp_resource", server="no", uri="x"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        assert {"list_mcp_resources", "read_mcp_resource"} <= set(offered(h))
        listed, read, missing = await results_of(client, session)
        assert listed.text == "shop book://one  one: A book.\nshop book://{title}  any (fill in the {parameters})"
        assert read.text == "Once upon a time"
        assert missing.is_error
        await one_turn(h, client, disabled_mcp_servers=["shop"])
        assert "list_mcp_resources" not in offered(h)


async def test_reading_a_resource_is_asked_about(tmp_path: Path) -> None:
    plant(tmp_path, shop=scripted("library"))
    script = [call("read_mcp_resource", server="shop", uri="book://one"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        attachment = await client.attach(await new_session(h, client, mode="ask"))
        await client.send(attachment.session, "go")
        assert (await asked(attachment)).ask.summary == "shop: read book://one"


async def test_clients_list_and_read_resources_and_prompts(tmp_path: Path) -> None:
    plant(tmp_path, shop=scripted("library"), plain=scripted())
    async with house(tmp_path, []) as h, await h.client() as client:
        where = {"cwd": str(h.workspace)}
        resources = await ask(client, McpResources, **where)
        assert resources.resources[0] == McpResource("shop", "book://one", "one", "A book.")
        assert [each.is_template for each in resources.resources] == [False, True]
        read = await ask(client, McpResourceRead, server="shop", uri="book://one", **where)
        assert [(each.media_type, each.text) for each in read.contents] == [("text/plain", "Once upon a time")]
        prompts = await ask(client, McpPrompts, **where)
        assert [(each.server, each.name, len(each.arguments)) for each in prompts.prompts] == [("shop", "review", 2)]
        got = await ask(client, McpPromptGet, server="shop", name="review", arguments={"title": "one"}, **where)
        assert [(each.role, each.part) for each in got.messages] == [
            ("user", TextPart("Review it.")),
            ("assistant", TextPart("Gladly.")),
        ]
        with pytest.raises(OpenAgentError, match="no MCP server 'gone'"):
            await ask(client, McpResourceRead, server="gone", uri="x", **where)


def test_words_after_a_prompt_fill_its_arguments_in_order() -> None:
    prompt = McpPrompt("shop", "review", "", [McpPromptArgument("title", required=True), McpPromptArgument("tone")])
    assert arguments_from(prompt, ["one", "very", "kind"]) == {"title": "one", "tone": "very kind"}
    assert arguments_from(prompt, ["tone=kind", "one", "two"]) == {"tone": "kind", "title": "one two"}
    with pytest.raises(OpenAgentError, match="/shop:review needs title"):
        arguments_from(prompt, [])


async def said_to(client: Client, attachment: Attachment, text: str) -> e.QuestionAsked:
    event = (await until(attachment, lambda event: isinstance(event, e.QuestionAsked)))[-1]
    assert isinstance(event, e.QuestionAsked)
    op = QuestionAnswer(id=client.next_id(), session=attachment.session, question=event.question.id, answer=text)
    await client.request(op)
    return event


async def test_an_empty_answer_means_the_default_and_a_page_can_be_visited(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted())
    script = [call("defaults"), call("visit"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        attachment = await client.attach(await new_session(h, client))
        await client.send(attachment.session, "go")
        assert "age (default: 30)" in (await said_to(client, attachment, "")).question.text
        await said_to(client, attachment, "")
        assert "https://example.com/sign" in (await said_to(client, attachment, "Done")).question.text
        await attachment.until_turn_ends()
        results = [json.loads(result.text) for result in await results_of(client, attachment.session)]
        assert results == [{"action": "accept", "content": {"age": 30}}, {"action": "accept"}]


def sampling(text: str, times: int = 1) -> dict[str, Any]:
    """A model that calls the tool, and answers what the server then asks."""
    return {
        "conversations": [{"match": {"system": "Be brief."}, "steps": [{"text": "Four."}]}],
        "steps": [call("sample", text=text, times=times), {"text": "ok"}],
    }


async def test_a_server_asks_the_sessions_model_and_the_session_pays(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted())
    async with house(tmp_path, sampling("How many?")) as h, await h.client(interactive=True) as client:
        attachment = await client.attach(await new_session(h, client, mode="ask"))
        await client.send(attachment.session, "go")
        await answer(client, await asked(attachment), decision="allow")
        asking = await asked(attachment)
        assert asking.ask.tool == "mcp_sampling"
        assert asking.ask.summary == "good asks the model: How many?"
        await answer(client, asking, decision="allow")
        await attachment.until_turn_ends()
        (result,) = await results_of(client, attachment.session)
        assert json.loads(result.text) == {
            "role": "assistant",
            "content": {"type": "text", "text": "Four."},
            "model": "compatible/scripted",
            "stopReason": "endTurn",
        }
        asked_aside = h.sim.requests[1].json()
        assert [message["content"] for message in asked_aside["messages"]] == ["Be brief.", "How many?"]
        assert 50 in asked_aside.values()
        assert "mcp_sampling" not in offered(h, 0)
        info = await ask(client, SessionGet, session=attachment.session)
        assert info.usage.requests == 3
        report = await ask(client, UsageAsk, by="activity")
        assert "sampling" in {row.key for row in report.rows}


async def test_a_rule_keeps_a_server_from_the_model(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted())
    denied = '[[rule]]\ntool = "mcp_sampling"\ndecision = "deny"\nreason = "It costs."\n'
    (tmp_path / "home" / "policy.toml").write_text(denied)
    async with house(tmp_path, sampling("How many?")) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        (result,) = await results_of(client, session)
        assert "It costs" in json.loads(result.text)["message"]
        assert len(h.sim.requests) == 2


async def test_sampling_beyond_the_budget_is_refused_and_the_turn_goes_on(tmp_path: Path) -> None:
    plant(tmp_path, good=scripted())
    async with house(tmp_path, sampling("word ", times=30_000)) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client, budget_tokens=20_000, max_output_tokens=100)
        assert completed.reason == "done"
        (result,) = await results_of(client, session)
        assert "budget" in json.loads(result.text)["message"]
        assert not any("Be brief." in each.body for each in h.sim.requests)
