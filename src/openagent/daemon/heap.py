"""Memory that was freed goes back to the system.

glibc keeps it otherwise: in a heap for each thread, and, once it has seen a large block freed, also such blocks. A
daemon that lives for weeks would stay as large as it ever was.
"""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""As malloc.h numbers them."""
_LARGE = 128 * 1024
_HEAPS = 2


def give_back_what_is_freed() -> None:
    """Where there is no glibc, nothing is done."""
    try:
        libc = ctypes.CDLL(None)
        set_option, trim = libc.mallopt, libc.malloc_trim
    except (OSError, AttributeError):
        return
    set_option(_MMAP_THRESHOLD, _LARGE)
    set_option(_TRIM_THRESHOLD, _LARGE)
    set_option(_ARENA_MAX, _HEAPS)
    trim(0)
