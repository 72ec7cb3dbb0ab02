"""`python -m devtools.simulator`: the simulator as a process of its own."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence

import msgspec

from devtools.simulator.script import ECHO, ScriptError, load_script
from devtools.simulator.server import Simulator


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m devtools.simulator",
        description="A server that speaks the model providers' wire formats from a script.",
    )
    parser.add_argument("--script", help="JSON or TOML file; without one, the simulator repeats what it is told")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one (default)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--require-key", metavar="KEY", help="refuse requests without this API key")
    options = parser.parse_args(argv)
    try:
        script = load_script(options.script) if options.script else ECHO
    except (ScriptError, OSError) as error:
        sys.stderr.write(f"simulator: {error}\n")
        return 2
    asyncio.run(_serve(Simulator(script, host=options.host, port=options.port, require_key=options.require_key)))
    return 0


async def _serve(simulator: Simulator) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with simulator:
        ready = {"url": simulator.base_url, "pid": os.getpid()}
        sys.stdout.write(msgspec.json.encode(ready).decode() + "\n")
        sys.stdout.flush()
        await stopped.wait()


if __name__ == "__main__":
    sys.exit(main())
