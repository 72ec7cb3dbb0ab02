"""A conversation on its way to a wire format.

Histories come from one place and go to four formats, each with its own rules. Here they are put into a shape that all
four can take: an answer, the results of its calls in the order of the calls, and what people said after it. Each format
turns such an exchange into JSON; the bytes of an exchange are kept, so that a step costs what is new in it and
the beginning of a request never changes from step to step.
"""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import is_
from typing import Any
from weakref import WeakSet

import msgspec
from msgspec import Struct

from openagent.dialects.tongue import Tongue
from openagent.plugins.provider import ModelRequest
from openagent.protocol.messages import (
    ImagePart,
    Message,
    NotePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from openagent.providers.unicode import mend_text

REMEMBERED_BYTES = 32 * 1024 * 1024
"""Of encoded conversations, for each provider. What is forgotten is encoded anew."""
NO_RESULT = "Interrupted: this call has no result."
NO_OUTPUT = "(no output)"
_EMPTY = TextPart("(empty message)")
_CONTINUE = Message(0, "user", [TextPart("Continue.")])
"""After an answer that was cut short: providers insist that a user has the last word."""

encode_json = msgspec.json.Encoder().encode


class Exchange(Struct, frozen=True):
    """An answer and everything up to the next one. The first exchange of a conversation has no answer."""

    answer: Message | None
    results: Sequence[ToolResultPart]
    """One for every call of the answer, in their order."""
    said: Sequence[Message]
    """What users said, results of unknown calls included, as text."""
    wire_ids: Mapping[str, str]
    """The id by which each call of the answer goes over the wire."""


_BEGINNING = Exchange(
    None, (), (Message(0, "user", [TextPart("[The beginning of the conversation is left out.]")]),), {}
)
"""Before an answer that nobody asked for: providers insist that a user has the first word, too."""


class _Settled(Struct):
    """The beginning of a conversation that will not change any more: everything before the last answer."""

    messages: list[Message] = []
    encoded: bytes = b""
    wire_ids: set[str] = set()

    def begins(self, messages: Sequence[Message]) -> bool:
        """Messages never change once said, so being the same object is enough, and cheap to see."""
        return len(self.messages) <= len(messages) and all(map(is_, self.messages, messages))


class TranscriptEncoder:
    """Encodes the messages of a request, keeping what earlier requests of the same session already encoded."""

    def __init__(
        self, encode: Callable[[Exchange, str], Sequence[Any]], *, id_limit: int, tongue: Callable[[str], Tongue]
    ) -> None:
        """`encode` turns one exchange into the format's messages for a model; `id_limit` is how long a call's id
        may be; `tongue` is what a model speaks."""
        self._encode = encode
        self._tongue = tongue
        self._id_limit = id_limit
        self._sessions: OrderedDict[tuple[str, str], _Settled] = OrderedDict()
        self._bytes = 0
        _encoders.add(self)

    def encode(self, request: ModelRequest) -> bytes:
        """The messages as JSON, separated by commas, without the brackets around them."""
        settled = self._remembered(request)
        size = len(settled.encoded)
        *closed, last = exchanges(request.messages[len(settled.messages) :]) or ((),)
        if closed:
            fragments = [settled.encoded, *(self._settle(settled, group, request.model) for group in closed)]
            settled.encoded = b",".join(filter(None, fragments))
            if request.session:
                self._make_room(len(settled.encoded) - size)
        fragment, _ = self._fragment(settled, last, request.model)
        return b",".join(filter(None, (settled.encoded, fragment)))

    def _settle(self, settled: _Settled, group: Sequence[Message], model: str) -> bytes:
        fragment, wire_ids = self._fragment(settled, group, model)
        settled.wire_ids.update(wire_ids)
        settled.messages.extend(group)
        return fragment

    def _fragment(self, settled: _Settled, group: Sequence[Message], model: str) -> tuple[bytes, Iterable[str]]:
        if not group:
            return b"", ()
        exchange = translated(arrange(group, settled.wire_ids, self._id_limit), self._tongue(model))
        encoded = list(self._encode(exchange, model))
        if exchange.answer and not settled.messages:
            encoded = [*self._encode(_BEGINNING, model), *encoded]
        return b",".join(map(encode_json, encoded)), exchange.wire_ids.values()

    def _remembered(self, request: ModelRequest) -> _Settled:
        session = (request.session, request.model)
        settled = self._sessions.get(session)
        if settled is None or not settled.begins(request.messages):
            self._drop(session)
            settled = _Settled()
        if request.session:
            self._sessions[session] = settled
            self._sessions.move_to_end(session)
        return settled

    def _make_room(self, more: int) -> None:
        """The one that is being encoded is the newest, and stays."""
        self._bytes += more
        while self._bytes > REMEMBERED_BYTES and len(self._sessions) > 1:
            self._drop(next(iter(self._sessions)))

    def _drop(self, session: tuple[str, str]) -> None:
        if forgotten := self._sessions.pop(session, None):
            self._bytes -= len(forgotten.encoded)

    def forget(self, session: str) -> None:
        for known in [known for known in self._sessions if known[0] == session]:
            self._drop(known)


_encoders: WeakSet[TranscriptEncoder] = WeakSet()


def forget_session(session: str) -> None:
    """It was put away or deleted: nothing of it needs to be kept for its next request."""
    for encoder in _encoders:
        encoder.forget(session)


def exchanges(messages: Sequence[Message]) -> Sequence[Sequence[Message]]:
    """The messages, cut before every answer."""
    groups: list[list[Message]] = []
    for message in messages:
        if message.role == "assistant" or not groups:
            groups.append([])
        groups[-1].append(message)
    return groups


def arrange(messages: Sequence[Message], taken: Set[str], id_limit: int) -> Exchange:
    answer = messages[0] if messages[0].role == "assistant" else None
    found: dict[str, ToolResultPart] = {}
    said: list[Message] = []
    calls = answer.tool_calls if answer else []
    wire_ids = {call.id: _wire_id(call.id, messages[0].number, taken, id_limit) for call in calls}
    for message in messages[1:] if answer else messages:
        if message.role == "user":
            said.append(message)
            continue
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                if part.call_id in wire_ids and part.call_id not in found:
                    found[part.call_id] = part
                else:
                    said.append(_orphan(message, part))
    if answer and not calls and not said:
        said.append(_CONTINUE)
    results = [found.get(call.id) or ToolResultPart(call.id, call.name, NO_RESULT, is_error=True) for call in calls]
    return Exchange(answer, results, said, wire_ids)


def translated(exchange: Exchange, tongue: Tongue) -> Exchange:
    """With calls and results as the model knows them."""
    if exchange.answer is None or not exchange.results:
        return exchange
    answer = tongue.message(exchange.answer)
    calls = zip(exchange.answer.tool_calls, answer.tool_calls, exchange.results, strict=True)
    results = [tongue.result(call, said, result) for call, said, result in calls]
    return msgspec.structs.replace(exchange, answer=answer, results=results)


def _wire_id(call_id: str, message_number: int, taken: Set[str], limit: int) -> str:
    """An id that the provider accepts; always the same one for the same call.

    Some servers count their calls from zero in every answer, others refuse a conversation where ids come twice.
    """
    if call_id not in taken and len(call_id) <= limit and re.fullmatch(r"[A-Za-z0-9_-]+", call_id):
        return call_id
    return "call_" + hashlib.sha256(f"{message_number} {call_id}".encode()).hexdigest()[:24]


def _orphan(message: Message, part: ToolResultPart) -> Message:
    """A result whose call the model is no longer shown: providers refuse it as a result, so it is told as text."""
    return Message(message.number, "user", [TextPart(f"[Result of {part.name}]\n{part.text}"), *part.images])


def foreign_thinking(part: ThinkingPart) -> str:
    """Thinking that came from elsewhere, as text: no other provider accepts it as its own."""
    return f"<thinking>\n{part.text}\n</thinking>\n\n" if part.text else ""


def call_arguments(call: ToolCallPart) -> dict[str, Any]:
    """What the model meant to pass; what was no JSON object is shown to it again as it was."""
    return call.arguments if call.invalid_arguments is None else {"invalid_json": call.invalid_arguments}


def result_text(result: ToolResultPart) -> str:
    return result.text if result.text.strip() else NO_OUTPUT


def spoken(message: Message) -> Sequence[TextPart | ImagePart]:
    """The parts of a user's message that say something: providers refuse blank text."""
    parts: list[TextPart | ImagePart] = []
    for part in message.parts:
        if isinstance(part, ImagePart):
            parts.append(part)
        elif isinstance(part, TextPart | NotePart) and part.text.strip():
            parts.append(part if isinstance(part, TextPart) else TextPart(part.text))
    return parts or [_EMPTY]


def data_url(image: ImagePart) -> str:
    return f"data:{image.media_type};base64,{image.data}"


def parse_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """The arguments, and what the model wrote when that is not a JSON object."""
    if not text.strip():
        return {}, None
    for written in (text.encode("utf-8", "replace"), mend_text(text.encode("utf-8", "replace"))):
        try:
            return msgspec.json.decode(written, type=dict[str, Any]), None
        except (msgspec.DecodeError, RecursionError):
            continue
    return {}, text
