"""A million messages of other agents: how fast they are brought and counted, what that does to the daemon, and how fast
they are searched afterwards.

    .venv/bin/python -m benchmarks.history --messages 1000000

Writes a corpus of Claude Code's and codex's files into a home of its own, then runs a daemon there. Prints a table, and
keeps it as results/history.md and results/history.json. Needs about 5 GB of disk for a million messages.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from openagent.client import Client, connect
from openagent.protocol.daemon import Ping
from openagent.protocol.history import HistoryFind, HistoryImport, UsageAll
from openagent.protocol.search import MessagesSearch
from openagent.protocol.sessions import SessionAttach, SessionList

RESULTS = Path(__file__).parent / "results"
STEPS = 12
"""Calls between a question and its answer."""
TURNS = (2, 30)
"""In a session."""
MODELS = ("claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5")
WORDS = [
    f"{stem}{end}"
    for stem in (
        "pars",
        "token",
        "retry",
        "socket",
        "cache",
        "queue",
        "index",
        "merge",
        "frame",
        "guard",
        "lease",
        "audit",
    )
    for end in ("er", "ing", "ed", "s", "_x", "able")
]
_MANY = 30
"""Searches whose computing is measured together: the system counts it in hundredths of a second."""
SEARCHES = {
    "a word in most messages": "value",
    "a word in one message of a thousand": "tokened",
    "two words": "retryer socketing",
    "one message": "needle0042",
    "nothing": "nowhere_to_be_found",
    "the beginning of a word": "leas",
}


class Corpus:
    """Files as the two agents write them, about as large as in life."""

    def __init__(self, home: Path, messages: int) -> None:
        self._home = home
        self._left = messages
        self._random = random.Random(7)
        self.messages = 0
        self.sessions = 0
        self.needles = 0

    def write(self) -> None:
        while self._left > 0:
            self.sessions += 1
            if self.sessions % 4:
                self._claude(f"{self.sessions:08x}-0000-4000-8000-000000000000")
            else:
                self._codex(f"01a00000-0000-7000-8000-{self.sessions:012x}")

    def _claude(self, name: str) -> None:
        folder = self._home / ".claude" / "projects" / f"-home-user-project{self.sessions % 40}"
        folder.mkdir(parents=True, exist_ok=True)
        common = {
            "isSidechain": False,
            "cwd": f"/home/user/project{self.sessions % 40}",
            "sessionId": name,
            "version": "2.1.197",
            "gitBranch": "main",
            "userType": "external",
        }
        last: str | None = None
        lines: list[str] = []
        model = MODELS[self.sessions % len(MODELS)]

        def line(kind: str, message: dict[str, Any], **more: Any) -> None:
            nonlocal last
            uuid = f"{name[:9]}{len(lines):08x}"
            record = {
                "parentUuid": last,
                "type": kind,
                "message": message,
                "uuid": uuid,
                "timestamp": self._now(len(lines)),
                **common,
                **more,
            }
            lines.append(json.dumps(record))
            last = uuid

        def answer(number: int, block: dict[str, Any]) -> None:
            usage = {
                "input_tokens": 8,
                "cache_creation_input_tokens": 900,
                "cache_read_input_tokens": 40_000,
                "output_tokens": 120,
                "service_tier": "standard",
                "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 900},
            }
            message = {
                "id": f"msg_{name[:8]}_{number}",
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [block],
                "stop_reason": None,
                "usage": usage,
            }
            line("assistant", message, requestId=f"req_{name[:8]}_{number}")

        for turn in range(self._random.randint(*TURNS)):
            line("user", {"role": "user", "content": self._prose(40)})
            for step in range(STEPS):
                number = turn * (STEPS + 1) + step
                call = f"toolu_{number}"
                command = {"command": f"rg -n {self._random.choice(WORDS)} src", "description": "Look for it"}
                answer(number, {"type": "tool_use", "id": call, "name": "Bash", "input": command})
                output = self._output()
                content = [{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": False}]
                line(
                    "user",
                    {"role": "user", "content": content},
                    toolUseResult={"stdout": output, "stderr": "", "interrupted": False},
                )
            answer(turn * (STEPS + 1) + STEPS, {"type": "text", "text": self._prose(80)})
            self._count(2 * STEPS + 2)
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")

    def _codex(self, name: str) -> None:
        day = self.sessions % 28 + 1
        folder = self._home / ".codex" / "sessions" / "2026" / "08" / f"{day:02}"
        folder.mkdir(parents=True, exist_ok=True)
        cwd = f"/home/user/project{self.sessions % 40}"
        lines: list[str] = []

        def line(kind: str, payload: dict[str, Any]) -> None:
            lines.append(
                json.dumps(
                    {"timestamp": self._now(len(lines)), "ordinal": len(lines), "type": kind, "payload": payload}
                )
            )

        def said(role: str, text: str) -> None:
            kind = "input_text" if role == "user" else "output_text"
            line("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]})

        def used(number: int) -> None:
            tokens = {
                "input_tokens": 30_000,
                "cached_input_tokens": 28_000,
                "output_tokens": 150,
                "reasoning_output_tokens": 64,
                "total_tokens": 30_150,
            }
            line("token_usage_record", {"thread_id": name, "response_id": f"resp_{number}", "usage": tokens})

        line(
            "session_meta",
            {
                "id": name,
                "timestamp": self._now(0),
                "cwd": cwd,
                "originator": "codex_cli_rs",
                "cli_version": "0.166.0",
                "model_provider": "openai",
            },
        )
        for turn in range(self._random.randint(*TURNS)):
            line("turn_context", {"cwd": cwd, "model": "gpt-5", "approval_policy": "never"})
            said("user", self._prose(40))
            for step in range(STEPS):
                number = turn * (STEPS + 1) + step
                arguments = json.dumps({"cmd": f"rg -n {self._random.choice(WORDS)} src"})
                line(
                    "response_item",
                    {
                        "type": "function_call",
                        "name": "exec_command",
                        "arguments": arguments,
                        "call_id": f"call_{number}",
                    },
                )
                used(number)
                line(
                    "response_item",
                    {"type": "function_call_output", "call_id": f"call_{number}", "output": self._output()},
                )
            said("assistant", self._prose(80))
            used(turn * (STEPS + 1) + STEPS)
            self._count(2 * STEPS + 2)
        (folder / f"rollout-2026-08-{day:02}T10-00-00-{name}.jsonl").write_text("\n".join(lines) + "\n")

    def _count(self, messages: int) -> None:
        self.messages += messages
        self._left -= messages

    def _now(self, line: int) -> str:
        at = 1_785_000_000 + self.sessions * 600 + line
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))

    def _prose(self, words: int) -> str:
        text = " ".join(self._random.choices(WORDS, k=words // 4) + ["the"] * (words // 2))
        if self.messages // 20_000 > self.needles:
            self.needles += 1
            text += f" needle{self.needles:04}"
        return text

    def _output(self) -> str:
        lines = self._random.randint(4, 28)
        return "\n".join(f"src/part_{n}.py:{n * 7}: value = compute({n}, depth={n % 5})" for n in range(lines))


class Figures:
    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    def add(self, what: str, value: str) -> None:
        self.rows.append((what, value))
        print(f"{what:58} {value}", flush=True)


@asynccontextmanager
async def daemon(home: Path) -> AsyncGenerator[tuple[Client, int], None]:
    data = home / "openagent"
    env = {
        "HOME": str(home),
        "OPENAGENT_HOME": str(data),
        "OPENAGENT_CONFIG": str(home / "config.toml"),
        "PATH": os.environ["PATH"],
    }
    (home / "config.toml").touch()
    socket = data / "daemon.sock"
    running = subprocess.Popen(
        [sys.executable, "-m", "openagent", "serve", "--ipc-socket", str(socket)], env=env, stdout=subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(120):
            while True:
                try:
                    client = await connect(socket=str(socket), name="bench", auto_start=False, env={})
                    break
                except Exception:  # it is not up yet, whatever that looks like
                    await asyncio.sleep(0.1)
        async with client:
            yield client, running.pid
    finally:
        running.terminate()
        running.wait(60)


def memory_mb(pid: int, field: str = "VmRSS") -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_s(pid: int) -> float:
    """What it has computed so far: the one figure that a busy machine does not stretch."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def timed(client: Client, op: type[Any], **fields: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    answer = await client.request(op(id=client.next_id(), **fields))
    return time.perf_counter() - began, answer


async def watch(client: Client, pid: int, memory: list[float], waits: list[float]) -> None:
    """What the daemon weighs, and how long it lets somebody else wait, while it imports."""
    while True:
        memory.append(memory_mb(pid))
        began = time.perf_counter()
        await client.request(Ping(id=client.next_id()))
        waits.append(time.perf_counter() - began)
        await asyncio.sleep(0.05)


async def measure(home: Path, figures: Figures) -> None:
    async with daemon(home) as (client, pid):
        took, found = await timed(client, HistoryFind)
        figures.add("finding them (names, sizes and dates)", f"{took * 1000:.0f} ms")
        size = sum(each.bytes for each in found.agents)
        took, early = await timed(client, UsageAll, patience=1.0)
        figures.add(
            "`usage --all-agents --now`, the first time", f"{took:.1f} s, {early.total.requests:,} requests counted"
        )
        before = cpu_s(pid)
        took, used = await timed(client, UsageAll)
        figures.add(
            "`usage --all-agents`, the first time",
            f"{took:.1f} s, {size / took / 1e6:.0f} MB/s, {used.total.requests:,} requests; "
            f"{cpu_s(pid) - before:.1f} s of computing",
        )
        again = [await timed(client, UsageAll, by=by) for by in ("agent", "day", "model", "project")]
        figures.add(
            "the same afterwards, by agent, day, model, project",
            ", ".join(f"{took * 1000:.0f}" for took, _ in again) + " ms",
        )
        before, computed = memory_mb(pid), cpu_s(pid)
        memory: list[float] = []
        waits: list[float] = []
        other = await connect(socket=str(home / "openagent" / "daemon.sock"), name="other", auto_start=False, env={})
        watching = asyncio.create_task(watch(other, pid, memory, waits))
        took, brought = await timed(client, HistoryImport)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        computed = cpu_s(pid) - computed
        figures.add("import", f"{brought.messages:,} messages in {took:.1f} s: {brought.messages / took:,.0f} a second")
        figures.add("import, computing alone", f"{computed:.1f} s: {brought.messages / computed:,.0f} a second")
        figures.add("left out", str(len(brought.left_out)))
        tenth = max(len(memory) // 10, 1)
        early, late = statistics.median(memory[tenth : 2 * tenth]), statistics.median(memory[-tenth:])
        figures.add(
            "memory: before, after a tenth, at the end, most",
            ", ".join(f"{each:.0f}" for each in (before, early, late, max(memory))) + " MB",
        )
        ordered = sorted(waits)
        figures.add(
            "another client's question meanwhile: median, p99",
            f"{ordered[len(ordered) // 2] * 1000:.1f}, {ordered[int(len(ordered) * 0.99)] * 1000:.1f} ms",
        )
        took, second = await timed(client, HistoryImport)
        figures.add("a second import of the same", f"{took:.2f} s, {second.messages} messages")
        await other.close()
        began = time.perf_counter()
        while (await timed(client, MessagesSearch, query="value"))[1].unread:
            await asyncio.sleep(0.5)
        figures.add("reading them for searching, in the background", f"{time.perf_counter() - began:.0f} s")
        for name, query in SEARCHES.items():
            times = sorted([(await timed(client, MessagesSearch, query=query))[0] for _ in range(9)])
            hits = len((await timed(client, MessagesSearch, query=query))[1].found)
            before = cpu_s(pid)
            for _ in range(_MANY):
                await timed(client, MessagesSearch, query=query)
            computed = (cpu_s(pid) - before) / _MANY
            told = f"median {times[4] * 1000:.1f} ms, worst of 9 {times[-1] * 1000:.1f} ms; "
            told += f"{computed * 1000:.1f} ms of computing"
            figures.add(f"search: {name} ({hits} shown)", told)
        times = sorted([(await timed(client, SessionList, limit=50, brought=True))[0] for _ in range(9)])
        figures.add("a page of 50 sessions", f"{times[4] * 1000:.1f} ms")
        listed = (await timed(client, SessionList, limit=50, brought=True))[1].sessions
        times = sorted([(await timed(client, SessionAttach, session=info.id))[0] for info in listed[:20]])
        figures.add("opening one", f"median {times[10] * 1000:.1f} ms")
        figures.add("memory at the end", f"{memory_mb(pid):.0f} MB")
    for name, file in (("store", "openagent.db"), ("search index", "search.db")):
        if (path := next((home / "openagent").glob(f"*{file}"), None)) is not None:
            figures.add(f"on disk: {name}", f"{path.stat().st_size / 1e6:,.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--keep", action="store_true", help="leave the corpus and the daemon's home where they are")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    home, figures = Path(tempfile.mkdtemp(prefix="oa-history-")), Figures()
    try:
        corpus = Corpus(home, options.messages)
        corpus.write()
        size = sum(file.stat().st_size for file in home.rglob("*.jsonl"))
        figures.add("corpus", f"{corpus.messages:,} messages in {corpus.sessions:,} sessions, {size / 1e6:,.0f} MB")
        figures.add("load of the machine", f"{os.getloadavg()[0]:.1f}")
        asyncio.run(measure(home, figures))
        figures.add("load at the end", f"{os.getloadavg()[0]:.1f}")
        options.results.mkdir(exist_ok=True)
        table = "\n".join(f"| {what} | {value} |" for what, value in figures.rows)
        (options.results / "history.md").write_text(f"| what | measured |\n|---|---|\n{table}\n")
        (options.results / "history.json").write_text(json.dumps(dict(figures.rows), indent=2) + "\n")
    finally:
        if not options.keep:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
