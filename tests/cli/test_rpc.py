"""`openagent rpc`: the real program on pipes."""

import json
import os
import signal
import subprocess
from typing import Any

from .machine import MODEL, PATIENCE, Machine, shell


def request(request_id: Any, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def replies(out: str) -> dict[Any, Any]:
    messages = [json.loads(line) for line in out.splitlines()]
    return {message["id"]: message for message in messages if isinstance(message, dict) and "id" in message}


def test_a_pipe_of_requests_is_answered_to_the_last_before_the_end(machine: Machine) -> None:
    machine.sim.reset([shell("echo hi"), {"text": "It says hi."}])
    lines = [
        request(1, "session.create", model=MODEL, mode="full", name="piped"),
        request(2, "chat.send", message="what does it say?"),
        request("three", "tools.list"),
    ]
    ran = machine.run("rpc", given="\n".join(lines))
    assert (ran.returncode, ran.stderr) == (0, "")
    answered = replies(ran.stdout)
    assert answered[1]["result"]["codebase_path"] == str(machine.workspace)
    assert answered[2]["result"]["text"] == "It says hi."
    assert "shell" in [tool["name"] for tool in answered["three"]["result"]]
    notified = [json.loads(line).get("method") for line in ran.stdout.splitlines()]
    for method in ("response_chunk", "tool_call", "tool_result", "token_update", "turn_completed"):
        assert method in notified


def test_garbage_is_answered_with_errors_and_the_rest_still_works(machine: Machine) -> None:
    lines = [
        b"{broken",
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"jsonrpc": "2.0", "id": 4, "method": "no.such"}',
        b'"' + b"x" * (33 * 1024 * 1024) + b'"',
        request(5, "session.list").encode(),
    ]
    ran = machine.run("rpc", given=b"\n".join(lines))
    assert (ran.returncode, ran.stderr) == (0, "")
    errors = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [message["error"]["code"] for message in errors[:-1]] == [-32700, -32700, -32600, -32601, -32600]
    assert isinstance(errors[-1]["result"], list)


def test_when_the_input_has_ended_nobody_is_waited_for(machine: Machine) -> None:
    machine.sim.reset([shell("touch asked"), {"text": "Then not."}])
    lines = [request(1, "session.create", model=MODEL, mode="ask"), request(2, "chat.send", message="make it")]
    ran = machine.run("rpc", given="\n".join(lines))
    assert replies(ran.stdout)[2]["result"]["text"] == "Then not."
    assert not (machine.workspace / "asked").exists()


def test_a_daemon_that_dies_fails_what_is_owed_and_ends_the_program(fresh: Machine) -> None:
    fresh.sim.reset([{"text": "never", "fault": "hang"}])
    with fresh.start("rpc", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = request(1, "session.create", model=MODEL), request(2, "chat.send", message="go"), ""
        process.stdin.write("\n".join(lines).encode())
        process.stdin.flush()
        fresh.sim.until(lambda: len(fresh.sim.requests) == 1, PATIENCE)
        pid = fresh.daemon_pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        out = process.stdout.read().decode()
        assert process.wait(PATIENCE) == 1
    assert replies(out)[2]["error"]["data"]["code"] == "shutting_down"
    assert any(json.loads(line).get("method") == "error" for line in out.splitlines())


def test_arguments_are_refused(machine: Machine) -> None:
    assert machine.run("rpc", "--nonsense").returncode == 2
