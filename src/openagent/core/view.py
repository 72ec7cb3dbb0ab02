"""What the model is shown.

Append-only: from step to step a view only grows at its end, so a provider's prompt cache always hits. Only a
collection changes what was already there. A view is a fold over what is stored: the messages, and the log of
collections, rewinds and pins. So taking a collection back shows exactly what was shown before it.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING

import msgspec

from openagent.core.prompt import system_prompt
from openagent.core.runtime import ResolvedModel
from openagent.core.view_log import REWIND, load_shown, standing
from openagent.plugins.collector import ContextItem
from openagent.plugins.context import (
    CHARACTERS_PER_TOKEN,
    call_id,
    message_tokens,
    shortened,
    text_tokens,
    within,
)
from openagent.plugins.provider import ModelRequest, ToolSchema
from openagent.plugins.store import Batch, CollectionRecord
from openagent.protocol.messages import ImagePart, Message, NotePart, Part, TextPart, ToolResultPart
from openagent.protocol.sessions import Settings

if TYPE_CHECKING:
    from openagent.core.session import Session

DEFAULT_WINDOW = 128_000
LOADED_WINDOWS = 2
"""How much of a long session is loaded to be shown, in windows of its model; more could never be shown."""
MAX_RESULT = 64_000
"""Characters of one tool result that a model is shown; the built-in tools stop before."""
MAX_IMAGE = 7_000_000
"""Characters of base64: about five megabytes, beyond which providers refuse an image."""
MAX_IMAGES = 20
"""In one message."""
LEFT_OUT = "[Earlier messages are left out here; nothing is lost. The recall tool searches them and reads them back.]"
SUMMARY_HEADING = "\n[Summary of what was left out]\n"


class View:
    def __init__(
        self,
        system: Mapping[str, str],
        messages: Iterable[Message],
        log: Sequence[CollectionRecord],
        cut_at: int = 0,
        *,
        window: int = DEFAULT_WINDOW,
    ) -> None:
        """`system` is the system prompt by sections, in order. Messages before `cut_at` were too many to load."""
        self._longest_result = longest_result(window)
        self.system_sections = {name: text for name, text in system.items() if text}
        self.system = "\n\n".join(self.system_sections.values())
        self._system_tokens = text_tokens(self.system)
        self.pinned: set[int] = set()
        self.told: dict[str, str] = {}
        """The pinned notes: source to text. A later one from the same source takes an earlier one's place."""
        self.summary = ""
        self.tools: Sequence[ToolSchema] = ()
        self.tools_tokens = 0
        self.cut_at = cut_at
        self._shown: list[Message] = []
        """Results stand in the order of their calls, whichever finished first."""
        self._sizes: dict[int, int] = {}
        self._size = 0
        self._counted: tuple[int, int] | None = None
        """What a provider counted up to the newest answer, and the size that our messages had then."""
        self._lead: Message | None = None
        self._results_start = 0
        self._call_order: dict[str, int] = {}
        for message in messages:
            self.append(message)
        for record in standing(log):
            self.apply(record)
        if cut_at:
            self._lead_with(self.summary)

    def append(self, message: Message) -> None:
        if not message.parts:
            return
        message = bounded(message, self._longest_result)
        self._shown.append(message)
        self._sizes[message.number] = size = message_tokens(message)
        self._size += size
        self.told |= {note.source: note.text for note in _pinned_notes(message)}
        usage = message.usage
        if usage is not None and usage.input_tokens and not usage.estimated:
            self._counted = usage.input_tokens + usage.output_tokens, self._size
        if message.role != "tool":
            self._results_start = len(self._shown)
            self._call_order = {call.id: place for place, call in enumerate(message.tool_calls)}
        elif len(self._shown) - self._results_start > 1:
            last = len(self._call_order)
            results = self._shown[self._results_start :]
            results.sort(key=lambda result: self._call_order.get(call_id(result), last))
            self._shown[self._results_start :] = results

    def apply(self, record: CollectionRecord) -> None:
        """A collection, a rewind, a pin: what the log says happened to the view."""
        self.pinned.difference_update(record.unpinned)
        self.pinned.update(record.pinned)
        if not record.hidden and not record.replaced:
            return
        shown = [
            shortened(message, record.replaced.get(message.number))
            for message in self._shown
            if not within(message.number, record.hidden)
        ]
        changed = len(shown) < len(self._shown) or record.replaced
        self._shown, self._sizes, self._size, self.told = [], {}, 0, {}
        counted = None if changed else self._counted
        for message in shown:
            self.append(message)
        self._counted = counted
        if record.collector != REWIND and record.hidden:
            self._lead_with(record.summary or self.summary)

    def _lead_with(self, summary: str) -> None:
        """One message for as long as the summary stands: encoders know a message again by its being the same."""
        self.summary = summary
        text = LEFT_OUT + (SUMMARY_HEADING + summary if summary else "")
        self._lead = Message(number=0, role="user", parts=[NotePart("summary", text)])

    def estimated_after(self, record: CollectionRecord) -> int:
        """What would be left of it."""
        after = copy(self)
        after.pinned = set(self.pinned)
        after.apply(record)
        return after.estimated()

    def items(self) -> list[ContextItem]:
        return [ContextItem(message, self._sizes[message.number], self._holds(message)) for message in self._shown]

    def _holds(self, message: Message) -> bool:
        if notes := _pinned_notes(message):
            return any(self.told[note.source] == note.text for note in notes)
        return message.number in self.pinned

    @property
    def lead_tokens(self) -> int:
        return message_tokens(self._lead) if self._lead is not None else 0

    @property
    def turns(self) -> int:
        return len({message.turn for message in self._shown})

    @property
    def counted(self) -> bool:
        """A provider has counted what is shown now, or most of it."""
        return self._counted is not None

    def shown_as(self, number: int) -> Message | None:
        return next((message for message in reversed(self._shown) if message.number == number), None)

    def estimated(self) -> int:
        """What we make of it ourselves."""
        return self._system_tokens + self.tools_tokens + self.lead_tokens + self._size

    def tokens(self) -> int:
        """What a provider counted, and our estimate of what came after."""
        if self._counted is None:
            return self.estimated()
        counted, size = self._counted
        return counted + self._size - size

    def offer(self, tools: Sequence[ToolSchema]) -> None:
        if tools != self.tools:
            self.tools = tools
            self.tools_tokens = text_tokens(msgspec.json.encode(tools).decode())

    def conversation(self) -> list[Message]:
        return [self._lead, *self._shown] if self._lead is not None else list(self._shown)

    def request(
        self, session: str, resolved: ResolvedModel, settings: Settings, tools: Sequence[ToolSchema]
    ) -> ModelRequest:
        tools = tools if resolved.tools else ()
        self.offer(tools)
        return ModelRequest(
            model=resolved.model,
            system=self.system,
            messages=self.conversation(),
            tools=tools,
            max_output_tokens=settings.max_output_tokens or resolved.max_output_tokens,
            temperature=resolved.temperature if settings.temperature is None else settings.temperature,
            thinking=settings.thinking or resolved.thinking,
            session=session,
        )


class SessionView:
    """The view of one session: built from the store when it is first needed, and kept in step with what is recorded."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._log: list[CollectionRecord] | None = None
        self.built: View | None = None

    async def build(self, resolved: ResolvedModel) -> View:
        """System prompt, tool schemas, history: read from the store once, then only added to."""
        if self.built is None:
            session, window = self._session, resolved.context_window or DEFAULT_WINDOW
            session.recorder.outbox.check()
            log = await self.log()
            shown = await load_shown(session.runtime.store, session.id, log, LOADED_WINDOWS * window)
            self.built = View(system_prompt(session.info), shown.messages, log, shown.cut_at, window=window)
            self.built.offer(session.tools.schemas(window))
        return self.built

    async def log(self) -> list[CollectionRecord]:
        """What happened to the view so far."""
        if self._log is None:
            self._log = await self._session.runtime.store.collections(self._session.id)
        return self._log

    async def next_in_log(self, record: CollectionRecord, pinned: Sequence[int]) -> CollectionRecord:
        """Notes that are pinned are in the log too, so that they are found without reading a long session whole."""
        log = await self.log()
        number = log[-1].id + 1 if log else 1
        return msgspec.structs.replace(record, id=number, pinned=[*record.pinned, *pinned], at=time.time())

    def take_in(self, batch: Batch) -> None:
        """It was recorded."""
        if self.built is not None:
            for message in batch.messages:
                self.built.append(message)
        if (record := batch.collection) is None:
            return
        assert self._log is not None  # it has its number from there
        self._log.append(record)
        if record.undone:
            self.forget()
        elif self.built is not None:
            self.built.apply(record)

    @property
    def told(self) -> Mapping[str, str]:
        """The pinned notes that the model sees now: source to text."""
        return self.built.told if self.built is not None else {}

    def forget(self) -> None:
        """What the model is shown is built anew with the next step."""
        self.built = None


def _pinned_notes(message: Message) -> list[NotePart]:
    return [part for part in message.parts if isinstance(part, NotePart) and part.pinned]


def longest_result(window: int) -> int:
    """Characters of a call's result that are shown: a quarter of a small window."""
    return min(MAX_RESULT, window * CHARACTERS_PER_TOKEN // 4)


def bounded(message: Message, longest: int = MAX_RESULT) -> Message:
    """The same message where nothing in it is too long to be shown; always cut in the same places."""
    parts = [_bounded_part(part, longest) for part in message.parts]
    if len(parts) > MAX_IMAGES and (spare := _image_places(parts)[MAX_IMAGES:]):
        for place in spare:
            parts[place] = TextPart("[An image is left out: there are too many.]")
    same = all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if same else msgspec.structs.replace(message, parts=parts)


def _bounded_part(part: Part, longest: int) -> Part:
    if isinstance(part, ImagePart) and len(part.data) > MAX_IMAGE:
        return TextPart(f"[An image of {len(part.data) * 3 // 4:,} bytes is left out: it is too large.]")
    if not isinstance(part, ToolResultPart) or (len(part.text) <= longest and not part.images):
        return part
    images = [image for image in part.images if len(image.data) <= MAX_IMAGE][:MAX_IMAGES]
    if len(part.text) <= longest and len(images) == len(part.images):
        return part
    text = part.text
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]}\n[… {len(text) - longest:,} characters are left out here …]\n{text[-half:]}"
    if left_out := len(part.images) - len(images):
        text += f"\n[{left_out} images are left out: too large, or too many.]"
    return msgspec.structs.replace(part, text=text, images=images)


def _image_places(parts: Sequence[Part]) -> list[int]:
    return [place for place, part in enumerate(parts) if isinstance(part, ImagePart)]
