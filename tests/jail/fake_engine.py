"""A socket that answers as a container engine does, for what a real one does not say on request."""

import contextlib
import json
import socketserver
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

Answers = dict[str, tuple[int, object]]

USUAL: Answers = {
    "GET /_ping": (200, "OK"),
    "GET /info": (200, {"SecurityOptions": ["name=seccomp,profile=default"], "MemoryLimit": True, "PidsLimit": True}),
    "GET /containers/json": (200, []),
    "GET /images/": (200, {}),
    "POST /containers/create": (201, {"Id": "c1"}),
    "DELETE /containers/c1": (204, None),
}


class FakeEngine:
    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.asked: list[str] = []
        self.created: list[dict[str, Any]] = []


@contextlib.contextmanager
def fake_engine(path: Path, answers: Answers) -> Generator[FakeEngine]:
    """`answers` go before the usual ones."""
    engine = FakeEngine(path)
    known: Answers = {**answers, **{start: answer for start, answer in USUAL.items() if start not in answers}}

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = f"{self.command} {self.path.partition('?')[0]}"
            engine.asked.append(asked)
            if asked.endswith("/create"):
                engine.created.append(json.loads(body))
            status, content = next(answer for start, answer in known.items() if asked.startswith(start))
            data = b"" if content is None else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    path.parent.mkdir(parents=True, exist_ok=True)
    with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield engine
        finally:
            server.shutdown()
            thread.join()
