"""The HTTP side of the daemon: the API, the WebSocket and the web app's files, behind one guard."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Mount, Route, WebSocketRoute

from openagent.daemon.connection import trace_id
from openagent.daemon.daemon import Daemon
from openagent.gateway.authentication import Gate
from openagent.gateway.crowd import Peer
from openagent.gateway.graphql.door import Door
from openagent.gateway.guesses import Guesses
from openagent.gateway.health import Health
from openagent.gateway.request_guard import GRAPHQL, SOCKET_IO, WEBSOCKET, Guard, is_guarded
from openagent.gateway.rest import openapi, problems
from openagent.gateway.rest.asking import Asking
from openagent.gateway.rest.browser import browser_rows
from openagent.gateway.rest.downloads import Downloads
from openagent.gateway.rest.endpoint import Custom, Endpoint, Row, endpoints
from openagent.gateway.rest.passwords import password_rows
from openagent.gateway.rest.scraping import scrape_row
from openagent.gateway.rest.shell_runs import ShellRuns
from openagent.gateway.rest.signing_in import signing_in_rows
from openagent.gateway.rest.talking import Talking
from openagent.gateway.rest.waiting import Waiting
from openagent.gateway.socketio.door import SocketDoor
from openagent.gateway.static import StaticFiles
from openagent.gateway.websocket import websocket_endpoint
from openagent.protocol.errors import OpenAgentError

OPENAPI = "/api/openapi.json"
_FILES = "/{path:path}"
_log = logging.getLogger(__name__)


def web_app(
    daemon: Daemon,
    gate: Gate,
    address: tuple[str, int],
    extra_hosts: Sequence[str] = (),
    known: Callable[[Peer, str], None] = lambda _peer, _caller: None,
) -> Guard:
    """`known` is told who shows a token on which connection."""
    app = Starlette(
        exception_handlers={
            HTTPException: _explain_http,
            problems.Refused: _explain_refusal,
            OpenAgentError: _explain_error,
            Exception: _explain_defect,
        }
    )
    app.router.redirect_slashes = False
    guesses = Guesses()
    guard = Guard(app, gate, address, extra_hosts, known, guesses=guesses)
    asking = Asking(daemon, gate)
    app.routes.extend(_route(row, _handler(asking, row)) for row in rows(asking, gate, guesses))
    app.routes.extend(Health(asking).routes())
    graphql = Door(asking)
    app.routes.append(Route(GRAPHQL, graphql.respond, methods=["POST"]))
    app.routes.append(Route(GRAPHQL, graphql.describe, methods=["GET"]))
    app.routes.append(Mount(SOCKET_IO, SocketDoor(daemon)))
    app.routes.append(WebSocketRoute(WEBSOCKET, websocket_endpoint(daemon)))
    app.routes.append(Route(_FILES, StaticFiles().respond, methods=["GET", "HEAD"]))
    return guard


def rows(asking: Asking, gate: Gate, guesses: Guesses) -> list[Row]:
    """Every address of the API, in the order they are tried."""
    described = asyncio.Lock()
    written: list[bytes] = []

    async def describe(request: Request) -> Response:
        async with described:
            if not written:  # reading the sources takes a while, which no turn should wait for
                written.append(await asyncio.to_thread(lambda: msgspec.json.encode(openapi.document(table))))
        return Response(written[0], media_type="application/json")

    table: list[Row] = [
        *browser_rows(gate, asking.tell_login, guesses),
        *signing_in_rows(gate, asking.tell_login, guesses),
        *password_rows(gate, asking.tell_login, guesses),
        Custom("GET", OPENAPI, "This document.", describe, scope="read", result=dict),
        *Talking(asking).rows(),
        *ShellRuns(asking).rows(),
        *Waiting(asking).rows(),
        *Downloads(asking).rows(),
        scrape_row(asking),
        *endpoints(),
    ]
    return table


def _route(row: Row, handle: Callable[[Request], Awaitable[Response]]) -> Route:
    route = Route(row.path, handle, methods=[row.method])
    route.methods = {row.method}  # Starlette adds HEAD to GET, which would open a stream of events for nobody
    return route


def _handler(asking: Asking, row: Row) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        if isinstance(row, Endpoint):
            return await asking.respond(row, request)
        assert isinstance(row, Custom)
        if row.scope is not None and not request.state.caller.may(row.scope):
            raise problems.Refused(403, "permission_denied", f"The token lacks the scope {row.scope}.")
        return await row.handler(request)

    return handle


async def _explain_http(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    headers = dict(problem.headers or {})
    path = request.url.path
    if problem.status_code == 405 and (allowed := _methods_at(request)):
        headers["Allow"] = ", ".join(sorted(allowed))
        refusal = f"{request.method} is not possible at {path}."
        return _logged(request, problems.problem(405, "wrong_method", refusal, headers=headers), "wrong_method")
    return _logged(request, problems.problem(404, "not_found", f"There is nothing at {path}."), "not_found")


def _methods_at(request: Request) -> set[str]:
    """The app's files are at every address that is not the API's."""
    is_api = is_guarded(request.url.path)
    found: set[str] = set()
    for route in request.app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            found |= route.methods or set() if not (is_api and route.path == _FILES) else set()
    return found


async def _explain_refusal(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, problems.Refused)
    return _logged(request, problem.response(), problem.code)


async def _explain_error(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, OpenAgentError)
    return _logged(request, problems.explain(problem.info), problem.info.code)


async def _explain_defect(request: Request, problem: Exception) -> Response:
    _log.error(
        "HTTP request raised an unexpected error",
        extra={"method": request.method, "path": request.url.path},
        exc_info=problem,
    )
    name = type(problem).__name__
    detail = f"The daemon hit a defect ({name}); its log has the details under {trace_id.get()}."
    return problems.problem(500, "internal", detail)


def _logged(request: Request, refusal: Response, code: str) -> Response:
    """So that whoever has the trace id of a refusal finds it in the log."""
    told = {"method": request.method, "path": request.url.path, "status": refusal.status_code, "code": code}
    _log.info("HTTP request refused", extra=told)
    return refusal
