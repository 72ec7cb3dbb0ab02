"""Templates through the daemon: whose count, what a session made from one is, what is refused."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.safety import TrustAdd
from openagent.protocol.sessions import SessionCreate, SessionInfo, SettingsChange
from openagent.protocol.templates import (
    Template,
    TemplateList,
    TemplatesExport,
    TemplatesGet,
    TemplatesImport,
    TemplatesList,
    TemplatesRead,
    TemplatesRemove,
    TemplatesSave,
    TemplatesWrite,
)

from ..interaction.doing import ask, turn
from ..interaction.house import MODEL, House, house

pytestmark = pytest.mark.anyio


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text)


async def listed(h: House, client: Client) -> TemplateList:
    return await ask(client, TemplatesList, cwd=str(h.workspace))


async def create(h: House, client: Client, template: str, **settings: Any) -> SessionInfo:
    op = SessionCreate(
        id=client.next_id(),
        cwd=str(h.workspace),
        template=template,
        settings=msgspec.convert({"model": MODEL, **settings}, SettingsChange),
    )
    return await client.request(op)


async def test_the_project_counts_before_the_person_the_database_and_the_starters(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        await ask(client, TemplatesSave, template=Template("coder", description="db"))
        await ask(client, TemplatesSave, template=Template("poet", description="db"))
        write(h.home / "agents", "coder", "---\ndescription: mine\n---\n")
        write(h.workspace / ".openagent" / "agents", "coder", "---\ndescription: project's\n---\n")

        before = {info.template.name: info for info in (await listed(h, client)).templates}
        assert (before["coder"].source, before["coder"].hides) == ("user", ["database", "starter"])
        assert (before["poet"].source, before["reviewer"].source) == ("database", "starter")
        (notice,) = (await listed(h, client)).notices
        assert "openagent trust" in notice

        await ask(client, TrustAdd, cwd=str(h.workspace))
        await ask(client, TemplatesSave, template=Template("poet", description="new"), replace=True)
        after = {info.template.name: info for info in (await listed(h, client)).templates}
        assert (after["coder"].source, after["coder"].template.description) == ("project", "project's")
        assert after["coder"].hides == ["user", "database", "starter"]
        assert after["poet"].template.description == "new"
        assert (after["coder"].writes, after["reviewer"].writes) == (True, False)


async def test_the_database_keeps_templates_over_a_restart_and_refuses_what_would_be_lost(tmp_path: Path) -> None:
    kept = Template(
        "auditor",
        description="Looks",
        role="audit",
        prompt="Look.",
        model="compatible/m",
        tools=["grep"],
        mcp_servers=[],
        mode="plan",
        max_steps=3,
        timeout=9.5,
        budget_usd=0.25,
    )
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        await ask(client, TemplatesSave, template=kept)
        with pytest.raises(OpenAgentError, match="already a template 'auditor'"):
            await ask(client, TemplatesSave, template=Template("auditor", description="x"))
        with pytest.raises(OpenAgentError, match="no name for a template"):
            await ask(client, TemplatesSave, template=Template("../x", description="x"))
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        assert (await ask(client, TemplatesGet, name="auditor")).template == kept
        text = await ask(client, TemplatesExport, name="auditor")
        assert await ask(client, TemplatesWrite, template=kept) == text
        assert await ask(client, TemplatesRead, text=text.text) == kept
        await ask(client, TemplatesRemove, name="auditor")
        imported = await ask(client, TemplatesImport, text=text.text, file="a.md")
        assert imported.template == kept
        with pytest.raises(OpenAgentError, match="belongs to the program"):
            await ask(client, TemplatesRemove, name="coder")


async def test_an_unfinished_template_is_read_and_written_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        written = await ask(client, TemplatesWrite, template=Template(""))
        assert await ask(client, TemplatesRead, text=written.text) == Template("")
        with pytest.raises(OpenAgentError, match="'wild' is no mode"):
            await ask(client, TemplatesRead, text="---\nmode: wild\n---\n")


async def test_a_session_made_from_a_template_has_its_prompt_tools_and_limits(tmp_path: Path) -> None:
    persona = Template(
        "auditor", description="Looks", prompt="Speak Latin.", tools=["read_file", "grep"], mode="plan", max_steps=5
    )
    async with house(tmp_path, [{"text": "salve"}]) as h, await h.client() as client:
        await ask(client, TemplatesSave, template=persona)
        info = await create(h, client, "auditor", max_steps=6)
        assert (info.template, info.settings.mode, info.settings.max_steps) == ("auditor", "plan", 6)
        await turn(client, await client.attach(info.id))
        request = h.sim.requests[-1].json()
        assert request["messages"][0]["content"].endswith("Speak Latin.")
        assert {tool["function"]["name"] for tool in request["tools"]} == {"read_file", "grep"}


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            Template("x", prompt="p", model="nobody/m"),
            "names the model 'nobody/m': There is no provider named 'nobody'.",
        ),
        (Template("x", prompt="p", tools=["grep", "fly"]), "names the tool 'fly', which does not exist here."),
        (Template("x", prompt="p", mcp_servers=["moon"]), "names the MCP server 'moon', which is not set up here."),
    ],
)
async def test_a_template_that_names_what_is_not_there_is_refused_in_a_sentence(
    tmp_path: Path, template: Template, said: str
) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        await ask(client, TemplatesSave, template=template)
        op = SessionCreate(id=client.next_id(), cwd=str(h.workspace), template="x")
        with pytest.raises(OpenAgentError) as refused:
            await client.request(op)
        assert refused.value.info.message == f"The template 'x' {said}"
        with pytest.raises(OpenAgentError, match="Did you mean 'coder'"):
            await create(h, client, "codr")
