"""A daemon and a scripted model of an evaluation's own, as programs, in a folder that is thrown away."""

import asyncio
import json
import os
import sys
import urllib.request
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from openagent.client import Client, connect
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError

MODEL = "compatible/scripted"
_REPOSITORY = Path(__file__).parents[2]
"""Where `python -m` finds devtools, which is not installed."""
_STARTING = 60.0
_STEP = 0.05


WIRES = {
    "chat": ("compatible", "/v1"),
    "responses": ("openai", "/v1"),
    "anthropic": ("anthropic", ""),
    "gemini": ("gemini", ""),
}
"""The wire formats: the provider that speaks each, and what its address ends with."""


class Stage(NamedTuple):
    client: Client
    workspace: Path
    model_url: str

    async def play(self, script: Mapping[str, Any]) -> None:
        """From now on, the model says this."""
        body = msgspec.json.encode(script)
        request = urllib.request.Request(f"{self.model_url}/_sim/reset", body, method="POST")  # noqa: S310
        await asyncio.to_thread(lambda: urllib.request.urlopen(request).close())  # noqa: S310


@asynccontextmanager
async def stage(script: Mapping[str, Any], config: str, *, jail: str = "host") -> AsyncGenerator[Stage, None]:
    with TemporaryDirectory(prefix="openagent-eval-") as folder:
        root = Path(folder)
        workspace = root / "workspace"
        workspace.mkdir()
        written = root / "script.json"
        written.write_text(json.dumps(script))
        async with _program("devtools.simulator", "--script", str(written), env=dict(os.environ)) as model:
            assert model.stdout is not None
            url = json.loads(await model.stdout.readline())["url"]
            settings = root / "config.toml"
            providers = "".join(
                f'[providers.{kind}]\nkind = "{kind}"\nbase_url = "{url}{ending}"\napi_key = "scripted"\n'
                + ('api = "responses"\n' if wire == "responses" else "")
                for wire, (kind, ending) in WIRES.items()
            )
            settings.write_text(f'{config}\n[jail]\nkind = "{jail}"\n{providers}')
            env = {"PATH": os.environ["PATH"], "HOME": folder, "OPENAGENT_HOME": str(root / "home")}
            env |= {"OPENAGENT_CONFIG": str(settings)}
            (root / "home").mkdir()
            async with _program("openagent", "serve", env=env), await _connected(env) as client:
                yield Stage(client, workspace, url)


@asynccontextmanager
async def _program(
    module: str, *arguments: str, env: dict[str, str]
) -> AsyncGenerator[asyncio.subprocess.Process, None]:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, cwd=_REPOSITORY, env=env, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield program
    finally:
        program.terminate()
        await program.wait()


async def _connected(env: dict[str, str]) -> Client:
    async with asyncio.timeout(_STARTING):
        while True:
            try:
                return await connect(socket=locations.socket_path(env), name="eval", auto_start=False, env={})
            except OpenAgentError:  # it is starting
                await asyncio.sleep(_STEP)
