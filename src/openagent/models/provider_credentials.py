"""Keys and logins as the providers get them: read from the vault when first needed, kept in memory, renewed in time."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from openagent import config
from openagent.models.catalog import NamedCredential
from openagent.plugins.provider import AuthenticationFailed, ProviderError
from openagent.protocol.errors import OpenAgentError
from openagent.providers.oauth import OAuthCredentials, OAuthSettings, Tokens
from openagent.vault.entries import OWNED, ApiKey, EntryInfo, EntryKind, OAuthTokens
from openagent.vault.redact import Redactor
from openagent.vault.secret import Secret
from openagent.vault.vault import Vault

SET_ASIDE = 60.0
"""Seconds for which a key that asks too often is not used while another one does, where the provider names no time."""
COUNT_INTERVAL = 60.0
"""Seconds between two notes in the vault that a key is in use; each one is a write to disk."""
_log = logging.getLogger(__name__)


class CredentialBook:
    def __init__(
        self,
        vault: Vault,
        redactor: Redactor,
        *,
        client_secret: Callable[[str], str],
        on_login_required: Callable[[str, str], None],
    ) -> None:
        """Reads what the vault holds: make it off the event loop. `client_secret` is asked by a provider's name;
        `on_login_required` is told the provider and the reason."""
        self.vault = vault
        self.version = 0
        self._redactor = redactor
        self._client_secret = client_secret
        self._on_login_required = on_login_required
        self._seen = vault.changed_at()
        self._kinds = _kinds_in(vault)
        self._functions: dict[str, Callable[[], Awaitable[str]]] = {}
        self._keys: dict[str, Secret] = {}
        self._counted: dict[str, float] = {}
        self._logins: dict[str, OAuthCredentials] = {}
        self._refused: dict[str, str] = {}
        self._limited: dict[str, float] = {}
        self._expiries: dict[str, float | None] = {}
        self._opening = asyncio.Lock()
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._counting: set[asyncio.Task[None]] = set()

    # For the models

    def names(self) -> Sequence[str]:
        """The providers that there is something for which everybody uses."""
        return list(dict.fromkeys(provider_of(each) for each in self._kinds if not each.startswith(OWNED)))

    def look_again(self) -> None:
        if (seen := self.vault.changed_at()) == self._seen:
            return
        self._seen = seen
        before = {name: kind for name, kind in self._kinds.items() if name.startswith(OWNED)}
        now: dict[str, EntryKind] = {
            name: kind for name, kind in _kinds_in(self.vault).items() if name.startswith(OWNED)
        }
        if before != now:
            self.version += 1
            for name in before:
                del self._kinds[name]
            self._kinds |= now
        for name in before:  # read anew: it may have been replaced
            self._keys.pop(name, None)

    def names_of(self, holder: str) -> Sequence[str]:
        return [each.removeprefix(f"{holder}/") for each in self._kinds if each.startswith(f"{holder}/")]

    def own(self, name: str, whose: Sequence[str]) -> NamedCredential | None:
        for holder in whose:
            if (entry := f"{holder}/{name}") in self._kinds:
                return NamedCredential(entry, "key", self._given(entry, self._key))
        return None

    def kind(self, entry: str) -> EntryKind | None:
        return self._kinds.get(entry)

    def learn(self, secret: str) -> None:
        self._redactor.register(secret)

    def credentials(self, name: str, settings: config.ProviderSettings, first: str) -> list[NamedCredential]:
        """In this order: the one that was chosen, those of the kind that the provider is set up for, the others; each
        time the one without a name of its own first."""
        usual = "oauth" if settings.auth == "oauth" else "api_key"
        entries = sorted(entry for entry in self._kinds if provider_of(entry) == name)
        entries.sort(key=lambda entry: (entry != f"{name}@{first}", self._kinds[entry] != usual))
        if not entries and usual == "oauth":
            return [NamedCredential(name, "oauth", self._given(name, self._token))]  # it says how to log in
        return [
            NamedCredential(entry, "oauth", self._given(entry, self._token))
            if self._kinds[entry] == "oauth"
            else NamedCredential(entry, "key", self._given(entry, self._key))
            for entry in entries
        ]

    def _given(self, entry: str, give: Callable[[str], Awaitable[str]]) -> Callable[[], Awaitable[str]]:
        return self._functions.setdefault(f"{give.__name__} {entry}", partial(give, entry))

    # How they do

    def usable(self, entry: str) -> bool:
        return entry not in self._refused and self._limited.get(entry, 0.0) <= time.time()

    def worked(self, entry: str) -> None:
        self._refused.pop(entry, None)
        self._limited.pop(entry, None)

    def failed(self, entry: str, problem: ProviderError) -> None:
        if isinstance(problem, AuthenticationFailed):
            self._refused[entry] = problem.info.message
        else:
            until = problem.resets_at or time.time() + (problem.retry_after or SET_ASIDE)
            self._limited[entry] = until

    def dead(self, entry: str) -> str:
        """Why it no longer does, as far as that is known; empty: it does."""
        login = self._logins.get(entry)
        return (login.ended if login else "") or self._refused.get(entry, "")

    async def _key(self, name: str) -> str:
        now = time.monotonic()
        if (key := self._keys.get(name)) is None:
            credential = await asyncio.to_thread(self.vault.get, name)
            if not isinstance(credential, ApiKey):
                raise _no_key(name)
            key = self._keys[name] = credential.key
            self._seen = self.vault.changed_at()  # by this use
            self._counted[name] = now
        elif now - self._counted[name] > COUNT_INTERVAL:
            self._counted[name] = now
            counting = asyncio.create_task(self._count(name))
            self._counting.add(counting)
            counting.add_done_callback(self._counting.discard)
        return key.reveal()

    async def _count(self, name: str) -> None:
        try:
            await asyncio.to_thread(self.vault.get, name)
            self._seen = self.vault.changed_at()
        except OpenAgentError as problem:
            _log.warning("last use of the key for %s could not be saved: %s", name, problem)

    async def _token(self, name: str) -> str:
        token = await (await self.login(name)).authorization()
        self.learn(token)
        return token

    # Logins

    async def login(self, name: str) -> OAuthCredentials:
        """Raises AuthenticationFailed when nobody is logged in."""
        async with self._opening:
            if name not in self._logins:
                if self._kinds.get(name) != "oauth":
                    raise AuthenticationFailed(
                        f"Nobody is logged in to {name}.", hint=f"Log in with `openagent auth login {name}`."
                    )
                credential = await asyncio.to_thread(self.vault.get, name)
                assert isinstance(credential, OAuthTokens)
                self._open(name, credential)
            return self._logins[name]

    def _open(self, name: str, kept: OAuthTokens) -> None:
        tokens = Tokens(
            access=kept.access.reveal(),
            refresh=kept.refresh.reveal() if kept.refresh else "",
            expires_at=kept.expires_at,
            scopes=kept.scopes,
        )
        # Where a refresh token goes is what was sealed with it, whatever a config says by now.
        settings = OAuthSettings(
            provider=name,
            client_id=kept.endpoints.get("client_id", ""),
            client_secret=self._client_secret(provider_of(name)) or kept.endpoints.get("client_secret", ""),
            authorize_url=kept.endpoints.get("authorize", ""),
            token_url=kept.endpoints.get("token", ""),
            revoke_url=kept.endpoints.get("revoke", ""),
        )

        async def save(renewed: Tokens) -> None:
            await self.keep(settings, renewed)

        self._expiries[name] = tokens.expires_at
        self._logins[name] = login = OAuthCredentials(
            settings, tokens, save=save, on_login_required=self._on_login_required
        )
        self._jobs[name] = asyncio.create_task(login.keep_fresh(), name=f"keep the login to {name} fresh")

    async def keep(self, settings: OAuthSettings, tokens: Tokens) -> EntryInfo:
        """Store a login, new or renewed."""
        kept = OAuthTokens(
            access=Secret(tokens.access),
            refresh=Secret(tokens.refresh) if tokens.refresh else None,
            expires_at=tokens.expires_at,
            scopes=tokens.scopes,
            endpoints={
                "client_id": settings.client_id,
                "authorize": settings.authorize_url,
                "token": settings.token_url,
                "revoke": settings.revoke_url,
                "client_secret": settings.client_secret,
            },
        )
        self._expiries[settings.provider] = tokens.expires_at
        return await asyncio.to_thread(self.vault.add, settings.provider, kept, {}, replace=True)

    async def logged_in(self, settings: OAuthSettings, tokens: Tokens) -> EntryInfo:
        """Somebody logged in, perhaps anew and perhaps with another client."""
        info = await self.keep(settings, tokens)
        self.forget(settings.provider)
        self._kinds[settings.provider] = "oauth"
        await self.login(settings.provider)
        return info

    async def client_secret(self, name: str, client_id: str) -> str:
        """The one with which somebody logged in last, as the same client."""
        if self._kinds.get(name) != "oauth":
            return ""
        kept = await asyncio.to_thread(self.vault.get, name)
        known = isinstance(kept, OAuthTokens) and kept.endpoints.get("client_id") == client_id
        return kept.endpoints.get("client_secret", "") if known and isinstance(kept, OAuthTokens) else ""

    def expires_at(self, name: str) -> float | None:
        """As far as it is known without decrypting anything."""
        return self._expiries.get(name)

    # Entries that come and go

    def added(self, info: EntryInfo) -> None:
        self.forget(info.name)
        self._kinds[info.name] = info.kind

    def forget(self, name: str) -> None:
        self.version += 1
        self._kinds.pop(name, None)
        self._keys.pop(name, None)
        self._logins.pop(name, None)
        self._refused.pop(name, None)
        self._limited.pop(name, None)
        self._expiries.pop(name, None)
        if job := self._jobs.pop(name, None):
            job.cancel()

    # Beginning and end

    async def start(self) -> None:
        """Logins are renewed from now on, whether somebody uses them or not."""
        for name, kind in list(self._kinds.items()):
            if kind == "oauth":
                try:
                    await self.login(name)
                except (OpenAgentError, ProviderError) as problem:
                    _log.warning("login to %s cannot be used: %s", name, problem)

    async def close(self) -> None:
        tasks = [*self._jobs.values(), *self._counting]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def provider_of(entry: str) -> str:
    """`anthropic@work` is another key of `anthropic`."""
    return entry.partition("@")[0]


def _kinds_in(vault: Vault) -> dict[str, EntryKind]:
    """A vault that cannot be read stops nobody who needs nothing from it."""
    try:
        return {info.name: info.kind for info in vault.list()}
    except OpenAgentError as problem:
        _log.error("vault cannot be opened: %s", problem)
        return {}


def _no_key(name: str) -> AuthenticationFailed:
    return AuthenticationFailed(
        f"The vault's entry for {name} is a login, and the provider is set up to use a key.",
        hint=f'Set `auth = "oauth"` in [providers.{name}], or store a key with `openagent auth add {name}`.',
    )
