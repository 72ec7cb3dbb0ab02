"""What the simulator asks of a wire format, and what formats share: events, JSON access, the incoming call."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import parse_qs, urlsplit

import msgspec

from devtools.simulator.inquiry import Inquiry
from devtools.simulator.problems import Problem, refuse
from devtools.simulator.reply import Reply
from devtools.simulator.script import Script

Json = dict[str, Any]

encode = msgspec.json.Encoder().encode


class Event(NamedTuple):
    """One piece of a streamed answer."""

    data: bytes
    content: bool = False
    """Carries content, so pacing and faults count it as a chunk."""


class ErrorAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: Json | list[Json]


class Call(msgspec.Struct):
    """An HTTP request, taken apart as far as every format needs it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    """Lower-case names; the last value of a repeated header."""
    raw_body: bytes
    script: Script
    serial: int
    body: Json = {}
    """Empty when the raw body is no JSON object; `body_problem` then says why."""
    body_problem: Problem | None = None

    def __post_init__(self) -> None:
        if self.method != "POST":
            return
        try:
            self.body = msgspec.json.decode(self.raw_body, type=Json)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self.body_problem = refuse(f"The request body is not a valid JSON object: {error}")


class WireFormat(Protocol):
    """One provider's way of asking and answering."""

    name: str

    def media_type(self, call: Call) -> str:
        """Of a streamed answer."""
        ...

    def inquire(self, call: Call) -> Inquiry: ...

    def referee(self, call: Call) -> None:
        """Raise the `Problem` that the real provider has with this request, if any."""
        ...

    def whole(self, reply: Reply, call: Call) -> Json: ...

    def events(self, reply: Reply, call: Call) -> list[Event]: ...

    def count(self, tokens: int, call: Call) -> Json: ...

    def models(self, names: list[str], call: Call) -> Json: ...

    def model(self, name: str, call: Call) -> Json: ...

    def headers(self, call: Call) -> dict[str, str]: ...

    def error(self, problem: Problem, call: Call) -> ErrorAnswer: ...

    def error_event(self, problem: Problem, reply: Reply, call: Call, sequence: int) -> bytes:
        """What breaks off a stream after `sequence` events."""
        ...


def split_target(target: str) -> tuple[str, dict[str, str]]:
    parts = urlsplit(target)
    return parts.path, {name: values[-1] for name, values in parse_qs(parts.query).items()}


def sse(data: Any, event: str | None = None) -> bytes:
    payload = b"data: " + encode(data) + b"\n\n"
    return payload if event is None else b"event: " + event.encode() + b"\n" + payload


def words(text: str) -> list[str]:
    return text.split()


def obj(value: Any) -> Json:
    """The value if it is a JSON object, else an empty one: lets readers stay short where referees judge."""
    return cast("Json", value) if isinstance(value, dict) else {}


def arr(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def joined_text(content: Any, key: str = "text") -> str:
    """A message's content as text, be it a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(string(obj(part).get(key)) for part in arr(content))


def first_of(source: Mapping[str, Any], *names: str) -> Any:
    """Gemini accepts both camelCase and snake_case."""
    for name in names:
        if name in source:
            return source[name]
    return None
