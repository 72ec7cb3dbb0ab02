"""How people are told of events: every event says so, in words that can be filled in."""

import json
import re
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_type_hints

import pytest

from openagent.protocol import events as e
from openagent.protocol.codec import decode_event
from openagent.protocol.telling import Drawn, Line, Silent, said, said_of

EVENTS: list[type[e.Event]] = list(e.AnyEvent.__args__)
LINES = [(event, line) for event in EVENTS if isinstance(event.told, tuple) for line in event.told]


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_says_itself_how_people_are_told_of_it(event: type[e.Event]) -> None:
    told = vars(event)["told"]
    match told:
        case Drawn():
            assert told.how
        case Silent():
            assert told.why
        case _:
            assert told
            assert all(isinstance(line, Line) for line in told)


def names_in(line: Line) -> set[str]:
    named = re.findall(r"\{([\w.]+)(?::\w+)?\}", f"{line.text} {line.hint} {line.detail}")
    return {*named, *(re.split(r"!?=", condition)[0].removeprefix("!") for condition in line.when.split())}


def has(kind: Any, name: str) -> bool:
    first, _, rest = name.partition(".")
    hint = get_type_hints(kind).get(first)
    if hint is None or not rest:
        return hint is not None
    inner = [each for each in get_args(hint) if each is not type(None)] if isinstance(hint, UnionType) else [hint]
    return has(inner[0], rest)


@pytest.mark.parametrize(("event", "line"), LINES)
def test_a_line_names_fields_that_its_event_has(event: type[e.Event], line: Line) -> None:
    assert {name for name in names_in(line) if not has(event, name)} == set()


CASES = json.loads(Path(__file__).with_name("told.json").read_text())
"""The web's telling.test.ts reads them too."""


@pytest.mark.parametrize("case", CASES)
def test_an_event_is_told_alike_before_and_after_it_went_over_the_line(case: dict[str, Any]) -> None:
    sent = case["event"]
    event = decode_event(json.dumps(sent).encode())
    assert [f"{each.tone} {each.whole}" for each in said(event.told, event)] == case["lines"]
    assert [f"{each.tone} {each.whole}" for each in said_of(sent["type"], sent)] == case["lines"]
