"""Flows through the daemon: sequence, parallel, loop, failure, cancel, resume."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from openagent.agents.flow_files import read_flow
from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.flows import (
    FlowCheck,
    FlowReport,
    FlowResume,
    FlowRun,
    FlowRunning,
    FlowShow,
    FlowsList,
)

from ..interaction.doing import ask, write
from ..interaction.house import MODEL, PATIENCE, House, house, until
from .test_subagents import script, talk

pytestmark = pytest.mark.anyio

FEATURE = """
description = "Plan, build, test"

[inputs]
task = "What to build"
tone = { description = "How to talk", default = "dry" }

[[step]]
name = "plan"
template = "architect"
task = "Plan {task}, be {tone}; keep {{braces}}"

[[step]]
name = "build"
parallel = [
  { template = "coder", task = "code by: {plan}" },
  { template = "tester", task = "tests for: {plan}" },
]

[[step]]
name = "fix"
template = "coder"
task = "The check said: {check}. Repair."
until = "test -f code.txt && test -f fixed.txt || (echo not yet; exit 1)"
max_rounds = 2
"""
PLAN = talk("Plan a door", {"text": "THE PLAN"})
BUILD = (
    talk("code by: THE PLAN", write("code.txt", "code\n"), {"text": "coded"}),
    talk("tests for: THE PLAN", write("tests.txt", "tests\n"), {"text": "tested"}),
)
FIX = talk("The check said: ", write("fixed.txt", "fixed\n"), {"text": "repaired"})


async def start(h: House, client: Client, text: str = FEATURE, **more: Any) -> FlowRunning:
    fields = {"inputs": {"task": "a door"}, "mode": "full", "model": MODEL, **more}
    return await ask(client, FlowRun, text=text, file="feature.toml", cwd=str(h.workspace), **fields)


async def finished(client: Client, session: str, after: int = 0) -> tuple[e.FlowFinished, list[e.Event]]:
    attachment = await client.attach(session, after=after)
    seen = await until(attachment, lambda event: isinstance(event, e.FlowFinished))
    last = seen[-1]
    assert isinstance(last, e.FlowFinished)
    return last, seen


async def report(client: Client, session: str) -> FlowReport:
    return await ask(client, FlowShow, session=session)


async def test_steps_run_in_order_side_by_side_and_again_until_the_check_passes(tmp_path: Path) -> None:
    config = f'[prices."{MODEL}"]\ninput = 1\noutput = 1\n'
    async with house(tmp_path, script(PLAN, *BUILD, FIX), config=config) as h, await h.client() as client:
        running = await start(h, client)
        ended, seen = await finished(client, running.session)
        assert (ended.state, ended.error) == ("done", None)
        assert {path.name for path in h.workspace.iterdir()} == {"code.txt", "tests.txt", "fixed.txt"}
        steps = [(event.step, event.state) for event in seen if isinstance(event, e.FlowStepped)]
        assert steps == [
            ("plan", "running"),
            ("plan", "done"),
            ("build", "running"),
            ("build", "done"),
            ("fix", "running"),
            ("fix", "running"),
            ("fix", "done"),
        ]
        assert len([event for event in seen if isinstance(event, e.SubagentStarted)]) == 4
        prompts = [request.json()["messages"][1]["content"] for request in h.sim.requests]
        assert "Plan a door, be dry; keep {braces}" in prompts
        assert any("The check said: not yet" in prompt for prompt in prompts)
        told = await report(client, running.session)
        assert [(step.name, step.state, step.rounds) for step in told.steps] == [
            ("plan", "done", 1),
            ("build", "done", 1),
            ("fix", "done", 1),
        ]
        assert told.steps[0].text == "THE PLAN"
        assert told.cost_usd == pytest.approx(sum(step.cost_usd for step in told.steps))
        assert told.cost_usd == ended.cost_usd > 0
        assert told.flow is not None
        assert [(step.name, step.takes) for step in told.flow.plan] == [
            ("plan", ["task", "tone"]),
            ("build", ["plan"]),
            ("fix", []),
        ]
        assert [len(step.agents) for step in told.flow.plan] == [len(step.agents) for step in told.steps] == [1, 2, 1]
        assert told.inputs["task"] == "a door"
        assert 0 < told.started_at <= told.steps[0].started_at <= told.steps[0].ended_at <= told.ended_at


async def test_a_step_that_fails_ends_the_flow_and_a_resume_goes_on_from_there(tmp_path: Path) -> None:
    text = FEATURE.partition('[[step]]\nname = "build"')[0]
    text += '[[step]]\nname = "gate"\nuntil = "test -f gate.txt"\n'
    text += '[[step]]\nname = "code"\ntemplate = "coder"\ntask = "code by: {plan}"\n'
    async with house(tmp_path, script(PLAN, *BUILD)) as h, await h.client() as client:
        running = await start(h, client, text)
        ended, _ = await finished(client, running.session)
        assert ended.state == "failed"
        assert ended.error is not None
        assert ended.error.message.startswith("`test -f gate.txt` does not pass")
        told = await report(client, running.session)
        assert [step.state for step in told.steps] == ["done", "failed", "waiting"]

        (h.workspace / "gate.txt").touch()
        attachment = await client.attach(running.session)
        await ask(client, FlowResume, session=running.session)
        await until(attachment, lambda event: isinstance(event, e.FlowFinished))
        told = await report(client, running.session)
        assert (told.state, [step.state for step in told.steps]) == ("done", ["done", "done", "done"])
        prompts = [str(request.json()["messages"][1]["content"]) for request in h.sim.requests]
        assert len([prompt for prompt in prompts if "Plan a door" in prompt]) == 1, "what was done is not done again"


async def test_a_check_that_never_passes_ends_after_its_rounds(tmp_path: Path) -> None:
    text = (
        '[[step]]\nname = "try"\ntemplate = "researcher"\ntask = "Look: {check}"\nuntil = "echo wrong; false"\n'
        "max_rounds = 2\n"
    )
    plan = {"conversations": [{"match": "Look", "steps": [{"text": "looked"}], "loop": True}]}
    async with house(tmp_path, plan) as h, await h.client() as client:
        running = await start(h, client, text, inputs={})
        ended, _ = await finished(client, running.session)
        assert ended.error is not None
        assert ended.error.message.startswith("`echo wrong; false` does not pass after 2 rounds:\nwrong")
        assert len(h.sim.requests) == 2


async def test_a_flow_is_cancelled_like_a_turn_with_all_that_work_for_it(tmp_path: Path) -> None:
    two = '{ template = "coder", task = "hang" }, { template = "coder", task = "hang" }'
    text = f'[[step]]\nname = "wait"\nparallel = [{two}]\n'
    async with house(tmp_path, script(talk("hang", {"text": "x", "fault": "stall"}))) as h, await h.client() as client:
        running = await start(h, client, text, inputs={})
        attachment = await client.attach(running.session, after=0)
        children = [
            event.child
            for _ in range(2)
            for event in await until(attachment, lambda event: isinstance(event, e.SubagentStarted))
            if isinstance(event, e.SubagentStarted)
        ]
        async with asyncio.timeout(PATIENCE):
            assert await client.cancel(running.session)
        assert (await report(client, running.session)).state == "cancelled"
        for child in children:
            ended, _ = await (await client.attach(child, after=0)).until_turn_ends()
            assert ended.reason == "cancelled"
            await until(attachment, lambda event: isinstance(event, e.SubagentFinished))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[step]\n", "f.toml: Expected ']]' at the end of an array declaration"),
        ("step = []\n", "f.toml: Expected `array` of length >= 1"),
        ('[[step]]\nname = "a"\n', "the step 'a' does nothing"),
        ('[[step]]\nname = "a"\ntemplate = "coder"\n', "the step 'a' has no task"),
        ('[[step]]\nname = "a"\ntemplate = "coder"\ntask = "{b}"\n', "the step 'a' names {b}, which is no input"),
        ('[[step]]\nname = "a"\ntemplate = "coder"\ntask = "{check}"\n', "the step 'a' names {check}"),
        ('[[step]]\nname = "check"\nuntil = "true"\n', "the name 'check' is taken"),
        ('[[step]]\nname = "a"\nuntil = "true"\nmax_rounds = 0\n', "max_rounds"),
        ('nmae = "x"\n[[step]]\nname = "a"\nuntil = "true"\n', "unknown field `nmae`"),
    ],
)
def test_a_bad_file_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(OpenAgentError) as refused:
        read_flow(text, "f.toml")
    assert said in refused.value.info.message
    assert refused.value.info.hint


async def test_flows_are_listed_and_checked_with_what_they_lack(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "x"}], config=f'model = "{MODEL}"') as h, await h.client() as client:
        folder = h.workspace / ".openagent" / "flows"
        folder.mkdir(parents=True)
        (folder / "feature.toml").write_text(FEATURE)
        (folder / "odd.toml").write_text('[[step]]\nname = "a"\ntemplate = "codr"\ntask = "x"\n')
        listed = (await ask(client, FlowsList, cwd=str(h.workspace))).flows
        assert [(each.name, bool(each.problems)) for each in listed] == [("feature", False), ("odd", True)]
        checked = await ask(client, FlowCheck, text=FEATURE, file="x.toml", cwd=str(h.workspace))
        assert (checked.inputs, checked.defaults) == ({"task": "What to build", "tone": "How to talk"}, {"tone": "dry"})
        assert checked.steps[1] == "build: coder + tester"
        with pytest.raises(OpenAgentError, match="wants the input 'task' \\(What to build\\)"):
            await start(h, client, inputs={})
        with pytest.raises(OpenAgentError, match="has no input 'colour'"):
            await start(h, client, inputs={"task": "x", "colour": "red"})
