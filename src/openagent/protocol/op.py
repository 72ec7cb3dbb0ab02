"""What all ops have in common. Each says of itself what there is to know: its answer, the scope it takes, whose things
it names, where it stands in the HTTP API. It stands in the file of its feature; `ops` gathers them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, cast, dataclass_transform

import msgspec
from msgspec import Struct, StructMeta

from openagent.protocol.routes import Route
from openagent.protocol.scopes import Scope

if TYPE_CHECKING:
    from typing import Generic

    from typing_extensions import TypeVar

    R_co = TypeVar("R_co", bound=Struct, covariant=True, default=Struct)
    C = TypeVar("C")
else:
    R_co = C = None

    class Generic:
        """Stands in for typing's, which would make every command that talks to the daemon start milliseconds later."""

        def __class_getitem__(cls, answer: type[Struct]) -> "Bracketed":
            return Bracketed((), answer)


class Bracketed:
    """`Op[Answer]` as a base class: the op, and the answer for `OpType` to read."""

    def __init__(self, bases: tuple[type, ...], answer: type[Struct]) -> None:
        self._bases = bases
        self.answer = answer

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return self._bases


Named = Literal["session", "folder", "copy", "terminal", "task", "grant"]
"""What a field of an op may name, and whom it belongs to."""
Reach = Literal["named", "open", "filtered", "whole", "whole unless named"]
"""What an op is about, for callers that work below some folders. named: what its fields name. open: nobody's folder,
where they name nothing. filtered: all, of which only the caller's part is told. whole: the daemon or everybody,
whatever it names. whole unless named: the same, where it names nothing."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class OpType(StructMeta):
    """What a class says of its op, behind its name."""

    tag: str
    """Its name on the wire. Empty: a base of ops."""
    result_type: type[Struct]
    needs: tuple[Scope, ...]
    """The scopes a caller must have, all of them; `admin` unless it says otherwise."""
    reach: Reach
    names: Mapping[str, Named | None]
    """Fields that name something else here than their name says everywhere else."""
    routes: tuple[Route, ...]
    """Its addresses in the HTTP API."""
    acts: bool
    """It makes an agent go on, steers it, or does something in its place."""
    works_there: bool
    """The folder it names must be one that can be worked in, whoever asks."""
    waits: bool
    """Its answer may take long, so that later ops of the same connection are answered meanwhile."""
    changes: bool
    """It leaves a row in the audit trail, saying who sent it and from where."""
    tells: bool
    """Whoever carries it out writes that row, since they know more of it than the op says."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        tag: str = "",
        needs: Scope | tuple[Scope, ...] = "admin",
        reach: Reach = "named",
        names: Mapping[str, Named | None] | None = None,
        routes: Route | tuple[Route, ...] = (),
        acts: bool = False,
        works_there: bool = False,
        waits: bool = False,
        changes: bool | None = None,
        tells: bool = False,
        exact: bool = False,
    ) -> "OpType":
        """`exact`: a field that it does not have is refused, since it may limit what is done."""
        made = super().__new__(
            mcs,
            name,
            bases,
            namespace,
            frozen=True,
            kw_only=True,
            omit_defaults=True,
            tag_field="op",
            tag=tag or None,
            forbid_unknown_fields=exact,
        )
        made.tag = tag
        made.needs = (needs,) if isinstance(needs, str) else needs
        made.reach, made.names = reach, names or {}
        made.routes = (routes,) if isinstance(routes, Route) else routes
        made.acts, made.works_there = acts, works_there
        made.waits, made.tells = waits, tells
        if changes is not None:
            made.changes = changes
        for base in namespace.get("__orig_bases__", ()):
            if isinstance(base, Bracketed):
                made.result_type = base.answer
        return made

    if not TYPE_CHECKING:

        def __getitem__(self, answer: type[Struct]) -> Bracketed:
            return Bracketed((self,), answer)


class Op(Struct, Generic[R_co], metaclass=OpType, changes=True):
    """What a client sends. The answer is an `R_co`."""

    id: str
    """Chosen by the client; the answer and the events that the op causes carry it back."""

    @classmethod
    def result(cls) -> type[R_co]:
        """What it is answered with."""
        return cast("type[R_co]", cls.result_type)

    @classmethod
    def handled_by(cls, handler: Callable[["C", Self], Awaitable[R_co]]) -> "Handled[C]":
        """With whoever carries it out: that they take this op, and answer what it promises, is for the type checker."""
        return Handled(cls, cast("Callable[[C, Op], Awaitable[Struct]]", handler))

    def needed(self) -> frozenset[Scope]:
        """What the op takes as it was sent: some of what it could ask for takes more than `needs`."""
        return frozenset(type(self).needs)


class Handled(Generic[C]):
    """An op and who carries it out, given who asks: a `C`. `Op.handled_by` makes these."""

    def __init__(self, op: type[Op], carry_out: Callable[[C, Op], Awaitable[Struct]]) -> None:
        self.op = op
        self.carry_out = carry_out


class ReadingOp(Op[R_co], changes=False):
    """It changes nothing that outlives the connection, or only what another op's row tells of already."""


class Done(Struct, frozen=True):
    """Nothing to tell but that it was done."""
