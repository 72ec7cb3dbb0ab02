"""From what a reader gives to a session's messages: numbered, in turns, every call with its result, priced."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from openagent.core.view_log import REWIND
from openagent.history.reading import (
    Answer,
    Cancelled,
    Head,
    Item,
    Note,
    Prompt,
    Remark,
    Renamed,
    Request,
    Result,
    Summarized,
    TakenBack,
)
from openagent.plugins.store import CollectionRecord
from openagent.protocol.messages import Message, NotePart, Part, TextPart, ToolCallPart, ToolResultPart
from openagent.protocol.origin import TITLES, ForeignAgent
from openagent.protocol.sessions import EndedTurn, TurnEnd
from openagent.protocol.usage import SessionUsage, Usage

LONGEST_TEXT = 1_000_000
"""Characters of one part that are kept."""
_LONGEST_NAME = 80

Price = Callable[[Request], float | None]


class Progress(Struct, frozen=True):
    """How far a conversation is: from here it can be gone on with."""

    messages: int = 0
    turns: int = 0
    collections: int = 0
    usage: SessionUsage = SessionUsage()
    last_at: float = 0.0


class Conversation:
    """One of them, fed item by item. What is ready to be stored is taken out with `take`."""

    def __init__(self, agent: ForeignAgent, head: Head, price: Price, begun: Progress) -> None:
        self.agent: ForeignAgent = agent
        self.head = head
        self.name = head.name
        self.remarks: list[str] = []
        self.resume: tuple[int, Progress] | None = None
        """The byte at which the newest turn begins, and how far the conversation was before it."""
        self._price = price
        self._now = begun
        self._ready: list[Message] = []
        self._ends: list[EndedTurn] = []
        self._collections: list[CollectionRecord] = []
        self._notes: list[Part] = []
        self._note_at = 0.0
        self._note_position = 0
        self._open: dict[str, ToolCallPart] = {}
        self._standing: list[int] = []
        """The first message of each turn that was not taken back."""
        self._turn: _Turn | None = None

    @property
    def progress(self) -> Progress:
        return self._now

    @property
    def waiting(self) -> int:
        return len(self._ready)

    def feed(self, item: Item) -> None:
        match item:
            case Prompt():
                self._begin(item.parts, item.at, item.position)
            case Note():
                if not self._notes:
                    self._note_position, self._note_at = item.position, item.at
                self._notes.append(NotePart(self.agent, item.text[:LONGEST_TEXT]))
            case Answer():
                self._answer(item)
            case Result():
                self._result(item)
            case Cancelled():
                if self._turn is not None:
                    self._turn.reason = "cancelled"
            case Renamed():
                self.name = item.name
            case TakenBack():
                self._take_back(item.turns)
            case Summarized():
                self._summarize(item.text)
            case Remark():
                self.remarks.append(item.reason)
            case Head():
                raise AssertionError("a conversation has one head")

    def take(self) -> tuple[list[Message], list[EndedTurn], list[CollectionRecord]]:
        """What was not taken before. The end of the turn that still runs comes with `close`."""
        taken = self._ready, self._ends, self._collections
        self._ready, self._ends, self._collections = [], [], []
        return taken

    def close(self) -> None:
        self._end_turn()

    def _begin(self, parts: list[Part], at: float, position: int) -> None:
        self._end_turn()
        said = [*self._notes, *parts]
        if self._notes:
            position = self._note_position
            self._notes = []
        if position:
            self.resume = position, self._now
        turn = self._now.turns + 1
        self._now = replace(self._now, turns=turn)
        self._turn = _Turn(at)
        self._standing.append(self._now.messages + 1)
        self._add("user", said, at)
        if not self.name:
            self.name = _name(parts)

    def _answer(self, item: Answer) -> None:
        self._close_calls()
        if self._notes or self._turn is None:
            self._begin([], item.at or self._note_at, self._note_position)
        turn = self._turn
        assert turn is not None
        calls = [part for part in item.parts if isinstance(part, ToolCallPart)]
        request = item.request
        cost = None if request is None else self._price(request)
        self._add(
            "assistant",
            item.parts,
            item.at,
            model=item.model or None,
            usage=request.usage if request else None,
            cost_usd=cost,
            stop_reason="tool_calls" if calls and item.stop == "end" else item.stop,
        )
        self._open = {part.id: part for part in calls}
        turn.steps += 1
        if request is not None:
            turn.usage, turn.cost_usd = turn.usage + request.usage, turn.cost_usd + (cost or 0.0)
            self._now = replace(self._now, usage=_with(self._now.usage, request.usage, cost))
        if item.stop in ("error", "cancelled", "interrupted"):
            turn.reason = item.stop

    def _result(self, item: Result) -> None:
        if (called := self._open.pop(item.part.call_id, None)) is not None:
            self._add("tool", [replace(item.part, name=called.name)], item.at)

    def _close_calls(self) -> None:
        """No provider takes a history in which a call has no result."""
        for missing in self._open.values():
            text = f"{TITLES[self.agent]} kept no result of this call."
            part = ToolResultPart(missing.id, missing.name, text, ended="interrupted", reason="no result was kept")
            self._add("tool", [part], self._now.last_at)
        self._open = {}

    def _end_turn(self) -> None:
        turn = self._turn
        if turn is None:
            return
        if self._open and turn.reason == "done":
            turn.reason = "interrupted"
        self._close_calls()
        took = max(self._now.last_at - turn.began, 0.0)
        self._ends.append(
            EndedTurn(
                turn=self._now.turns,
                reason=turn.reason,
                ended_at=self._now.last_at,
                duration_ms=took * 1000,
                steps=turn.steps,
                usage=turn.usage,
                cost_usd=turn.cost_usd,
            )
        )
        self._turn = None

    def _take_back(self, turns: int) -> None:
        self._end_turn()
        gone = self._standing[-turns:] if turns else []
        del self._standing[len(self._standing) - len(gone) :]
        if gone and self._now.messages >= gone[0]:
            self._collect(CollectionRecord(hidden=[(gone[0], self._now.messages)], collector=REWIND))

    def _summarize(self, text: str) -> None:
        self._close_calls()
        if self._now.messages:
            hidden = [(1, self._now.messages)]
            self._collect(CollectionRecord(hidden=hidden, summary=text[:LONGEST_TEXT], collector=self.agent))

    def _collect(self, record: CollectionRecord) -> None:
        number = self._now.collections + 1
        self._now = replace(self._now, collections=number)
        self._collections.append(replace(record, id=number, at=self._now.last_at))

    def _add(self, role: str, parts: list[Part], at: float, **more: object) -> None:
        number = self._now.messages + 1
        at = at or self._now.last_at or self.head.at
        message = Message(number, role, [_bounded(part) for part in parts], self._now.turns, at, **more)  # pyright: ignore[reportArgumentType]
        self._ready.append(message)
        self._now = replace(self._now, messages=number, last_at=at)


class _Turn:
    """The one that runs."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.reason: TurnEnd = "done"
        self.steps = 0
        self.usage = Usage()
        self.cost_usd = 0.0


def _with(sum_: SessionUsage, usage: Usage, cost: float | None) -> SessionUsage:
    return SessionUsage(
        tokens=sum_.tokens + usage,
        cost_usd=sum_.cost_usd + (cost or 0.0),
        requests=sum_.requests + 1,
        context_tokens=usage.input_tokens + usage.output_tokens,
        unpriced=sum_.unpriced + (cost is None),
    )


def _bounded(part: Part) -> Part:
    if isinstance(part, TextPart | ToolResultPart) and len(part.text) > LONGEST_TEXT:
        cut = f"{part.text[:LONGEST_TEXT]}\n[{len(part.text) - LONGEST_TEXT:,} more characters were not brought]"
        return replace(part, text=cut)
    return part


def _name(parts: list[Part]) -> str:
    said = next((part.text for part in parts if isinstance(part, TextPart) and part.text.strip()), "")
    line = " ".join(said.split())
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1].rstrip()}…"
