"""What the vault keeps, and what it tells about an entry without decrypting it."""

from typing import Literal

from msgspec import Struct

from openagent.vault.secret import Secret

EntryKind = Literal["api_key", "oauth"]
MCP_LOGIN = "mcp:"
MCP_VALUES = "mcp-server:"
"""What the names of entries begin with that belong to an MCP server, and to no provider."""

RECOVERY = "backup:recovery"
"""The entry that unseals the vault in a backup: no provider's either."""


OWNED = ("person/", "team/")
"""What the names of entries begin with that are a person's or a team's, `person/ID/PROVIDER`, and nobody else's."""


class ApiKey(Struct, frozen=True):
    key: Secret


class OAuthTokens(Struct, frozen=True):
    access: Secret
    refresh: Secret | None = None
    expires_at: float | None = None
    scopes: tuple[str, ...] = ()
    endpoints: dict[str, str] = {}
    """Where these tokens came from and are renewed (authorize, token, revoke), and as which client. Sealed with them,
    so that nobody who can write the file can have a refresh token sent somewhere else."""


Credential = ApiKey | OAuthTokens


class EntryInfo(Struct, frozen=True, omit_defaults=True):
    """What may be shown about an entry."""

    name: str
    kind: EntryKind
    created_at: float
    updated_at: float
    last_used_at: float | None = None
    use_count: int = 0
    meta: dict[str, str] = {}
    """Notes for people, such as the provider. Not encrypted and not protected: nothing may be decided by them."""
