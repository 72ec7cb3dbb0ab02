"""Wrong tokens and codes: so many a minute of one address, and of all together. Beyond that, each waits for its answer.

A right one is let in at any time: it cannot be told from a wrong one before it is looked at, and nobody is to be kept
out by what others try from the same address. Guessing is hopeless anyway, with 192 random bits; this bounds what it
costs the daemon, and tells programs with an old token to stop asking.

A password may be guessed. So beyond that none is looked at, and there is a bound for each account, too; but whoever has
come in to an account from somewhere is not kept out there by what others try elsewhere.
"""

import asyncio
import time
from collections import OrderedDict, deque
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import TypeVar

_OF_AN_ADDRESS = 20
"""A minute."""
_OF_ALL = 200
_OF_AN_ACCOUNT = 10
_ADDRESSES = 1024
"""Remembered at once; then the one that was heard of least recently is forgotten. Of accounts as many."""
_SECRETS = 8
"""Remembered of each: who shows the same one again does not guess."""
_HELD = 1.0
K = TypeVar("K")
V = TypeVar("V")


class Allowance:
    """Fills up again evenly, within a minute."""

    def __init__(self, most: int, now: float) -> None:
        self._most = most
        self._left = float(most)
        self._at = now

    def take(self, now: float) -> float:
        """Seconds until there is one more; 0: it was taken."""
        wait = self.wait(now)
        if not wait:
            self._left -= 1
        return wait

    def wait(self, now: float) -> float:
        self._left = min(self._left + (now - self._at) * self._most / 60, self._most)
        self._at = now
        return 0.0 if self._left >= 1 else (1 - self._left) * 60 / self._most

    def give_back(self) -> None:
        self._left = min(self._left + 1, self._most)


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
        self._accounts: OrderedDict[str, Allowance] = OrderedDict()
        self._came: OrderedDict[tuple[str, str], None] = OrderedDict()
        """To which account from where, with the right password."""

    def __len__(self) -> int:
        """Addresses that are remembered."""
        return len(self._of)

    async def wrong(self, address: str, secret: str, *, by_itself: bool = False) -> int:
        """It came from this address. Returns the seconds after which to try again; 0: it is answered as ever.
        `by_itself`: a browser sends it with every request, whatever anybody wants, so that it counts once."""
        now = time.monotonic()
        guesser = self._guesser(address, now)
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

    def before(self, address: str, account: str) -> int:
        """A password is to be looked at, which counts until it was `right`. Returns the seconds after which to try
        again; 0: look at it."""
        now = time.monotonic()
        asked = self._counted(address, account, now)
        wait = max(each.wait(now) for each in asked)
        if not wait:
            for each in asked:
                each.take(now)
        return ceil(wait)

    def right(self, address: str, account: str) -> None:
        for each in self._counted(address, account, time.monotonic()):
            each.give_back()
        _remember(self._came, (_network(address), _called(account)), None)

    def _counted(self, address: str, account: str, now: float) -> list[Allowance]:
        own = self._guesser(address, now).allowance
        if (_network(address), _called(account)) in self._came:
            return [own]
        name = _called(account)
        return [own, self._all, _remember(self._accounts, name, self._accounts.get(name) or _of_an_account(now))]

    def _guesser(self, address: str, now: float) -> _Guesser:
        name = _network(address)
        return _remember(self._of, name, self._of.get(name) or _Guesser(now))


def _of_an_account(now: float) -> Allowance:
    return Allowance(_OF_AN_ACCOUNT, now)


def _remember(among: OrderedDict[K, V], name: K, value: V) -> V:
    among[name] = value
    among.move_to_end(name)
    if len(among) > _ADDRESSES:
        among.popitem(last=False)
    return value


def _called(account: str) -> str:
    return account.strip().casefold()[:320]


def _network(address: str) -> str:
    """Who has one IPv6 address has 2^64 of them."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(IPv6Address(int(parsed) >> 64 << 64))
    return str(parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else parsed)
