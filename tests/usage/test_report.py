"""Reports: one set of figures in every format, shown and sent."""

import json
import re
import socketserver
import threading
from collections.abc import Generator
from contextlib import contextmanager
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import ThreadedSimulator

from ..cli.machine import Bare

PRICED = "office/priced"


class MailServer(socketserver.StreamRequestHandler):
    """Takes a letter, and knows no more than that."""

    letters: list[bytes]

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            if line.upper().startswith(b"DATA"):
                self.wfile.write(b"354 go on\r\n")
                letter = b""
                while (line := self.rfile.readline()) != b".\r\n":
                    letter += line
                self.letters.append(letter)
            self.wfile.write(b"221 bye\r\n" if line.upper().startswith(b"QUIT") else b"250 well\r\n")


class Hook(BaseHTTPRequestHandler):
    bodies: list[dict[str, Any]]

    def do_POST(self) -> None:
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002


@contextmanager
def serving(server: socketserver.TCPServer) -> Generator[int, None, None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bare, None, None]:
    greeted = {"text": "Hello.", "usage": {"input": 1_000_000, "output": 100_000}}
    script = {"conversations": [{"match": {"last_user": "Hi"}, "loop": True, "steps": [greeted]}]}
    with ThreadedSimulator(script) as sim:
        machine = Bare(tmp_path_factory.mktemp("machine"), sim)
        machine.config.parent.mkdir(parents=True)
        machine.config.write_text(
            f'model = "{PRICED}"\n[providers.office]\nkind = "compatible"\nbase_url = "{sim.base_url}/v1"\n'
            f'api_key = "k"\n[prices."{PRICED}"]\ninput = 2\noutput = 10\n'
        )
        assert machine.run("run", "--mode", "full", "Hi").returncode == 0
        assert machine.run("run", "--mode", "full", "What nobody answers").returncode != 0
        task = machine.json("tasks", "add", "Ship <it>")
        machine.run("tasks", "move", task["id"], "done")
        yield machine
        machine.run("stop")


def test_one_set_of_figures_in_every_format(machine: Bare) -> None:
    figures = machine.json("report", "--period", "month")
    assert figures["total"]["cost_usd"] == pytest.approx(3.0)
    assert (figures["turns"]["ended"], figures["turns"]["done"], figures["turns"]["failed"]) == (2, 1, 1)
    assert [each["turns"] for each in figures["failures"]] == [1]
    assert figures["tasks_done"] == ["Ship <it>"]
    keys = {name: [row["key"] for row in figures[f"by_{name}"]] for name in ("model", "template", "project", "person")}
    where = str(machine.workspace)
    assert keys == {"model": [PRICED], "template": ["no template"], "project": [where], "person": ["owner"]}
    assert figures["projected_month_usd"] == machine.json("usage", "cost")["projected_month_usd"], "said once"
    assert figures["other_agents"] is None

    markdown = machine.run("report", "--period", "month").stdout
    assert "| Cost | $3.00 |" in markdown
    assert "█" in markdown
    assert "Other agents on this machine are not counted." in markdown
    page = machine.run("report", "--period", "month", "--format", "html").stdout
    assert "<b>$3.00</b>" in page
    assert "<svg" in page
    assert "Ship &lt;it&gt;" in page
    assert not re.search(r"<script|\son\w+=|https?://|url\(|@import", page), "it runs and fetches nothing"


def test_other_agents_are_told_apart_and_the_time_before_is_empty(machine: Bare) -> None:
    figures = machine.json("report", "--period", "day", "--all-agents")
    assert figures["other_agents"] == []
    assert figures["total"]["cost_usd"] == pytest.approx(3.0)
    assert machine.json("report", "--period", "month", "--last")["total"]["requests"] == 0


def test_a_report_is_written_mailed_and_posted(machine: Bare, tmp_path: Path) -> None:
    assert "There is no place to send a report to." in machine.run("report", "--send").stderr
    MailServer.letters, Hook.bodies = [], []
    with (
        serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailServer)) as mail,
        serving(HTTPServer(("127.0.0.1", 0), Hook)) as hook,
    ):
        with machine.config.open("a") as file:
            file.write(
                f'[report]\nfolder = "{tmp_path}"\nmail_to = ["team@example.org"]\nmail_from = "agents@example.org"\n'
                f'smtp = "smtp://127.0.0.1:{mail}"\nwebhook = "http://127.0.0.1:{hook}/x"\n'
            )
        assert machine.run("stop").returncode == 0
        sent = machine.run("report", "--period", "week", "--send")
        assert sent.returncode == 0, sent.stderr
    (written,) = tmp_path.glob("openagent-week-*.html")
    assert "OpenAgent: the week from" in written.read_text()
    letter = message_from_bytes(MailServer.letters[0], policy=policy.default)
    assert letter["To"] == "team@example.org"
    assert letter["Subject"].startswith("OpenAgent: the week from")
    assert {part.get_content_type() for part in letter.walk()} >= {"text/plain", "text/html"}
    assert Hook.bodies[0]["report"]["period"] == "week"
    assert "Cost: $0.00" in Hook.bodies[0]["text"]
