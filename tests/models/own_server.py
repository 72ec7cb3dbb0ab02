"""A model server on this machine: it answers about itself in its own way, and the simulator answers for its models."""

import json
import threading
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from devtools.simulator import Simulator, ThreadedSimulator


@contextmanager
def own_server(sim: Simulator | ThreadedSimulator | None, answers: Mapping[str, Any]) -> Generator[int, None, None]:
    """Its port. `answers` are what it says, by path; those to a POST may be by the model it names. Without a simulator
    it answers nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(answers.get(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path in answers:
                self._say(answers[self.path].get(json.loads(body)["model"]))
                return
            assert sim is not None
            request = urllib.request.Request(
                f"{sim.base_url}{self.path}", body, {"content-type": "application/json"}, method="POST"
            )
            with urllib.request.urlopen(request) as response:
                self._answer(response.status, response.headers["content-type"], response.read())

        def _say(self, answer: Any) -> None:
            if answer is None:
                self._answer(404, "text/plain", b"404 page not found")
            else:
                self._answer(200, "application/json", json.dumps(answer).encode())

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
