"""Settings per workspace and environment, read again when a file has changed."""

import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from openagent.config.force import is_one_of, not_in_force
from openagent.config.frozen import Frozen
from openagent.config.load import Config, load
from openagent.config.project import find_project_file, project_folder
from openagent.config.settings import AT_START
from openagent.config.trust import TrustList
from openagent.protocol import locations
from openagent.protocol.configuration import ConfigList
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.sessions import Settings as SessionSettings

RECHECK_SECONDS = 1.0
_FROZEN = "settings"
_THE_DAEMONS: tuple[str, tuple[tuple[str, str], ...]] = ("", ())
Stamp = tuple[int, int, int]


class _Cached(NamedTuple):
    config: Config
    stamp: object
    checked: float


class ConfigCache:
    """Looks at the files once a second at most."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._cache: dict[tuple[str, tuple[tuple[str, str], ...]], _Cached] = {}
        self._at_start: Config | None = None
        """The daemon's own, as they were when it first read them."""
        self.trust = TrustList(Path(locations.data_home(env)))
        self.origin_of: Callable[[Path], Path] = lambda workspace: workspace
        """From a copy of a workspace to the workspace, whose settings hold there too."""

    def load(self, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Config:
        extra = env or {}
        cwd = self.origin_of(cwd) if cwd else None
        frozen = Frozen.current()
        if frozen is None or cwd != frozen.workspace or extra not in ({}, frozen.env):
            return self._load(cwd, extra)
        if _FROZEN not in frozen.found:
            frozen.found[_FROZEN] = self._load(cwd, frozen.env)
        return frozen.found[_FROZEN]

    def freeze(self, workspace: Path, env: Mapping[str, str]) -> Frozen:
        """The settings of a turn: those of the environment of whoever sent the message."""
        frozen = Frozen(self.origin_of(workspace), dict(env))
        # What cannot be read is told where it is needed.
        with suppress(OpenAgentError):
            frozen.found[_FROZEN] = self.load(workspace, env)
        return frozen

    def _load(self, cwd: Path | None, extra: Mapping[str, str]) -> Config:
        key = (str(cwd or ""), tuple(sorted(extra.items())))
        cached = self._cache.get(key)
        now = time.monotonic()
        if cached is not None and now - cached.checked < RECHECK_SECONDS:
            return cached.config
        merged = {**self._env, **extra}
        stamp = self._stamp(merged, cwd)
        if cached is not None and cached.stamp == stamp:
            loaded = cached.config
        else:
            loaded = load(merged, cwd, trusted=self.trust.trusts)
        self._cache[key] = _Cached(loaded, stamp, now)
        if key == _THE_DAEMONS:
            self._at_start = self._at_start or loaded
        return loaded

    def look_again(self) -> None:
        """At the files, whenever that was last done."""
        self._cache = {key: cached._replace(checked=-math.inf) for key, cached in self._cache.items()}

    def forget(self) -> None:
        """A folder has become trusted, or is so no longer."""
        self._cache.clear()

    def show(self, cwd: str, env: dict[str, str]) -> ConfigList:
        self.look_again()
        loaded = self.load(Path(cwd) if cwd else None, env)
        waiting = not_in_force(loaded, self.load(), self._at_start or self.load())
        return ConfigList(values=loaded.values(), files=loaded.files, notes=loaded.notes + waiting)

    def waits_for_a_start(self, key: str) -> bool:
        return is_one_of(key, AT_START)

    def environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        return {**self._env, **extra}

    def project_folder(self, workspace: Path) -> Path:
        return project_folder(self.origin_of(workspace), self._env)

    def session_settings(self, cwd: Path, env: Mapping[str, str]) -> SessionSettings:
        settings, usual = self.load(cwd, env).settings, self.load().settings.budget
        usd, tokens = settings.budget.session_usd, settings.budget.session_tokens
        return SessionSettings(
            model=settings.model,
            mode=settings.usual_mode,
            max_steps=settings.limits.max_steps,
            turn_timeout=settings.limits.turn_timeout,
            disabled_tools=list(dict.fromkeys([*settings.tools.disabled, *settings.tools.off])),
            # A cap that all sessions have is not written into each, so that it can be changed for all of them.
            budget_usd=None if usd == usual.session_usd else usd,
            budget_tokens=None if tokens == usual.session_tokens else tokens,
            label=settings.label,
        )

    def ask_timeout(self, workspace: Path) -> float:
        return self.load(workspace).settings.limits.ask_timeout

    def away_timeout(self, workspace: Path) -> float:
        return self.load(workspace).settings.limits.away_timeout

    def notices(self, workspace: Path) -> list[ErrorInfo]:
        """What of a project's own settings was left out, and what of it, or of a client's variables, nobody goes by."""
        try:
            self.look_again()  # two that were looked at in different seconds would differ by what was written between
            loaded, daemons = self.load(workspace), self.load()
            told = [*loaded.untrusted, *not_in_force(loaded, daemons, daemons)]
            return [ErrorInfo("config_error", note) for note in told]
        except OpenAgentError as problem:
            return [problem.info]

    def _stamp(self, env: Mapping[str, str], cwd: Path | None) -> object:
        project = find_project_file(cwd, env) if cwd else None
        if project is None or project.path is None:
            return stamp_of(Path(locations.config_file(env)))
        return stamp_of(Path(locations.config_file(env)), project.path), self.trust.trusts(project.folder)


def stamp_of(*files: Path) -> tuple[Stamp, ...]:
    """Equal as long as the files are the same; zeros for one that is not there."""
    return tuple(_stamp_of_file(file) for file in files)


def _stamp_of_file(file: Path) -> Stamp:
    try:
        status = os.stat(file)
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_size, status.st_ino
