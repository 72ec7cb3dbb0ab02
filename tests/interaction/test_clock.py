"""A machine's clock may be set back by days."""

import time
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.protocol.daemon import DaemonStatus
from openagent.protocol.sessions import SessionList

from .doing import ask, one_turn
from .house import house_over

pytestmark = pytest.mark.anyio


async def test_the_session_used_last_is_the_newest_though_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Simulator({"steps": [{"text": "yes"}], "loop": True}) as sim:
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            before, *_ = await one_turn(h, client)
        really = time.time
        monkeypatch.setattr(time, "time", lambda: really() - 3 * 86_400)
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            after, *_ = await one_turn(h, client)
            listed = await ask(client, SessionList)
            assert [info.id for info in listed.sessions] == [after, before]


async def test_a_daemon_is_never_up_for_less_than_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Simulator([]) as sim, house_over(tmp_path, sim) as h, await h.client() as client:
        really = time.time
        monkeypatch.setattr(time, "time", lambda: really() - 3 * 86_400)
        assert 0 <= (await ask(client, DaemonStatus)).uptime_s < 3600
