"""What all ops have in common. The ops of one topic may live in a file of their own; `ops` gathers them."""

from typing import ClassVar

from msgspec import Struct


class Op(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="op"):
    waits: ClassVar[bool] = False
    """Its answer may take long, so that later ops of the same connection are answered meanwhile."""
    id: str


class Done(Struct, frozen=True):
    """Nothing to tell but that it was done."""
