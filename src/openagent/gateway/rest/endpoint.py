"""The rows of the table of addresses."""

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from openagent.protocol import bounds, descriptions
from openagent.protocol.op import Done, Op
from openagent.protocol.ops import ALL_OPS
from openagent.protocol.routes import Method, Route
from openagent.protocol.scopes import Scope

Integer = Annotated[int, Meta(ge=-(2**53) + 1, le=2**53 - 1)]
"""What JSON carries exactly everywhere."""
_BODY_METHODS = ("POST", "PUT", "PATCH")
_IN_PATH = re.compile(r"\{(\w+)(?:=(\w+))?\}")


class Row:
    """One address. `body` and `query` tell what may be given, `result` what comes back with `status`."""

    def __init__(
        self,
        method: Method,
        path: str,
        summary: str,
        *,
        scope: Scope | None,
        description: str = "",
        status: int = 200,
        path_types: Mapping[str, Any] | None = None,
        query: type[Struct] | None = None,
        body: type[Struct] | None = None,
        result: Any = None,
        headers: Mapping[str, str] | None = None,
        streams: bool = False,
        refusals: tuple[int, ...] = (),
        also: tuple[int, ...] = (),
        media: str = "",
    ) -> None:
        self.method: Method = method
        self.path = path
        self.summary = summary
        self.description = description
        self.scope: Scope | None = scope
        """None: no token is needed."""
        self.scopes: tuple[Scope, ...] = () if scope is None else (scope,)
        """All that it takes."""
        self.status = status
        self.path_types = dict(path_types or {})
        self.query = query
        self.body = body
        self.result = result
        self.headers = dict(headers or {})
        """Request headers that it heeds, and what they are for."""
        self.streams = streams
        """Answers with server-sent events, when that is what the caller accepts."""
        self.media = media
        """What it answers with, where that is no JSON."""
        self.also = also
        """Other statuses with the same answer."""
        self.refusals = refusals
        """Statuses that it answers with beside those that every address has."""

    def described(self) -> dict[type[Struct], Mapping[str, str]]:
        """What fields mean, of structs that no source holds."""
        return {}

    def path_described(self) -> Mapping[str, str]:
        return {}

    @property
    def topic(self) -> str:
        return self.path.split("/")[2] if self.path.startswith("/api/") else self.path.strip("/")


class Custom(Row):
    """An address with a handler of its own."""

    def __init__(
        self, method: Method, path: str, summary: str, handler: Callable[[Request], Awaitable[Response]], **more: Any
    ) -> None:
        super().__init__(method, path, summary, **more)
        self.handler = handler


class Endpoint(Row):
    """An op at an address. What the address does not say comes from the query, or from the body when the method has
    one."""

    def __init__(self, op: type[Op], route: Route) -> None:
        self.op = op
        self.paging = route.paging
        self._fields = {field.name: field for field in msgspec.structs.fields(op)}
        self.path_fields = {name: field or name for name, field in _IN_PATH.findall(route.path)}
        """From what the address calls something to the op's field."""
        hidden = {"id", *self.path_fields.values(), *route.left_out, *(route.paging.fields if route.paging else ())}
        self._rest = [field for name, field in self._fields.items() if name not in hidden]
        path = _IN_PATH.sub(r"{\1}", route.path)
        place = "".join(part.strip("{}").title() for part in path.split("/"))
        takes_body = route.method in _BODY_METHODS
        self._name = f"{op.__name__}Body" if takes_body else f"{op.__name__}At{place}"
        summary, _, more = inspect.cleandoc(op.__doc__ or "").replace("\n", " ").partition(". ")
        super().__init__(
            route.method,
            path,
            route.summary or f"{summary.removesuffix('.')}.",
            description=more,
            scope=op.needs[0],
            status=route.status or (204 if op.result() is Done else 200),
            path_types={name: _bounded(field, self._fields[field].type) for name, field in self.path_fields.items()},
            query=None if takes_body else self._given,
            body=self._given if takes_body and self._rest else None,
            result=self._page if route.paging else op.result(),
            headers={"Idempotency-Key": "Makes a repeated request answer as the first did."}
            if route.method == "POST"
            else {},
        )
        self.scopes = op.needs

    @functools.cached_property
    def _given(self) -> type[Struct]:
        fields: list[Any] = [(field.name, _bounded(field.name, field.type), *_default(field)) for field in self._rest]
        if self.paging is not None:
            fields.append(("cursor", str, ""))
        doc = {"__doc__": self.op.__doc__}
        return msgspec.defstruct(self._name, fields, kw_only=True, forbid_unknown_fields=True, namespace=doc)

    @functools.cached_property
    def _page(self) -> type[Struct]:
        assert self.paging is not None
        told = {field.name: field.type for field in msgspec.structs.fields(self.op.result())}
        beside = [(name, told[name]) for name in self.paging.beside]
        return msgspec.defstruct(
            f"{self.op.__name__}Page",
            [("items", told[self.paging.items]), *beside, ("next", str | None, None)],
            namespace={"__doc__": self.op.result().__doc__},
        )

    def described(self) -> dict[type[Struct], Mapping[str, str]]:
        told: dict[type[Struct], Mapping[str, str]] = {
            self._given: {**descriptions.of_fields(self.op), "cursor": "What the page before told as `next`."}
        }
        if self.paging is not None:
            of_page = descriptions.of_fields(self.op.result())
            told[self._page] = {
                **of_page,
                "items": of_page[self.paging.items],
                "next": "What to give back as `cursor` for the next page; null: there is none.",
            }
        return told

    def path_described(self) -> Mapping[str, str]:
        of_op = descriptions.of_fields(self.op)
        return {name: of_op[field] for name, field in self.path_fields.items()}

    def make(self, op_id: str, in_path: Mapping[str, Any], given: Struct | None) -> Op:
        fields = {self.path_fields[name]: value for name, value in in_path.items()}
        if given is not None:
            fields |= {field.name: getattr(given, field.name) for field in self._rest}
        return self.op(id=op_id, **fields)

    def cursor_field(self, name: str) -> Any:
        return self._fields[name].type


def endpoints() -> list[Endpoint]:
    """Of all ops, in the order they are tried: a word in an address comes before whatever could stand there."""
    found = [Endpoint(op, route) for op in ALL_OPS for route in op.routes]
    return sorted(found, key=lambda endpoint: [part.startswith("{") for part in endpoint.path.split("/")])


def _default(field: msgspec.structs.FieldInfo) -> tuple[Any, ...]:
    if field.default is not msgspec.NODEFAULT:
        return (field.default,)
    if field.default_factory is not msgspec.NODEFAULT:
        return (msgspec.field(default_factory=field.default_factory),)
    return ()


def _bounded(name: str, kind: Any) -> Any:
    if (closer := bounds.bounded(name, kind)) is not kind:
        return closer
    if kind is int:
        return Integer
    if get_origin(kind) in (UnionType, Union):
        first, *others = (_bounded(name, each) for each in get_args(kind))
        return functools.reduce(lambda one, other: one | other, others, first)
    return kind
