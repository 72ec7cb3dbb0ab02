"""Where an agent's commands run."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeGuard, TypeVar, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from openagent.protocol.metrics import JailUse
from openagent.protocol.sessions import Wall

OutputStream = Literal["stdout", "stderr"]
OnOutput = Callable[[OutputStream, str], None]
"""Called with output as it arrives, on the event loop."""
T = TypeVar("T")
HOST_NAME = "host.openagent.internal"
"""By this name programs in a jail ask for ports of the machine that the jail is on."""


class Tunnel:
    """A connection on its way out of a jail, as whoever is asked about it needs to know it."""

    def __init__(self, also: Sequence[str] = (), never: str = "") -> None:
        """`also` are other names of the host: what is forbidden by any of them is. `never` is why it is not made,
        whoever allows it."""
        self.also = also
        self.never = never
        self.refuse: Callable[[str], str] = lambda why: f"{why}."
        """Called when it was allowed, and cannot be made all the same. Returns it in words."""
        self.closed = False
        self.cut: Callable[[], None] = lambda: None

    def close(self) -> None:
        """What allowed it is over."""
        self.closed = True
        self.cut()


class AskHost(Protocol):
    def __call__(self, host: str, port: int, tunnel: Tunnel | None = None) -> Awaitable[str]:
        """Why a host may not be reached; empty when it may. May take as long as a person takes to answer."""
        ...


AskHostFor = Callable[[str, str, int, Tunnel | None], Awaitable[str]]
"""The same with the session first."""
NeverReached = Callable[[str, int, Sequence[str]], Awaitable[str]]
"""Host, port and the addresses it leads to, as far as known, to why nobody can open a jail to it; empty when somebody
can."""


async def reach_anything(host: str, port: int, addresses: Sequence[str]) -> str:
    """Where nothing is to be kept from jails."""
    del host, port, addresses
    return ""


class CommandResult(Struct, frozen=True):
    exit_code: int | None
    """None when the command was killed or moved to the background."""
    stdout: str
    """Bounded: the head and the tail when there was more."""
    stderr: str
    duration_ms: float
    timed_out: bool = False
    truncated: bool = False
    """More was printed than is kept here; all of it is in `log`, when there is one."""
    log: str = ""
    """A file inside the jail's reach that holds all of the output."""
    background: str = ""
    """The id under which the command goes on running, or did."""
    ended: bool = True
    """False while it goes on in the background."""
    notes: tuple[str, ...] = ()
    """What became of the shell, when the next command does not simply find it as this one left it."""


class BackgroundCommand(Struct, frozen=True):
    """A command that outlived its welcome in the foreground."""

    id: str
    command: str
    running: bool
    exit_code: int | None
    """None while it runs, and when it was killed."""
    duration_ms: float
    timed_out: bool = False


class Openings(Struct, frozen=True):
    """What a session's jail is opened to beside hosts."""

    folders: tuple[tuple[str, bool], ...] = ()
    """Each with whether it may be written."""
    ports: tuple[int, ...] = ()
    """Of the machine's own loopback, on the jail's."""
    engine: bool = False
    credentials: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    """What of the workspace, or its repository elsewhere, is not even to be written, as long as nobody allowed it."""

    @property
    def needs_mounts(self) -> "Openings":
        """Without what can be opened while the jail stands."""
        return replace(self, ports=(), held=())

    @property
    def to_read(self) -> "Openings":
        """What of it is left where nothing may be changed."""
        return Openings(tuple((folder, False) for folder, _ in self.folders))


class ProgramPlaces(Struct, frozen=True):
    """What a program beside a session's shell finds in the jail, besides the workspace."""

    readable: tuple[str, ...] = ()
    """What it consists of."""
    folders: tuple[tuple[str, bool], ...] = ()
    """Those that somebody let it have, each with whether it may be written."""
    own: str = ""
    """One that is its own, to keep something in."""
    cwd: str = ""
    """Where it starts; empty: the workspace."""


class Shell(Protocol):
    """One persistent shell, as bash is: directory, variables, functions, options and `$?` go from command to command.

    Cancelling the task that awaits `run` kills the command's whole process group within 100 ms.
    """

    @property
    def directory(self) -> str:
        """Where the next command starts."""
        ...

    async def run(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        cwd: str | None = None,
        interactive: bool = False,
        merged: bool = False,
        wall: Wall = "write",
    ) -> CommandResult:
        """`cwd` holds for this command alone, which leaves nothing in `$?`. Without `interactive` the command's input
        is empty. With `merged` errors are in `stdout`, in the order in which all was written. A `timeout` counts on in
        the background. Behind the wall `read`, which a `ReadingJail`'s shell has, the workspace cannot be changed."""
        ...

    def send_input(self, text: str) -> None:
        """To the running command, when it is interactive."""
        ...

    def close_input(self) -> None: ...

    def background(self) -> list[BackgroundCommand]: ...

    def read_background(self, name: str) -> CommandResult:
        """What the command printed so far. Raises OpenAgentError('not_found')."""
        ...

    async def kill_background(self, name: str) -> CommandResult: ...

    async def close(self) -> None: ...


@runtime_checkable
class PreparedJail(Protocol):
    """A jail that can look ahead."""

    def prepare(self, workspace: Path) -> None:
        """Somebody may soon work there. Returns at once."""
        ...


@runtime_checkable
class KeepsSecrets(Protocol):
    """A shell that cannot read some files of the workspace until it is told to."""

    def secrets(self) -> Sequence[Path]: ...

    async def open_to(self, paths: Sequence[Path]) -> None: ...


class Jail(Protocol):
    kind: str
    """bwrap, docker, host, or a plugin's name: shown to people."""

    async def open(self, session: str, workspace: Path) -> Shell:
        """Raises OpenAgentError('jail_error') with what is missing and how to get it."""
        ...

    def describe(self) -> str:
        """A few words for the status line: `bwrap, no network`."""
        ...


@runtime_checkable
class OpenableJail(Protocol):
    """A jail that can be opened to what is outside it."""

    def lacks(self, workspace: Path, path: str) -> bool:
        """Whether what this machine has at a path outside the workspace is not to be found in the jail."""
        ...

    def shows(self, path: str) -> bool:
        """Whether commands find at that path what this machine has there, without anybody having been asked."""
        ...

    def why_not(self, kind: str, subject: str) -> str:
        """Why it cannot be opened to something, whoever says so; empty when it can."""
        ...

    async def refit(self, session: str, openings: Openings) -> None:
        """Opens what can be opened while the session's jail stands, closes the like, and gets ready for the rest."""
        ...


@runtime_checkable
class OpenableShell(Protocol):
    async def reopen(self) -> None:
        """What its jail is opened to is another: the next command finds a new jail, with what this shell had."""
        ...


@runtime_checkable
class MendedShell(Protocol):
    async def mend(self) -> None:
        """What is to be held read-only is so at once, and not only for the next command."""
        ...


@runtime_checkable
class MeasuredShell(Protocol):
    def use(self) -> JailUse:
        """Of all that runs in its jail. Reads files of the kernel: not on the event loop."""
        ...


@runtime_checkable
class ReadingJail(Protocol):
    """A jail that can keep what runs in it from changing anything of the workspace."""

    async def open_reading(self, session: str, workspace: Path) -> Shell:
        """A shell whose commands are all behind that wall, and without the network."""
        ...


@runtime_checkable
class ProcessJail(Protocol):
    """A jail that can also hold programs beside the shell."""

    async def start_process(
        self,
        workspace: Path,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        ask: AskHost | None = None,
        read_only: bool = False,
        places: ProgramPlaces = ProgramPlaces(),  # noqa: B008
    ) -> asyncio.subprocess.Process:
        """`ask` is asked about hosts, where that is how the jail's network is set; without it there is none. Its
        three streams are pipes, and it leads a process group of its own."""
        ...


@runtime_checkable
class LastingJail(Protocol):
    """A jail whose shells go on, after a restart of the daemon, where they were."""

    def kept_directory(self, session: str) -> str | None:
        """Where the session's next shell will start; None for the workspace."""
        ...


@runtime_checkable
class ForgettingJail(Protocol):
    """A jail whose shells can be kept from handing on what steers later commands."""

    def forget(self, session: str, may_keep: Callable[[str], bool]) -> bool:
        """The session has no shell now. Its next one starts where the last was, with the exported variables that may be
        kept by their names, and nothing else. False: nothing else was kept."""
        ...


class Terminal(Protocol):
    """An interactive shell on a pseudo-terminal."""

    def listen(self, on_output: Callable[[bytes], None]) -> None:
        """Call it once, at the beginning."""
        ...

    def write(self, data: bytes) -> bool:
        """False when the program reads nothing and the data is dropped."""
        ...

    def resize(self, columns: int, rows: int) -> None: ...

    async def wait(self) -> int:
        """The exit code, when it has ended and its last output was heard."""
        ...

    async def kill(self) -> None: ...


@runtime_checkable
class TerminalJail(Protocol):
    """A jail that can also hold a terminal for a person."""

    async def open_terminal(
        self, workspace: Path, columns: int, rows: int, *, ask: AskHost | None = None, read_only: bool = False
    ) -> Terminal: ...


@runtime_checkable
class OutsideJail(Protocol):
    """A jail made by something outside this program, which may be missing."""

    async def look(self) -> None:
        """Raises OpenAgentError('jail_error') with what is missing and how to get it."""
        ...


def offers(thing: object, kind: type[T]) -> TypeGuard[T]:
    """As isinstance, for the protocols of this file: asked several times in every step, and dear each time."""
    return _class_offers(type(thing), kind)


@functools.cache
def _class_offers(made_by: type[Any], kind: type[Any]) -> bool:
    return issubclass(made_by, kind)
