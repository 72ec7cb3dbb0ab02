"""The protocol's structs as GraphQL types: same names, same fields, same words."""

import re
import types as python_types
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from graphql import (
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLField,
    GraphQLFloat,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLString,
    GraphQLUnionType,
    ValueNode,
    value_from_ast_untyped,
)
from msgspec import Struct

from openagent.protocol import descriptions

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_WORDS_OF_GRAPHQL = ("true", "false", "null")
Edges = Callable[[type[Struct]], dict[str, GraphQLField]]
"""What can be asked of a struct beside its own fields."""


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number.")
    return value


def _whole_literal(node: ValueNode, variables: dict[str, Any] | None = None) -> int:
    return _whole(value_from_ast_untyped(node, variables))


BIG_INT = GraphQLScalarType(
    "BigInt",
    serialize=_whole,
    parse_value=_whole,
    parse_literal=_whole_literal,
    description="A whole number; GraphQL's own ends at 2^31, which tokens and bytes do not.",
)
JSON = GraphQLScalarType("JSON", description="Anything that JSON can hold.", serialize=msgspec.to_builtins)
_SCALARS: dict[Any, GraphQLScalarType] = {
    str: GraphQLString,
    int: BIG_INT,
    float: GraphQLFloat,
    bool: GraphQLBoolean,
}


class Types:
    """Each struct is one type, made when it is first met."""

    def __init__(self, edges: Edges, described: dict[type[Struct], dict[str, str]]) -> None:
        """`described`: the words on structs that no source holds."""
        self._edges = edges
        self._described = described
        self._objects: dict[type[Struct], GraphQLObjectType] = {}
        self._enums: dict[tuple[Any, ...], GraphQLEnumType] = {}
        self._unions: dict[frozenset[type[Struct]], GraphQLUnionType] = {}

    def output(self, kind: Any, place: str) -> Any:
        """A GraphQL type; `place` names what has no name of its own."""
        kind, optional = _without_none(kind)
        found = self._required(kind, place)
        return found if optional else GraphQLNonNull(found)

    def scalar(self, kind: Any, place: str) -> GraphQLScalarType | GraphQLEnumType | GraphQLList[Any]:
        """What can be given as an argument."""
        kind, _ = _without_none(kind)
        if get_origin(kind) is Literal:
            return self._enum(get_args(kind), place)
        if get_origin(kind) is list:
            return GraphQLList(GraphQLNonNull(self.scalar(get_args(kind)[0], place)))
        return _SCALARS.get(kind, JSON)

    def _required(self, kind: Any, place: str) -> Any:
        origin = get_origin(kind)
        if isinstance(kind, type) and issubclass(kind, Struct):
            return self._object(kind)
        if origin is list:
            return GraphQLList(self.output(get_args(kind)[0], place))
        if origin in (Union, python_types.UnionType) and all(_is_struct(each) for each in get_args(kind)):
            return self._union(get_args(kind), place)
        return self.scalar(kind, place)

    def _object(self, kind: type[Struct]) -> GraphQLObjectType:
        if kind not in self._objects:
            self._objects[kind] = GraphQLObjectType(
                kind.__name__, fields=lambda: self._fields(kind), description=descriptions.of_class(kind)
            )
        return self._objects[kind]

    def _fields(self, kind: type[Struct]) -> dict[str, GraphQLField]:
        words = self._described.get(kind) or descriptions.of_fields(kind)
        own = {
            field.name: GraphQLField(
                self.output(field.type, f"{kind.__name__}_{field.name}"), description=words.get(field.name)
            )
            for field in msgspec.structs.fields(kind)
        }
        return {**own, **self._edges(kind)}

    def _enum(self, values: tuple[Any, ...], place: str) -> Any:
        if not all(isinstance(each, str) and _NAME.fullmatch(each) for each in values):
            return GraphQLString
        if any(each in _WORDS_OF_GRAPHQL for each in values):
            return GraphQLString
        if values not in self._enums:
            self._enums[values] = GraphQLEnumType(place, {each: each for each in values})
        return self._enums[values]

    def _union(self, members: tuple[type[Struct], ...], place: str) -> GraphQLUnionType:
        known = frozenset(members)
        if known not in self._unions:
            self._unions[known] = GraphQLUnionType(
                place,
                lambda: [self._object(each) for each in members],
                resolve_type=lambda value, _info, _kind: type(value).__name__,
            )
        return self._unions[known]


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _without_none(kind: Any) -> tuple[Any, bool]:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) not in (Union, python_types.UnionType):
        return kind, False
    kept: list[Any] = [each for each in get_args(kind) if each not in (type(None), msgspec.UnsetType)]
    without = Union[tuple(kept)] if len(kept) > 1 else _without_none(kept[0])[0]  # noqa: UP007 -- of a tuple
    return without, len(kept) < len(get_args(kind))
