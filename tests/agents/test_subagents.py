"""Sub-agents through the whole daemon: their edits, their money, what they may do, and how they end."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.agents import AgentInfo, AgentsList
from openagent.protocol.grants import GrantsList, GrantsRevoke
from openagent.protocol.sessions import SessionDelete, SessionGet, SessionList
from openagent.protocol.templates import Template, TemplatesSave
from openagent.protocol.tools import ToolRan, ToolRun
from openagent.protocol.undo import SessionUndo
from openagent.protocol.usage import UsageAsk
from openagent.protocol.workspaces import (
    WorkspacesList,
    WorkspacesMerge,
    WorkspacesRemove,
)

from ..interaction.doing import answer, ask, asked, call, results_of, shell, turn, write
from ..interaction.house import MODEL, PATIENCE, house, house_over, new_session, until

pytestmark = pytest.mark.anyio


def agents(*tasks: tuple[str, str], **more: Any) -> dict[str, Any]:
    return call("agent", tasks=[{"template": template, "task": task} for template, task in tasks], **more)


def talk(says: str, *steps: dict[str, Any], loop: bool = False) -> dict[str, Any]:
    return {"match": says, "steps": list(steps), "loop": loop}


def script(*conversations: dict[str, Any]) -> dict[str, Any]:
    return {"conversations": list(conversations)}


def repository(workspace: Path) -> None:
    """Ten lines that several may change."""
    (workspace / "lines.txt").write_text("".join(f"line {number}\n" for number in range(10)))
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    subprocess.run(["git", "-C", str(workspace), "add", "."], check=True)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", "-C", str(workspace), *identity, "commit", "-qm", "x"], check=True)


def of(seen: list[e.Event], kind: type[Any]) -> list[Any]:
    return [event for event in seen if isinstance(event, kind)]


def is_started(event: e.Event) -> bool:
    return isinstance(event, e.SubagentStarted)


async def tree(client: Client, session: str = "") -> list[AgentInfo]:
    return (await ask(client, AgentsList, session=session)).agents


async def remove_copies(client: Client) -> None:
    """They may be mounts, which outlive a test."""
    for copy in await copies(client):
        await ask(client, WorkspacesRemove, copy=copy, force=True)


async def copies(client: Client) -> list[str]:
    return [copy.id for copy in (await ask(client, WorkspacesList)).copies]


async def test_whole_paths_of_the_callers_workspace_mean_the_copy_and_come_back_as_they_were(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    worker = talk("Write ", write("made.txt", "made\n"), {"text": "I was told: {first_user}"})
    task = f"Write {workspace}/made.txt, not {workspace}-old."
    async with (
        house(tmp_path, script(worker, talk("begin", agents(("coder", task)), {"text": "so"}))) as h,
        await h.client() as client,
    ):
        repository(h.workspace)
        root = await new_session(h, client)
        await turn(client, await client.attach(root), "begin")
        assert (h.workspace / "made.txt").read_text() == "made\n"
        (asked,) = {request.json()["messages"][1]["content"] for request in h.sim.requests} - {"begin"}
        assert asked.startswith("Write ")
        assert asked.endswith(f"/made.txt, not {workspace}-old.")
        assert asked != task
        (result,) = await results_of(client, root)
        assert f"I was told: {task}" in result.text


async def test_four_that_write_at_once_lose_no_edit_and_stay_within_the_cap_of_their_caller(tmp_path: Path) -> None:
    """Each writes a file of its own and changes a line of one that all of them change."""
    workers = [
        talk(
            f"job {number}",
            shell(f"sed -i 's/^line {number * 3}$/changed by {number}/' lines.txt"),
            write(f"own{number}.txt", f"by {number}\n"),
            {"text": f"did {number}"},
        )
        for number in range(4)
    ]
    wanted = [("coder", f"job {number}") for number in range(4)]
    config = f'[prices."{MODEL}"]\ninput = 1000\noutput = 1000\n'
    plan = script(*workers, talk("begin", agents(*wanted), {"text": "all done"}))
    async with house(tmp_path, plan, config=config) as h, await h.client() as client:
        repository(h.workspace)
        root = await new_session(h, client, budget_usd=400.0, max_output_tokens=300)
        completed, seen = await turn(client, await client.attach(root), "begin")
        assert (completed.reason, completed.text) == ("done", "all done")
        for number in range(4):
            assert (h.workspace / f"own{number}.txt").read_text() == f"by {number}\n"
        lines = (h.workspace / "lines.txt").read_text().splitlines()
        assert lines == [f"changed by {n // 3}" if n % 3 == 0 else f"line {n}" for n in range(10)]

        started, finished = of(seen, e.SubagentStarted), of(seen, e.SubagentFinished)
        assert len(started) == len(finished) == 4
        assert all(event.copy for event in started)
        assert {event.reason for event in finished} == {"done"}
        assert not any(event.conflicts or event.copy for event in finished)
        assert of(seen, e.SubagentProgress)
        assert await copies(client) == [], "what is merged needs no copy"

        family = await tree(client, root)
        assert [each.depth for each in family] == [0, 1, 1, 1, 1]
        assert {each.session.cwd for each in family} == {str(h.workspace)}
        assert {each.session.template for each in family[1:]} == {"coder"}
        report = await ask(client, UsageAsk, by="activity")
        spent = {row.key: row for row in report.rows}
        assert spent["subagent"].requests == 12
        assert family[0].tree_cost_usd == pytest.approx(report.total.cost_usd)
        listed = (await ask(client, SessionList, roots=True)).sessions[0]
        assert listed.usage.cost_usd + listed.below_usd == pytest.approx(report.total.cost_usd)
        assert 0 < report.total.cost_usd <= 400.0


async def test_the_cap_of_a_caller_stops_its_sub_agents_and_holds_after_a_restart(tmp_path: Path) -> None:
    config = f'[prices."{MODEL}"]\ninput = 1000\noutput = 1000\n'
    busy = {"text": "hm", "usage": {"input": 9000, "output": 100}}
    spender = talk("spend", {**shell("true"), "usage": {"input": 9000, "output": 100}}, busy)
    plan = script(spender, talk("begin", agents(("coder", "spend"), ("coder", "spend")), busy, busy, busy))
    async with Simulator(plan) as sim:
        async with house_over(tmp_path, sim, config=config) as h, await h.client() as client:
            repository(h.workspace)
            root = await new_session(h, client, budget_usd=32.0, max_output_tokens=300)
            completed, seen = await turn(client, await client.attach(root), "begin")
            assert {event.reason for event in of(seen, e.SubagentFinished)} >= {"budget"}
            assert [event.scope for event in of(seen, e.BudgetWarning)] == ["tree"], "whoever set the cap is warned"
            assert of(seen, e.BudgetExceeded)
            total = (await ask(client, UsageAsk)).total.cost_usd
            assert 18 < total <= 32.0
        async with house_over(tmp_path, sim, config=config) as h, await h.client() as client:
            completed, _ = await turn(client, await client.attach(root), "go on")
            assert completed.reason == "budget"
            assert completed.error is not None
            assert f"${total:.4f}" in completed.error.message, "what its sub-agents spent before counts"


async def test_a_conflict_keeps_both_sides_and_says_how_to_go_on(tmp_path: Path) -> None:
    plan = script(
        talk("one", write("lines.txt", "one\n"), {"text": "1"}),
        talk("two", write("lines.txt", "two\n"), {"text": "2"}),
        talk("begin", agents(("coder", "one"), ("coder", "two")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        (h.workspace / "lines.txt").write_text("nobody\n")
        root = await new_session(h, client)
        _, seen = await turn(client, await client.attach(root), "begin")
        (lost,) = [event for event in of(seen, e.SubagentFinished) if event.conflicts]
        here = (h.workspace / "lines.txt").read_text()
        other = {"one\n": "two\n", "two\n": "one\n"}[here]
        (result,) = await results_of(client, root)
        assert "Conflict in lines.txt: changed differently on both sides." in result.text
        assert f"-nobody\n+{other.strip()}" in result.text
        assert f"-{here.strip()}" not in result.text, "what the other did is not to be taken back"
        assert f"openagent workspaces merge {lost.copy}" in result.text
        assert await copies(client) == [lost.copy]
        child = await ask(client, SessionGet, session=lost.child)
        assert (Path(child.cwd) / "lines.txt").read_text() == other

        (h.workspace / "lines.txt").write_text("nobody\n")
        again = await ask(client, WorkspacesMerge, copy=lost.copy)
        assert (again.conflicts, (h.workspace / "lines.txt").read_text()) == ([], other)
        await remove_copies(client)


async def test_a_conflict_tells_what_the_sub_agent_did_and_nothing_of_what_others_did(tmp_path: Path) -> None:
    """Another sub-agent changes lines 1 and 8, a person line 5 meanwhile; this one changes lines 1 and 3."""
    plan = script(
        talk("wide", shell("sed -i 's/^line 1$/by wide/; s/^line 8$/by wide too/' lines.txt"), {"text": "w"}),
        talk(
            "late",
            shell("sed -i 's/^line 1$/by late/; s/^line 3$/by late too/' lines.txt"),
            shell("until [ -e go ]; do sleep 0.02; done; rm go"),
            {"text": "l"},
        ),
        talk("begin", agents(("coder", "late"), ("coder", "wide")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        repository(h.workspace)
        root = await new_session(h, client)
        attachment = await client.attach(root)
        await client.send(root, "begin")
        seen = await until(attachment, lambda event: isinstance(event, e.SubagentFinished))
        (started,) = [event for event in of(seen, e.SubagentStarted) if event.task == "late"]
        lines = (h.workspace / "lines.txt").read_text()
        (h.workspace / "lines.txt").write_text(lines.replace("line 5", "by a person"))
        (Path((await ask(client, SessionGet, session=started.child)).cwd) / "go").touch()
        await until(attachment, lambda event: isinstance(event, e.TurnCompleted))
        (result,) = await results_of(client, root)
        changed = [
            line for line in result.text.splitlines() if line.startswith(("+", "-")) and line[:3] not in ("+++", "---")
        ]
        assert changed == ["-line 1", "+by late", "-line 3", "+by late too"]
        assert (h.workspace / "lines.txt").read_text().splitlines()[1] == "by wide"
        await remove_copies(client)


async def test_one_that_only_reads_shares_the_workspace_and_may_not_write(tmp_path: Path) -> None:
    plan = script(
        talk("look", write("x.txt", "no"), {"text": "I only looked"}),
        talk("begin", agents(("researcher", "look")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        root = await new_session(h, client)
        _, seen = await turn(client, await client.attach(root), "begin")
        (started,) = of(seen, e.SubagentStarted)
        assert started.copy == ""
        assert not (h.workspace / "x.txt").exists()
        (refused,) = await results_of(client, started.child)
        assert refused.text.startswith("Denied: The session is in plan mode")


async def test_a_template_in_full_mode_may_do_no_more_than_its_caller(tmp_path: Path) -> None:
    plan = script(
        talk("write it", write("x.txt", "no"), {"text": "tried"}),
        talk("begin", agents(("eager", "write it")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        await ask(client, TemplatesSave, template=Template("eager", prompt="Act.", mode="full"))
        root = await new_session(h, client, mode="plan")
        _, seen = await turn(client, await client.attach(root), "begin")
        (started,) = of(seen, e.SubagentStarted)
        info = await ask(client, SessionGet, session=started.child)
        assert (info.settings.mode, started.copy) == ("plan", "")
        assert not (h.workspace / "x.txt").exists()


async def test_what_a_sub_agent_asks_is_answered_from_its_callers_client_once_for_all(tmp_path: Path) -> None:
    """The person is attached to the caller alone. What they allow for the session holds for the second one too."""
    job = (shell("touch made.txt"), {"text": "made"})
    plan = script(
        talk("first", *job),
        talk("second", *job),
        talk("begin", agents(("coder", "first")), agents(("coder", "second")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client(interactive=True) as client:
        repository(h.workspace)
        root = await new_session(h, client, mode="ask")
        attachment = await client.attach(root)
        await client.send(root, "begin")
        asking = await asked(attachment)
        assert (asking.session, asking.answerable, asking.ask.summary) == (root, True, "touch made.txt")
        assert asking.ask.child
        assert asking.ask.reason.startswith("The sub-agent coder asks.")
        assert [each.id for each in (await client.attach(root)).snapshot.permissions] == [asking.ask.id]  # pyright: ignore[reportOptionalMemberAccess]
        await answer(client, asking, decision="allow", scope="session")
        async with asyncio.timeout(PATIENCE):
            completed, seen = await attachment.until_turn_ends()
        assert completed.text == "ok"
        assert [event.by for event in of(seen, e.PermissionResolved)] == ["test"]
        assert not of(seen, e.PermissionRequested)
        assert (h.workspace / "made.txt").exists()
        (grant,) = (await ask(client, GrantsList)).grants
        assert (grant.session, grant.covers) == (root, "Exactly `touch made.txt`.")
        await ask(client, GrantsRevoke, grant=grant.id)
        for child in [each.session.id for each in await tree(client, root)]:
            assert (await ask(client, GrantsList, session=child)).grants == []


async def test_what_is_allowed_for_the_session_answers_those_who_already_wait_for_the_same(tmp_path: Path) -> None:
    job = (shell("touch made.txt"), {"text": "made"})
    plan = script(
        talk("first", *job),
        talk("second", *job),
        talk("third", shell("touch other.txt"), {"text": "other"}),
        talk("begin", agents(("coder", "first"), ("coder", "second"), ("coder", "third")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client(interactive=True) as client:
        repository(h.workspace)
        root = await new_session(h, client, mode="ask")
        attachment = await client.attach(root)
        await client.send(root, "begin")
        waiting = [await asked(attachment) for _ in range(3)]
        same = [each for each in waiting if each.ask.summary == "touch made.txt"]
        (other,) = [each for each in waiting if each not in same]
        await answer(client, same[0], decision="allow", scope="session")
        resolved = [
            event.ask_id
            for _ in same
            for event in await until(attachment, lambda event: isinstance(event, e.PermissionResolved))
            if isinstance(event, e.PermissionResolved)
        ]
        assert set(resolved) == {each.ask.id for each in same}
        snapshot = (await client.attach(root)).snapshot
        assert snapshot is not None
        assert [each.id for each in snapshot.permissions] == [other.ask.id]
        await answer(client, other, decision="deny")
        async with asyncio.timeout(PATIENCE):
            assert (await attachment.until_turn_ends())[0].text == "ok"


async def test_a_callers_deletion_takes_its_sub_agents_and_their_copies_with_it(tmp_path: Path) -> None:
    plan = script(
        talk("hang", write("half.txt", "half\n"), {"text": "never", "fault": "stall"}),
        talk("begin", agents(("coder", "hang")), {"text": "no"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        root = await new_session(h, client)
        attachment = await client.attach(root)
        await client.send(root, "begin")
        await until(attachment, lambda event: isinstance(event, e.SubagentProgress) and event.steps == 1)
        assert len(await copies(client)) == 1
        await client.cancel(root)
        await until(attachment, lambda event: isinstance(event, e.SubagentFinished))
        await ask(client, SessionDelete, session=root)
        assert (await ask(client, SessionList)).sessions == []
        assert await copies(client) == []


async def test_a_rule_of_the_workspace_holds_in_the_copy(tmp_path: Path) -> None:
    plan = script(
        talk("job", write("secret.txt", "x"), shell("make deploy"), {"text": "tried"}),
        talk("begin", agents(("coder", "job")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        rules = (
            f'[[rule]]\ndecision = "deny"\npath = "{h.workspace}/secret.txt"\nreason = "Kept away."\n'
            '[[rule]]\ndecision = "deny"\ncommand = "make deploy"\nreason = "Not from here."\n'
        )
        (h.home / "policy.toml").write_text(rules)
        root = await new_session(h, client)
        _, seen = await turn(client, await client.attach(root), "begin")
        (started,) = of(seen, e.SubagentStarted)
        results = await results_of(client, started.child)
        assert [result.text for result in results] == ["Denied: Kept away.", "Denied: Not from here."]


async def test_sub_agents_call_each_other_only_so_deep(tmp_path: Path) -> None:
    plan = script(
        talk("deepest", write("deep.txt", "deep\n"), agents(("coder", "too deep")), {"text": "bottom"}),
        talk("middle", agents(("coder", "deepest")), {"text": "middle done"}),
        talk("begin", agents(("coder", "middle")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        repository(h.workspace)
        root = await new_session(h, client)
        completed, _ = await turn(client, await client.attach(root), "begin")
        assert completed.text == "ok"
        family = await tree(client)
        assert [each.depth for each in family] == [0, 1, 2]
        assert (h.workspace / "deep.txt").read_text() == "deep\n", "it came up through both copies"
        refused = (await results_of(client, family[2].session.id))[1]
        assert refused.text.startswith("There is no tool named 'agent'.")


async def test_one_that_fails_loops_or_is_misnamed_is_told_and_the_caller_goes_on(tmp_path: Path) -> None:
    plan = script(
        talk("fail", {"text": "x", "fault": "bad_request"}),
        talk("loop", shell("echo again"), loop=True),
        talk("go", {"text": "gone"}),
        talk(
            "begin",
            agents(("coder", "fail"), ("coder", "loop"), ("stray", "go")),
            agents(("nobody", "x")),
            {"text": "ok"},
        ),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        await ask(client, TemplatesSave, template=Template("stray", prompt="p", model="nowhere/m"))
        root = await new_session(h, client)
        completed, seen = await turn(client, await client.attach(root), "begin")
        assert completed.text == "ok"
        assert {event.reason for event in of(seen, e.SubagentFinished)} == {"error", "loop", "done"}
        results = await results_of(client, root)
        assert "it did the same over and over" in results[0].text
        assert "The template 'stray' names the model 'nowhere/m', which cannot answer here" in results[0].text
        assert "gone" in results[0].text
        assert (results[0].is_error, results[1].is_error) == (False, True)
        assert results[1].text.startswith("There is no template 'nobody'")


async def test_cancelling_the_caller_ends_those_it_waits_for_and_keeps_what_they_wrote(tmp_path: Path) -> None:
    plan = script(
        talk("hang", write("half.txt", "half\n"), {"text": "never", "fault": "stall"}),
        talk("begin", agents(("coder", "hang")), {"text": "no"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        root = await new_session(h, client)
        attachment = await client.attach(root)
        await client.send(root, "begin")
        seen = await until(attachment, lambda event: isinstance(event, e.SubagentProgress) and event.steps == 1)
        (started,) = of(seen, e.SubagentStarted)
        child = await client.attach(started.child, after=0)
        await until(child, lambda event: isinstance(event, e.ToolFinished))
        assert await client.cancel(root)
        seen = await until(attachment, lambda event: isinstance(event, e.SubagentFinished))
        (finished,) = of(seen, e.SubagentFinished)
        assert (finished.reason, bool(finished.copy)) == ("cancelled", True)
        (_, agent) = await tree(client, root)
        assert (agent.running, agent.ended, agent.copy) == (False, "cancelled", finished.copy)
        assert (Path(agent.session.cwd) / "half.txt").read_text() == "half\n"
        assert not (h.workspace / "half.txt").exists()
        await remove_copies(client)


async def test_a_sub_agent_cancelled_alone_lets_its_caller_go_on(tmp_path: Path) -> None:
    plan = script(
        talk("hang", {"text": "never", "fault": "stall"}),
        talk("begin", agents(("coder", "hang")), {"text": "without it"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        root = await new_session(h, client)
        attachment = await client.attach(root)
        await client.send(root, "begin")
        (*_, started) = await until(attachment, lambda event: isinstance(event, e.SubagentStarted))
        assert isinstance(started, e.SubagentStarted)
        child = await client.attach(started.child, after=0)
        await until(child, lambda event: isinstance(event, e.TurnStarted))
        assert await client.cancel(started.child)
        async with asyncio.timeout(PATIENCE):
            completed, _ = await attachment.until_turn_ends()
        assert completed.text == "without it"
        assert "it was cancelled by a person" in (await results_of(client, root))[0].text
        assert await copies(client) == []


async def test_one_in_the_background_reports_with_a_message_when_it_is_done(tmp_path: Path) -> None:
    plan = script(
        talk("slow", write("late.txt", "late\n"), {"text": "the finding", "latency_ms": 150}),
        talk(
            "begin",
            agents(("coder", "slow"), background=True),
            {"text": "started"},
            {"text": "got it"},
        ),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        repository(h.workspace)
        root = await new_session(h, client)
        attachment = await client.attach(root)
        completed, _ = await turn(client, attachment, "begin")
        assert completed.text == "started"
        async with asyncio.timeout(PATIENCE):
            completed, seen = await attachment.until_turn_ends()
        assert (completed.turn, completed.text) == (2, "got it")
        told = of(seen, e.MessageAdded)[0].message.text
        assert told.startswith("[The background sub-agent coder-")
        assert "not a person's words" in told
        assert "the finding\nMerged into this workspace: late.txt." in told


async def test_the_result_of_one_in_the_background_can_be_awaited_and_then_comes_once(tmp_path: Path) -> None:
    plan = script(talk("slow", {"text": "the finding", "latency_ms": 100}))
    async with house(tmp_path, plan) as h, await h.client() as client:
        root = await new_session(h, client)

        async def person(tool: str, **arguments: Any) -> ToolRan:
            return await ask(client, ToolRun, session=root, tool=tool, arguments=arguments)

        tasks = [{"template": "researcher", "task": "slow"}]
        started = await person("agent", tasks=tasks, background=True)
        name = started.text.split()[0]
        waited = await person("agent_result", agent=name, wait=10)
        assert "the finding" in waited.text
        again = await person("agent_result", agent=name)
        assert again.is_error
        assert "one that has reported is forgotten. At work: none." in again.text
        info = await ask(client, SessionGet, session=root)
        assert info.message_count == 0, "no message for what was fetched"


async def test_a_background_sub_agent_is_its_callers_alone(tmp_path: Path) -> None:
    plan = script(talk("hang", {"text": "never", "fault": "stall"}))
    async with house(tmp_path, plan) as h, await h.client() as client:
        first, other = await new_session(h, client), await new_session(h, client)

        async def person(session: str, tool: str, **arguments: Any) -> ToolRan:
            return await ask(client, ToolRun, session=session, tool=tool, arguments=arguments)

        tasks = [{"template": "researcher", "task": "hang"}]
        name = (await person(first, "agent", tasks=tasks, background=True)).text.split()[0]
        for more in ({}, {"cancel": True}):
            refused = await person(other, "agent_result", agent=name, **more)
            assert refused.is_error
            assert "At work: none." in refused.text
        assert "still at work" in (await person(first, "agent_result", agent=name)).text
        assert "was ended" in (await person(first, "agent_result", agent=name, cancel=True)).text


async def test_deleting_the_caller_ends_what_works_for_it_in_the_background_and_what_waits_to(tmp_path: Path) -> None:
    plan = script(talk("hang", {"text": "never", "fault": "stall"}))
    config = "[agents]\nmax_parallel = 1\n"
    async with house(tmp_path, plan, config=config) as h, await h.client() as client:
        root = await new_session(h, client)
        attachment = await client.attach(root)
        tasks = [{"template": "researcher", "task": "hang"}] * 3
        arguments = {"tasks": tasks, "background": True}
        await ask(client, ToolRun, session=root, tool="agent", arguments=arguments)
        (*_, started) = await until(attachment, lambda event: isinstance(event, e.SubagentStarted))
        assert isinstance(started, e.SubagentStarted)
        child = await client.attach(started.child, after=0)
        await ask(client, SessionDelete, session=root)
        async with asyncio.timeout(PATIENCE):
            completed, _ = await child.until_turn_ends()
        assert completed.reason == "cancelled"
        assert len((await ask(client, SessionList)).sessions) <= 1, "those that waited never began"


async def test_a_sub_agent_is_done_when_what_it_has_in_the_background_is(tmp_path: Path) -> None:
    """The answer of the one below becomes a turn of the one between, whose edits are merged after it."""
    plan = script(
        talk("deep", write("deep.txt", "deep\n"), {"text": "deep done", "latency_ms": 150}),
        talk("middle", agents(("coder", "deep"), background=True), {"text": "too early"}, {"text": "heard of it"}),
        talk("begin", agents(("coder", "middle")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        repository(h.workspace)
        root = await new_session(h, client)
        completed, _ = await turn(client, await client.attach(root), "begin")
        assert completed.text == "ok"
        (result,) = await results_of(client, root)
        assert "heard of it\nMerged into this workspace: deep.txt." in result.text
        assert (h.workspace / "deep.txt").read_text() == "deep\n"
        assert await copies(client) == []


async def test_those_started_in_turns_that_are_taken_back_end_and_are_not_heard_of(tmp_path: Path) -> None:
    plan = script(
        talk("hang", write("late.txt", "late\n"), {"text": "never", "fault": "stall"}),
        talk("begin", agents(("coder", "hang"), background=True), {"text": "1"}, {"text": "2"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        root = await new_session(h, client)
        attachment = await client.attach(root)
        await turn(client, attachment, "begin")
        started = of(await until(await client.attach(root, after=0), is_started), e.SubagentStarted)
        await until(await client.attach(started[0].child, after=0), lambda event: isinstance(event, e.ToolFinished))
        await ask(client, SessionUndo, session=root, turn=1, conversation=True)
        finished = (await until(attachment, lambda event: isinstance(event, e.SubagentFinished)))[-1]
        assert isinstance(finished, e.SubagentFinished)
        assert (finished.reason, bool(finished.copy)) == ("cancelled", True)
        assert not (h.workspace / "late.txt").exists()
        await remove_copies(client)


async def test_a_report_from_the_background_lets_nothing_go_on_that_a_person_holds_back(tmp_path: Path) -> None:
    plan = script(
        talk("slow", shell("until [ -e go ]; do sleep 0.02; done; rm go"), {"text": "the finding"}),
        talk("begin", agents(("coder", "slow"), background=True), {"text": "1"}, {"text": "never", "fault": "stall"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        root = await new_session(h, client)
        attachment = await client.attach(root)
        await turn(client, attachment, "begin")
        started = of(await until(await client.attach(root, after=0), is_started), e.SubagentStarted)
        child = await client.attach(started[0].child, after=0)
        await until(child, lambda event: isinstance(event, e.ToolStarted))
        await client.send(root, "hang")
        await client.send(root, "perhaps not")
        assert await client.cancel(root)
        (Path((await ask(client, SessionGet, session=started[0].child)).cwd) / "go").touch()

        def queues_the_report(event: e.Event) -> bool:
            return isinstance(event, e.MessageQueued) and "the finding" in str(event.queued.parts)

        await until(attachment, queues_the_report)
        info = await ask(client, SessionGet, session=root)
        assert (info.queued, info.held, info.turn_count, info.status) == (2, True, 2, "idle")
