"""Modes are walls: what runs unasked runs where it can do no harm, whatever anybody believes of it."""

import asyncio
import json
import os
import pwd
import stat
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openagent.protocol import events as e
from openagent.protocol.safety import AuditAsk, TrustAdd
from openagent.protocol.sessions import SessionUpdate, SettingsChange
from openagent.protocol.terminals import TerminalClose, TerminalInput, TerminalOpen
from openagent.protocol.tools import ToolRun

from .doing import answer, ask, asked, call, one_turn, results_of, shell, turn, write
from .house import PATIENCE, House, house, new_session, until

pytestmark = pytest.mark.anyio

DONE = {"text": "ok"}
DIFFER = "#!/bin/sh\ntouch made || exit 1\necho differs\n"


def seen_files(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Names, modes, times, contents."""
    found: dict[str, tuple[int, int, int, bytes]] = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        about = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
        found[str(path.relative_to(folder))] = about.st_mode, about.st_mtime_ns, about.st_ctime_ns, data
    return found


def repository(folder: Path) -> None:
    """One in which `git diff`, which everybody believes to read, runs a program that writes."""
    folder.mkdir(exist_ok=True)
    (folder / "a").write_text("a\n")
    (folder / "differ").write_text(DIFFER)
    (folder / "differ").chmod(0o755)
    for command in ("init -q", "add a", "-c user.name=n -c user.email=e commit -qm m", "config diff.external ./differ"):
        subprocess.run(["git", "-C", str(folder), *command.split()], check=True, env={"PATH": os.environ["PATH"]})
    (folder / "a").write_text("b\n")


@contextmanager
def below_home() -> Generator[Path]:
    """Of the user who runs the tests, which is not the home that tests have."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    if not os.access(home, os.W_OK):
        pytest.skip("the home directory cannot be written")
    with tempfile.TemporaryDirectory(dir=home, prefix="openagent-test-") as folder:
        yield Path(folder)


@pytest.fixture(params=["below /tmp", "elsewhere"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Below /tmp the reading shell has an enclosure of its own; elsewhere it stands beside the writing one."""
    if request.param == "below /tmp":
        yield tmp_path
        return
    with below_home() as folder:
        yield folder


async def set_mode(h: House, session: str, mode: str) -> None:
    async with await h.client() as client:
        change = SettingsChange(mode=mode)  # pyright: ignore[reportArgumentType]
        await ask(client, SessionUpdate, session=session, settings=change)


async def test_in_plan_no_tool_writes_however_it_tries(place: Path) -> None:
    steps = [
        shell("echo x > a; touch b; chmod 777 a; touch -d yesterday a; cat a; echo y > /tmp/y && cat /tmp/y"),
        call("execute_code", language="python", code="open('c', 'w').write('x')"),
        call("git", subcommand="commit", args=["--allow-empty", "-m", "x"]),
        call("git", subcommand="diff"),
        shell("(sleep 0.2; touch late) & disown; nohup touch later & wait"),
        write("d", "x"),
        DONE,
    ]
    repository(place / "workspace")
    before = seen_files(place / "workspace")
    async with house(place, steps) as h, await h.client() as client:
        session, completed, seen = await one_turn(h, client, mode="plan")
        assert completed.reason == "done"
        results = await results_of(client, session)
        assert [result.ended for result in results] == ["done", "failed", "failed", "failed", "done", "denied"]
        assert results[0].text.count("Read-only file system") == 4
        assert "\nb\ny" in results[0].text
        assert "Plan mode" in results[1].text
        assert not [event for event in seen if isinstance(event, e.PermissionRequested | e.CheckpointCreated)]
        assert seen_files(place / "workspace") == before


async def test_in_plan_a_persons_commands_terminals_and_a_projects_hooks_write_nothing(tmp_path: Path) -> None:
    async with house(tmp_path, [shell("ls"), DONE]) as h, await h.client() as client:
        (h.workspace / ".openagent").mkdir()
        hooks = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "touch hooked; touch /tmp/x"}]}]}}
        (h.workspace / ".openagent" / "hooks.json").write_text(json.dumps(hooks))
        await ask(client, TrustAdd, cwd=str(h.workspace))
        before = seen_files(h.workspace)
        session = await new_session(h, client, mode="plan")
        attachment = await client.attach(session)
        _, seen = await turn(client, attachment)
        assert [event.hook for event in seen if isinstance(event, e.HookRan)] == ["PreToolUse"]
        ran = await ask(client, ToolRun, session=session, tool="shell", arguments={"command": "touch x"})
        assert ran.is_error
        opened = await ask(client, TerminalOpen, session=session, columns=80, rows=24)
        typed = "touch typed; echo over-$((1+1))\n"
        await ask(client, TerminalInput, terminal=opened.terminal, text=typed)
        shown = ""
        async with asyncio.timeout(PATIENCE):
            while "over-2" not in shown:
                again = await ask(client, TerminalOpen, session=session, terminal=opened.terminal, columns=80, rows=24)
                shown = again.text
        assert "Read-only file system" in shown
        await ask(client, TerminalClose, terminal=opened.terminal)
        assert seen_files(h.workspace) == before


async def test_a_command_that_meets_the_wall_ends_and_the_model_asks_for_more(place: Path) -> None:
    repository(place / "workspace")
    more = [f"rw:{place / 'workspace'}"]
    steps = [
        shell("git diff"),
        call("shell", command="git diff", leave=more, justification="diff.external writes"),
        call("shell", command="git diff", leave=more),
        shell("ls made"),
        DONE,
    ]
    async with house(place, steps) as h, await h.client(interactive=True) as client:
        attachment = await client.attach(await new_session(h, client, mode="edits"))
        await client.send(attachment.session, "go")
        first = await asked(attachment)
        assert (first.ask.tool, first.ask.summary) == ("shell", "git diff")
        assert first.ask.reason == "It seems to only read, but asks to write."
        assert not (h.workspace / "made").exists()
        await answer(client, first, decision="deny", reason="not yet")
        await answer(client, await asked(attachment), decision="allow")
        async with asyncio.timeout(PATIENCE):
            await attachment.until_turn_ends()
        refused, denied, allowed, listed = await results_of(client, attachment.session)
        assert refused.ended == "failed"
        assert "a write was refused (touch: cannot touch 'made'" in refused.text
        assert f'leave ["rw:{h.workspace}"]' in refused.text
        assert denied.text == "Denied: not yet."
        assert (allowed.is_error, "differs" in allowed.text) == (False, True)
        assert listed.text == "made"
        page = await ask(client, AuditAsk, session=attachment.session, kind="decision")
        told = [row.detail["decision"] for row in page.entries if row.subject == "git diff"]
        assert told == ["allow", "deny", "allow"]  # the newest first, one for each call


@pytest.mark.parametrize("mode", ["plan", "ask"])
async def test_a_refused_write_that_a_command_hides_is_told_to_the_model(place: Path, mode: str) -> None:
    repository(place / "workspace")
    (place / "workspace" / "log").write_text("touch: cannot touch 'a' in 1 of 2 places\n")
    steps = [shell("git diff || echo never mind"), shell("git diff; cat log"), shell("cat log"), DONE]
    async with house(place, steps) as h, await h.client(interactive=True) as client:
        session, _, seen = await one_turn(h, client, mode=mode)
        assert not [event for event in seen if isinstance(event, e.PermissionRequested)]
        *hidden, plain = await results_of(client, session)
        for each in hidden:
            assert "a write was refused (touch: cannot touch 'made'" in each.text or "Plan mode: " in each.text
        assert plain.text == "touch: cannot touch 'a' in 1 of 2 places"
        assert not (h.workspace / "made").exists()


async def test_of_caches_that_cannot_be_written_nobody_is_told(tmp_path: Path) -> None:
    steps = [shell("mkdir .pytest_cache; false"), shell("mkdir build; false"), DONE]
    async with house(tmp_path, steps) as h, await h.client() as client:
        session, _, _ = await one_turn(h, client, mode="plan")
        cache, folder = await results_of(client, session)
        assert "Read-only file system" in cache.text
        assert "Plan mode: " not in cache.text
        assert "Plan mode: " in folder.text


async def test_what_only_reads_takes_no_lock_of_git(place: Path) -> None:
    told = "echo ${GIT_OPTIONAL_LOCKS-none}"
    async with (
        house(place, [shell(told), shell(f"{told} > a; cat a"), shell(told), DONE]) as h,
        await h.client() as client,
    ):
        session, _, seen = await one_turn(h, client, mode="edits")
        assert not [event for event in seen if isinstance(event, e.PermissionRequested)]
        assert [each.text for each in await results_of(client, session)] == ["0", "none", "0"]
        planned, _, _ = await one_turn(h, client, mode="plan")
        assert [each.text for each in await results_of(client, planned)][::2] == ["0", "0"]


async def test_directory_variables_and_functions_go_from_reading_to_writing_and_back(place: Path) -> None:
    steps = [
        shell("mkdir -p sub/deeper"),
        shell('cd sub; WORD=hello; f() { echo "f: $WORD"; }; false'),
        shell("echo $?; echo $WORD > out; pwd; cd deeper; WORD=changed"),
        shell("pwd; echo $WORD; type -t f; cat ../out; cd - > /dev/null; pwd"),
        DONE,
    ]
    async with house(place, steps) as h, await h.client(interactive=True) as client:
        session = await new_session(h, client, mode="edits")
        _, seen = await turn(client, await client.attach(session))
        assert not [event for event in seen if isinstance(event, e.PermissionRequested)]
        _, _, third, fourth = await results_of(client, session)
        sub = h.workspace / "sub"
        assert third.text.splitlines()[:2] == ["1", str(sub)]
        assert fourth.text.splitlines()[:5] == [f"{sub}/deeper", "changed", "function", "hello", str(sub)]


async def test_what_runs_unasked_in_ask_sees_what_approved_commands_left() -> None:
    server = "python3 -m http.server 8431 --bind 127.0.0.1 > /tmp/log 2>&1 & for i in $(seq 100); do"
    server += " (: < /dev/tcp/127.0.0.1/8431) 2>/dev/null && break; sleep 0.1; done; echo up"
    steps = [shell(server), shell("cat /tmp/log | wc -l; ps ax | grep -c http.serve[r]"), DONE]
    with below_home() as folder:
        async with house(folder, steps) as h, await h.client(interactive=True) as client:
            attachment = await client.attach(await new_session(h, client, mode="ask"))
            await client.send(attachment.session, "go")
            await answer(client, await asked(attachment), decision="allow")
            async with asyncio.timeout(PATIENCE):
                await attachment.until_turn_ends()
            started, looked = await results_of(client, attachment.session)
            assert started.text.startswith("up")
            assert looked.text.split()[1] == "1", (started.text, looked.text)


async def test_auto_works_unasked_and_undoable_and_asks_before_anything_leaves(tmp_path: Path) -> None:
    steps = [shell('mkdir a && echo x > a/b && python3 -c \'open("c","w")\''), write("d", "x"), shell("git push"), DONE]
    async with house(tmp_path, steps) as h, await h.client(interactive=True) as client:
        created = await client.create_session(str(h.workspace), model="compatible/scripted")
        assert created.settings.mode == "auto"
        attachment = await client.attach(created.id)
        await client.send(attachment.session, "go")
        seen = await until(attachment, lambda event: isinstance(event, e.PermissionRequested))
        (request,) = [event for event in seen if isinstance(event, e.PermissionRequested)]
        assert request.ask.summary == "git push"
        assert [event for event in seen if isinstance(event, e.CheckpointCreated)]
        await answer(client, request, decision="deny")
        async with asyncio.timeout(PATIENCE):
            await attachment.until_turn_ends()
        assert {path.name for path in h.workspace.iterdir()} == {"a", "c", "d"}


async def test_without_a_jail_plan_has_no_shell_and_all_else_is_asked(tmp_path: Path) -> None:
    config = '[jail]\nkind = "host"\n'
    steps = [shell("ls"), call("grep", pattern="x"), DONE, shell("ls"), DONE]
    async with house(tmp_path, steps, config=config) as h, await h.client(interactive=True) as client:
        created = await client.create_session(str(h.workspace), model="compatible/scripted")
        assert created.settings.mode == "ask"
        session, _, _ = await one_turn(h, client, mode="plan")
        ls, grep = await results_of(client, session)
        assert (ls.ended, grep.is_error) == ("denied", False)
        attachment = await client.attach(created.id)
        await client.send(created.id, "go")
        request = await asked(attachment)
        assert (request.ask.summary, request.ask.rule) == ("ls", "jail:none")
        await answer(client, request, decision="allow")
        async with asyncio.timeout(PATIENCE):
            await attachment.until_turn_ends()


async def test_a_session_that_goes_to_plan_ends_what_could_still_write(tmp_path: Path) -> None:
    server = "export WORD=kept; cd sub; (while :; do date > ../ticking; sleep 0.05; done) >/dev/null 2>&1 & echo on"
    steps = [shell(server), DONE, shell("pwd; echo $WORD; touch no"), DONE, shell("pwd; echo $WORD; touch yes"), DONE]
    async with house(tmp_path, steps) as h, await h.client() as client:
        (h.workspace / "sub").mkdir()
        session = await new_session(h, client, mode="auto")
        attachment = await client.attach(session)
        await ask(client, TerminalOpen, session=session)
        await turn(client, attachment)
        await set_mode(h, session, "plan")
        await until(attachment, lambda event: isinstance(event, e.TerminalExited))
        before = seen_files(h.workspace)
        await turn(client, attachment)
        assert seen_files(h.workspace) == before
        await set_mode(h, session, "auto")
        await turn(client, attachment)
        _, planned, after = await results_of(client, session)
        place = str(h.workspace / "sub")
        assert planned.text.splitlines()[:2] == [place, "kept"]
        assert "Read-only" in planned.text
        assert after.text.splitlines()[:2] == [place, "kept"]
        assert (h.workspace / "sub" / "yes").exists()
