"""The script: what the simulated model says, step by step (README.md describes every key)."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from devtools.simulator.faults import Fault


class ScriptError(ValueError):
    """The script cannot be used; the message says where and why."""


class _Strict(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    pass


class ToolCall(_Strict):
    name: str
    arguments: dict[str, Any] | str = msgspec.field(default_factory=dict[str, Any])
    """A string is sent as it is, so a script can send malformed JSON."""
    id: str | None = None


class UsageOverride(_Strict):
    input: int | None = None
    """Everything the model read, cached and cache writes included."""
    output: int | None = None
    """Everything the model wrote, reasoning included."""
    cached: int = 0
    cache_write: int = 0
    reasoning: int | None = None


class Step(_Strict):
    text: str = ""
    chunks: list[str] | None = None
    thinking: str = ""
    signature: str | None = None
    redacted_thinking: str | None = None
    tool_calls: list[ToolCall] = []
    usage: UsageOverride = msgspec.field(default_factory=UsageOverride)
    stop: str | None = None
    latency_ms: float | None = None
    chunk_ms: float | None = None
    chunk_chars: int | None = None
    split_bytes: int | None = None
    headers: dict[str, str] = {}
    fault: str | Fault | list[str | Fault] | None = None

    @property
    def said(self) -> str:
        return "".join(self.chunks) if self.chunks is not None else self.text

    @property
    def faults(self) -> list[Fault]:
        listed = self.fault if isinstance(self.fault, list) else [self.fault] if self.fault is not None else []
        return [Fault(name=fault) if isinstance(fault, str) else fault for fault in listed]


class Match(_Strict):
    user: str | None = None
    last_user: str | None = None
    said: str | None = None
    """In any message of the user: rules of a folder may come before the first that a person wrote."""
    system: str | None = None
    model: str | None = None


class Conversation(_Strict):
    name: str = ""
    match: str | Match | None = None
    steps: list[Step] = []
    loop: bool = False


class Fact(_Strict):
    asked: str
    """Words of the question."""
    shown: str
    """What must stand somewhere in the request beside the question."""
    answer: str


class Knowledge(_Strict):
    """Answers from what a request shows, in place of steps (see `knowledge`)."""

    facts: list[Fact]
    looks_up: bool = True
    """Call `recall` for what is not shown."""
    keeps: list[str] = []
    """A summary holds the sentences with one of these words."""
    summary_chars: int = 4_000


class Script(_Strict, dict=True):
    steps: list[Step] = []
    """Shorthand: one more conversation, without a match, after the others."""
    loop: bool = False
    conversations: list[Conversation] = []
    knowledge: Knowledge | None = None
    models: list[str] | None = None
    referee: bool = True
    show_thinking: Literal["asked", "always"] = "asked"
    latency_ms: float = 0
    chunk_ms: float = 0
    chunk_chars: int = 32

    @cached_property
    def all_conversations(self) -> list[Conversation]:
        if not self.steps:
            return self.conversations
        return [*self.conversations, Conversation(name="main", steps=self.steps, loop=self.loop)]

    @cached_property
    def signatures(self) -> frozenset[str]:
        """Those the script names itself, which no referee could verify otherwise."""
        steps = [step for conversation in self.all_conversations for step in conversation.steps]
        return frozenset(step.signature for step in steps if step.signature)


ScriptSource = Script | Mapping[str, Any] | Sequence[Any] | str | Path
"""A script, its plain data, a list of steps, or a file's path."""

ECHO = Script(steps=[Step(text="You said: {last_user}")], loop=True)
"""What the simulator says when nobody gave it a script."""


def load_script(source: ScriptSource) -> Script:
    """A script from a file (.json or .toml), from plain data, or from a list of steps."""
    if isinstance(source, Script):
        return source
    try:
        data: Any = _read(Path(source)) if isinstance(source, str | Path) else source
        if isinstance(data, Mapping):
            script = msgspec.convert(cast("Mapping[str, Any]", data), Script)
        else:
            script = msgspec.convert({"steps": list(cast("Sequence[Any]", data))}, Script, from_attributes=True)
        _check(script)
    except msgspec.ValidationError as error:
        raise ScriptError(f"the script is not valid: {error}") from error
    return script


def _read(path: Path) -> Any:
    content = path.read_bytes()
    try:
        if path.suffix == ".toml":
            return tomllib.loads(content.decode())
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScriptError(f"{path} cannot be read: {error}") from error


def _check(script: Script) -> None:
    for conversation in script.all_conversations:
        for number, step in enumerate(conversation.steps):
            where = f"conversation {conversation.name!r}, step {number}"
            for fault in step.faults:
                problem = fault.unusable()
                if problem:
                    raise ScriptError(f"{where}: {problem}")
            usage = step.usage
            if usage.input is not None and usage.input < usage.cached + usage.cache_write:
                raise ScriptError(f"{where}: usage.input counts cached and cache_write too, so it cannot be smaller")
            if usage.output is not None and usage.output < (usage.reasoning or 0):
                raise ScriptError(f"{where}: usage.output counts reasoning too, so it cannot be smaller")
