"""What can be asked: each field of the query is one of the reading ops, sent as its REST address sends it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, cast

import msgspec
from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    GraphQLString,
)
from msgspec import Struct

from openagent.gateway.graphql.shapes import Types
from openagent.gateway.rest.asking import new_op_id
from openagent.gateway.rest.decode import decode_cursor, encode_cursor
from openagent.gateway.rest.endpoint import Endpoint
from openagent.protocol.agents import AgentsList
from openagent.protocol.auth import AuthList
from openagent.protocol.context import ContextShow
from openagent.protocol.conversation import AsksList, MessagesPage
from openagent.protocol.customizing import SkillsList
from openagent.protocol.daemon import DaemonStatus
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.flows import FlowsList
from openagent.protocol.mcp import McpList
from openagent.protocol.metrics import MetricsAgents, MetricsCost
from openagent.protocol.models import ModelsList
from openagent.protocol.op import Op
from openagent.protocol.queue import QueueShow
from openagent.protocol.routes import Page
from openagent.protocol.safety import AuditAsk
from openagent.protocol.search import MessagesSearch
from openagent.protocol.sessions import SessionGet, SessionInfo, SessionList
from openagent.protocol.tasks import TaskGet, TaskHistory, TaskInfo, TasksList
from openagent.protocol.templates import TemplatesGet, TemplatesList
from openagent.protocol.tools import ToolsList
from openagent.protocol.usage import UsageAsk, UsageFailures
from openagent.protocol.workspaces import WorkspacesList

QUERIES: dict[str, type[Op]] = {
    "sessions": SessionList,
    "session": SessionGet,
    "messages": MessagesPage,
    "asks": AsksList,
    "queue": QueueShow,
    "context": ContextShow,
    "agents": AgentsList,
    "search": MessagesSearch,
    "tasks": TasksList,
    "task": TaskGet,
    "task_log": TaskHistory,
    "templates": TemplatesList,
    "template": TemplatesGet,
    "flows": FlowsList,
    "skills": SkillsList,
    "tools": ToolsList,
    "models": ModelsList,
    "providers": AuthList,
    "mcp_servers": McpList,
    "workspaces": WorkspacesList,
    "usage": UsageAsk,
    "failures": UsageFailures,
    "cost": MetricsCost,
    "performance": MetricsAgents,
    "status": DaemonStatus,
    "audit": AuditAsk,
}
_OF_A_SESSION = ("messages", "asks", "queue", "context")
USUAL = 10
"""So long a list is taken to be whose length nobody says."""


class Send:
    """Ops for one request: the same op is sent once, and few are under way at a time."""

    def __init__(self, perform: Callable[[Op], Awaitable[Struct]]) -> None:
        self._perform = perform
        self._asked: dict[tuple[type[Op], bytes], asyncio.Future[Struct]] = {}
        self._few = asyncio.Semaphore(8)

    async def __call__(self, op: Op) -> Struct:
        key = type(op), msgspec.json.encode(msgspec.structs.replace(op, id=""))
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(self._send(op))
        return await self._asked[key]

    async def _send(self, op: Op) -> Struct:
        async with self._few:
            return await self._perform(op)


class Asked:
    """A field that sends an op: what it asks for at most, for whoever counts."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        told = {field.name: field for field in msgspec.structs.fields(endpoint.op)}
        self._limit = told["limit"].default if "limit" in told else 0

    def most(self, arguments: Mapping[str, Any]) -> int:
        """The longest its list can get."""
        given = arguments.get("limit")
        return max(given, 1) if isinstance(given, int) else self._limit or USUAL


def build() -> GraphQLSchema:
    """Reads the sources for their words, which takes a while."""
    endpoints = {name: _endpoint(op) for name, op in QUERIES.items()}
    described = {kind: dict(words) for each in endpoints.values() for kind, words in each.described().items()}

    def edges(kind: type[Struct]) -> dict[str, GraphQLField]:
        if kind is SessionInfo:
            own = {name: _field(types, name, endpoints[name], of="id") for name in _OF_A_SESSION}
            return {**own, "parent_session": _field(types, "parent_session", endpoints["session"], of="parent")}
        return {"log": _field(types, "log", endpoints["task_log"], of="id")} if kind is TaskInfo else {}

    types = Types(edges, described)
    query = GraphQLObjectType(
        "Query",
        lambda: {name: _field(types, name, endpoint) for name, endpoint in endpoints.items()},
        description="What the daemon knows; nothing can be changed here.",
    )
    return GraphQLSchema(query, description="OpenAgent, to read.")


def _endpoint(op: type[Op]) -> Endpoint:
    routes = sorted(op.routes, key=lambda route: route.path.count("{"))
    return Endpoint(op, routes[0])


def _field(types: Types, name: str, endpoint: Endpoint, of: str = "") -> GraphQLField:
    """`of`: the field of the struct it stands below that says which one is meant."""
    words = endpoint.described().get(cast("Any", endpoint.query), {})
    arguments = {field.name: _argument(types, endpoint, field, words) for field in _fields_of(endpoint.query)}
    if not of:
        in_path = endpoint.path_described()
        named = {
            each: GraphQLArgument(GraphQLNonNull(GraphQLString), description=in_path.get(each))
            for each in endpoint.path_fields
        }
        arguments = {**named, **arguments}

    async def resolve(parent: Any, info: GraphQLResolveInfo[Send], **given: Any) -> Any:
        if of:
            which = getattr(parent, of)
            if not which:
                return None
            given = {**given, next(iter(endpoint.path_fields)): which}
        return _shown(endpoint, await info.context(_op(endpoint, given)))

    kind = types.output(endpoint.result | None, f"{endpoint.op.__name__}_result")
    asks = {"asks": Asked(endpoint)}
    return GraphQLField(kind, arguments, resolve, description=_summary(endpoint), extensions=asks)


def _argument(
    types: Types, endpoint: Endpoint, field: msgspec.structs.FieldInfo, words: Mapping[str, str]
) -> GraphQLArgument:
    kind = types.scalar(field.type, f"{endpoint.op.__name__}_{field.name}")
    return GraphQLArgument(GraphQLNonNull(kind) if field.required else kind, description=words.get(field.name))


def _fields_of(kind: type[Struct] | None) -> Iterable[msgspec.structs.FieldInfo]:
    return msgspec.structs.fields(kind) if kind else ()


def _summary(endpoint: Endpoint) -> str:
    scopes = " and ".join(endpoint.scopes)
    return f"{endpoint.summary} {endpoint.description}".strip() + f" (Scope: {scopes}.)"


def _op(endpoint: Endpoint, given: dict[str, Any]) -> Op:
    in_path = {name: given.pop(name) for name in endpoint.path_fields}
    told = {name: value for name, value in given.items() if value is not None}
    try:
        query = msgspec.convert(told, endpoint.query) if endpoint.query else None
    except msgspec.ValidationError as problem:
        raise OpenAgentError("invalid_argument", f"The arguments do not fit: {problem}.") from None
    op = endpoint.make(new_op_id(), in_path, query)
    if endpoint.paging is not None and (cursor := told.get("cursor")):
        op = msgspec.structs.replace(op, **decode_cursor(cursor, endpoint))
    return op


def _shown(endpoint: Endpoint, result: Struct) -> Any:
    if endpoint.paging is None:
        return result
    following = cast("Page", result).following()
    beside = {name: getattr(result, name) for name in endpoint.paging.beside}
    return endpoint.result(
        items=getattr(result, endpoint.paging.items),
        next=encode_cursor(following) if following is not None else None,
        **beside,
    )
