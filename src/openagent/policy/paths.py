"""Where a path leads, told from its text alone."""

import os.path
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from openagent.bash import UNKNOWN

Place = Literal[
    "null", "temporary", "workspace", "outside", "home", "unknown", "protected", "startup", "system", "device"
]
"""From the least to the most delicate. `protected`: in the workspace, yet it steers tools (.git, .openagent).
`startup`: what a shell or a login runs."""
SEVERITY: tuple[Place, ...] = get_args(Place)

_FILE = Path(__file__).with_name("places.toml")
_NULL = re.compile(r"/dev/(?:null|stdin|stdout|stderr|tty|zero|u?random|full|fd/\d+|pts/\d+)")
_DEVICE = re.compile(r"/dev/(?!shm/).+|/proc/kcore|/dev/mem")
_SYSTEM = re.compile(
    r"/(?:etc|usr|bin|sbin|lib|lib32|lib64|libx32|boot|sys|proc|dev|root/\.\.|System|Library|Windows)(?:/.*)?"
)
_GLOB = re.compile(r"[*?\[]")
_TOP_GLOB = re.compile(r"/[^/]*[*?\[]")
_HOME = re.compile(r"(?:~[^/]*|/root|/home/[^/]+|/Users/[^/]+)(?=/|$)")
_SECRET_NAME = re.compile(r"(?:.*/)?[^/]*(?:secret|credential|password|private[_-]?key)[^/]*(?:/.*)?", re.IGNORECASE)
_CRITICAL = re.compile(
    r"/|/[^/]+|(?:~[^/]*|/root|/home/[^/]+|/Users/[^/]+|/home|/Users)|/var/(?:lib|log|db)|/usr/[^/]+|/etc/.*|/boot/.*|/(?:s?bin|lib\d*)/.*"
)


class _Places(Struct, frozen=True):
    """As `places.toml` has them."""

    credentials: re.Pattern[str]
    names: frozenset[str]
    starts: tuple[str, ...]
    ends: tuple[str, ...]
    """Of files among them: whole names, and how others begin or end."""
    public: re.Pattern[str]
    guessed: list[str]
    protected: re.Pattern[str]
    startup: re.Pattern[str]


@cache
def _places() -> _Places:
    told = tomllib.loads(_FILE.read_text())
    files = [place for place in told["credentials"].split() if "/" not in place]
    return _Places(
        credentials=_any_of(told["credentials"]),
        names=frozenset(file for file in files if "*" not in file),
        starts=tuple(file.partition("*")[0] for file in files if "*" in file[1:]),
        ends=tuple(file[1:] for file in files if file[0] == "*"),
        public=_any_of(told["public"]),
        guessed=told["guessed"].split(),
        protected=_any_of(told["protected"], re.IGNORECASE),
        startup=_any_of(told["startup"]),
    )


def _any_of(places: str, flags: int = 0) -> re.Pattern[str]:
    found: list[str] = []
    for place in places.split():
        beginning, end = "" if place[0] == "/" else "(?:.*/)?", "(?:/.*)?" if place[-1] == "/" else ""
        found.append(beginning + glob_pattern(place.rstrip("/")).pattern + end)
    return re.compile("|".join(found), re.DOTALL | flags)


def resolve(path: str, cwd: str | None) -> str:
    """An absolute or `~` path; UNKNOWN inside where it cannot be told."""
    if path.startswith("file://"):
        path = path[7:]
    if path[:1] in ("/", "~"):
        resolved = os.path.normpath(path)
    elif cwd is None:
        resolved = UNKNOWN + "/" + path
    else:
        resolved = os.path.normpath(os.path.join(cwd, path))
    return resolved[1:] if resolved.startswith("//") else resolved


def is_inside(resolved: str, root: str) -> bool:
    root = root.rstrip("/") or "/"
    return resolved == root or resolved.startswith(root if root == "/" else root + "/")


def locate(path: str, cwd: str | None, workspace: str) -> Place:
    """Where something written to `path` would land."""
    resolved = resolve(path, cwd)
    if _NULL.fullmatch(resolved):
        return "null"
    broad = workspace == "/" or bool(_HOME.fullmatch(workspace))
    inner = is_inside(resolved, workspace)
    if not inner or (broad and _outside(resolved) in ("startup", "system", "device")):
        return _outside(resolved)
    inside = resolved[len(workspace.rstrip("/")) :].lstrip("/")
    if UNKNOWN in inside and "/../" in f"/{path}/":
        return "unknown"
    return "protected" if _places().protected.fullmatch(inside) else "workspace"


def _outside(resolved: str) -> Place:
    home = _HOME.match(resolved)
    if resolved.startswith(("/tmp/", "/var/tmp/", "/dev/shm/")) and UNKNOWN not in resolved:  # noqa: S108
        return "temporary"
    if _DEVICE.fullmatch(resolved):
        return "device"
    if _SYSTEM.fullmatch(resolved) or resolved == "/" or _TOP_GLOB.match(resolved):
        return "system"
    if home:
        return "startup" if _places().startup.fullmatch(resolved[home.end() :].lstrip("/")) else "home"
    return "unknown" if UNKNOWN in resolved else "outside"


def is_critical(path: str, cwd: str | None, workspace: str) -> bool:
    """Deleting or handing over all of it would ruin the machine or a home directory."""
    resolved = resolve(path, cwd)
    if UNKNOWN in resolved:
        return False
    stripped = re.sub(r"(?:/(?:\.?\*+|\.\[[^/]*|\{?\*[^/]*))+$", "", resolved) or "/"
    if _GLOB.search(stripped):
        stripped = re.sub(r"/[^/]*[*?\[].*$", "", stripped) or "/"
        return stripped in ("/", "/home", "/Users", "/usr", "/etc") or bool(
            _HOME.fullmatch(stripped) and resolved != path
        )
    if stripped in ("/tmp", "/var/tmp"):  # noqa: S108
        return False
    critical = bool(_CRITICAL.fullmatch(stripped))
    if workspace == "/" or _HOME.fullmatch(workspace):
        return critical and not (is_inside(stripped, workspace) and workspace not in (stripped, "/"))
    return critical and not is_inside(stripped, workspace)


def may_be_critical(path: str) -> bool:
    """`/$x`: critical should the unknown part be empty."""
    return bool(re.match(rf"(?:/|~/?|/home/?|/etc/?|/usr/?)[*./]*{UNKNOWN}", path))


def names_credentials(path: str, cwd: str | None = "") -> bool:
    """The path is one where keys, tokens or passwords are kept."""
    if path.startswith("@"):
        path = path[1:]
    places, normal = _places(), os.path.normpath(path) if path else path
    if places.public.fullmatch(normal):
        return False
    if places.credentials.fullmatch(normal) or (cwd and places.credentials.fullmatch(resolve(path, cwd))):
        return True
    return bool(_GLOB.search(path)) and any(map(_may_name_credentials, normal.split("/")))


def _may_name_credentials(component: str) -> bool:
    if not _GLOB.search(component) or component[0] == "*":
        return component in _places().guessed
    pattern = glob_pattern(component)
    return any(pattern.fullmatch(name) for name in _places().guessed)


def is_secret_file(path: str) -> bool:
    """The same of a file's path, without patterns; quick about the many that are none."""
    name, places = path.rpartition("/")[2], _places()
    telling = name in places.names or name.startswith(places.starts) or name.endswith(places.ends)
    return (telling or path[0] == "." or "/." in path) and names_credentials(path)


def looks_secret(path: str) -> bool:
    """By its name, something sensitive is inside."""
    return names_credentials(path) or bool(_SECRET_NAME.fullmatch(path))


_MOST_COMPARED = 40_000
_GLOB_PARTS = re.compile(r"\*\*/|\*\*|\[[!^]?[^\]][^\]]*\]|.", re.DOTALL)
_GLOB_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[[!^]?[^\]][^\]]*\]", re.DOTALL)
_GLOB_MEANS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def glob_pattern(glob: str) -> re.Pattern[str]:
    """`*` stays inside a folder, `**` does not."""
    pieces, end = list[str](), 0
    for token in _GLOB_TOKEN.finditer(glob):
        pieces += [re.escape(glob[end : token.start()]), _GLOB_MEANS.get(token[0]) or _bracket(token[0])]
        end = token.end()
    try:
        return re.compile("".join(pieces) + re.escape(glob[end:]), re.DOTALL)
    except re.error:
        return re.compile(re.escape(glob))


def _bracket(glob: str) -> str:
    negated = glob[1] in "!^"
    return ("[^" if negated else "[") + re.sub(r"([\[\\&~|^])", r"\\\1", glob[1 + negated : -1]) + "]"


def globs_meet(one: str, other: str) -> bool:
    """Whether there may be a text that both match; `one` as a shell reads it, to which a leading dot is no `*`."""
    a, b = ([_token(each) for each in _GLOB_PARTS.findall(glob)] for glob in (one, other))
    if len(a) * len(b) > _MOST_COMPARED:
        return True
    reached = {(0, 0)}
    pending = [(0, 0)]
    while pending:
        i, j = pending.pop()
        if (i, j) == (len(a), len(b)):
            return True
        left, right = a[i] if i < len(a) else "", b[j] if j < len(b) else ""
        steps: list[tuple[int, int]] = []
        starts = a[max(i - 1, 0) : i] in ([], ["/"]) and b[max(j - 1, 0) : j] in ([], ["/"], ["**"])  # of a name
        if left[:1] == "*":
            steps += [(i + 1, j), *([(i, j + 1)] if _passes(left, right) and not (starts and right == ".") else [])]
        if right[:1] == "*":
            steps += [(i, j + 1), *([(i + 1, j)] if _passes(right, left) else [])]
        if left and right and "*" not in (left[0], right[0]) and (left == right or (
            "?" in (left, right) and "/" not in (left, right) and not (starts and left == "?" and right == ".")
        )):  # fmt: skip
            steps.append((i + 1, j + 1))
        pending += [step for step in steps if step not in reached]
        reached.update(steps)
    return False


def _token(part: str) -> str:
    """`**` matches anything, `*` and `?` stay inside a folder; a bracket is taken for any character."""
    if part[0] == "[" and len(part) > 1:
        return "?"
    return "**" if part.startswith("**") else part


def _passes(star: str, token: str) -> bool:
    return bool(token) and (star == "**" or token not in ("/", "**"))


def glob_escape(text: str) -> str:
    """A glob that matches just this text."""
    return re.sub(r"([*?\[])", r"[\1]", text)


def glob_text(glob: str) -> str:
    """The text a glob matches that has no more than escapes."""
    return re.sub(r"\[([*?\[])\]", r"\1", glob)
