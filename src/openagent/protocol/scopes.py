"""Which scope an op needs. What is not named here needs `admin`."""

from collections.abc import Iterable

from msgspec import UNSET

from openagent.protocol.op import Op
from openagent.protocol.ops import SessionCreate, SessionUpdate
from openagent.protocol.tokens import Scope

ALL_SCOPES: frozenset[Scope] = frozenset({"read", "chat", "approve", "admin"})
_ALSO: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "chat": frozenset({"read", "chat"}),
    "approve": frozenset({"read", "approve"}),
    "admin": ALL_SCOPES,
}
_WIDE_MODES = ("edits", "full")

_OPS: dict[Scope, tuple[str, ...]] = {
    "read": (
        *("hello", "ping", "daemon.status", "daemon.follow", "metrics.agents", "metrics.cost"),
        *("usage.report", "usage.failures", "tasks.list", "task.get"),
        *(
            "session.list",
            "session.get",
            "session.attach",
            "session.detach",
            "session.changes",
            "agents.list",
            "queue.show",
        ),
        *("messages.page", "messages.search", "message.raw", "tools.list", "models.list", "context.show"),
        *("workspaces.list", "workspaces.diff", "files.list", "files.read", "policy.explain", "policy.test"),
        *("mcp.list", "mcp.catalog", "templates.list", "templates.get", "templates.export"),
        *("commands.list", "skills.list", "skills.show", "hooks.list", "plugins.list"),
        *("flow.list", "flow.show", "flow.check"),
        *("index.search", "index.symbols", "index.map", "index.status", "index.watch"),
    ),
    "chat": (
        *("session.create", "session.update", "session.delete", "session.fork", "session.rewind", "session.unrewind"),
        *("queue.edit", "queue.remove", "queue.move", "queue.resume"),
        *("message.send", "turn.cancel", "question.answer", "tool.run", "files.write"),
        *("terminal.open", "terminal.input", "terminal.resize", "terminal.close"),
        *("context.collect", "context.pin", "context.restore", "flow.resume", "index.build"),
        *("task.create", "task.update", "task.delete"),
        *("mcp.resources", "mcp.resource.read", "mcp.prompts", "mcp.prompt.get"),
    ),
    "approve": ("permission.answer", "flow.run", "grants.list", "grants.revoke"),
}
_BY_TAG: dict[str, Scope] = {tag: scope for scope, tags in _OPS.items() for tag in tags}


def widened(scopes: Iterable[Scope]) -> frozenset[Scope]:
    """What holding these scopes amounts to: who may chat may read, and admin may everything."""
    return frozenset(allowed for scope in scopes for allowed in _ALSO[scope])


def scope_of(op: type[Op]) -> Scope:
    return _BY_TAG.get(str(op.__struct_config__.tag), "admin")


def needed(op: Op) -> frozenset[Scope]:
    """All of these. Who may not approve what agents do may not free them from being asked either."""
    scope = scope_of(type(op))
    if isinstance(op, SessionCreate | SessionUpdate) and (
        op.settings.mode in _WIDE_MODES or _is_set(op.settings.budget_usd) or _is_set(op.settings.budget_tokens)
    ):
        return frozenset({scope, "approve"})
    return frozenset({scope})


def _is_set(value: object) -> bool:
    return value is not UNSET
