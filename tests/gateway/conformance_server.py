"""`python -m tests.gateway.conformance_server [SCENARIO…]`: the official suite against `openagent mcp serve` over HTTP.

The suite can show no token, so it meets the server without the gate that asks for one; and it calls tools of its own,
which `conformance_fixture` adds to ours.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import uvicorn

from devtools.simulator import Simulator
from openagent.client.bridge_connection import BridgeConnection
from openagent.gateway.mcp.http import PATH, http_app
from openagent.gateway.mcp.server import build
from openagent.gateway.mcp.sessions import Sessions
from openagent.protocol.sessions import SettingsChange

from ..interaction.house import house_over
from ..mcp_host.test_real_servers import CONFORMANCE, PACKAGE, free_port
from .conformance_fixture import furnish

PATIENCE = 600.0


async def main(scenarios: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OPENAGENT_HOME"] = str(Path(folder) / "home")
        async with Simulator([{"text": "Hello."}]) as sim, house_over(Path(folder), sim, patience=PATIENCE) as h:
            line = BridgeConnection()
            sessions = line.follower = Sessions(line)
            await sessions.start(str(h.workspace), "one to be listed", SettingsChange())
            server, port = furnish(build(sessions)), free_port()
            web = uvicorn.Server(uvicorn.Config(http_app(server, port), port=port, log_level="error"))
            serving = asyncio.create_task(web.serve())
            try:
                while not web.started:
                    await asyncio.sleep(0.05)
                return await _suite(f"http://127.0.0.1:{port}{PATH}", scenarios)
            finally:
                web.should_exit = True
                await serving
                server.watching.close()
                await line.close()


async def _suite(url: str, scenarios: list[str]) -> int:
    each = [["--scenario", name] for name in scenarios] or [["--suite", "all"]]
    worst = 0
    for chosen in each:
        command = ["--import", str(PACKAGE / "node20.mjs"), str(PACKAGE / CONFORMANCE), "server", "--url", url, *chosen]
        process = await asyncio.create_subprocess_exec("node", *command)
        worst = max(worst, await asyncio.wait_for(process.wait(), PATIENCE))
    return worst


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
