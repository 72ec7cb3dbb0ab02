"""What one shell hands to the next: directory, variables, functions, aliases, options and the file mask.

Processes, open files and traps cannot be handed over.
"""

import contextlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openagent.filesystem.atomic_files import replace_file

DUMP_SETTINGS = b"\\builtin declare -p; \\builtin umask -p"
DUMP_FUNCTIONS = b"\\builtin declare -f; \\builtin export -pf; \\builtin alias -p"
_FILE = "shell-state"
_KEPT_ON_DISK = 1024 * 1024
_NAME = re.compile(rb"declare -\S+ (\w+)")
_OPTIONS = re.compile(rb'^declare -\S+ (BASHOPTS|SHELLOPTS)="(.*)"$', re.MULTILINE)
_NOT_HANDED_OVER = re.compile(
    rb"declare -\S+ (?:BASH\w*|COMP_WORDBREAKS|DIRSTACK|EPOCH\w+|E?UID|FUNCNAME|GROUPS|HISTCMD|LINENO|PIPESTATUS|PPID|"
    rb"PWD|S?RANDOM|SECONDS|SHELLOPTS|SHLVL|_|_oa\w*)(?:=|$)"
)
"""Bash's own, which it sets itself."""
_OLDPWD = re.compile(rb"^declare -\S+ OLDPWD(?:=.*)?\n", re.MULTILINE)
_CANNOT_BE_SET = frozenset((b"login_shell", b"restricted_shell"))
_EXPORTED = re.compile(rb"""declare -x (\w+)=(?:"(?:[^"\\$`]|\\.)*"|\$'(?:[^'\\]|\\.)*')""")
"""A plain one: no number, list or other name for a variable."""


class ShellState(Struct, frozen=True):
    directory: str
    settings: bytes = b""
    """Variables, options and the file mask, where they are not those of a new shell: bash text."""
    functions: bytes = b""
    """Functions and aliases: bash text."""
    is_plain: bool = False
    """An earlier shell had more, which was not to go on."""

    @property
    def script(self) -> bytes:
        """To be read by a new shell. What changes how bash goes on reading comes last."""
        lines = self.settings.splitlines(keepends=True)
        late = [line for line in lines if line.startswith(b"set ")]
        others = [line for line in lines if not line.startswith(b"set ")]
        return b"".join((*others, self.functions, *late))

    def same_settings(self, other: "ShellState") -> bool:
        """But for where they were before."""
        mine, theirs = (_OLDPWD.sub(b"", state.settings) for state in (self, other))
        return mine == theirs and self.functions == other.functions

    @property
    def came_from(self) -> bytes:
        """Where `cd -` leads: bash text."""
        found = _OLDPWD.search(self.settings)
        return b"\\builtin " + found[0] if found else b""

    def plain(self, may_keep: Callable[[str], bool]) -> "ShellState":
        """The directory, and the exported variables that may be kept."""
        found = ((line, _EXPORTED.fullmatch(line)) for line in self.settings.split(b"\n"))
        kept = [line + b"\n" for line, exported in found if exported and may_keep(exported[1].decode())]
        return ShellState(self.directory, b"".join(kept), is_plain=True)

    def without_errexit(self) -> "ShellState":
        return replace(self, settings=self.settings.replace(b"set -o errexit\n", b""))


class NewShell:
    """What a shell is like before anything was run in it."""

    def __init__(self, settings: bytes) -> None:
        self._lines = frozenset(settings.split(b"\n"))
        self._options = _options(settings)

    def changed(self, settings: bytes) -> bytes:
        """Line by line: a value of several lines is on one of them, quoted, where bash is not older than 5.2."""
        lines = settings.split(b"\n")
        new = [line for line in lines if line not in self._lines and not _NOT_HANDED_OVER.match(line)]
        gone = _names(self._lines.difference(lines)) - _names(new)
        unset = [b"unset -v " + name for name in sorted(gone)]
        return b"".join(line + b"\n" for line in (*self._changed_options(settings), *unset, *new))

    def _changed_options(self, settings: bytes) -> list[bytes]:
        now = _options(settings)
        if now == self._options:
            return []
        changed: list[bytes] = []
        for variable, on, off in ((b"BASHOPTS", b"shopt -s ", b"shopt -u "), (b"SHELLOPTS", b"set -o ", b"set +o ")):
            before, after = (set(found.get(variable, b"").split(b":")) - {b""} for found in (self._options, now))
            changed += [on + name for name in sorted(after - before - _CANNOT_BE_SET)]
            changed += [off + name for name in sorted(before - after - _CANNOT_BE_SET)]
        return changed


def _options(settings: bytes) -> dict[bytes, bytes]:
    return {match[1]: match[2] for match in _OPTIONS.finditer(settings)}


def _names(lines: Iterable[bytes]) -> set[bytes]:
    found = (_NAME.match(line) for line in lines if not _NOT_HANDED_OVER.match(line))
    return {match[1] for match in found if match is not None}


def save(folder: Path, state: ShellState) -> None:
    """For the time after the daemon's end. It may hold what a command exported, so nobody else can read it."""
    data = msgspec.msgpack.encode(state)
    if len(data) > _KEPT_ON_DISK:
        data = msgspec.msgpack.encode(ShellState(state.directory))
    with contextlib.suppress(OSError):  # a full disk: the shell itself has all of it
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / _FILE, data, flush=False)


def load(folder: Path) -> ShellState | None:
    try:
        return msgspec.msgpack.decode((folder / _FILE).read_bytes(), type=ShellState)
    except (OSError, msgspec.DecodeError):
        return None


def make_plain(folder: Path, may_keep: Callable[[str], bool]) -> bool:
    """What is kept there is no more than a plain shell's. False: there was nothing more."""
    state = load(folder)
    if state is None or state == (plain := replace(state.plain(may_keep), is_plain=state.is_plain)):
        return False
    save(folder, replace(plain, is_plain=True))
    if load(folder) == state:  # it could not be written
        (folder / _FILE).unlink(missing_ok=True)
    return True


def kept_directory(folder: Path) -> str | None:
    state = load(folder)
    return state.directory if state is not None else None
