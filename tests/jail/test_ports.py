"""Sockets that are opened inside a jail's network."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from openagent.jail.ports import PortOpener

from .conftest import needs_bwrap

pytestmark = [pytest.mark.anyio, needs_bwrap]


async def test_a_socket_that_comes_as_its_asker_is_cancelled_is_closed() -> None:
    with subprocess.Popen(("unshare", "-rn", "cat"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as inside:
        assert inside.stdin
        assert inside.stdout
        inside.stdin.write(b"the network is there\n")
        inside.stdin.flush()
        inside.stdout.readline()
        opener = PortOpener()
        opener.hold()
        try:
            held = await opener.open(inside.pid, 4001)
            for _ in range(3):
                before = _sockets()
                asking = asyncio.create_task(opener.open(inside.pid, 4000))
                await asyncio.sleep(0)
                # The last moment before it goes on: the socket is there, and nobody has it yet.
                while not asking._fut_waiter.done():  # pyright: ignore
                    await asyncio.sleep(0)
                asking.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asking
                assert _sockets() == before
            held.close()
        finally:
            opener.release()
            inside.stdin.close()


def _sockets() -> int:
    return sum(str(fd.readlink()).startswith("socket:") for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink())
