"""Where names of Linux's own may stand: beside a way around them, or where nothing but Linux comes."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platforms.test_macos import WITHOUT_LINUX

SOURCES = Path(__file__).parents[2] / "src" / "openagent"
_MODULES = ("os", "socket", "select", "signal", "fcntl", "resource", "time")
_PLACES = ("/proc", "/sys/", "/dev/shm")

GUARDED = {
    "cli/process.py": "pidfd_open, where there is one",
    "daemon/live_metrics.py": "/proc, or else ps and vm_stat",
    "client/launch.py": "/proc/self/fd, or else /dev/fd",
    "filesystem/beneath.py": "/proc/self/fd, where there is O_PATH",
    "filesystem/handles.py": "it is the one that knows",
    "gateway/ipc.py": "SO_PEERCRED, or else LOCAL_PEERCRED",
    "jail/engine.py": "/proc, to see whether the engine is on this machine",
    "jail/processes.py": "/proc, or else ps",
    "jail/shell_enclosure.py": "pidfd_open, or else a thread; /dev/shm, or else the temporary folder",
    "tui/open_tabs.py": "/proc, or else a signal that does nothing",
    "workspace/copying.py": "/proc/self/mountinfo for overlays, which only Linux has",
    "workspace/git_guard.py": "/proc/self/status, or else nothing is taken for granted",
    "workspace/inotify.py": "Unwatchable says that there is none, and every look compares everything",
    "workspace/watch.py": "the same",
}
LINUX_ALONE = {
    "jail/bwrap.py": "bubblewrap",
    "jail/mounts.py": "bubblewrap's mounts",
    "jail/ports.py": "enters a network namespace",
    "jail/reading.py": "landlock, inside a jail of bubblewrap",
    "jail/wall_repair.py": "enters a mount namespace",
    "jail/limits.py": "control groups",
}
WORDS = {
    "bash/reading.py": "what bash means",
    "jail/container.py": "inside a container",
    "jail/far_container.py": "inside a container",
    "jail/walls.py": "folders that are no workspace",
    "plugins/places.py": "folders that are no workspace",
    "policy/": "what commands name",
    "safety/server_places.py": "inside a jail of bubblewrap",
}


@functools.cache
def _linux_names() -> dict[str, set[str]]:
    """By module, as the tests' macOS takes them away."""
    source = (Path(WITHOUT_LINUX) / "sitecustomize.py").read_text()
    table = next(
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "NAMES"
    )
    assert isinstance(table, ast.Dict)
    return {
        ast.unparse(module): set(str(ast.literal_eval(names)).split())
        for module, names in zip(table.keys, table.values, strict=True)
        if module is not None
    }


def _found(path: Path) -> Iterator[str]:
    names = _linux_names()
    tree = ast.parse(path.read_text())
    words = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in names.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module in _MODULES:
            yield from (f"{node.module}.{each.name}" for each in node.names if each.name in names.get(node.module, ()))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in words:
            text = node.value if isinstance(node.value, str) else node.value.decode(errors="replace")
            if text.startswith(_PLACES):
                yield text
            elif "CDLL(" in text or "/proc/" in text:
                yield text.strip().splitlines()[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("CDLL"):
            yield "ctypes.CDLL"


_CDLL_CHECKED = {
    "daemon/heap.py": "glibc's own, where they are",
    "filesystem/resolving.py": "openat2, on Linux alone",
    "jail/host.py": "prctl, on Linux alone",
}


def test_names_of_linux_stand_only_where_they_are_known_to() -> None:
    known = (*GUARDED, *LINUX_ALONE, *WORDS, *_CDLL_CHECKED)
    unknown: dict[str, list[str]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        place = str(path.relative_to(SOURCES))
        is_known = any(place == each or (each.endswith("/") and place.startswith(each)) for each in known)
        if not is_known and (found := sorted(set(_found(path)))):
            unknown[place] = found
    assert not unknown, "give these a way around, and name it here"


@pytest.mark.parametrize("place", [*GUARDED, *LINUX_ALONE, *_CDLL_CHECKED])
def test_no_place_is_named_that_needs_it_no_more(place: str) -> None:
    assert list(_found(SOURCES / place))
