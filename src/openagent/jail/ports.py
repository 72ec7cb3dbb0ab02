"""Listening sockets inside jails, opened from outside.

A socket belongs to the network that its process was in when it was made. One small helper per daemon makes them: asked
for one, it forks, the child steps into the jail's network and hands the socket back. That takes two milliseconds and
nothing inside the jail, where the same would be the start of an interpreter for every jail.
"""

import array
import asyncio
import contextlib
import os
import socket
import struct
import subprocess
import sys

from openagent.filesystem.handles import LINUX
from openagent.protocol.errors import OpenAgentError

_REQUEST = struct.Struct("=ii")
_PATIENCE_S = 10.0
_HELPER = """
import array, ctypes, fcntl, os, signal, socket, struct, sys
NS_GET_USERNS, CLONE_NEWUSER, CLONE_NEWNET = 0xB701, 0x10000000, 0x40000000
line = socket.socket(fileno=int(sys.argv[1]))
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def enter(fd, kind):
    if libc.setns(fd, kind):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def opened(pid, port):
    net = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    if os.path.samestat(os.fstat(net), os.stat("/proc/self/ns/net")):
        raise OSError("it has no network of its own")
    user = fcntl.ioctl(net, NS_GET_USERNS)
    if not os.path.samestat(os.fstat(user), os.stat("/proc/self/ns/user")):
        enter(user, CLONE_NEWUSER)
    enter(net, CLONE_NEWNET)
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("0.0.0.0", port))
    made.listen(128)
    return made
while asked := line.recv(8):
    if os.fork():
        continue
    try:
        made = opened(*struct.unpack("=ii", asked))
        line.sendmsg([asked], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [made.fileno()]))])
    except Exception as problem:
        line.send(asked + str(problem).encode()[:200])
    os._exit(0)
"""
"""Python. The addresses of a jail's network are those of its loopback, which may not be up yet: so all are bound."""


class PortOpener:
    """The helper, started when it is first needed and ended when nobody holds it any more."""

    def __init__(self) -> None:
        self._held = 0
        self._line: socket.socket | None = None
        self._waiting: dict[bytes, list[asyncio.Future[socket.socket]]] = {}

    async def open(self, pid: int, port: int) -> socket.socket:
        """A socket that listens on `port` in the network of the process `pid`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[socket.socket] = loop.create_future()
        asked = _REQUEST.pack(pid, port)
        self._waiting.setdefault(asked, []).append(future)
        try:
            self._connected(loop).send(asked)
            async with asyncio.timeout(_PATIENCE_S):
                return await future
        except asyncio.CancelledError:
            _close(future)
            raise
        except (OSError, TimeoutError) as problem:
            _close(future)
            raise OpenAgentError("jail_error", f"The jail's network could not be opened: {problem}.") from None

    def warm_up(self) -> None:
        """Starts the helper ahead of the first jail; it does what only Linux can."""
        if not LINUX:
            return
        with contextlib.suppress(OSError):
            self._connected(asyncio.get_running_loop())

    def _connected(self, loop: asyncio.AbstractEventLoop) -> socket.socket:
        if self._line is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                ours.setblocking(False)
                self._helper = subprocess.Popen(
                    (sys.executable, "-ISc", _HELPER, str(theirs.fileno())),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env={},
                    cwd="/",
                    start_new_session=True,
                )
            self._line = ours
            loop.add_reader(ours.fileno(), self._hear, loop)
        return self._line

    def _hear(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._line is not None
        fds = array.array("i")
        try:
            said, ancillary, _, _ = self._line.recvmsg(1024, socket.CMSG_SPACE(fds.itemsize))
        except BlockingIOError:
            return
        except OSError:
            said, ancillary = b"", []
        if not said:
            self._lost(loop)
            return
        for _, _, data in ancillary:
            fds.frombytes(data[: fds.itemsize])
        asked, complaint = said[: _REQUEST.size], said[_REQUEST.size :].decode(errors="replace")
        waiting = self._waiting.get(asked, [])
        future = waiting.pop(0) if waiting else None
        if not waiting:
            self._waiting.pop(asked, None)
        if future is None or future.done():
            for fd in fds:
                os.close(fd)
        elif fds:
            future.set_result(socket.socket(fileno=fds[0]))
        else:
            future.set_exception(OSError(complaint))

    def _lost(self, loop: asyncio.AbstractEventLoop) -> None:
        """The helper was killed: whoever needs it next starts another."""
        assert self._line is not None
        loop.remove_reader(self._line.fileno())
        self._line.close()
        self._line = None
        self._helper.wait()
        waiting, self._waiting = self._waiting, {}
        for future in (each for several in waiting.values() for each in several):
            if not future.done():
                future.set_exception(OSError("its helper ended"))

    def hold(self) -> None:
        self._held += 1

    def release(self) -> None:
        self._held -= 1
        if not self._held and self._line is not None:
            self._helper.kill()
            self._lost(asyncio.get_running_loop())


def _close(future: asyncio.Future[socket.socket]) -> None:
    """Close a socket that arrived just as its caller was cancelled or timed out."""
    if future.done() and not future.cancelled() and not future.exception():
        future.result().close()
