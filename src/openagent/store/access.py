"""Tokens, and answers that are given again."""

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from openagent.plugins.access import AccessStore, Replay, StoredToken
from openagent.protocol.tokens import TokenInfo
from openagent.store.sql_store import SqlStore
from openagent.store.tables import access_tokens, replays

_WRITER = "access"
_roots = msgspec.json.Decoder(list[str])
_headers = msgspec.json.Decoder(list[tuple[str, str]])


class SqlAccess:
    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def tokens(self) -> list[StoredToken]:
        return await self._store.read(_tokens)

    async def token(self, token: str) -> StoredToken | None:
        return await self._store.read(_one_token, token)

    async def add_token(self, token: StoredToken) -> None:
        await self._store.write(_WRITER, _add_token, token)

    async def remove_token(self, token: str) -> None:
        await self._store.write(_WRITER, _remove_token, token)

    async def token_used(self, token: str, at: float) -> None:
        await self._store.write(_WRITER, _token_used, token, at)

    async def replay(self, caller: str, key: str) -> Replay | None:
        return await self._store.read(_replay, caller, key)

    async def keep_replay(self, replay: Replay, *, forget_before: float) -> None:
        await self._store.write(_WRITER, _keep_replay, replay, forget_before)


def _tokens(connection: Connection) -> list[StoredToken]:
    found = connection.execute(select(access_tokens).order_by(access_tokens.c.created_at, access_tokens.c.id))
    return [_token(row) for row in found.mappings()]


def _one_token(connection: Connection, token: str) -> StoredToken | None:
    row = connection.execute(select(access_tokens).where(access_tokens.c.id == token)).mappings().first()
    return _token(row) if row is not None else None


def _token(row: RowMapping) -> StoredToken:
    info = TokenInfo(
        id=row["id"],
        name=row["name"],
        scopes=row["scopes"].split(),
        roots=_roots.decode(row["roots"]),
        kind=row["kind"],
        created_at=row["created_at"],
        last_used_at=row["last_used_at"],
        expires_at=row["expires_at"],
        person=row["person"],
    )
    return StoredToken(info, bytes(row["digest"]))


def _add_token(connection: Connection, token: StoredToken) -> None:
    info = msgspec.structs.asdict(token.info)
    lists = {"scopes": " ".join(token.info.scopes), "roots": msgspec.json.encode(token.info.roots).decode()}
    connection.execute(insert(access_tokens), {**info, **lists, "digest": token.digest})


def _remove_token(connection: Connection, token: str) -> None:
    connection.execute(delete(access_tokens).where(access_tokens.c.id == token))


def _token_used(connection: Connection, token: str, at: float) -> None:
    connection.execute(update(access_tokens).where(access_tokens.c.id == token).values(last_used_at=at))


def _replay(connection: Connection, caller: str, key: str) -> Replay | None:
    found = connection.execute(select(replays).where(replays.c.caller == caller, replays.c.key == key))
    row = found.mappings().first()
    if row is None:
        return None
    return Replay(
        caller=caller,
        key=key,
        fingerprint=bytes(row["fingerprint"]),
        status=row["status"],
        headers=_headers.decode(row["headers"]),
        body=bytes(row["body"]),
        at=row["at"],
    )


def _keep_replay(connection: Connection, replay: Replay, forget_before: float) -> None:
    connection.execute(delete(replays).where(replays.c.at < forget_before))
    headers = msgspec.json.encode(replay.headers).decode()
    connection.execute(insert(replays), {**msgspec.structs.asdict(replay), "headers": headers})


if TYPE_CHECKING:

    def is_an_access_store(store: SqlAccess) -> AccessStore:
        return store
