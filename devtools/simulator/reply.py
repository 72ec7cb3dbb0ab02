"""A reply: the chosen step with its templates filled, cut into chunks and counted, for any format to render."""

from typing import Any, cast

import msgspec

from devtools.simulator import marks
from devtools.simulator.inquiry import Chosen, Inquiry, estimate_tokens
from devtools.simulator.script import Script, Step, ToolCall


class Usage(msgspec.Struct):
    input: int
    output: int
    cached: int
    cache_write: int
    reasoning: int


class Call(msgspec.Struct):
    name: str
    arguments: str
    """JSON, unless the script wants it malformed."""
    chunks: list[str]
    id: str | None
    """None: the format makes one from `tail`."""
    tail: str

    def arguments_object(self) -> dict[str, Any]:
        """For formats that carry arguments as an object, where malformed JSON cannot exist."""
        try:
            return msgspec.json.decode(self.arguments, type=dict[str, Any])
        except msgspec.DecodeError:
            return {}

    @property
    def text(self) -> str:
        """For tools that take plain text: the only argument, or what the script gives as it is."""
        values = list(self.arguments_object().values())
        return values[0] if len(values) == 1 and isinstance(values[0], str) else self.arguments


class Reply(msgspec.Struct):
    serial: int
    position: int
    model: str
    thinking: list[str]
    """Chunks; so is `text`."""
    signature: str
    redacted_thinking: str | None
    text: list[str]
    calls: list[Call]
    usage: Usage
    stop: str

    @property
    def thought(self) -> bool:
        return bool(self.thinking) or self.redacted_thinking is not None

    def identifier(self, prefix: str) -> str:
        return f"{prefix}{self.serial:08x}s{self.position}"


def compose(script: Script, chosen: Chosen, inquiry: Inquiry, serial: int) -> Reply:
    step, position = chosen.step, chosen.position
    size = script.chunk_chars if step.chunk_chars is None else step.chunk_chars
    fill = _Template(inquiry, position)
    thinking = fill(step.thinking)
    thought = bool(thinking) or step.redacted_thinking is not None
    text = [fill(chunk) for chunk in step.chunks] if step.chunks is not None else cut(fill(step.text), size)
    calls = [
        _call(call, fill, size, marks.id_tail(serial, position, index, thought=thought))
        for index, call in enumerate(step.tool_calls)
    ]
    return Reply(
        serial=serial,
        position=position,
        model=inquiry.model,
        thinking=cut(thinking, size),
        signature=step.signature or marks.sign(position, thinking),
        redacted_thinking=step.redacted_thinking,
        text=text,
        calls=calls,
        usage=_count(step, inquiry, thinking, text, calls),
        stop=step.stop or ("tool_use" if calls else "end"),
    )


def cut(text: str, size: int) -> list[str]:
    if not text:
        return []
    return [text[start : start + size] for start in range(0, len(text), size)] if size > 0 else [text]


def _call(call: ToolCall, fill: "_Template", size: int, tail: str) -> Call:
    if isinstance(call.arguments, str):
        arguments = fill(call.arguments)
    else:
        arguments = msgspec.json.encode(fill.inside(call.arguments)).decode()
    return Call(name=call.name, arguments=arguments, chunks=cut(arguments, size), id=call.id, tail=tail)


def _count(step: Step, inquiry: Inquiry, thinking: str, text: list[str], calls: list[Call]) -> Usage:
    given = step.usage
    reasoning = given.reasoning
    if reasoning is None:
        reasoning = estimate_tokens(len(thinking)) if thinking else 0
        if given.output is not None:
            reasoning = min(reasoning, given.output)
    spoken = sum(map(len, text)) + sum(len(call.name) + len(call.arguments) for call in calls)
    return Usage(
        input=inquiry.prompt_tokens + given.cached + given.cache_write if given.input is None else given.input,
        output=estimate_tokens(spoken) + reasoning if given.output is None else given.output,
        cached=given.cached,
        cache_write=given.cache_write,
        reasoning=reasoning,
    )


class _Template:
    def __init__(self, inquiry: Inquiry, position: int) -> None:
        self._values = {
            "{last_result}": inquiry.last_result,
            "{last_user}": inquiry.last_user,
            "{first_user}": inquiry.first_user,
            "{model}": inquiry.model,
            "{step}": str(position),
        }

    def __call__(self, text: str) -> str:
        if "{" not in text:
            return text
        for name, value in self._values.items():
            text = text.replace(name, value)
        return text

    def inside(self, value: Any) -> Any:
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self.inside(item) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {key: self.inside(item) for key, item in cast("dict[str, Any]", value).items()}
        return value
