"""What all ops have in common. The ops of one topic may live in a file of their own; `ops` gathers them."""

from typing import ClassVar

from msgspec import Struct


class Op(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="op"):
    waits: ClassVar[bool] = False
    """Its answer may take long, so that later ops of the same connection are answered meanwhile."""
    changes: ClassVar[bool] = True
    """It leaves a row in the audit trail, saying who sent it and from where."""
    tells: ClassVar[bool] = False
    """Whoever carries it out writes that row, since they know more of it than the op says."""
    id: str


class ReadingOp(Op, frozen=True, kw_only=True, omit_defaults=True):
    """It changes nothing that outlives the connection, or only what another op's row tells of already."""

    changes: ClassVar[bool] = False


class Done(Struct, frozen=True):
    """Nothing to tell but that it was done."""
