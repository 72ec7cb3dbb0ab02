"""Backups: an archive of all that a home holds and that could not be made again."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST

BackupKind = Literal["daily", "by hand"]


class BackupInfo(Struct, frozen=True, omit_defaults=True):
    """One archive."""

    name: str
    """Its file name."""
    path: str
    """Where it lies."""
    bytes: int
    """How large it is."""
    created_at: float = 0.0
    """When it was made, in seconds since 1970."""
    kind: BackupKind = "by hand"
    """Who made it: the daemon, which also takes it away in time, or a person."""
    store: str = ""
    """What holds the sessions: sqlite or postgresql."""
    sessions: int = 0
    """How many sessions are in it."""
    messages: int = 0
    """How many messages they have."""
    keys: bool = False
    """Keys and logins are in it, sealed."""
    keys_left_out: str = ""
    """Why they are not, where there are some."""
    checkpoints: bool = False
    """What undo needs is in it."""
    version: str = ""
    """The version that made it."""
    problem: str = ""
    """Why it is of no use; the rest says nothing then."""


class BackupList(Struct, frozen=True, omit_defaults=True):
    """The archives that there are."""

    folder: str
    """Where they are kept."""
    backups: list[BackupInfo]
    """The newest first."""
    daily: bool = True
    """The daemon makes one a day by itself."""
    keep_days: int = 30
    """How long those are kept."""
    checkpoint_bytes: int = 0
    """What an archive would hold besides if checkpoints were to be in it."""
    problem: str = ""
    """Why the last daily one was not made."""


class BackupMade(Struct, frozen=True, omit_defaults=True):
    """What making one did."""

    backup: BackupInfo | None = None
    """The new archive, tried out; null when none was due."""
    removed: list[str] = []
    """Daily ones that had their time."""
    seconds: float = 0.0
    """How long it took."""


class BackupTried(Struct, frozen=True, omit_defaults=True):
    """An archive that was unpacked into a place of its own and opened."""

    backup: BackupInfo
    """Which one."""
    files: int = 0
    """Files whose checksums were right."""
    keys_open: int = 0
    """Keys and logins that could be unsealed."""
    seconds: float = 0.0
    """How long it took."""


class RecoveryKey(Struct, frozen=True):
    """What unseals the keys in a backup."""

    key: str
    """Eight groups of four letters and digits. Whoever has it and an archive has the keys."""


class BackupCreate(
    Op[BackupMade], tag="backup.create", needs="admin", reach="whole", waits=True, routes=POST("/api/backups")
):
    """Make an archive of sessions, sealed keys, settings and templates, while everybody works on. It gets its name once
    it has been unpacked and opened."""

    checkpoints: bool = False
    """Also what undo needs, which may be large."""
    due: bool = False
    """Only when the last daily one is a day old, as a daily one; and take away those that had their time."""


class BackupsList(
    ReadingOp[BackupList], tag="backup.list", needs="admin", reach="whole", waits=True, routes=GET("/api/backups")
):
    """List the archives that there are."""


class BackupVerify(
    ReadingOp[BackupTried],
    tag="backup.verify",
    needs="admin",
    reach="whole",
    waits=True,
    routes=POST("/api/backups/verify"),
):
    """Unpack an archive into a place of its own, compare every checksum, open its database and its keys."""

    archive: str
    """Its name, or its path on the daemon's machine."""


class BackupKey(Op[RecoveryKey], tag="backup.key", needs="admin", reach="whole", routes=POST("/api/backups/key")):
    """The recovery key, made when it is first asked for: it unseals the keys in a backup on another machine."""
