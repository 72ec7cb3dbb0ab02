"""`openagent run` with a daemon on another machine: the thin client over a WebSocket."""

import os
from typing import Any

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from openagent.client.elsewhere import nobody_there, token_for, wanted, web_socket_url
from openagent.client.thin import ConnectionEnded, Refused, ThinClient, reader_left

_LOOK_UP = 1.0
"""Seconds between two looks whether anybody still reads what is printed."""


class ThinClientElsewhere(ThinClient):
    def _open(self, auto_start: bool) -> None:
        url = web_socket_url(wanted(os.environ))
        headers = {"Authorization": f"Bearer {token_for(url, os.environ)}"}
        try:
            self._line = connect(url, additional_headers=headers, max_size=None, proxy=None)
        except (OSError, WebSocketException) as problem:
            raise Refused(nobody_there(url, problem)) from None
        self._waiting: list[str] = []

    def _passed_on(self) -> dict[str, Any]:
        """Keys of this environment are for the daemon of this machine, not for whoever answers elsewhere."""
        return {}

    def _add(self, body: str) -> None:
        self._waiting.append(body)

    def flush(self) -> None:
        try:
            for body in self._waiting:
                self._line.send(body)
        except ConnectionClosed as problem:
            raise ConnectionEnded(str(problem)) from None
        self._waiting.clear()

    def receive_body(self, patience: float | None = None) -> str | None:
        waited = 0.0
        while True:
            pause = _LOOK_UP if patience is None else min(_LOOK_UP, patience - waited)
            try:
                body = self._line.recv(timeout=pause)
                break
            except TimeoutError:
                if reader_left():
                    raise BrokenPipeError from None
                waited += pause
                if patience is not None and waited >= patience:
                    return None
            except ConnectionClosed:
                raise ConnectionEnded from None
        return body if isinstance(body, str) else body.decode()

    def close(self) -> None:
        self._line.close()
