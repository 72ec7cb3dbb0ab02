"""The folders in which people and projects keep what they add."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from openagent.config.cache import ConfigCache
from openagent.config.project import project_folder, reach
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


class CustomFolders:
    def __init__(self, configs: ConfigCache) -> None:
        self.configs = configs
        env = configs.environment({})
        self._env = env
        self.own = Path(locations.config_file(env)).parent
        """The person's folder."""
        self.home = Path(env.get("HOME") or os.path.expanduser("~"))

    def project(self, workspace: Path) -> Path:
        return project_folder(workspace, self._env)

    def trusts(self, workspace: Path) -> bool:
        return self.configs.trust.trusts(self.project(workspace))

    def upwards(self, workspace: Path) -> list[Path]:
        """From the workspace to the root of its repository; outside of one, the workspace alone: a home directory holds
        more than one project, and much that is none of theirs."""
        above = reach(workspace, self._env)
        return above if (above[-1] / ".git").exists() else above[:1]

    def holding(self, workspace: Path | None, name: str) -> list[CustomFolder]:
        """The person's own first: a name of theirs is theirs. Then the nearest."""
        found = [CustomFolder(self.own / name, "user", None)]
        for folder in self.upwards(workspace) if workspace else ():
            found += [CustomFolder(folder / kind / name, "project", folder) for kind in (".openagent", ".claude")]
        return [custom for custom in found if custom.folder.is_dir()]


def markdown_below(folder: Path) -> Iterator[Path]:
    """In order; links to folders are not followed."""
    count = 0
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(Path(here).relative_to(folder).parts) >= MAX_DEPTH:
            folders.clear()
        for name in sorted(names):
            if name.endswith(".md"):
                count += 1
                if count > MAX_FILES:
                    return
                yield Path(here, name)
