"""Keys and logins: `auth.*`."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from openagent import config
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.models.catalog import ModelCatalog, Place
from openagent.models.provider_credentials import CredentialBook
from openagent.models.trials import Trials
from openagent.protocol.auth import (
    AuthAdd,
    AuthEntries,
    AuthEntry,
    AuthList,
    AuthLogin,
    AuthLoginFinish,
    AuthRefresh,
    AuthRemove,
    LoginStarted,
)
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Done
from openagent.providers.build import key_variables_of
from openagent.providers.oauth import LoopbackLogin, OAuthSettings
from openagent.vault.entries import ApiKey, EntryInfo
from openagent.vault.secret import Secret

LOGIN_PATIENCE = 900.0
"""Seconds a person has to log in."""
REMEMBERED = 60.0
"""Seconds for which a login that ended can be asked about."""
_log = logging.getLogger(__name__)

Load = Callable[[Path | None, Mapping[str, str]], config.Config]


class AuthService:
    def __init__(self, book: CredentialBook, catalog: ModelCatalog, load: Load, trials: Trials) -> None:
        self._trials = trials
        self._book = book
        self._catalog = catalog
        self._load = load
        self._attempts: dict[str, _Attempt] = {}

    def handlers(self) -> list[Handler]:
        return [
            AuthAdd.handled_by(self._add),
            AuthList.handled_by(self._list),
            AuthRemove.handled_by(self._remove),
            AuthLogin.handled_by(self._login),
            AuthLoginFinish.handled_by(self._finish),
            AuthRefresh.handled_by(self._refresh),
        ]

    async def close(self) -> None:
        tasks = [attempt.task for attempt in self._attempts.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _add(self, connection: Connection, op: AuthAdd) -> AuthEntry:
        key = self._trials.checked(op.key)
        if op.test:
            await self._trials.of_key(op.name, key, Place(None, connection.env))
        info = await asyncio.to_thread(self._book.vault.add, op.name, ApiKey(Secret(key)), {}, replace=op.replace)
        self._book.added(info)
        return self._entry(info)

    async def _list(self, connection: Connection, op: AuthList) -> AuthEntries:
        kept = [self._entry(info) for info in await asyncio.to_thread(self._book.vault.list)]
        place = Place(Path(op.cwd) if op.cwd else None, connection.env)
        env = self._catalog.environment(place.env)
        elsewhere: list[AuthEntry] = []
        for name, known in self._catalog.known(place).items():
            kind = "oauth" if known.auth == "oauth" else "api_key"
            if known.api_key:
                elsewhere.append(AuthEntry(name=name, kind=kind, source="config"))
            elif any(env.get(variable) for variable in key_variables_of(known.kind, name)):
                elsewhere.append(AuthEntry(name=name, kind=kind, source="environment"))
        return AuthEntries([*kept, *elsewhere])

    async def _remove(self, connection: Connection, op: AuthRemove) -> Done:
        kinds = {info.name: info.kind for info in await asyncio.to_thread(self._book.vault.list)}
        if kinds.get(op.name) == "oauth":
            try:
                await (await self._book.login(op.name)).revoke()
            except OpenAgentError as problem:
                _log.warning("The login to %s could not be given back: %s", op.name, problem)
        await asyncio.to_thread(self._book.vault.remove, op.name)
        self._book.forget(op.name)
        return Done()

    async def _login(self, connection: Connection, op: AuthLogin) -> LoginStarted:
        settings = self._oauth_settings(op.provider, Place(Path(op.cwd) if op.cwd else None, connection.env))
        # Slow enough to be felt by every session.
        await asyncio.to_thread(import_module, "authlib.oauth2.client")
        opened = AsyncExitStack()
        loopback = await opened.enter_async_context(LoopbackLogin(settings))
        identity = token_hex(8)
        task = asyncio.create_task(_carry_out(loopback, opened, self._book), name=f"login to {op.provider}")
        self._attempts[identity] = _Attempt(loopback, task)
        task.add_done_callback(lambda ended: self._forget_later(identity, ended))
        return LoginStarted(login=identity, url=loopback.login.url, expires_at=time.time() + LOGIN_PATIENCE)

    def _forget_later(self, identity: str, ended: "asyncio.Task[EntryInfo]") -> None:
        """Whoever waits may still ask how it ended."""
        if not ended.cancelled():
            ended.exception()
            asyncio.get_running_loop().call_later(REMEMBERED, self._attempts.pop, identity, None)

    async def _finish(self, connection: Connection, op: AuthLoginFinish) -> AuthEntry:
        attempt = self._attempts.get(op.login)
        if attempt is None:
            raise OpenAgentError(
                "not_found", "This login has ended or was never started.", hint="Start the login again."
            )
        if op.answer:
            attempt.loopback.paste(op.answer)
        return self._entry(await asyncio.shield(attempt.task))

    async def _refresh(self, connection: Connection, op: AuthRefresh) -> AuthEntry:
        await (await self._book.login(op.provider)).refresh()
        kept = {info.name: info for info in await asyncio.to_thread(self._book.vault.list)}
        return self._entry(kept[op.provider])

    def _oauth_settings(self, provider: str, place: Place) -> OAuthSettings:
        given = self._load(place.cwd, place.env).settings.providers.get(provider)
        oauth = given.oauth if given else config.OAuthSettings()
        if not (oauth.client_id and oauth.authorize_url and oauth.token_url):
            raise OpenAgentError(
                "config_error",
                f"The config does not say how to log in to {provider}.",
                hint=f"Set client_id, authorize_url and token_url under [providers.{provider}.oauth], and "
                f'`auth = "oauth"` under [providers.{provider}].',
            )
        if oauth.client_secret:
            self._book.learn(oauth.client_secret)
        return OAuthSettings(
            provider=provider,
            client_id=oauth.client_id,
            client_secret=oauth.client_secret,
            authorize_url=oauth.authorize_url,
            token_url=oauth.token_url,
            revoke_url=oauth.revoke_url,
            scopes=tuple(oauth.scopes),
            authorize_params=oauth.authorize_params,
        )

    def _entry(self, info: EntryInfo) -> AuthEntry:
        return AuthEntry(
            name=info.name,
            kind=info.kind,
            created_at=info.created_at,
            updated_at=info.updated_at,
            last_used_at=info.last_used_at,
            use_count=info.use_count,
            expires_at=self._book.expires_at(info.name),
        )


class _Attempt(NamedTuple):
    """One login, from its URL until the tokens are in the vault."""

    loopback: LoopbackLogin
    task: "asyncio.Task[EntryInfo]"


async def _carry_out(loopback: LoopbackLogin, opened: AsyncExitStack, book: CredentialBook) -> EntryInfo:
    settings = loopback.login.settings
    async with opened:
        try:
            async with asyncio.timeout(LOGIN_PATIENCE):
                code = await loopback.code()
        except TimeoutError:
            raise OpenAgentError(
                "auth_failed", f"Nobody logged in to {settings.provider} in time.", hint="Start the login again."
            ) from None
        book.learn(code)
        return await book.logged_in(settings, await loopback.login.exchange(code))
