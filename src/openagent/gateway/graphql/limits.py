"""How much one query may ask for: levels, ops and values, counted before anything is done."""

from typing import Any, NamedTuple, cast

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    is_interface_type,
    is_list_type,  # pyright: ignore[reportUnknownVariableType]
    is_object_type,
    is_wrapping_type,  # pyright: ignore[reportUnknownVariableType]
    value_from_ast_untyped,
)

from openagent.gateway.graphql.schema import USUAL, Asked

MOST_TOKENS = 4000
MOST_LEVELS = 15
MOST_OPS = 200
MOST_VALUES = 100_000


class Cost(NamedTuple):
    levels: int = 0
    ops: int = 0
    values: int = 0

    def beside(self, other: "Cost") -> "Cost":
        return Cost(max(self.levels, other.levels), self.ops + other.ops, self.values + other.values)


class Counting:
    def __init__(self, schema: GraphQLSchema, document: DocumentNode, variables: dict[str, Any]) -> None:
        self._schema = schema
        self._variables = variables
        self._fragments = {
            each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)
        }
        self._counted: dict[tuple[str, int], Cost | None] = {}
        """By fragment; None while it is being counted."""

    def check(self, operation: OperationDefinitionNode) -> None:
        """Raises for a query that asks for too much."""
        defaults = {
            each.variable.name.value: value_from_ast_untyped(each.default_value)
            for each in operation.variable_definitions or ()
            if each.default_value
        }
        self._variables = defaults | self._variables
        cost = self._of(operation.selection_set, self._schema.query_type, 1)
        if cost.levels > MOST_LEVELS:
            raise GraphQLError(
                f"The query is nested {cost.levels} levels deep, and {MOST_LEVELS} are the most: ask for less below."
            )
        if cost.ops > MOST_OPS:
            raise GraphQLError(
                f"The query could take {cost.ops} requests, and {MOST_OPS} are the most: ask for shorter lists with "
                "`limit`, or for less of each item."
            )
        if cost.values > MOST_VALUES:
            raise GraphQLError(
                f"The query could have {cost.values} values, and {MOST_VALUES} are the most: ask for shorter lists "
                "with `limit`, or for fewer fields."
            )

    def _of(self, selections: SelectionSetNode | None, kind: Any, most: int) -> Cost:
        """`most`: how long the next list below is at most."""
        total = Cost()
        for each in selections.selections if selections else ():
            if isinstance(each, FieldNode):
                total = total.beside(self._of_field(each, kind, most))
            elif isinstance(each, InlineFragmentNode):
                named = self._schema.get_type(each.type_condition.name.value) if each.type_condition else kind
                total = total.beside(self._of(each.selection_set, named, most))
            elif isinstance(each, FragmentSpreadNode):
                total = total.beside(self._of_fragment(each.name.value, most))
        return total

    def _of_fragment(self, name: str, most: int) -> Cost:
        if (name, most) not in self._counted and name in self._fragments:
            self._counted[name, most] = None
            fragment = self._fragments[name]
            kind = self._schema.get_type(fragment.type_condition.name.value)
            self._counted[name, most] = self._of(fragment.selection_set, kind, most)
        # One that holds itself, or is not there, is refused when the query is validated.
        return self._counted.get((name, most)) or Cost()

    def _of_field(self, node: FieldNode, kind: Any, most: int) -> Cost:
        has_fields = is_object_type(kind) or is_interface_type(kind)
        field = kind.fields.get(node.name.value) if has_fields else None
        if field is None:  # of the schema itself, whose lists are not long, or unknown
            below = self._of(node.selection_set, None, 1)
            return Cost(below.levels + 1, below.ops, below.values + 1)
        asked: Asked | None = field.extensions.get("asks")
        if asked:
            most = asked.most(self._arguments(node))
        named, times = _inside(field.type, most)
        below = self._of(node.selection_set, named, USUAL if times > 1 else most)
        return Cost(below.levels + 1, bool(asked) + times * below.ops, 1 + times * below.values)

    def _arguments(self, node: FieldNode) -> dict[str, Any]:
        return {each.name.value: value_from_ast_untyped(each.value, self._variables) for each in node.arguments or ()}


def _inside(kind: Any, most: int) -> tuple[Any, int]:
    """The type itself, and how many of it there can be."""
    times = 1
    while is_wrapping_type(kind):
        times = max(times, most) if is_list_type(kind) else times
        kind = cast("Any", kind).of_type
    return kind, times
