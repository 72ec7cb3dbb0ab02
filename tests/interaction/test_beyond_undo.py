"""What undo could not bring back is asked for before a call changes it, and read-only in `auto`: whole turns."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from openagent.protocol import events as e
from tests.jail.conftest import needs_bwrap

from .doing import answer, asked, call, results_of, shell, turn, write
from .house import PATIENCE, house, new_session
from .test_egress import begin, ended, questions

pytestmark = [pytest.mark.anyio, needs_bwrap]
LARGE = 11 << 20
"""Larger than an ignored file may be that is kept."""


def project(folder: Path) -> Path:
    """With a file that undo does not keep, beside one that it does."""
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True, env={"PATH": os.environ["PATH"]})
    (folder / ".gitignore").write_text("data/\nbuild/\n")
    (folder / "data").mkdir()
    (folder / "data" / "large").write_text("precious")
    os.truncate(folder / "data" / "large", LARGE)
    (folder / "data" / "small").write_text("kept")
    return folder


def begins_with(path: Path, text: str) -> bool:
    with path.open() as file:
        return file.read(len(text)) == text


async def test_a_file_beyond_the_limits_is_written_once_a_person_allowed_it(tmp_path: Path):
    large = project(tmp_path / "workspace") / "data" / "large"
    script = [
        shell("cd data && printf '+' >> small && echo lost | tee large; cat small"),
        shell("echo more > large; echo more > small"),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client, mode="auto")
        question = await asked(attachment)
        assert (question.ask.tool, question.ask.summary) == ("unsaved", str(h.workspace / "data"))
        assert "data/large" in question.ask.reason
        assert begins_with(large, "precious")
        assert "in `data`, for the rest of this session" in question.ask.choices[1].covers
        await answer(client, question, decision="allow", scope="session")
        assert questions(await ended(attachment)) == []
        first, second = await results_of(client, session)
        assert first.text == "lost\nkept+"
        assert second.text == "[no output]"
        assert large.read_text() == (h.workspace / "data" / "small").read_text() == "more\n"


async def test_refused_it_stays_and_the_model_hears_why(tmp_path: Path):
    large = project(tmp_path / "workspace") / "data" / "large"
    script = [
        shell("rm -rf data || true"),
        shell("mv data/large elsewhere"),
        write("data/large", "x"),
        shell("touch made; echo ok"),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client, mode="auto")
        for _ in range(3):
            question = await asked(attachment)
            assert question.ask.summary == str(h.workspace / "data")
            await answer(client, question, decision="deny", reason="mine")
        assert questions(await ended(attachment)) == []
        removed, moved, written, last = await results_of(client, session)
        for result in (removed, moved, written):
            assert "Denied: undo could not bring data" in result.text
            assert "mine" in result.text
        assert last.text == "ok"
        assert begins_with(large, "precious")
        assert large.stat().st_size == LARGE


async def test_what_the_session_made_itself_is_its_own_also_after_a_restart(tmp_path: Path):
    project(tmp_path / "workspace")
    make = shell("mkdir build && truncate -s 20M build/app && ln build/app build/other")
    change = shell("echo changed > build/app && rm -r build && echo all changed")
    script = [make, shell("echo again >> build/app; echo fine"), {"text": "."}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client, mode="auto")
        assert questions(await ended(attachment)) == []
        assert [result.text for result in await results_of(client, session)] == ["[no output]", "fine"]
    async with house(tmp_path, [*script, change, {"text": "."}]) as h, await h.client(interactive=True) as client:
        attachment = await client.attach(session)
        _, seen = await turn(client, attachment)
        assert questions(seen) == []
        assert (await results_of(client, session))[-1].text.startswith("all changed")


async def test_allowed_once_it_is_held_again_for_the_next_command(tmp_path: Path):
    large = project(tmp_path / "workspace") / "data" / "large"
    script = [shell("echo one > data/large"), shell("echo two > data/large"), {"text": "done"}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        _, attachment = await begin(h, client, mode="auto")
        await answer(client, await asked(attachment), decision="allow", scope="once")
        await answer(client, await asked(attachment), decision="deny")
        await ended(attachment)
        assert large.read_text() == "one\n"


async def test_a_workspace_of_which_nothing_can_be_kept_is_asked_for_as_a_whole(
    tmp_path: Path,
):
    script = [shell("echo x > a"), shell("echo y > b"), shell("cat a b"), write("c", "z"), {"text": "done"}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        (h.home / "checkpoints").write_text("no folder can be made here")
        session, attachment = await begin(h, client, mode="auto")
        question = await asked(attachment)
        assert (question.ask.tool, question.ask.summary) == ("unsaved", str(h.workspace))
        assert not (h.workspace / "a").exists()
        await answer(client, question, decision="allow", scope="session")
        assert questions(await ended(attachment)) == []
        assert [(h.workspace / name).read_text() for name in "abc"] == ["x\n", "y\n", "z"]
        assert (await results_of(client, session))[2].text == "x\ny"


async def test_in_edits_it_is_asked_for_too_where_nobody_was_asked_about_the_call(tmp_path: Path):
    large = project(tmp_path / "workspace") / "data" / "large"
    script = [
        shell("echo a >> kept; cat data/large | wc -c; cp data/small elsewhere"),
        shell("echo x >> kept; mv data moved; rm data/*"),
        write("data/large", "x"),
        shell("echo y > data/large"),
        shell('python3 -c \'open("data/large", "w")\''),
        {"text": "."},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client, mode="edits")
        for _ in range(2):
            question = await asked(attachment)
            assert (question.ask.tool, question.ask.summary) == ("unsaved", str(h.workspace / "data"))
            await answer(client, question, decision="deny", reason="mine")
        assert begins_with(large, "precious")
        await answer(client, await asked(attachment), decision="allow", scope="once")
        question = await asked(attachment)
        assert question.ask.tool == "shell"
        await answer(client, question, decision="allow")
        assert questions(await ended(attachment)) == []
        plain, moved, written, allowed, code = await results_of(client, session)
        assert [each.ended for each in (plain, moved, written, allowed, code)] == [
            "done",
            "denied",
            "denied",
            "done",
            "done",
        ]
        assert (h.workspace / "kept").read_text() == "a\n"
        assert large.read_text() == ""


@pytest.mark.parametrize("mode", ["ask", "full"])
async def test_elsewhere_nothing_more_is_asked(tmp_path: Path, mode: str):
    large = project(tmp_path / "workspace") / "data" / "large"
    script = [shell("echo x > data/large"), {"text": "."}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        _, attachment = await begin(h, client, mode=mode)
        if mode == "ask":
            question = await asked(attachment)
            assert question.ask.tool == "shell"
            await answer(client, question, decision="allow")
        assert questions(await ended(attachment)) == []
        assert large.read_text() == "x\n"


@pytest.mark.parametrize("mode", ["ask", "edits", "full"])
async def test_a_rule_about_it_holds_in_every_mode(tmp_path: Path, mode: str):
    large = project(tmp_path / "workspace") / "data" / "large"
    script = [
        shell("echo x > made; echo x > data/large"),
        write("data/large", "x"),
        shell('python3 -c \'open("data/large", "w")\' || true'),
        shell("echo x > made"),
        {"text": "."},
    ]
    rule = '[[rule]]\nname = "keep"\ndecision = "deny"\ntool = "unsaved"\npath = "data"\nreason = "Never."\n'
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        (h.home / "policy.toml").write_text(rule)
        attachment = await client.attach(await new_session(h, client, mode=mode))
        await client.send(attachment.session, "go")
        async with asyncio.timeout(PATIENCE):
            async for event in attachment.events():
                if isinstance(event, e.PermissionRequested):
                    assert event.ask.tool != "unsaved"
                    await answer(client, event, decision="allow", scope="once")
                if isinstance(event, e.TurnCompleted):
                    break
        command, written, hidden, last = await results_of(client, attachment.session)
        for refused in (command, written):
            assert refused.text == "Denied: undo could not bring data/large back: Never."
        assert "data can only be read until" in hidden.text
        assert last.ended == "done"
        assert begins_with(large, "precious")


async def test_what_cannot_be_seen_beforehand_is_refused_and_the_model_asks(tmp_path: Path):
    large = project(tmp_path / "workspace") / "data" / "large"
    (tmp_path / "workspace" / "grows.py").write_text("open('data/large', 'w').write('x')\n")
    more = [f"rw:{large.parent}"]
    script = [
        call("execute_code", language="python", code="print('once')\nopen('data/large', 'w').write('x')"),
        shell("echo line >> log; python3 grows.py; cat log"),
        call("shell", command="python3 grows.py", leave=more),
        call("shell", command="python3 grows.py", leave=more, justification="it grows"),
        call("shell", command="echo line >> log", leave=[f"rw:{large.parent.parent / 'log'}"]),
        {"text": "."},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client, mode="auto")
        question = await asked(attachment)
        assert (question.ask.tool, question.ask.summary) == ("unsaved", str(h.workspace / "data"))
        assert begins_with(large, "precious")
        await answer(client, question, decision="deny", reason="mine")
        await answer(client, await asked(attachment), decision="allow", scope="once")
        assert questions(await ended(attachment)) == []
        code, hidden, denied, allowed, last = await results_of(client, session)
        for refused in (code, hidden):
            assert "data can only be read until the user allows more" in refused.text
            assert f'leave ["rw:{h.workspace / "data"}"]' in refused.text
        assert code.text.startswith("once\nTraceback")
        assert (hidden.ended, denied.ended, allowed.ended, last.ended) == ("done", "denied", "done", "done")
        assert "mine" in denied.text
        assert large.read_text() == "x"
        assert (h.workspace / "log").read_text() == "line\nline\n"


def work_tree(main: Path, folder: Path) -> None:
    """Of a repository elsewhere, on a branch of its own."""

    def git(*arguments: str) -> None:
        environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(main)}
        subprocess.run(["git", *arguments], cwd=main, check=True, env=environment)

    main.mkdir()
    git("init", "-q")
    git("config", "user.name", "T")
    git("config", "user.email", "t@example.com")
    (main / "file").write_text("one\n")
    git("add", "file")
    git("commit", "-qm", "one")
    git("worktree", "add", "-q", "-b", "side", str(folder))


def branch(main: Path, name: str) -> str:
    return (main / ".git" / "refs" / "heads" / name).read_text()


async def test_the_repository_of_a_work_tree_is_held_until_a_person_allows_it(tmp_path: Path):
    main = tmp_path / "main"
    work_tree(main, tmp_path / "workspace")
    before = branch(main, "side")
    destroy = f"rm -rf {main}/.git/refs/heads {main}/.git/objects/pack; git update-ref -d refs/heads/master"
    script = [
        shell("git status --short; git log --oneline | wc -l; echo two > file; git diff --stat | tail -1"),
        shell(destroy),
        shell("git add file && git commit -qm two && git log --oneline | wc -l"),
        shell("echo three > file && git commit -qam three && echo again"),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client, mode="auto")
        refused = await asked(attachment)
        assert (refused.ask.tool, refused.ask.summary) == ("unsaved", f"{main}/.git")
        await answer(client, refused, decision="deny", reason="mine")
        question = await asked(attachment)
        assert question.ask.summary == f"{main}/.git"
        assert branch(main, "side") == before
        await answer(client, question, decision="allow", scope="session")
        assert questions(await ended(attachment)) == []
        read, destroyed, committed, again = await results_of(client, session)
        assert "1 file changed" in read.text
        assert not read.is_error
        assert "Denied: undo could not bring" in destroyed.text
        assert "mine" in destroyed.text
        assert committed.text.startswith("2")
        assert again.text == "again"
        assert branch(main, "side") != before


async def test_a_work_trees_repository_allowed_once_is_held_again(tmp_path: Path):
    main = tmp_path / "main"
    work_tree(main, tmp_path / "workspace")
    script = [shell("git branch one"), shell("git branch two"), {"text": "done"}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        _, attachment = await begin(h, client, mode="auto")
        await answer(client, await asked(attachment), decision="allow", scope="once")
        await answer(client, await asked(attachment), decision="deny")
        await ended(attachment)
    assert branch(main, "one") == branch(main, "side")
    assert not (main / ".git" / "refs" / "heads" / "two").exists()
