"""The protocol is data: it survives the wire, and its schema tells all of it."""

import importlib
import json
import pkgutil
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openagent import protocol
from openagent.protocol import events, locations
from openagent.protocol.codec import KNOWN_OPS, UndecodableOp, decode_event, decode_op, encode_event, encode_op
from openagent.protocol.conversation import MessageSend
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.ids import new_session_id
from openagent.protocol.messages import Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from openagent.protocol.op import OpType
from openagent.protocol.ops import ALL_OPS
from openagent.protocol.schema import json_schema

plain_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | plain_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_text, inner, max_size=3),
    max_leaves=8,
)
parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, plain_text),
    st.builds(ThinkingPart, plain_text, signature=st.none() | plain_text),
    st.builds(ToolCallPart, plain_text, plain_text, st.dictionaries(plain_text, json_values, max_size=3)),
    st.builds(ToolResultPart, plain_text, plain_text, plain_text, is_error=st.booleans()),
)


@given(st.lists(parts, max_size=5), st.integers(1, 10**6))
def test_a_message_comes_back_from_the_wire_as_it_was(content: list[Part], number: int) -> None:
    event = events.MessageAdded(session="s", seq=3, message=Message(number=number, role="assistant", parts=content))
    assert decode_event(encode_event(event)) == event


@given(plain_text, plain_text)
def test_an_op_comes_back_from_the_wire_as_it_was(text: str, session: str) -> None:
    op = MessageSend(id="1", session=session, text=text)
    assert decode_op(encode_op(op)) == op


@given(st.binary(max_size=200) | plain_text.map(str.encode) | json_values.map(lambda value: json.dumps(value).encode()))
def test_whatever_is_not_an_op_is_refused_with_a_sentence(data: bytes) -> None:
    refused = None
    try:
        decode_op(data)
    except UndecodableOp as problem:
        refused = problem
    assert refused is None or refused.info.message.endswith(".")


def test_the_schema_tells_every_op_event_and_result() -> None:
    schema = json_schema()
    text = json.dumps(schema)
    for kind in (*ALL_OPS, *get_args(events.AnyEvent)):
        assert f'"{kind.__struct_config__.tag}"' in text
        assert kind.__name__ in schema["$defs"]
    assert set(schema["$defs"]["Results"]["properties"]) == KNOWN_OPS


def test_every_op_of_the_protocol_is_gathered() -> None:
    files = (name for _, name, _ in pkgutil.iter_modules(protocol.__path__))
    kinds = (kind for name in files for kind in vars(importlib.import_module(f"{protocol.__name__}.{name}")).values())
    assert {kind for kind in kinds if isinstance(kind, OpType) and kind.tag} == set(ALL_OPS), "name its file in ops.py"


def test_no_field_of_an_op_hides_what_its_class_says() -> None:
    said = {*OpType.__annotations__, "result", "needed", "handled_by"}
    assert {op.tag for op in ALL_OPS if said & {field.name for field in msgspec.structs.fields(op)}} == set()


def test_every_event_of_the_design_is_there() -> None:
    names = {str(kind.__struct_config__.tag) for kind in get_args(events.AnyEvent)}
    assert names >= {
        "session.created", "session.updated", "session.deleted", "turn.started", "turn.completed", "status",
        "text.delta", "thinking.delta", "message.added", "tool.started", "tool.output", "tool.finished",
        "permission.requested", "permission.resolved", "question.asked", "question.answered", "plan.updated",
        "usage.updated", "budget.warning", "budget.exceeded", "context.threshold", "context.collected",
        "retry.scheduled", "provider.failed_over", "subagent.started", "subagent.finished", "checkpoint.created",
        "checkpoint.restored", "mcp.status", "task.updated", "background.started", "background.finished", "metrics",
        "error",
    }  # fmt: skip


def test_an_unknown_field_from_a_newer_daemon_is_no_error() -> None:
    newer: dict[str, Any] = {"type": "status", "session": "s", "status": "idle", "mood": "cheerful"}
    event = decode_event(msgspec.json.encode(newer))
    assert event == events.StatusChanged(session="s", status="idle")


def test_ids_are_unique_and_sort_by_time() -> None:
    made = [new_session_id() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert [one[:9] for one in made] == sorted(one[:9] for one in made)


@pytest.mark.parametrize(
    ("env", "home", "config"),
    [
        ({"HOME": "/h"}, "/h/.local/share/openagent", "/h/.config/openagent/config.toml"),
        ({"HOME": "/h", "OPENAGENT_HOME": "/o"}, "/o", "/h/.config/openagent/config.toml"),
        ({"HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"}, "/d/openagent", "/c/openagent/config.toml"),
        ({"HOME": "/h", "OPENAGENT_CONFIG": "/x.toml"}, "/h/.local/share/openagent", "/x.toml"),
    ],
)
def test_a_client_and_its_daemon_agree_on_where_things_live(env: dict[str, str], home: str, config: str) -> None:
    assert locations.data_home(env) == home
    assert locations.config_file(env) == config
    assert locations.socket_path(env) == f"{home}/daemon.sock"


def test_a_home_too_deep_for_a_socket_gets_one_elsewhere() -> None:
    env = {"OPENAGENT_HOME": "/" + "deep/" * 40, "XDG_RUNTIME_DIR": "/run/user/1"}
    path = locations.socket_path(env)
    assert len(path) < 100
    assert path.startswith("/run/user/1/")
    assert path != locations.socket_path({**env, "OPENAGENT_HOME": "/" + "deeper/" * 40})


def test_an_error_says_what_happened_and_what_to_do() -> None:
    info = ErrorInfo("not_found", "There is no such thing.", hint="Make one.")
    assert msgspec.json.decode(msgspec.json.encode(info))["hint"] == "Make one."


def test_every_op_is_there_once() -> None:
    assert len({op.tag for op in ALL_OPS}) == len(ALL_OPS)
