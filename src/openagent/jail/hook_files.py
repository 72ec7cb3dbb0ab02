"""Which files of a workspace the person's own hooks run, whether the hooks call them or a hook manager does.

A hook that a person installed stands behind a wall, and is often only a line that runs what lies in the work tree:
`.husky/pre-commit`, what `lefthook.yml` names, a script. Whoever writes those decides what the next commit runs.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from openagent.plugins.worktrees import common_directory

_KINDS = ("yml", "yaml", "json", "jsonc", "toml")
_LEFTHOOK = tuple(
    f"{place}{local}.{kind}"
    for place in ("lefthook", ".lefthook", ".config/lefthook")
    for local in ("", "-local")
    for kind in _KINDS
)
_MANAGERS: dict[re.Pattern[str], tuple[str, ...]] = {
    re.compile(r"lefthook"): (*_LEFTHOOK, ".lefthook", ".lefthook-local"),
    re.compile(r"pre[-_]commit\b.*hook-impl|hook-impl\b.*pre[-_]commit|-mpre_commit|\bprek\b", re.DOTALL): (
        ".pre-commit-config.yaml",
        ".pre-commit-config.yml",
        "prek.toml",
    ),
}
"""By what a hook that one of them installed says: what it reads, from the top of the work tree."""
_CONFIG = re.compile(r"--config[= ]['\"]?([^\s'\")]+)")
_BETWEEN_WORDS = re.compile(r"[\s\"'`!;&|()<>\[\]{},=]+")
_VARIABLE = re.compile(r"^\$\{?\w+\}?/")
_RUNS_THE_NEXT = re.compile(
    r"(?:ba|da|z|k)?sh|python[\d.]*|node|deno|bun|tsx|ruby|perl|php|lua|env|exec|source|run|\.", re.ASCII
)
_OTHERS_PACKAGES = frozenset(("node_modules", ".venv", "venv"))
_LARGEST = 1 << 16
_MOST = 64


def run_by_hooks(workspace: Path, hooks_paths: Sequence[str]) -> list[Path]:
    """`hooks_paths` are what the person's settings say of `core.hooksPath`. Files of packages are left out: a package
    manager replaces them, which a wall would keep it from."""
    top = next((folder for folder in (workspace, *workspace.parents) if os.path.lexists(folder / ".git")), None)
    if top is None:
        return []
    found: dict[Path, None] = {}
    for folder in _hook_folders(top, hooks_paths):
        if folder.name == "_" and folder.parent != top:
            found[folder.parent] = None  # husky's own hooks run those beside their folder
        for hook in _entries(folder):
            if hook.suffix != ".sample" and _is_program(hook):
                found |= dict.fromkeys(_read_by(top, _text(hook)))
    _follow(top, found)
    return [path for path in found if _is_below(path, workspace)]


def may_be_awaited(path: Path) -> bool:
    """Told from its name, which takes no time."""
    return path.name.startswith(("lefthook", ".lefthook", ".pre-commit-config", "prek.toml"))


def is_awaited(workspace: Path, path: Path, hooks_paths: Sequence[str]) -> bool:
    """Whether a manager of the person's hooks reads it, now that it is there."""
    hooks = "\n".join(_text(hook) for folder in _hook_folders(workspace, hooks_paths) for hook in _entries(folder))
    names = {name for told, of_manager in _MANAGERS.items() if told.search(hooks) for name in of_manager}
    return any(path == workspace / name or workspace / name in path.parents for name in names)


def _hook_folders(top: Path, hooks_paths: Sequence[str]) -> Iterator[Path]:
    dot_git = top / ".git"
    yield (common_directory(dot_git) or dot_git) / "hooks"
    for path in hooks_paths:
        folder = Path(os.path.normpath(top / os.path.expanduser(path)))
        if path and folder != top:
            yield folder


def _read_by(top: Path, hook: str) -> Iterator[Path]:
    names = [name for told, of_manager in _MANAGERS.items() if told.search(hook) for name in of_manager]
    for name in (*names, *_CONFIG.findall(hook)):
        path = _normal(top / name)
        if _is_below(path, top) and path.exists():
            yield path
    yield from _scripts(top, hook)


def _follow(top: Path, found: dict[Path, None]) -> None:
    """What these run in turn."""
    ahead = list(found)
    while ahead and len(found) < _MOST:
        path = ahead.pop()
        for file in _entries(path) if path.is_dir() else (path,):
            if file.is_file():
                new = [script for script in _scripts(top, _text(file)) if script not in found]
                found |= dict.fromkeys(new)
                ahead += new


def _scripts(top: Path, text: str) -> Iterator[Path]:
    """Files of the work tree that a text seems to run: they are programs, or are given to an interpreter."""
    before = ""
    for word in _BETWEEN_WORDS.split(text):
        path = _normal(top / _VARIABLE.sub("", word)) if word and len(word) < 1000 and "\0" not in word else top
        inside = _is_below(path, top) and _OTHERS_PACKAGES.isdisjoint(path.relative_to(top).parts)
        if inside and path.is_file() and (_RUNS_THE_NEXT.fullmatch(before) or _is_program(path)):
            yield path
        if not word.startswith("-"):
            before = word.rpartition("/")[2] if word != "." else word


def _is_program(path: Path) -> bool:
    return path.is_file() and (os.access(path, os.X_OK) or _text(path, 2) == "#!")


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())[:_MOST]
    except OSError:
        return []


def _text(path: Path, most: int = _LARGEST) -> str:
    try:
        with path.open("rb") as file:
            return file.read(most).decode(errors="replace")
    except OSError:
        return ""


def _is_below(path: Path, folder: Path) -> bool:
    return folder in path.parents and ".git" not in path.relative_to(folder).parts


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))
