"""Settings and environment to providers: what people have works unasked."""

import re
import tomllib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from devtools.simulator import Simulator
from openagent.config.settings import ProviderKind, ProviderSettings
from openagent.plugins.provider import ModelInfo, ProviderError, RequestRejected
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.locations import FORWARDED_ENV
from openagent.providers.build import build_provider, default_providers, key_variables
from openagent.providers.http import HttpProvider
from openagent.providers.variables import VARIABLES
from openagent.providers.wire import AUTH, WireProfile

from .harness import answer_to, ask, canned, items_of, text_of

pytestmark = pytest.mark.anyio

HELLO: dict[str, Any] = {"steps": [{"text": "Hello."}], "loop": True}


@pytest.fixture
async def sim() -> AsyncGenerator[Simulator]:
    async with Simulator(HELLO) as simulator:
        yield simulator


async def talk(settings: ProviderSettings, env: dict[str, str], model: str, **options: Any) -> None:
    provider = build_provider("mine", settings, env)
    try:
        assert text_of((await answer_to(provider, ask("chat", model=model, **options))).parts) == "Hello."
    finally:
        await provider.close()


def test_without_anything_there_is_the_demo():
    assert list(default_providers({})) == ["demo"]


def test_the_environment_brings_its_providers():
    env = dict.fromkeys(
        ["ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_KEY", "GITHUB_TOKEN"], "k"
    )
    env |= {"AZURE_OPENAI_ENDPOINT": "https://x", "OPENAI_BASE_URL": "http://y/v1", "OLLAMA_HOST": "0.0.0.0"}
    assert list(default_providers(env)) == [
        "anthropic",
        "openai",
        "gemini",
        "azure",
        "compatible",
        "ollama",
        "github",
        "demo",
    ]


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box:8080", "http://box:8080/v1"),
        (":9999", "http://127.0.0.1:9999/v1"),
        ("http://box:8080/", "http://box:8080/v1"),
        ("https://box", "https://box/v1"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
        ("https://box/ollama/v1", "https://box/ollama/v1"),
    ],
)
def test_ollama_host_may_be_written_as_ollama_allows(host: str, url: str):
    assert default_providers({"OLLAMA_HOST": host})["ollama"].base_url == url


@pytest.mark.parametrize(
    ("name", "model", "env", "path", "header"),
    [
        ("anthropic", "m", {"ANTHROPIC_BASE_URL": "@", "ANTHROPIC_API_KEY": "k"}, "/v1/messages", ("x-api-key", "k")),
        (
            "anthropic",
            "m",
            {"ANTHROPIC_BASE_URL": "@/v1/", "ANTHROPIC_AUTH_TOKEN": "t"},
            "/v1/messages",
            ("Authorization", "Bearer t"),
        ),
        (
            "openai",
            "m",
            {"OPENAI_BASE_URL": "@/v1", "OPENAI_API_KEY": "k", "OPENAI_ORG_ID": "o"},
            "/v1/chat/completions",
            ("OpenAI-Organization", "o"),
        ),
        (
            "compatible",
            "m",
            {"OPENAI_BASE_URL": "@/v1", "OPENAI_API_KEY": "k"},
            "/v1/chat/completions",
            ("Authorization", "Bearer k"),
        ),
        ("ollama", "m", {"OLLAMA_HOST": "@"}, "/v1/chat/completions", ("Authorization", None)),
        (
            "azure",
            "d",
            {"AZURE_OPENAI_ENDPOINT": "@", "AZURE_OPENAI_KEY": "k"},
            "/openai/deployments/d/chat/completions?api-version=2024-10-21",
            ("api-key", "k"),
        ),
        (
            "azure",
            "d",
            {"AZURE_OPENAI_ENDPOINT": "@", "AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_API_VERSION": "2025-04-01"},
            "/openai/deployments/d/chat/completions?api-version=2025-04-01",
            ("api-key", "k"),
        ),
        ("compatible", "m", {"OPENAI_API_BASE": "@/v1"}, "/v1/chat/completions", ("Authorization", None)),
        (
            "gemini",
            "gemini-2.5-pro",
            {"GOOGLE_GEMINI_BASE_URL": "@", "GEMINI_API_KEY": "k"},
            "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            ("x-goog-api-key", "k"),
        ),
    ],
)
async def test_what_the_environment_says_is_enough(
    sim: Simulator, name: str, model: str, env: dict[str, str], path: str, header: tuple[str, str | None]
):
    env = {variable: value.replace("@", sim.base_url) for variable, value in env.items()}
    await talk(default_providers(env)[name], env, model)
    assert sim.requests[0].target == path
    assert sim.requests[0].header(header[0]) == header[1]


def test_every_variable_is_passed_on_and_in_the_documentation() -> None:
    passed_on = {variable.name for variable in VARIABLES if variable.read_by == "client"}
    assert passed_on == {name for name in FORWARDED_ENV if not name.startswith("OPENAGENT_")}
    assert set(key_variables()) <= passed_on
    page = (Path(__file__).parents[2] / "docs" / "providers.md").read_text()
    assert [v.name for v in VARIABLES if f"| `{v.name}` |" not in page] == []
    sources = Path(__file__).parents[2] / "src" / "openagent" / "providers"
    read = "".join(file.read_text() for file in sources.glob("*.py"))
    named = set(re.findall(r'env(?:\.get\(|\[)"([A-Z][A-Z_]+)"', read))
    assert named <= passed_on, "whatever is read is listed"


@pytest.mark.parametrize("name", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
async def test_either_name_of_googles_key_works(sim: Simulator, name: str):
    await talk(ProviderSettings(kind="gemini", base_url=sim.base_url), {name: "k"}, "gemini-2.5-pro")
    assert sim.requests[0].target == "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    assert sim.requests[0].header("x-goog-api-key") == "k"


async def test_azure_takes_an_entra_token_a_version_and_the_responses_format(sim: Simulator):
    settings = ProviderSettings(
        kind="azure", base_url=sim.base_url, api_key="t", auth="oauth", api="responses", api_version="preview"
    )
    await talk(settings, {}, "gpt-5")
    assert sim.requests[0].target == "/openai/v1/responses?api-version=preview"
    assert sim.requests[0].header("Authorization") == "Bearer t"


async def test_github_attributes_usage_to_the_organization(sim: Simulator):
    settings = ProviderSettings(kind="github", base_url=sim.base_url, organization="acme")
    await talk(settings, {"GITHUB_TOKEN": "t"}, "openai/gpt-4.1")
    assert sim.requests[0].target == "/orgs/acme/inference/chat/completions"
    assert sim.requests[0].header("X-GitHub-Api-Version") == "2022-11-28"
    assert sim.requests[0].header("OpenAI-Organization") is None


def test_openai_itself_speaks_responses_unless_told_otherwise():
    speaks: dict[str | None, Any] = {}
    for api in (None, "chat", "responses"):
        settings = msgspec.convert({"kind": "openai", "api": api}, ProviderSettings)
        provider = build_provider("openai", settings, {"OPENAI_API_KEY": "k"})
        assert isinstance(provider, HttpProvider)
        speaks[api] = provider.wire_format
    assert speaks == {None: "openai-responses", "chat": "openai-chat", "responses": "openai-responses"}


async def test_the_environments_key_goes_to_the_environments_server_only(sim: Simulator):
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://elsewhere/v1"}
    await talk(ProviderSettings(kind="compatible", base_url=sim.base_url), env, "m")
    assert sim.requests[0].header("Authorization") is None


async def test_a_credential_that_is_asked_for_may_change_between_requests(sim: Simulator):
    tokens = iter(["one", "two"])

    async def token() -> str:
        return next(tokens)

    settings = ProviderSettings(kind="anthropic", base_url=sim.base_url, auth="oauth")
    provider = build_provider("mine", settings, {}, credential=token)
    for _ in range(2):
        await items_of(provider, ask("anthropic"))
    await provider.close()
    assert [record.header("Authorization") for record in sim.requests] == ["Bearer one", "Bearer two"]


def test_secrets_are_in_no_repr():
    settings = ProviderSettings(kind="anthropic", api_key="very-secret", headers={"X-Token": "very-secret"})
    assert "very-secret" not in repr(settings)
    assert "very-secret" not in repr(build_provider("mine", settings, {}))


@pytest.mark.parametrize("address", ["localhost:8080", "ftp://x", "http://", "https://x?y=1"])
def test_an_address_that_is_none_is_refused_by_name(address: str):
    with pytest.raises(RequestRejected, match="mine"):
        build_provider("mine", ProviderSettings(kind="compatible", base_url=address), {})


def test_a_compatible_provider_needs_an_address():
    with pytest.raises(OpenAgentError, match=r"Set base_url in \[providers.mine\], or OPENAI_BASE_URL"):
        build_provider("mine", ProviderSettings(kind="compatible"), {})


async def test_github_lists_its_catalogue():
    catalogue = '[{"id": "openai/gpt-4.1", "limits": {"max_input_tokens": 9, "max_output_tokens": 8}}, {"id": "x/y"}]'
    async with canned(catalogue) as address:
        provider = build_provider("mine", ProviderSettings(kind="github", base_url=address, api_key="t"), {})
        listed = await provider.models()
        await provider.close()
    assert listed == [ModelInfo("openai/gpt-4.1", 9, 8), ModelInfo("x/y")]


@pytest.mark.parametrize("kind", ["anthropic", "openai", "gemini", "github", "compatible"])
@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [
        ("200 OK", "<html>Sign in</html>", "does not list its models as its format promises"),
        ("404 Not Found", "", "answered 404"),
        ("302 Found", "", "points to https://elsewhere/"),
    ],
)
async def test_a_list_of_models_that_is_none_is_said_plainly(
    kind: ProviderKind, status: str, body: str, complaint: str
):
    async with canned(body, status=status, headers="Location: https://elsewhere/\r\n") as address:
        provider = build_provider("mine", ProviderSettings(kind=kind, base_url=address, api_key="t"), {})
        with pytest.raises(ProviderError, match=complaint) as caught:
            await provider.models()
        await provider.close()
    assert caught.value.info.message.startswith("mine")
    assert caught.value.info.hint


def test_a_wire_profile_can_be_written_in_toml():
    written = tomllib.loads("""
        name = "mine"
        headers."*" = [["X-First", "1"], ["@auth", ""]]
    """)
    profile = msgspec.convert(written, WireProfile)
    assert profile.template("gemini") == [("X-First", "1"), AUTH]
