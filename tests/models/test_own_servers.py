"""What is known of models on servers of one's own: told by the server, or configured."""

from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.protocol import events as e
from openagent.protocol.context import ContextShow
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.models import ModelsList

from ..interaction.doing import ask
from .own_server import own_server
from .place import NO_RETRIES, only, place, provider, session, turn

pytestmark = pytest.mark.anyio

AGAIN = {"steps": [{"text": "Hello."}], "loop": True}


def listed(*models: dict[str, Any]) -> dict[str, Any]:
    return {"object": "list", "data": [{"object": "model", **model} for model in models]}


LLAMA_CPP = {
    "/v1/models": listed({"id": "model.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072, "n_vocab": 1}}),
    "/props": {"default_generation_settings": {"n_ctx": 9216}, "total_slots": 1, "modalities": {"vision": True}},
}
NEWER_LLAMA_CPP = {"/v1/models": listed({"id": "smollm2", "owned_by": "llamacpp", "meta": {"n_ctx": 9216}})}
VLLM = {"/v1/models": listed({"id": "model.gguf", "owned_by": "vllm", "max_model_len": 9216})}
OLLAMA = {
    "/v1/models": listed({"id": "qwen3:8b", "owned_by": "library"}, {"id": "gemma:2b", "owned_by": "library"}),
    "/api/ps": {"models": [{"name": "gemma:2b", "context_length": 9216}]},
    "/api/show": {
        "qwen3:8b": {
            "parameters": "temperature                    0.6\nnum_ctx                        9216",
            "model_info": {"qwen3.context_length": 40960},
            "capabilities": ["completion", "tools"],
        },
        "gemma:2b": {"model_info": {"gemma.context_length": 40960}, "capabilities": ["completion"]},
    },
}
LM_STUDIO = {
    "/v1/models": listed({"id": "model.gguf", "owned_by": "organization_owner"}),
    "/api/v0/models": {
        "data": [{"id": "model.gguf", "type": "llm", "max_context_length": 40960, "loaded_context_length": 9216}]
    },
}


def mine(port: int, *more: str) -> str:
    return "\n".join(["[providers.mine]", 'kind = "compatible"', f'base_url = "http://127.0.0.1:{port}/v1"', *more])


@pytest.mark.parametrize(
    ("says", "model"),
    [
        (LLAMA_CPP, "model.gguf"),
        (NEWER_LLAMA_CPP, "smollm2"),
        (VLLM, "model.gguf"),
        (OLLAMA, "qwen3:8b"),
        (OLLAMA, "gemma:2b"),
        (LM_STUDIO, "model.gguf"),
    ],
    ids=["llama.cpp", "newer llama.cpp", "vLLM", "Ollama, set", "Ollama, loaded", "LM Studio"],
)
async def test_a_model_has_the_window_its_server_gives_it(tmp_path: Path, says: dict[str, Any], model: str) -> None:
    async with Simulator(AGAIN) as sim:
        with own_server(sim, says) as port:
            async with place(tmp_path, sim, mine(port), **NO_RETRIES) as house, await house.client() as client:
                one = await session(house, client, f"mine/{model}")
                _, events = await turn(client, one)
                assert only(events, e.UsageUpdated)[-1].usage.context_window == 9216
                assert (await ask(client, ContextShow, session=one)).window == 9216
                entries = (await ask(client, ModelsList, provider="mine")).models
                assert {entry.context_window for entry in entries} == {9216}


async def test_a_model_that_cannot_call_tools_is_not_offered_any(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim:
        with own_server(sim, OLLAMA) as port:
            async with place(tmp_path, sim, mine(port), **NO_RETRIES) as house, await house.client() as client:
                await turn(client, await session(house, client, "mine/qwen3:8b"))
                await turn(client, await session(house, client, "mine/gemma:2b"))
                able, unable = (request.json() for request in sim.requests)
                assert able["tools"]
                assert "tools" not in unable
                notes = {each.name: each.note for each in (await ask(client, ModelsList, provider="mine")).models}
                assert notes == {"mine/qwen3:8b": "", "mine/gemma:2b": "it cannot call tools"}


async def test_what_is_configured_of_a_model_comes_before_what_its_server_says(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim:
        with own_server(sim, VLLM) as port:
            config = mine(
                port,
                '[models."mine/*"]',
                "temperature = 0.7",
                "max_output_tokens = 700",
                '[models."mine/model.gguf"]',
                "temperature = 0.2",
                "context_window = 5000",
            )
            async with place(tmp_path, sim, config, **NO_RETRIES) as house, await house.client() as client:
                one = await session(house, client, "mine/model.gguf")
                _, events = await turn(client, one)
                assert only(events, e.UsageUpdated)[-1].usage.context_window == 5000
                sent = sim.requests[-1].json()
                assert (sent["temperature"], sent["max_tokens"]) == (0.2, 700)
                await turn(client, await session(house, client, "mine/model.gguf", temperature=1.0))
                assert sim.requests[-1].json()["temperature"] == 1.0, "what a session chose for itself counts first"
                (entry,) = (await ask(client, ModelsList, provider="mine")).models
                assert entry.context_window == 5000


async def test_a_provider_written_down_a_moment_ago_can_be_chosen_at_once(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim, place(tmp_path, sim, "") as house, await house.client() as client:
        with pytest.raises(OpenAgentError, match="no provider named 'mine'"):
            await session(house, client, "mine/m")
        with (house.home / "config.toml").open("a") as settings:
            settings.write(f"\n{mine(sim.port)}\n")
        assert (await turn(client, await session(house, client, "mine/m")))[0].reason == "done"


async def test_auto_needs_no_names_where_one_model_answers(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim:
        config = f'model = "auto"\n{provider("anthropic", "anthropic", sim)}'
        async with place(tmp_path, sim, config, ANTHROPIC_API_KEY="k") as house, await house.client() as client:
            _, events = await turn(client, await session(house, client, "auto"))
            (routed,) = only(events, e.ModelRouted)
            assert routed.model in ("anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-4-5")


async def test_a_server_that_says_nothing_of_its_models_answers_all_the_same(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim:
        with own_server(sim, {}) as port:
            async with place(tmp_path, sim, mine(port), **NO_RETRIES) as house, await house.client() as client:
                ended, _ = await turn(client, await session(house, client, "mine/m"))
                assert ended.reason == "done"
