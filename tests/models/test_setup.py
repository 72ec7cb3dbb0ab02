"""The first minutes, as ops: what is found, a key that is tried, a choice that is kept."""

import asyncio
import socket
import tomllib
from pathlib import Path
from typing import cast

import pytest

from devtools.simulator import Simulator
from openagent.protocol.auth import AuthAdd, AuthList
from openagent.protocol.configuration import ConfigSet
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.models import ModelsList
from openagent.protocol.safety import TrustAdd, TrustDecline
from openagent.protocol.setup import (
    LocalServer,
    ProvidersAdd,
    ProvidersRemove,
    ServedModel,
    SetupKey,
    SetupLook,
    SetupShow,
    SetupTour,
    SetupUse,
)

from ..interaction.doing import ask
from ..servers import patient
from .ollama import ollama
from .place import NO_RETRIES, place, provider, session, turn

pytestmark = pytest.mark.anyio

GOOD = "sk-ant-good-0123456789abcdef"
WRONG = "sk-ant-wrong-0123456789abcdef"
NOWHERE = {"OPENAGENT_LOCAL_SERVERS": "ollama:1"}


async def test_a_bare_machine_has_no_model_and_a_way_to_each_kind(tmp_path: Path) -> None:
    async with Simulator([]) as sim, place(tmp_path, sim, "", **NOWHERE) as house, await house.client() as client:
        state = await ask(client, SetupShow, cwd=str(house.workspace))
        assert (state.model, state.chosen) == ("", False)
        assert state.folder is not None
        assert state.folder.files == []
        found = await ask(client, SetupLook)
        assert (found.keys, found.servers, found.logins) == ([], [], [])
        (offline,) = found.offline
        assert (offline.name, offline.installed) == ("smollm2", False)
        assert {"anthropic", "openai", "gemini", "openrouter"} <= {look.provider for look in found.looks}


async def test_keys_of_the_environment_are_found_the_best_first(tmp_path: Path) -> None:
    keys = {
        "OPENROUTER_API_KEY": "sk-or-1234567890",
        "GOOGLE_API_KEY": "AIza1234567890",
        "OPENAI_API_KEY": "sk-1234567890",
    }
    async with (
        Simulator([]) as sim,
        place(tmp_path, sim, "", **NOWHERE, **keys) as house,
        await house.client() as client,
    ):
        found = (await ask(client, SetupLook)).keys
        assert [(key.provider, key.variable, key.source) for key in found] == [
            ("openai", "OPENAI_API_KEY", "environment"),
            ("gemini", "GOOGLE_API_KEY", "environment"),
            ("openrouter", "OPENROUTER_API_KEY", "environment"),
        ]


async def test_a_key_of_a_vendor_that_speaks_anothers_format_is_enough(tmp_path: Path) -> None:
    env = {"OPENROUTER_API_KEY": "sk-or-1234567890", **NOWHERE}
    async with Simulator([]) as sim, place(tmp_path, sim, "", **env) as house, await house.client() as client:
        assert (await ask(client, SetupShow)).model == "openrouter/openrouter/auto"
        (entry,) = (await ask(client, AuthList)).entries
        assert (entry.name, entry.source) == ("openrouter", "environment")


@pytest.mark.parametrize(
    ("env", "answers", "hint"),
    [
        ({"GITHUB_TOKEN": "ghp_1234567890"}, "", "the model github/openai/gpt-4.1 would answer"),
        ({"AZURE_OPENAI_ENDPOINT": "https://x.test"}, "", "set AZURE_OPENAI_API_KEY"),
        ({"AZURE_OPENAI_API_KEY": "k"}, "", "set AZURE_OPENAI_ENDPOINT"),
        ({"AZURE_OPENAI_ENDPOINT": "https://x.test", "AZURE_OPENAI_KEY": "k"}, "", "name the deployment"),
        (
            {"AZURE_OPENAI_ENDPOINT": "https://x.test", "AZURE_OPENAI_KEY": "k", "AZURE_OPENAI_DEPLOYMENT": "d"},
            "azure/d",
            "",
        ),
        ({"OLLAMA_HOST": "127.0.0.1:1"}, "", "choose one of its models"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "", "OPENAI_MODEL"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_MODEL": "qwen3"}, "compatible/qwen3", ""),
        ({"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_MODEL": "claude-opus-5"}, "anthropic/claude-opus-5", ""),
        ({"DEEPSEEK_API_KEY": "k"}, "deepseek/deepseek-chat", ""),
    ],
    ids=lambda value: "+".join(map(str, cast("dict[str, str]", value))) if isinstance(value, dict) else "",
)
async def test_what_people_export_answers_or_says_what_is_missing(
    tmp_path: Path, env: dict[str, str], answers: str, hint: str
) -> None:
    async with (
        Simulator([]) as sim,
        place(tmp_path, sim, "", **NOWHERE, **env) as house,
        await house.client() as client,
    ):
        assert (await ask(client, SetupShow)).model == answers
        if hint:
            one = (await client.create_session(str(house.workspace))).id
            ended, _ = await turn(client, one)
            assert ended.error is not None
            assert hint in ended.error.hint


async def test_a_wrong_key_is_not_kept_and_a_right_one_answers(tmp_path: Path) -> None:
    async with Simulator([{"text": "Hello."}], require_key=GOOD) as sim:
        config = provider("anthropic", "anthropic", sim)
        async with place(tmp_path, sim, config, **NO_RETRIES, **NOWHERE) as house, await house.client() as client:
            with pytest.raises(OpenAgentError, match="invalid x-api-key") as refused:
                await ask(client, SetupKey, key=WRONG)
            assert WRONG not in str(refused.value)
            assert (await ask(client, AuthList)).entries == []
            chosen = await ask(client, SetupKey, key=f" {GOOD}\n")
            assert chosen.model.startswith("anthropic/claude")
            assert tomllib.loads(Path(chosen.file).read_text())["model"] == chosen.model
            assert GOOD not in Path(chosen.file).read_text()
            state = await ask(client, SetupShow)
            assert (state.model, state.chosen) == (chosen.model, True)
            said, _ = await turn(client, await session(house, client, ""))
            assert said.reason == "done"


@pytest.mark.parametrize(
    ("key", "problem"), [("", "no API key"), ("two words", "no API key"), ("whose-is-this", "has to be said")]
)
async def test_what_is_no_key_is_not_sent_anywhere(tmp_path: Path, key: str, problem: str) -> None:
    async with Simulator([]) as sim, place(tmp_path, sim, "", **NOWHERE) as house, await house.client() as client:
        with pytest.raises(OpenAgentError, match=problem):
            await ask(client, SetupKey, key=key)
        assert not sim.requests


async def test_a_server_on_this_machine_is_found_chosen_and_answers(tmp_path: Path) -> None:
    async with Simulator([{"text": "Local hello."}]) as sim:
        with ollama(sim) as port:
            env = {"OPENAGENT_LOCAL_SERVERS": f"vllm:1,ollama:{port}"}
            async with place(tmp_path, sim, "", **NO_RETRIES, **env) as house, await house.client() as client:
                (server,) = (await ask(client, SetupLook)).servers
                url = f"http://127.0.0.1:{port}/v1"
                models = [ServedModel("qwen3:8b", "8.2B · 5.2 GB"), ServedModel("llama3.2:latest", "3.2B · 2.0 GB")]
                assert server == LocalServer("ollama", "Ollama", url, models)
                with pytest.raises(OpenAgentError, match="has no model 'gpt-5'"):
                    await ask(client, SetupUse, provider="ollama", url=url, model="gpt-5")
                chosen = await ask(client, SetupUse, provider="ollama", url=url, model="llama3.2:latest")
                written = tomllib.loads(Path(chosen.file).read_text())
                assert written["model"] == "ollama/llama3.2:latest"
                assert written["providers"] == {"ollama": {"kind": "compatible", "base_url": url}}
                said, _ = await turn(client, await session(house, client, ""))
                assert said.reason == "done"
                (again,) = (await ask(client, SetupLook)).servers
                assert (again.provider, again.configured) == ("ollama", True)


async def test_what_is_no_model_server_is_passed_over_in_time(tmp_path: Path) -> None:
    """One port is closed, one accepts and says nothing, one says something else."""
    with socket.create_server(("127.0.0.1", 0)) as silent:

        async def web_page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n<html></html>")
            writer.close()

        other = await asyncio.start_server(patient(web_page), "127.0.0.1", 0)
        ports = (1, silent.getsockname()[1], other.sockets[0].getsockname()[1])
        servers = ",".join(f"{name}:{port}" for name, port in zip(("ollama", "vllm", "llamacpp"), ports, strict=True))
        async with (
            other,
            Simulator([]) as sim,
            place(tmp_path, sim, "", OPENAGENT_LOCAL_SERVERS=servers) as house,
            await house.client() as client,
        ):
            async with asyncio.timeout(60):
                assert (await ask(client, SetupLook)).servers == []


async def test_a_server_that_went_away_is_not_written_down(tmp_path: Path) -> None:
    async with Simulator([]) as sim, place(tmp_path, sim, "", **NOWHERE) as house, await house.client() as client:
        with pytest.raises(OpenAgentError, match="No model server answers at"):
            await ask(client, SetupUse, provider="ollama", url="http://127.0.0.1:1/v1", model="m")
        with pytest.raises(OpenAgentError, match="No model server answers at"):
            await ask(client, SetupUse, provider="ollama", url="http://example.org/v1", model="m")
        assert not (await ask(client, SetupShow)).chosen


async def test_a_folder_says_whether_it_was_asked_about(tmp_path: Path) -> None:
    async with Simulator([]) as sim, place(tmp_path, sim, "", **NOWHERE) as house, await house.client() as client:
        cwd = str(house.workspace)
        (house.workspace / ".mcp.json").write_text('{"mcpServers": {}}')
        folder = (await ask(client, SetupShow, cwd=cwd)).folder
        assert folder is not None
        assert (folder.trusted, folder.declined, folder.files) == (False, False, [".mcp.json"])
        await ask(client, TrustDecline, cwd=cwd)
        folder = (await ask(client, SetupShow, cwd=cwd)).folder
        assert folder is not None
        assert (folder.trusted, folder.declined) == (False, True)
        (house.workspace / ".mcp.json").write_text("{}")
        folder = (await ask(client, SetupShow, cwd=cwd)).folder
        assert folder is not None
        assert not folder.declined
        await ask(client, TrustAdd, cwd=cwd)
        folder = (await ask(client, SetupShow, cwd=cwd)).folder
        assert folder is not None
        assert folder.trusted


async def test_a_second_key_is_tried_before_it_is_kept_and_leaves_the_model_as_it_is(tmp_path: Path) -> None:
    async with Simulator([], require_key=GOOD) as sim:
        config = provider("anthropic", "anthropic", sim)
        async with place(tmp_path, sim, config, **NO_RETRIES, **NOWHERE) as house, await house.client() as client:
            with pytest.raises(OpenAgentError, match="invalid x-api-key"):
                await ask(client, AuthAdd, name="anthropic", key=WRONG, test=True)
            assert (await ask(client, AuthList)).entries == []
            await ask(client, AuthAdd, name="anthropic", key=GOOD, test=True)
            with pytest.raises(OpenAgentError, match="invalid x-api-key"):
                await ask(client, AuthAdd, name="anthropic", key=WRONG, test=True, replace=True)
            (entry,) = (await ask(client, AuthList)).entries
            assert (entry.name, entry.source) == ("anthropic", "vault")
            assert not (await ask(client, SetupShow)).chosen


async def test_a_provider_of_ones_own_is_tried_kept_used_and_taken_out_again(tmp_path: Path) -> None:
    key = "office-key-0123456789"
    async with (
        Simulator([{"text": "From the office."}], require_key=key) as sim,
        place(tmp_path, sim, "# mine\n", **NOWHERE, **NO_RETRIES) as house,
        await house.client() as client,
    ):
        url, settings = f"{sim.base_url}/v1", house.home / "config.toml"
        for wrong in ({"base_url": "office:8000"}, {"base_url": "http://127.0.0.1:1/v1"}, {"base_url": url}):
            with pytest.raises(OpenAgentError):
                await ask(client, ProvidersAdd, name="office", **wrong)
        assert "office" not in settings.read_text()
        added = await ask(client, ProvidersAdd, name="office", base_url=url, key=key)
        assert added.models
        assert key not in settings.read_text()
        with pytest.raises(OpenAgentError, match="already"):
            await ask(client, ProvidersAdd, name="office", base_url=url)
        assert await ask(client, ProvidersAdd, name="office", base_url=url, replace=True) == added
        await ask(client, SetupUse, provider="office", model=added.models[0])
        said, _ = await turn(client, await session(house, client, ""))
        assert said.reason == "done"
        await ask(client, ProvidersRemove, name="office")
        assert "office" not in settings.read_text()
        assert settings.read_text().startswith("# mine")
        assert (await ask(client, AuthList)).entries == []
        assert (await ask(client, SetupShow)).model == ""


async def test_a_provider_set_up_meanwhile_has_prices_without_a_restart(tmp_path: Path) -> None:
    async with Simulator([]) as sim, place(tmp_path, sim, "", **NOWHERE) as house, await house.client() as client:
        added = await ask(client, ProvidersAdd, name="office", base_url=f"{sim.base_url}/v1")
        model = f"office/{added.models[0]}"
        assert {each.input_usd for each in (await ask(client, ModelsList, provider="office")).models} == {None}
        with (house.home / "config.toml").open("a") as settings:
            settings.write(f'\n[prices."{model}"]\ninput = 3.0\noutput = 15.0\n')
        await ask(client, ConfigSet, key="budget.warn_at", value="70")  # and the file is read again
        priced = {each.name: each.input_usd for each in (await ask(client, ModelsList, provider="office")).models}
        assert priced[model] == 3


async def test_the_tour_lies_ready_with_what_to_say(tmp_path: Path) -> None:
    async with Simulator([]) as sim, place(tmp_path, sim, "", **NOWHERE) as house, await house.client() as client:
        tour = await ask(client, SetupTour)
        assert list(Path(tour.cwd).glob("*.py"))
        assert "scripted" in tour.label
        said, _ = await turn(client, await session(house, client, tour.model), tour.prompt)
        assert said.reason == "done"
