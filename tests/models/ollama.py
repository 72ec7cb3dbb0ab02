"""A server that looks like Ollama: it lists its models in its own way, and the simulator answers for them."""

import json
import threading
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from devtools.simulator import Simulator, ThreadedSimulator

MODELS = (
    ("qwen3:8b", 5_225_388_164, "8.2B"),
    ("llama3.2:latest", 2_019_393_189, "3.2B"),
    ("nomic-embed-text:latest", 274_302_450, "137M"),
)


@contextmanager
def ollama(sim: Simulator | ThreadedSimulator | None, *, models: int = len(MODELS)) -> Generator[int, None, None]:
    """Its port. Without a simulator it lists, and answers nothing."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listed = MODELS[:models]
            if self.path == "/api/tags":
                tags = [
                    {"name": name, "size": size, "details": {"parameter_size": parameters, "families": ["x"]}}
                    for name, size, parameters in listed
                ]
                self._answer(200, "application/json", json.dumps({"models": tags}).encode())
            elif self.path == "/v1/models":
                body = {"object": "list", "data": [{"id": name, "object": "model"} for name, _, _ in listed]}
                self._answer(200, "application/json", json.dumps(body).encode())
            else:
                self._answer(404, "text/plain", b"404 page not found")

        def do_POST(self) -> None:
            assert sim is not None
            body = self.rfile.read(int(self.headers["content-length"]))
            request = urllib.request.Request(
                f"{sim.base_url}{self.path}", body, {"content-type": "application/json"}, method="POST"
            )
            with urllib.request.urlopen(request) as response:
                self._answer(response.status, response.headers["content-type"], response.read())

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
