"""The jail that the settings ask for, and what else runs behind its walls."""

import asyncio
import functools
import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from openagent import config
from openagent.jail.bwrap import BwrapJail
from openagent.jail.host import HostJail
from openagent.jail.limits import Limits
from openagent.plugins.jail import AskHost, BackgroundCommand, Jail, ProcessJail, ProgramPlaces
from openagent.plugins.loading import JailOptions, PluginLoader
from openagent.policy.paths import is_secret_file
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import BackgroundFinished, Event
from openagent.safety.jail_exit_routing import JailExits, Requester
from openagent.safety.server_places import kept_in, start_of
from openagent.tools.mcp.definitions import ServerDefinition


class _Start(Protocol):
    async def __call__(
        self,
        workspace: Path,
        argv: Sequence[str],
        env: Mapping[str, str],
        ask: AskHost,
        *,
        read_only: bool = False,
        places: ProgramPlaces = ...,
    ) -> asyncio.subprocess.Process: ...


def build_jail(
    settings: config.JailSettings,
    scratch: Path,
    hidden: list[Path],
    tell: Callable[[str, Event], None],
    exits: JailExits,
    *,
    room: Callable[[Path], int | None] = lambda _workspace: None,
) -> Jail:
    def ended(session: str, command: BackgroundCommand) -> None:
        tell(
            session,
            BackgroundFinished(command_id=command.id, exit_code=command.exit_code, duration_ms=command.duration_ms),
        )

    if settings.kind == "plugin":
        return _plugged_jail(settings, scratch, hidden, ended)
    if settings.kind == "host":
        return HostJail(background_after=settings.background_after, log_dir=scratch, on_background_end=ended)
    limits = Limits(
        memory=config.size_in_bytes(settings.memory),
        processes=settings.processes,
        cpus=settings.cpus,
        file_size=config.size_in_bytes(settings.file_size),
        disk=config.size_in_bytes(settings.disk),
    )
    if settings.kind == "bwrap":
        return BwrapJail(
            network=settings.network,
            names=settings.names,
            never=exits.never,
            ask=exits.reach_from_shell,
            opener=exits.opener,
            openings=exits.openings,
            limits=limits,
            hidden=hidden,
            is_secret=is_secret_file,
            room=room,
            background_after=settings.background_after,
            log_dir=scratch,
            on_background_end=ended,
        )
    from openagent.jail.docker import DockerJail  # brings an HTTP client along, which most daemons never need

    return DockerJail(
        image=settings.image,
        network=settings.network,
        names=settings.names,
        never=exits.never,
        ask=exits.reach_from_shell,
        opener=exits.opener,
        limits=limits,
        hidden=hidden,
        is_secret=is_secret_file,
        background_after=settings.background_after,
        log_dir=scratch,
        on_background_end=ended,
    )


def _plugged_jail(
    settings: config.JailSettings, scratch: Path, hidden: list[Path], ended: Callable[[str, BackgroundCommand], None]
) -> Jail:
    options = JailOptions(
        network=settings.network,
        memory=config.size_in_bytes(settings.memory),
        processes=settings.processes,
        hidden=hidden,
        scratch=scratch,
        background_after=settings.background_after,
        on_background_end=ended,
    )
    return PluginLoader().jail(settings.plugin)(options)


def jailed_starter(
    settings: config.JailSettings, scratch: Path, hidden: list[Path], exits: JailExits
) -> Callable[[Path, Sequence[str], Mapping[str, str], Requester], Awaitable[asyncio.subprocess.Process]]:
    """Starts programs that are no part of a session's shell behind the same walls."""
    start = _starter(settings, scratch, hidden, exits)

    async def start_for(
        workspace: Path, argv: Sequence[str], env: Mapping[str, str], requester: Requester
    ) -> asyncio.subprocess.Process:
        reads = exits.only_reads(requester.session)
        ask = exits.asking(requester)
        if settings.kind != "bwrap":
            return await start(workspace, argv, env, ask, read_only=reads)
        own = await asyncio.to_thread(_own_folder, scratch.parent / "hook-cache", workspace)
        kept = {**kept_in(own), **env}
        return await start(workspace, argv, kept, ask, read_only=reads, places=ProgramPlaces(own=own))

    return start_for


def _own_folder(caches: Path, workspace: Path) -> str:
    """What a project's programs fetched once need not be fetched at each of their runs, nor asked for."""
    folder = caches / hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(folder)


def _starter(settings: config.JailSettings, scratch: Path, hidden: list[Path], exits: JailExits) -> "_Start":
    @functools.cache
    def jail() -> Jail:
        return build_jail(settings, scratch, hidden, lambda _session, _event: None, exits)

    async def start(
        workspace: Path,
        argv: Sequence[str],
        env: Mapping[str, str],
        ask: AskHost,
        *,
        read_only: bool = False,
        places: ProgramPlaces = ProgramPlaces(),  # noqa: B008
    ) -> asyncio.subprocess.Process:
        built = jail()
        if not isinstance(built, ProcessJail):
            raise OpenAgentError(
                "jail_error",
                "Programs beside a session's shell (MCP servers, hooks of projects) cannot run in this kind of jail.",
                hint='Choose `[jail] kind = "bwrap"`.',
            )
        more = {"places": places} if places != ProgramPlaces() else {}  # a plugin's jail may know nothing of them
        return await built.start_process(workspace, argv, env=env, ask=ask, read_only=read_only, **more)

    return start


async def start_mcp_server(
    jail_settings: config.JailSettings,
    scratch: Path,
    hidden: list[Path],
    definition: ServerDefinition,
    workspace: Path,
    *,
    exits: JailExits,
) -> asyncio.subprocess.Process:
    """In the jail, with the network and the folders that the server needs where its entry names any."""
    begun = await asyncio.to_thread(start_of, definition, workspace, scratch.parent / "mcp-cache", hidden)
    if definition.network:
        jail_settings = msgspec.structs.replace(jail_settings, network=definition.network)
    start = _starter(jail_settings, scratch, hidden, exits)
    ask = exits.asking_for_server(definition, workspace)
    return await start(workspace, begun.argv, begun.env, ask, places=begun.places)
