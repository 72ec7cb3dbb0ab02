"""What gateways and workers say to each other carries a seal that only they can make.

Redis passes it on, and is not believed: whoever can write there could else speak as a gateway, and say of themselves
that they are the owner. The key lies in the database that all of the team share and nobody else can read.
"""

import hmac
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from itertools import count

from procrastinate import App

GOOD_FOR = 300.0
"""Seconds that clocks may differ, and that what is said may be on its way."""
_FORGOTTEN_AFTER = 3 * GOOD_FOR
_LOGGED_AGAIN_AFTER = 1.0
_MAKE = """
CREATE TABLE IF NOT EXISTS openagent_team_key (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  key text NOT NULL
)
"""
_log = logging.getLogger(__name__)

Sealed = dict[bytes, bytes]


async def key_of_the_team(app: App) -> bytes:
    """Made by whoever comes first."""
    ask = app.connector.execute_query_one_async
    try:
        await app.connector.execute_query_async(_MAKE)
    except Exception:
        # Another one made it at the same time; if not, this is the reason why there is none.
        if not (await ask("SELECT to_regclass('openagent_team_key') IS NOT NULL AS there"))["there"]:
            raise
    made = "INSERT INTO openagent_team_key (key) VALUES (%(key)s) ON CONFLICT DO NOTHING"
    await app.connector.execute_query_async(made, key=secrets.token_hex(32))
    return bytes.fromhex((await ask("SELECT key FROM openagent_team_key"))["key"])


class Seal:
    """Of one process. What it seals is numbered, and what others sealed is taken once, in their order."""

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock
        self._own = secrets.token_hex(8).encode()
        self._numbers = count(1)
        self._heard: dict[tuple[str, bytes], tuple[int, float]] = {}
        """Of each sender in each place: the last number, and when."""
        self._logged: dict[str, float] = {}

    def seal(self, place: str, fields: Mapping[str, str | bytes | int]) -> Sealed:
        """`place` is the stream or key it is written to, and it holds in no other."""
        said = {name.encode(): _bytes(value) for name, value in fields.items()}
        said |= {b"from": self._own, b"nr": b"%d" % next(self._numbers), b"at": b"%.3f" % self._clock()}
        return {**said, b"mac": self._mac(place, said)}

    def holds(self, place: str, entry: Mapping[bytes, bytes], *, once: bool = True) -> bool:
        """Whether one of the team said it here, of late and, with `once`, not before. What does not is logged."""
        problem = self._problem(place, entry, once=once)
        if problem:
            self._refuse(place, problem)
        return not problem

    def _problem(self, place: str, entry: Mapping[bytes, bytes], *, once: bool) -> str:
        said = {name: value for name, value in entry.items() if name != b"mac"}
        if not hmac.compare_digest(entry.get(b"mac", b""), self._mac(place, said)):
            return "it bears no seal of this team's"
        at, number, now = float(said[b"at"]), int(said[b"nr"]), self._clock()
        if abs(now - at) > GOOD_FOR:
            return f"it was sealed {now - at:.0f} s ago by its sender's clock; clocks may differ by {GOOD_FOR:.0f} s"
        if not once:
            return ""
        sender = (place, said[b"from"])
        if number <= self._heard.get(sender, (0, now))[0]:
            return "it was said before"
        if sender not in self._heard:
            since = now - _FORGOTTEN_AFTER  # what comes from before is too old by its own time
            self._heard = {each: heard for each, heard in self._heard.items() if heard[1] > since}
        self._heard[sender] = (number, now)
        return ""

    def _refuse(self, place: str, problem: str) -> None:
        now = time.monotonic()
        kind = f"{place} {problem[:20]}"
        if now - self._logged.get(kind, -_LOGGED_AGAIN_AFTER) < _LOGGED_AGAIN_AFTER:
            return
        if len(self._logged) >= 100:
            self._logged.clear()
        self._logged[kind] = now
        _log.warning(
            "message from Redis refused: not signed by this installation", extra={"where": place, "reason": problem}
        )

    def _mac(self, place: str, said: Mapping[bytes, bytes]) -> bytes:
        parts = [place.encode(), *(each for name in sorted(said) for each in (name, said[name]))]
        whole = b"".join(b"%d:%b" % (len(each), each) for each in parts)
        return hmac.digest(self._key, whole, "sha256").hex().encode()


def _bytes(value: str | bytes | int) -> bytes:
    if isinstance(value, bytes):
        return value
    return str(value).encode()
