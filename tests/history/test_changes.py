"""What other agents' files do over time, and what may be wrong with them."""

import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from openagent.history.ids import session_id
from openagent.protocol.history import UsageAll
from openagent.protocol.messages import ThinkingPart, ToolResultPart
from openagent.protocol.sessions import SessionAttach, SessionDelete, SessionGet, SessionList

from ..interaction.doing import ask, messages_of, turn
from ..interaction.house import MODEL, house
from .left import RECORDED, lay, lay_goose, lay_opencode
from .test_bringing import bring, brought_sessions, figures

pytestmark = pytest.mark.anyio


class Transcript:
    """A session of Claude Code, written line by line."""

    def __init__(
        self, home: Path, name: str, folder: str = "-home-user-project", cwd: str = "/home/user/project"
    ) -> None:
        self.id, self.cwd = name, cwd
        self.file = home / ".claude" / "projects" / folder / f"{name}.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.last: str | None = None
        self._lines = 0

    def line(self, kind: str, message: dict[str, Any], after: str | None = "", **more: Any) -> str:
        self._lines += 1
        uuid = f"{self.id}-{self._lines}"
        record = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self.last if after == "" else after,
            "sessionId": self.id,
            "cwd": self.cwd,
            "timestamp": f"2026-03-0{1 + self._lines // 60}T10:{self._lines % 60:02}:00.000Z",
            "message": message,
            **more,
        }
        with self.file.open("a") as file:
            file.write(json.dumps(record) + "\n")
        self.last = uuid
        return uuid

    def said(self, text: str, **more: Any) -> str:
        return self.line("user", {"role": "user", "content": text}, **more)

    def answered(self, *blocks: dict[str, Any], id: str = "", usage: dict[str, Any] | None = None, **more: Any) -> str:  # noqa: A002
        message = {
            "id": id or f"msg_{self.id}_{self._lines}",
            "role": "assistant",
            "model": "claude-opus-4-5",
            "content": list(blocks),
            "usage": usage or {"input_tokens": 100, "output_tokens": 10},
        }
        return self.line("assistant", message, **more)

    def result(self, call: str, text: str) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        return self.line("user", {"role": "user", "content": [block]})


def always(said: str) -> dict[str, Any]:
    """A script for who has not heard the beginning."""
    return {"conversations": [{"loop": True, "steps": [{"text": said}]}]}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def run(call: str, command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command, "timeout": 5000}}


async def test_a_session_that_grows_is_gone_on_with_and_one_that_is_rewritten_read_again(tmp_path: Path) -> None:
    there = Transcript(tmp_path, "one")
    there.said("First question")
    there.answered(text("First answer"))
    there.said("Second question")
    there.answered(run("c1", "make"))  # and it is still running
    here = session_id("claude", "one")
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        assert figures(await bring(client))["claude"] == (1, 0, 0, 0, 5)
        said = await messages_of(client, here)
        assert isinstance(said[-1].parts[0], ToolResultPart)
        assert said[-1].parts[0].ended == "interrupted"
        there.result("c1", "done")
        there.answered(text("Second answer"))
        with there.file.open("a") as file:
            file.write('{"type": "user", "message": {"role": "us')  # the next line, as far as it has come
        grown = await bring(client)
        assert figures(grown)["claude"] == (0, 1, 0, 0, 1)
        assert [each.reason for each in grown.left_out] == ["has a last line that is half written, left out"]
        said = await messages_of(client, here)
        assert [each.text or each.role for each in said] == [
            *("First question", "First answer", "Second question", "assistant", "tool", "Second answer")
        ]
        assert isinstance(said[4].parts[0], ToolResultPart)
        assert said[4].parts[0].text == "done"
        assert (await ask(client, UsageAll)).total.requests == 3
        there.file.unlink()
        there.said("Something else entirely, of which the file is longer than it was before it was written anew")
        there.answered(text("Another answer " * 80))
        assert figures(await bring(client))["claude"] == (0, 1, 0, 0, 0)
        assert [each.turn for each in await messages_of(client, here)] == [1, 1]
        assert (await ask(client, UsageAll)).total.requests == 1
        shown = await ask(client, SessionAttach, session=here)
        assert shown.snapshot is not None
        assert [end.turn for end in shown.snapshot.turns] == [1]


async def test_one_that_has_gone_on_here_and_there_is_two_sessions_and_a_deleted_one_stays_away(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    there = Transcript(tmp_path, "one", cwd=str(tmp_path / "project"))
    there.said("Question")
    there.answered(text("Answer"))
    here = session_id("claude", "one")
    async with house(tmp_path, always("Said here."), config=f'model = "{MODEL}"') as h, await h.client() as client:
        await bring(client)
        completed, _ = await turn(client, await client.attach(here), "Go on")
        assert completed.reason == "done", completed.error
        there.said("Another question")
        there.answered(text("Said there."))
        assert figures(await bring(client))["claude"] == (0, 0, 1, 0, 4)
        assert [each.text for each in await messages_of(client, here)][-1] == "Said here."
        (other,) = await brought_sessions(client)
        assert [each.text for each in await messages_of(client, other.id)][-1] == "Said there."
        await ask(client, SessionDelete, session=other.id)
        there.said("A third")
        again = await bring(client)
        assert (again.agents[0].dropped, again.messages) == (1, 0)
        assert await brought_sessions(client) == []


async def test_forks_are_paid_once_and_sub_agents_work_for_their_session(tmp_path: Path) -> None:
    there = Transcript(tmp_path, "one")
    there.said("Look into it")
    # An answer comes in several lines, and the last one says what it used; an hour's cache costs more.
    writing = {"input_tokens": 10, "cache_creation_input_tokens": 1000, "cache_read_input_tokens": 2000}
    kept = {"cache_creation": {"ephemeral_1h_input_tokens": 400, "ephemeral_5m_input_tokens": 600}}
    there.answered(
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        id="m1",
        usage={**writing, **kept, "output_tokens": 1},
    )
    there.answered(run("c1", "ls"), id="m1", usage={**writing, **kept, "output_tokens": 50})
    there.result("c1", "a.py")
    there.answered(run("c2", "cat a.py"), id="m1", usage={**writing, **kept, "output_tokens": 200})
    there.result("c2", "x = 1")
    there.answered(text("It is one."), requestId="r2")
    fork = there.file.with_name("two.jsonl")
    shutil.copy(there.file, fork)
    agent = Transcript(tmp_path, "agent-a1", folder="-home-user-project/one/subagents")
    agent.line("user", {"role": "user", "content": "Find it"}, isSidechain=True, sessionId="one", agentId="a1")
    agent.answered(text("Found."), isSidechain=True, sessionId="one", agentId="a1")
    # Opus 4.5: $5 in, $25 out, $0.50 from the cache, $6.25 into it, $10 for an hour.
    first = (10 * 5 + 600 * 6.25 + 400 * 10 + 2000 * 0.5 + 200 * 25) / 1e6
    small = (100 * 5 + 10 * 25) / 1e6
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        assert figures(await bring(client))["claude"] == (3, 0, 0, 0, 12)
        used = await ask(client, UsageAll)
        assert (used.total.requests, used.total.cost_usd) == (3, pytest.approx(first + small + small))
        info = await ask(client, SessionGet, session=session_id("claude", "one"))
        assert info.origin is not None
        assert info.origin.usage.cost_usd == pytest.approx(first + small)
        child = await ask(client, SessionGet, session=session_id("claude", "a1"))
        assert child.parent == info.id
        said = await messages_of(client, info.id)
        assert [each.role for each in said] == ["user", "assistant", "tool", "tool", "assistant"]
        assert [call.arguments for call in said[1].tool_calls] == [
            {"command": "ls", "timeout": 5.0}, {"command": "cat a.py", "timeout": 5.0},
        ]  # fmt: skip
        assert isinstance(said[1].parts[0], ThinkingPart)
        assert [each.id for each in (await ask(client, SessionList, roots=True)).sessions] != []


async def test_what_was_taken_back_or_summarized_there_is_so_here(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    there = Transcript(tmp_path, "one", cwd=str(tmp_path / "project"))
    there.said("Old question")
    end = there.answered(text("Old answer"))
    there.said("A wrong turn")
    there.answered(text("Went wrong"))
    there.said("A better turn", after=end)
    there.answered(text("Went well"))
    async with house(tmp_path, always("Yes."), config=f'model = "{MODEL}"') as h, await h.client() as client:
        await bring(client)
        here = session_id("claude", "one")
        shown = await ask(client, SessionAttach, session=here)
        assert shown.snapshot is not None
        assert shown.snapshot.rewound == [(3, 4)]
        there.said("This session is being continued: the summary.", isCompactSummary=True)
        there.said("After it")
        there.answered(text("Fresh"))
        await bring(client)
        await turn(client, await client.attach(here), "And now?")
        sent = json.dumps(h.sim.requests[-1].json())
        assert "the summary." in sent
        assert "After it" in sent
        for gone in ("Old answer", "Went wrong", "Went well"):
            assert gone not in sent


async def test_damaged_locked_huge_and_unknown_files_are_named_and_the_rest_is_brought(tmp_path: Path) -> None:
    whole = Transcript(tmp_path, "whole")
    whole.said("Hello")
    whole.file.write_text(
        whole.file.read_text() + "not JSON\n" + '{"type": "user", "message": {"content": "\\ud83d half"}}\n'
    )
    whole.answered(text("Hi"))
    folder = whole.file.parent
    (folder / "foreign.jsonl").write_text('{"recipe": "bread"}\n')
    (folder / "empty.jsonl").write_text("")
    (folder / "binary.jsonl").write_bytes(os.urandom(4096))
    os.mkfifo(folder / "pipe.jsonl")
    with (folder / "huge.jsonl").open("wb") as file:
        file.truncate(5 << 30)
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    (tmp_path / ".codex" / "sessions" / "rollout-x.jsonl").write_text('["a", "list"]\n')
    (tmp_path / ".gemini" / "tmp" / "p" / "chats").mkdir(parents=True)
    (tmp_path / ".gemini" / "tmp" / "p" / "chats" / "session-x.json").write_text('{"sessionId": "half')
    damaged = lay_goose(tmp_path)
    damaged.write_bytes(damaged.read_bytes()[:4096] + b"\xff" * 20_000)
    # opencode is open, and has not written all of it into its file yet.
    opened = sqlite3.connect(lay_opencode(tmp_path))
    opened.execute("PRAGMA journal_mode = WAL")
    opened.execute("UPDATE session SET title = 'From the log', time_updated = 9")
    opened.commit()
    opened.execute("BEGIN EXCLUSIVE")
    before = state_of_readable(tmp_path)
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        brought = await bring(client)
        reasons = {Path(each.path).name: each.reason for each in brought.left_out}
        assert reasons == {
            "whole.jsonl": "has a line that cannot be read, left out",
            "foreign.jsonl": "is no session of Claude Code, or of a version that is not known",
            "empty.jsonl": "is no session of Claude Code, or of a version that is not known",
            "binary.jsonl": reasons["binary.jsonl"],
            "pipe.jsonl": "is not a file",
            "huge.jsonl": "is too large: 5120 MB, and up to 4096 MB are read",
            "rollout-x.jsonl": "is no session of codex, or of a version that is not known",
            "session-x.json": "is no session of gemini-cli, or is damaged",
            "sessions.db": reasons["sessions.db"],
        }
        assert "damaged" in reasons["sessions.db"]
        assert [each.text for each in await messages_of(client, session_id("claude", "whole"))][:2] == [
            "Hello",
            "? half",
        ]
        assert [info.name for info in await brought_sessions(client, agent="opencode")] == ["From the log"] * 2
        assert {each.path for each in (await ask(client, UsageAll)).left_out} == {
            each.path for each in brought.left_out
        }
        assert (await bring(client)).left_out == brought.left_out
    assert state_of_readable(tmp_path) == before
    opened.rollback()
    opened.close()


def state_of_readable(home: Path) -> dict[str, Any]:
    """Names and dates of all, and what is in what is small; what SQLite keeps in memory is not looked at."""
    folders = [home / ".claude", home / ".codex", home / ".gemini", home / ".local"]
    found: dict[str, Any] = {}
    for file in (file for folder in folders for file in sorted(folder.rglob("*"))):
        status = file.lstat()
        small = file.is_file() and status.st_size < 1 << 20
        found[str(file)] = (status.st_size, status.st_mtime_ns, file.read_bytes() if small else b"")
    return found


async def test_older_files_of_gemini_and_goose_and_compressed_ones_of_codex_are_read(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "abc" / "chats"
    chats.mkdir(parents=True)
    lines = (
        (RECORDED / "gemini/.gemini/tmp/repo/chats/session-2026-11-15T21-36-e7ce3ece.jsonl").read_text().splitlines()
    )
    records = [json.loads(line) for line in lines]
    whole = {**records[0], "messages": [record for record in records if "id" in record]}
    (chats / "session-old.json").write_text(json.dumps(whole, indent=2))
    goose = tmp_path / ".local" / "share" / "goose" / "sessions"
    goose.mkdir(parents=True)
    about = {"working_dir": "/home/user/project", "description": "Old one", "accumulated_total_tokens": 500}
    said = {"role": "user", "created": 1_700_000_000, "content": [{"type": "text", "text": "Hello"}]}
    (goose / "20250101_100000.jsonl").write_text(f"{json.dumps(about)}\n{json.dumps(said)}\n")
    rollouts = tmp_path / ".codex" / "sessions"
    shutil.copytree(RECORDED / "codex/.codex/sessions", rollouts)
    newest = sorted(rollouts.rglob("*.jsonl"))[-1]
    has_zstd = shutil.which("zstd") is not None
    if has_zstd:
        subprocess.run(["zstd", "-q", "--rm", str(newest)], check=True)
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        brought = await bring(client)
        assert figures(brought) == {
            "gemini": (1, 0, 0, 0, 9),
            "goose": (1, 0, 0, 0, 1),
            "codex": (2, 0, 0, 0, 11),
        }
        assert brought.left_out == []
        assert (await ask(client, UsageAll, agents=["codex"])).total.requests == 5


async def test_an_older_rollout_tells_what_was_used_in_sums_and_a_sub_agents_copy_of_them_counts_once(
    tmp_path: Path,
) -> None:
    place = tmp_path / ".codex" / "sessions" / "2026" / "01" / "02"
    place.mkdir(parents=True)

    def rollout(name: str, **meta: Any) -> list[dict[str, Any]]:
        about = {"id": name, "timestamp": "2026-01-02T10:00:00.000Z", "cwd": "/p", "originator": "codex_cli_rs", **meta}
        return [
            {"type": "session_meta", "timestamp": "2026-01-02T10:00:00.000Z", "payload": about},
            {
                "type": "turn_context",
                "timestamp": "2026-01-02T10:00:00.500Z",
                "payload": {"model": "gpt-5-codex", "cwd": "/p"},
            },
            _item("user", "Fix it", "2026-01-02T10:00:00.600Z"),
        ]

    def _item(role: str, said: str, at: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": said}]}
        return {"type": "response_item", "timestamp": at, "payload": payload}

    def count(last: int, total: int, at: str) -> dict[str, Any]:
        def tokens(number: int) -> dict[str, int]:
            return {"input_tokens": number, "cached_input_tokens": 0, "output_tokens": 10, "total_tokens": number + 10}

        info = {"last_token_usage": tokens(last), "total_token_usage": tokens(total)}
        return {"type": "event_msg", "timestamp": at, "payload": {"type": "token_count", "info": info}}

    def put(name: str, lines: list[dict[str, Any]]) -> None:
        (place / f"rollout-{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    first, second = count(1000, 1000, "2026-01-02T10:00:02.000Z"), count(2000, 3000, "2026-01-02T10:00:09.000Z")
    patched = {
        "type": "custom_tool_call",
        "call_id": "p1",
        "name": "apply_patch",
        "input": "*** Begin Patch\n*** End Patch",
    }
    changes = {"/p/a.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n"}}
    ended = {"type": "patch_apply_end", "call_id": "p1", "success": True, "changes": changes}
    output = {"type": "custom_tool_call_output", "call_id": "p1", "output": '{"output": "Success.", "metadata": {}}'}
    at = "2026-01-02T10:00:01.000Z"
    steps = [
        {"type": "response_item", "timestamp": at, "payload": patched},
        first,
        {"type": "event_msg", "timestamp": at, "payload": ended},
        {"type": "response_item", "timestamp": at, "payload": output},
        first,  # again, with news of the rate limit
        _item("assistant", "Fixed.", "2026-01-02T10:00:08.000Z"),
        second,
    ]
    put("parent", [*rollout("parent"), *steps])
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "parent", "depth": 1}}}
    copied = [count(1000, 1000, "2026-01-02T10:05:00.000Z"), count(2000, 3000, "2026-01-02T10:05:00.000Z")]
    own = [_item("assistant", "Seen.", "2026-01-02T10:05:04.000Z"), count(500, 3500, "2026-01-02T10:05:05.000Z")]
    put("child", [*rollout("child", source=spawned), *copied, *own])
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        await bring(client)
        used = await ask(client, UsageAll)
        assert used.total.requests == 3
        assert used.total.cost_usd == pytest.approx((3500 * 1.25 + 30 * 10) / 1e6)
        child = await ask(client, SessionGet, session=session_id("codex", "child"))
        assert child.parent == session_id("codex", "parent")
        said = await messages_of(client, session_id("codex", "parent"))
        assert [each.role for each in said] == ["user", "assistant", "tool", "assistant"]
        assert said[1].tool_calls[0].arguments == {"patch": "*** Begin Patch\n*** End Patch"}
        result = said[2].parts[0]
        assert isinstance(result, ToolResultPart)
        assert (result.text, result.display.added, result.display.path) == ("Success.", 1, "/p/a.py")
        assert [each.usage.input_tokens if each.usage else 0 for each in said] == [0, 1000, 0, 2000]


async def test_who_does_not_wait_is_told_what_is_not_counted_yet_and_finds_it_counted_later(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        lay(tmp_path)
        # So little patience that not all can have been read.
        assert (await ask(client, UsageAll, patience=1e-9)).unread > 0
        whole = await ask(client, UsageAll)
        assert (whole.unread, whole.total.requests) == (0, 23)
        assert (await ask(client, UsageAll, patience=1e-9)).total.requests == 23
