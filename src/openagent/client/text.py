"""What a model, a tool or a file says, fit to show a person: what never reaches a terminal, and what fits a line.

Imports nothing but words: `openagent run` lives on this too.
"""

from __future__ import annotations

from openagent.protocol import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from openagent.protocol.sessions import EndedTurn

_ESCAPE = "\x1b"
_INTRODUCERS = {"[": "\x9b", "]": "\x9d", "P": "\x90", "X": "\x98", "^": "\x9e", "_": "\x9f"}
"""What follows ESC, and the same in one character."""
_CONTROL_SEQUENCE = "\x9b"
_STRINGS = "\x9d\x90\x98\x9e\x9f"
_STRING_END = "\x9c"
_DIRECTION = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Marks that make text read in another order than it is written."""
_UNPRINTABLE = {code: None for code in (*range(32), *range(127, 160), *_DIRECTION) if code not in (9, 10)}


def clean(text: str) -> str:
    """Text from a model, a tool or a file, fit to print: no escape sequence, no control but tab and newline."""
    if _ESCAPE in text or any(introducer in text for introducer in _INTRODUCERS.values()):
        text = _without_sequences(text)
    return text.translate(_UNPRINTABLE)


def cost(usd: float, unpriced: int = 0) -> str:
    """What something cost, in full. A request whose price is not known is told of, never taken for free."""
    if unpriced and not usd:
        return "$?"
    return f"${usd:.4f}{'+?' if unpriced else ''}"


def unpriced(requests: int) -> str:
    asked = "One request went" if requests == 1 else f"{requests:,} requests went"
    return f"{asked} to models without a known price; [prices] in the config helps."


_PLAN_MARKS = {"pending": "·", "active": "▸", "done": "✓", "dropped": "–"}


def plan_lines(items: Iterable[tuple[str, str]]) -> list[str]:
    """A plan, one item a line: text and state."""
    return [f"  {_PLAN_MARKS.get(state, '·')} {text}" for text, state in items]


_NOTES = {
    "map": "a map of the code",
    "code": "code that fits the question",
    "git": "what changed in the repository",
    "rules": "the rules in {}",
    "skills": "the list of skills",
    "command": "what /{} means",
    "hook": "what the {} hook says",
    "summary": "a summary of what was said before",
    "intent": "a hint about what you want",
}
"""What the daemon tells a model beside what people say, by where it comes from."""


def told(source: str, text: str) -> str:
    """A note to the model, in one line for people; whole where it tells of a loss."""
    if source == "background":
        return clean(f"· {text}")
    kind, _, name = source.partition(":")
    words = _NOTES.get(kind, f"a note from {source}").format(name)
    return clean(f"· the agent was given {words}")


def _without_sequences(text: str) -> str:
    kept: list[str] = []
    place, end = 0, len(text)
    while place < end:
        character = text[place]
        place += 1
        if character == _ESCAPE:
            if place < end and text[place] in _INTRODUCERS:
                character = _INTRODUCERS[text[place]]
                place += 1
            else:
                place = _past(text, place, " /", "0~")
                continue
        if character == _CONTROL_SEQUENCE:
            place = _past(text, place, " ?", "@~")
        elif character in _STRINGS:
            place = _past_string(text, place)
        else:
            kept.append(character)
    return "".join(kept)


def _past(text: str, place: int, middle: str, final: str) -> int:
    """Past characters in the range `middle`, and one in the range `final`."""
    while place < len(text) and middle[0] <= text[place] <= middle[1]:
        place += 1
    return place + 1 if place < len(text) and final[0] <= text[place] <= final[1] else place


def _past_string(text: str, place: int) -> int:
    """Past the end of an operating system command or its like. One that never ends takes its line and no more."""
    for position in range(place, len(text)):
        if text[position] in ("\x07", _STRING_END):
            return position + 1
        if text[position] == _ESCAPE:
            return position + 2
        if text[position] == "\n":
            return position
    return len(text)


def one_line(text: str, width: int = 100) -> str:
    """The beginning of a text on one line."""
    line = " ".join(clean(text[: 8 * width]).split())
    return line if len(line) <= width and len(text) <= 8 * width else line[: width - 1] + "…"


def duration(ms: float) -> str:
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def time_left(seconds: float) -> str:
    """For a countdown: whole seconds."""
    whole = max(0, round(seconds))
    return f"{whole} s" if whole < 60 else duration(whole * 1000)


def ago(at: float, now: float) -> str:
    seconds = max(int(now - at), 0)
    for size, unit in ((86400 * 365, "y"), (86400 * 30, "mo"), (86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"


def call_line(
    tool: str, subject: str, *, ended: str, reason: str = "", summary: str = "", duration_ms: float = 0.0
) -> str:
    """One tool call: `✓ edited core/turn.py +12 −3 · 4 ms`, `✗ denied: edit core/turn.py (the user said no)`."""
    mark, what = words.call_mark(ended, summary), words.call_ended(tool, subject, ended)
    if ended not in ("done", "failed"):
        why = f" ({one_line(reason)})" if reason else ""
        return f"{mark} {one_line(what)}{why}"
    changed = summary if summary.startswith("+") else ""
    facts = [one_line(f"{what} {changed}"), "" if changed else one_line(summary), duration(duration_ms)]
    return f"{mark} {' · '.join(fact for fact in facts if fact)}"


def end_line(reason: str, *, by: str = "", error: tuple[str, str] = ("", ""), figures: str = "") -> str:
    """How a turn ended, and what to do next: `■ Stopped from tui (3 steps). Send a message to go on.` `error` is its
    message and hint."""
    told, following = words.turn_ended(reason, by=by, message=error[0], hint=error[1])
    if figures:
        told = f"{told.rstrip('.')} ({figures})."
    return clean(f"{words.turn_mark(reason)} {told} {following}".rstrip())


def ended_line(end: EndedTurn) -> str:
    error = (end.error.message, end.error.hint) if end.error else ("", "")
    figures = turn_figures(end.steps, end.cost_usd, end.duration_ms)
    return end_line(end.reason, by=end.by, error=error, figures=figures)


def turn_figures(steps: int, cost_usd: float, duration_ms: float) -> str:
    facts = [f"{steps} {'step' if steps == 1 else 'steps'}"]
    if cost_usd:
        facts.append(f"${cost_usd:.4f}")
    if duration_ms:
        facts.append(duration(duration_ms))
    return ", ".join(facts)


def size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def outside(reason: str) -> str:
    """The mark of a file that something outside the sandbox runs later."""
    return f"runs outside the sandbox: {one_line(reason)}"
