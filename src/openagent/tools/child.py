"""Work on text from outside, in a process of its own: what a hostile page or pattern keeps busy can be killed."""

import asyncio

from msgspec import Struct

from openagent.plugins.isolation import ROOT, isolated


class ChildResult(Struct, frozen=True):
    output: bytes
    complaint: str
    """What it said on stderr when it failed; empty when it did not."""


async def run_child(module: str, argument: str, data: bytes, *, timeout: float) -> ChildResult:
    """Raises TimeoutError. Whether it ends, is cancelled or takes too long: no process is left."""
    process = await asyncio.create_subprocess_exec(
        *isolated(module, argument),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={},
        cwd=ROOT,
    )
    try:
        async with asyncio.timeout(timeout):
            output, complaint = await process.communicate(data)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        return ChildResult(b"", complaint.decode(errors="replace").strip()[-500:] or f"{module} failed.")
    return ChildResult(output, "")
