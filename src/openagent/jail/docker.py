"""A container of Docker or Podman: the files of an image instead of this machine's, and the workspace where it is.

The container starts with its session and ends with it. A daemon that dies takes its containers along; whatever of an
earlier one is still there goes when the next one opens its first session.
"""

import asyncio
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from openagent.jail.container import ContainerEnclosure, ContainerPlan, ContainerWayOut
from openagent.jail.egress_proxy import held_while_asking, proxy_env
from openagent.jail.engine import Engine, find_engine
from openagent.jail.far_container import FarEnclosure
from openagent.jail.inside import agent_env, read_git_identity
from openagent.jail.limits import Limits
from openagent.jail.ports import PortOpener
from openagent.jail.shell import PersistentShell
from openagent.jail.shell_state import kept_directory, make_plain
from openagent.jail.walls import checked_workspace, explain_walls
from openagent.jail.workspace_survey import GroundSurvey
from openagent.plugins.held_time import HeldTime
from openagent.plugins.jail import AskHostFor, BackgroundCommand, NeverReached, reach_anything
from openagent.protocol.errors import OpenAgentError

DEFAULT_IMAGE = "python:3.12-slim"


class DockerJail:
    kind = "docker"

    def __init__(
        self,
        *,
        image: str = "",
        network: str | Sequence[str] = "off",
        names: Mapping[str, str] | None = None,
        never: NeverReached = reach_anything,
        ask: AskHostFor | None = None,
        opener: PortOpener | None = None,
        limits: Limits | None = None,
        socket: str = "",
        env: Mapping[str, str] | None = None,
        hidden: Sequence[Path] = (),
        is_secret: Callable[[str], bool] = lambda _path: False,
        background_after: float | None = None,
        log_dir: Path | None = None,
        on_background_end: Callable[[str, BackgroundCommand], None] | None = None,
    ) -> None:
        """`socket` is the engine's, when it is not to be looked for; `hidden` is kept out even below the workspace."""
        self._image = image or DEFAULT_IMAGE
        self._network = network
        self._names = names or {}
        self._never = never
        self._ask = ask
        self._opener = opener or PortOpener()
        self._limits = limits or Limits()
        self._socket = socket
        self._env = dict(env or {})
        self._hidden = tuple(hidden)
        self._survey = GroundSurvey(is_secret)
        self._background_after = background_after
        self._log_dir = log_dir
        self._on_background_end = on_background_end
        self._swept = False

    def kept_directory(self, session: str) -> str | None:
        return kept_directory(self._log_dir / session) if self._log_dir is not None else None

    def forget(self, session: str, may_keep: Callable[[str], bool]) -> bool:
        return self._log_dir is not None and make_plain(self._log_dir / session, may_keep)

    def describe(self) -> str:
        words = {"on": "with network", "ask": "network by asking"}
        return f"docker, {words.get(self._network, 'no network') if isinstance(self._network, str) else 'no network'}"

    async def open(self, session: str, workspace: Path) -> PersistentShell:
        return await self._open(session, workspace, read_only=False)

    async def open_reading(self, session: str, workspace: Path) -> PersistentShell:
        return await self._open(session, workspace, read_only=True)

    async def _open(self, session: str, workspace: Path, *, read_only: bool) -> PersistentShell:
        if not isinstance(self._network, str):
            raise OpenAgentError(
                "jail_error",
                "The docker jail has the whole network or none; it cannot be limited to some hosts.",
                hint='Set `[jail] network` to "off" or "on", or use `kind = "bwrap"`, which can.',
            )
        workspace = checked_workspace(workspace)
        log_dir = self._log_dir / session if self._log_dir is not None else None
        if log_dir is not None:
            log_dir.mkdir(parents=True, exist_ok=True)
        engine = await self._engine()
        held = HeldTime()
        ask = held_while_asking(self._ask, session, held) if self._network == "ask" else None
        info = await engine.info()
        way_out = None
        if ask is not None and not info.is_far:
            way_out = ContainerWayOut(self._opener, ask, self._names, self._never)
        plan = ContainerPlan(
            engine=engine,
            info=info,
            image=self._image,
            network=self._network == "on",
            limits=self._limits,
            env={**agent_env(), **(proxy_env() if way_out else {}), **self._env},
            git_identity=await asyncio.to_thread(read_git_identity),
            workspace=workspace,
            hidden=self._hidden,
            ground=await self._survey.of(workspace),
            log_dir=log_dir,
            read_only=read_only,
            way_out=way_out,
            opened=set(),
        )
        enclose = FarEnclosure if info.is_far else ContainerEnclosure
        reading = plan._replace(read_only=True)
        shell = PersistentShell(
            functools.partial(enclose, plan),
            str(workspace),
            enclose_reading=functools.partial(enclose, reading),
            only_reads=read_only,
            background_after=self._background_after,
            log_dir=log_dir,
            on_background_end=functools.partial(self._on_background_end, session) if self._on_background_end else None,
            explain=explain_walls,
            held=held,
        )
        try:
            await shell.ready()
        except asyncio.CancelledError:
            await shell.close()
            raise
        return shell

    async def look(self) -> None:
        await self._engine()

    async def _engine(self) -> Engine:
        engine = await find_engine(self._socket, os.environ)
        if not self._swept:
            await engine.sweep()
            self._swept = True
        if not await engine.has_image(self._image):
            raise OpenAgentError(
                "jail_error",
                f"The container engine at {engine.path} has no image {self._image}.",
                hint=f"Get it with `docker pull {self._image}` (or `podman pull`), or name another in `[jail] image`.",
            )
        return engine
