"""How calls and turns are spoken of, in one place for every client.

What is done stands in the past tense, what runs in the present, and what did not come to be done says why.
Imports nothing but what tools say: `openagent run` lives on this too.
"""

from __future__ import annotations

from openagent.protocol.about import About, filled_in, named_files
from openagent.protocol.known_tools import KNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MARKS = {"done": "✓", "failed": "✗", "denied": "✗", "stopped": "■", "interrupted": "■", "not_run": "–"}
"""By how a call ended."""

_IN_WORDS = {
    "executing_tool": "running a tool",
    "waiting_approval": "waiting for you",
    "error": "failed",
    "unanswered": "nobody answered",
}


def in_words(name: str) -> str:
    """A state, an end or another name of the protocol, as people are told it."""
    return _IN_WORDS.get(name) or name.replace("_", " ")


DENIED = "denied: "
"""Begins, in the outcome of a call that ran, what of it was denied."""

OPENINGS = {
    "network": About("other", ("connect to", "connecting to", "connected to")),
    "folder": About("other", ("read the folder", "reading the folder", "read the folder")),
    "folder_write": About("other", ("write in the folder", "writing in the folder", "wrote in the folder")),
    "unsaved": About("other", ("change, beyond undo,", "changing, beyond undo,", "changed, beyond undo,")),
    "engine": About("other", ("use the", "using the", "used the")),
    "credential": About("other", ("use the credential", "using the credential", "used the credential")),
}
"""What is asked for beside calls."""
_LONGEST_AT_WORK = 120
_OF_MCP = About("other", ("call", "calling", "called"))
_SUBJECTS = ("command", "path", "file", "pattern", "query", "url", "question", "task", "code", "name", "id")
"""Arguments that may stand for a call of a tool that nothing is known of, the most telling first."""


def about(tool: str) -> About:
    """A tool of a plugin is known by its name alone."""
    if known := KNOWN.get(tool) or OPENINGS.get(tool):
        return known
    return _OF_MCP if tool.startswith("mcp__") else About("other", (tool, tool, tool))


def is_known(tool: str) -> bool:
    """Its words and its subject tell all there is to know of a call."""
    return tool in KNOWN or tool in OPENINGS


def subject_of(tool: str, arguments: Mapping[str, object]) -> str:
    """What stands for a whole call on one line, where only its arguments are known."""
    if tool == "apply_patch":
        return ", ".join(named_files(str(arguments.get("patch", "")))) or tool
    if (known := KNOWN.get(tool)) is not None and (subject := filled_in(known.subject, arguments)):
        return subject
    named = next((arguments[name] for name in _SUBJECTS if arguments.get(name)), None)
    return str(named or next((value for value in arguments.values() if isinstance(value, str)), ""))


def call_to_come(tool: str, subject: str) -> str:
    """A call that has not begun: `edit app.py`."""
    return _said(tool, 0, subject)


def call_going_on(tool: str, subject: str) -> str:
    """`editing app.py`"""
    return _said(tool, 1, subject)


def call_at_work(tool: str, subject: str) -> str:
    """`shell pytest -q`: a call on one line, for who knows what the tool is called in words."""
    return " ".join(f"{tool} {'' if subject == tool else subject}".split())[:_LONGEST_AT_WORK]


def call_ended(tool: str, subject: str, ended: str) -> str:
    """`edited app.py`, `denied: edit app.py`, `not run: edit app.py`"""
    if ended == "done":
        return _said(tool, 2, subject)
    return f"{in_words(ended)}: {call_to_come(tool, subject)}"


def call_mark(ended: str, summary: str = "") -> str:
    """What was not let do all that it wanted is no plain success, whatever it says itself."""
    if ended == "done" and DENIED in summary:
        return MARKS["stopped"]
    return MARKS.get(ended, "✗")


def _said(tool: str, when: int, subject: str) -> str:
    # A call that is only about itself names nothing else.
    return f"{about(tool).words[when]} {'' if subject == tool else subject}".rstrip()


_TURNS = {
    "done": ("Done.", ""),
    "cancelled": ("Stopped.", "Retry to continue, or send a message."),
    "interrupted": ("Interrupted: the daemon stopped in the middle of it.", "Retry to continue, or send a message."),
    "step_limit": ("Stopped at the limit of steps.", "Retry to continue, or raise max_steps."),
    "time_limit": ("Stopped: its time was up.", "Retry to continue, or raise turn_timeout."),
    "budget": ("Stopped: the budget does not cover the next request.", "Raise the budget, then retry."),
    "loop": (
        "Stopped: the model made the same call again and again.",
        "Say what it should do instead.",
    ),
    "max_tokens": (
        "The answer was cut off at the longest that is allowed.",
        "Retry to continue, or raise max_output_tokens.",
    ),
    "refused": ("The model refused to answer.", "Say it in other words, or choose another model."),
    "error": ("Failed.", ""),
}


def turn_ended(reason: str, *, by: str = "", message: str = "", hint: str = "") -> tuple[str, str]:
    """What became of a turn, and what to do next. `message` and `hint` are those of its error, if it had one."""
    told, following = _TURNS.get(reason, (f"Ended: {in_words(reason)}.", ""))
    if reason == "cancelled" and by:
        told = f"Stopped from {by}."
    if message:
        told = f"Failed: {message}" if reason == "error" else message
    return told, hint or following


def may_continue(reason: str) -> bool:
    """A turn that ended like this was cut short: a retry goes on with it."""
    return reason not in ("done", "refused")


def turn_mark(reason: str) -> str:
    if reason == "done":
        return "—"
    return "✗" if reason in ("error", "refused") else "■"


def left_out(lines: int, files: int) -> str:
    """What a diff leaves out that is too long to be told whole; empty where nothing is."""
    if not lines:
        return ""
    where = "1 file" if files == 1 else f"{files} files"
    return f"{lines} more {'line' if lines == 1 else 'lines'} in {where} are too long to be shown."


LEAVING = frozenset(("network", "folder", "folder_write", "engine", "credential"))
"""What is asked for beside a call: who wants it and what for stands in the reason alone."""
_UNANSWERED = {
    "timeout": "not answered in time, so it was denied",
    "turn ended": "no longer asked: the turn has ended",
    "restart": "asked again: the daemon was restarted",
    "withdrawn": "no longer asked: what wanted it has given up",
}


def answer_told(decision: str, by: str, scope: str, covers: str) -> str:
    """What became of a request for permission."""
    if by in _UNANSWERED:
        return _UNANSWERED[by]
    if decision == "deny":
        return f"denied by {by or 'nobody'}"
    return f"allowed by {by or 'nobody'}: {covers}" if covers else f"allowed by {by or 'nobody'} ({scope})"


def lapsed_told(lapsed: Iterable[tuple[str, str]]) -> str:
    """What became of what nobody answered: of each, the tool and what it was about; of a question, no tool."""
    given = list(lapsed)
    told = [_cut(call_to_come(tool, about_it) if tool else f"“{about_it}”") for tool, about_it in given[:1]]
    more = f" and {len(given) - 1} more" if len(given) > 1 else ""
    return f"Nobody answered in time, so this was not done: {told[0]}{more}." if told else ""


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_AT_WORK else f"{line[: _LONGEST_AT_WORK - 1]}…"


def ask_again(lapsed: Iterable[tuple[str, str]]) -> str:
    """What a person says who was away: of each, the tool and what it was about; of a question, no tool."""
    wanted = [f"- {call_to_come(tool, about_it) if tool else f'answer: {about_it}'}" for tool, about_it in lapsed]
    return "\n".join(
        [
            "Nobody answered in time when you asked for this:",
            *wanted,
            "",
            "I am here now. If it is still needed, make the same call again, so that I am asked again. Then go on.",
        ]
    )


_KEYS = {"once": "a", "session": "s", "always": "A"}
_PLAIN_CHOICES = (
    ("once", "once", "Only this, this one time."),
    ("session", "session", "For the rest of this session."),
    ("always", "always", "Always in this workspace."),
)


def ways_to_allow(choices: Iterable[tuple[str, str, str]]) -> dict[str, tuple[str, str, str]]:
    """The keys that allow something, to the choice's id, its scope and what it covers. `a`, `s` and `A` are the same
    everywhere; other widths are numbered. A daemon that tells no choices knows the scopes alone."""
    found: dict[str, tuple[str, str, str]] = {}
    others = 0
    for name, scope, covers in list(choices) or _PLAIN_CHOICES:
        if name not in _KEYS:
            others += 1
        found[_KEYS.get(name) or str(others)] = name, scope, covers
    return found


def choice_lines(ways: Mapping[str, tuple[str, str, str]], deny: str = "Deny it.") -> list[str]:
    """What a person chooses from, a line each."""
    return [*(f"[{key}] {covers}" for key, (_, _, covers) in ways.items()), f"[d] {deny}"]
