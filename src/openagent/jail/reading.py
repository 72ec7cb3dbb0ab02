"""The reading shell: beside the writing one in the same enclosure, but able to change nothing outside /tmp and home.

Landlock keeps its processes from writing, making, moving and removing files; a seccomp filter keeps them from changing
what Landlock does not know of: modes, owners, times and extended attributes. Both hold for all that it starts.
Where the kernel or the place of the workspace does not allow for it, a second enclosure with read-only mounts is used.
"""

import ctypes
import functools
import os
import platform
import shlex
import struct
import sys
from pathlib import Path

from openagent.jail.inside import HOME, PIPES

FILTER_FILE = "metadata-filter"
WRITABLE = ("/tmp", HOME, "/dev")  # noqa: S108
"""Of the jail's own, what a reading shell may write."""
READING_ENV = {"GIT_OPTIONAL_LOCKS": "0"}
"""What keeps programs from writing where they were asked to read: git would refresh its index."""
_LEAST_ABI = 3
"""Before it, Landlock does not know of truncating."""
_CREATE_RULESET, _VERSION_FLAG = 444, 1

_PROGRAM = """\
import ctypes, os, struct, sys
call = ctypes.CDLL(None, use_errno=True).syscall
rights = 0x7ff2
rules = call(444, struct.pack("Q", rights), ctypes.c_size_t(8), 0)
for path in [os.getcwd(), *sys.argv[2].split(":")]:
    place = os.open(path, os.O_PATH)
    if call(445, rules, 1, struct.pack("=Qi", rights, place), 0): sys.exit(126)
if rules < 0 or call(157 if os.uname().machine == "x86_64" else 167, 38, 1, 0, 0, 0): sys.exit(126)
if call(446, rules, 0): sys.exit(126)
program = open(sys.argv[1], "rb").read()
held = ctypes.create_string_buffer(program)
prog = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
if call(157 if os.uname().machine == "x86_64" else 167, 22, 2, prog, 0, 0): sys.exit(126)
os.close(rules)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Its directory is that of the shell's pipes. The rights: to write, remove, make anything, move between folders,
truncate."""

_METADATA = {
    "x86_64": (90, 91, 268, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199),
    "aarch64": (52, 53, 55, 54, 88, 5, 6, 7, 14, 15, 16),
}
"""chmod, chown, utime, setxattr, removexattr and their like."""
_METADATA_EVERYWHERE = (452, 463, 466, 469)
"""fchmodat2, setxattrat, removexattrat, file_setattr."""
_IOCTL = {"x86_64": 16, "aarch64": 29}
_SETS_FLAGS = (0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40047602, 0x800C6613, 0x40806685)
"""Attributes of files (`chattr`), their version, encryption and verity, for which a file need not be open to write."""
_BTRFS = 0x94
"""Its own calls make and remove subvolumes."""
_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1


def metadata_filter(machine: str | None = None) -> bytes | None:
    """None for a machine whose system calls are not known here. The jail's own filter looks at the architecture."""
    machine = machine or platform.machine()
    if machine not in _METADATA:
        return None
    refused = b"".join(_refuse(number) for number in (*_METADATA[machine], *_METADATA_EVERYWHERE))
    request = _instruction(_LOAD, 16 + 8)
    request += b"".join(map(_refuse, _SETS_FLAGS))
    request += _instruction(_AND, 0xFF00) + _refuse(_BTRFS << 8)
    allow = _instruction(_RETURN, _ALLOW)
    on_ioctl = _instruction(_EQUAL, _IOCTL[machine], 0, len(request) // 8)
    return _instruction(_LOAD, 0) + refused + on_ioctl + request + allow


def _refuse(value: int) -> bytes:
    return _instruction(_EQUAL, value, 0, 1) + _instruction(_RETURN, _REFUSE)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


@functools.cache
def landlock_abi() -> int:
    """0: there is none."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    return max(0, int(call(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)))


def python_inside() -> str:
    """The interpreter that a reading shell starts with, as seen in the jail; empty when there is none. Our own may lie
    where the person's programs cannot read it."""
    own = f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    return next((each for each in (own, "/usr/bin/python3") if os.access(each, os.X_OK)), "")


def installation_inside() -> list[str]:
    """What the jail has to have for it, as bubblewrap is told."""
    if sys.base_prefix == "/usr" or not python_inside().startswith(f"{sys.base_prefix}/"):
        return []
    return ["--ro-bind", sys.base_prefix, sys.base_prefix]


def can_stand_beside(workspace: Path) -> bool:
    """A folder that may be written lets all be written that is mounted below it."""
    inside = any(workspace.is_relative_to(place) for place in WRITABLE)
    return not inside and landlock_abi() >= _LEAST_ABI and metadata_filter() is not None and bool(python_inside())


def confine_script() -> str:
    """Bash text for the enclosure: what a reading shell is started with."""
    told = [f"{name}={value}" for name, value in READING_ENV.items()]
    words = ("env", *told, python_inside(), "-ISc", _PROGRAM, f"{PIPES}/{FILTER_FILE}", ":".join(WRITABLE))
    return f"confine=({shlex.join(words)})"
