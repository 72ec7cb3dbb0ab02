"""Which scope an op needs. What is not named here needs `admin`."""

from collections.abc import Iterable

from msgspec import UNSET

from openagent.protocol.op import Op
from openagent.protocol.ops import PermissionAnswer, SessionCreate, SessionUpdate
from openagent.protocol.tokens import Scope

ALL_SCOPES: frozenset[Scope] = frozenset({"read", "chat", "approve", "admin"})
_ALSO: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "chat": frozenset({"read", "chat"}),
    "approve": frozenset({"read", "approve"}),
    "admin": ALL_SCOPES,
}
_ALSO_APPROVE = ("flow.run", "mcp.resource.read", "mcp.prompt.get")
"""Nobody is asked about what they do, so that it takes one who could answer."""

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
        *("index.search", "index.symbols", "index.map", "index.status"),
    ),
    "chat": (
        *("session.create", "session.update", "session.delete", "session.fork", "session.rewind", "session.unrewind"),
        *("queue.edit", "queue.remove", "queue.move", "queue.resume"),
        *("message.send", "turn.cancel", "question.answer", "tool.run", "files.write"),
        *("terminal.open", "terminal.input", "terminal.resize", "terminal.close"),
        *("context.collect", "context.pin", "context.restore", "flow.run", "flow.resume", "index.build", "index.watch"),
        *("task.create", "task.update", "task.delete"),
        *("mcp.resources", "mcp.resource.read", "mcp.prompts", "mcp.prompt.get"),
    ),
    "approve": ("permission.answer", "grants.list", "grants.revoke"),
}
_BY_TAG: dict[str, Scope] = {tag: scope for scope, tags in _OPS.items() for tag in tags}


def widened(scopes: Iterable[Scope]) -> frozenset[Scope]:
    """What holding these scopes amounts to: who may chat may read, and admin may everything."""
    return frozenset(allowed for scope in scopes for allowed in _ALSO[scope])


def scope_of(op: type[Op]) -> Scope:
    return _BY_TAG.get(str(op.__struct_config__.tag), "admin")


def needed(op: Op) -> frozenset[Scope]:
    """All of these. Who may not approve what agents do may not free them from being asked either; how far a mode does
    depends on the jail, and is looked at where that is known."""
    scope = scope_of(type(op))
    if str(op.__struct_config__.tag) in _ALSO_APPROVE or _sets_a_budget(op) or _is_full(op):
        return frozenset({scope, "approve"})
    if isinstance(op, PermissionAnswer) and op.scope == "always":
        return frozenset({scope, "admin"})
    return frozenset({scope})


def _sets_a_budget(op: Op) -> bool:
    return isinstance(op, SessionCreate | SessionUpdate) and not (
        op.settings.budget_usd is UNSET and op.settings.budget_tokens is UNSET
    )


def _is_full(op: Op) -> bool:
    return isinstance(op, SessionCreate | SessionUpdate) and op.settings.mode == "full"
