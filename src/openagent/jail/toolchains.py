"""Which of the host's directories hold programs a jailed command may read and run.

Toolchains are often installed below the home directory (pyenv, nvm, rustup, conda, …). Each of them is let in by
itself, read-only; the home directory, and what holds credentials in it, never is.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM_TOOLCHAINS = ("/opt", "/nix/store", "/snap", "/home/linuxbrew/.linuxbrew")
_PROGRAM_FOLDERS = frozenset(("bin", "sbin", "shims", "condabin", ".bin"))
_PACKAGE_MARKS = (
    "package.json",
    "pyproject.toml",
    "setup.py",
    "requirements.txt",
    "deno.json",
    "node_modules",
    ".venv",
)
"""What the folder has in it that a program and all it imports lie in."""
PRIVATE = frozenset(
    (
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".config",
        ".password-store",
        ".mozilla",
        ".local/share/keyrings",
    )
)
_PROGRAMS_ONLY = (".local", ".cargo", ".npm", ".gem")
"""Below the home directory: holders of a `bin` whose other contents may be credentials, or anything at all."""
_LINKS_FOLLOWED = 256
_LOCATING_VARIABLES = (
    "RUSTUP_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "GOROOT",
    "JAVA_HOME",
    "DOTNET_ROOT",
    "CONDA_PREFIX",
    "SDKMAN_DIR",
    "NVM_DIR",
    "VOLTA_HOME",
    "BUN_INSTALL",
)


class Toolchains(NamedTuple):
    readable: tuple[str, ...]
    """To be bound read-only, besides the system's own directories."""
    path: str
    """PATH inside the jail."""
    env: dict[str, str]


def find_toolchains(env: Mapping[str, str], homes: Collection[Path]) -> Toolchains:
    roots = {root for root in _SYSTEM_TOOLCHAINS if os.path.isdir(root)}
    entries: list[str] = []
    for entry in env.get("PATH", "").split(os.pathsep):
        if entry.startswith("/") and os.access(entry, os.R_OK | os.X_OK) and entry not in entries:
            found = _roots_of(entry, homes)
            if found is not None:
                entries.append(entry)
                roots.update(found)
    for entry in _fetched_by_uv(env, entries, homes):
        entries.append(entry)
        roots.add(_installation(entry, homes))
    variables = {name: env[name] for name in _LOCATING_VARIABLES if name in env}
    for home in homes:
        if str(home / ".cargo/bin") in entries:
            variables.setdefault("RUSTUP_HOME", str(home / ".rustup"))
    if (rustup := variables.get("RUSTUP_HOME")) and allowed(rustup, homes):
        roots.add(rustup)
    readable = _outermost(root for root in roots if os.access(root, os.R_OK | os.X_OK))
    return Toolchains(
        readable,
        os.pathsep.join([*entries, *(system for system in ("/usr/bin", "/bin") if system not in entries)]),
        {name: value for name, value in variables.items() if _covered(value, (*readable, *SYSTEM))},
    )


def _fetched_by_uv(env: Mapping[str, str], entries: Collection[str], homes: Collection[Path]) -> list[str]:
    """uv finds the interpreters it has fetched by itself, or on PATH: the jail has another home directory."""
    if not any(os.access(f"{entry}/uv", os.X_OK) for entry in entries):
        return []
    data = [Path(env["XDG_DATA_HOME"])] if env.get("XDG_DATA_HOME") else [home / ".local/share" for home in homes]
    holders = [Path(named)] if (named := env.get("UV_PYTHON_INSTALL_DIR")) else [each / "uv/python" for each in data]
    found = [os.path.realpath(place) for holder in holders for place in sorted(holder.glob("*/bin"), reverse=True)]
    return [place for place in dict.fromkeys(found) if place not in entries and allowed(place, homes)]


def _roots_of(entry: str, homes: Collection[Path]) -> set[str] | None:
    """What must be readable for the programs in one directory on PATH; None when it is not to be let in."""
    if _covered(entry, SYSTEM):
        return set()
    if not allowed(entry, homes):
        return None
    root = _installation(entry, homes)
    return _with_bases({root, *_link_targets(entry, root, homes)}, homes)


def program_folders(path: str, homes: Collection[Path]) -> set[str]:
    """What must be readable for one program that somebody named by its path, a script as well as a command."""
    folders: set[str] = set()
    for place in {path, os.path.realpath(path)}:
        folder = place if os.path.isdir(place) else os.path.dirname(place)
        if not _covered(folder, SYSTEM) and allowed(folder, homes):
            folders.add(_package(_installation(folder, homes), homes))
    return _with_bases(folders, homes)


def _package(folder: str, homes: Collection[Path]) -> str:
    """`…/weather/build` belongs to `…/weather`, where its `package.json` is."""
    for place in (Path(folder), *Path(folder).parents[:3]):
        if not allowed(str(place), homes) or _covered(str(place), SYSTEM):
            break
        if any((place / mark).exists() for mark in _PACKAGE_MARKS):
            return str(place)
    return folder


def _with_bases(roots: set[str], homes: Collection[Path]) -> set[str]:
    """A virtual environment's interpreter lies elsewhere, and its `pyvenv.cfg` says where."""
    found = set(roots)
    for root in roots:
        for environment in (root, f"{root}/.venv", f"{root}/venv"):
            base = _base_interpreter(environment)
            if base and not _covered(base, SYSTEM) and allowed(base, homes):
                found |= {_installation(base, homes), _installation(os.path.realpath(base), homes)}
    return found


def _base_interpreter(environment: str) -> str:
    try:
        with open(f"{environment}/pyvenv.cfg", encoding="utf-8") as file:
            settings = (line.partition("=") for line in file.read(4096).splitlines())
    except (OSError, UnicodeDecodeError):
        return ""
    return next((value.strip() for key, _, value in settings if key.strip() == "home"), "")


def _installation(entry: str, homes: Collection[Path]) -> str:
    """`…/versions/3.12/bin` belongs to `…/versions/3.12`; `~/bin` belongs to nothing larger."""
    path = Path(entry)
    if "node_modules" in path.parts:  # a package finds those it needs beside it
        modules = Path(*path.parts[: path.parts.index("node_modules") + 1])
        return str(modules) if allowed(str(modules), homes) else entry
    if path.name not in _PROGRAM_FOLDERS or len(path.parts) < 4:
        return entry
    parent = path.parent
    if not allowed(str(parent), homes):
        return entry
    if any(parent == home / holder for home in homes for holder in _PROGRAMS_ONLY):
        return entry
    return str(parent)


def _link_targets(entry: str, root: str, homes: Collection[Path]) -> set[str]:
    """Programs are often links into an installation elsewhere: pipx, uv, a virtual environment's python."""
    targets: set[str] = set()
    try:
        with os.scandir(entry) as programs:
            links = [program.path for program in programs if program.is_symlink()][:_LINKS_FOLLOWED]
    except OSError:
        return targets
    for link in links:
        target = os.path.realpath(link)
        if _covered(target, (root, *SYSTEM, *targets)) or not os.access(target, os.R_OK):
            continue
        folder = os.path.dirname(target)
        if allowed(folder, homes):
            targets.add(_installation(folder, homes))
    return targets


def allowed(path: str, homes: Collection[Path]) -> bool:
    for form in {path, os.path.realpath(path)}:
        if form == "/" or any(home.is_relative_to(form) for home in homes):
            return False
        if any(Path(form).is_relative_to(home / private) for home in homes for private in PRIVATE):
            return False
    return True


def _covered(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def _outermost(roots: Iterable[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for root in sorted(set(roots)):
        if not _covered(root, (*kept, *SYSTEM)):
            kept.append(root)
    return tuple(kept)
