"""How this program was installed, and what updates it. Looks at files alone: nothing is asked of a network."""

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import openagent
from openagent.protocol.errors import OpenAgentError

NAME = "openagent"
Way = Literal["uv", "pipx", "pip", "checkout", "client"]
SPOKEN: dict[Way, str] = {
    "uv": "uv tool",
    "pipx": "pipx",
    "pip": "pip",
    "checkout": "a checkout",
    "client": "the one-file client",
}
_RUN_PIP = (
    "import runpy,sys;sys.path.insert(0,sys.argv.pop(1));runpy.run_module('pip',run_name='__main__',alter_sys=True)"
)


class Installation(NamedTuple):
    way: Way
    place: Path
    """The checkout, the environment, or the one file."""
    file: str = ""
    """The wheel or address it was installed from, when that was no package index."""
    plain: bool = True
    """What was asked for is the package as such: no version, no file."""
    extras: Sequence[str] = ()

    @property
    def requirement(self) -> str:
        return f"{NAME}[{','.join(self.extras)}]" if self.extras else NAME

    def updating(self, source: str = "") -> Sequence[str]:
        """The command that installs the newest version, or what `source` names."""
        wanted = source or self.requirement
        match self.way:
            case "uv" if self.plain and not source:
                return (_program("uv"), "tool", "upgrade", NAME)
            case "uv":
                return (_program("uv"), "tool", "install", "--force", "--upgrade", wanted)
            case "pipx" if self.plain and not source:
                return (_program("pipx"), "upgrade", NAME)
            case "pipx":
                return (_program("pipx"), "install", "--force", wanted)
            case _:
                return (*installer(), "--upgrade", wanted)

    def asking(self) -> Sequence[str]:
        """A command that tells which version would be installed, and installs nothing."""
        asked = installer()
        # pip takes what is installed for the newest when it reaches no index.
        anew = ("--upgrade",) if asked[1] == "pip" else ("--ignore-installed", "--retries", "1")
        return (*asked, "--dry-run", "--no-deps", *anew, NAME)


def installation() -> Installation:
    if getattr(sys, "frozen", False):
        return Installation("client", Path(sys.executable))
    root = Path(openagent.__file__).resolve().parents[2]
    if (root / ".git").exists() and (root / "pyproject.toml").is_file():
        return Installation("checkout", root)
    prefix = Path(sys.prefix)
    if (receipt := prefix / "uv-receipt.toml").is_file():
        asked = _asked_of_uv(receipt)
        return Installation(
            "uv", prefix, _file(), plain=not set(asked) - {"name", "extras"}, extras=asked.get("extras", ())
        )
    if (metadata := prefix / "pipx_metadata.json").is_file():
        spec: str = json.loads(metadata.read_text())["main_package"]["package_or_url"] or NAME
        return Installation("pipx", prefix, _file(), plain=spec == NAME)
    return Installation("pip", prefix, _file())


def installer() -> Sequence[str]:
    """`pip install`, of pip or uv, for the environment we run in."""
    install = ("install", "--disable-pip-version-check")
    if find_spec("pip") is not None:
        return (sys.executable, "-P", "-m", "pip", *install)
    if uv := shutil.which("uv"):
        return (uv, "pip", "install", "--python", sys.executable, "--refresh-package", NAME)
    found = find_spec("ensurepip")
    for place in (found.submodule_search_locations or []) if found is not None else []:
        for wheel in (Path(place) / "_bundled").glob("pip-*.whl"):
            return (sys.executable, "-P", "-c", _RUN_PIP, str(wheel), *install)
    raise OpenAgentError(
        "config_error",
        "There is neither pip nor uv to ask for a newer version.",
        hint="Install uv (https://docs.astral.sh/uv), or the package python3-venv of your system.",
    )


def _asked_of_uv(receipt: Path) -> dict[str, Any]:
    requirements = tomllib.loads(receipt.read_text()).get("tool", {}).get("requirements", [])
    return next((each for each in requirements if each.get("name") == NAME), {"name": NAME})


def _file() -> str:
    """From its metadata (PEP 610). A repository is none: the newest of it can be had by the same words."""
    try:
        written = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    told = cast("dict[str, Any]", json.loads(written)) if written else {}
    return str(told.get("url", "")) if "archive_info" in told else ""


def _program(name: str) -> str:
    usual = [Path.home() / ".local/bin" / name, Path.home() / ".cargo/bin" / name]
    found = shutil.which(name) or next((str(path) for path in usual if os.access(path, os.X_OK)), "")
    if not found:
        raise OpenAgentError(
            "not_found",
            f"This was installed by {name}, which is not on PATH.",
            hint=f"Put {name} on PATH and try again.",
        )
    return found
