"""Logging in at an OpenID Connect provider: authorization code with PKCE, and an identity token that is checked."""

import asyncio
import base64
import hashlib
import time
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

import httpx2
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from openagent.config.settings import PeopleSettings
from openagent.protocol.errors import OpenAgentError

LEEWAY = 60
"""Seconds by which the provider's clock and ours may differ."""
_KEPT = 3600.0
_AGAIN = 10.0
"""Seconds between two looks for keys that were not there: whoever invents key ids does not make us ask without end."""
_PATIENCE = 10.0
_SIGNED = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""With the provider's own key. `none`, and what is signed with the client's secret, is nobody's word."""


class OidcProvider:
    def __init__(self, settings: PeopleSettings) -> None:
        self.settings = settings
        self._described: dict[str, Any] = {}
        self._described_at = 0.0
        self._keys: KeySet | None = None
        self._keys_at = 0.0
        self._asking = asyncio.Lock()

    async def address(self, redirect: str, state: str, nonce: str, verifier: str) -> str:
        """Where the browser goes to log in."""
        described = await self._description()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": redirect,
            "scope": self.settings.scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        endpoint = str(described["authorization_endpoint"])
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(asked)}"

    async def claims(self, code: str, redirect: str, nonce: str, verifier: str) -> dict[str, Any]:
        """What the provider says of whoever came back with this code. Raises when it is not to be believed."""
        described = await self._description()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "client_id": self.settings.client_id,
            "code_verifier": verifier,
        }
        by_header = "client_secret_post" not in described.get("token_endpoint_auth_methods_supported", [])
        secret = self.settings.client_secret
        if secret and not by_header:
            form["client_secret"] = secret
        auth = (self.settings.client_id, secret) if secret and by_header else None
        answer = await self._ask("POST", described["token_endpoint"], data=form, auth=auth)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise _refused("it gave no identity token")
        claims = await self._checked(token, nonce)
        if "email" not in claims and (endpoint := described.get("userinfo_endpoint")):
            bearer = {"Authorization": f"Bearer {answer.get('access_token', '')}"}
            more = await self._ask("GET", endpoint, headers=bearer)
            if more.get("sub") != claims["sub"]:
                raise _refused("it told of somebody else")
            claims = {**more, **claims}
        return claims

    async def _checked(self, token: str, nonce: str) -> dict[str, Any]:
        try:
            claims = await self._signed(token)
            issuer, client = (await self._description())["issuer"], self.settings.client_id
            jwt.JWTClaimsRegistry(
                leeway=LEEWAY,
                iss={"essential": True, "value": issuer},
                aud={"essential": True, "value": client},
                sub={"essential": True},
                exp={"essential": True},
                iat={"essential": True},
                nonce={"essential": True, "value": nonce},
            ).validate(claims)
        except (JoseError, ValueError) as problem:
            raise _refused(f"its identity token is not to be believed ({problem})") from None
        if claims.get("azp", client) != client:
            raise _refused("its identity token is for somebody else")
        return claims

    async def _signed(self, token: str) -> dict[str, Any]:
        """With a key of the provider's, which may have been changed since they were last looked up."""
        try:
            return dict(jwt.decode(token, await self._key_set(), algorithms=list(_SIGNED)).claims)
        except (JoseError, ValueError):
            if time.monotonic() - self._keys_at < _AGAIN:
                raise
            self._keys = None
            return dict(jwt.decode(token, await self._key_set(), algorithms=list(_SIGNED)).claims)

    async def _key_set(self) -> KeySet:
        async with self._asking:
            if self._keys is None or time.monotonic() - self._keys_at > _KEPT:
                self._keys_at = time.monotonic()
                told = await self._ask("GET", (await self._description())["jwks_uri"])
                known = [key for key in told.get("keys", []) if key.get("use", "sig") == "sig"]
                self._keys = KeySet.import_key_set({"keys": known})
            return self._keys

    async def _description(self) -> dict[str, Any]:
        if not self._described or time.monotonic() - self._described_at > _KEPT:
            place = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            described = await self._ask("GET", place)
            if str(described.get("issuer", "")).rstrip("/") != self.settings.issuer.rstrip("/"):
                raise _refused("it calls itself by another name than the settings do")
            self._described, self._described_at = described, time.monotonic()
        return self._described

    async def _ask(self, method: str, url: str, **given: Any) -> dict[str, Any]:
        try:
            async with httpx2.AsyncClient(timeout=_PATIENCE) as client:
                answer = await client.request(method, url, **given)
                told = answer.json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as problem:
            raise OpenAgentError(
                "provider_error",
                f"{self.settings.issuer} does not answer as an OpenID provider does: {type(problem).__name__}.",
                hint="Check `[people] issuer`.",
            ) from None
        if answer.status_code >= 400 or not isinstance(told, dict):
            raise _refused(f"it answered {answer.status_code}: {str(told)[:200]}")
        return cast("dict[str, Any]", told)


def _refused(why: str) -> OpenAgentError:
    return OpenAgentError("unauthorized", f"The login was refused: {why}.", hint="Log in again.")
