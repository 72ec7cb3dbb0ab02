"""One row in the audit trail for every op that changes something: who, from where, what."""

import logging
from typing import TYPE_CHECKING, Any, cast

from openagent.core.audit import entry
from openagent.plugins.store import AuditEntry, Batch
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Op

if TYPE_CHECKING:
    from openagent.daemon.manager import SessionManager

LONGEST_VALUE = 200
_NAMING = (
    *(
        "email",
        "decision",
        "name",
        "template",
        "provider",
        "token",
        "copy",
        "task",
        "grant",
        "tool",
        "question",
        "folder",
    ),
    *("path", "archive", "collector", "terminal", "queued", "undo", "turn", "message", "file", "cwd"),
    "person",
)
"""Fields that say what an op is about, the best first."""
_DETAILS = (
    "ask",
    "on",
    "scope",
    "choice",
    "scopes",
    "roots",
    "state",
    "to",
    "method",
    "force",
    "keep",
    "mode",
    "model",
    "role",
    "disabled",
)
_TOLD = frozenset((*_NAMING, *_DETAILS))
"""What may be told of an op. Everything else may hold secrets, or what people said."""
_REFUSED = frozenset(
    {"invalid_argument", "not_found", "conflict", "busy", "overloaded", "permission_denied", "unauthorized"}
)
"""Nothing was changed."""
_log = logging.getLogger(__name__)


class OpAudit:
    def __init__(self) -> None:
        self._owed: list[AuditEntry] = []
        """What could not be stored so far."""

    async def tell(self, manager: "SessionManager", op: Op, problem: BaseException | None) -> None:
        if isinstance(problem, OpenAgentError) and problem.info.code in _REFUSED:
            return
        row = _row(op, problem)
        name = getattr(op, "session", "")
        if name and (session := _loaded(manager, name)):
            session.post(audit=[row])
        else:
            await self.write(manager, row)

    async def write(self, manager: "SessionManager", *rows: AuditEntry) -> None:
        """What belongs to no session. Whatever becomes of it, what it tells of has been done."""
        owed, self._owed = [*self._owed, *rows], []
        try:
            await manager.runtime.store.commit(Batch("", audit=owed))
        except OpenAgentError as problem:
            self._owed = [*owed, *self._owed]
            _log.warning(
                "audit rows not written, kept until the database answers",
                extra={"reason": str(problem), "rows": len(owed)},
            )


def _loaded(manager: "SessionManager", name: str) -> Any:
    """A session may be named by the beginning of its id."""
    return manager.loaded(name) or next((each for each in manager.all_loaded if each.id.startswith(name)), None)


def _row(op: Op, problem: BaseException | None) -> AuditEntry:
    topic, _, action = type(op).tag.partition(".")
    given = {name: value for name in type(op).__struct_fields__ if (value := _value(op, name)) is not None}
    about = next((str(given[name]) for name in _NAMING if name in given), "")
    if "on" in given:
        about = f"{about} {'on' if given['on'] else 'off'}"
    if problem is not None:
        given["failed"] = problem.info.code if isinstance(problem, OpenAgentError) else type(problem).__name__
    return entry(topic, f"{action} {about}".strip(), **given)


def _value(op: Op, name: str) -> Any:
    value: object = getattr(op, name)
    if name == "template" and (inner := getattr(value, "name", "")):  # of one that is saved
        return str(inner)[:LONGEST_VALUE]
    if name not in _TOLD:
        return None
    if isinstance(value, str):
        return value[:LONGEST_VALUE] or None
    if isinstance(value, bool | int | float):
        return value
    return [str(each) for each in cast("list[object]", value)] if isinstance(value, list) else None
