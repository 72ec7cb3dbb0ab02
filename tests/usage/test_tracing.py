"""One trace from whoever calls to the last part: the client, the turn, the model, the tool and the MCP server."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from openagent.tools.mcp import host

from ..interaction.doing import call, one_turn, shell
from ..interaction.house import MODEL, house

pytestmark = pytest.mark.anyio
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SERVER = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

written = ConsoleSpanExporter(out=open("spans.jsonl", "a"), formatter=lambda span: span.to_json(indent=None) + chr(10))
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(written))

from mcp.server import MCPServer

server = MCPServer("spanning")


@server.tool()
def double(number: int) -> int:
    return 2 * number


server.run()
"""


class Collector:
    """Takes what real SDKs send, as any OpenTelemetry collector does."""

    def __init__(self) -> None:
        self.spans: dict[str, dict[str, Any]] = {}
        self.metrics: set[str] = set()
        self.address = ""

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/metrics":
            told = ExportMetricsServiceRequest.FromString(body)
            groups = (scope for each in told.resource_metrics for scope in each.scope_metrics)
            self.metrics |= {metric.name for scope in groups for metric in scope.metrics}
            return
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for span in (each for scope in resource.scope_spans for each in scope.spans):
                self.spans[span.name] = {
                    "trace": span.trace_id.hex(),
                    "span": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    **{each.key: each.value.string_value or each.value.int_value for each in span.attributes},
                }


@contextmanager
def collector() -> Generator[Collector]:
    taking = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taking.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the library's name for it
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        taking.address = f"http://127.0.0.1:{server.server_port}"
        running = threading.Thread(target=server.serve_forever)
        running.start()
        try:
            yield taking
        finally:
            server.shutdown()
            running.join()


async def test_the_parts_of_a_turn_are_one_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "SETTLE", 240.0)  # beside a busy machine a server needs long to start
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    for folder in (home, workspace):
        folder.mkdir()
    (workspace / "server.py").write_text(SERVER)
    entry = {"command": sys.executable, "args": ["server.py"], "start_timeout": 240}
    (home / "mcpServers.json").write_text(json.dumps({"mcpServers": {"spanning": entry}}))
    script = [call("double", number=21), shell("true"), {"text": "42"}]
    with collector() as taken:
        config = f'[telemetry]\notlp = "{taken.address}"\n'
        async with house(tmp_path, script, config=config, provider="traced = true") as h:
            env = {
                "OPENAGENT_HOME": str(h.home),
                "OPENAGENT_SOCKET": h.daemon.place.socket,
                "HOME": str(tmp_path),
                "PATH": os.environ["PATH"],
                "OTEL_EXPORTER_OTLP_ENDPOINT": taken.address,
                "TRACEPARENT": f"00-{TRACE}-{CALLER}-01",
            }
            run = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "openagent", "run", "-m", MODEL, "--mode", "full", "double 21"),
                cwd=workspace,
                env=env,
                stdout=asyncio.subprocess.PIPE,
            )
            assert (await run.communicate())[0].decode().strip() == "42"
            asked = [dict(each.headers) for each in h.sim.requests if each.method == "POST"]
    spans = taken.spans
    client, turn, chat = spans["openagent run"], spans["invoke_agent openagent"], spans["chat scripted"]
    double, command = spans["execute_tool double"], spans["execute_tool shell"]
    written = [json.loads(line) for line in (workspace / "spans.jsonl").read_text().splitlines()]
    (served,) = [each for each in written if each["name"] == "tools/call double"]
    assert {each["trace"] for each in spans.values()} == {TRACE}
    assert served["context"]["trace_id"] == f"0x{TRACE}"
    assert client["parent"] == CALLER
    assert turn["parent"] == client["span"]
    assert chat["parent"] == double["parent"] == command["parent"] == turn["span"]
    assert served["parent_id"] == f"0x{double['span']}"
    assert asked[-1]["traceparent"] == f"00-{TRACE}-{chat['span']}-01"
    assert len({each["traceparent"] for each in asked}) == len(asked) == 3
    assert double["mcp.method.name"] == "tools/call"
    assert "mcp.method.name" not in command
    assert (chat["gen_ai.operation.name"], chat["gen_ai.provider.name"]) == ("chat", "compatible")
    assert (chat["gen_ai.request.model"], chat["gen_ai.conversation.id"]) == (
        "scripted",
        turn["gen_ai.conversation.id"],
    )
    assert int(turn["gen_ai.usage.input_tokens"]) > int(chat["gen_ai.usage.input_tokens"]) > 0
    assert taken.metrics == {
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.client.token.usage",
        "mcp.client.operation.duration",
    }


@pytest.mark.parametrize("profile", ["native", "reference"])
async def test_a_request_has_the_headers_of_its_wire_profile_and_no_others(tmp_path: Path, profile: str) -> None:
    """Byte for byte, from a whole daemon that traces its turns, to a server on this machine."""
    expected = {
        "native": ["Host", "Authorization", "User-Agent", "Accept", "Content-Type", "Content-Length"],
        "reference": [
            *("Host", "Authorization", "OpenAI-Beta", "User-Agent", "Accept", "X-Client-Version"),
            *("Content-Type", "Content-Length"),
        ],
    }
    provider = f'wire_profile = "{profile}"'
    async with house(tmp_path, [shell("true"), {"text": "Done."}], provider=provider) as h:
        async with await h.client() as client:
            await one_turn(h, client)
        heads = [each.raw_head for each in h.sim.requests if each.method == "POST"]
    assert len(heads) == 2
    for head in heads:
        lines = head.removesuffix("\r\n\r\n").split("\r\n")[1:]
        assert [line.split(":")[0] for line in lines] == expected[profile]
