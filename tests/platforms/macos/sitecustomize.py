"""A Python on Linux that finds what one on macOS finds: on PYTHONPATH, it is read before anything else.

What only Linux has is taken away from the modules that have it, from the C library and from the file system, and what
macOS has in its place is answered as macOS answers. Programs that are started (bash, git, ps) are Linux's own.
"""

# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false

import builtins
import ctypes
import errno
import fcntl
import importlib.util
import io
import os
import posix
import resource
import select
import signal
import struct
import sys
import sysconfig
import time
import types

for _name in [name for name in dir(select) if name.lower().startswith("epoll")]:  # before `socket` finds them
    delattr(select, _name)

import socket  # noqa: E402

if hasattr(os, "process_cpu_count"):  # from 3.13 on, by a name that is taken away below
    os.process_cpu_count = os.cpu_count

NAMES = {
    os: """
        O_PATH O_TMPFILE O_DIRECT O_LARGEFILE O_NOATIME O_RSYNC pidfd_open P_PIDFD PIDFD_NONBLOCK memfd_create eventfd
        eventfd_read eventfd_write sched_getaffinity sched_setaffinity sched_getscheduler sched_setscheduler
        sched_getparam sched_setparam sched_rr_get_interval sched_param posix_fadvise posix_fallocate fdatasync
        copy_file_range splice getrandom getxattr listxattr setxattr removexattr setresuid setresgid getresuid getresgid
        pipe2 waitid P_ALL P_PID P_PGID setns unshare timerfd_create
    """,
    socket: """
        SO_PEERCRED SO_PASSCRED SO_DOMAIN SO_PROTOCOL SO_BINDTODEVICE SO_MARK SO_PRIORITY AF_NETLINK AF_VSOCK AF_PACKET
        AF_ALG AF_TIPC AF_CAN SOCK_CLOEXEC SOCK_NONBLOCK TCP_KEEPIDLE TCP_USER_TIMEOUT TCP_QUICKACK TCP_CORK
        TCP_DEFER_ACCEPT MSG_CMSG_CLOEXEC SCM_CREDENTIALS
    """,
    signal: "SIGPWR SIGPOLL SIGSTKFLT SIGRTMIN SIGRTMAX sigtimedwait sigwaitinfo",
    fcntl: """
        F_ADD_SEALS F_GET_SEALS F_GETPIPE_SZ F_SETPIPE_SZ F_OFD_GETLK F_OFD_SETLK F_OFD_SETLKW F_NOTIFY F_SETSIG
        F_GETSIG F_SETLEASE F_GETLEASE
    """,
    resource: "prlimit RLIMIT_OFILE RLIMIT_NICE RLIMIT_RTPRIO RLIMIT_RTTIME RLIMIT_SIGPENDING RLIMIT_MSGQUEUE",
    time: "CLOCK_BOOTTIME CLOCK_TAI",
}
PREFIXES = {
    os: (
        "MFD_",
        "EFD_",
        "TFD_",
        "CLONE_",
        "SPLICE_",
        "GRND_",
        "XATTR_",
        "POSIX_FADV_",
        "RWF_",
        "SCHED_BATCH",
        "SCHED_IDLE",
    )
}
_LIBC = ("inotify_", "prctl", "syscall", "setns", "unshare", "mallopt", "malloc_trim", "openat2", "renameat2", "pidfd_")
_UNKNOWN_PLACES = ("/proc", "/sys", "/dev/shm", "/run")


def _take_away() -> None:
    for module, names in NAMES.items():
        starts = PREFIXES.get(module, ())
        for name in {*names.split(), *(name for name in dir(module) if starts and name.startswith(starts))}:
            for holder in (module, posix) if module is os else (module, sys.modules.get(f"_{module.__name__}", module)):
                if hasattr(holder, name):
                    delattr(holder, name)


def _is_unknown(path: object) -> bool:
    try:
        text = os.fsdecode(path)
    except TypeError:
        return False
    return any(text == place or text.startswith(place + "/") for place in _UNKNOWN_PLACES)


def _missing(path: object) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _hide_places() -> None:
    def hiding(real):
        def call(path=".", *arguments, **named):
            if _is_unknown(path):
                raise _missing(path)
            return real(path, *arguments, **named)

        return call

    for name in ("open", "stat", "lstat", "readlink", "listdir", "scandir", "mkdir", "statvfs", "chmod", "unlink"):
        setattr(os, name, hiding(getattr(os, name)))
    real_access = os.access
    os.access = lambda path, *rest, **named: not _is_unknown(path) and real_access(path, *rest, **named)
    builtins.open = io.open = hiding(io.open)


def _as_macos_answers() -> None:
    readlink = posix.readlink
    real_fcntl = fcntl.fcntl
    fcntl.F_GETPATH = 50

    def with_paths(fd, order, argument=0):
        if order != 50:
            return real_fcntl(fd, order, argument)
        number = fd if isinstance(fd, int) else fd.fileno()
        path = os.fsencode(readlink(f"/proc/self/fd/{number}"))
        return path + bytes(len(argument) - len(path))

    fcntl.fcntl = with_paths
    plain = socket.socket.getsockopt

    def with_peers(self, level, option, size=0):
        if level != 0:
            return plain(self, level, option, size) if size else plain(self, level, option)
        pid, uid, gid = struct.unpack("3i", plain(self, socket.SOL_SOCKET, 17, 12))
        return pid if option == 2 else struct.pack("IihhI", 0, uid, 1, 0, gid).ljust(size, b"\0")

    socket.socket.getsockopt = with_peers
    uname = os.uname()
    told = os.uname_result(("Darwin", uname.nodename, "23.6.0", "Darwin Kernel Version 23.6.0", "arm64"))
    os.uname = posix.uname = lambda: told
    real_attribute = ctypes.CDLL.__getattr__

    def of_libc(self, name):
        if self._name is None and name.startswith(_LIBC):
            raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
        return real_attribute(self, name)

    ctypes.CDLL.__getattr__ = of_libc
    proxies = types.ModuleType("_scproxy")  # the standard library's own, on macOS
    proxies._get_proxy_settings = proxies._get_proxies = dict
    sys.modules["_scproxy"] = proxies
    sys.meta_path.insert(0, _OpenSslForKeychain)
    os.environ.setdefault("_PYTHON_SYSCONFIGDATA_NAME", sysconfig._get_sysconfigdata_name())
    importlib.import_module("ctypes.util")  # while it is Linux's: Debian leaves out what only macOS needs
    sys.platform = "darwin"


class _OpenSslForKeychain:
    """A library that verifies certificates by macOS itself does so as on Linux."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "truststore._macos":
            return importlib.util.spec_from_file_location(name, f"{path[0]}/_openssl.py")
        return None


_take_away()
_as_macos_answers()
_hide_places()
