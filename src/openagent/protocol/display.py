"""What a person is shown of a call beside the text that the model reads."""

from typing import Any

import msgspec
from msgspec import Struct


class WrittenFile(Struct, frozen=True, omit_defaults=True):
    """A file that a call wrote."""

    path: str
    """Where it is, from the workspace's root."""
    bytes: int = 0
    """0 for one that was deleted."""


class AgentRun(Struct, frozen=True, omit_defaults=True):
    """How a sub-agent ended."""

    session: str = ""
    """Empty when it could not be started."""
    template: str = ""
    """The template it was made from."""
    reason: str = ""
    """How its turn ended."""
    cost_usd: float = 0.0
    """What it cost, in dollars."""
    changed: list[str] = []
    """Files that it brought into its caller's workspace."""
    conflicts: list[str] = []
    """Files that both it and its caller changed."""
    copy: str = ""
    """The copy of the workspace that keeps what was not merged."""


class Display(Struct, frozen=True, omit_defaults=True):
    """Every tool fills in what it knows; what is left out is not known or not there."""

    summary: str = ""
    """The outcome in a few words, for one line."""
    path: str = ""
    """The file or folder it was about."""
    files: list[WrittenFile] = []
    """What it wrote."""
    diff: str = ""
    """What changed, as a unified diff."""
    added: int | None = None
    """Lines. None when the file was not compared."""
    removed: int | None = None
    """Lines that are gone."""
    lines: int | None = None
    """Lines read."""
    entries: int | None = None
    """Entries of a folder."""
    exit_code: int | None = None
    """What the command returned."""
    background: str = ""
    """The command that goes on by itself, by its id."""
    url: str = ""
    """The address that was read."""
    status: int | None = None
    """What a web server answered."""
    agents: list[AgentRun] = []
    """The sub-agents that worked."""
    model: str = ""
    """Who answered a question that an MCP server put to a model."""
    stop_reason: str = ""
    """Why that model stopped."""


NO_DISPLAY = Display()


def as_far_as_it_fits(value: Any) -> Display:
    """A display stored before it had a type: what does not fit is left out, and nothing else."""
    if not isinstance(value, dict):
        return NO_DISPLAY
    fitting: dict[str, Any] = {}
    for field in msgspec.structs.fields(Display):
        if field.name in value:
            try:
                fitting[field.name] = msgspec.convert(value[field.name], field.type)  # pyright: ignore[reportUnknownArgumentType]
            except msgspec.ValidationError:
                continue
    return Display(**fitting)
