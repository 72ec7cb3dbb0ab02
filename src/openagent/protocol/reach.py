"""What an op is about: which folders, sessions and the like its fields name.

A token that works below some folders may name only what belongs to them. So every op has its row here: it names
something, or it tells of many things and is told what to leave out, or it is about nobody's folder, or it is about the
whole daemon. What has no row counts as the last.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec
from msgspec import UNSET

from openagent.protocol.op import Op

Named = Literal["session", "folder", "copy", "terminal", "task", "grant"]
Otherwise = Literal["open", "filtered", "whole"]
"""What an op is about that names nothing: nobody's folder; all of which only a part is told; the whole daemon."""

_BY_NAME: dict[str, Named] = {
    "session": "session",
    "parent": "session",
    "cwd": "folder",
    "folder": "folder",
    "archive": "folder",
    "to": "folder",
    "copy": "copy",
    "terminal": "terminal",
    "task": "task",
    "grant": "grant",
}
_ELSE: dict[tuple[str, str], Named | None] = {
    ("session.create", "session"): None,  # the id of the new one
    ("mcp.import", "path"): "folder",
}
"""Fields that mean something else in one op."""

_OPEN = (
    *("hello", "ping", "daemon.status", "plugins.list", "mcp.catalog", "mcp.list", "models.list", "tools.list"),
    *("templates.list", "templates.get", "templates.export", "commands.list", "skills.list", "skills.show"),
    *("hooks.list", "policy.explain", "policy.test", "flow.check", "files.list", "files.read", "files.write"),
)
_FILTERED = (
    *("session.list", "agents.list", "messages.search", "metrics.agents", "tasks.list", "workspaces.list"),
    *("daemon.follow", "grants.list"),
)
_ALWAYS_WHOLE = (
    *("auth.add", "auth.list", "auth.login", "auth.login.finish", "auth.refresh", "auth.remove", "config.show"),
    *("daemon.stop", "index.setup", "mcp.add", "mcp.import", "mcp.login", "mcp.login.finish", "mcp.logout"),
    *("mcp.remove", "models.pull", "templates.import", "templates.remove", "templates.save", "tokens.list"),
    *("tokens.revoke", "trust.list", "usage.report", "usage.failures", "metrics.cost", "workspaces.gc"),
)
"""Even where they name a folder: what they change or tell is everybody's."""
_WHOLE_UNNAMED = (
    *("session.create", "task.create", "tools.switch", "mcp.switch", "mcp.test", "models.test", "audit.list"),
)
"""About one folder or session where they name it, and else about all."""
_MADE_WITHIN = ("tokens.create", "web.login")
"""What they make reaches no further than who makes it; their own service sees to that."""

_UNNAMED: Mapping[str, Otherwise] = {
    **dict.fromkeys((*_OPEN, *_MADE_WITHIN), "open"),
    **dict.fromkeys(_FILTERED, "filtered"),
    **dict.fromkeys((*_ALWAYS_WHOLE, *_WHOLE_UNNAMED), "whole"),
}

ACTING = frozenset(
    (
        *("message.send", "tool.run", "question.answer", "queue.edit", "queue.move", "queue.resume", "flow.resume"),
        *("terminal.open", "terminal.input", "files.write", "session.fork", "context.collect"),
    )
)
"""What makes an agent go on, steers it, or does something in its place."""


def tag_of(op: type[Op]) -> str:
    return str(op.__struct_config__.tag)


def kind_of(op: type[Op], field: str) -> Named | None:
    return _ELSE.get((tag_of(op), field), _BY_NAME.get(field))


def is_whole(op: type[Op]) -> bool:
    """About the whole daemon, whatever it names."""
    return tag_of(op) in _ALWAYS_WHOLE


def otherwise(op: type[Op]) -> Otherwise:
    return _UNNAMED.get(tag_of(op), "whole")


def has_row(op: type[Op]) -> bool:
    """It is listed here, or cannot be said without naming something."""
    required = (field.name for field in msgspec.structs.fields(op) if field.required)
    return tag_of(op) in _UNNAMED or any(kind_of(op, name) for name in required)


def named(op: Op) -> Iterator[tuple[Named, str]]:
    """What it names, as far as it does."""
    for field in msgspec.structs.fields(type(op)):
        kind = kind_of(type(op), field.name)
        value = getattr(op, field.name)
        if kind is not None and value is not UNSET and value:
            yield kind, str(value)
