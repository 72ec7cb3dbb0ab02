"""Finding and loading plugins: installed packages that name what they add as entry points.

    [project.entry-points."openagent.tools"]
    word_count = "my_package.tools:word_count"

Nothing is loaded before it is needed, and a plugin that cannot be loaded is a sentence in a list, not the end of
anything.
"""

import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from msgspec import Struct

from openagent.plugins.collector import Collector
from openagent.plugins.jail import BackgroundCommand, Jail
from openagent.plugins.provider import Provider
from openagent.plugins.tool import Tool, touched
from openagent.protocol.about import About
from openagent.protocol.customizing import Plugin
from openagent.protocol.errors import OpenAgentError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PluginKind = Literal["tools", "providers", "collectors", "jails", "commands"]
KINDS: tuple[PluginKind, ...] = get_args(PluginKind)
_log = logging.getLogger(__name__)


class ProviderOptions(Struct, frozen=True):
    """What a provider of a plugin is made from: its table in the settings."""

    name: str
    """The part before the slash in a model's name."""
    api_key: str = ""
    base_url: str = ""
    headers: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"ProviderOptions(name={self.name!r}, base_url={self.base_url!r})"


class JailOptions(Struct, frozen=True):
    """What a jail of a plugin is made from: `[jail]` in the settings."""

    network: Literal["off", "ask", "on"] | list[str]
    memory: int
    processes: int
    hidden: Sequence[Path]
    """What no command may see."""
    scratch: Path
    """Holds a directory for each session, for long output."""
    background_after: float
    on_background_end: Callable[[str, BackgroundCommand], None]


ProviderFactory = Callable[[ProviderOptions], Provider]
JailFactory = Callable[[JailOptions], Jail]


class PluginLoader:
    def __init__(self) -> None:
        self._entries: dict[PluginKind, list[EntryPoint]] = {}
        self._tools: list[Tool] | None = None

    def names(self, kind: PluginKind) -> list[str]:
        return [entry.name for entry in self._of(kind)]

    def provider(self, name: str) -> ProviderFactory:
        return cast("ProviderFactory", self._load("providers", name))

    def jail(self, name: str) -> JailFactory:
        return cast("JailFactory", self._load("jails", name))

    def collector(self, name: str) -> Collector:
        return _collector(self._load("collectors", name))

    def tools(self, taken: Sequence[str]) -> list[Tool]:
        """All of them, loaded once. `taken`: names that a plugin cannot have."""
        if self._tools is None:
            names = set(taken)
            self._tools = []
            for entry in self._of("tools"):
                try:
                    offered = _tools(_loaded(entry), entry)
                except OpenAgentError as problem:
                    _log.warning("plugin not loaded", extra={"plugin": entry.name, "reason": problem.info.message})
                    continue
                for tool in offered:
                    if tool.name not in names:
                        names.add(tool.name)
                        self._tools.append(tool)
        return self._tools

    def examine(self, taken: Sequence[str]) -> list[Plugin]:
        """Every plugin, loaded, and what is wrong with it. New sessions have what was installed meanwhile."""
        importlib.invalidate_caches()
        found: dict[PluginKind, list[EntryPoint]] = {kind: _entry_points(kind) for kind in KINDS}
        if found["tools"] != self._of("tools"):
            self._tools = None
        self._entries = found
        return [self._examined(kind, entry, taken) for kind in KINDS for entry in self._of(kind)]

    def _examined(self, kind: PluginKind, entry: "EntryPoint", taken: Sequence[str]) -> Plugin:
        offers: list[str] = []
        error = ""
        try:
            loaded = _loaded(entry)
            match kind:
                case "tools":
                    offers = [tool.name for tool in _tools(loaded, entry)]
                    if clashing := [name for name in offers if name in taken]:
                        error = f"There is a tool {clashing[0]!r} already."
                case "collectors":
                    offers = [_collector(loaded).name]
                case "providers" | "jails":
                    if not callable(loaded):
                        error = "It is no function."
                case "commands":
                    if not hasattr(loaded, "main"):
                        error = "It is no click command."
        except OpenAgentError as problem:
            error = problem.info.message
        package = entry.dist
        return Plugin(
            kind,
            entry.name,
            entry.value,
            package.name if package else "",
            package.version if package else "",
            offers,
            error,
        )

    def _of(self, kind: PluginKind) -> "list[EntryPoint]":
        if kind not in self._entries:
            self._entries[kind] = _entry_points(kind)
        return self._entries[kind]

    def _load(self, kind: PluginKind, name: str) -> object:
        entry = next((entry for entry in self._of(kind) if entry.name == name), None)
        if entry is None:
            known = ", ".join(self.names(kind)) or "none"
            raise OpenAgentError(
                "config_error",
                f"There is no plugin {name!r} among the {kind}.",
                hint=f"Installed ones: {known}. `openagent plugins list` shows all.",
            )
        return _loaded(entry)


class Collectors(Mapping[str, Collector]):
    """The built-in ones, and those of plugins when they are asked for."""

    def __init__(self, built_in: Mapping[str, Collector], loader: PluginLoader) -> None:
        self._known = dict(built_in)
        self._loader = loader

    def __getitem__(self, name: str) -> Collector:
        if name not in self._known:
            if name not in self._loader.names("collectors"):
                raise KeyError(name)
            self._known[name] = self._loader.collector(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._known, *self._loader.names("collectors")]))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _entry_points(kind: PluginKind) -> "list[EntryPoint]":
    if not _some_package_has("openagent."):
        return []
    from importlib.metadata import entry_points

    return sorted(entry_points(group=f"openagent.{kind}"), key=lambda entry: entry.name)


def _some_package_has(group: str) -> bool:
    """Whether asking properly is worth it: `importlib.metadata` takes 25 ms of every daemon's start, this 1 ms.

    What is not a plain folder of packages is not looked into, and so is worth it.
    """
    heading = f"[{group}".encode()
    for folder in filter(None, sys.path):
        try:
            named = [each.path for each in os.scandir(folder) if each.name.endswith((".dist-info", ".egg-info"))]
        except FileNotFoundError:
            continue
        except OSError:
            return True
        for package in named:
            try:
                with open(os.path.join(package, "entry_points.txt"), "rb") as file:
                    if heading in file.read():
                        return True
            except (FileNotFoundError, NotADirectoryError):
                continue
    return False


def _loaded(entry: "EntryPoint") -> object:
    try:
        return entry.load()
    except (Exception, SystemExit) as problem:  # the plugin boundary: whatever it does, the daemon goes on
        raise OpenAgentError(
            "config_error",
            f"The plugin {entry.name!r} ({entry.value}) cannot be loaded: {type(problem).__name__}: {problem}",
            hint="Correct or uninstall its package.",
        ) from None


def _made(loaded: object, entry_name: str) -> object:
    """Called when it is a function or a class."""
    if not callable(loaded):
        return loaded
    try:
        return cast("Callable[[], Any]", loaded)()
    except Exception as problem:  # the plugin boundary
        raise OpenAgentError(
            "config_error", f"The plugin {entry_name!r} failed: {type(problem).__name__}: {problem}"
        ) from None


def _tools(loaded: object, entry: "EntryPoint") -> list[Tool]:
    made = _made(loaded, entry.name)
    listed = list(cast("Sequence[object]", made)) if isinstance(made, list | tuple) else [made]
    for each in listed:
        if not all(hasattr(each, name) for name in ("name", "schema", "effect", "run", "check", "summarize")):
            raise OpenAgentError("config_error", f"The plugin {entry.name!r} offers something that is no tool.")
        if not hasattr(each, "about"):
            cast("Any", each).about = About()
        if not hasattr(each, "touches"):
            cast("Any", each).touches = partial(touched, about=cast("Tool", each).about)
        if hasattr(each, "source"):
            cast("Any", each).source = entry.dist.name if entry.dist else entry.name
    return cast("list[Tool]", listed)


def _collector(loaded: object) -> Collector:
    made = _made(loaded, "collector")
    if not hasattr(made, "collect") or not isinstance(getattr(made, "name", None), str):
        raise OpenAgentError("config_error", "The plugin offers something that is no collector.")
    return cast("Collector", made)
