"""Seeing from outside which processes of a test are alive."""

import asyncio
import os
import time
from pathlib import Path


def alive_with(marker: str) -> list[int]:
    """Processes that are not zombies and carry the marker in their command line."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if marker.encode() in command and state not in (b"Z", b"X"):
            found.append(int(entry.name))
    return found


async def gone_within(marker: str, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while alive_with(marker):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.005)
    return True


async def appears(marker: str, count: int = 1) -> None:
    async with asyncio.timeout(60):
        while len(alive_with(marker)) < count:
            await asyncio.sleep(0.005)
