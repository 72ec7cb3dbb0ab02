"""The unix socket: 4-byte big-endian length, then JSON. For the user who owns the daemon, and nobody else."""

import asyncio
import os
import socket
import struct
import time
from collections import deque
from pathlib import Path
from typing import cast

from openagent.daemon.callers import OWNER
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Daemon
from openagent.protocol.codec import HEADER_SIZE, MAX_FRAME, UndecodableOp, decode_op, encode_event, frame
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import ConnectionClosing

MAX_UNSENT = 8 * 1024 * 1024
"""Bytes that may wait for a client. One that falls further behind is cut off."""
GOODBYE_GRACE = 5.0
"""Seconds a client that is cut off has to read why."""
_PEER_CREDENTIALS = struct.Struct("3i")
_LOCAL_LEVEL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
"""As <sys/un.h> of macOS numbers them."""
_XUCRED = struct.Struct("Ii")
"""How a `struct xucred` begins: its version, then the user. Groups follow."""
_XUCRED_SIZE = 76


class IpcLine(asyncio.Protocol):
    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._received = bytearray()
        self._fresh: list[bytes] = []
        """Sent in this turn of the event loop: they leave together, in one system call."""
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._paused = False
        self._ending = False

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        pid, uid = _peer(transport.get_extra_info("socket"))
        self._connection = Connection(self._daemon, self, OWNER.at(f"socket, process {pid}"))
        if uid != os.getuid():
            self._end(ErrorInfo("unauthorized", "This socket belongs to another user.", recoverable=False))

    def data_received(self, data: bytes) -> None:
        if self._ending:
            return
        self._received += data
        start, received = 0, self._received
        while len(received) - start >= HEADER_SIZE:
            size = int.from_bytes(received[start : start + HEADER_SIZE], "big")
            if size > MAX_FRAME:
                message = f"A frame of {size} bytes was announced; the limit is {MAX_FRAME}."
                self._end(ErrorInfo("bad_frame", message, recoverable=False))
                return
            end = start + HEADER_SIZE + size
            if len(received) < end:
                break
            self._take(bytes(received[start + HEADER_SIZE : end]))
            start = end
        if start:
            del received[:start]

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        while self._unsent and not self._paused:
            data = self._unsent.popleft()
            self._unsent_bytes -= len(data)
            self._transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ending = True
        self._connection.close()

    # Line

    @property
    def unsent(self) -> int:
        return self._unsent_bytes + self._transport.get_write_buffer_size() + sum(map(len, self._fresh))

    def send(self, body: bytes) -> None:
        if self._ending:
            return
        data = frame(body)
        if not self._paused:
            if not self._fresh:
                asyncio.get_running_loop().call_soon(self.flush)
            self._fresh.append(data)
            return
        self._unsent.append(data)
        self._unsent_bytes += len(data)
        if self._unsent_bytes > MAX_UNSENT:
            self._unsent.clear()
            self._end(
                ErrorInfo(
                    "slow_client",
                    "This client did not keep up with the session and was cut off.",
                    hint="Attach again with the last seq it has seen; nothing is lost.",
                )
            )

    def flush(self) -> None:
        fresh, self._fresh = self._fresh, []
        if fresh and not self._transport.is_closing():
            self._transport.write(b"".join(fresh))

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def hang_up(self) -> None:
        self.flush()
        self._transport.close()

    def _take(self, body: bytes) -> None:
        try:
            self._connection.receive(decode_op(body))
        except UndecodableOp as problem:
            self._connection.refuse(problem, problem.op_id)

    def _end(self, error: ErrorInfo) -> None:
        self._ending = True
        self._connection.close()
        self.flush()
        self._transport.write(frame(encode_event(ConnectionClosing(at=time.time(), error=error))))
        self._transport.close()
        asyncio.get_running_loop().call_later(GOODBYE_GRACE, self._transport.abort)


def _peer(peer: socket.socket) -> tuple[int, int]:
    """Process and user, as the kernel says."""
    if not hasattr(socket, "SO_PEERCRED"):
        told = peer.getsockopt(_LOCAL_LEVEL, _LOCAL_PEERCRED, _XUCRED_SIZE)
        return peer.getsockopt(_LOCAL_LEVEL, _LOCAL_PEERPID), _XUCRED.unpack_from(told)[1]
    credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
    pid, uid, _ = _PEER_CREDENTIALS.unpack(credentials)
    return pid, uid


async def serve_ipc(daemon: Daemon, path: Path) -> asyncio.Server:
    """Replaces a socket that a killed daemon left behind: the caller holds the home's lock."""
    listener = _listen(path)
    return await asyncio.get_running_loop().create_unix_server(lambda: IpcLine(daemon), sock=listener)


def _listen(path: Path) -> socket.socket:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as problem:
        listener.close()
        raise OpenAgentError(
            "config_error",
            f"The socket {path} cannot be made: {problem.strerror or problem}.",
            hint="Choose another with --ipc-socket, or another OPENAGENT_HOME.",
        ) from None
    finally:
        os.umask(before)
    return listener
