"""Keys that are a person's or a team's own: `keys.*`. Nobody else's turns use them, and nobody sees them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.models.catalog import Place
from openagent.models.provider_credentials import CredentialBook
from openagent.models.trials import Trials
from openagent.protocol.auth import AuthEntry, KeysAdd, KeysList, KeysRemove, OwnKeys
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Done
from openagent.protocol.people import TeamInfo
from openagent.vault.entries import ApiKey, EntryInfo
from openagent.vault.secret import Secret

Teams = Callable[[], Awaitable[Sequence[TeamInfo]]]


class OwnedKeys:
    def __init__(self, book: CredentialBook, trials: Trials, teams: Teams) -> None:
        self._book = book
        self._trials = trials
        self._teams = teams

    def handlers(self) -> list[Handler]:
        return [
            KeysAdd.handled_by(self._add),
            KeysList.handled_by(self._list),
            KeysRemove.handled_by(self._remove),
        ]

    async def _add(self, connection: Connection, op: KeysAdd) -> AuthEntry:
        holder = await self._holder(connection, op.team)
        if not op.name or not op.name.isprintable() or "/" in op.name or "@" in op.name:
            raise OpenAgentError("invalid_argument", f"{op.name!r} is no provider's name.")
        key = self._trials.checked(op.key)
        if op.test:
            await self._trials.of_key(op.name, key, Place(None, connection.env))
        sealed = ApiKey(Secret(key))
        info = await asyncio.to_thread(self._book.vault.add, f"{holder}/{op.name}", sealed, {}, replace=op.replace)
        self._book.added(info)
        return _entry(info, holder)

    async def _list(self, connection: Connection, op: KeysList) -> OwnKeys:
        holder = await self._holder(connection, op.team)
        kept = await asyncio.to_thread(self._book.vault.list)
        return OwnKeys([_entry(info, holder) for info in kept if info.name.startswith(f"{holder}/")])

    async def _remove(self, connection: Connection, op: KeysRemove) -> Done:
        holder = await self._holder(connection, op.team)
        name = f"{holder}/{op.name}"
        if name not in await self._names(holder):
            raise OpenAgentError("not_found", f"There is no key of this kind for {op.name!r}.")
        await self._forget(name)
        return Done()

    async def forget_all(self, holder: str) -> None:
        """Of a person or team that is no more: nobody could use these keys, list them or take them away."""
        for name in await self._names(holder):
            await self._forget(name)

    async def _names(self, holder: str) -> list[str]:
        kept = await asyncio.to_thread(self._book.vault.list)
        return [info.name for info in kept if info.name.startswith(f"{holder}/")]

    async def _forget(self, name: str) -> None:
        await asyncio.to_thread(self._book.vault.remove, name)
        self._book.forget(name)

    async def _holder(self, connection: Connection, team: str) -> str:
        caller = connection.caller
        if team:
            if not (caller.everywhere and caller.may("admin")):
                raise OpenAgentError(
                    "permission_denied", f"A team's keys are for admins: the {caller.called} lacks the scope admin."
                )
            for each in await self._teams():
                if team in (each.id, each.name):
                    return f"team/{each.id}"
            raise OpenAgentError("not_found", f"There is no team {team!r}.", hint="`openagent teams` lists them.")
        if not caller.person:
            raise OpenAgentError(
                "invalid_argument",
                "You are nobody in particular here: no login says which person's key this is.",
                hint="`openagent auth add` keeps a key for everybody, `--team` one for a team.",
            )
        return f"person/{caller.person}"


def _entry(info: EntryInfo, holder: str) -> AuthEntry:
    return AuthEntry(
        name=info.name.removeprefix(f"{holder}/"),
        kind=info.kind,
        created_at=info.created_at,
        updated_at=info.updated_at,
        last_used_at=info.last_used_at,
        use_count=info.use_count,
    )
