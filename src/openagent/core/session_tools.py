"""The tools that one session has: the daemon's and those of MCP servers, as far as its settings let it have them."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from openagent.plugins.provider import ToolSchema
from openagent.plugins.tool import Tool, has_tool
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import ErrorRaised

if TYPE_CHECKING:
    from openagent.core.session import Session


class SessionTools:
    def __init__(self, session: "Session") -> None:
        self._session = session
        self._more: Sequence[Tool] = ()
        self._missing: list[str] = []
        """Those that people were told of."""
        self.outdated = False
        """An MCP server has come up since the turn began."""
        self.by_name: dict[str, Tool] = {}
        self.choose()

    @property
    def known(self) -> Sequence[Tool]:
        """Those that there are, whether or not its settings let it have them."""
        return (*self._session.runtime.tools, *self._more)

    def choose(self) -> None:
        settings = self._session.info.settings
        self.by_name = {tool.name: tool for tool in self.known if has_tool(settings, tool)}

    def schemas(self, window: int) -> list[ToolSchema]:
        session = self._session
        return [tool.schema for tool in self.by_name.values() if session.runtime.offers(session.id, tool, window)]

    async def look(self) -> None:
        """For what there is now: MCP servers come and go."""
        self.outdated = False
        self._more = await self._session.runtime.more_tools(self._session.info)
        self.choose()
        self._tell_missing()

    async def look_again(self) -> None:
        """Between two steps, if there is more than the turn began with."""
        if self.outdated:
            await self.look()

    def _tell_missing(self) -> None:
        """Tools that a session is to have and that are not there: an MCP server's, or of an earlier version."""
        session = self._session
        if session.info.parent:  # it has what there is of its caller's
            return
        known = {tool.name for tool in self.known}
        missing = [name for name in session.info.settings.tools or () if name not in known]
        if not missing or missing == self._missing:
            return
        near = [f"{found[0]!r}" for name in missing if (found := get_close_matches(name, known, n=1))]
        guess = f"Did you mean {', '.join(near)}? " if near else ""
        problem = OpenAgentError(
            "config_error",
            f"This session is to have tools that are not here: {', '.join(missing)}.",
            hint=f"{guess}`openagent sessions set {session.id} tools=…` names others, and `tools=none` gives it all.",
        )
        if not self.by_name:
            raise problem
        self._missing = missing
        session.post(ErrorRaised(error=problem.info))
