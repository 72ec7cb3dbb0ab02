"""What a request asks, in words all formats share; and which step of the script answers it."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from devtools.simulator.problems import Problem
from devtools.simulator.script import Conversation, Match, Script, Step


class Entry(msgspec.Struct):
    """One message of the history, as far as the script cares."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    position: int | None = None
    """The step that the simulator says it came from (see `marks`)."""


class Inquiry(msgspec.Struct):
    model: str
    stream: bool
    prompt_tokens: int
    system: str = ""
    first_user: str = ""
    last_user: str = ""
    last_result: str = ""
    replies: int = 0
    """Assistant messages in the history; neighbouring ones count once."""
    last_reply: str = ""
    last_position: int | None = None
    entries: list[Entry] = []


class Chosen(msgspec.Struct):
    conversation: Conversation
    position: int
    """Counts on through the rounds of a loop."""
    step: Step


def estimate_tokens(size: int) -> int:
    return max(1, size // 4)


def inquire(model: str, stream: bool, entries: Iterable[Entry], body_size: int) -> Inquiry:
    inquiry = Inquiry(model=model, stream=stream, prompt_tokens=estimate_tokens(body_size))
    users = 0
    previous = ""
    inquiry.entries = list(entries)
    for entry in inquiry.entries:
        if entry.role == "assistant":
            if previous != "assistant":
                inquiry.replies += 1
                inquiry.last_reply, inquiry.last_position = "", None
            inquiry.last_reply += entry.text
            if entry.position is not None:
                inquiry.last_position = entry.position
        elif entry.role == "user":
            inquiry.last_user = entry.text
            inquiry.first_user = inquiry.first_user if users else entry.text
            users += 1
        elif entry.role == "tool":
            inquiry.last_result = entry.text
        else:
            inquiry.system += entry.text
        previous = entry.role
    return inquiry


def choose(script: Script, inquiry: Inquiry) -> Chosen:
    """The step that comes next, from the request's history alone."""
    if script.models is not None and inquiry.model not in script.models:
        raise Problem("not_found")
    for conversation in script.all_conversations:
        if _matches(conversation.match, inquiry):
            return _pick(conversation, inquiry)
    raise Problem(
        "invalid_request",
        f"simulator: no conversation of the script matches model {inquiry.model!r} "
        f"and first user message {inquiry.first_user[:80]!r}",
    )


def _matches(match: str | Match | None, inquiry: Inquiry) -> bool:
    if match is None:
        return True
    if isinstance(match, str):
        return match in inquiry.first_user or match in inquiry.model
    wanted = [
        (match.user, inquiry.first_user),
        (match.last_user, inquiry.last_user),
        (match.said, "\n".join(entry.text for entry in inquiry.entries if entry.role == "user")),
        (match.system, inquiry.system),
        (match.model, inquiry.model),
    ]
    return all(part is None or part in whole for part, whole in wanted)


def _pick(conversation: Conversation, inquiry: Inquiry) -> Chosen:
    position = _position(conversation, inquiry)
    count = len(conversation.steps)
    if count and (conversation.loop or position < count):
        return Chosen(conversation, position, conversation.steps[position % count])
    raise Problem(
        "invalid_request",
        f"simulator: the script is exhausted: conversation {conversation.name!r} has {count} steps, "
        f"and this request asks for step {position + 1}",
    )


def _position(conversation: Conversation, inquiry: Inquiry) -> int:
    if inquiry.last_position is not None:
        return inquiry.last_position + 1
    if inquiry.last_reply:
        # A collected history has fewer replies than were given, never more.
        for position in range(max(0, inquiry.replies - 1), len(conversation.steps)):
            if conversation.steps[position].said == inquiry.last_reply:
                return position + 1
    return inquiry.replies
