"""A turn, seen through the client."""

import asyncio
from pathlib import Path

import pytest

from openagent.protocol import events as e
from openagent.protocol.conversation import MessageRaw, MessagesPage, PermissionAnswer
from openagent.protocol.daemon import DaemonFollow
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message, ToolResultPart
from openagent.protocol.sessions import SessionFork, SessionGet, SessionUpdate, SettingsChange

from .doing import ask, call, turn
from .house import PATIENCE, House, house, new_session, until

pytestmark = pytest.mark.anyio


def shell(command: str, **more: object) -> dict[str, object]:
    return {"tool_calls": [{"name": "shell", "arguments": {"command": command}}], **more}


async def whole_turn(
    house: House, prompt: str = "go", **settings: object
) -> tuple[str, e.TurnCompleted, list[e.Event]]:
    async with await house.client() as client:
        session = await new_session(house, client, **settings)
        attachment = await client.attach(session)
        await client.send(session, prompt)
        async with asyncio.timeout(20):
            completed, seen = await attachment.until_turn_ends()
        return session, completed, seen


async def all_messages(house: House, session: str) -> list[Message]:
    async with await house.client() as client:
        page = await client.request(MessagesPage(id=client.next_id(), session=session, limit=1000))
        return page.messages


def results(messages: list[Message]) -> list[ToolResultPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]


async def test_an_answer_streams_and_ends_the_turn(tmp_path: Path) -> None:
    async with house(tmp_path, [{"chunks": ["The answer", " is 42."], "usage": {"input": 100, "output": 7}}]) as h:
        _, completed, seen = await whole_turn(h)
        assert (completed.reason, completed.text, completed.steps) == ("done", "The answer is 42.", 1)
        assert completed.usage.input_tokens == 100
        deltas = "".join(event.text for event in seen if isinstance(event, e.TextDelta))
        assert deltas == "The answer is 42."


async def test_tools_run_and_the_model_sees_their_results(tmp_path: Path) -> None:
    script = [
        {"tool_calls": [{"name": "write_file", "arguments": {"path": "a/b.txt", "content": "one\ntwo\n"}}]},
        {"tool_calls": [{"name": "edit_file", "arguments": {"path": "a/b.txt", "old": "two", "new": "2"}}]},
        shell("cat a/b.txt; cd a; export X=5; exit_code() { return 3; }"),
        shell("pwd; echo $X; exit_code"),
        {"text": "{last_result}"},
    ]
    async with house(tmp_path, script) as h:
        session, completed, _ = await whole_turn(h)
        assert (h.workspace / "a/b.txt").read_text() == "one\n2\n"
        seen = results(await all_messages(h, session))
        assert seen[2].text == "one\n2"
        assert completed.text.splitlines() == [str(h.workspace / "a"), "5", "[exit code 3]"]
        assert [part.is_error for part in seen] == [False, False, False, True]


async def test_read_only_calls_of_one_step_are_answered_in_the_order_of_the_calls(tmp_path: Path) -> None:
    calls = [{"name": "read_file", "arguments": {"path": f"{n}.txt"}} for n in range(8)]
    async with house(tmp_path, [{"tool_calls": calls}, {"text": "done"}]) as h:
        for n in range(8):
            (h.workspace / f"{n}.txt").write_text(f"file {n}\n" * (1 + 500 * (8 - n)))
        _, completed, _ = await whole_turn(h)
        assert completed.reason == "done"
        sent = [m["content"] for m in h.sim.requests[-1].json()["messages"] if m["role"] == "tool"]
        assert [text.split("\t")[1].split("\n")[0] for text in sent] == [f"file {n}" for n in range(8)]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"name": "no_such_tool", "arguments": {}}, "There is no tool named 'no_such_tool'"),
        ({"name": "shell", "arguments": {"cmd": "ls"}}, "does not know cmd. Perhaps you mean command for cmd."),
        (
            {"name": "edit_file", "arguments": {"file_path": "a", "old_str": "a", "new_string": "b"}},
            "Perhaps you mean path for file_path, old for old_str, new for new_string.",
        ),
        ({"name": "shell", "arguments": '{"command": '}, "not a JSON object"),
        ({"name": "read_file", "arguments": {"path": "../../etc/passwd"}}, "outside the workspace"),
        ({"name": "read_file", "arguments": {"path": "missing.txt"}}, "does not exist"),
    ],
)
async def test_a_bad_call_is_explained_to_the_model_and_the_turn_goes_on(
    tmp_path: Path, call: dict[str, object], said: str
) -> None:
    async with house(tmp_path, [{"tool_calls": [call]}, {"text": "I see."}]) as h:
        session, completed, _ = await whole_turn(h)
        assert completed.reason == "done"
        (result,) = results(await all_messages(h, session))
        assert result.is_error
        assert said in result.text


async def test_cancelling_a_stream_keeps_and_marks_what_was_said(tmp_path: Path) -> None:
    fault = {"name": "stall", "after": 2}
    async with house(tmp_path, [{"chunks": ["Once upon", " a time", " never"], "fault": fault}]) as h:
        async with await h.client() as client:
            session = await new_session(h, client)
            attachment = await client.attach(session)
            await client.send(session, "tell me")
            await until(attachment, lambda event: isinstance(event, e.TextDelta) and "time" in event.text)
            assert await client.cancel(session)
            completed, before = await attachment.until_turn_ends()
            told = [event.usage for event in before if isinstance(event, e.UsageUpdated)]
            assert told[-1] == (await ask(client, SessionGet, session=session)).usage
            assert told[-1].tokens.output_tokens > 0
        assert completed.reason == "cancelled"
        last = (await all_messages(h, session))[-1]
        assert (last.text, last.stop_reason) == ("Once upon a time", "cancelled")
        await h.sim.until(lambda: bool(h.sim.requests[-1].disconnected_at))


async def test_cancelling_a_command_kills_it_and_the_session_goes_on(tmp_path: Path) -> None:
    script = [shell("echo $$ > pid; touch started; sleep 300"), {"text": "Understood."}]
    async with house(tmp_path, script) as h:
        async with await h.client() as client:
            session = await new_session(h, client)
            attachment = await client.attach(session)
            await client.send(session, "go")
            await until(attachment, lambda event: isinstance(event, e.ToolStarted))
            while not (h.workspace / "started").exists():
                await asyncio.sleep(0.01)
            assert await client.cancel(session)
            completed, _ = await attachment.until_turn_ends()
            assert completed.reason == "cancelled"
            await client.send(session, "never mind")
            completed, _ = await attachment.until_turn_ends()
            assert (completed.reason, completed.text) == ("done", "Understood.")
        (result,) = results(await all_messages(h, session))
        assert (result.ended, result.reason) == ("stopped", "the user stopped the turn")


async def test_a_turn_stops_at_its_step_limit(tmp_path: Path) -> None:
    async with house(tmp_path, {"loop": True, "steps": [shell("echo {step}")]}) as h:
        _, completed, _ = await whole_turn(h, max_steps=4)
        assert (completed.reason, completed.steps) == ("step_limit", 4)


async def test_a_turn_stops_at_its_time_limit(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "never", "fault": {"name": "stall", "after": 0}}]) as h:
        _, completed, _ = await whole_turn(h, turn_timeout=0.2)
        assert completed.reason == "time_limit"


async def test_a_model_that_repeats_itself_is_warned_and_then_stopped(tmp_path: Path) -> None:
    async with house(tmp_path, {"loop": True, "steps": [shell("echo same")]}) as h:
        session, completed, _ = await whole_turn(h)
        assert completed.reason == "loop"
        assert completed.steps == 6
        texts = [result.text for result in results(await all_messages(h, session))]
        assert texts[:2] == ["same", "same"]
        assert "3th time" not in texts[1]
        assert all("in a row" in text for text in texts[2:])


async def test_a_failing_provider_ends_the_turn_with_a_clear_error_and_the_session_stays_usable(tmp_path: Path) -> None:
    script = [{"text": "fine", "fault": {"name": "401", "times": 1}}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "hello")
        completed, seen = await attachment.until_turn_ends()
        assert completed.reason == "error"
        assert completed.error is not None
        assert completed.error.code == "auth_failed"
        assert any(isinstance(event, e.ErrorRaised) for event in seen)
        await client.send(session, "again")
        completed, _ = await attachment.until_turn_ends()
        assert completed.reason == "done"


async def test_a_message_sent_during_a_turn_waits_for_it(tmp_path: Path) -> None:
    script = [{"text": "first", "latency_ms": 200}, {"text": "second"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        assert (await client.send(session, "one")).turn == 1
        assert (await client.send(session, "two")).queued
        first, _ = await attachment.until_turn_ends()
        second, _ = await attachment.until_turn_ends()
        assert (first.text, second.text) == ("first", "second")
        texts = [message.text for message in await all_messages(h, session)]
        assert texts == ["one", "first", "two", "second"]


async def test_a_model_that_ends_its_work_without_a_word_is_done_and_people_are_told(tmp_path: Path) -> None:
    async with house(tmp_path, [shell("touch made"), {}]) as h:
        _, completed, _ = await whole_turn(h)
        assert (completed.reason, completed.text, completed.steps) == ("done", "", 2)
        assert completed.error is not None
        assert "without a word" in completed.error.message


@pytest.mark.parametrize(("mode", "ran"), [("plan", False), ("full", True)])
async def test_a_mode_decides_what_runs_unasked(tmp_path: Path, mode: str, ran: bool) -> None:
    async with house(tmp_path, [shell("touch made"), {"text": "ok"}]) as h:
        await whole_turn(h, mode=mode)
        assert (h.workspace / "made").exists() is ran


@pytest.mark.parametrize("allow", [True, False])
async def test_the_first_answer_to_a_permission_request_wins(tmp_path: Path, allow: bool) -> None:
    async with house(tmp_path, [shell("touch made"), {"text": "ok"}]) as h:
        async with await h.client(interactive=True, name="one") as one, await h.client(interactive=True) as two:
            session = await new_session(h, one, mode="ask")
            attachment = await one.attach(session)
            other = await two.attach(session)
            await one.send(session, "go")
            seen = await until(attachment, lambda event: isinstance(event, e.PermissionRequested))
            asked = seen[-1]
            assert isinstance(asked, e.PermissionRequested)
            assert asked.ask.summary == "touch made"
            assert asked.answerable
            await until(other, lambda event: isinstance(event, e.PermissionRequested))
            await one.answer_permission(session, asked.ask.id, allow=allow)
            with pytest.raises(OpenAgentError, match="given already"):
                await two.answer_permission(session, asked.ask.id, allow=not allow)
            _, rest = await other.until_turn_ends()
            resolved = next(event for event in rest if isinstance(event, e.PermissionResolved))
            assert (resolved.decision, resolved.by) == ("allow" if allow else "deny", "one")
        assert (h.workspace / "made").exists() is allow


async def test_an_answer_for_the_session_is_not_asked_for_again(tmp_path: Path) -> None:
    script = [shell("touch made"), shell("touch made"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session = await new_session(h, client, mode="ask")
        attachment = await client.attach(session)
        await client.send(session, "go")
        asked = (await until(attachment, lambda event: isinstance(event, e.PermissionRequested)))[-1]
        assert isinstance(asked, e.PermissionRequested)
        op = PermissionAnswer(id="p", session=session, ask=asked.ask.id, decision="allow", scope="session")

        await client.request(op)
        completed, rest = await attachment.until_turn_ends()
        assert completed.reason == "done"
        assert not [event for event in rest if isinstance(event, e.PermissionRequested)]


async def test_every_event_of_a_turn_names_the_op_that_caused_it(tmp_path: Path) -> None:
    async with house(tmp_path, [shell("echo hi"), {"text": "ok"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        _, seen = await attachment.until_turn_ends()
        (op_id,) = {event.op_id for event in seen}
        assert op_id
        numbers = [event.seq for event in seen if type(event).durable]
        assert numbers == sorted(set(numbers))


async def test_settings_change_with_the_next_step_and_everybody_hears_of_it(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "a"}]) as h, await h.client() as one, await h.client() as two:
        session = await new_session(h, one)
        attachment = await two.attach(session)
        change = SettingsChange(mode="plan", disabled_tools=["shell"])
        info = await one.request(SessionUpdate(id="u", session=session, name="renamed", settings=change))
        assert (info.name, info.settings.mode) == ("renamed", "plan")
        heard = (await until(attachment, lambda event: isinstance(event, e.SessionUpdated)))[-1]
        assert isinstance(heard, e.SessionUpdated)
        assert heard.info.name == "renamed"
        await one.send(session, "go")
        await attachment.until_turn_ends()
        offered = [tool["function"]["name"] for tool in h.sim.requests[-1].json()["tools"]]
        assert "shell" not in offered
        assert "read_file" in offered


async def test_who_looks_at_the_list_hears_that_a_first_message_names_a_session_and_another_brings_it_back(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, [{"text": "a"}, {"text": "b"}]) as h, await h.client() as one, await h.client() as two:
        session = await new_session(h, one)
        await two.request(DaemonFollow(id="f"))
        async with two.all_events() as queue:
            attachment = await one.attach(session)
            await one.send(session, "fix the clock")
            await attachment.until_turn_ends()
            await one.request(SessionUpdate(id="u", session=session, archived=True))
            await one.send(session, "and the door")
            heard: list[tuple[str, bool]] = []
            async with asyncio.timeout(PATIENCE):
                while len(heard) < 3:
                    event = await queue.get()
                    if isinstance(event, e.SessionUpdated):
                        heard.append((event.info.name, event.info.archived))
        assert heard == [("fix the clock", False), ("fix the clock", True), ("fix the clock", False)]


async def test_a_running_session_is_forked_at_a_message_that_is_finished(tmp_path: Path) -> None:
    script = [{"text": "one"}, shell("echo two"), {"text": "never", "fault": "stall"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "a")
        await attachment.until_turn_ends()
        await client.send(session, "b")
        await until(attachment, lambda event: isinstance(event, e.ToolFinished))
        for through, code in ((None, "busy"), (4, "invalid_argument")):
            with pytest.raises(OpenAgentError) as refused:
                await client.request(SessionFork(id="f", session=session, through=through))
            assert refused.value.info.code == code
        for through, kept in ((2, ["a", "one"]), (3, ["a", "one", "b"])):
            fork = await client.request(SessionFork(id="f", session=session, through=through))
            assert (fork.status, fork.message_count) == ("idle", through)
            assert [message.text for message in await all_messages(h, fork.id)] == kept
        assert (await client.cancel(session)) is True


async def test_a_fork_goes_its_own_way(tmp_path: Path) -> None:
    script = [{"text": "one"}, {"text": "two"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        for prompt in ("a", "b"):
            await client.send(session, prompt)
            await attachment.until_turn_ends()
        fork = await client.request(SessionFork(id="f", session=session, through=2))
        assert fork.forked_from == session
        forked = await client.attach(fork.id)
        await client.send(fork.id, "c")
        completed, _ = await forked.until_turn_ends()
        assert completed.text == "two"
        assert [m.text for m in await all_messages(h, fork.id)] == ["a", "one", "c", "two"]
        assert [m.text for m in await all_messages(h, session)] == ["a", "one", "b", "two"]


async def test_a_fork_goes_on_in_another_folder_and_leaves_the_first_one_alone(tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    async with house(tmp_path, [{"text": "one"}, shell("touch here"), {"text": "done"}]) as h:
        async with await h.client() as client:
            session = await new_session(h, client)
            attachment = await client.attach(session)
            await client.send(session, "a")
            await attachment.until_turn_ends()
            with pytest.raises(OpenAgentError, match="nowhere"):
                await client.request(SessionFork(id="f", session=session, cwd=str(tmp_path / "nowhere")))
            fork = await client.request(SessionFork(id="g", session=session, cwd=str(other)))
            assert fork.cwd == str(other)
            forked = await client.attach(fork.id)
            await client.send(fork.id, "b")
            await forked.until_turn_ends()
        assert (other / "here").exists()
        assert not (h.workspace / "here").exists()


async def test_the_raw_exchange_behind_an_answer_is_kept(tmp_path: Path) -> None:
    async with house(tmp_path, [shell("echo hi"), {"text": "ok"}]) as h:
        session, _, _ = await whole_turn(h)
        async with await h.client() as client:
            raw = await client.request(MessageRaw(id="r", session=session, number=4))
        assert raw.request == h.sim.requests[-1].body
        assert "ok" in raw.response


async def test_a_context_that_fills_its_window_is_collected_and_nothing_is_destroyed(tmp_path: Path) -> None:
    big = "x" * 20_000
    script = {"loop": True, "steps": [{"text": big, "usage": {"input": 120_000, "output": 5_000}}]}
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        seen: list[e.Event] = []
        for _ in range(10):
            await client.send(session, "more")
            seen += (await attachment.until_turn_ends())[1]
        assert any(isinstance(event, e.ContextCollected) for event in seen)
        assert len(await all_messages(h, session)) == 20
        sizes = [len(request.body) for request in h.sim.requests]
        assert max(sizes) < 20 * len(big)


async def test_numbers_of_events_never_go_back_whatever_is_shown_between(tmp_path: Path) -> None:
    script = [call("write_file", path="a.txt", content="a"), call("shell", command="echo hi"), {"text": "Done."}]
    async with house(tmp_path, [*script, *script]) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client, mode="full"))
        seen = [event for _ in range(2) for event in (await turn(client, attachment))[1]]
    numbers = [event.seq for event in seen if event.seq]
    assert any(isinstance(event, e.ContextShown) for event in seen)
    assert numbers == sorted(numbers)


async def test_a_program_that_waits_for_the_end_leaves_a_question_to_the_agent(tmp_path: Path) -> None:
    question = {"tool_calls": [{"name": "ask_user", "arguments": {"question": "Red or blue?"}}]}
    async with house(tmp_path, [question, {"text": "{last_result}"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "choose")
        completed, seen = await attachment.until_turn_ends()
        assert completed.text == "No one is attached. Decide, and say what you assumed."
        [asked] = [event for event in seen if isinstance(event, e.QuestionAsked)]
        assert not asked.answerable
