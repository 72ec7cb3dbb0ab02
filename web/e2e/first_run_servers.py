"""What the first page can lead to, on the loopback interface: an authorization server with a vendor behind it.

Prints its settings as a line of JSON, and serves until its input ends.
"""

import asyncio
import json
import sys

from devtools.simulator import Simulator
from tests.models.test_bad_input import oauth
from tests.providers_oauth.authorization_server import AuthorizationServer

SCRIPT = {"steps": [{"text": "From who is logged in."}], "loop": True}


async def main() -> None:
    async with AuthorizationServer() as server, Simulator(SCRIPT) as sim:
        sys.stdout.write(json.dumps({"config": oauth(server, sim)}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())
