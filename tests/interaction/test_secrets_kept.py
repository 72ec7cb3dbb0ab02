"""Secrets in the workspace: no call comes across them, in any mode, and one that names them is asked about."""

from pathlib import Path

import pytest

from openagent.protocol import events as e

from .doing import answer, asked, call, one_turn, results_of, shell
from .house import House, house, new_session

pytestmark = pytest.mark.anyio

SECRET = "s3cret-4711"


def _fill(workspace: Path) -> None:
    (workspace / "src").mkdir(parents=True)
    for name in (".env", "src/.env.local", "deploy_id_rsa", "id_rsa", "server.pem"):
        (workspace / name).write_text(f"KEY={SECRET}\n")
    (workspace / ".env.example").write_text("KEY=yours\n")
    (workspace / "src/app.py").write_text("KEY = 'none'\n")
    (workspace / ".gitignore").write_text(".env\n")
    (workspace / "deploy_id_rsa").unlink()
    (workspace / "link.txt").symlink_to("id_rsa")


ACROSS = [
    call("grep", pattern="KEY"),
    call("grep", pattern="KEY", glob=".env*"),
    call("grep", pattern="KEY", glob="*id_rsa"),
    call("grep", pattern="KEY", glob="*.pem", mode="files"),
    call("grep", pattern="KEY", glob=".env*", mode="count", path="src"),
    call("read_file", path="link.txt"),
    shell("grep -r KEY ."),
    shell("rg -uu KEY; cat *; ls -A | xargs cat; cat link.txt; git grep --no-index KEY"),
]


@pytest.mark.parametrize("mode", ["plan", "ask", "auto", "full"])
async def test_no_call_comes_across_a_secret(tmp_path: Path, mode: str) -> None:
    _fill(tmp_path / "workspace")
    (tmp_path / "workspace/AGENTS.md").write_text("Keys are in @.env and @link.txt and @.env.example\n")
    async with house(tmp_path, [*ACROSS, {"text": "done"}]) as h, await h.client() as client:
        session = await new_session(h, client, mode=mode)
        attachment = await client.attach(session)
        await client.send(session, "go")
        while True:
            event = await attachment.queue.get()
            if isinstance(event, e.PermissionRequested):
                await answer(client, event, decision="allow")
            if isinstance(event, e.TurnCompleted):
                break
        results = [result.text for result in await results_of(client, session)]
        told = "\n".join(str(record.body) for record in h.sim.requests)
    assert SECRET not in told
    assert "src/app.py:1:KEY = 'none'" in results[0]
    assert ".env.example:1:KEY=yours" in results[1]
    assert all("like secrets" in result for result in results[1:5])
    assert "KEY=yours" in results[6]
    assert "looks as if it held secrets" in results[6]


async def _approved(house: House, *, decision: str) -> list[str]:
    async with await house.client(interactive=True) as client:
        session = await new_session(house, client, mode="ask")
        attachment = await client.attach(session)
        await client.send(session, "go")
        for _ in range(2):
            await answer(client, await asked(attachment), decision=decision)
        await attachment.until_turn_ends()
        return [result.text for result in await results_of(client, session)]


async def test_what_a_person_allows_by_its_name_is_read_by_tool_and_shell(tmp_path: Path) -> None:
    _fill(tmp_path / "workspace")
    script = [call("read_file", path=".env"), shell("cat .env"), {"text": "done"}]
    async with house(tmp_path, script) as h:
        results = await _approved(h, decision="allow")
    assert all(SECRET in result for result in results), results


async def test_what_a_person_denies_is_not(tmp_path: Path) -> None:
    _fill(tmp_path / "workspace")
    script = [call("read_file", path=".env"), shell("cat .env"), {"text": "done"}]
    async with house(tmp_path, script) as h:
        results = await _approved(h, decision="deny")
    assert not any(SECRET in result for result in results)


async def test_an_agent_reads_the_env_file_that_it_made_itself(tmp_path: Path) -> None:
    script = [shell("cp .env.example .env; echo MORE=1 >> .env; cat ./.e*nv"), {"text": "{last_result}"}]
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/.env.example").write_text("KEY=yours\n")
    async with house(tmp_path, script) as h, await h.client() as client:
        _, completed, _ = await one_turn(h, client, mode="full")
    assert completed.text.startswith("KEY=yours\nMORE=1")


async def test_file_tools_leave_gits_own_files_alone_in_every_mode(tmp_path: Path) -> None:
    script = [
        *(call("write_file", path=path, content="x") for path in (".git/commondir", "sub/.git/config", "way/hooks/x")),
        call("apply_patch", patch="*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+x\n*** End Patch\n"),
        {"text": "done"},
    ]
    workspace = tmp_path / "workspace"
    (workspace / ".git/hooks").mkdir(parents=True)
    (workspace / "way").symlink_to(".git")
    async with house(tmp_path, script) as h, await h.client() as client:
        session, _, _ = await one_turn(h, client, mode="full")
        results = await results_of(client, session)
    assert all(result.is_error for result in results)
    assert sorted(path.name for path in (workspace / ".git").rglob("*")) == ["hooks"]
    assert not (workspace / "sub").exists()
