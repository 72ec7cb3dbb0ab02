"""Where a session came from that was begun with another program."""

from typing import Literal, get_args

from msgspec import Struct

from openagent.protocol.usage import SessionUsage

ForeignAgent = Literal["claude", "codex", "gemini", "opencode", "aider", "goose"]
FOREIGN_AGENTS: tuple[ForeignAgent, ...] = get_args(ForeignAgent)
TITLES: dict[ForeignAgent, str] = {
    "claude": "Claude Code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "opencode": "opencode",
    "aider": "aider",
    "goose": "goose",
}


class Origin(Struct, frozen=True, omit_defaults=True):
    """A session of another agent that was brought here."""

    agent: ForeignAgent
    """Whose it was."""
    title: str
    """What people call that agent."""
    id: str
    """The session's id there."""
    path: str
    """The file it was read from."""
    messages: int = 0
    """How many of its messages were brought; those after them were said here."""
    usage: SessionUsage = SessionUsage()
    """What it had used there. It counts against no budget here."""
    version: str = ""
    """Which state of it was read, where the other agent keeps track of that."""
