"""Wrong tokens and codes: so many a minute of one address, and of all together. Beyond that, each waits for its answer.

A right one is let in at any time: it cannot be told from a wrong one before it is looked at, and nobody is to be kept
out by what others try from the same address. Guessing is hopeless anyway, with 192 random bits; this bounds what it
costs the daemon, and tells programs with an old token to stop asking.
"""

import asyncio
import time
from collections import OrderedDict, deque
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address
from math import ceil

_OF_AN_ADDRESS = 20
"""A minute."""
_OF_ALL = 200
_ADDRESSES = 1024
"""Remembered at once; then the one that was heard of least recently is forgotten."""
_SECRETS = 8
"""Remembered of each: who shows the same one again does not guess."""
_HELD = 1.0


class Allowance:
    """Fills up again evenly, within a minute."""

    def __init__(self, most: int, now: float) -> None:
        self._most = most
        self._left = float(most)
        self._at = now

    def take(self, now: float) -> float:
        """Seconds until there is one more; 0: it was taken."""
        self._left = min(self._left + (now - self._at) * self._most / 60, self._most)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) * 60 / self._most


class _Guesser:
    def __init__(self, now: float) -> None:
        self.allowance = Allowance(_OF_AN_ADDRESS, now)
        self.shown: deque[bytes] = deque(maxlen=_SECRETS)


class Guesses:
    def __init__(self, *, held: float = _HELD) -> None:
        """`held`: seconds that whoever guesses too fast is kept waiting for the answer itself."""
        self._held = held
        self._all = Allowance(_OF_ALL, time.monotonic())
        self._of: OrderedDict[str, _Guesser] = OrderedDict()

    def __len__(self) -> int:
        """Addresses that are remembered."""
        return len(self._of)

    async def wrong(self, address: str, secret: str, *, by_itself: bool = False) -> int:
        """It came from this address. Returns the seconds after which to try again; 0: it is answered as ever.
        `by_itself`: a browser sends it with every request, whatever anybody wants, so that it counts once."""
        now, name = time.monotonic(), _network(address)
        guesser = self._of.pop(name, None) or _Guesser(now)
        self._of[name] = guesser
        if len(self._of) > _ADDRESSES:
            self._of.popitem(last=False)
        digest = blake2b(secret.encode(errors="replace"), digest_size=8).digest()
        is_new = digest not in guesser.shown
        if is_new:
            guesser.shown.append(digest)
        elif by_itself:
            return 0
        wait = guesser.allowance.take(now) or self._all.take(now)
        if wait and is_new:
            await asyncio.sleep(self._held)
        return ceil(wait)


def _network(address: str) -> str:
    """Who has one IPv6 address has 2^64 of them."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(IPv6Address(int(parsed) >> 64 << 64))
    return str(parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else parsed)
