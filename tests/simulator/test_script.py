"""Which step answers a request, and what a script may say."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Script, ScriptError, Simulator, Step, ToolCall, load_script

from .asking import USER, Json, post

pytestmark = pytest.mark.anyio

CHAT = "/v1/chat/completions"


def said(text: str) -> Json:
    return {"role": "assistant", "content": text}


async def ask(sim: Simulator, *messages: Json, model: str = "m") -> str:
    answer = (await post(sim, CHAT, {"model": model, "messages": list(messages) or [USER]})).json()
    if "error" in answer:
        return answer["error"]["message"]
    return answer["choices"][0]["message"]["content"]


async def test_the_next_step_follows_the_replies_in_the_history():
    async with Simulator([{"text": "one"}, {"text": "two"}, {"text": "three"}]) as sim:
        assert await ask(sim) == "one"
        assert await ask(sim) == "one"
        assert await ask(sim, USER, said("anything"), USER) == "two"
        assert await ask(sim, USER, said("anything"), said("more"), USER, said("x"), USER) == "three"


async def test_tool_call_ids_place_a_history_that_lost_its_beginning():
    steps = [{"tool_calls": [{"name": "shell", "arguments": {"command": f"echo {n}"}}]} for n in range(5)]
    async with Simulator([*steps, {"text": "end after {last_result}"}]) as sim:
        history: list[Json] = [USER]
        for number in range(5):
            answer = (await post(sim, CHAT, {"model": "m", "messages": history})).json()
            message = answer["choices"][0]["message"]
            call = message["tool_calls"][0]
            assert call["function"]["arguments"] == f'{{"command":"echo {number}"}}'
            result = {"role": "tool", "tool_call_id": call["id"], "content": f"result {number}"}
            history = [*history[-3:], {"role": "assistant", "tool_calls": [call]}, result]
            history = [USER, *history[-2:]]
        assert await ask(sim, *history) == "end after result 4"


async def test_the_words_of_a_step_place_a_history_that_was_summarized():
    async with Simulator([{"text": "one"}, {"text": "two"}, {"text": "three"}, {"text": "four"}]) as sim:
        assert await ask(sim, {"role": "user", "content": "summary"}, said("three"), USER) == "four"


async def test_a_restarted_simulator_goes_on_where_the_history_is():
    steps = [{"tool_calls": [{"name": "shell", "arguments": {"command": "ls"}}]}, {"text": "done"}]
    async with Simulator(steps) as sim:
        first = (await post(sim, CHAT, {"model": "m", "messages": [USER]})).json()["choices"][0]["message"]
    async with Simulator(steps) as sim:
        result = {"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": "x"}
        assert await ask(sim, USER, first, result) == "done"


async def test_a_script_that_ends_says_so():
    async with Simulator([{"text": "one"}]) as sim:
        assert "the script is exhausted" in await ask(sim, USER, said("one"), USER)
        assert sim.requests[-1].status == 400


async def test_a_loop_starts_over():
    async with Simulator({"steps": [{"text": "tick {step}"}, {"text": "tock {step}"}], "loop": True}) as sim:
        assert await ask(sim, USER, said("x"), USER, said("y"), USER) == "tick 2"


async def test_conversations_are_chosen_by_what_they_match():
    script = {
        "conversations": [
            {"name": "bugs", "match": "fix", "steps": [{"text": "fixing"}]},
            {"name": "cheap", "match": {"model": "mini"}, "steps": [{"text": "cheap"}]},
            {"name": "titles", "match": {"system": "title", "last_user": "name"}, "steps": [{"text": "A title"}]},
        ],
        "steps": [{"text": "anything else"}],
    }
    async with Simulator(script) as sim:
        assert await ask(sim, {"role": "user", "content": "please fix it"}) == "fixing"
        assert await ask(sim, model="gpt-mini") == "cheap"
        titling = {"role": "system", "content": "write a title"}
        assert await ask(sim, titling, {"role": "user", "content": "name this"}) == "A title"
        assert await ask(sim, titling) == "anything else"
        assert [record.conversation for record in sim.requests] == ["bugs", "cheap", "titles", "main"]


async def test_nothing_matches():
    async with Simulator({"conversations": [{"match": "x-ray", "steps": [{"text": "no"}]}]}) as sim:
        assert "no conversation of the script matches" in await ask(sim)


async def test_twenty_sessions_at_once_keep_their_places():
    script = {
        "conversations": [
            {"name": str(n), "match": f"task {n}.", "steps": [{"text": f"{n}-{step}"} for step in range(3)]}
            for n in range(20)
        ],
        "chunk_ms": 1,
    }

    async def session(sim: Simulator, number: int) -> list[str]:
        history: list[Json] = [{"role": "user", "content": f"task {number}."}]
        heard: list[str] = []
        for _ in range(3):
            heard.append(await ask(sim, *history))
            history += [said(heard[-1]), USER]
        return heard

    async with Simulator(script) as sim:
        sessions = await asyncio.gather(*(session(sim, number) for number in range(20)))
    assert sessions == [[f"{number}-{step}" for step in range(3)] for number in range(20)]


async def test_templates_fill_text_and_arguments_and_leave_other_braces_alone():
    call = {"name": "shell", "arguments": {"command": "echo {last_user} {x}", "deep": [{"model": "{model}"}]}}
    async with Simulator([{"text": "{first_user}/{last_user} {}", "tool_calls": [call]}]) as sim:
        answer = await post(sim, CHAT, {"model": "m", "messages": [USER, {"role": "user", "content": "ho"}]})
    message = answer.json()["choices"][0]["message"]
    assert message["content"] == "hi/ho {}"
    arguments = json.loads(message["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"command": "echo ho {x}", "deep": [{"model": "m"}]}


async def test_ids_and_malformed_arguments_are_sent_as_the_script_says():
    call = {"name": "shell", "arguments": '{"command": ', "id": "call_mine"}
    async with Simulator([{"tool_calls": [call]}]) as sim:
        answer = (await post(sim, CHAT, {"model": "m", "messages": [USER]})).json()
    tool_call = answer["choices"][0]["message"]["tool_calls"][0]
    assert (tool_call["id"], tool_call["function"]["arguments"]) == ("call_mine", '{"command": ')


async def test_only_listed_models_are_known():
    async with Simulator({"models": ["known"], "steps": [{"text": "hi"}]}) as sim:
        assert await ask(sim, model="known") == "hi"
        answer = await post(sim, CHAT, {"model": "other", "messages": [USER]})
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "model_not_found"


def test_scripts_come_from_json_toml_data_and_types(tmp_path: Path):
    (tmp_path / "a.json").write_text('[{"text": "hi", "tool_calls": [{"name": "shell"}]}]')
    (tmp_path / "a.toml").write_text('[[steps]]\ntext = "hi"\ntool_calls = [{ name = "shell" }]\n')
    expected = Script(steps=[Step(text="hi", tool_calls=[ToolCall(name="shell")])])
    assert load_script(tmp_path / "a.json") == expected
    assert load_script(str(tmp_path / "a.toml")) == expected
    assert load_script([{"text": "hi", "tool_calls": [{"name": "shell"}]}]) == expected
    assert load_script([Step(text="hi", tool_calls=[ToolCall(name="shell")])]) == expected


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ([{"txt": "hi"}], "unknown field `txt`"),
        ([{"text": 5}], "`$.steps[0].text`"),
        ([{"fault": "nonsense"}], "step 0: unknown fault 'nonsense'; known are 401"),
        ([{"usage": {"input": 1, "cached": 5}}], "usage.input counts cached"),
        ([{"usage": {"output": 1, "reasoning": 5}}], "usage.output counts reasoning"),
    ],
)
def test_a_wrong_script_says_where(source: Any, complaint: str):
    with pytest.raises(ScriptError) as caught:
        load_script(source)
    assert complaint in str(caught.value)


def test_an_unreadable_file_says_why(tmp_path: Path):
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "a.toml").write_text("= 1")
    for name in ("a.json", "a.toml"):
        with pytest.raises(ScriptError, match="cannot be read"):
            load_script(tmp_path / name)
