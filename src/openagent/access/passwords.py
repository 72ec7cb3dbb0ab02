"""Passwords, of which only a slow hash is kept."""

import asyncio
import base64
import hashlib
import hmac
import secrets
import unicodedata

from openagent.protocol.errors import OpenAgentError

LEAST = 12
_LEAST_DIFFERENT = 5
MOST = 1024
_LOG_N, _R, _P = 15, 8, 3
"""32 MB and about a fifth of a second each. Stored with every hash, so that they can be raised later."""
_MEMORY = 128 * 1024 * 1024
_AT_ONCE = 2


class Passwords:
    def __init__(self) -> None:
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def hashed(self, password: str) -> str:
        """As stored. Raises OpenAgentError if it is easily guessed."""
        if not LEAST <= len(password) <= MOST:
            rule = f"at least {LEAST}" if len(password) < LEAST else f"at most {MOST:,}"
            raise OpenAgentError("invalid_argument", f"The password must have {rule} characters.")
        if len(set(password)) < _LEAST_DIFFERENT:
            raise OpenAgentError(
                "invalid_argument", f"The password must have at least {_LEAST_DIFFERENT} different characters."
            )
        salt = secrets.token_bytes(16)
        key = await self._key(password, salt, _LOG_N, _R, _P)
        return "$".join(("scrypt", str(_LOG_N), str(_R), str(_P), _text(salt), _text(key)))

    async def matches(self, password: str, hashed: str) -> bool:
        """An empty `hashed` matches nothing, and takes as long."""
        decoy = f"scrypt${_LOG_N}${_R}${_P}${_text(secrets.token_bytes(16))}${_text(bytes(64))}"
        _, log_n, r, p, salt, key = (hashed or decoy).split("$")
        found = await self._key(password[:MOST], base64.b64decode(salt), int(log_n), int(r), int(p))
        return hmac.compare_digest(found, base64.b64decode(key)) and bool(hashed)

    async def _key(self, password: str, salt: bytes, log_n: int, r: int, p: int) -> bytes:
        # Keyboards differ in the code points they send for the same letters.
        typed = unicodedata.normalize("NFKC", password).encode(errors="surrogatepass")
        async with self._room:
            return await asyncio.to_thread(
                hashlib.scrypt, typed, salt=salt, n=1 << log_n, r=r, p=p, maxmem=_MEMORY, dklen=64
            )


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
