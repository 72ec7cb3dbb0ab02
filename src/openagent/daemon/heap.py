"""Memory that was freed goes back to the system.

glibc keeps it otherwise: in a heap for each thread, and, once it has seen a large block freed, also such blocks. And a
session is a ring of objects that refer to each other, which Python frees when it next looks for such rings. A daemon
that lives for weeks would stay as large as it ever was.
"""

import asyncio
import ctypes
import gc

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""As malloc.h numbers them."""
_LARGE = 128 * 1024
_KEPT_AT_THE_TOP = 1024 * 1024
"""Of each heap. Below it, every compression of a file would fetch its buffers from the kernel and return them."""
_HEAPS = 2
_WORTH_A_LOOK = 16
"""Sessions that left memory. Looking takes some milliseconds: what was loaded at the start is not looked at."""
_SOON = 0.5


def give_back_what_is_freed() -> None:
    if (libc := _glibc()) is not None:
        libc.mallopt(_MMAP_THRESHOLD, _LARGE)
        libc.mallopt(_TRIM_THRESHOLD, _KEPT_AT_THE_TOP)
        libc.mallopt(_ARENA_MAX, _HEAPS)
        libc.malloc_trim(0)


class Heap:
    def __init__(self) -> None:
        self._left = 0

    def session_left(self) -> None:
        self._left += 1
        if self._left == _WORTH_A_LOOK:
            asyncio.get_running_loop().call_later(_SOON, self._tidy)

    def _tidy(self) -> None:
        self._left = 0
        gc.collect()
        if (libc := _glibc()) is not None:
            asyncio.get_running_loop().run_in_executor(None, libc.malloc_trim, 0)


def _glibc() -> ctypes.CDLL | None:
    """None where there is another one."""
    try:
        libc = ctypes.CDLL(None)
        return libc if libc.mallopt and libc.malloc_trim else None
    except (OSError, AttributeError):
        return None
