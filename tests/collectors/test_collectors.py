"""What every collector keeps to, whatever the history: nobody's calls lose their results, and nothing is lost."""

from collections.abc import Generator, Sequence
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devtools.simulator import ThreadedSimulator
from openagent.collectors.choosing import candidates, size
from openagent.collectors.registry import built_in_collectors
from openagent.collectors.summary import room_for_summary
from openagent.core.collect import Proposal, propose
from openagent.core.view import View
from openagent.plugins.collector import CollectGoal, Collection, Collector, ContextItem, ContextSettings, Summarize
from openagent.plugins.context import call_id
from openagent.plugins.store import CollectionRecord
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message, TextPart, ToolCallPart, ToolResultPart
from openagent.protocol.sessions import PlanItem

from ..providers.harness import FORMATS, answer_to, ask, connect
from .histories import histories, view_of

pytestmark = pytest.mark.anyio

COLLECTORS = built_in_collectors()


class Greedy:
    """A plugin that does not care: it wants everything gone, halves of steps included."""

    name = "greedy"

    async def collect(
        self, context: Sequence[ContextItem], goal: CollectGoal, summarize: Summarize
    ) -> Collection | None:
        numbers = [item.message.number for item in context]
        return Collection(hidden=[(numbers[0], numbers[-1] - 1)], replaced=dict.fromkeys(numbers, "gone"))


ALL: list[Collector] = [*COLLECTORS.values(), Greedy()]


async def brief(messages: Sequence[Message], instruction: str) -> str:
    return f"Brief, about {sum(len(message.parts) for message in messages)}."


async def failing(messages: Sequence[Message], instruction: str) -> str:
    raise OpenAgentError("budget_exceeded", "The budget is used up.")


class Case(NamedTuple):
    messages: list[Message]
    pins: list[int]
    window: int
    goal: int
    keep_turns: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    messages = draw(histories())
    pins = draw(st.lists(st.sampled_from([message.number for message in messages]), max_size=3, unique=True))
    window = draw(st.sampled_from([2_000, 8_000, 40_000]))
    return Case(messages, pins, window, draw(st.sampled_from([10, 40, 90])), draw(st.integers(0, 4)))


async def proposed(collector: Collector, view: View, case: Case, summarize: Summarize = brief) -> Proposal | None:
    wanted = ContextSettings(goal=case.goal, keep_turns=case.keep_turns)
    plan = [PlanItem("look"), PlanItem("mend", "active")]
    return await propose(collector, view, settings=wanted, window=case.window, plan=plan, summarize=summarize)


def pinned(case: Case) -> CollectionRecord:
    return CollectionRecord(id=1, pinned=case.pins)


def sent(view: View) -> bytes:
    return msgspec.json.encode([(item.message.number, item.message.parts) for item in view.items()] + [view.summary])


def assert_pairs_are_whole(view: View) -> None:
    shown = [item.message for item in view.items()]
    calls = {call.id for message in shown for call in message.tool_calls}
    assert {call_id(message) for message in shown if message.role == "tool"} <= calls


@pytest.mark.parametrize("collector", ALL, ids=lambda collector: collector.name)
@settings(max_examples=60, deadline=None)
@given(case=cases(), rounds=st.integers(1, 3), fails=st.booleans())
async def test_pairs_stay_whole_pins_stay_and_taking_it_back_is_exact(
    collector: Collector, case: Case, rounds: int, fails: bool
) -> None:
    log = [pinned(case)]
    before = sent(view_of(case.messages, log))
    for _ in range(rounds):
        view = view_of(case.messages, log)
        was = {item.message.number: item for item in view.items()}
        found = await proposed(collector, view, case, failing if fails else brief)
        assert sent(view_of(case.messages, log)) == sent(view), "a proposal changes nothing"
        if found is None:
            break
        log.append(msgspec.structs.replace(found.record, id=len(log) + 1))
        view.apply(log[-1])
        assert sent(view) == sent(view_of(case.messages, log)), "what is shown does not depend on when it was loaded"
        assert_pairs_are_whole(view)
        now = {item.message.number: item.message for item in view.items()}
        for number in case.pins:
            assert now[number].parts == was[number].message.parts
        assert view.estimated() == found.tokens_after
    log.append(CollectionRecord(id=len(log) + 1, undone=[record.id for record in log[1:]]))
    assert sent(view_of(case.messages, log)) == before


@pytest.mark.parametrize("collector", COLLECTORS.values(), ids=lambda collector: collector.name)
@settings(max_examples=60, deadline=None)
@given(case=cases())
async def test_the_goal_is_met_where_it_can_be(collector: Collector, case: Case) -> None:
    view = view_of(case.messages, [pinned(case)])
    before = view.estimated()
    goal = min(case.window * case.goal // 100, before - before // 4)
    can_go = sum(map(size, candidates(view.items(), case.keep_turns)))
    summary = room_for_summary(case.window) // 4 + 60
    found = await proposed(collector, view, case)
    if before - can_go + summary <= goal:
        assert found is not None
        assert found.tokens_after <= goal + 60, "but for the line that says that something is left out"


@pytest.fixture(scope="module")
def any_answer() -> Generator[ThreadedSimulator, None, None]:
    with ThreadedSimulator({"steps": [{"text": "Fine."}], "loop": True}) as sim:
        yield sim


@pytest.mark.parametrize("wire", FORMATS)
@settings(max_examples=15, deadline=None)
@given(case=cases(), name=st.sampled_from(sorted(COLLECTORS)), rounds=st.integers(1, 2))
async def test_every_provider_accepts_what_is_left(
    wire: str, any_answer: ThreadedSimulator, case: Case, name: str, rounds: int
) -> None:
    """The simulator refuses what the vendor would refuse."""
    view = view_of([*case.messages, Message(len(case.messages) + 1, "user", list(case.messages[0].parts))], [])
    view.apply(pinned(case))
    for _ in range(rounds):
        if found := await proposed(COLLECTORS[name], view, case):
            view.apply(found.record)
    request = view.conversation()
    async with connect(wire, any_answer) as provider:
        answer = await answer_to(provider, ask(wire, *request))
    assert answer.stop_reason == "end"


@pytest.mark.parametrize("name", ["summarize", "hybrid"])
async def test_a_summary_keeps_what_must_not_depend_on_a_model(name: str) -> None:
    call = ToolCallPart("c1", "write_file", {"path": "src/deep/config.toml", "content": "x"})
    patch = ToolCallPart("c2", "apply_patch", {"patch": "*** Begin Patch\n*** Update File: lib/core.rs\n"})
    messages = [
        Message(1, "user", [TextPart("Port the parser to Rust.\nNever touch generated files. It is urgent.")], turn=1),
        Message(2, "assistant", [TextPart("I will see docs/plan.md first."), call, patch], turn=1),
        Message(3, "tool", [ToolResultPart("c1", "write_file", "w" * 9_000)], turn=1),
        Message(4, "tool", [ToolResultPart("c2", "apply_patch", "p" * 9_000)], turn=1),
        *(Message(number, "user", [TextPart(f"Next {number}")], turn=number) for number in range(5, 12)),
    ]
    case = Case(messages, [], 8_000, 40, 2)
    log: list[CollectionRecord] = []
    for summarize in (brief, failing):
        view = view_of(messages, log)
        found = await proposed(COLLECTORS[name], view, case, summarize)
        assert found is not None
        assert ("could be written: The budget is used up." in found.note) is (summarize is failing)
        for kept in (
            "Port the parser to Rust.",
            "Never touch generated files.",
            "src/deep/config.toml",
            "lib/core.rs",
            "docs/plan.md",
            "[active] mend",
            "Brief, about",
        ):
            assert kept in found.record.summary, f"after a summary that {summarize.__name__}"
        assert "It is urgent." not in found.record.summary
        log.append(msgspec.structs.replace(found.record, id=len(log) + 1))
        number = len(messages) + 1
        messages += [
            Message(place, "user", [TextPart(f"Later {place} " + "z" * 4_000)], turn=place)
            for place in range(number, number + 8)
        ]


async def test_what_a_pointer_stands_for_is_said_in_it() -> None:
    messages = [
        Message(1, "user", [TextPart("go")], turn=1),
        Message(2, "assistant", [ToolCallPart("c", "shell", {"command": "make"})], turn=1),
        Message(3, "tool", [ToolResultPart("c", "shell", "error: no rule\n" + "x" * 8_000)], turn=1),
        *(Message(number, "user", [TextPart("and?")], turn=number) for number in range(4, 9)),
    ]
    found = await proposed(COLLECTORS["evict"], view_of(messages, []), Case(messages, [], 4_000, 40, 1))
    assert found is not None
    assert found.record.hidden == []
    assert "shell returned" in found.record.replaced[3]
    assert "error: no rule" in found.record.replaced[3]
    assert "recall(message=3)" in found.record.replaced[3]
