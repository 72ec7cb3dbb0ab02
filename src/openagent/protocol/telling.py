"""How an event is told to people: in lines made from templates, drawn by clients in their own way, or not at all.

Each event says which (`told`, in events.py); scripts/words.py writes it down for `openagent run`, which knows no
events, and for the web, whose telling.ts fills in the same templates. Imports nothing: `openagent run` lives on this.

A template names fields: `{error.message}`, with a form where plain text will not do: `{cost_usd:usd}`. What stands in
brackets is left out when a field in it is empty: `ended[ with exit code {exit_code}].`
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    Tone = Literal["plain", "warning", "error"]


class Line:
    """One line between the messages."""

    __slots__ = ("detail", "hint", "text", "tone", "when")

    def __init__(self, text: str, tone: Tone = "plain", *, hint: str = "", detail: str = "", when: str = "") -> None:
        self.text = text
        self.tone: Tone = tone
        self.hint = hint
        """What to do, or why: said after it, or below it."""
        self.detail = detail
        """More of it, where there is room."""
        self.when = when
        """Which events of this type it tells of: `lost`, `!lost`, `outcome!=done`, several with spaces between them."""


class Drawn:
    """Clients show it in their own way: as part of the conversation, in a bar, in a panel."""

    __slots__ = ("how",)

    def __init__(self, how: str) -> None:
        self.how = how


class Silent:
    """Nobody is told."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


Told = Drawn | Silent | tuple[Line, ...]


class Said:
    """A line with everything filled in."""

    __slots__ = ("detail", "hint", "text", "tone")

    def __init__(self, text: str, tone: Tone, hint: str, detail: str) -> None:
        self.text = text
        self.tone: Tone = tone
        self.hint = hint
        self.detail = detail

    @property
    def whole(self) -> str:
        return f"{self.text} {self.hint}".rstrip()


def said_of(kind: str, event: Any) -> list[Said]:
    """What is told of an event, which is one of events.py or the JSON object that went over the line."""
    from openagent.protocol.known_events import LINES  # which is written in the words of this file

    return said(LINES.get(kind, ()), event)


def said(told: Told, event: Any) -> list[Said]:
    return [
        Said(filled(line.text, event), line.tone, filled(line.hint, event), filled(line.detail, event))
        for line in (told if isinstance(told, tuple) else ())
        if all(_holds(condition, event) for condition in line.when.split())
    ]


def filled(template: str, event: Any) -> str:
    """Brackets do not stand within brackets."""
    whole, rest = "", template
    while rest:
        before, opened, rest = rest.partition("[")
        whole += _fields(before, event)[0]
        if opened:
            inside, _, rest = rest.partition("]")
            text, complete = _fields(inside, event)
            whole += text if complete else ""
    return whole.strip()


def _fields(template: str, event: Any) -> tuple[str, bool]:
    """The text, and whether every field in it had something to say."""
    text, complete, rest = "", True, template
    while rest:
        before, opened, rest = rest.partition("{")
        text += before
        if opened:
            inside, _, rest = rest.partition("}")
            name, _, form = inside.partition(":")
            value = _value(event, name)
            # What is 0 by default does not go over the line, so as an amount it is the same as nothing.
            if form in _AMOUNTS and not value:
                text, complete = text + _FORMS[form](0, event), False
            elif value in (None, "", []):
                complete = False
            else:
                text += _FORMS[form](value, event)
    return text, complete


def _value(event: Any, name: str) -> Any:
    value: Any = event
    for each in name.split("."):
        known: Any = value  # a check for dict would make it a dict of unknown things
        value = known.get(each) if isinstance(value, dict) else getattr(known, each, None)
    return value


def _holds(condition: str, event: Any) -> bool:
    name, differs, wanted = condition.partition("!=")
    if differs:
        return str(_value(event, name)) != wanted
    name, equals, wanted = condition.partition("=")
    if equals:
        return str(_value(event, name)) == wanted
    return not _value(event, name[1:]) if name.startswith("!") else bool(_value(event, name))


def _money(value: float, event: Any) -> str:
    return f"{round(value)} tokens" if _value(event, "unit") == "tokens" else f"${value:.2f}"


_LONGEST = 100


def _one_line(value: str, event: Any) -> str:
    line = " ".join(value[: 8 * _LONGEST].split())
    return line if len(line) <= _LONGEST and len(value) <= 8 * _LONGEST else line[: _LONGEST - 1] + "…"


_AMOUNTS = ("number", "percent", "part", "usd", "money", "seconds")
_FORMS: dict[str, Callable[[Any, Any], str]] = {
    "": lambda value, event: str(value),
    "number": lambda value, event: f"{round(value):,}",
    "percent": lambda value, event: f"{round(value)} %",
    "part": lambda value, event: f"{round(100 * value)} %",
    "usd": lambda value, event: f"${value:.4f}",
    "money": _money,
    "seconds": lambda value, event: f"{round(value, 1):g} s",
    "line": _one_line,
    "list": lambda value, event: ", ".join(map(str, value)),
    "files": lambda value, event: f"{len(value)} {'file' if len(value) == 1 else 'files'}",
    "messages": lambda value, event: f"{len(value)} {'message' if len(value) == 1 else 'messages'}",
    "words": lambda value, event: str(value).replace("_", " "),
}
