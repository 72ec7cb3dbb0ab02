"""The folders in which people and projects keep what they add."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from openagent.config import opencode, peers
from openagent.config.cache import ConfigCache
from openagent.config.plugin_folders import PluginFolder, installed
from openagent.config.project import project_folder, reach
from openagent.config.trust import FOLDER
from openagent.protocol import locations
from openagent.protocol.customizing import Origin

MAX_FILES = 500
MAX_DEPTH = 6


class CustomFolder(Struct, frozen=True):
    """A folder of skills or commands."""

    folder: Path
    origin: Origin
    within: Path | None
    """What no link may lead out of; None for a person's own, who may keep theirs anywhere."""
    plugin: str = ""
    """Whose it is, and what its names begin with."""

    def named(self, name: str) -> str:
        return f"{self.plugin}:{name}" if self.plugin else name


class CustomFolders:
    def __init__(self, configs: ConfigCache) -> None:
        self.configs = configs
        env = configs.environment({})
        self._env = env
        self.own = Path(locations.config_file(env)).parent
        """The person's folder."""
        self.home = Path(env.get("HOME") or os.path.expanduser("~"))

    def plugins(self, problems: list[str] | None = None) -> list[PluginFolder]:
        return [*installed(self._env, problems)]

    def opencode_files(self, workspace: Path | None) -> list[tuple[Path, Origin]]:
        """Its configuration, in which commands may stand."""
        found: list[tuple[Path, Origin]] = [(file, "user") for file in opencode.at_home(self._env)]
        for folder in self.upwards(workspace) if workspace else ():
            if folder != self.home:
                found.extend((file, "project") for file in opencode.in_project(folder))
        return found

    def project(self, workspace: Path) -> Path:
        return project_folder(workspace, self._env)

    def trusts(self, workspace: Path) -> bool:
        return self.configs.trust.trusts(self.project(workspace))

    def upwards(self, workspace: Path) -> list[Path]:
        """From the workspace to the root of its repository; outside of one, the workspace alone: a home directory holds
        more than one project, and much that is none of theirs."""
        above = reach(workspace, self._env)
        return above if (above[-1] / ".git").exists() else above[:1]

    def holding(self, workspace: Path | None, kind: Literal["skills", "commands"]) -> list[CustomFolder]:
        """The person's own first: a name of theirs is theirs. Then the nearest. Ours before those of other agents."""
        found = [CustomFolder(place, "user", None) for place in (self.own / kind, *peers.at_home(self._env, kind))]
        for plugin in installed(self._env):
            found += [CustomFolder(place, "user", plugin.folder, plugin.name) for place in plugin.places(kind)]
        for folder in self.upwards(workspace) if workspace else ():
            theirs = peers.in_project(folder, kind) if folder != self.home else ()
            found += [CustomFolder(place, "project", folder) for place in (folder / FOLDER / kind, *theirs)]
        return [custom for custom in found if custom.folder.is_dir()]


def files_below(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """In order; links to folders are not followed."""
    count = 0
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(Path(here).relative_to(folder).parts) >= MAX_DEPTH:
            folders.clear()
        for name in sorted(names):
            if name.endswith(endings):
                count += 1
                if count > MAX_FILES:
                    return
                yield Path(here, name)
