"""One query from its text to its answer."""

import asyncio
import contextlib
import contextvars
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLSchema,
    execute,  # pyright: ignore[reportUnknownVariableType]
    get_operation_ast,
    parse,
    print_schema,
    validate,
)
from msgspec import Struct

from openagent.gateway.graphql.limits import MOST_TOKENS, Counting
from openagent.gateway.graphql.schema import Send, build
from openagent.gateway.rest.problems import Refused
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Op

LONGEST = 60.0
"""Seconds."""
MOST_AT_ONCE = 4
Perform = Callable[[Op], Awaitable[Struct]]
Answer = tuple[int, dict[str, Any]]
"""The status and the body."""
_log = logging.getLogger(__name__)


class Running:
    def __init__(self) -> None:
        self._schema: GraphQLSchema = build()
        self.text = print_schema(self._schema)
        self._few = asyncio.Semaphore(MOST_AT_ONCE)

    async def answer(self, query: str, variables: dict[str, Any], operation_name: str, perform: Perform) -> Answer:
        """In a thread of its own, so that no turn waits while a long answer is put together; ops are carried out where
        all others are. The shared threads are left to those: ops that need one could wait for queries that wait for
        them."""
        home = asyncio.get_running_loop()

        async def performed(op: Op) -> Struct:
            async def carry_out() -> Struct:
                return await perform(op)

            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(carry_out(), home))

        async with self._few:
            asked = self._answer(query, variables, operation_name, performed)
            return await _in_a_thread(asked, home)

    async def _answer(self, query: str, variables: dict[str, Any], operation_name: str, perform: Perform) -> Answer:
        try:
            document = self._accept(query, variables, operation_name)
        except GraphQLError as problem:
            return _refused([problem])
        if problems := validate(self._schema, document, max_errors=5):
            return _refused(problems)
        running = execute(
            self._schema,
            document,
            context_value=Send(perform),
            variable_values=variables,
            operation_name=operation_name or None,
        )
        try:
            async with asyncio.timeout(LONGEST):
                result = running if isinstance(running, ExecutionResult) else await running
        except TimeoutError:
            return _refused([GraphQLError(f"The query took more than {LONGEST:.0f} seconds: ask for less at once.")])
        errors = {"errors": [_told(each) for each in result.errors]} if result.errors else {}
        return 200, {**errors, "data": result.data}

    def _accept(self, query: str, variables: dict[str, Any], operation_name: str) -> DocumentNode:
        """What asks for too much is refused before it is validated, which itself takes a while for a large one."""
        try:
            document = parse(query, max_tokens=MOST_TOKENS)
        except RecursionError:
            raise GraphQLError("The query is nested too deep to be read.") from None
        operation = get_operation_ast(document, operation_name or None)
        if operation is None:
            raise GraphQLError("Of several operations, `operationName` must say which is meant; or there is none.")
        if operation.operation.value != "query":
            raise GraphQLError("Nothing can be changed or followed here: use REST or the WebSocket.")
        Counting(self._schema, document, variables).check(operation)
        return document


async def _in_a_thread(asked: Coroutine[Any, Any, Answer], home: asyncio.AbstractEventLoop) -> Answer:
    """One that nobody waits for when the daemon stops."""
    answered: asyncio.Future[Answer] = home.create_future()

    def run() -> None:
        try:
            answer = asyncio.run(asked)
        except Exception as problem:  # told where it is waited for
            tell(answered.set_exception, problem)
        else:
            tell(answered.set_result, answer)

    def tell(how: Callable[[Any], None], what: object) -> None:
        with contextlib.suppress(RuntimeError):  # the daemon has stopped meanwhile
            home.call_soon_threadsafe(lambda: None if answered.done() else how(what))

    threading.Thread(target=contextvars.copy_context().run, args=(run,), name="graphql", daemon=True).start()
    return await answered


def _refused(problems: Sequence[GraphQLError]) -> Answer:
    return 400, {"errors": [_told(each) for each in problems]}


def _told(problem: GraphQLError) -> dict[str, Any]:
    told: dict[str, Any] = {"message": problem.message}
    if problem.locations:
        told["locations"] = [{"line": each.line, "column": each.column} for each in problem.locations]
    if problem.path:
        told["path"] = problem.path
    match problem.original_error:
        case OpenAgentError() as error:
            told["message"] = error.info.message
            told["extensions"] = {"code": error.info.code, "hint": error.info.hint}
        case Refused() as error:
            told["message"] = error.detail
            told["extensions"] = {"code": error.code, "hint": error.hint}
        case GraphQLError() | None:
            pass
        case defect:
            _log.error("GraphQL query raised an unexpected error", exc_info=defect)
            told["message"] = f"The daemon hit a defect ({type(defect).__name__})."
            told["extensions"] = {"code": "internal", "hint": ""}
    return told
