"""Where an op stands in the HTTP API: said in its class, and read by the gateway and the documents."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, Protocol

from msgspec import Struct

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Page(Protocol):
    """A result that is one page of many."""

    def following(self) -> Mapping[str, Any] | None:
        """The op's fields that ask for the page after this one; None at the end."""
        ...


class Paging(Struct, frozen=True):
    """Lists come by page over HTTP: `items`, and `next` to be given back as `cursor`."""

    items: str
    """The field of the op's result that holds a page's items. The result is a `Page`."""
    fields: tuple[str, ...]
    """Fields of the op that only a cursor sets."""
    beside: tuple[str, ...] = ()
    """Fields of the op's result that tell more about the items."""


class Route(Struct, frozen=True):
    """One address. What it does not say itself of an op's fields comes from the query, or from the body when the method
    has one."""

    method: Method
    path: str
    """`{name}` stands for the op's field of that name, `{name=field}` for another one."""
    summary: str = ""
    """Empty: the first sentence of the op's docstring."""
    status: int = 0
    """0: 200, or 204 where there is nothing to tell."""
    left_out: tuple[str, ...] = ()
    """Fields that cannot be given here."""
    paging: Paging | None = None


GET = partial(Route, "GET")
POST = partial(Route, "POST")
PUT = partial(Route, "PUT")
PATCH = partial(Route, "PATCH")
DELETE = partial(Route, "DELETE")
