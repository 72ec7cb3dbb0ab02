"""What was said: messages and their parts."""

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from openagent.protocol.display import NO_DISPLAY, Display
from openagent.protocol.usage import Usage

Role = Literal["user", "assistant", "tool"]
StopReason = Literal["end", "tool_calls", "max_tokens", "refusal", "cancelled", "interrupted", "error"]
CallEnd = Literal["done", "failed", "denied", "stopped", "interrupted", "not_run"]
"""How a tool call ended. stopped: it ran and was cut short with its turn; interrupted: the daemon went away meanwhile,
so nobody knows what it did; not_run: its turn ended before it was begun."""


class TextPart(Struct, frozen=True, tag="text"):
    """Plain words."""

    text: str
    """What was said."""


class ThinkingPart(Struct, frozen=True, tag="thinking", omit_defaults=True):
    """Reasoning a model showed. Its signature is only good for the provider format it came from."""

    text: str
    """What the model thought, as far as it shows that."""
    signature: str | None = None
    """Proof that the provider wrote this text; sent back unchanged."""
    redacted: str | None = None
    """Reasoning the provider gave only in encrypted form; sent back unchanged."""
    id: str | None = None
    """The provider's own id for this reasoning item."""
    origin: str | None = None
    """The wire format it came from: anthropic, openai-responses, openai-chat, gemini."""


class ToolCallPart(Struct, frozen=True, tag="tool_call", omit_defaults=True):
    """A tool that the model calls."""

    id: str
    """What its result is matched by."""
    name: str
    """The tool's name."""
    arguments: dict[str, Any] = {}
    """What the tool is given."""
    invalid_arguments: str | None = None
    """What the model sent in place of a JSON object, when it sent something else."""
    signature: str | None = None
    """A thought signature that came attached to this call."""
    origin: str | None = None
    """The wire format it came from, where that matters."""


class ImagePart(Struct, frozen=True, tag="image"):
    """An image."""

    media_type: str
    """Its media type, such as `image/png`."""
    data: str
    """Base64."""


class ToolResultPart(Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """What came of a tool call."""

    call_id: str
    """The call it answers."""
    name: str
    """The tool's name."""
    text: str
    """What the model reads."""
    is_error: bool = False
    """The call did not do what was asked. Implied by every `ended` but done."""
    ended: CallEnd = "done"
    """How the call ended."""
    reason: str = ""
    """In a few words why it did not end as done: who denied it, what cut it short."""
    images: list[ImagePart] = []
    """Images the model is shown."""
    display: Display = NO_DISPLAY
    """What a person is shown in addition: diff, exit code, paths, counts."""
    duration_ms: float = 0.0
    """How long it took, in milliseconds."""

    def __post_init__(self) -> None:
        if self.is_error and self.ended == "done":  # stored before `ended` was, or told by the flag alone
            force_setattr(self, "ended", "failed")
        elif self.ended != "done" and not self.is_error:
            force_setattr(self, "is_error", True)


class NotePart(Struct, frozen=True, tag="note", omit_defaults=True):
    """What the daemon, and not a person, tells the model: rules of a folder, the words of a command or a hook."""

    source: str
    """What it comes from: `rules:PATH`, `skills`, `command:NAME`, `hook:EVENT`, `summary`, `code`,
    `intent`, `background`."""
    text: str
    """What the model reads."""
    pinned: bool = False
    """No collector takes it away."""


Part = TextPart | ThinkingPart | ToolCallPart | ToolResultPart | ImagePart | NotePart
UserPart = TextPart | ImagePart


class Message(Struct, frozen=True, omit_defaults=True):
    """One message of a session."""

    number: int
    """Position in the session, from 1."""
    role: Role
    """Who said it."""
    parts: list[Part]
    """What was said."""
    turn: int = 0
    """The turn it belongs to."""
    created_at: float = 0.0
    """When it was made, in seconds since 1970."""
    model: str | None = None
    """The model that answered."""
    usage: Usage | None = None
    """Tokens of the request that led to it."""
    cost_usd: float | None = None
    """What that request cost, in dollars; null: not known."""
    latency_ms: float | None = None
    """From the request being sent to its answer being complete."""
    stop_reason: StopReason | None = None
    """Why an answer ended. cancelled, interrupted and error mark an answer that was cut short."""
    rewound: bool = False
    """It was taken back by a rewind: still stored, no longer part of the conversation. Said where messages are
    listed."""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def pinned(self) -> bool:
        return any(isinstance(part, NotePart) and part.pinned for part in self.parts)

    @property
    def tool_calls(self) -> list[ToolCallPart]:
        return [part for part in self.parts if isinstance(part, ToolCallPart)]
