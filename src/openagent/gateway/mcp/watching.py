"""What a client of `mcp serve` is told of unasked: transcripts that changed, and what agents do, as log messages."""

import asyncio
import weakref
from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp_types import (
    EmptyResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from openagent.gateway.mcp.sessions import Sessions

TRANSCRIPT = "openagent://sessions/{session}/transcript"
_BEGINNING, _ENDING = TRANSCRIPT.split("{session}")
_LEVELS: tuple[LoggingLevel, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_MOST = 100
"""Subscriptions of one client."""
Context = ServerRequestContext[Any]


def session_in(uri: str) -> str:
    """Empty where the address is none of a transcript."""
    if not uri.startswith(_BEGINNING) or not uri.endswith(_ENDING):
        return ""
    return uri.removeprefix(_BEGINNING).removesuffix(_ENDING)


class Watching:
    """By connection, as long as there is one."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._levels: weakref.WeakKeyDictionary[Any, LoggingLevel] = weakref.WeakKeyDictionary()
        self._subscriptions: weakref.WeakKeyDictionary[Any, dict[str, asyncio.Task[None]]] = weakref.WeakKeyDictionary()

    # Log messages

    async def set_level(self, ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
        self._levels[_connection(ctx.session)] = params.level
        return EmptyResult()

    async def log(self, session: ServerSession, level: LoggingLevel, said: str, request: Any) -> None:
        """Only to whoever said that they want to be told."""
        wanted = self._levels.get(_connection(session))
        if wanted is None or _LEVELS.index(level) < _LEVELS.index(wanted):
            return
        told = LoggingMessageNotificationParams(level=level, logger="openagent", data=said)
        await session.send_notification(LoggingMessageNotification(params=told), request)

    # Transcripts

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        """What is not there, or not yet, never changes."""
        uri = str(params.uri)
        connection = _connection(ctx.session)
        subscribed = self._subscriptions.setdefault(connection, {})
        named = session_in(uri)
        if named and uri not in subscribed and len(subscribed) < _MOST:
            changes = await self._sessions.changes(named)
            subscribed[uri] = asyncio.create_task(self._tell(changes, ctx.session, uri), name=f"subscription {uri}")
        return EmptyResult()

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        subscribed = self._subscriptions.get(_connection(ctx.session), {})
        if task := subscribed.pop(str(params.uri), None):
            task.cancel()
        return EmptyResult()

    def close(self) -> None:
        for subscribed in self._subscriptions.values():
            for task in subscribed.values():
                task.cancel()

    async def _tell(self, changes: Any, session: ServerSession, uri: str) -> None:
        async for _ in changes:
            await session.send_resource_updated(uri)


def _connection(session: ServerSession) -> Any:
    """The SDK makes a session for each request, and says nowhere else which belong together."""
    return session._connection  # pyright: ignore[reportPrivateUsage]
