"""The public Python API: talk to a daemon over its socket, a WebSocket, or in its own process."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from openagent.client.client import Attachment, Client, ConnectionLost, connect

__all__ = ["Attachment", "Client", "ConnectionLost", "connect"]


def __getattr__(name: str) -> Any:
    """Loaded on first use: `openagent run` lives in this room too and must not pay for asyncio."""
    if name not in __all__:
        raise AttributeError(name)
    from openagent.client import client

    return getattr(client, name)
