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
    text: str


class ThinkingPart(Struct, frozen=True, tag="thinking", omit_defaults=True):
    """Reasoning a model showed. Its signature is only good for the provider format it came from."""

    text: str
    signature: str | None = None
    """Proof that the provider wrote this text; sent back unchanged."""
    redacted: str | None = None
    """Reasoning the provider gave only in encrypted form; sent back unchanged."""
    id: str | None = None
    """The provider's own id for this reasoning item."""
    origin: str | None = None
    """The wire format it came from: anthropic, openai-responses, openai-chat, gemini."""


class ToolCallPart(Struct, frozen=True, tag="tool_call", omit_defaults=True):
    id: str
    name: str
    arguments: dict[str, Any] = {}
    invalid_arguments: str | None = None
    """What the model sent in place of a JSON object, when it sent something else."""
    signature: str | None = None
    """A thought signature that came attached to this call."""
    origin: str | None = None


class ImagePart(Struct, frozen=True, tag="image"):
    media_type: str
    data: str
    """Base64."""


class ToolResultPart(Struct, frozen=True, tag="tool_result", omit_defaults=True):
    call_id: str
    name: str
    text: str
    """What the model reads."""
    is_error: bool = False
    """The call did not do what was asked. Implied by every `ended` but done."""
    ended: CallEnd = "done"
    reason: str = ""
    """In a few words why it did not end as done: who denied it, what cut it short."""
    images: list[ImagePart] = []
    display: Display = NO_DISPLAY
    """What a person is shown in addition: diff, exit code, paths, counts."""
    duration_ms: float = 0.0

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
    pinned: bool = False
    """No collector takes it away."""


Part = TextPart | ThinkingPart | ToolCallPart | ToolResultPart | ImagePart | NotePart
UserPart = TextPart | ImagePart


class Message(Struct, frozen=True, omit_defaults=True):
    number: int
    """Position in the session, from 1."""
    role: Role
    parts: list[Part]
    turn: int = 0
    created_at: float = 0.0
    model: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    """From the request being sent to its answer being complete."""
    stop_reason: StopReason | None = None
    """Why an answer ended. cancelled, interrupted and error mark an answer that was cut short."""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def pinned(self) -> bool:
        return any(isinstance(part, NotePart) and part.pinned for part in self.parts)

    @property
    def tool_calls(self) -> list[ToolCallPart]:
        return [part for part in self.parts if isinstance(part, ToolCallPart)]
