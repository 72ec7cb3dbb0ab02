"""OAuth 2.0 for machines without a browser (RFC 8628): a person types a short code on a page, anywhere."""

import asyncio
import time
from typing import Any

from openagent.plugins.provider import ConnectionFailed
from openagent.providers.oauth import LoginFailed, OAuthSettings, Tokens, ask_server, refused, tokens_of

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_USUAL_PAUSE = 5.0
_SLOWER = 5.0
"""Seconds a server that asks for it is given more, from then on."""
_USUAL_LIFE = 900.0


class DeviceLogin:
    """One attempt to log in, from its code to its tokens."""

    comes_back = True
    """Nothing has to be pasted."""

    def __init__(self, settings: OAuthSettings, answer: dict[str, Any]) -> None:
        url, code = answer.get("verification_uri") or answer.get("verification_url"), answer.get("user_code")
        if not all(isinstance(each, str) and each for each in (url, code, answer.get("device_code"))):
            raise ConnectionFailed(
                f"The login server of {settings.provider} gave no code for this device.",
                hint="Check device_url in the config, or log in with a browser.",
            )
        whole = answer.get("verification_uri_complete")
        self.url: str = whole if isinstance(whole, str) and whole else str(url)
        self.code = str(code)
        self.expires_at = time.time() + (_number(answer.get("expires_in")) or _USUAL_LIFE)
        self._settings = settings
        self._device_code = str(answer["device_code"])
        self._pause = _number(answer.get("interval")) or _USUAL_PAUSE

    @classmethod
    async def start(cls, settings: OAuthSettings) -> "DeviceLogin":
        async def ask(client: Any) -> Any:
            fields = {"client_id": settings.client_id, "scope": " ".join(settings.scopes)}
            response = await client.request(
                "POST",
                settings.device_url,
                withhold_token=True,
                data={name: value for name, value in fields.items() if value},
                headers={"Accept": "application/json"},
                auth=client.client_auth(client.token_endpoint_auth_method) if settings.client_secret else None,
            )
            return client.parse_response_token(response)

        answer = await ask_server(settings, ask)
        if isinstance(answer, str):
            raise LoginFailed(
                f"{settings.provider} does not let this client log in by a code ({answer}).",
                hint="Allow the device flow for the client where you registered it, or log in with a browser.",
            )
        return cls(settings, answer)

    async def tokens(self) -> Tokens:
        """Waits until the person said yes. Raises LoginFailed when they said no or the code ended."""
        while True:
            await asyncio.sleep(self._pause)
            answer = await ask_server(self._settings, self._ask, passing=())
            if isinstance(answer, dict):
                return tokens_of(answer, time.time(), scopes=self._settings.scopes)
            match answer:
                case "authorization_pending":
                    continue
                case "slow_down":
                    self._pause += _SLOWER
                case "expired_token":
                    raise LoginFailed(
                        f"The code for the login to {self._settings.provider} has ended before somebody used it.",
                        hint="Start the login again.",
                    )
                case _:
                    raise refused(self._settings.provider, answer)

    async def _ask(self, client: Any) -> Any:
        return await client.fetch_token(
            self._settings.token_url,
            grant_type=_GRANT,
            device_code=self._device_code,
            client_id=self._settings.client_id,
        )

    async def paste(self, answer: str) -> None:
        raise LoginFailed(
            f"This login to {self._settings.provider} takes nothing that is pasted.",
            hint=f"Open {self.url} and enter {self.code} there.",
        )


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and value > 0 else 0.0
