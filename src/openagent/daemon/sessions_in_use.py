"""What an op has in its hands stays in memory until the op is done."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openagent.core.session import Session
    from openagent.daemon.roster import Roster


class Use:
    """Tasks that this one starts inherit the variable, and what is in it is not theirs."""

    def __init__(self) -> None:
        self.task = asyncio.current_task()
        self.sessions: dict[str, tuple[Session, Roster]] = {}


_use: ContextVar[Use | None] = ContextVar("sessions_in_use", default=None)


def current_use() -> Use | None:
    use = _use.get()
    return use if use is not None and use.task is asyncio.current_task() else None


@contextmanager
def in_use() -> Generator[None]:
    """Sessions that this task asks for within it stay in memory until it is left."""
    use = Use()
    token = _use.set(use)
    try:
        yield
    finally:
        _use.reset(token)
        use.task = None
        held, use.sessions = use.sessions, {}  # tasks that outlive this one still have the variable
        for session, roster in held.values():
            roster.let_go(session)
