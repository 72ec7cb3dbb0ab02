"""The conversation: messages in order, drawn as they come, older ones on scrolling up."""

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.message import Message as UiMessage
from textual.widget import Widget

from openagent.client.text import clean, ended_line, told
from openagent.protocol.events import ToolFinished, ToolStarted
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
from openagent.protocol.sessions import EndedTurn, LiveAnswer
from openagent.protocol.words import may_continue
from openagent.tui.foldable import Foldable
from openagent.tui.said import LONG, LongSaid, Note, Said
from openagent.tui.thought import Thought
from openagent.tui.tool_call import ToolCall

if TYPE_CHECKING:
    from openagent.tui.answer import Answer

KEPT = 240
"""Widgets kept: what lies further up or down is loaded again when somebody goes there."""
CUT_SHORT = {
    "cancelled": "Cancelled.",
    "interrupted": "Interrupted.",
    "error": "Ended by an error.",
    "max_tokens": "Cut off at the longest answer allowed.",
    "refusal": "Refused.",
}
Ranges = Iterable[tuple[int, int]]


def make_answer(text: str = "") -> "Answer":
    """Markdown loads with the first answer: the first picture does not wait for it."""
    from openagent.tui.answer import Answer

    return Answer(text)


class Chat(VerticalScroll):
    BLANK = True
    DEFAULT_CSS = """
    Chat {
        height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; scrollbar-color: $panel; background: $background;
        scrollbar-gutter: stable;
    }
    """

    class Older(UiMessage):
        """The top was reached, and there is more above it."""

    class First(UiMessage):
        """The conversation's beginning is wanted, and it is not among what is shown."""

    class Newer(UiMessage):
        """The end of what is shown was reached, and there is more below it."""

        def __init__(self, left_off: int) -> None:
            super().__init__()
            self.left_off = left_off
            """Where to go on reading; 0: at the end."""

    class News(UiMessage):
        """Something came while the person reads further up; 0: they are at the end again."""

        def __init__(self, count: int, *, goes_on: bool = False) -> None:
            super().__init__()
            self.count = count
            self.goes_on = goes_on
            """An answer is being written below, or what was said later is not loaded."""

    def __init__(self) -> None:
        super().__init__(can_focus=False)
        self.oldest = 0
        """The number of the oldest message shown; 0: none yet."""
        self._turns: dict[int, int] = {}
        """The turns of the messages shown, by number."""
        self.has_more = False
        self.has_newer = False
        """The end of the conversation was put away while somebody read further up: what comes is not shown."""
        self._calls: dict[str, ToolCall] = {}
        self._numbers: dict[Widget, int] = {}
        self._results: dict[int, list[ToolCall]] = {}
        """The calls whose results came with a message, by its number."""
        self._words: Sequence[str] = ()
        """What somebody looks for."""
        self._standing_at = 0
        self._live_number = 0
        self._live_thought: Thought | None = None
        self._live_answer: Answer | None = None
        self._rewound: list[tuple[int, int]] = []
        self._placing = False
        self._awake = True
        self._unsaid: dict[int, tuple[str, str]] = {}
        """What was thought and said in messages while nobody could see it."""
        self._unseen = 0
        self._goes_on = False
        self._following = True
        self.retry = "f5"
        """The key that continues a turn that was cut short, as people write it."""
        self._end: tuple[EndedTurn, Note] | None = None
        """The newest turn's, and the line that tells of it."""

    def on_mount(self) -> None:
        self.anchor()

    @property
    def at_end(self) -> bool:
        return self.max_scroll_y - self.scroll_y < 2

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value:
            self._following = self.at_end
        elif self.at_end:
            self._following = True
        if self._following and not self.has_newer and (self._unseen or self._goes_on):
            self._unseen, self._goes_on = 0, False
            self.post_message(self.News(0))
        if new_value < 2 and new_value < old_value and self.has_more:
            self.post_message(self.Older())
        elif self.has_newer and self.at_end and new_value > old_value and not self._placing:
            self.post_message(self.Newer(self.newest + 1))

    def go(self, where: str) -> None:
        """A page, a line (`line_up`), home or end; upwards ends the following, the end takes it up again."""
        if where == "end":
            if self.has_newer:
                self.post_message(self.Newer(0))
            else:
                self.anchor()
            return
        self.release_anchor()
        if where == "home" and self.has_more:
            self.post_message(self.First())
        elif where == "home":
            self.scroll_home(animate=False)
        elif where == "page_up":
            self.scroll_page_up(animate=False)
        elif where == "page_down":
            self.scroll_page_down(animate=False)
        else:
            self.scroll_relative(y=-1 if where == "line_up" else 1, animate=False)

    async def begin(
        self,
        messages: Sequence[Message],
        *,
        has_more: bool,
        has_newer: bool = False,
        rewound: Ranges = (),
        ends: Sequence[EndedTurn] = (),
    ) -> None:
        """Start afresh with these messages: the newest, unless it `has_newer` ones."""
        await self.remove_children()
        self._unsaid.clear()
        self._rewound = list(rewound)
        self._calls.clear()
        self._numbers.clear()
        self._results.clear()
        self._turns.clear()
        self._live_number, self._live_thought, self._live_answer = 0, None, None
        self.has_more, self.has_newer = has_more, has_newer
        self.oldest = messages[0].number if messages else 0
        self._end = None
        await self.mount_all(self._page(messages, ends, whole=not has_newer, newest=not has_newer))
        self._grey_out()
        self._unseen, self._goes_on = 0, has_newer
        self.post_message(self.News(0, goes_on=has_newer))
        if has_newer:
            self._following = False
            self._stop_following()
        else:
            self.anchor()

    def _stop_following(self) -> None:
        """For good: an anchor that is only released takes hold again at the end of whatever is loaded, which is not
        the end of the conversation, and what comes below it would carry the reader along."""
        self.release_anchor()
        self.anchor(False)

    async def prepend(self, messages: Sequence[Message], *, has_more: bool, ends: Sequence[EndedTurn] = ()) -> None:
        self.has_more = has_more
        if not messages:
            return
        below, self.oldest = self.oldest, messages[0].number
        widgets = self._page(messages, ends, whole=self._turns.get(below) != messages[-1].turn)
        first = self.children[0] if self.children else None
        await self.mount_all(widgets, before=first)
        self._grey_out()
        if len(self.children) > KEPT:
            await self._put_away(self.children[KEPT:])
            self.has_newer = True
            self._stop_following()
            self._live_number, self._live_thought, self._live_answer = 0, None, None
        if first is not None:
            self.call_after_refresh(self._place, first)

    async def extend(self, messages: Sequence[Message], ends: Sequence[EndedTurn]) -> None:
        """Later ones, below: there are still others behind them. What is read stays where it is."""
        await self.mount_all(self._page(messages, ends, whole=False))
        self._grey_out()
        if len(self.children) > KEPT:
            self.has_more = True
            self.call_after_refresh(self._make_room)

    async def _make_room(self, tries: int = 5) -> None:
        """Put away what is far above, drawn together with the step up that keeps in place what is read: who turns pages
        fast would else go on from somewhere else."""
        gone = len(self.children) - KEPT
        if gone <= 0:
            return
        first = self.children[gone]
        if first.virtual_region:
            with self.app.batch_update():  # pyright: ignore[reportUnknownMemberType]
                height = first.virtual_region.y - first.styles.margin.top
                await self._put_away(self.children[:gone])
                self._step_up(height)
        elif tries:  # where things are is not known while they are laid out
            self.call_after_refresh(self._make_room, tries - 1)

    def _step_up(self, lines: int) -> None:
        self._placing = True
        self.scroll_to(y=self.scroll_y - lines, animate=False, immediate=True)
        self._placing = False

    def _place(self, widget: Widget) -> None:
        """What was read before stays where it was: no step towards the end."""
        self._placing = True
        self.scroll_to_widget(widget, animate=False, top=True, immediate=True)
        self._placing = False

    @property
    def newest(self) -> int:
        """The number of the newest message shown."""
        return max(self._numbers.values(), default=0)

    def bring_into_sight(self, widget: Widget) -> None:
        if not self.region.contains_region(widget.region):
            self.release_anchor()
            self._following = False
            self.scroll_to_widget(widget, animate=False, top=True)

    def go_to_message(self, number: int) -> None:
        """Where somebody left off."""
        later = next((widget for widget in self.children if self._numbers.get(widget, 0) >= number), None)
        if later is not None:
            self._following = False
            self.release_anchor()
            self.call_after_refresh(self._place, later)

    def go_on_below(self, number: int) -> None:
        """What was said before a message at the lower edge, so that reading goes on there."""
        before = [widget for widget in self.children if 0 < self._numbers.get(widget, 0) < number]
        if before:
            self._following = False
            self.release_anchor()
            self.call_after_refresh(self._place_low, before[-1])
        else:
            self.go_to_message(number)

    def _place_low(self, widget: Widget) -> None:
        self._placing = True
        self.scroll_to(y=widget.virtual_region.bottom - self.size.height, animate=False, immediate=True)
        self._placing = False

    def shows(self, number: int) -> bool:
        """Whether a message is among what is loaded."""
        return 0 < self.oldest <= number <= self.newest

    def light(self, words: Sequence[str], number: int = 0) -> None:
        """What somebody looks for, and the message they stand at."""
        self._words, self._standing_at = words, number
        here = self._of_message(number)
        for widget in self.children:
            if isinstance(widget, ToolCall):
                widget.set_class(widget in here, "found")
            elif (light := getattr(widget, "light", None)) is not None:
                light(words, now=widget in here)

    def go_to_lit(self, number: int) -> None:
        """The line of a message in which what is looked for stands."""
        here = [widget for widget in self._of_message(number) if widget.parent is self]
        if not here:
            self.go_to_message(number)
            return
        self._following = False
        self.release_anchor()
        self.call_after_refresh(self._place_lit, here)

    def _place_lit(self, here: Sequence[Widget]) -> None:
        lines = [(widget, getattr(widget, "first_lit", lambda: 0)()) for widget in here]
        widget, line = next((each for each in lines if each[1]), lines[0])
        self._placing = True
        above = self.size.height // 3
        self.scroll_to(y=widget.virtual_region.y + line - above, animate=False, immediate=True)
        self._placing = False

    def _of_message(self, number: int) -> list[Widget]:
        """A result is shown in the call that it is one of."""
        said = [widget for widget, of in self._numbers.items() if of == number]
        return said or [widget for widget in self._results.get(number, ()) if widget.is_mounted]

    def rewind(self, ranges: Ranges, returned: Ranges = ()) -> None:
        """These messages are no longer part of the conversation; those are again."""
        self._rewound = [each for known in self._rewound for each in _without(known, returned)] + list(ranges)
        self._grey_out()

    def _grey_out(self) -> None:
        if self._words:
            self.light(self._words, self._standing_at)
        for widget, number in self._numbers.items():
            widget.set_class(any(low <= number <= high for low, high in self._rewound), "rewound")

    async def add(self, message: Message) -> None:
        if self.has_newer:
            self._count_news(1)
            return
        self._unsaid.pop(message.number, None)
        if message.role == "assistant" and message.number == self._live_number:
            self._turns[message.number] = message.turn
            await self.catch_up(LiveAnswer(message.number, message.parts))
            await self._end_live()
            new = [self._call(part) for part in message.tool_calls if part.id not in self._calls]
            await self._append(new, message.number)
        else:
            await self._append(self._widgets(message))
        if not self.oldest:
            self.oldest = message.number

    def sleep(self) -> None:
        """Nobody looks: what streams is kept and not drawn."""
        self._awake = False

    async def wake(self) -> None:
        self._awake = True
        unsaid, self._unsaid = self._unsaid, {}
        for number, (thought, said) in unsaid.items():
            if thought:
                await self.think(number, thought)
            if said:
                await self.say(number, said)

    def _keep(self, number: int, thought: str, said: str) -> None:
        before = self._unsaid.get(number, ("", ""))
        self._unsaid[number] = (before[0] + thought, before[1] + said)

    async def think(self, number: int, text: str) -> None:
        if self.has_newer:
            return
        if not self._awake:
            self._keep(number, text, "")
            return
        await self._answering(number)
        if self._live_thought is None:
            self._live_thought = Thought(thinking=True)
            await self._append([self._live_thought], self._live_number)
        self._live_thought.feed(text)

    async def say(self, number: int, text: str) -> None:
        if self.has_newer:
            return
        if not self._awake:
            self._keep(number, "", text)
            return
        await self._answering(number)
        (await self._answer()).feed(text)
        if not self._following and not self._goes_on:
            self._goes_on = True
            self.post_message(self.News(self._unseen, goes_on=True))

    async def catch_up(self, live: LiveAnswer) -> None:
        """The whole answer so far."""
        if self.has_newer:
            return
        self._unsaid.pop(live.message_number, None)
        await self._answering(live.message_number)
        thinking = "".join(part.text for part in live.parts if isinstance(part, ThinkingPart))
        text = "".join(part.text for part in live.parts if isinstance(part, TextPart))
        if thinking:
            if self._live_thought is None:
                self._live_thought = Thought(thinking=True)
                await self._append([self._live_thought], self._live_number)
            self._live_thought.become(thinking, thinking=not text)
        if text:
            (await self._answer()).catch_up(text)

    async def tool_started(self, event: ToolStarted) -> None:
        call = self._calls.get(event.call_id)
        if call is None:
            call = self._calls[event.call_id] = ToolCall(event.tool, event.arguments, event.summary)
            await self._append([call])
        call.start(event.summary)

    def tool_asked(self, call_id: str, diff: str) -> None:
        if call := self._calls.get(call_id):
            call.asked(diff)

    async def open(self, call_id: str) -> None:
        """What a person ran themselves is there to be read."""
        call = self._calls.get(call_id)
        if call is not None and not call.opened:
            await call.action_fold()

    def tool_output(self, call_id: str, text: str) -> None:
        if call := self._calls.get(call_id):
            call.add_output(text)

    def tool_finished(self, event: ToolFinished) -> None:
        if call := self._calls.get(event.call_id):
            call.finish(event)

    async def show_result(self, part: ToolResultPart) -> None:
        if widget := self._result(part):
            await self._append([widget])

    async def welcome(self, widget: Widget) -> None:
        """Shown until something is said."""
        await self._append([widget])

    async def note(self, text: str, kind: str = "", *, living: bool = False) -> None:
        """`living`: it tells how things are now. The next of its kind takes its place, and so does what comes of it."""
        note = Note(text, kind)
        note.set_class(living, "living")
        await self._append([note])

    async def wait(self, text: str) -> None:
        await self._append([Said(text, waiting=True)])

    async def forget_waiting(self) -> None:
        await self.query(".waiting").remove()

    async def end_turn(self, end: EndedTurn) -> None:
        await self._end_live()
        if note := self._newest_end(end):
            await self._append([note], self.newest)

    async def begin_turn(self, turn: int) -> None:
        """A turn that continues has not ended; one that another follows can no longer continue."""
        newest, self._end = self._end, None
        if newest is not None and newest[1].is_attached:
            end, note = newest
            await note.remove() if end.turn == turn else note.update(_end_text(end))

    def _newest_end(self, end: EndedTurn) -> Note | None:
        """With the key that continues it."""
        note = _end_note(end)
        if note is not None and may_continue(end.reason):
            note.update(f"{_end_text(end)} {self.retry} retries.")
            self._end = end, note
        return note

    def newest_call(self) -> ToolCall | None:
        return next((child for child in reversed(self.children) if isinstance(child, ToolCall)), None)

    def beside(self, here: Foldable | None, step: int) -> Foldable | None:
        """What can be opened next to this one; without one, the newest."""
        foldable = [child for child in self.children if isinstance(child, Foldable)]
        if here not in foldable:
            return foldable[-1] if foldable else None
        at = foldable.index(here) + step
        return foldable[at] if 0 <= at < len(foldable) else (here if at < 0 else None)

    def newest_from(self, sources: Iterable[str]) -> str:
        """What was said last by these sources (model, user, tool): the newest answer, or their share of the turn."""
        said = [(source, text) for source, text in map(_source, self.children) if text.strip()]
        if set(sources) == {"model"}:
            return next((text for source, text in reversed(said) if source == "model"), "")
        begin = next((place for place in range(len(said) - 1, -1, -1) if said[place][0] == "user"), 0)
        return "\n\n".join(text for source, text in said[begin:] if source in sources)

    def _page(
        self, messages: Sequence[Message], ends: Sequence[EndedTurn], *, whole: bool, newest: bool = False
    ) -> list[Widget]:
        """A turn's end stands below its last message. `whole`: the page's last turn has no more messages below.
        `newest`: it is the session's."""
        known = {end.turn: end for end in ends}
        widgets: list[Widget] = []
        for place, message in enumerate(messages, 1):
            following = messages[place] if place < len(messages) else None
            widgets += self._widgets(message)
            is_last = following.turn != message.turn if following else whole
            end = known.get(message.turn) if is_last else None
            if end is None and (cut := CUT_SHORT.get(message.stop_reason or "")) and message.turn not in known:
                widgets.append(Note(cut, "warning"))
            elif end is not None and (note := self._newest_end(end) if newest and not following else _end_note(end)):
                self._numbers[note] = message.number
                widgets.append(note)
        return widgets

    def _widgets(self, message: Message) -> list[Widget]:
        widgets: list[Widget] = []
        self._turns[message.number] = message.turn
        for part in message.parts:
            widget = self._part(part, from_user=message.role == "user")
            if isinstance(part, ToolResultPart):
                self._results.setdefault(message.number, []).append(self._calls[part.call_id])
            if widget is not None:
                self._numbers[widget] = message.number
                widgets.append(widget)
        return widgets

    def _part(self, part: Part, *, from_user: bool) -> Widget | None:
        match part:
            case TextPart() if from_user:
                return LongSaid(part.text) if part.text.count("\n") >= LONG else Said(part.text)
            case TextPart():
                return make_answer(part.text) if part.text.strip() else None
            case ThinkingPart():
                return Thought(part.text) if part.text else None
            case ToolCallPart():
                return self._call(part)
            case ToolResultPart():
                return self._result(part)
            case ImagePart():
                return Note(f"[image, {clean(part.media_type)}]")
            case NotePart():
                return Note(told(part.source, part.text))

    def _call(self, part: ToolCallPart) -> ToolCall:
        call = self._calls[part.id] = ToolCall(part.name, part.arguments)
        return call

    def _result(self, part: ToolResultPart) -> Widget | None:
        if call := self._calls.get(part.call_id):
            call.take_result(part)
            return None
        call = self._calls[part.call_id] = ToolCall(part.name, {})
        call.take_result(part)
        return call

    async def _answering(self, number: int) -> None:
        if number != self._live_number:
            await self._end_live()
            self._live_number = number

    async def _answer(self) -> "Answer":
        if self._live_answer is None:
            self._live_answer = make_answer()
            await self._append([self._live_answer], self._live_number)
        return self._live_answer

    async def _end_live(self) -> None:
        answer, thought = self._live_answer, self._live_thought
        self._live_number, self._live_answer, self._live_thought = 0, None, None
        if answer is not None:
            answer.finish()
        if thought is not None:
            thought.settle()

    async def _append(self, widgets: Sequence[Widget], number: int = 0) -> None:
        if not widgets or self.has_newer:
            return
        if passed := [child for child in self.children[-1:] if child.has_class("living")]:
            await self.remove_children(passed)
        if number:
            self._numbers.update(dict.fromkeys(widgets, number))
        if any(isinstance(widget, Said | LongSaid) and not widget.has_class("waiting") for widget in widgets):
            await self._take_away_what_waited()
        await self.mount_all(widgets)
        if not self._following:
            self._count_news(len(widgets))
        elif len(self.children) > KEPT:
            await self._put_away(self.children[: len(self.children) - KEPT * 3 // 4])
            self.has_more = True

    async def _take_away_what_waited(self) -> None:
        """A message that is said is no longer the next one, and needs no word on how to begin."""
        for kind in (".waiting", ".welcome"):
            if found := self.query(kind):
                await found.first().remove()

    def _count_news(self, count: int) -> None:
        self._unseen += count
        self.post_message(self.News(self._unseen, goes_on=self._goes_on))

    async def _put_away(self, widgets: Sequence[Widget]) -> None:
        """Memory stays flat; what goes can be loaded again."""
        for widget in widgets:
            self._numbers.pop(widget, None)
        gone = set(widgets)
        self._calls = {id_: call for id_, call in self._calls.items() if call not in gone}
        await self.remove_children(widgets)
        self._results = {number: kept for number, calls in self._results.items() if (kept := _left(calls, gone))}
        self.oldest = min(self._numbers.values(), default=self.oldest)
        self._turns = {number: turn for number, turn in self._turns.items() if number >= self.oldest}


def _end_note(end: EndedTurn) -> Note | None:
    """A turn that just ended well needs no word: its answer is there."""
    if end.reason == "done":
        return None
    return Note(_end_text(end), "error" if end.error or end.reason == "error" else "warning")


def _end_text(end: EndedTurn) -> str:
    return clean(ended_line(end))


def _source(widget: Widget) -> tuple[str, str]:
    """Who said what is shown here, and what it was."""
    match widget:
        case Said() | LongSaid():
            return "user", clean(widget.said)
        case ToolCall():
            return "tool", clean(f"$ {widget.title}\n{widget.whole}")
        case _:
            return "model", clean(getattr(widget, "said", ""))


def _left(calls: Sequence[ToolCall], gone: Container[Widget]) -> list[ToolCall]:
    return [call for call in calls if call not in gone]


def _without(known: tuple[int, int], returned: Ranges) -> Ranges:
    """What of a range is left."""
    left = [known]
    for low, high in returned:
        parts = [((first, min(last, low - 1)), (max(first, high + 1), last)) for first, last in left]
        left = [part for both in parts for part in both if part[0] <= part[1]]
    return left
