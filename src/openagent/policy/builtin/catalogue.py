"""The built-in rules: how strict, how risky, what they are about and why. Examples: `examples.toml`."""

from enum import IntEnum
from typing import Literal

from msgspec import Struct

from openagent.protocol.sessions import Risk


class Level(IntEnum):
    SAFE = 0
    ASK = 1
    """Asks, except in full mode."""
    FIRM = 2
    """Asks in every mode."""
    DENY = 3


Kind = Literal["read", "write", "unknown", "leave", "never"]
"""What a command is believed to do, mildest first. `write`: to the workspace or the jail's own folders, and nothing
else. `leave`: it asks for something beyond the jail."""
KINDS: tuple[Kind, ...] = ("read", "write", "unknown", "leave", "never")
Way = Literal["network", "engine", "publish", "credentials", "outside", "privilege"]
"""How something leaves the jail. `engine`: through a container engine; `outside`: by a path."""


class BuiltinRule(Struct, frozen=True):
    name: str
    level: Level
    risk: Risk
    reason: str
    kind: Kind
    leaves: Way | None = None
    """The way by which it leaves the jail."""


class Finding(Struct, frozen=True):
    """A rule that a command meets."""

    rule: BuiltinRule
    detail: str = ""
    """What in the command met it."""


RULES: dict[str, BuiltinRule] = {}
"""By name."""


def _known(rule: BuiltinRule) -> BuiltinRule:
    return RULES.setdefault(rule.name, rule)


def _never(name: str, reason: str) -> BuiltinRule:
    return _known(BuiltinRule(name, Level.DENY, "high", reason, "never"))


def _firm(name: str, reason: str, way: Way | None = None) -> BuiltinRule:
    return _known(BuiltinRule(name, Level.FIRM, "high", reason, "leave" if way else "unknown", way))


def _asked(name: str, risk: Risk, reason: str, kind: Kind = "unknown") -> BuiltinRule:
    return _known(BuiltinRule(name, Level.ASK, risk, reason, kind))


def _leaves(name: str, risk: Risk, way: Way, reason: str) -> BuiltinRule:
    return _known(BuiltinRule(name, Level.ASK, risk, reason, "leave", way))


def _safe(name: str, reason: str, way: Way | None = None) -> BuiltinRule:
    return _known(BuiltinRule(name, Level.SAFE, "low", reason, "leave" if way else "read", way))


# Never allowed.

DESTROYS_SYSTEM = _never("destroys-system", "It would delete or overwrite the system or a home directory.")
WRITES_SYSTEM = _never("writes-system", "It would change files of the operating system.")
WRITES_DEVICE = _never("writes-device", "It would write to a device.")
FORMATS_DISK = _never("formats-disk", "It would format or repartition a disk.")
FORK_BOMB = _never("fork-bomb", "It would start processes without end.")
KILLS_EVERYTHING = _never("kills-everything", "It would kill the init process or every process.")
STOPS_MACHINE = _never("stops-machine", "It would stop or restart the machine.")
OPENS_SYSTEM = _never("opens-system", "It would change owners or permissions across the system or a home directory.")
SENDS_CREDENTIALS = _never("sends-credentials", "It would send keys, tokens or the environment over the network.")

# Asked in every mode.

NOT_UNDERSTOOD = _firm("not-understood", "The command could not be read surely.")
HIDDEN_CHARACTERS = _firm(
    "hidden-characters", "It holds characters that cannot be seen, or that show something else than what runs."
)
PRIVILEGE = _firm("privilege", "It would run with another user's rights.", "privilege")
REMOTE_CODE = _firm("remote-code", "It would run code straight from the network.", "network")
HIDDEN_CODE = _firm("hidden-code", "It would run code that cannot be read beforehand.")
CONTAINER_ESCAPE = _firm("container-escape", "It would give a container the rights of the host.", "engine")
DELETES_REPOSITORY = _firm(
    "deletes-repository", "It would delete the history of the workspace's repository, which no undo brings back."
)
DYNAMIC_DANGER = _firm(
    "dynamic-danger", "What runs is decided only when it runs, and it aims at the system or a home directory."
)

# What leaves the jail.

READS_CREDENTIALS = _leaves(
    "reads-credentials", "high", "credentials", "It reads a place where keys, tokens or passwords are kept."
)
UPLOADS = _leaves("uploads", "high", "network", "It sends files or data over the network.")
REMOTE_SHELL = _leaves("remote-shell", "high", "network", "It works on, or opens a way to, another machine.")
PUBLISHES = _leaves("publishes", "high", "publish", "It makes something public that is hard to take back.")
SECRET_STORE = _leaves("secret-store", "high", "credentials", "It uses a store of keys or passwords.")
INSTALLS = _leaves("installs", "medium", "network", "It installs software, which may run code of its own.")
USES_NETWORK = _leaves("uses-network", "medium", "network", "It uses the network.")
GIT_PUSHES = _leaves("git-pushes", "medium", "publish", "It sends commits to another repository.")
CONTAINERS = _leaves("containers", "medium", "engine", "It works on containers or a cluster.")
WRITES_OUTSIDE = _leaves("writes-outside", "medium", "outside", "It writes outside the workspace.")

# Other things that are asked about.

RECURSIVE_DELETE = _asked("recursive-delete", "high", "It deletes folders with all they hold.", "write")
PROTECTED_FILE = _asked("protected-file", "high", "It changes a file that decides what other programs run or may do.")
DUMPS_ENVIRONMENT = _asked("dumps-environment", "medium", "It prints all environment variables, secrets among them.")
GIT_DESTROYS = _asked("git-destroys", "high", "It can lose work that git cannot bring back.")
OPENS_PERMISSIONS = _asked("opens-permissions", "high", "It changes who may use files.")
SCHEDULES = _asked("schedules", "high", "It arranges for something to run later, out of sight.")
STEERS_SYSTEM = _asked("steers-system", "high", "It changes how the machine works.")
HIDES_TRACKS = _asked("hides-tracks", "high", "It removes the record of what was done.")
STEERS_SHELL = _asked("steers-shell", "high", "It changes which programs later commands start.")
RISKY_CODE = _asked("risky-code", "high", "It runs inline code that starts programs, opens the network or deletes.")
DYNAMIC = _asked("dynamic", "medium", "What runs is decided only when it runs.")
UNKNOWN_COMMAND = _asked("unknown-command", "medium", "It runs a program that is not known to only read.")
RUNS_CODE = _asked("runs-code", "medium", "It runs code.")
GIT_CHANGES = _asked("git-changes", "low", "It changes the repository.")
DELETES = _asked("deletes", "medium", "It deletes files.", "write")
WRITES_SCRATCH = _asked(
    "writes-scratch",
    "medium",
    "It writes to the temporary folder or the home directory, which are a jail's own.",
    "write",
)
WRITES_WORKSPACE = _asked("writes-workspace", "low", "It changes files in the workspace.", "write")
STOPS_PROCESSES = _asked("stops-processes", "medium", "It stops running processes.")

# Never asked for by itself: no jail lets it write, and a jail may hold what is there, or be opened to it.

READS_UNKNOWN = _safe("reads-unknown", "It reads a file whose name is decided only when it runs.")
READS_OUTSIDE = _safe("reads-outside", "It reads a path outside the workspace.", "outside")
ASKS_ENGINE = _safe("asks-engine", "It asks a container engine how things are.", "engine")
