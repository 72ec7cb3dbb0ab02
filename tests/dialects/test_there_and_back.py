"""What is said in a dialect comes back as the same call, whichever side began."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.dialects.families import DIALECTS
from openagent.dialects.tongue import Tongue
from openagent.plugins.provider import Answer, ModelRequest
from openagent.protocol.messages import Message, ToolCallPart
from openagent.protocol.usage import Usage

from .ours import SCHEMAS, TOOLS, calls_like

SPOKEN = [name for name in DIALECTS if name != "own"]
SEVERAL_IN_ONE = "str_replace_based_edit_tool"
QUIET = settings(max_examples=25, deadline=None)


def heard(tongue: Tongue, call: ToolCallPart) -> ToolCallPart:
    answer = tongue.heard(Answer([call], "tool_calls", Usage(), "m"), SCHEMAS)
    (part,) = answer.parts
    assert isinstance(part, ToolCallPart)
    return part


def said(tongue: Tongue, call: ToolCallPart) -> ToolCallPart:
    (part,) = tongue.message(Message(2, "assistant", [call])).tool_calls
    return part


def full(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """With every argument that goes without saying."""
    properties = TOOLS[tool].schema.parameters["properties"]
    return {**{name: each["default"] for name, each in properties.items() if "default" in each}, **arguments}


def own(call: ToolCallPart) -> dict[str, Any]:
    """Without what its tool does not know: of a tool that is several in one, an argument of another one, which it
    refuses."""
    known = TOOLS[call.name].schema.parameters["properties"]
    return {name: each for name, each in full(call.name, call.arguments).items() if name in known}


@pytest.mark.parametrize("dialect", SPOKEN)
@QUIET
@given(data=st.data())
def test_a_call_of_ours_comes_back_as_it_was(dialect: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(TOOLS)))
    arguments = data.draw(calls_like(TOOLS[name].schema.parameters))
    tongue = Tongue(DIALECTS[dialect])
    back = heard(tongue, said(tongue, ToolCallPart("c1", name, arguments)))
    assert (back.name, full(back.name, back.arguments)) == (name, full(name, arguments))


@pytest.mark.parametrize("dialect", SPOKEN)
@QUIET
@given(data=st.data())
def test_a_call_of_theirs_is_one_that_our_tool_takes_and_is_shown_to_them_again_as_it_was(
    dialect: str, data: st.DataObject
) -> None:
    tongue = Tongue(DIALECTS[dialect])
    request = tongue.request(ModelRequest("m", "", [], SCHEMAS))
    tool = data.draw(st.sampled_from(list(request.tools)))
    call = ToolCallPart("c1", tool.name, data.draw(calls_like(tool.parameters)))
    ours = heard(tongue, call)
    assert ours.name in TOOLS
    if tool.name != SEVERAL_IN_ONE:  # what its arguments must be depends on one of them, which a schema cannot say
        assert TOOLS[ours.name].check(ours.arguments) is None
    again = heard(tongue, said(tongue, ours))
    assert (again.name, own(again)) == (ours.name, own(ours))


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@QUIET
@given(
    name=st.sampled_from(sorted({term.name for each in DIALECTS.values() for term in each.terms})),
    arguments=st.dictionaries(
        st.sampled_from(
            sorted({key.name for each in DIALECTS.values() for term in each.terms for key in term.keys} | {"command"})
        ),
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2),
        max_size=4,
    ),
)
def test_whatever_a_model_writes_becomes_some_call(dialect: str, name: str, arguments: dict[str, Any]) -> None:
    """Arguments of the wrong kind are for the tool to complain of, and never break a turn."""
    tongue = Tongue(DIALECTS[dialect])
    call = heard(tongue, ToolCallPart("c1", name, arguments))
    assert call.id == "c1"
    said(tongue, call)
