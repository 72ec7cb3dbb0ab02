"""A seccomp filter for the jail, assembled by hand: system calls that reach past namespaces fail with EPERM."""

import functools
import json
import platform
import struct
from typing import NamedTuple

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
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


class _Machine(NamedTuple):
    name: str
    """As libseccomp has it."""
    architecture: int
    clone: int
    clone3: int
    ioctl: int
    socket: int
    refused: dict[str, int]


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
    clone3=435,
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
)

_AARCH64 = _Machine(
    name="SCMP_ARCH_AARCH64",
    architecture=0xC00000B7,
    clone=220,
    clone3=435,
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
)

_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _fail_with(error: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | error)


def _fail_when_equal(value: int, error: int = _EPERM) -> bytes:
    return _instruction(_JUMP_EQUAL, value, 0, 1) + _fail_with(error)


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
    program += _fail_when_equal(machine.clone3, _ENOSYS)  # its flags are behind a pointer; libc falls back to clone
    program += _on_call(
        machine.clone, _argument(0) + _instruction(_JUMP_BITS, _NEW_NAMESPACES, 0, 1) + _fail_with(_EPERM)
    )
    program += _on_call(machine.ioctl, _argument(1) + b"".join(map(_fail_when_equal, _TERMINAL_INJECTIONS)))
    program += _on_call(machine.socket, _argument(0) + b"".join(map(_fail_when_equal, _FOREIGN_FAMILIES)))
    program += b"".join(_fail_when_equal(number) for number in sorted(machine.refused.values()))
    return program + _instruction(_RETURN, _ALLOW)


@functools.cache
def named_filter(machine_name: str | None = None) -> str | None:
    """The same filter by names, as container engines take it, with what they refuse in theirs."""
    machine = _MACHINES.get(machine_name or platform.machine())
    if machine is None:
        return None
    refused = [_refusal(*sorted({*machine.refused, *_REFUSED_BY_ENGINES})), _refusal("clone3", error=_ENOSYS)]
    refused += [_refusal("clone", where=(0, 1 << bit, 1 << bit)) for bit in range(32) if _NEW_NAMESPACES & (1 << bit)]
    refused += [_refusal("ioctl", where=(1, _LOW_HALF, request)) for request in _TERMINAL_INJECTIONS]
    refused += [_refusal("socket", where=(0, _LOW_HALF, family)) for family in _FOREIGN_FAMILIES]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "architectures": [machine.name], "syscalls": refused})


def _refusal(*names: str, where: tuple[int, int, int] | None = None, error: int = _EPERM) -> dict[str, object]:
    """`where` is an argument's index, the bits of it that count, and what they must be."""
    refusal: dict[str, object] = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": error}
    if where is not None:
        index, mask, value = where
        refusal["args"] = [{"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}]
    return refusal
