"""A command run over REST: its id at once, what it waits for, and its two streams."""

from pathlib import Path
from typing import Any

import pytest

from ..interaction.house import house
from .calling import Rest, rest

pytestmark = pytest.mark.anyio
BOTH = "echo one; echo two >&2; echo three; exit 3"


async def ran(owner: Rest, agent: str, command: str, *, wait: float = 20) -> Any:
    return await owner("POST", f"/api/agents/{agent}/shell", {"command": command}, query={"wait": wait})


async def test_a_command_that_ended_tells_its_streams_apart(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        answer = await ran(owner, agent, BOTH)
        told = answer.json()
        assert (answer.status_code, told["state"], told["exit_code"], told["failed"]) == (200, "ended", 3, True)
        assert (told["stdout"], told["stderr"], told["ask"]) == ("one\nthree\n", "two\n", None)
        assert told["ended_at"] >= told["started_at"]
        again = await owner("GET", f"/api/agents/{agent}/shell/{told['id']}")
        assert (again.status_code, again.json()) == (200, told)
        assert (await owner("GET", f"/api/agents/{agent}/shell/user-none")).status_code == 404
        other = await owner.agent()
        assert (await owner("GET", f"/api/agents/{other}/shell/{told['id']}")).status_code == 404


async def test_a_command_that_still_runs_is_told_at_once_and_followed(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        gate = h.workspace / "gate"
        answer = await ran(owner, agent, "echo begun; until [ -e gate ]; do sleep 0.05; done; echo over", wait=0)
        told = answer.json()
        assert (answer.status_code, told["state"], told["exit_code"], told["ended_at"]) == (202, "running", None, None)
        place = f"/api/agents/{agent}/shell/{told['id']}"
        while not (seen := await owner("GET", place)).json()["stdout"]:
            assert seen.status_code == 202
        gate.touch()
        last = await owner("GET", place, query={"wait": 20})
        assert (last.status_code, last.json()["stdout"], last.json()["exit_code"]) == (200, "begun\nover\n", 0)


async def test_a_command_that_waits_for_approval_says_so_and_runs_when_it_is_given(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h, rest(h) as owner:
        agent = await owner.agent(mode="ask")
        answer = await ran(owner, agent, "touch made")
        told = answer.json()
        assert (answer.status_code, told["state"]) == (202, "waiting_approval")
        assert "touch made" in told["ask"]["summary"]
        assert not (h.workspace / "made").exists()
        (listed,) = (await owner("GET", "/api/asks")).json()["asks"]
        assert (listed["permission"], listed["permission"]["call_id"]) == (told["ask"], told["id"])
        assert (await owner("POST", f"/api/asks/{told['ask']['id']}", {"decision": "allow"})).status_code == 204
        last = (await owner("GET", f"/api/agents/{agent}/shell/{told['id']}", query={"wait": 20})).json()
        assert (last["state"], last["failed"], last["ask"]) == ("ended", False, None)
        assert (h.workspace / "made").exists()
        denied = (await ran(owner, agent, "touch other")).json()
        await owner("POST", f"/api/asks/{denied['ask']['id']}", {"decision": "deny", "reason": "not now"})
        last = (await owner("GET", f"/api/agents/{agent}/shell/{denied['id']}", query={"wait": 20})).json()
        assert (last["failed"], last["exit_code"], "not now" in last["text"]) == (True, None, True)


async def test_what_cannot_be_run_or_waited_for_is_refused(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        for wait in (-1, 1e308, 601, "long"):
            answer = await owner("POST", f"/api/agents/{agent}/shell", {"command": "ls"}, query={"wait": wait})
            assert answer.status_code == 422, wait
        assert (await ran(owner, agent, "ls\0")).status_code == 422
        assert (await ran(owner, "none", "ls")).status_code == 404
        call = await owner("POST", f"/api/agents/{agent}/tools/shell", {"arguments": {"command": "ls"}, "call": "1"})
        assert call.status_code == 422


async def test_a_repeated_request_runs_the_command_once(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h, rest(h) as owner:
        place, body = f"/api/agents/{await owner.agent()}/shell?wait=20", {"command": "echo x >> lines"}
        first = await owner("POST", place, body, Idempotency_Key="k")
        again = await owner("POST", place, body, Idempotency_Key="k")
        assert (again.status_code, again.json()) == (200, first.json())
        assert (h.workspace / "lines").read_text() == "x\n"
