"""Python packages into a folder of our own, with their progress told: by pip, by uv where there is no pip, or by the
pip that came with Python."""

import asyncio
import os
import re
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections import deque
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from openagent.plugins.isolation import ROOT, bare_environment, isolated
from openagent.protocol.errors import OpenAgentError

PINS = Path(__file__).with_name("pins")
"""What is fetched later, one file each: `scripts/pins.py` writes the hashes."""
Tell = Callable[[str, int, int], None]
"""Stage in words, bytes done, bytes in all (0: not known)."""

_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_STAGE = re.compile(r"(Downloading|Using cached|Installing collected packages|Prepared)\b:?\s*([\w.-]*)")
_INSTALLING = ("Installing", "Prepared")
_LAST = "installing"
_LOOK_AGAIN = 0.25
"""Seconds."""
_NEARLY = 0.98
_OFFLINE = re.compile(
    r"name resolution|not known|Connection (refused|broken|reset)|timed out|Network is unreachable|No route to host"
    r"|dns error|error trying to connect|Failed to fetch",
    re.I,
)
_FIRST_WITH_RAW_PROGRESS = (24, 1)
_SHOWN_LINES = 5
_REACHED_BY = (
    *("home", "xdg_config_home", "xdg_config_dirs", "xdg_cache_home", "netrc"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("ssl_cert_file", "ssl_cert_dir", "requests_ca_bundle", "curl_ca_bundle"),
)


async def install_packages(pins: Path, target: Path, tell: Tell, *, expected: int = 0) -> None:
    """Nothing but what the file of pins names, each package with one of the hashes that stand there.

    `expected` is about what will be downloaded, in bytes: the measure where the installer itself tells none.
    """
    with TemporaryDirectory(prefix="openagent-fetching-", ignore_cleanup_errors=True) as folder:
        seen = _Seen(Path(folder), tell, expected)
        watching = asyncio.create_task(seen.watch()) if expected else None
        try:
            await _install(pins, target, seen.told if expected else tell, Path(folder))
        finally:
            if watching is not None:
                watching.cancel()


class _Seen:
    """Downloads measured by what has come into a folder, until the installer itself tells of bytes."""

    def __init__(self, folder: Path, tell: Tell, expected: int) -> None:
        self._folder = folder
        self._tell = tell
        self._expected = expected
        self._stage = ""
        self._watched = True

    def told(self, stage: str, done: int, total: int) -> None:
        if total or stage == _LAST:
            self._watched = False
        if not (self._stage and self._watched):
            self._tell(stage, done, total)
        self._stage = stage

    async def watch(self) -> None:
        """Stays short of the whole: how much that is, is only about known."""
        most = 0
        while self._watched:
            most = max(most, await asyncio.to_thread(_arrived, self._folder))
            if most and self._watched:
                self._tell(self._stage, min(most, int(self._expected * _NEARLY)), self._expected)
            await asyncio.sleep(_LOOK_AGAIN)


def _arrived(folder: Path) -> int:
    try:
        return size_of(folder)
    except OSError:  # a file went while we looked
        return 0


async def _install(pins: Path, target: Path, tell: Tell, temporary: Path) -> None:
    env = bare_environment(_how_the_index_is_reached()) | {"PIP_USER": "0", "TMPDIR": str(temporary)}
    process = await asyncio.create_subprocess_exec(
        *_installer(), "--no-deps", "--only-binary", ":all:", "--require-hashes",
        "--requirement", str(pins), "--target", str(target),
        stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=env, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    newest: deque[str] = deque(maxlen=_SHOWN_LINES)
    try:
        stage = "looking for the packages"
        tell(stage, 0, 0)
        async for raw in process.stdout:
            line = raw.decode(errors="replace").strip()
            if progress := _PROGRESS.search(line):
                tell(stage, int(progress[1]), int(progress[2]))
                continue
            newest.append(line)
            if found := _STAGE.match(line):
                stage = _LAST if found[1].startswith(_INSTALLING) else f"downloading {found[2].split('-')[0]}"
                tell(stage, 0, 0)
        code = await process.wait()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if code != 0:
        raise _refusal([line for line in newest if line])


def _installer() -> Sequence[str]:
    options = ("--disable-pip-version-check", "--no-input", "--no-compile", "--retries", "2", "--progress-bar")
    if find_spec("pip") is not None:
        return (*isolated("pip", "install"), *options, _bar_of(_version_of_pip()))
    if uv := shutil.which("uv"):
        return (uv, "pip", "install", "--python", sys.executable)
    if bundled := _bundled_pip():
        return (*isolated("pip", "install", places=[bundled]), *options, _bar_of(bundled.name.split("-")[1]))
    raise OpenAgentError(
        "config_error",
        "The Python that runs OpenAgent has no pip, and there is no uv on PATH, to fetch packages with.",
        hint="Install uv (https://docs.astral.sh/uv), or the package python3-venv of your system.",
    )


def _bundled_pip() -> Path | None:
    found = find_spec("ensurepip")
    places = found.submodule_search_locations if found is not None else None
    wheels = [wheel for place in places or [] for wheel in (Path(place) / "_bundled").glob("pip-*.whl")]
    return wheels[0] if wheels else None


def _refusal(said: Sequence[str]) -> OpenAgentError:
    reason = next((line for line in said if line.lower().startswith("error")), said[-1] if said else "no reason given")
    if any(_OFFLINE.search(line) for line in said):
        return OpenAgentError(
            "provider_error",
            "The package index cannot be reached, so nothing was fetched.",
            hint="Check the network, or name an index within reach (PIP_INDEX_URL, UV_INDEX_URL), and try again.",
        )
    return OpenAgentError(
        "provider_error",
        f"The packages could not be installed: {re.sub('^(error|ERROR): ', '', reason)}",
        hint="Check that the package index can be reached and that there is room on the disk, then try again.",
    )


def _how_the_index_is_reached() -> list[str]:
    return [name for name in os.environ if name.startswith(("PIP_", "UV_")) or name.lower() in _REACHED_BY]


def _version_of_pip() -> str:
    try:
        return version("pip")
    except PackageNotFoundError:
        return ""


def _bar_of(pip: str) -> str:
    numbers = tuple(int(number) for number in pip.split(".")[:2] if number.isdecimal())
    return "raw" if numbers >= _FIRST_WITH_RAW_PROGRESS else "off"


def size_of(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
