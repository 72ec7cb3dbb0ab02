"""Sessions, by the name REST gives them."""

from collections.abc import Mapping
from typing import Any

from openagent.gateway.rest.endpoint import Endpoint, Paging
from openagent.protocol.conversation import (
    MessagePage,
    MessageRaw,
    MessagesPage,
    PermissionAnswer,
    QuestionAnswer,
    TurnCancel,
)
from openagent.protocol.queue import QueueEdit, QueueMove, QueueRemove, QueueResume, QueueShow
from openagent.protocol.sessions import (
    SessionCreate,
    SessionDelete,
    SessionFork,
    SessionGet,
    SessionList,
    SessionPage,
    SessionUpdate,
)
from openagent.protocol.tools import ToolRun, ToolsList
from openagent.protocol.undo import SessionChanges, SessionRewind, SessionUnrewind

_ID = {"id": "session"}


def _older_sessions(page: SessionPage) -> Mapping[str, Any] | None:
    if page.next is None:
        return None
    return {"before": page.next, "before_id": page.sessions[-1].id}


def _older_messages(page: MessagePage) -> Mapping[str, Any] | None:
    return {"before": page.messages[0].number} if page.has_more else None


ENDPOINTS = [
    Endpoint("POST", "/api/agents", SessionCreate, "Create an agent.", status=201),
    Endpoint(
        "GET",
        "/api/agents",
        SessionList,
        "List agents, most recently active first.",
        paging=Paging("sessions", _older_sessions, ("before", "before_id")),
    ),
    Endpoint("GET", "/api/agents/{id}", SessionGet, "One agent.", names=_ID),
    Endpoint("PATCH", "/api/agents/{id}", SessionUpdate, "Rename an agent.", names=_ID, left_out=("settings",)),
    Endpoint("DELETE", "/api/agents/{id}", SessionDelete, "Terminate an agent and forget it.", names=_ID),
    Endpoint(
        "POST", "/api/agents/{id}/approve-tool", PermissionAnswer, "Allow or deny a waiting tool call.", names=_ID
    ),
    Endpoint("POST", "/api/agents/{id}/answer", QuestionAnswer, "Answer what an agent asked.", names=_ID),
    Endpoint("POST", "/api/agents/{id}/cancel", TurnCancel, "Stop the running turn.", names=_ID),
    Endpoint("GET", "/api/agents/{id}/queue", QueueShow, "The messages that wait.", names=_ID),
    Endpoint("PATCH", "/api/agents/{id}/queue/{queued}", QueueEdit, "Say a waiting message in other words.", names=_ID),
    Endpoint("DELETE", "/api/agents/{id}/queue/{queued}", QueueRemove, "Withdraw a waiting message.", names=_ID),
    Endpoint("POST", "/api/agents/{id}/queue/{queued}/move", QueueMove, "Have it said earlier or later.", names=_ID),
    Endpoint("POST", "/api/agents/{id}/queue/resume", QueueResume, "Go on after a cancel.", names=_ID),
    Endpoint("POST", "/api/agents/{id}/fork", SessionFork, "A copy that goes its own way.", names=_ID, status=201),
    Endpoint("POST", "/api/agents/{id}/rewind", SessionRewind, "Back to before a turn.", names=_ID),
    Endpoint("POST", "/api/agents/{id}/unrewind", SessionUnrewind, "Take a rewind back.", names=_ID),
    Endpoint("GET", "/api/agents/{id}/diff", SessionChanges, "What an agent, or one turn, changed.", names=_ID),
    Endpoint(
        "GET",
        "/api/agents/{id}/messages",
        MessagesPage,
        "What was said, newest page first, each page oldest first.",
        names=_ID,
        left_out=("after",),
        paging=Paging("messages", _older_messages, ("before",), beside=("turns", "rewound")),
    ),
    Endpoint("GET", "/api/agents/{id}/messages/{number}/raw", MessageRaw, "The exchange behind an answer.", names=_ID),
    Endpoint("GET", "/api/agents/{id}/tools", ToolsList, "The tools an agent has.", names=_ID),
    Endpoint("POST", "/api/agents/{id}/tools/{tool}", ToolRun, "Run a tool as a person would.", names=_ID),
]
