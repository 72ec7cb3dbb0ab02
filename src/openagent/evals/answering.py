"""An agent is given an instance's problem and its tree, over the client; what it changed is its prediction."""

import asyncio
import contextlib
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from openagent.client import Client
from openagent.evals.environments import Environment, Environments
from openagent.evals.instances import Instance, Prediction
from openagent.evals.needs import Need
from openagent.evals.repositories import difference
from openagent.evals.run_folder import Answered
from openagent.protocol.errors import OpenAgentError

_TASK = """\
This folder holds the repository {repo} as it was when somebody reported what follows. Change the code so that it is \
resolved. Tests that you cannot see will judge it: keep what works working, and leave tests and settings of the \
project alone. Nobody can answer questions; end with a short summary when you are done.
{environment}
<report>
{problem}
</report>
"""
_OWN_ENVIRONMENT = (
    "\nPrograms of the project's environment are in `.venv/bin`: `.venv/bin/python -m pytest …` runs tests.\n"
)


class Asked(Struct, frozen=True):
    """What every instance is asked with."""

    model: str
    mode: str = "full"
    seconds: float = 1800.0
    budget_usd: float | None = None
    max_steps: int | None = None

    def settings(self) -> dict[str, Any]:
        given: dict[str, Any] = {"mode": self.mode, "turn_timeout": self.seconds}
        wanted = {"model": self.model or None, "budget_usd": self.budget_usd, "max_steps": self.max_steps}
        return given | {name: value for name, value in wanted.items() if value is not None}


async def answer(
    client: Client, instance: Instance, need: Need, *, environments: Environments, asked: Asked, folder: Path
) -> tuple[Prediction, Answered]:
    """In a workspace below `folder`. Raises OpenAgentError when there is nothing to work in."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"{instance.instance_id}-", dir=folder, ignore_cleanup_errors=True) as place:
        workspace, before = Path(place) / "workspace", Path(place) / "before.git"
        async with environments.of(instance, need) as environment:
            await asyncio.to_thread(_lay_out, environment, workspace)
        await asyncio.to_thread(shutil.copytree, workspace / ".git", before, symlinks=True)
        answered = await _ask(client, instance, workspace, asked)
        patch = await asyncio.to_thread(difference, workspace, before)
    return Prediction(instance.instance_id, patch, answered.model), answered


def _lay_out(environment: Environment, workspace: Path) -> None:
    shutil.copytree(environment.kept, workspace, symlinks=True)
    if environment.interpreter is None:
        return
    own = workspace / ".venv"
    shutil.copytree(environment.venv, own, symlinks=True)
    # The tree was installed in place, and this is another.
    there, here = str(environment.tree).encode(), str(workspace).encode()
    packages = next(own.glob("lib/python*/site-packages"))
    for file in [*packages.glob("*.pth"), *packages.glob("*.egg-link"), *packages.glob("__editable__*.py")]:
        file.write_bytes(file.read_bytes().replace(there, here))
    with (workspace / ".git/info/exclude").open("a") as excluded:
        excluded.write("/.venv\n")


async def _ask(client: Client, instance: Instance, workspace: Path, asked: Asked) -> Answered:
    about = _OWN_ENVIRONMENT if (workspace / ".venv").is_dir() else ""
    task = _TASK.format(repo=instance.repo, environment=about, problem=instance.problem_statement)
    began = time.monotonic()
    made = await client.create_session(str(workspace), name=f"eval {instance.instance_id}", **asked.settings())
    attachment = await client.attach(made.id, messages=0)
    try:
        await client.send(made.id, task)
        ended, _ = await attachment.until_turn_ends()
    except asyncio.CancelledError:
        with contextlib.suppress(OpenAgentError):
            await client.cancel(made.id)
        raise
    finally:
        with contextlib.suppress(OpenAgentError):
            await attachment.detach()
    return Answered(
        instance.instance_id,
        ended.reason,
        ended.error.message if ended.error else "",
        made.id,
        made.settings.model,
        ended.steps,
        ended.usage.input_tokens,
        ended.usage.output_tokens,
        ended.cost_usd,
        ended.unpriced,
        round(time.monotonic() - began, 2),
    )
