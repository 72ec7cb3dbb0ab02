"""The OpenAPI 3.1 document, from the table of addresses and the protocol's own schemas."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, get_args

import msgspec
from msgspec import Struct

from openagent import __version__
from openagent.gateway.rest import problems
from openagent.gateway.rest.endpoint import Row
from openagent.protocol import descriptions
from openagent.protocol.events import AnyEvent

_REF = "#/components/schemas/{name}"
_REFUSALS = {
    400: "The request cannot be read.",
    401: "A valid token is required.",
    403: "The token lacks a scope, a rule forbids it, or the request comes from another origin.",
    404: "There is nothing of that name.",
    409: "It does not fit the state things are in.",
    412: "It has changed since: `If-Match` names an older state.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "An argument does not fit.",
    424: "Something this depends on failed: a provider, or the jail.",
    428: "Say with `If-Match` which state the change is meant for.",
    429: "Too much at once: a provider's limit, wrong tokens, or a client that does not keep up.",
    503: "The daemon is stopping, or its database cannot be reached.",
}
_EVERYWHERE = (400, 401, 403, 404, 409, 413, 415, 422, 424, 429, 503)


def document(rows: Sequence[Row]) -> dict[str, Any]:
    kinds: list[Any] = [problems.Problem, AnyEvent]
    kinds += [kind for row in rows for kind in (row.query, row.body, row.result) if kind is not None]
    kinds += [kind for row in rows for kind in row.path_types.values()]
    unique = list({repr(kind) if not isinstance(kind, type) else kind: kind for kind in kinds}.values())
    references, schemas = msgspec.json.schema_components(unique, ref_template=_REF)
    _describe(schemas, unique, {kind: told for row in rows for kind, told in row.described().items()})
    of = _Schemas(dict(zip(map(_key, unique), references, strict=True)), schemas)
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        paths.setdefault(row.path.replace(":path}", "}"), {})[row.method.lower()] = _operation(row, of)
    used = {name: schema for name, schema in schemas.items() if name not in of.inlined}
    whole = _whole(rows, paths, used, of)
    _simplify_pairs(whole)
    return whole


def _whole(rows: Sequence[Row], paths: dict[str, Any], used: dict[str, Any], of: "_Schemas") -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "OpenAgent",
            "version": __version__,
            "summary": "Coding agents on your own machine.",
            "description": "Every op of the daemon at an address. The same ops and all events go over the WebSocket at "
            "`/ws`. An *agent* is a session. Errors are `application/problem+json`.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {"browser": []}],
        "tags": [{"name": topic} for topic in dict.fromkeys(row.topic for row in rows)],
        "paths": paths,
        "components": {
            "schemas": {**used, "AnyEvent": of.of(AnyEvent)},
            "responses": {
                str(status): {
                    "description": description,
                    "content": {problems.MEDIA_TYPE: {"schema": of.of(problems.Problem)}},
                }
                for status, description in _REFUSALS.items()
            },
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "browser": {"type": "apiKey", "in": "cookie", "name": "openagent-PORT"},
            },
        },
    }


def _simplify_pairs(schema: Any) -> None:
    """Two numbers are a list of numbers that holds two: many readers of schemas know no `prefixItems`."""
    if isinstance(schema, list):
        for each in cast("list[Any]", schema):
            _simplify_pairs(each)
    if not isinstance(schema, dict):
        return
    known = cast("dict[str, Any]", schema)
    for each in known.values():
        _simplify_pairs(each)
    kinds: list[Any] = known.get("prefixItems", [])
    if kinds and kinds.count(kinds[0]) == len(kinds):
        known["items"] = known.pop("prefixItems")[0]


def _describe(schemas: dict[str, Any], kinds: Sequence[Any], told: Mapping[type[Struct], Mapping[str, str]]) -> None:
    """Puts what docstrings say of fields where the schemas tell of them."""
    for kind in _structs(kinds, set()):
        fields = told.get(kind) or descriptions.of_fields(kind)
        properties = schemas[kind.__name__]["properties"]
        for field in msgspec.structs.fields(kind):
            if field.name in fields:
                properties[field.encode_name] |= {"description": fields[field.name]}
        config = kind.__struct_config__
        if config.tag is not None:
            properties[config.tag_field] |= {"description": "What it is."}


def _structs(kinds: Sequence[Any], seen: set[type[Struct]]) -> Iterator[type[Struct]]:
    """All that these lead to."""
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Struct)):
            yield from _structs(get_args(kind), seen)
        elif kind not in seen:
            seen.add(kind)
            yield kind
            yield from _structs([field.type for field in msgspec.structs.fields(kind)], seen)


def _key(kind: Any) -> Any:
    return kind if isinstance(kind, type) else repr(kind)


class _Schemas:
    def __init__(self, references: dict[Any, dict[str, Any]], schemas: dict[str, Any]) -> None:
        self._references = references
        self._schemas = schemas
        self.inlined: set[str] = set()

    def of(self, kind: Any) -> dict[str, Any]:
        return self._references[_key(kind)]

    def required(self, kind: Any) -> list[str]:
        return self._schemas[self.of(kind)["$ref"].rpartition("/")[2]]["required"]

    def fields(self, kind: Any) -> tuple[dict[str, Any], list[str]]:
        """Of a struct that itself does not appear in the document."""
        name = self.of(kind)["$ref"].rpartition("/")[2]
        self.inlined.add(name)
        return self._schemas[name]["properties"], self._schemas[name]["required"]


def _operation(row: Row, of: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{row.method.lower()}_{row.path.removeprefix('/api/')}".translate(_PLAIN),
        "summary": row.summary,
        "tags": [row.topic],
        "parameters": _parameters(row, of),
        "responses": _responses(row, of),
    }
    if row.scope is None:
        operation["security"] = []
    else:
        operation["description"] = (
            f"{row.description} Needs the scope {' and '.join(f'`{each}`' for each in row.scopes)}.".strip()
        )
    if row.body is not None:
        operation["requestBody"] = {
            "required": bool(of.required(row.body)),
            "content": {"application/json": {"schema": of.of(row.body)}},
        }
    return operation


_PLAIN = str.maketrans({"/": "_", "-": "_", "{": "", "}": "", ":": "_"})


def _parameters(row: Row, of: _Schemas) -> list[dict[str, Any]]:
    described = row.path_described()
    found = [
        _parameter(name, "path", of.of(kind), described.get(name, ""), required=True)
        for name, kind in row.path_types.items()
    ]
    if row.query is not None:
        properties, required = of.fields(row.query)
        found += [
            _parameter(name, "query", _without_null(schema), required=name in required)
            for name, schema in properties.items()
        ]
    return found + [
        _parameter(name, "header", {"type": "string"}, purpose, required=False) for name, purpose in row.headers.items()
    ]


def _parameter(
    name: str, place: str, schema: dict[str, Any], description: str = "", *, required: bool
) -> dict[str, Any]:
    told = description or schema.get("description", "")
    plain = {key: value for key, value in schema.items() if key != "description"}
    return {"name": name, "in": place, "required": required, "description": told, "schema": plain}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is not given is not there; there is no null in a query."""
    if "anyOf" not in schema:
        return schema
    kinds = [each for each in schema["anyOf"] if each != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    return {**kinds[0], **rest} if len(kinds) == 1 else {"anyOf": kinds, **rest}


def _responses(row: Row, of: _Schemas) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done." if row.status == 204 else "The answer."}
    if row.result is not None and row.status != 204:
        answer["content"] = {"application/json": {"schema": of.of(row.result)}}
    if row.media:
        answer["content"] = {row.media: {"schema": {"type": "string", "description": "The file."}}}
    responses: dict[str, Any] = {str(status): dict(answer) for status in (row.status, *row.also)}
    if row.streams:
        events = {"schema": {"type": "string", "description": "Events as `text/event-stream`."}}
        responses.setdefault("200", {"description": "Events as they happen."}).setdefault("content", {})[
            "text/event-stream"
        ] = events
    if 304 in row.refusals:
        responses["304"] = {"description": "Nothing has changed since."}
    statuses = (*_EVERYWHERE, *(status for status in row.refusals if status in _REFUSALS))
    return responses | {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}
