"""Making backups, listing them and trying them out: `backup.*`, and the daily one."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

from openagent import __version__
from openagent.backups import archive
from openagent.backups.bucket import Bucket, is_bucket
from openagent.backups.home import DATABASE, VAULT, Home
from openagent.backups.thinning import outlived
from openagent.backups.trying import tried_out
from openagent.config.settings import BackupSettings, Settings, size_in_bytes
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.filesystem.locks import holding
from openagent.plugins.extras import Extras
from openagent.protocol.backups import (
    BackupCreate,
    BackupInfo,
    BackupKey,
    BackupKind,
    BackupList,
    BackupMade,
    BackupsList,
    BackupTried,
    BackupVerify,
    RecoveryKey,
)
from openagent.protocol.errors import OpenAgentError
from openagent.store.dump import dump
from openagent.vault.recovery import recovery_key, seal_vault
from openagent.vault.vault import Vault

_DAY = 86_400.0
_EARLY = 3_600.0
"""One that is due within the hour is made now: whoever looks once an hour would be late every day."""
_MAKING = ".making-"
_LEFT_FREE = 256 * 1024 * 1024


class BackupService:
    def __init__(
        self,
        home: Home,
        vault: Vault,
        settings: Callable[[], Settings],
        *,
        bucket: Callable[[BackupSettings], Bucket],
        extras: Extras,
    ) -> None:
        self._home = home
        self._vault = vault
        self._settings = settings
        self._bucket_of = bucket
        self._extras = extras
        self._problem = ""
        """Why the last daily one was not made."""

    def handlers(self) -> list[Handler]:
        return [
            BackupCreate.handled_by(self._create),
            BackupsList.handled_by(self._list),
            BackupVerify.handled_by(self._verify),
            BackupKey.handled_by(self._key),
        ]

    async def make_due(self) -> BackupMade:
        """The daily one, when it is time, and none of those that had theirs."""
        try:
            await self._prepare()
            made = await asyncio.to_thread(self._due, self._settings().backup.checkpoints)
        except OpenAgentError as problem:
            self._problem = problem.info.message
            raise
        self._problem = ""
        return made

    async def _create(self, connection: Connection, op: BackupCreate) -> BackupMade:
        if op.due:
            return await self.make_due()
        await self._prepare()
        begun = time.monotonic()
        made = await asyncio.to_thread(self._make, "by hand", op.checkpoints or self._settings().backup.checkpoints)
        return BackupMade(made, seconds=round(time.monotonic() - begun, 2))

    async def _list(self, connection: Connection, op: BackupsList) -> BackupList:
        await self._prepare()
        settings = self._settings().backup
        return BackupList(
            folder=settings.folder if is_bucket(settings.folder) else str(self._folder),
            backups=await asyncio.to_thread(self._found),
            daily=settings.daily,
            keep_days=settings.keep_days,
            checkpoint_bytes=await asyncio.to_thread(self._home.checkpoint_bytes),
            problem=self._problem,
        )

    async def _verify(self, connection: Connection, op: BackupVerify) -> BackupTried:
        await self._prepare()
        return await asyncio.to_thread(self._tried, op.archive)

    async def _key(self, connection: Connection, op: BackupKey) -> RecoveryKey:
        return RecoveryKey(await asyncio.to_thread(recovery_key, self._vault))

    @property
    def _folder(self) -> Path:
        return folder_of(self._settings(), self._home.data)

    async def _prepare(self) -> None:
        if is_bucket(self._settings().backup.folder):
            await self._extras.fetch("s3", lambda _stage, _done, _total: None)

    @property
    def _bucket(self) -> Bucket | None:
        settings = self._settings().backup
        return self._bucket_of(settings) if is_bucket(settings.folder) else None

    def _found(self) -> list[BackupInfo]:
        if (bucket := self._bucket) is not None:
            found = bucket.list()
        else:
            found = [archive.described(path) for path in self._folder.glob(f"*{archive.SUFFIX}")]
        return sorted(found, key=lambda each: each.created_at, reverse=True)

    def _due(self, checkpoints: bool) -> BackupMade:
        begun = time.monotonic()
        last = max(
            (each.created_at for each in self._found() if each.kind == "daily" and not each.problem), default=0.0
        )
        made = self._make("daily", checkpoints) if time.time() - last > _DAY - _EARLY else None
        settings = self._settings().backup
        gone = outlived(
            self._found(),
            datetime.now(),
            keep_days=settings.keep_days,
            max_bytes=size_in_bytes(settings.max_size),
        )
        bucket = self._bucket
        for each in gone:
            if bucket is not None:
                bucket.remove(each.name)
            else:
                Path(each.path).unlink(missing_ok=True)
        return BackupMade(made, [each.name for each in gone], round(time.monotonic() - begun, 2))

    def _make(self, kind: BackupKind, checkpoints: bool) -> BackupInfo:
        folder = self._folder
        busy = OpenAgentError("busy", "A backup is being made already.", hint="Wait until it is done.")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with holding(folder / ".lock", seconds=0.0, otherwise=busy):
                _sweep(folder)
                self._refuse_full_disk(folder, checkpoints)
                with TemporaryDirectory(prefix=_MAKING, dir=folder) as staging:
                    return self._write(Path(staging), folder, kind, checkpoints)
        except OSError as problem:
            where = problem.filename or folder
            told = f"The backup could not be written: {problem.strerror or problem} ({where})."
            raise OpenAgentError(
                "store_error", told, hint="Check the folder and its disk, or set backup.folder."
            ) from None

    def _write(self, staging: Path, folder: Path, kind: BackupKind, checkpoints: bool) -> BackupInfo:
        """Under its name lies only what was tried out."""
        gathered = staging / "gathered"
        gathered.mkdir(mode=0o700)
        at = time.time()
        dumped = dump(self._settings().database_url, gathered / DATABASE)
        files = {DATABASE: gathered / DATABASE}
        sealed, left_out = self._sealed()
        if sealed:
            (gathered / VAULT).write_bytes(sealed)
            files[VAULT] = gathered / VAULT
        files |= self._home.gather(gathered)
        if checkpoints:
            files |= self._home.gather_checkpoints(gathered)
        about = archive.Manifest(
            made_by=__version__,
            created_at=at,
            kind=kind,
            store=dumped.kind,
            schema=dumped.schema,
            sessions=dumped.sessions,
            messages=dumped.messages,
            keys=bool(sealed),
            keys_left_out=left_out,
            checkpoints=checkpoints,
        )
        written = staging / "written"
        archive.write(written, about, files)
        shutil.rmtree(gathered)
        tried_out(written, staging / "tried", self._vault)
        if (bucket := self._bucket) is not None:
            # Others may keep theirs in the same place.
            return bucket.put(written, f"{_stem(at)}-{token_hex(3)}{archive.SUFFIX}", archive.described(written))
        name = _free_name(folder, at)
        os.rename(written, name)
        _flush(folder)
        return archive.described(name)

    def _sealed(self) -> tuple[bytes, str]:
        """And why the keys are not in it: sessions are worth a backup without them."""
        try:
            return seal_vault(self._vault) or b"", ""
        except OpenAgentError as problem:
            return b"", problem.info.message

    def _tried(self, name: str) -> BackupTried:
        begun = time.monotonic()
        bucket, path = self._bucket, self._folder / os.path.expanduser(name)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".trying-", dir=self._folder) as staging:
            if bucket is not None and not path.exists():
                path = bucket.fetch(name, Path(staging))
            done = tried_out(path, Path(staging, "tried"), self._vault)
            found = archive.described(path)
        return BackupTried(found, done.files, done.keys, round(time.monotonic() - begun, 2))

    def _refuse_full_disk(self, folder: Path, checkpoints: bool) -> None:
        """The archive, and what it is made and tried out with, lie there for a moment together."""
        url = self._settings().database_url
        database = Path(url.partition("///")[2]) if url.startswith("sqlite") else None
        size = database.stat().st_size if database and database.is_file() else 0
        needed = 3 * (size + (self._home.checkpoint_bytes() if checkpoints else 0))
        free = shutil.disk_usage(folder).free
        if free < needed + _LEFT_FREE:
            told = f"There is no room for a backup: it needs {needed >> 20} MB, and {folder} has {free >> 20} MB."
            raise OpenAgentError("store_error", told, hint="Free some space, or set backup.folder to another disk.")


def folder_of(settings: Settings, home: Path) -> Path:
    """Of backups in a bucket: where they are made."""
    folder = settings.backup.folder
    return Path(os.path.expanduser(folder)) if folder and not is_bucket(folder) else home / "backups"


def _stem(at: float) -> str:
    return f"openagent-{time.strftime('%Y%m%d-%H%M%S', time.localtime(at))}"


def _free_name(folder: Path, at: float) -> Path:
    names = (folder / f"{_stem(at)}{more}{archive.SUFFIX}" for more in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(name for name in names if not name.exists())


def _sweep(folder: Path) -> None:
    """What a daemon left that died over it: whoever has the lock is the only one at work."""
    for left in folder.glob(f"{_MAKING}*"):
        shutil.rmtree(left, ignore_errors=True)


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
