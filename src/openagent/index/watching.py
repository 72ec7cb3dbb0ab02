"""Hearing of changed files from the operating system, instead of looking for them."""

import asyncio
from collections.abc import AsyncGenerator
from importlib import import_module
from pathlib import Path
from typing import Any

MANY = 500
"""From so many on, and where a directory came or went, everything is looked at."""
_GATHER_MS = 400
_TICK_MS = 1000


async def changes(workspace: Path) -> AsyncGenerator[list[str] | None, None]:
    """Paths that changed, relative to the workspace; None: look at everything. An empty list every second or so, so
    that whoever listens can see whether it is still wanted."""
    watchfiles: Any = import_module("watchfiles")
    root = await asyncio.to_thread(workspace.resolve)
    watched: AsyncGenerator[set[tuple[Any, str]], None] = watchfiles.awatch(
        root,
        watch_filter=watchfiles.DefaultFilter(),
        debounce=_GATHER_MS,
        rust_timeout=_TICK_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    watching = False
    async for found in watched:
        if not watching:  # what changed before it began to watch was seen by nobody
            watching = True
            yield None
            continue
        paths = sorted({path for _, path in found})
        whole = len(paths) > MANY or any(_may_hold_others(Path(path)) for path in paths)
        yield None if whole else [str(Path(path).relative_to(root)) for path in paths]


def _may_hold_others(path: Path) -> bool:
    """A directory, or what may have been one; or the rules for what is left out have changed."""
    return path.name == ".gitignore" or path.is_dir() or not path.exists()
