"""What is made late on purpose."""

from typing import Generic, TypeVar

T = TypeVar("T")


class Late(Generic[T]):
    """Something that is made from those who need it.

    The session manager is the one case. Sessions are given their tools when they are loaded, and some of these tools
    make, load and question other sessions: sub-agents, flows, MCP servers that ask a session's model. So these are made
    first, with a `Late[SessionManager]`, the manager is made from them, and then bound. Nothing runs before that.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._bound: T | None = None

    def bind(self, it: T) -> T:
        assert self._bound is None, f"{self._name} was bound twice"
        self._bound = it
        return it

    def __call__(self) -> T:
        assert self._bound is not None, f"{self._name} was asked for while it was being built"
        return self._bound
