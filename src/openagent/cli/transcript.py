"""A conversation as text: for a terminal, and as Markdown."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from openagent.cli.drawing import drawn
from openagent.cli.terminal import BOLD, DIM, RED, paint
from openagent.client.text import call_line, clean, ended_line, one_line, told
from openagent.protocol.messages import (
    ImagePart,
    Message,
    NotePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from openagent.protocol.sessions import EndedTurn
from openagent.protocol.words import call_to_come, subject_of

if TYPE_CHECKING:
    from openagent.cli.run import Draw

Ranges = Sequence[tuple[int, int]]
BEGIN_TAKEN_BACK = "taken back by a rewind; the model no longer sees it"
END_TAKEN_BACK = "up to here"
CUT_SHORT = {
    "cancelled": "cancelled",
    "interrupted": "interrupted",
    "error": "ended by an error",
    "max_tokens": "cut off at the longest answer allowed",
    "refusal": "refused",
}


class Transcript:
    """Messages in order, printed as they come. A call's line waits for its result, and a turn's end for its last
    message."""

    def __init__(self, write: Callable[[str], None], draw: "Draw | None" = None) -> None:
        """`draw` makes something of the Markdown in answers."""
        self._write = write
        self._draw = draw
        self._calls: dict[str, ToolCallPart] = {}
        self._ends: dict[int, EndedTurn] = {}
        self._turn = 0
        self._taken_back = False

    def learn(self, ends: Iterable[EndedTurn]) -> None:
        """How the turns ended whose messages are added next."""
        self._ends.update({end.turn: end for end in ends})

    def add(self, message: Message, *, taken_back: bool = False) -> None:
        if message.turn != self._turn:
            self.end_turn()
            self._turn = message.turn
        if taken_back != self._taken_back:
            self._taken_back = taken_back
            self._write(paint(f"\n┄┄ {BEGIN_TAKEN_BACK if taken_back else END_TAKEN_BACK} ┄┄", DIM))
        for part in message.parts:
            self._part(part, from_user=message.role == "user")
        if message.turn not in self._ends and (cut := CUT_SHORT.get(message.stop_reason or "")):
            self._write(paint(f"[{cut}]", RED))

    def end_turn(self) -> None:
        """That of the newest message, if it has ended."""
        if end := self._ends.pop(self._turn, None):
            self.turn_ended(end)

    def turn_ended(self, end: EndedTurn) -> None:
        self._write(paint(ended_line(end), DIM if end.reason == "done" else RED))

    def _part(self, part: Part, *, from_user: bool) -> None:
        match part:
            case TextPart() if from_user:
                self.user(part.text)
            case TextPart():
                if text := clean(part.text).strip("\n"):
                    self._write(f"\n{drawn(text, self._draw)}")
            case ThinkingPart():
                if part.text:
                    self._write(paint(f"… {one_line(part.text)}", DIM))
            case ToolCallPart():
                self._calls[part.id] = part
            case ToolResultPart():
                self.result(part)
            case ImagePart():
                self._write(f"[image, {clean(part.media_type)}]")
            case NotePart():
                self._write(paint(told(part.source, part.text), DIM))

    def user(self, text: str) -> None:
        lines = clean(text).strip("\n").split("\n")
        self._write("\n" + "\n".join(paint(f"› {line}", BOLD) for line in lines))

    def result(self, result: ToolResultPart) -> None:
        call = self._calls.pop(result.call_id, None)
        self._write(paint(_line(result, call), RED if result.is_error else DIM))

    def end(self) -> None:
        if self._taken_back:
            self._write(paint(f"\n┄┄ {END_TAKEN_BACK} ┄┄", DIM))
        for call in self._calls.values():
            self._write(paint(f"… {one_line(call_to_come(call.name, subject_of(call.name, call.arguments)))}", DIM))
        self.end_turn()


def _line(result: ToolResultPart, call: ToolCallPart | None) -> str:
    return call_line(
        result.name,
        subject_of(call.name, call.arguments) if call else "",
        ended=result.ended,
        reason=result.reason,
        summary=result.display.summary,
        duration_ms=result.duration_ms,
    )


def within(number: int, ranges: Ranges) -> bool:
    return any(first <= number <= last for first, last in ranges)


class Markdown:
    """Messages in order, page by page."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCallPart] = {}
        self._ends: dict[int, EndedTurn] = {}
        self._turn = 0

    def page(self, messages: Iterable[Message], ends: Iterable[EndedTurn], rewound: Ranges = ()) -> str:
        self._ends.update({end.turn: end for end in ends})
        written = ""
        for message in messages:
            if message.turn != self._turn:
                written += self.end()
                self._turn = message.turn
            blocks = _blocks(message, self._calls, taken_back=within(message.number, rewound))
            written += "".join(f"{block}\n\n" for block in blocks if block)
        return written

    def end(self) -> str:
        """How the newest turn ended, when it did not just end well."""
        end = self._ends.pop(self._turn, None)
        return f"**{ended_line(end)}**\n\n" if end and end.reason != "done" else ""


def _blocks(message: Message, calls: dict[str, ToolCallPart], *, taken_back: bool) -> Iterable[str]:
    if taken_back and message.role != "tool":
        yield "*Taken back by a rewind:*"
    if message.role == "user" and any(not isinstance(part, NotePart) for part in message.parts):
        yield "## You"
    elif message.role == "assistant":
        yield f"## {clean(message.model or 'Agent')}"
    for part in message.parts:
        match part:
            case TextPart():
                yield clean(part.text).strip("\n")
            case ThinkingPart():
                yield "\n".join(f"> {line}" for line in clean(part.text).strip().splitlines())
            case ToolCallPart():
                calls[part.id] = part
            case ToolResultPart():
                yield f"- {_line(part, calls.pop(part.call_id, None))}"
                yield _fenced(clean(part.text))
            case ImagePart():
                yield f"*[image, {clean(part.media_type)}]*"
            case NotePart():
                yield f"*{told(part.source, part.text)}*"
                yield _fenced(clean(part.text))


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}"
