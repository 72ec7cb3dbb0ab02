"""Backups in an S3-compatible store: each an object, and beside it a small one that says it is whole.

The second is written when the first is all there, with its size and checksum: an archive without it, or that differs
from it, is one whose upload was cut short. Nothing here is imported before a bucket is named in the settings.
"""

import io
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from openagent.backups.archive import SUFFIX
from openagent.config.settings import BackupSettings
from openagent.protocol.backups import BackupInfo
from openagent.protocol.errors import OpenAgentError
from openagent.vault.entries import ApiKey
from openagent.vault.vault import Vault

if TYPE_CHECKING:
    from minio import Minio

SCHEME = "s3://"
SECRET_ENTRY = "s3"  # noqa: S105 -- the name of a vault's entry
_WHOLE = ".json"
_AWS = "https://s3.amazonaws.com"
_CONNECT_S, _READ_S, _TRIES = 10.0, 60.0, 3


class _Whole(Struct, frozen=True):
    info: BackupInfo
    sha256: str


class _Place(NamedTuple):
    bucket: str
    prefix: str


def is_bucket(folder: str) -> bool:
    return folder.startswith(SCHEME)


def secret_in(vault: Vault) -> str:
    if SECRET_ENTRY not in {info.name for info in vault.list()}:
        return ""
    kept = vault.get(SECRET_ENTRY)
    return kept.key.reveal() if isinstance(kept, ApiKey) else ""


class _Reached:
    """A place in a bucket, and how it is spoken to."""

    what, hint = "object", ""

    def __init__(self, settings: BackupSettings, env: Mapping[str, str], secret: Callable[[], str]) -> None:
        """`secret` is the vault's, asked for where neither the settings nor the environment have one."""
        self.url = settings.folder.rstrip("/")
        self._place = _place(self.url)
        self._endpoint = settings.s3.endpoint or env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL") or _AWS
        self._client = self._connected(settings, env, secret)

    def _connected(self, settings: BackupSettings, env: Mapping[str, str], secret: Callable[[], str]) -> "Minio":
        try:
            import urllib3
            from minio import Minio
        except ImportError:
            told = "A bucket needs the extra `s3`, which is not here."
            raise OpenAgentError("config_error", told, hint="`openagent extras get s3` fetches it.") from None
        access = settings.s3.access_key or env.get("AWS_ACCESS_KEY_ID", "")
        key = settings.s3.secret_key or env.get("AWS_SECRET_ACCESS_KEY", "") or secret()
        if not access or not key:
            raise OpenAgentError(
                "auth_failed",
                f"There are no credentials for {self.url}.",
                hint="Set backup.s3.access_key, and give the secret key to `openagent auth add s3 --no-test`; or set "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the daemon's environment.",
            )
        at = urlsplit(self._endpoint)
        return Minio(
            at.netloc,
            access_key=access,
            secret_key=key,
            session_token=env.get("AWS_SESSION_TOKEN"),
            secure=at.scheme == "https",
            region=settings.s3.region or env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1",
            http_client=urllib3.PoolManager(
                timeout=urllib3.Timeout(connect=_CONNECT_S, read=_READ_S),
                retries=urllib3.Retry(total=_TRIES, backoff_factor=0.2, status_forcelist=[500, 502, 503, 504]),
            ),
        )

    def _key(self, name: str) -> str:
        return f"{self._place.prefix}{name}"

    @contextmanager
    def _telling(self, name: str = "") -> Generator[None]:
        """What goes wrong, in a sentence that holds no credentials."""
        from minio.error import MinioException, S3Error
        from urllib3.exceptions import HTTPError

        try:
            yield
        except S3Error as problem:
            if name and problem.code in ("NoSuchKey", "NoSuchObject"):
                told = f"There is no whole {self.what} {name!r} in {self.url}."
                raise OpenAgentError("not_found", told, hint=self.hint) from None
            told = f"{self.url} at {self._endpoint} refuses: {problem.code}, {problem.message}"
            hint = "Check the bucket, its credentials and backup.s3.endpoint."
            raise OpenAgentError("store_error", told, hint=hint) from None
        except (MinioException, HTTPError, msgspec.DecodeError, ValueError) as problem:
            told = f"{self.url} at {self._endpoint} does not answer as a bucket does ({type(problem).__name__})."
            raise OpenAgentError("store_error", told, hint="Check backup.s3.endpoint and the network.") from None


class Bucket(_Reached):
    what, hint = "backup", "`openagent backup list` shows those that there are."

    def list(self) -> "list[BackupInfo]":
        with self._telling():
            found = {
                each.object_name.removeprefix(self._place.prefix): each
                for each in self._client.list_objects(self._place.bucket, prefix=self._place.prefix)
                if each.object_name
            }
            listed: list[BackupInfo] = []
            for name, each in found.items():
                if not name.endswith(SUFFIX):
                    continue
                size, at = each.size or 0, each.last_modified.timestamp() if each.last_modified else 0.0
                whole = self._whole(name) if f"{name}{_WHOLE}" in found else None
                if whole is None or whole.info.bytes != size:
                    problem = f"The backup {self.url}/{name} is torn or damaged: its upload was cut short."
                    listed.append(BackupInfo(name, f"{self.url}/{name}", size, at, problem=problem))
                else:
                    listed.append(whole.info)
            return listed

    def put(self, archive: Path, name: str, info: BackupInfo) -> BackupInfo:
        """It counts once the note beside it is there."""
        info = msgspec.structs.replace(info, name=name, path=f"{self.url}/{name}")
        with self._telling():
            self._client.fput_object(self._place.bucket, self._key(name), str(archive), "application/gzip")
            arrived = self._client.stat_object(self._place.bucket, self._key(name)).size
            if arrived != info.bytes:
                raise OpenAgentError("store_error", f"Of {info.bytes} bytes, {arrived} arrived in {self.url}.")
            note = msgspec.json.encode(_Whole(info, _digest(archive)))
            beside = self._key(name) + _WHOLE
            self._client.put_object(self._place.bucket, beside, io.BytesIO(note), len(note), "application/json")
        return info

    def fetch(self, name: str, into: Path) -> Path:
        """The archive as a file; raises where a byte of it is missing or wrong."""
        name = name.removeprefix(f"{self.url}/")
        path = into / os.path.basename(name)
        with self._telling(name):
            whole = self._whole(name)
            self._client.fget_object(self._place.bucket, self._key(name), str(path))
        path.chmod(0o600)
        if path.stat().st_size != whole.info.bytes or _digest(path) != whole.sha256:
            told = f"The backup {self.url}/{name} is torn or damaged: it is not what was put there."
            raise OpenAgentError("invalid_argument", f"{told} Nothing of it was used.", hint="Use another one.")
        return path

    def remove(self, name: str) -> None:
        """Its note last: what is gone half is listed as torn, and not as whole."""
        with self._telling(name):
            self._client.remove_object(self._place.bucket, self._key(name))
            self._client.remove_object(self._place.bucket, self._key(name) + _WHOLE)

    def _whole(self, name: str) -> _Whole:
        answer = self._client.get_object(self._place.bucket, self._key(name) + _WHOLE)
        try:
            return msgspec.json.decode(answer.read(), type=_Whole)
        finally:
            answer.close()
            answer.release_conn()


class BucketBlobs(_Reached):
    """What daemons of a team keep for each other."""

    def read(self, name: str) -> bytes | None:
        try:
            with self._telling(name):
                answer = self._client.get_object(self._place.bucket, self._key(name))
                try:
                    return answer.read()
                finally:
                    answer.close()
                    answer.release_conn()
        except OpenAgentError as problem:
            if problem.info.code != "not_found":
                raise
            return None

    def write(self, name: str, data: bytes) -> None:
        with self._telling():
            self._client.put_object(self._place.bucket, self._key(name), io.BytesIO(data), len(data))

    def put(self, name: str, file: Path) -> None:
        with self._telling():
            self._client.fput_object(self._place.bucket, self._key(name), str(file))

    def fetch(self, name: str, to: Path) -> None:
        with self._telling(name):
            self._client.fget_object(self._place.bucket, self._key(name), str(to))

    def remove(self, name: str) -> None:
        with self._telling():
            self._client.remove_object(self._place.bucket, self._key(name))

    def names(self, folder: str) -> "list[str]":
        with self._telling():
            found = self._client.list_objects(self._place.bucket, prefix=self._key(f"{folder}/"), recursive=True)
            return [each.object_name.removeprefix(self._place.prefix) for each in found if each.object_name]


def _place(url: str) -> _Place:
    bucket, _, prefix = url.removeprefix(SCHEME).partition("/")
    return _Place(bucket, f"{prefix}/" if prefix else "")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
