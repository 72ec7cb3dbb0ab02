"""A backup put into a home that no daemon works in. What was there is kept aside."""

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from openagent.backups import archive
from openagent.backups.bucket import Bucket, is_bucket, secret_in
from openagent.backups.home import DATABASE, VAULT, Home
from openagent.backups.trying import check_database
from openagent.config.cache import ConfigCache
from openagent.daemon.lifecycle import HomeLock
from openagent.plugins.extras import Extras
from openagent.protocol.errors import OpenAgentError
from openagent.store.dump import fill_postgresql, set_free
from openagent.store.engine import is_sqlite, sqlite_file
from openagent.vault.entries import RECOVERY
from openagent.vault.recovery import recovery_key, unseal_vault
from openagent.vault.vault import VAULT_FILE, Vault

_SETTINGS = "config/config.toml"
_BESIDE_A_DATABASE = ("", "-wal", "-shm")
_FOUND_AGAIN = "search.db"
"""Made from the sessions, and of no use to others."""


class Wanted(Struct, frozen=True):
    archive: str
    key: str = ""
    """The recovery key; empty: the home's own, where it has one."""
    replace: bool = False
    """What is there already is put aside."""
    without_keys: bool = False


class Restored(Struct, frozen=True):
    home: str
    sessions: int
    messages: int
    keys: int
    """Keys and logins that work again."""
    made_at: float
    aside: str = ""
    """Where that lies which was there before."""
    left: list[str] = []
    """Files of yours that were there, and were left as they are."""


def restore(wanted: Wanted, env: Mapping[str, str]) -> Restored:
    path, home = Path(os.path.abspath(os.path.expanduser(wanted.archive))), Home(env)
    elsewhere = is_bucket(wanted.archive)
    if not elsewhere:
        archive.peek(path)  # before anything is made for it
    lock = HomeLock(home.data)
    lock.acquire()
    try:
        with TemporaryDirectory(prefix=".restoring-", dir=home.data) as staging:
            if elsewhere:
                Extras(home.data)  # what was fetched can be imported from here on
                path = _fetched(wanted.archive, home, env, Path(staging))
            return _Restoring(path, home, env, Path(staging, "unpacked")).restore(wanted)
    except OSError as problem:
        told = f"The backup could not be restored: {problem.strerror or problem} ({problem.filename or home.data})."
        raise OpenAgentError("store_error", told, hint="Check the disk and its free space, and try again.") from None
    finally:
        lock.release()


def _fetched(url: str, home: Home, env: Mapping[str, str], into: Path) -> Path:
    """From the bucket that the address names, with the credentials that are here."""
    settings = ConfigCache(env).load().settings.backup
    folder, _, name = url.rpartition("/")
    return Bucket(replace(settings, folder=folder), env, lambda: secret_in(Vault(home.data))).fetch(name, into)


class _Restoring:
    def __init__(self, path: Path, home: Home, env: Mapping[str, str], staging: Path) -> None:
        self._path = path
        self._home = home
        self._env = env
        self._staging = staging
        self._aside = home.data / f"before-restore-{time.strftime('%Y%m%d-%H%M%S')}"

    def restore(self, wanted: Wanted) -> Restored:
        """Everything that can fail comes before the first change."""
        self._staging.mkdir(mode=0o700)
        manifest = archive.unpack(self._path, self._staging)
        check_database(self._path, self._staging, manifest)
        url = self._store_url(manifest, wanted.replace)
        if is_sqlite(url):
            set_free(self._staging / DATABASE)
        self._refuse_what_is_there(url, wanted.replace)
        keys = self._unsealed(wanted) if manifest.keys and not wanted.without_keys else None
        left = self._place_files(manifest, wanted.replace)
        vault = Vault(self._home.data)
        if keys is not None:
            self._put_aside(self._home.data / VAULT_FILE)
            vault.carry_in(keys)
        self._place_database(url)
        return Restored(
            home=str(self._home.data),
            sessions=manifest.sessions,
            messages=manifest.messages,
            keys=len([info for info in vault.list() if info.name != RECOVERY]) if keys is not None else 0,
            made_at=manifest.created_at,
            aside=str(self._aside) if self._aside.exists() else "",
            left=left,
        )

    def _store_url(self, manifest: archive.Manifest, replace: bool) -> str:
        """As the settings say that will hold afterwards."""
        env, place = dict(self._env), self._home.place(_SETTINGS)
        if _SETTINGS in manifest.files and place is not None and (replace or not place.exists()):
            env["OPENAGENT_CONFIG"] = str(self._staging / _SETTINGS)
        url = ConfigCache(env).load().settings.database_url
        if is_sqlite(url) != (manifest.store == "sqlite"):
            kept = "a PostgreSQL server" if manifest.store == "sqlite" else "a SQLite file"
            told = f"The backup's sessions were kept in {manifest.store}, and the settings here name {kept}."
            raise OpenAgentError("config_error", told, hint="Set store.url to a database of that kind.")
        return url

    def _refuse_what_is_there(self, url: str, replace: bool) -> None:
        there = [self._home.data / VAULT_FILE]
        if is_sqlite(url):
            there.append(sqlite_file(url))
        taken = [str(path) for path in there if path.exists()]
        if taken and not replace:
            raise OpenAgentError(
                "conflict",
                f"There is something in this home already: {', '.join(taken)}. Nothing was changed.",
                hint="Restore into another home with --home DIR, or use --replace, which keeps aside what is there.",
            )

    def _unsealed(self, wanted: Wanted) -> bytes:
        sealed = (self._staging / VAULT).read_bytes()
        if wanted.key:
            return unseal_vault(sealed, wanted.key)
        own = Vault(self._home.data)
        if RECOVERY not in {info.name for info in own.list()}:
            raise OpenAgentError(
                "auth_failed",
                "The keys in the backup are sealed, and its recovery key was not given. Nothing was changed.",
                hint="Give it with --key-file FILE, or leave the keys out with --without-keys.",
            )
        return unseal_vault(sealed, recovery_key(own))

    def _place_files(self, manifest: archive.Manifest, replace: bool) -> list[str]:
        """What differs from a file that is there is left out, unless it is to be replaced."""
        left: list[str] = []
        for name in manifest.files:
            place, staged = self._home.place(name), self._staging / name
            if place is None or (place.is_file() and place.read_bytes() == staged.read_bytes()):
                continue
            if place.exists() and not replace:
                left.append(str(place))
                continue
            self._put_aside(place)
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.move(staged, place)
        return left

    def _place_database(self, url: str) -> None:
        for more in _BESIDE_A_DATABASE:
            self._put_aside(self._home.data / f"{_FOUND_AGAIN}{more}")
        if not is_sqlite(url):
            fill_postgresql(url, self._staging / DATABASE)
            return
        place = sqlite_file(url)
        for more in _BESIDE_A_DATABASE:
            self._put_aside(Path(f"{place}{more}"))
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(self._staging / DATABASE, place)
        place.chmod(0o600)

    def _put_aside(self, path: Path) -> None:
        if not path.exists():
            return
        self._aside.mkdir(mode=0o700, exist_ok=True)
        inside = (
            path.relative_to(self._home.data) if path.is_relative_to(self._home.data) else Path("config", path.name)
        )
        kept = self._aside / inside
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(path, kept)
