"""What people and teams have used, and may."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import Connection, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from openagent.plugins.admission import TurnLimit
from openagent.plugins.places import lies_in
from openagent.plugins.quotas import Quota, QuotaStore, QuotaUse
from openagent.protocol.people import Limits
from openagent.store.sql_store import SqlStore
from openagent.store.tables import people, quota_use, teams

_WRITER = "quotas"
_PICO = 10**12
_KEPT_DAYS = 40
_limits = msgspec.json.Decoder(Limits)


class _Full(Exception):
    """Nothing of it is written."""


class _AlreadyThere(Exception):
    """Another daemon made it."""


class SqlQuotas:
    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def quotas(self, person: str, team: str, folder: str, now: float) -> list[Quota]:
        return await self._store.read(_of_a_day, person, team, folder, _day(now))

    async def at_once(self, person: str, team: str, folder: str) -> list[TurnLimit]:
        return await self._store.read(_at_once, person, team, folder)

    async def sending(self, person: str, team: str, folder: str, now: float) -> list[Quota]:
        minute = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(now))
        return await self._store.read(_of_a_minute, person, team, folder, minute)

    async def used(self, quotas: Sequence[Quota]) -> list[QuotaUse]:
        return await self._store.read(_used, quotas)

    async def take(self, quotas: Sequence[Quota], tokens: int, money: int) -> bool:
        await self._open(quotas)
        try:
            await self._store.write(_WRITER, _take, quotas, tokens, money)
        except _Full:
            return False
        return True

    async def _open(self, quotas: Sequence[Quota]) -> None:
        """A row for each, before anything is taken of it: two daemons may make the same one at once."""
        there = await self._store.read(_there, quotas)
        for quota in quotas:
            if quota.holder not in there:
                with suppress(_AlreadyThere):
                    await self._store.write(_WRITER, _begin, quota, _day(time.time() - _KEPT_DAYS * 86_400))

    async def give_back(self, quotas: Sequence[Quota], tokens: int, money: int) -> None:
        await self._store.write(_WRITER, _give_back, quotas, tokens, money)


def _day(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def _holding(connection: Connection, person: str, team: str, folder: str) -> list[tuple[str, str, Limits]]:
    """Whose limits hold for this person's work there: the holder, its name, and what was said."""
    found: list[tuple[str, str, Limits]] = []
    own = connection.execute(select(people.c.id, people.c.email, people.c.limits).where(people.c.id == person)).first()
    if own is not None:
        found.append((f"person:{own.id}", own.email, _limits.decode(own.limits)))
    found += [
        (f"team:{row.id}", f"the team {row.name}", _limits.decode(row.limits))
        for row in connection.execute(select(teams.c.id, teams.c.name, teams.c.folder, teams.c.limits))
        if row.id == team or lies_in(folder, [row.folder])
    ]
    return found


def _at_once(connection: Connection, person: str, team: str, folder: str) -> list[TurnLimit]:
    holding = _holding(connection, person, team, folder)
    return [TurnLimit(holder, name, said.turns_at_once) for holder, name, said in holding]


def _of_a_day(connection: Connection, person: str, team: str, folder: str, day: str) -> list[Quota]:
    holding = _holding(connection, person, team, folder)
    return [quota for holder, name, said in holding for quota in _quota(holder, name, said, day)]


def _quota(holder: str, name: str, said: Limits, day: str) -> list[Quota]:
    if said.day_tokens is None and said.day_usd is None:
        return []
    money = None if said.day_usd is None else round(said.day_usd * _PICO)
    return [Quota(holder, name, day, said.day_tokens, money)]


def _of_a_minute(connection: Connection, person: str, team: str, folder: str, minute: str) -> list[Quota]:
    holding = _holding(connection, person, team, folder)
    return [
        Quota(holder, name, minute, said.turns_a_minute)
        for holder, name, said in holding
        if said.turns_a_minute is not None
    ]


def _which(quota: Quota) -> Any:
    return and_(quota_use.c.holder == quota.holder, quota_use.c.period == quota.period)


def _there(connection: Connection, quotas: Sequence[Quota]) -> set[str]:
    found = select(quota_use.c.holder).where(or_(*map(_which, quotas)))
    return set(connection.execute(found).scalars())


def _used(connection: Connection, quotas: Sequence[Quota]) -> list[QuotaUse]:
    rows = [connection.execute(select(quota_use).where(_which(quota))).mappings().first() for quota in quotas]
    return [QuotaUse(row["tokens"], row["money"], row["open"]) if row else QuotaUse() for row in rows]


def _begin(connection: Connection, quota: Quota, forget_before: str) -> None:
    is_minute = len(quota.period) > len(forget_before)
    gone = [func.length(quota_use.c.period) == len(quota.period)]
    gone.append(quota_use.c.period < (quota.period if is_minute else min(quota.period, forget_before)))
    connection.execute(delete(quota_use).where(quota_use.c.holder == quota.holder, *gone))
    row = {"holder": quota.holder, "period": quota.period, "tokens": 0, "money": 0, "open": 0}
    try:
        connection.execute(insert(quota_use), row)
    except IntegrityError:
        raise _AlreadyThere from None


def _take(connection: Connection, quotas: Sequence[Quota], tokens: int, money: int) -> None:
    # Always in the same order: two that take of the same rows never wait for each other.
    for quota in sorted(quotas, key=lambda each: each.holder):
        fits = [_which(quota)]
        if quota.tokens is not None:
            fits.append(quota_use.c.tokens + tokens <= quota.tokens)
        if quota.money is not None:
            fits.append(quota_use.c.money + money <= quota.money)
        more = {"tokens": quota_use.c.tokens + tokens, "money": quota_use.c.money + money, "open": quota_use.c.open + 1}
        if not connection.execute(update(quota_use).where(*fits).values(more)).rowcount:
            raise _Full


def _give_back(connection: Connection, quotas: Sequence[Quota], tokens: int, money: int) -> None:
    less = {"tokens": quota_use.c.tokens - tokens, "money": quota_use.c.money - money, "open": quota_use.c.open - 1}
    for quota in sorted(quotas, key=lambda each: each.holder):
        connection.execute(update(quota_use).where(_which(quota)).values(less))


if TYPE_CHECKING:

    def is_a_quota_store(store: SqlQuotas) -> QuotaStore:
        return store
