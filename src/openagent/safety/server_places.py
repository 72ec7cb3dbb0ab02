"""Where an MCP server's program lies, and what of this machine it finds in the jail.

Whoever writes an entry into their own files names a program and folders: their word is enough for it to be read. A
project's file says nothing about what lies outside the project.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.jail.openings import why_not
from openagent.jail.toolchains import SYSTEM, find_toolchains, program_folders
from openagent.jail.walls import home_directories
from openagent.plugins.jail import ProgramPlaces
from openagent.protocol.errors import OpenAgentError
from openagent.safety.plugin_copies import plugin_copy
from openagent.tools.mcp.definitions import PROJECT_FILES, WORKSPACE_FOLDER, ServerDefinition, fetches_program

_BESIDE_PATH = (
    ".local/bin",
    ".npm-global/bin",
    ".bun/bin",
    ".deno/bin",
    ".cargo/bin",
    "go/bin",
    ".volta/bin",
    ".local/share/pnpm",
)
"""Below the home directory: where programs are installed to that a daemon may not have on its PATH."""
_IN_PROJECT = ("node_modules/.bin", ".venv/bin", "venv/bin")
_PATH_IN_WORDS = re.compile(r"(?<![\w:/])~?/[\w.@+~/-]*[\w@+~-]")
_ONLY_READ = ("EROFS", "ead-only file system")


class ServerStart(Struct, frozen=True):
    argv: list[str]
    env: dict[str, str]
    places: ProgramPlaces


def is_of_project(definition: ServerDefinition, workspace: Path) -> bool:
    source = Path(definition.source)
    around = (workspace, *workspace.parents)
    return source.name in PROJECT_FILES and (source.parent in around or workspace in source.parents)


def start_of(definition: ServerDefinition, workspace: Path, caches: Path, hidden: Sequence[Path]) -> ServerStart:
    """Raises OpenAgentError where there is no such program, or a folder cannot be let in."""
    filled = _filled(definition, workspace)
    copy = str(plugin_copy(Path(filled.plugin), caches / "plugins")) if filled.plugin else ""
    if copy:
        filled = _in_copy(filled, copy)
    program = _program(filled.command, workspace)
    theirs = is_of_project(definition, workspace)
    cwd = str(workspace / os.path.expanduser(filled.cwd)) if filled.cwd else ""
    named = [] if theirs else [program, *_paths_in(filled.args), *([cwd] if cwd else [])]
    env = dict(filled.env)
    if program.startswith("/") and not _is_below(program, SYSTEM):
        env.setdefault("PATH", os.pathsep.join([os.path.dirname(program), _jail_path()]))
    own = ""
    if fetches_program(filled):
        own = _own_folder(caches, definition)
        env = {**kept_in(own), **env}
    places = ProgramPlaces(
        readable=tuple(sorted({*_readable(named, workspace, hidden), *([copy] if copy else [])})),
        folders=tuple(_let_in(filled, workspace, hidden, theirs=theirs)),
        own=own,
        cwd=cwd,
    )
    return ServerStart([program, *filled.args], env, places)


def hidden_words(definition: ServerDefinition, workspace: Path, said: str) -> str:
    """What a server that did not start may have missed: for people, empty where nothing is known."""
    filled = _filled(definition, workspace)
    shown = [str(workspace), *SYSTEM, "/dev", "/proc", *_shown_to(filled, workspace)]
    words = [*_paths_in([filled.command, *filled.args, *filled.env.values()]), *_PATH_IN_WORDS.findall(said)]
    missing = [path for path in map(os.path.expanduser, words) if os.path.exists(path) and not _is_below(path, shown)]
    if missing:
        folder = missing[0] if os.path.isdir(missing[0]) else os.path.dirname(missing[0])
        return (
            f"{missing[0]} is on this machine, but the jail hides it. {_how_to_let_in(definition, workspace, folder)}"
        )
    if any(mark in said for mark in _ONLY_READ):
        kept = next((path for path in words if path.startswith("/") and not _is_below(path, [str(workspace)])), "")
        folder = kept if os.path.isdir(kept) else os.path.dirname(kept)
        where = f"{kept} can only be read in the jail. " if kept else "It can write in the workspace alone. "
        return where + (_how_to_let_in(definition, workspace, f"{folder}:rw") if folder else "")
    return ""


def _how_to_let_in(definition: ServerDefinition, workspace: Path, folder: str) -> str:
    if is_of_project(definition, workspace):
        return f'An entry of your own lets it in: `openagent mcp add {definition.name} --folder "{folder}" …`.'
    where = f"{folder.removesuffix(':rw')} --write" if folder.endswith(":rw") else folder
    allow = f"`openagent mcp allow {definition.name} {where}`"
    return f'`"folders": ["{folder}"]` in its entry lets it in, and so does {allow}.'


def _filled(definition: ServerDefinition, workspace: Path) -> ServerDefinition:
    def fill(text: str) -> str:
        return text.replace(f"${{{WORKSPACE_FOLDER}}}", str(workspace))

    return msgspec.structs.replace(
        definition,
        command=fill(definition.command),
        args=[fill(each) for each in definition.args],
        env={key: fill(value) for key, value in definition.env.items()},
        cwd=fill(definition.cwd),
        folders=[fill(each) for each in definition.folders],
    )


def _in_copy(filled: ServerDefinition, copy: str) -> ServerDefinition:
    """The plugin that brings it lies among what decides about agents, which no jail sees: it runs from a copy."""

    def moved(text: str) -> str:
        return text.replace(filled.plugin, copy)

    return msgspec.structs.replace(
        filled,
        command=moved(filled.command),
        args=[moved(each) for each in filled.args],
        env={**{key: moved(value) for key, value in filled.env.items()}, "CLAUDE_PLUGIN_ROOT": copy},
        cwd=moved(filled.cwd),
        folders=[moved(each) for each in filled.folders],
    )


# The program


def _program(command: str, workspace: Path) -> str:
    """With its whole path where the jail's PATH would not lead to it."""
    if "/" in command:
        return os.path.expanduser(command)
    if shutil.which(command, path=_jail_path()):
        return command
    beside = [home / folder for home in home_directories() for folder in _BESIDE_PATH]
    for folder in [*(workspace / each for each in _IN_PROJECT), *beside]:
        if os.access(folder / command, os.X_OK):
            return str(folder / command)
    raise OpenAgentError(
        "jail_error",
        f"There is no program {command!r}: not on the daemon's PATH, not in the project, not in ~/.local/bin.",
        hint="Install it, or give its whole path.",
    )


def _jail_path() -> str:
    return find_toolchains(os.environ, home_directories()).path


def _paths_in(words: Iterable[str]) -> list[str]:
    """`/x`, `~/x`, `--flag=/x` and `file:///x`."""
    ends = (word.partition("=")[2] if word.startswith("-") and "=" in word else word for word in words)
    paths = (os.path.expanduser(end.removeprefix("file://")) for end in ends)
    return [path for path in paths if path.startswith("/") and len(path) > 1]


def _readable(named: Iterable[str], workspace: Path, hidden: Sequence[Path]) -> set[str]:
    homes = home_directories()
    found = {
        folder
        for path in named
        if path.startswith("/") and os.path.exists(path) and not _is_below(path, [str(workspace)])
        for folder in program_folders(path, homes)
    }
    return {folder for folder in found if not why_not("folder", folder, hidden, os.environ)}


def _shown_to(filled: ServerDefinition, workspace: Path) -> set[str]:
    """Of what is outside the workspace."""
    toolchains = find_toolchains(os.environ, home_directories()).readable
    named = [] if is_of_project(filled, workspace) else [filled.command, *_paths_in(filled.args)]
    folders = [each.removesuffix(":rw").removesuffix(":ro") for each in filled.folders]
    plugin = [filled.plugin] if filled.plugin else []
    return {*toolchains, *_readable(named, workspace, ()), *map(os.path.expanduser, folders), *plugin}


# Folders


def _let_in(
    filled: ServerDefinition, workspace: Path, hidden: Sequence[Path], *, theirs: bool
) -> Iterable[tuple[str, bool]]:
    for given in filled.folders:
        path = os.path.expanduser(given.removesuffix(":rw").removesuffix(":ro"))
        if _is_below(path, [str(workspace)]) or not path.startswith("/"):
            continue
        if theirs:
            raise OpenAgentError(
                "permission_denied",
                f"A project's file cannot let {path} in",
                hint="Write the server into an entry of your own, with `openagent mcp add`.",
            )
        writable = given.endswith(":rw")
        if why := why_not("folder_write" if writable else "folder", path, hidden, os.environ):
            raise OpenAgentError("jail_error", f"The folder {path} cannot be let in: {why}", hint="Change its entry.")
        yield os.path.realpath(path), writable


def _own_folder(caches: Path, definition: ServerDefinition) -> str:
    """What it fetched once need not be fetched at every start. No other server reads or writes it."""
    who = msgspec.json.encode([definition.name, definition.command, definition.args])
    folder = caches / f"{definition.name}-{hashlib.sha256(who).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(folder)


def kept_in(folder: str) -> Mapping[str, str]:
    """Where programs that fetch others put them, which would be gone with the jail elsewhere."""
    return {
        "npm_config_cache": f"{folder}/npm",
        "UV_CACHE_DIR": f"{folder}/uv",
        "UV_TOOL_DIR": f"{folder}/uv-tools",
        "UV_PYTHON_INSTALL_DIR": f"{folder}/uv-python",
        "BUN_INSTALL_CACHE_DIR": f"{folder}/bun",
        "PIPX_HOME": f"{folder}/pipx",
        "DENO_DIR": f"{folder}/deno",
    }


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
