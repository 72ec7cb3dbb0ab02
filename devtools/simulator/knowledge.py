"""A model that knows only what a request shows it: it answers from that, looks it up, or says that it does not know.

For measuring what a context keeps. It also writes summaries the way a script can: the sentences that carry one of the
words it was told to keep, as many as fit.
"""

import re

from devtools.simulator.inquiry import Entry, Inquiry
from devtools.simulator.script import Fact, Knowledge, Step, ToolCall

SUMMARY_WANTED = "your summary will stand"
UNKNOWN = "I do not know."
_COMMAND = re.compile(r"`([^`]+)`")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def answer_from(knowledge: Knowledge, inquiry: Inquiry) -> Step:
    entries = inquiry.entries
    asked = max((place for place, entry in enumerate(entries) if entry.role == "user"), default=0)
    question = inquiry.last_user
    if SUMMARY_WANTED in question:
        return Step(text=_summary(knowledge, entries[:asked]))
    since = entries[asked + 1 :]
    fact = next((fact for fact in knowledge.facts if fact.asked in question), None)
    if fact is not None:
        return _told(knowledge, fact, entries, asked)
    command = _COMMAND.search(question)
    if command and not any(entry.role == "tool" for entry in since):
        return Step(tool_calls=[ToolCall(name="shell", arguments={"command": command.group(1)})])
    return Step(text="Done.")


def _told(knowledge: Knowledge, fact: Fact, entries: list[Entry], asked: int) -> Step:
    shown = (entry.text for place, entry in enumerate(entries) if place != asked and entry.role != "assistant")
    if any(fact.shown in text for text in shown):
        return Step(text=fact.answer)
    looked = any(entry.role == "tool" for entry in entries[asked + 1 :])
    if knowledge.looks_up and not looked:
        return Step(tool_calls=[ToolCall(name="recall", arguments={"query": fact.asked})])
    return Step(text=UNKNOWN)


def _summary(knowledge: Knowledge, entries: list[Entry]) -> str:
    sentences = [sentence for entry in entries for sentence in _SENTENCE_END.split(entry.text)]
    kept: list[str] = []
    left = knowledge.summary_chars
    for sentence in reversed(list(dict.fromkeys(map(str.strip, sentences)))):
        if any(word in sentence for word in knowledge.keeps) and len(sentence) < left:
            kept.append(sentence)
            left -= len(sentence) + 1
    return "Decisions:\n" + "\n".join(reversed(kept)) if kept else "Nothing of note."
