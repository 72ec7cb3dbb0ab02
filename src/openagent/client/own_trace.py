"""Which trace a program's ops belong to: that of whoever started it, who names it in TRACEPARENT, and in it a part of
its own where the environment says where such parts are sent.

Loads nothing: `openagent run` has one, and must feel instant.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SENT_TO = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class OwnTrace:
    def __init__(self, env: Mapping[str, str]) -> None:
        given = env.get("TRACEPARENT", "")
        if not (len(given) == 55 and given.startswith("00-") and given[35] == given[52] == "-"):
            given = ""
        self._sends = any(env.get(name) for name in _SENT_TO)
        self.trace = given[3:35] or (os.urandom(16).hex() if self._sends else "")
        self.parent = given[36:52]
        self.span = os.urandom(8).hex() if self._sends else self.parent
        self.began = time.time_ns()
        self.given = f"{given}." if given else ""
        """What the ids of ops begin with, so that what they cause becomes part of the trace it was started in."""
        flags = given[53:] or "01"
        self.before_ids = f"00-{self.trace}-{self.span}-{flags}." if self.trace else ""
        """The same, of its own part of the trace: for a program that does one thing, and says when it has ended."""

    def ended(self, name: str, code: int) -> None:
        """The program has done what it was started for."""
        if self._sends:
            try:
                from openagent.client.span_sending import send
            except ImportError:  # without the extra `otel`
                return
            send(self, name, code)


own = OwnTrace(os.environ)
