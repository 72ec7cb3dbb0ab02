"""Who is asked when something wants out of a jail: the session whose command, hook, terminal or server it is."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from openagent.core.session import Session
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.jail.egress_proxy import HostRule, only
from openagent.jail.ports import PortOpener
from openagent.plugins.held_time import HeldTime
from openagent.plugins.jail import AskHost, NeverReached, Openings, Tunnel
from openagent.safety.server_places import is_of_project
from openagent.tools.mcp.definitions import ServerDefinition

_NOBODY = "OpenAgent did not let this connection to {host}:{port} out of the jail: there is no session to ask in."


class Requester(NamedTuple):
    """A program beside a session's shell."""

    session: str
    name: str
    """What a person said once holds for all that go by it."""
    words: str
    """For people: `The hook x`."""
    held: HeldTime
    """Counts the time that a person took to answer."""


class JailExits:
    def __init__(
        self, network: str | Sequence[str], names: Mapping[str, str], never: NeverReached, loaded: LoadedSessions
    ) -> None:
        self.network = network
        self.names = names
        self.never = never
        self.opener = PortOpener()
        self.opener.hold()
        self._loaded = loaded
        self._held: dict[tuple[Path, str], HeldTime] = {}

    def warm_up(self) -> None:
        """So that nobody's first command waits for it."""
        if self.network not in ("on", "off"):
            self.opener.warm_up()

    async def close(self) -> None:
        self.opener.release()

    def rule(self, host: str, port: int) -> Literal["allow", "ask", "deny"]:
        """What the settings say of a host, to whoever asks from here and not from a jail."""
        if self.network in ("on", "ask"):
            return "allow" if self.network == "on" else "ask"
        listed = any(HostRule.parse(each).matches(host, port) for each in self._listed)
        return "allow" if listed else "deny"

    @property
    def _listed(self) -> Sequence[str]:
        return () if isinstance(self.network, str) else self.network

    async def reach_from_shell(self, session: str, host: str, port: int, tunnel: Tunnel | None) -> str:
        loaded = self._loaded.find(session)
        return (
            await loaded.permits.leaving.reach(host, port, tunnel)
            if loaded is not None
            else _NOBODY.format(host=host, port=port)
        )

    def openings(self, session: str) -> Openings:
        loaded = self._loaded.find(session)
        return loaded.permits.leaving.openings if loaded is not None else Openings()

    def only_reads(self, session: str) -> bool:
        """In plan mode, what a session has run beside its shell changes nothing either."""
        loaded = self._loaded.find(session)
        return loaded is not None and loaded.permits.mode == "plan"

    def asking(self, requester: Requester) -> AskHost:
        return functools.partial(self._reach, requester)

    async def _reach(self, requester: Requester, host: str, port: int, tunnel: Tunnel | None = None) -> str:
        loaded = self._loaded.find(requester.session)
        return await self._ask(loaded, requester, host, port, tunnel)

    async def _ask(
        self, session: Session | None, requester: Requester, host: str, port: int, tunnel: Tunnel | None
    ) -> str:
        if session is None:
            return _NOBODY.format(host=host, port=port)
        reason = f"{requester.words} wants to connect to {host}:{port}."
        held = requester.held
        with held.holding():
            held.refusal = await session.permits.leaving.reach(
                host, port, tunnel, program=requester.name, reason=reason
            )
        return held.refusal

    # MCP servers belong to a workspace, not to a session

    def held(self, workspace: Path, server: str) -> HeldTime:
        return self._held.setdefault((workspace, server), HeldTime())

    def asking_for_server(self, definition: ServerDefinition, workspace: Path) -> AskHost:
        words = f"The MCP server {definition.name}"
        requester = Requester("", f"mcp:{definition.name}", words, self.held(workspace, definition.name))

        async def ask(host: str, port: int, tunnel: Tunnel | None = None) -> str:
            return await self._ask(self._session_in(workspace), requester, host, port, tunnel)

        return ask

    async def may_connect(self, definition: ServerDefinition, workspace: Path) -> str:
        """To a server that is reached over the network: its host is the word of whoever wrote its entry. A person's
        own is as good as an answer; a project's goes by the same rule as everything else there."""
        if not definition.url or not is_of_project(definition, workspace) or self.network == "on":
            return ""
        address = urlsplit(definition.url)
        host, port = address.hostname or "", address.port or (443 if address.scheme == "https" else 80)
        if self.network == "ask":
            return await self.asking_for_server(definition, workspace)(host, port)
        return await only(self._listed)(host, port)

    def _session_in(self, workspace: Path) -> Session | None:
        """Where somebody looks, and something runs, if there is such a one."""
        return max(self._loaded.working_in(workspace), key=_liveliness, default=None)


def _liveliness(session: Session) -> tuple[bool, bool, float]:
    return session.someone_can_answer(), session.running, session.info.updated_at
