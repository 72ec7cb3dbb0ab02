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

import msgspec

from openagent import config
from openagent.config.edit import Value
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.models.catalog import ModelCatalog, Place
from openagent.models.provider_credentials import CredentialBook, provider_of
from openagent.models.settings_file import SettingsFile, Values
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
    LoginClient,
    LoginStarted,
    LoginTemplate,
)
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Done
from openagent.providers.build import DEFAULT_SETTINGS, key_variables_of
from openagent.providers.device_login import DeviceLogin
from openagent.providers.login_templates import TEMPLATES, can_log_in, login_settings
from openagent.providers.oauth import BrowserLogin, OAuthSettings
from openagent.vault.entries import MCP_LOGIN, MCP_VALUES, OWNED, RECOVERY, ApiKey, EntryInfo
from openagent.vault.secret import Secret

LOGIN_PATIENCE = 900.0
"""Seconds a person has to log in."""
REMEMBERED = 60.0
"""Seconds for which a login that ended can be asked about."""
_FOR_SERVERS = (MCP_LOGIN, MCP_VALUES)
_log = logging.getLogger(__name__)

_MENDS = {"oauth": "login {}", "api_key": "add {} --replace"}
_TEMPLATES = [
    LoginTemplate(each.name, each.title, each.provider, each.register, bool(each.oauth.device_url))
    for each in TEMPLATES.values()
]

Load = Callable[[Path | None, Mapping[str, str]], config.Config]


class AuthService:
    def __init__(
        self, book: CredentialBook, catalog: ModelCatalog, load: Load, file: SettingsFile, trials: Trials
    ) -> None:
        self._file = file
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
        # A key and a login of one provider are both kept.
        name = f"{op.name}@key" if self._book.kind(op.name) == "oauth" else op.name
        info = await asyncio.to_thread(self._book.vault.add, name, ApiKey(Secret(key)), {}, replace=op.replace)
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
        servers = [_of_server(entry) for entry in kept if entry.name.startswith(_FOR_SERVERS)]
        own = [entry for entry in kept if not entry.name.startswith((*_FOR_SERVERS, RECOVERY, *OWNED))]
        return AuthEntries([*own, *elsewhere], servers, _TEMPLATES)

    async def _remove(self, connection: Connection, op: AuthRemove) -> Done:
        kinds = {info.name: info.kind for info in await asyncio.to_thread(self._book.vault.list)}
        if kinds.get(op.name) == "oauth":
            try:
                await (await self._book.login(op.name)).revoke()
            except OpenAgentError as problem:
                _log.warning("login to %s could not be revoked at the provider: %s", op.name, problem)
        await asyncio.to_thread(self._book.vault.remove, op.name)
        self._book.forget(op.name)
        return Done()

    async def _login(self, connection: Connection, op: AuthLogin) -> LoginStarted:
        place = Place(Path(op.cwd) if op.cwd else None, connection.env)
        provider = provider_of(op.provider)
        given = self._load(place.cwd, place.env).settings.providers.get(provider)
        known = given.oauth if given else config.OAuthSettings()
        oauth = await self._checked(op, known)
        values: Values = _written(provider, op.client, given) if op.client else {}
        entry = f"{op.provider}@login" if self._book.kind(op.provider) == "api_key" else op.provider
        settings = await login_settings(entry, oauth)
        # Slow enough to be felt by every session.
        await asyncio.to_thread(import_module, "authlib.oauth2.client")
        opened = AsyncExitStack()
        if op.device or not settings.authorize_url:
            attempt: BrowserLogin | DeviceLogin = await DeviceLogin.start(_with_device(settings))
        else:
            attempt = await opened.enter_async_context(BrowserLogin(settings, learn=self._book.learn))
        identity = token_hex(8)
        task = asyncio.create_task(self._carry_out(settings, attempt, opened, values), name=f"login to {op.provider}")
        self._attempts[identity] = _Attempt(attempt, task)
        task.add_done_callback(lambda ended: self._forget_later(identity, ended))
        return LoginStarted(
            login=identity,
            url=attempt.url,
            expires_at=min(time.time() + LOGIN_PATIENCE, attempt.expires_at),
            code=attempt.code,
            pasted=not attempt.comes_back,
        )

    async def _carry_out(
        self, settings: OAuthSettings, attempt: "BrowserLogin | DeviceLogin", opened: AsyncExitStack, values: Values
    ) -> EntryInfo:
        async with opened:
            try:
                async with asyncio.timeout(LOGIN_PATIENCE):
                    tokens = await attempt.tokens()
            except TimeoutError:
                raise OpenAgentError(
                    "auth_failed", f"Nobody logged in to {settings.provider} in time.", hint="Start the login again."
                ) from None
            info = await self._book.logged_in(settings, tokens)
            if values:
                await self._file.write(values)
            return info

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
            await attempt.login.paste(op.answer)
        return self._entry(await asyncio.shield(attempt.task))

    async def _refresh(self, connection: Connection, op: AuthRefresh) -> AuthEntry:
        await (await self._book.login(op.provider)).refresh()
        kept = {info.name: info for info in await asyncio.to_thread(self._book.vault.list)}
        return self._entry(kept[op.provider])

    async def _checked(self, op: AuthLogin, known: config.OAuthSettings) -> config.OAuthSettings:
        """As whom and where to log in: as the op says, or else as the config says."""
        oauth = _given(op.client) if op.client else known
        if not can_log_in(oauth):
            raise OpenAgentError(
                "config_error",
                f"The config does not say how to log in to {provider_of(op.provider)}.",
                hint=f"Name the client id you registered and a template ({', '.join(TEMPLATES)}): `openagent auth "
                f"login {op.provider} --template … --client-id …`; or set them under [providers.{op.provider}.oauth].",
            )
        secret = oauth.client_secret or await self._book.client_secret(op.provider, oauth.client_id)
        if secret:
            self._book.learn(secret)
        return msgspec.structs.replace(oauth, client_secret=secret)

    def _entry(self, info: EntryInfo) -> AuthEntry:
        return AuthEntry(
            name=info.name,
            kind=info.kind,
            created_at=info.created_at,
            updated_at=info.updated_at,
            last_used_at=info.last_used_at,
            use_count=info.use_count,
            expires_at=self._book.expires_at(info.name),
            dead=(dead := self._book.dead(info.name)),
            mend="" if not dead else f"openagent auth {_MENDS[info.kind].format(info.name)}",
        )


class _Attempt(NamedTuple):
    """One login, from its URL until the tokens are in the vault."""

    login: BrowserLogin | DeviceLogin
    task: "asyncio.Task[EntryInfo]"


def _given(client: LoginClient) -> config.OAuthSettings:
    fields = {
        "template": client.template or None,
        "issuer": client.issuer.strip(),
        "client_id": client.client_id.strip(),
        "client_secret": client.client_secret.strip(),
        "redirect_uri": client.redirect_uri.strip(),
    }
    if not fields["client_id"]:
        raise OpenAgentError(
            "invalid_argument",
            "There is no client id.",
            hint="Register a client with the provider: it is given an id, which is no secret.",
        )
    try:
        return msgspec.convert(fields, config.OAuthSettings)
    except msgspec.ValidationError:
        raise OpenAgentError(
            "invalid_argument",
            f"{client.template or client.issuer!r} is neither a template nor an address to log in at.",
            hint=f"Templates are {', '.join(TEMPLATES)}; an issuer is an https:// address.",
        ) from None


def _written(provider: str, client: LoginClient, known: config.ProviderSettings | None) -> Values:
    """What the config says from now on. A client's secret is in the vault."""
    values: dict[tuple[str, ...], Value] = {}
    if known is None:
        template, usual = TEMPLATES.get(client.template), DEFAULT_SETTINGS.get(provider)
        like = template or usual
        base_url = client.base_url.strip() or (like.base_url if like else "")
        if not (like or base_url):
            raise OpenAgentError(
                "invalid_argument",
                f"Nothing is known of a provider {provider}: where do its models answer?",
                hint=f"Give its base URL, or configure it first under [providers.{provider}].",
            )
        values["providers", provider, "kind"] = like.kind if like else "compatible"
        if base_url:
            values["providers", provider, "base_url"] = base_url
    values["providers", provider, "auth"] = "oauth"
    for name in ("template", "issuer", "client_id", "redirect_uri"):
        if value := str(getattr(client, name)).strip():
            values["providers", provider, "oauth", name] = value
    return values


def _with_device(settings: OAuthSettings) -> OAuthSettings:
    if not settings.device_url:
        raise OpenAgentError(
            "config_error",
            f"{settings.provider} offers no login by a code, as far as the config says.",
            hint=f"Log in with a browser, or set device_url under [providers.{settings.provider}.oauth].",
        )
    return settings


def _of_server(entry: AuthEntry) -> AuthEntry:
    kind = "oauth" if entry.name.startswith(MCP_LOGIN) else "api_key"
    return msgspec.structs.replace(entry, name=entry.name.partition(":")[2], kind=kind)
