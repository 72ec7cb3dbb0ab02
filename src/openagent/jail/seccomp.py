"""A seccomp filter for the jail, assembled by hand.

System calls that reach past namespaces fail with EPERM, and so does giving a file the bits by which whoever runs it
becomes its owner: such a file outlives the jail. Calls younger than this file are not there at all.
"""

import functools
import json
import platform
import struct
from collections.abc import Sequence
from typing import NamedTuple

_LOAD, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_AT_LEAST, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENT = 0, 4, 16

_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
_TERMINAL_INJECTIONS = (0x5412, 0x541C)
"""TIOCSTI, TIOCLINUX."""
_FOREIGN_FAMILIES = (38, 40)
"""AF_ALG, and AF_VSOCK, which no network namespace confines."""
_REFUSED_BY_ENGINES = (
    "_sysctl",
    "get_kernel_syms",
    "get_mempolicy",
    "kcmp",
    "mbind",
    "migrate_pages",
    "move_pages",
    "name_to_handle_at",
    "nfsservctl",
    "query_module",
    "set_mempolicy",
    "sysfs",
    "ustat",
)
"""Without being told, besides what we refuse. Their own filter will not do: older ones let io_uring, vsock and the x32
system calls through."""
_X32 = 0x40000000
_LOW_HALF = 0xFFFFFFFF
_OWNERS_POWERS = 0o6000
"""S_ISUID, S_ISGID."""
_MAKES_A_FILE = 0x400040
"""O_CREAT and what is O_TMPFILE's own: without them the last argument of an open means nothing."""
_NEWEST = 462
"""mseal, the youngest call that was looked at. Numbers from 424 on are the same on every machine."""
_YOUNGER = ("setxattrat", "removexattrat", "open_tree_attr", "file_setattr")
"""By name, for engines, which know of no highest number."""


class _Machine(NamedTuple):
    name: str
    """As libseccomp has it."""
    architecture: int
    clone: int
    ioctl: int
    socket: int
    refused: dict[str, int]
    modes: dict[str, tuple[int, int]]
    """Calls that set a file's mode: number, and which argument it is."""
    opens: dict[str, tuple[int, int, int]]
    """Calls that may make a file: number, which argument is the flags, which the mode."""


_NOT_THERE = {"clone3": 435, "openat2": 437}
"""What they are to do is behind pointers and cannot be seen; who meets ENOSYS falls back to the calls that can."""

_SHARED_NUMBERS = {
    "pidfd_getfd": 438,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "mount_setattr": 442,
    "quotactl_fd": 443,
}

_X86_64 = _Machine(
    name="SCMP_ARCH_X86_64",
    architecture=0xC000003E,
    clone=56,
    ioctl=16,
    socket=41,
    refused={
        "uselib": 134,
        "pivot_root": 155,
        "chroot": 161,
        "acct": 163,
        "settimeofday": 164,
        "mount": 165,
        "umount2": 166,
        "swapon": 167,
        "swapoff": 168,
        "reboot": 169,
        "sethostname": 170,
        "setdomainname": 171,
        "iopl": 172,
        "ioperm": 173,
        "create_module": 174,
        "init_module": 175,
        "delete_module": 176,
        "quotactl": 179,
        "lookup_dcookie": 212,
        "clock_settime": 227,
        "vhangup": 153,
        "syslog": 103,
        "kexec_load": 246,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "unshare": 272,
        "perf_event_open": 298,
        "fanotify_init": 300,
        "open_by_handle_at": 304,
        "clock_adjtime": 305,
        "setns": 308,
        "finit_module": 313,
        "kexec_file_load": 320,
        "bpf": 321,
        "userfaultfd": 323,
        **_SHARED_NUMBERS,
    },
    modes={
        "creat": (85, 1),
        "chmod": (90, 1),
        "fchmod": (91, 1),
        "mknod": (133, 1),
        "mknodat": (259, 2),
        "fchmodat": (268, 2),
        "fchmodat2": (452, 2),
    },
    opens={"open": (2, 1, 2), "openat": (257, 2, 3)},
)

_AARCH64 = _Machine(
    name="SCMP_ARCH_AARCH64",
    architecture=0xC00000B7,
    clone=220,
    ioctl=29,
    socket=198,
    refused={
        "lookup_dcookie": 18,
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "chroot": 51,
        "vhangup": 58,
        "quotactl": 60,
        "acct": 89,
        "unshare": 97,
        "kexec_load": 104,
        "init_module": 105,
        "delete_module": 106,
        "clock_settime": 112,
        "syslog": 116,
        "reboot": 142,
        "sethostname": 161,
        "setdomainname": 162,
        "settimeofday": 170,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "swapon": 224,
        "swapoff": 225,
        "perf_event_open": 241,
        "fanotify_init": 262,
        "open_by_handle_at": 265,
        "clock_adjtime": 266,
        "setns": 268,
        "finit_module": 273,
        "bpf": 280,
        "userfaultfd": 282,
        "kexec_file_load": 294,
        **_SHARED_NUMBERS,
    },
    modes={"mknodat": (33, 2), "fchmod": (52, 1), "fchmodat": (53, 2), "fchmodat2": (452, 2)},
    opens={"openat": (56, 2, 3)},
)

_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _fail_with(error: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | error)


def _fail_when_equal(value: int, error: int = _EPERM) -> bytes:
    return _instruction(_JUMP_EQUAL, value, 0, 1) + _fail_with(error)


def _fail_when_any(bits: int) -> bytes:
    return _instruction(_JUMP_BITS, bits, 0, 1) + _fail_with(_EPERM)


def _on_call(number: int, body: bytes) -> bytes:
    """Runs `body` for one system call only. It may load an argument; the call's number is loaded again after it."""
    body += _instruction(_LOAD, _AT_NUMBER)
    return _instruction(_JUMP_EQUAL, number, 0, len(body) // 8) + body


def _argument(index: int) -> bytes:
    """The low half: on both machines the high half of these arguments means nothing to the kernel."""
    return _instruction(_LOAD, _AT_ARGUMENT + 8 * index)


@functools.cache
def filter_program(machine_name: str | None = None) -> bytes | None:
    """The filter's bytes for this machine; None when the machine's system calls are not known here."""
    machine = _MACHINES.get(machine_name or platform.machine())
    if machine is None:
        return None
    program = _instruction(_LOAD, _AT_ARCHITECTURE)
    program += _instruction(_JUMP_EQUAL, machine.architecture, 1, 0) + _fail_with(_EPERM)
    program += _instruction(_LOAD, _AT_NUMBER)
    if machine is _X86_64:
        program += _instruction(_JUMP_AT_LEAST, _X32, 0, 1) + _fail_with(_EPERM)
    program += _instruction(_JUMP_ABOVE, _NEWEST, 0, 1) + _fail_with(_ENOSYS)
    program += b"".join(_fail_when_equal(number, _ENOSYS) for number in _NOT_THERE.values())
    program += _on_call(machine.clone, _argument(0) + _fail_when_any(_NEW_NAMESPACES))
    program += _on_call(machine.ioctl, _argument(1) + b"".join(map(_fail_when_equal, _TERMINAL_INJECTIONS)))
    program += _on_call(machine.socket, _argument(0) + b"".join(map(_fail_when_equal, _FOREIGN_FAMILIES)))
    for number, mode in machine.modes.values():
        program += _on_call(number, _argument(mode) + _fail_when_any(_OWNERS_POWERS))
    for number, flags, mode in machine.opens.values():
        powers = _argument(mode) + _fail_when_any(_OWNERS_POWERS)
        made = _instruction(_JUMP_BITS, _MAKES_A_FILE, 0, len(powers) // 8) + powers
        program += _on_call(number, _argument(flags) + made)
    program += b"".join(_fail_when_equal(number) for number in sorted(machine.refused.values()))
    return program + _instruction(_RETURN, _ALLOW)


@functools.cache
def named_filter(machine_name: str | None = None) -> str | None:
    """The same filter by names, as container engines take it, with what they refuse in theirs."""
    machine = _MACHINES.get(machine_name or platform.machine())
    if machine is None:
        return None
    refused = [_refusal(*sorted({*machine.refused, *_REFUSED_BY_ENGINES}))]
    refused += [_refusal(*_NOT_THERE, *_YOUNGER, error=_ENOSYS)]
    refused += [_refusal("clone", where=[(0, bit, bit)]) for bit in _bits(_NEW_NAMESPACES)]
    refused += [_refusal("ioctl", where=[(1, _LOW_HALF, request)]) for request in _TERMINAL_INJECTIONS]
    refused += [_refusal("socket", where=[(0, _LOW_HALF, family)]) for family in _FOREIGN_FAMILIES]
    for power in _bits(_OWNERS_POWERS):
        refused += [_refusal(name, where=[(mode, power, power)]) for name, (_, mode) in machine.modes.items()]
        for making in _bits(_MAKES_A_FILE):
            refused += [
                _refusal(name, where=[(flags, making, making), (mode, power, power)])
                for name, (_, flags, mode) in machine.opens.items()
            ]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "architectures": [machine.name], "syscalls": refused})


def _bits(mask: int) -> list[int]:
    return [1 << bit for bit in range(32) if mask & (1 << bit)]


def _refusal(*names: str, where: Sequence[tuple[int, int, int]] = (), error: int = _EPERM) -> dict[str, object]:
    """`where` is an argument's index, the bits of it that count, and what they must be; all must hold."""
    refusal: dict[str, object] = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": error}
    if where:
        refusal["args"] = [
            {"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
            for index, mask, value in where
        ]
    return refusal
