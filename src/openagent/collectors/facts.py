"""What a summary keeps word for word, whatever a model makes of the rest: no model is asked for it."""

import re
from collections.abc import Iterable, Sequence

from openagent.protocol.messages import Message, TextPart, ToolCallPart
from openagent.protocol.sessions import PlanItem
from openagent.protocol.words import about

HEADING = "[Kept word for word]"
_SECTIONS = ("Rules given", "Asked for, in order", "Files")
_RULES, _ASKED, _FILES = _SECTIONS
_RULE = re.compile(r"\b(always|never|must|do not|don't|from now on|remember)\b", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w./:-])(?:[\w.@-]+/)+[\w.-]+\.\w{1,8}\b")
_PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ b/)(\S+)", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_PATH_ARGUMENTS = ("path", "file", "file_path")
"""Of tools that do not say which of theirs name files."""
_LINE = 200
_MOST_READ = 20_000
"""Characters of one message that are looked through."""


class Facts:
    def __init__(self) -> None:
        self._kept: dict[str, dict[str, None]] = {name: {} for name in _SECTIONS}

    @staticmethod
    def of(summary: str) -> "Facts":
        """Those that an earlier summary carries."""
        facts = Facts()
        section = ""
        for line in summary.partition(HEADING)[2].splitlines():
            if line.startswith("- "):
                facts._add(section, line[2:])
            else:
                section = line.rstrip(":")
        return facts

    def learn(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if message.role == "user" and (said := message.text[:_MOST_READ].strip()):
                self._add(_ASKED, said.splitlines()[0])
                for sentence in filter(_RULE.search, _SENTENCE_END.split(said)):
                    self._add(_RULES, sentence)
            for call in message.tool_calls:
                self._learn_paths(call)
            if message.role != "tool":
                spoken = " ".join(part.text for part in message.parts if isinstance(part, TextPart))
                for path in _PATH.findall(spoken[:_MOST_READ]):
                    self._add(_FILES, path)

    def _learn_paths(self, call: ToolCallPart) -> None:
        named = about(call.name).paths or _PATH_ARGUMENTS
        for name, value in call.arguments.items():
            if not isinstance(value, str):
                continue
            if name in named:
                self._add(_FILES, value)
            else:
                for path in _PATCHED.findall(value[:_MOST_READ]):
                    self._add(_FILES, path)

    def _add(self, section: str, text: str) -> None:
        if (kept := self._kept.get(section)) is not None and (line := " ".join(text.split())[:_LINE]):
            kept.pop(line, None)
            kept[line] = None

    def written(self, plan: Sequence[PlanItem], room: int) -> str:
        """At most so many characters. The newest go first, and the very first thing asked for."""
        steps = [f"- [{item.state}] {' '.join(item.text.split())[:_LINE]}" for item in plan if item.state != "dropped"]
        lists = {"Plan": steps, **{name: [f"- {line}" for line in kept] for name, kept in self._kept.items()}}
        share = room // max(sum(map(bool, lists.values())), 1) - _LINE // 8
        blocks = [f"{name}:\n" + "\n".join(_fitting(lines, share)) for name, lines in lists.items() if lines]
        return "\n".join([HEADING, *blocks]) if blocks else ""


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    first, *later = lines
    room -= len(first) + 1
    kept: list[str] = []
    for line in reversed(later):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return [first, *reversed(kept)]
