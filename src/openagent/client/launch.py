"""Starting a daemon in the background. Standard library only: this is on the path of `openagent run`."""

from __future__ import annotations

import os
import sys

from openagent.protocol import locations

READY_FD = "OPENAGENT_READY_FD"
_LONGEST_START = 60.0
_LOOK_AGAIN = 0.02
"""Seconds between two tries to reach a daemon that somebody else is starting."""


class DaemonDidNotStart(Exception):
    """Its text is what the daemon said."""


def daemon_program() -> list[str]:
    """What runs a daemon. The standalone client holds none, and starts the one that is installed beside it."""
    if not getattr(sys, "frozen", False):
        # -P: nothing of the folder we happen to be in is imported.
        return [sys.executable, "-P", "-m", "openagent"]
    own = os.path.realpath(sys.executable)
    usual = os.path.expanduser("~/.local/bin")  # where uv and pipx put it, on PATH or not
    for folder in (*os.environ.get("PATH", "").split(os.pathsep), usual):
        candidate = os.path.join(folder, "openagent")
        if os.access(candidate, os.X_OK) and os.path.realpath(candidate) != own:
            return [candidate]
    raise DaemonDidNotStart(
        "This is the client alone, and there is no `openagent` with a daemon on PATH. Install one with "
        "`uv tool install openagent`, or name a daemon that runs elsewhere with --connect."
    )


def bring_up(socket: str) -> None:
    """Returns when a daemon listens on that socket. Of several who come at once, one starts it and the others wait."""
    lock = _one_at_a_time()
    try:
        if listens(socket):
            return
        try:
            start_daemon()
        except DaemonDidNotStart:
            if not _starts_elsewhere(socket):
                raise
    finally:
        if lock is not None:
            os.close(lock)


def listens(socket: str) -> bool:
    from _socket import AF_UNIX, SOCK_STREAM
    from _socket import socket as Socket  # noqa: N812

    probe = Socket(AF_UNIX, SOCK_STREAM)
    try:
        probe.connect(socket)
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        return False
    finally:
        probe.close()
    return True


def _one_at_a_time() -> int | None:
    """Returns when nobody else is starting a daemon for this home; None where no lock can be had."""
    from fcntl import LOCK_EX, flock

    home = locations.data_home(os.environ)
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        lock = os.open(os.path.join(home, "starting.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None  # the daemon meets the same, and says it better
    flock(lock, LOCK_EX)
    return lock


def _starts_elsewhere(socket: str) -> bool:
    """A daemon that was started by hand may hold its home already and listen only in a moment."""
    import time

    last = time.monotonic() + _LONGEST_START
    while _home_is_held() and time.monotonic() < last:
        if listens(socket):
            return True
        time.sleep(_LOOK_AGAIN)
    return False


def _home_is_held() -> bool:
    from fcntl import LOCK_NB, LOCK_SH, flock

    try:
        lock = os.open(os.path.join(locations.data_home(os.environ), "daemon.lock"), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        flock(lock, LOCK_SH | LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def start_daemon(arguments: tuple[str, ...] = ()) -> None:
    """Returns when the daemon accepts connections, or raises with its own words on why it cannot."""
    program = [*daemon_program(), "serve", *arguments]
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    # Whatever else we were started with, such as the pipe of a shell that waits for its end, is not the daemon's.
    not_theirs = [(os.POSIX_SPAWN_CLOSE, each) for each in _open_descriptors() if each not in (0, 1, 2, writing)]
    try:
        # `subprocess` would take ten milliseconds to import.
        os.posix_spawn(
            program[0],
            program,
            {**os.environ, **locations.wherever_we_are(os.environ), READY_FD: str(writing)},
            file_actions=[*nothing, *not_theirs],
            setsid=True,
        )
    finally:
        os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    if said != "ok":
        raise DaemonDidNotStart(said or _why_silent())


def _open_descriptors() -> list[int]:
    """Those that a program started from here would get."""
    found: list[int] = []
    for name in os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"):
        try:
            if os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:
            continue  # the one that listed them
    return found


def _why_silent() -> str:
    from errno import EACCES, EROFS

    home = locations.data_home(os.environ)
    if not os.access(home, os.W_OK):
        reason = os.strerror(EACCES if os.path.isdir(home) else EROFS)
        return f"The daemon cannot write to its home {home} ({reason}). Set OPENAGENT_HOME to a folder that is yours."
    return f"The daemon ended before it was ready; {os.path.join(home, 'logs')} says why."
