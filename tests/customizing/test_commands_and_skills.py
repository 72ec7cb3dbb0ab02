"""Slash commands and skills, whichever client calls for them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from openagent.plugins.front_matter import parse_front_matter
from openagent.protocol import events as e
from openagent.protocol.customizing import CommandsList, SkillShow, SkillsList
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import NotePart, TextPart
from openagent.protocol.safety import TrustAdd
from openagent.protocol.tools import ToolsList

from ..interaction.doing import ask, messages_of, one_turn, results_of, shell, turn
from ..interaction.house import PATIENCE, House, house, new_session
from ..mcp_host.bench import plant, scripted

pytestmark = pytest.mark.anyio


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def load(skill: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "skill", "arguments": {"name": skill}}]}


def said(h: House, number: int = 0) -> str:
    return h.sim.requests[number].body


async def sent(h: House, client: Any, text: str, **settings: Any) -> tuple[str, e.TurnCompleted, list[e.Event]]:
    session = await new_session(h, client, **settings)
    completed, seen = await turn(client, await client.attach(session), text)
    return session, completed, seen


async def test_a_command_is_expanded_with_its_arguments_and_files_and_people_see_what_was_typed(tmp_path: Path) -> None:
    header = "---\ndescription: Review a file\nargument-hint: FILE [FOCUS]\n---\n"
    text = f"{header}Review $1 for $2 ($ARGUMENTS). See @notes.txt"
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        put(h.workspace / ".claude" / "commands" / "review.md", text)
        put(h.workspace / "notes.txt", "note well")
        session, _, _ = await sent(h, client, '/review app.py "race conditions"')
        assert 'Review app.py for race conditions (app.py \\"race conditions\\").' in said(h)
        assert "note well" in said(h)
        typed, meant = (await messages_of(client, session))[:2]
        assert typed.parts == [TextPart('/review app.py "race conditions"')]
        assert isinstance(meant.parts[0], NotePart)
        listed = await ask(client, CommandsList, cwd=str(h.workspace))
        (command,) = listed.commands
        assert (command.name, command.description, command.arguments) == ("review", "Review a file", "FILE [FOCUS]")


async def test_folders_become_namespaces_and_a_persons_own_command_wins(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        put(h.workspace / ".openagent" / "commands" / "web" / "test.md", "Project test")
        put(h.workspace / ".openagent" / "commands" / "fix.md", "Project fix")
        put(h.home / "commands" / "fix.md", "My fix of $ARGUMENTS")
        listed = await ask(client, CommandsList, cwd=str(h.workspace))
        assert [(each.name, each.origin) for each in listed.commands] == [("fix", "user"), ("web:test", "project")]
        await sent(h, client, "/fix it")
        assert "My fix of it" in said(h)


@pytest.mark.parametrize("text", ["/etc/hosts is empty", "/nothing here", "/", "// comment"])
async def test_what_is_no_command_is_a_message(tmp_path: Path, text: str) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        session, completed, _ = await sent(h, client, text)
        assert completed.reason == "done"
        assert not [p for m in await messages_of(client, session) for p in m.parts if isinstance(p, NotePart)]


async def test_allowed_tools_and_model_of_a_strangers_command_do_not_count_until_trusted(tmp_path: Path) -> None:
    text = "---\nallowed-tools: Bash(touch:*), Read\nmodel: compatible/other\n---\nTouch it."
    script = [step for _ in range(3) for step in (shell("touch made"), {"text": "ok"})]
    async with house(tmp_path, script) as h, await h.client() as client:
        put(h.workspace / ".openagent" / "commands" / "touch.md", text)
        _, _, seen = await sent(h, client, "/touch", mode="plan")
        assert json.loads(said(h))["model"] == "scripted"
        await ask(client, TrustAdd, cwd=str(h.workspace))
        _, _, seen = await sent(h, client, "/touch", mode="edits")
        assert json.loads(said(h, 2))["model"] == "other"
        assert not [event for event in seen if isinstance(event, e.PermissionRequested)]
        assert (h.workspace / "made").exists()


async def test_commands_of_other_agents_are_called_in_their_own_words(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}] * 8) as h, await h.client() as client:
        toml = 'description = "Explain"\nprompt = """Explain {{args}}: !{echo it is {{args}}} @{notes.txt}"""\n'
        put(h.workspace / ".gemini" / "commands" / "git" / "explain.toml", toml)
        put(h.workspace / ".gemini" / "commands" / "broken.toml", "prompt = ")
        put(h.workspace / ".opencode" / "command" / "look.md", "---\nagent: build\nsubtask: true\n---\nIn !`pwd`: $1")
        inline = {"command": {"count": {"template": "Count $ARGUMENTS: !`echo 1`", "agent": "plan"}, "no": {}}}
        put(h.workspace / "opencode.json", json.dumps(inline))
        put(h.workspace / ".github" / "prompts" / "form.prompt.md", "Make ${input:what:a form} for ${input:whom:me}.")
        put(tmp_path / ".claude" / "commands" / "mine.md", "Lines: !`printf 'a\\nb'` and !`touch made`; $ARGUMENTS[1]")
        put(tmp_path / ".codex" / "prompts" / "ticket.md", "Fix $TICKET at $PRICE.")
        put(h.workspace / "notes.txt", "note well !`echo again`")
        listed = await ask(client, CommandsList, cwd=str(h.workspace))
        assert {each.name for each in listed.commands} == {"git:explain", "look", "form", "mine", "ticket", "count"}
        told = [notice.removeprefix(f"{h.workspace}/") for notice in listed.notices]
        assert told[0] == ".opencode/command/look.md: `agent`, `subtask` are not used here."
        assert told[1].startswith(".gemini/commands/broken.toml: it is no TOML: ")
        assert told[2:] == [
            "opencode.json: count: `agent` is not used here.",
            "opencode.json: the command 'no' is left out: it has no name or no `template`.",
        ]

        await sent(h, client, '/git:explain a "b; echo c"', mode="edits")
        assert "nobody trusts this folder: echo it is 'a \\\"b; echo c\\\"'" in said(h)
        await ask(client, TrustAdd, cwd=str(h.workspace))
        calls = {
            '/git:explain a "b; echo c"': 'it is a \\"b; echo c\\"',
            "/look here": f"In {h.workspace}: here",
            "/form page": "Make page for me.",
            "/count sheep": "Count sheep: 1",
            "/mine x y": "Lines: a\\nb and [not run unasked: touch made]; y",
            "/ticket TICKET='a b'": "Fix a b at $PRICE.",
        }
        for typed, meant in calls.items():
            await sent(h, client, typed, mode="ask")
            assert meant in h.sim.requests[-1].body, typed
        assert "note well !`echo again`" in said(h, 1)
        assert not (h.workspace / "made").exists()
        _, _, seen = await sent(h, client, "/mine", mode="full")
        assert (h.workspace / "made").exists()
        ran = [(event.command, event.outcome) for event in seen if isinstance(event, e.HookRan)]
        assert ran == [("printf 'a\\nb'", "done"), ("touch made", "done")]


async def test_a_command_whose_model_is_not_here_is_answered_by_the_sessions_own(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        put(tmp_path / ".claude" / "commands" / "deep.md", "---\nmodel: opus\n---\nThink.")
        _, completed, seen = await sent(h, client, "/deep")
        assert completed.reason == "done"
        assert json.loads(said(h))["model"] == "scripted"
        (told,) = [event.error.message for event in seen if isinstance(event, e.ErrorRaised)]
        assert told == "The command /deep names the model 'opus', which cannot answer here: the session's own does."


async def test_files_named_in_a_command_stay_inside_the_workspace(tmp_path: Path) -> None:
    put(tmp_path / "secret.txt", "s3cr3t")
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        (h.workspace / "link.txt").symlink_to(tmp_path / "secret.txt")
        put(h.home / "commands" / "leak.md", f"@../secret.txt @{tmp_path}/secret.txt @link.txt @~/secret.txt")
        await sent(h, client, "/leak")
        assert "s3cr3t" not in said(h)


async def test_broken_commands_and_skills_are_told_and_the_others_work(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        put(tmp_path / "outside.md", "outside")
        commands = h.workspace / ".openagent" / "commands"
        put(commands / "good.md", "good")
        put(commands / "bad.md", "---\nno end")
        put(commands / "odd name.md", "odd")
        (commands / "link.md").symlink_to(tmp_path / "outside.md")
        put(commands / "binary.md", "x")
        (commands / "binary.md").write_bytes(b"\xff\xfe\x00" * 100)
        found = await ask(client, CommandsList, cwd=str(h.workspace))
        assert [each.name for each in found.commands] == ["binary", "good"]
        assert len(found.notices) == 3
        skills = h.workspace / ".openagent" / "skills"
        put(skills / "good" / "SKILL.md", "---\nname: good\ndescription: works\n---\nbody")
        put(skills / "bad" / "SKILL.md", "---\n: : :\n---\nbody")
        put(skills / "worse" / "SKILL.md", "---\nname: ../../etc\n---\nbody")
        shown = await ask(client, SkillsList, cwd=str(h.workspace))
        assert [each.name for each in shown.skills] == ["bad", "good"]
        assert len(shown.notices) == 2
        assert "bad/SKILL.md:2: ': : :' is not `key: value`." in shown.notices[0]


async def test_skills_are_listed_once_and_loaded_by_a_tool_that_is_there_only_with_skills(tmp_path: Path) -> None:
    script = [load("release"), {"text": "ok"}, {"text": "again"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        before = {tool.name for tool in (await ask(client, ToolsList)).tools}
        assert "skill" not in before
        folder = h.workspace / ".claude" / "skills" / "release"
        put(folder / "SKILL.md", "---\nname: release\ndescription: Cut a release.\n---\nTag, then push.")
        put(folder / "check.sh", "echo checked")
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        await turn(client, attachment)
        assert said(h, 2).count("release: Cut a release.") == 1
        assert "Tag, then push." not in said(h, 0)
        (result,) = await results_of(client, session)
        assert "Tag, then push." in result.text
        assert "check.sh" in result.text
        content = await ask(client, SkillShow, name="release", cwd=str(h.workspace))
        assert (content.body, content.files) == ("Tag, then push.", ["check.sh"])


async def test_files_of_a_persons_own_skill_can_be_run_in_the_jail(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        folder = h.home / "skills" / "greet"
        put(folder / "SKILL.md", "---\nname: greet\ndescription: Greets.\n---\nRun hello.sh.")
        put(folder / "hello.sh", "echo hello from the skill")
        session = await new_session(h, client)
        place = h.home / "scratch" / session / "skills" / "greet" / "hello.sh"
        h.sim.reset([load("greet"), shell(f"bash {place}"), {"text": "ok"}])
        await turn(client, await client.attach(session))
        assert "hello from the skill" in (await results_of(client, session))[1].text


async def test_many_skills_are_listed_in_bounded_room(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        for number in range(150):
            text = f"---\nname: skill-{number:03}\ndescription: {'long words ' * 100}\n---\nbody"
            put(h.workspace / ".openagent" / "skills" / f"s{number}" / "SKILL.md", text)
        await one_turn(h, client)
        notes = [m["content"] for m in json.loads(said(h))["messages"] if "[Skills:" in str(m.get("content"))]
        assert len(notes[0]) < 9000
        assert "more are not listed" in notes[0]


async def test_a_skill_that_is_not_listed_is_found_by_some_words_and_loaded(tmp_path: Path) -> None:
    async with house(tmp_path, [load("fill pdf forms"), load("skill-149"), {"text": "ok"}]) as h:
        for number in range(150):
            about = "Fill in PDF forms" if number == 149 else "long words " * 40
            text = f"---\nname: skill-{number:03}\ndescription: {about}\n---\nbody {number}"
            put(h.workspace / ".openagent" / "skills" / f"s{number:03}" / "SKILL.md", text)
        client = await h.client()
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        assert "skill-149" not in said(h)
        found, loaded = await results_of(client, session)
        assert "- skill-149: Fill in PDF forms" in found.text
        assert loaded.text == "body 149"
        await client.close()


async def test_skills_are_read_where_other_agents_keep_them_and_also_further_below(tmp_path: Path) -> None:
    theirs = (".agents", ".claude", ".opencode", ".gemini", ".codex", ".github")
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        for folder in theirs:
            text = f"---\nname: of{folder}\ndescription: d\nallowed-tools:\n  - Bash\nmetadata:\n  v: 1\n---\nbody"
            put(h.workspace / folder / "skills" / "kind" / "one" / "SKILL.md", text)
            put(h.workspace / folder / "skills" / "kind" / "one" / "inner" / "SKILL.md", "not one of its own")
        for folder in (".agents", ".claude", ".gemini", ".codex", ".copilot", ".config/opencode"):
            put(
                tmp_path / folder / "skills" / "two" / "SKILL.md", f"---\nname: my{folder.replace('/', '-')}\n---\nbody"
            )
        put(tmp_path / "shared" / "SKILL.md", "---\nname: linked\n---\nbody")
        (tmp_path / ".claude" / "skills" / "three").symlink_to(tmp_path / "shared")
        found = await ask(client, SkillsList, cwd=str(h.workspace))
        mine = {"my.agents", "my.claude", "my.gemini", "my.codex", "my.copilot", "my.config-opencode", "linked"}
        assert {each.name for each in found.skills if each.origin == "project"} == {f"of{name}" for name in theirs}
        assert {each.name for each in found.skills if each.origin == "user"} == mine
        assert found.notices == []


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("plain", {}, "plain"),
        ("---\nname: a b\n---\nx", {"name": "a b"}, "x"),
        (
            '---\nname: "a: b" \nlist: [a, "b c", d(e, f)]\n---\n\nx',
            {"name": "a: b", "list": ["a", "b c", "d(e, f)"]},
            "x",
        ),
        ("---\ntools:\n  - a\n  - b\nmore: >\n  one\n  two\n---\nx", {"tools": ["a", "b"], "more": "one two"}, "x"),
        ("---\r\nname: a\r\n---\r\nx\r\n", {"name": "a"}, "x"),
        ("--- not a header\nx", {}, "--- not a header\nx"),
        ("---\n# comment\nempty:\n---\n", {"empty": ""}, ""),
        ("\n---\nname: a\nwhat is this\n---\nx", {"name": "a\nwhat is this"}, "x"),
        (
            "---\ndescription: Use it so\n\n<example>\nuser: hi\nuser: ho\n</example>\nmodel: opus\n---\nx",
            {"description": "Use it so\n<example>\nuser: hi\nuser: ho\n</example>", "model": "opus"},
            "x",
        ),
        ("---\ntools: {bash: false, edit: true}\n---\nx", {"tools": {"bash": "false", "edit": "true"}}, "x"),
        (
            "---\nhooks:\n  Stop:\n    - matcher: x\n  Start: a\nservers:\n  - one:\n      url: u\n  - two\n---\nx",
            {"hooks": {"Stop": "- matcher: x", "Start": "a"}, "servers": ["one:\nurl: u", "two"]},
            "x",
        ),
    ],
)
def test_headers_as_people_write_them(text: str, fields: dict[str, Any], body: str) -> None:
    parsed = parse_front_matter(text, "it.md")
    assert ({key: entry.value for key, entry in parsed.entries.items()}, parsed.body) == (fields, body)


@pytest.mark.parametrize("text", ["---\nno end", "---\n" + "a: b\n" * 20_000 + "---\n"])
def test_headers_that_make_no_sense(text: str) -> None:
    with pytest.raises(OpenAgentError):
        parse_front_matter(text, "it.md")


async def test_prompts_of_mcp_servers_are_commands(tmp_path: Path) -> None:
    plant(tmp_path, shop=scripted("library"))
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        async with asyncio.timeout(PATIENCE):  # a busy machine may need more than one look until the server is up
            while not (listed := await ask(client, CommandsList, cwd=str(h.workspace))).commands:
                pass
        assert [(each.name, each.origin, each.arguments) for each in listed.commands] == [
            ("shop:review", "mcp", "TITLE TONE")
        ]
        await sent(h, client, "/shop:review one")
        assert "Review it." in said(h)
        _, completed, _ = await sent(h, client, "/shop:review")
        assert completed.error is not None
        assert "title" in completed.error.message
