"""What gateways and workers say to each other, and under which names it lies in Redis."""

from collections.abc import Sequence
from typing import get_args

import msgspec
from msgspec import Struct

from openagent.daemon.callers import Caller
from openagent.protocol.events import AnyEvent

OWN_OP = "~"
"""Ids that begin so are a gateway's own ops; no client hears of them."""
ANY = "any"
"""Among a worker's labels: it runs sessions that ask for none too."""
_PREFIX = "openagent:sealed"
"""Members of a version that knew no seals speak under other names, and are not heard."""


def ops_of(worker: str) -> str:
    """The stream of what gateways ask a worker."""
    return f"{_PREFIX}:ops:{worker}"


def told_to(gateway: str) -> str:
    """The stream of what workers tell a gateway's clients."""
    return f"{_PREFIX}:told:{gateway}"


def sign_of(role: str, who: str) -> str:
    """A key that is there for as long as somebody gives signs of life."""
    return f"{_PREFIX}:{role}:{who}"


class Who(Struct, frozen=True):
    """Who asks, as a worker has to know it."""

    caller: Caller
    name: str
    interactive: bool


class Sign(Struct, frozen=True):
    """What a worker tells of itself with every sign of life."""

    running: int = 0
    labels: list[str] = []
    draining: bool = False
    """It lets its turns end, and takes nothing new."""

    def serves(self, label: str) -> bool:
        return serves(self.labels, label)


def serves(labels: Sequence[str], label: str) -> bool:
    """Whether a worker with these labels runs sessions that ask for this one."""
    return label in labels if label else not labels or ANY in labels


class Head(Struct, frozen=True):
    """What a gateway looks at in what it passes on."""

    type: str = ""
    session: str = ""
    seq: int = 0
    op_id: str = ""


read_head = msgspec.json.Decoder(Head).decode
read_who = msgspec.json.Decoder(Who).decode
read_sign = msgspec.json.Decoder(Sign).decode
DURABLE = frozenset(each.__struct_config__.tag for each in get_args(AnyEvent) if each.durable)
"""Names of the events that have a number of their own."""
