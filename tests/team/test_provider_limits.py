"""What workers know of each other's requests to a provider, on a real Redis."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cluster import RedisServer
from devtools.simulator import Simulator
from openagent.plugins.provider import RateLimited
from openagent.providers.build import make_resilient
from openagent.providers.retry import RetryPolicy
from openagent.team.provider_limits import SharedLimits

from ..providers.harness import ask, connect, items_of

pytestmark = pytest.mark.anyio

LONG = 10_000.0
WORKER = f"""
import asyncio, json, sys
from openagent.team.provider_limits import SharedLimits
async def main():
    limits = SharedLimits(sys.argv[1])
    print(json.dumps([await limits.next_start("office", {LONG}) for _ in range(8)]))
    await limits.close()
asyncio.run(main())
"""


async def test_two_processes_take_turns_with_one_provider_and_heed_what_it_told_the_other(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)
    await server.start()
    url = server.url
    try:
        workers = [subprocess.Popen([sys.executable, "-c", WORKER, url], stdout=subprocess.PIPE) for _ in range(2)]
        told = await asyncio.gather(*(asyncio.to_thread(worker.communicate) for worker in workers))
        starts = sorted(start for out, _ in told for start in json.loads(out))
        assert [round(start / LONG) for start in starts] == list(range(16)), "each has its own moment"

        one, other = SharedLimits(url), SharedLimits(url)
        async with Simulator({"steps": [{"text": "Hello."}], "loop": True}) as sim, connect("chat", sim) as provider:
            sim.fail_next("429", retry_after=500.0)
            with pytest.raises(RateLimited):
                await items_of(make_resilient(provider, RetryPolicy(attempts=1), one), ask("chat"))
        assert await other.next_start("chat", 0.0) > 400
        assert await other.next_start("another", 0.0) == 0.0
        await server.stop()
        assert await one.next_start("chat", 0.0) == 0.0, "models are asked without Redis too"
        await one.close()
        await other.close()
    finally:
        await server.stop()
