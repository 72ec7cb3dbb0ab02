"""A key or a provider, tried with a question that costs nothing before anything of it is kept."""

import asyncio

from openagent.config.settings import ProviderSettings
from openagent.models.catalog import ModelCatalog, Place, RedactingProvider
from openagent.models.provider_credentials import CredentialBook, provider_of
from openagent.plugins.provider import AuthenticationFailed, ModelNotFound, Provider, ProviderTimeout
from openagent.protocol.errors import OpenAgentError
from openagent.providers.vendors import BY_NAME, Vendor
from openagent.vault.entries import ApiKey
from openagent.vault.secret import Secret

PATIENCE = 20.0
"""Seconds a provider has to say what it thinks of a key."""


class Trials:
    def __init__(self, catalog: ModelCatalog, book: CredentialBook) -> None:
        self._catalog = catalog
        self._book = book

    async def of_key(self, name: str, key: str, place: Place) -> list[str]:
        """The models that a provider lists for who has this key. Raises what it says of the key."""
        return await self._of(self._catalog.trial(provider_of(name), key, place))

    async def of_provider(self, name: str, settings: ProviderSettings, place: Place) -> list[str]:
        """The same, of one that is not set up yet."""
        return await self._of(self._catalog.trial_of(name, settings, place))

    async def _of(self, trial: Provider) -> list[str]:
        try:
            return await tried(trial, BY_NAME.get(trial.name))
        except AuthenticationFailed as refusal:
            raise _refused(trial.name, refusal.said) from None
        finally:
            await trial.close()

    def checked(self, key: str) -> str:
        """A key as it was pasted, without what came along. From here on it is never shown."""
        key = key.strip()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise OpenAgentError(
                "invalid_argument",
                "That is empty or holds spaces or special characters, so it is no API key.",
                hint="Paste the key alone.",
            )
        self._book.learn(key)
        return key

    async def keep(self, name: str, key: str) -> None:
        info = await asyncio.to_thread(self._book.vault.add, name, ApiKey(Secret(key)), {}, replace=True)
        self._book.added(info)

    async def kept(self, name: str) -> str:
        """The key that is in the vault; empty: there is none."""
        if self._book.kind(name) is None:
            return ""
        entry = await asyncio.to_thread(self._book.vault.get, name)
        return entry.key.reveal() if isinstance(entry, ApiKey) else ""

    async def forget(self, name: str) -> None:
        if await self.kept(name):
            await asyncio.to_thread(self._book.vault.remove, name)
            self._book.forget(name)


async def tried(provider: Provider, vendor: Vendor | None) -> list[str]:
    """The models it lists. Raises what the provider says of the key, or that it cannot be reached."""
    try:
        async with asyncio.timeout(PATIENCE):
            if vendor and vendor.key_path and isinstance(provider, RedactingProvider):
                await provider.get(vendor.key_path)
            return [model.name for model in await provider.models()]
    except ModelNotFound:
        return []  # it lists none, and had nothing against the key
    except TimeoutError:
        raise ProviderTimeout(
            f"{provider.name} did not answer within {PATIENCE:g} seconds.", hint="Check the network and base_url."
        ) from None


def _refused(name: str, said: str) -> OpenAgentError:
    vendor = BY_NAME.get(name)
    words = f": {said.rstrip('.')}." if said else "."
    return AuthenticationFailed(f"{vendor.title if vendor else name} refused the key{words}", hint="Nothing was kept.")
