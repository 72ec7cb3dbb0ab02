"""Templates through the daemon: whose count, what a session made from one is, what is refused."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from openagent.client import Client
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import ErrorRaised
from openagent.protocol.safety import TrustAdd
from openagent.protocol.sessions import SessionCreate, SessionInfo, SessionUpdate, SettingsChange
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

from ..interaction.doing import ask, results_of, turn
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
    ("template", "said", "hint"),
    [
        (
            Template("x", prompt="p", model="nobody/m"),
            "names the model 'nobody/m', which cannot answer here: the session's own does.",
            "There is no provider named 'nobody'.",
        ),
        (
            Template("x", prompt="p", tools=["grep", "fly"]),
            "names the tool 'fly', which does not exist here: it works without.",
            "",
        ),
        (
            Template("x", prompt="p", mcp_servers=["moon"]),
            "names the MCP server 'moon', which is not set up here: it works without.",
            "",
        ),
    ],
)
async def test_what_a_template_names_that_is_not_there_is_told_once_and_the_session_works(
    tmp_path: Path, template: Template, said: str, hint: str
) -> None:
    async with (
        house(tmp_path, [{"text": "hi"}, {"text": "ho"}], config=f'model = "{MODEL}"') as h,
        await h.client() as client,
    ):
        await ask(client, TemplatesSave, template=template)
        info = await client.request(SessionCreate(id=client.next_id(), cwd=str(h.workspace), template="x"))
        attachment = await client.attach(info.id)
        _, seen = await turn(client, attachment)
        assert [event.error for event in seen if isinstance(event, ErrorRaised)] == [
            ErrorInfo("config_error", f"The template 'x' {said}", hint=hint)
        ]
        completed, seen = await turn(client, attachment)
        assert completed.reason == "done"
        assert not [event for event in seen if isinstance(event, ErrorRaised)]
        with pytest.raises(OpenAgentError, match="Did you mean 'coder'"):
            await create(h, client, "codr")


async def test_agent_files_of_other_programs_count_in_a_trusted_folder_with_what_is_understood(tmp_path: Path) -> None:
    files = {
        ".claude/agents/team/reviewer2.md": (
            "---\nname: reviewer2\ndescription: Reviews: all of it\ntools: Read, Bash(git diff:*)\nmodel: sonnet\n"
            "color: purple\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n"
            "          command: ./check.sh\n---\nReview."
        ),
        ".opencode/agent/docs.md": (
            "---\ndescription: Writes\nmode: subagent\nmodel: openai/gpt-5\ntemperature: 0.1\ntools:\n  bash: false\n"
            'permission:\n  webfetch: deny\n  bash:\n    "git *": ask\n---\nWrite.'
        ),
        "opencode.jsonc": (
            '{ // ours\n "agent": {"linter": {"description": "Lints", "prompt": "Lint.", "mode": "subagent", "tools": '
            '{"write": false}, "top_p": 1}, "build": {"model": "x/y"},}, "command": {}}'
        ),
        ".gemini/agents/scout.md": (
            "---\nname: scout\ndescription: Looks\nkind: local\ntools:\n  - read_file\n  - run_shell_command\n"
            "model: gemini-2.5-pro\nmax_turns: 7\ntimeout_mins: 2\n---\nLook."
        ),
        ".gemini/agents/far.md": "---\nname: far\nkind: remote\nagent_card_url: http://x\n---\n",
        ".codex/agents/fixer.toml": (
            'name = "fixer"\ndescription = "Fixes"\ndeveloper_instructions = "Fix."\nsandbox_mode = "read-only"\n'
            'model_reasoning_effort = "high"\n'
        ),
        ".github/agents/dot-net.agent.md": (
            "---\nname: Expert .NET\ndescription: C#\ntools: ['edit/editFiles', 'github/*']\nmodel: GPT-4.1\n---\nCode."
        ),
        ".github/chatmodes/plan.chatmode.md": "---\ndescription: Plans\ntools: ['codebase']\n---\nPlan.",
    }
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        for name, text in files.items():
            file = h.workspace / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        write(tmp_path / ".claude" / "agents", "mine", "---\ndescription: my own\n---\nDo.")
        untrusted = await listed(h, client)
        assert {info.template.name for info in untrusted.templates if info.source == "project"} == set()
        assert [info.source for info in untrusted.templates if info.template.name == "mine"] == ["user"]
        assert "openagent trust" in untrusted.notices[0]

        await ask(client, TrustAdd, cwd=str(h.workspace))
        found = await listed(h, client)
        by_name = {info.template.name: info.template for info in found.templates if info.source == "project"}
        assert by_name == {
            "reviewer2": Template(
                "reviewer2",
                description="Reviews: all of it",
                prompt="Review.",
                tools=["read_file", "shell"],
                model="anthropic/claude-sonnet-5-5",
            ),
            "docs": Template(
                "docs",
                description="Writes",
                prompt="Write.",
                model="openai/gpt-5",
                disabled_tools=["shell", "shell_output", "web_fetch"],
            ),
            "linter": Template("linter", description="Lints", prompt="Lint.", disabled_tools=["write_file"]),
            "scout": Template(
                "scout",
                description="Looks",
                prompt="Look.",
                tools=["read_file", "shell", "shell_output"],
                model="gemini/gemini-2.5-pro",
                max_steps=7,
                timeout=120.0,
            ),
            "fixer": Template("fixer", description="Fixes", prompt="Fix.", mode="plan"),
            "Expert-NET": Template(
                "Expert-NET",
                description="C#",
                prompt="Code.",
                tools=["edit_file", "write_file", "apply_patch"],
                mcp_servers=["github"],
            ),
            "plan": Template(
                "plan", description="Plans", prompt="Plan.", tools=["grep", "glob", "list_dir", "search_code"]
            ),
        }
        told = [notice.removeprefix(f"{h.workspace}/") for notice in found.notices]
        assert told == [
            ".claude/agents/team/reviewer2.md: `hooks` is not used here.",
            ".opencode/agent/docs.md: `temperature`, `permission` of single commands are not used here.",
            ".gemini/agents/far.md: it works elsewhere (`kind: remote`), and not here.",
            ".codex/agents/fixer.toml: `model_reasoning_effort` is not used here.",
            ".github/agents/dot-net.agent.md:5: 'GPT-4.1' is no model.",
            "opencode.jsonc: linter: `top_p` is not used here.",
            "opencode.jsonc: build: it says nothing.",
        ]
        (h.workspace / ".claude/agents/team/reviewer2.md").write_text("---\nname: reviewer2\n---\nChanged.")
        changed = await listed(h, client)
        assert {info.template.name for info in changed.templates if info.source == "project"} == set()


async def test_a_sub_agent_whose_model_is_not_here_works_with_its_callers(tmp_path: Path) -> None:
    call = {"name": "agent", "arguments": {"tasks": [{"template": "reviewer2", "task": "look"}]}}
    script = [{"tool_calls": [call]}, {"text": "looked"}, {"text": "fine"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        write(
            tmp_path / ".claude" / "agents",
            "reviewer2",
            "---\ndescription: Reviews\nmodel: opus\ntools: Read\n---\nReview.",
        )
        session = await client.create_session(str(h.workspace), model=MODEL, mode="full")
        completed, _ = await turn(client, await client.attach(session.id))
        assert completed.reason == "done"
        (result,) = await results_of(client, session.id)
        assert "looked" in result.text
        assert {request.json()["model"] for request in h.sim.requests} == {"scripted"}


async def test_a_template_that_is_not_listed_is_found_by_some_words(tmp_path: Path) -> None:
    def call(template: str) -> dict[str, Any]:
        tasks = [{"template": template, "task": "look"}]
        return {"tool_calls": [{"name": "agent", "arguments": {"tasks": tasks}}]}

    script = [call("tune postgres"), call("z-postgres"), {"text": "tuned"}, {"text": "fine"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        for number in range(30):
            write(h.home / "agents", f"a{number}", f"---\ndescription: does {number}\nmode: plan\n---\nDo.")
        write(h.home / "agents", "z-postgres", "---\ndescription: Tunes databases\nmode: plan\n---\nTune.")
        session = await client.create_session(str(h.workspace), model=MODEL, mode="full")
        await turn(client, await client.attach(session.id))
        (offered,) = [tool for tool in h.sim.requests[0].json()["tools"] if tool["function"]["name"] == "agent"]
        assert "z-postgres" not in offered["function"]["description"]
        assert "16 more are not listed." in offered["function"]["description"]
        found, done = await results_of(client, session.id)
        assert found.text == (
            "There is no template 'tune postgres', so nothing was started. These fit the words:\n"
            "- z-postgres: Tunes databases"
        )
        assert "tuned" in done.text


async def test_a_persona_takes_the_prompts_place_and_is_switched_in_a_live_session(tmp_path: Path) -> None:
    async with house(tmp_path, {"steps": [{"text": "hi"}], "loop": True}) as h, await h.client() as client:
        own = "You are the pilot of this ship in {cwd}."
        write(h.home / "agents", "pilot", f"---\ndescription: flies\nreplace_prompt: true\n---\n{own}\n")
        poet = Template("poet", prompt="You rhyme.", replace_prompt=True, tools=["read_file"])
        await ask(client, TemplatesSave, template=poet)
        assert (await ask(client, TemplatesGet, name="poet", cwd=str(h.workspace))).template == poet
        info = await create(h, client, "", mode="edits", budget_tokens=900_000)

        attachment = await client.attach(info.id)

        async def said_first() -> str:
            await turn(client, attachment)
            return next(message["content"] for message in h.sim.requests[-1].json()["messages"])

        assert (await said_first()).startswith("You are OpenAgent")
        switched = await ask(client, SessionUpdate, session=info.id, template="pilot")
        assert (switched.template, switched.settings.mode, switched.settings.budget_tokens) == (
            "pilot",
            "edits",
            900_000,
        )
        assert await said_first() == own.replace("{cwd}", str(h.workspace))
        switched = await ask(client, SessionUpdate, session=info.id, template="poet")
        assert switched.settings.tools == ["read_file"]
        assert await said_first() == "You rhyme."
        plain = await ask(client, SessionUpdate, session=info.id, template="")
        assert (plain.template, plain.settings.tools) == ("", None)
        assert (await said_first()).startswith("You are OpenAgent")
        with pytest.raises(OpenAgentError, match="There is no template 'pilto'"):
            await ask(client, SessionUpdate, session=info.id, template="pilto")
