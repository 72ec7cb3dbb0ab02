"""The index's work in processes of its own, outside any jail: they read what others wrote, and are given no key."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterable
from pathlib import Path

from openagent.plugins.isolation import ROOT, bare_environment, isolated


async def start(module: str, *arguments: str, stdout: int = DEVNULL, places: Iterable[Path] = ()) -> Process:
    """What goes wrong is told on its error stream, a pipe."""
    return await asyncio.create_subprocess_exec(
        *isolated(module, *arguments, places=places),
        env=bare_environment(),
        cwd=ROOT,
        stdin=DEVNULL,
        stdout=stdout,
        stderr=PIPE,
    )
