"""What goes over the wire, byte for byte: names, case, order and values of headers."""

import asyncio
import platform
import re

import pytest

from devtools.simulator import Simulator
from openagent import __version__
from openagent.config.settings import ProviderSettings
from openagent.protocol.errors import OpenAgentError
from openagent.providers.build import build_provider
from openagent.providers.wire import AUTH, WireProfile

from ..servers import patient
from .harness import FORMATS, MODELS, ask, connect, items_of, settings_for

pytestmark = pytest.mark.anyio

OURS = f"OpenAgent/{__version__}"
JSON = ("Content-Type", "application/json")


def credential(wire: str, auth: str) -> tuple[str, str]:
    keys = {"anthropic": ("x-api-key", "test-key"), "gemini": ("x-goog-api-key", "test-key")}
    return keys[wire] if auth == "key" and wire in keys else ("Authorization", "Bearer test-key")


def native(wire: str, auth: str) -> list[tuple[str, str]]:
    version = [("anthropic-version", "2023-06-01")] if wire == "anthropic" else []
    organization = [("OpenAI-Organization", "org-1")] if wire in ("chat", "responses") else []
    accept = ("Accept", "text/event-stream")
    return [credential(wire, auth), *version, *organization, ("User-Agent", OURS), accept, JSON]


def reference(wire: str, auth: str) -> list[tuple[str, str]]:
    if wire == "gemini":
        system = f"{platform.system().lower()}; {platform.machine()}; terminal"
        return [
            ("connection", "keep-alive"),
            ("User-Agent", f"{OURS}/{MODELS[wire]} ({system})"),
            ("x-goog-api-client", f"openagent/{__version__} gl-python/{platform.python_version()}"),
            JSON,
            credential(wire, auth),
            ("accept", "*/*"),
            ("accept-language", "*"),
            ("sec-fetch-mode", "cors"),
            ("accept-encoding", "gzip, deflate"),
        ]
    if wire == "anthropic":
        own = [("anthropic-version", "2023-06-01"), ("anthropic-beta", "messages-2023-12-15")]
    else:
        own = [("OpenAI-Organization", "org-1"), ("OpenAI-Beta", "assistants v2")]
    return [
        credential(wire, auth),
        *own,
        ("User-Agent", "llxprt/1.0"),
        ("Accept", "application/json"),
        ("X-Client-Version", "1.0.0"),
        JSON,
    ]


@pytest.mark.parametrize("auth", ["key", "oauth"])
@pytest.mark.parametrize("profile", ["native", "reference"])
@pytest.mark.parametrize("wire", FORMATS)
async def test_the_head_of_a_request_is_exactly_the_profile(wire: str, profile: str, auth: str):
    settings = {"wire_profile": profile, "auth": auth, "organization": "org-1"}
    async with Simulator([{"text": "x"}]) as sim, connect(wire, sim, **settings) as provider:
        await items_of(provider, ask(wire))
        (record,) = sim.requests
    expected = (native if profile == "native" else reference)(wire, auth)
    lower = profile == "reference" and wire == "gemini"
    host = ("host" if lower else "Host", sim.base_url.removeprefix("http://"))
    length = ("content-length" if lower else "Content-Length", str(record.body_size))
    lines = [f"{name}: {value}" for name, value in [host, *expected, length]]
    assert record.raw_head.split("\r\n\r\n")[0].split("\r\n")[1:] == lines


@pytest.mark.parametrize("wire", FORMATS)
async def test_a_header_without_a_value_is_left_out(wire: str):
    async with Simulator([{"text": "x"}]) as sim, connect(wire, sim, wire_profile="reference") as provider:
        await items_of(provider, ask(wire))
        assert sim.requests[0].header("OpenAI-Organization") is None


@pytest.mark.parametrize("wire", FORMATS)
async def test_headers_from_settings_replace_in_place_or_follow(wire: str):
    headers = {"user-agent": "Mine/1", "X-Extra": "yes"}
    async with Simulator([{"text": "x"}]) as sim, connect(wire, sim, headers=headers) as provider:
        await items_of(provider, ask(wire))
        names = [name for name, _ in sim.requests[0].headers]
        assert sim.requests[0].header("User-Agent") == "Mine/1"
    assert [name.lower() for name in names].count("user-agent") == 1
    assert names.index("user-agent") < names.index("Content-Type") < names.index("X-Extra")


async def test_a_profile_of_ones_own_is_sent_as_it_is_written():
    profile = WireProfile(
        "mine", {"*": [("B-Second", "{model}"), ("a-first", "1"), AUTH, ("uSER-aGENT", "x/{version}")]}
    )
    async with Simulator([{"text": "x"}]) as sim:
        settings = settings_for("chat", sim, wire_profile="mine")
        provider = build_provider("mine", settings, {}, profiles={"mine": profile})
        await items_of(provider, ask("chat"))
        await provider.close()
        assert [name for name, _ in sim.requests[0].headers] == [
            "Host",
            "B-Second",
            "a-first",
            "Authorization",
            "uSER-aGENT",
            "Content-Type",
            "Content-Length",
        ]
        assert sim.requests[0].header("B-Second") == MODELS["chat"]


async def test_an_unknown_profile_names_the_known_ones():
    async with Simulator([{"text": "x"}]) as sim:
        with pytest.raises(OpenAgentError, match="native, reference"):
            build_provider("p", settings_for("chat", sim, wire_profile="nonesuch"), {})


async def test_requests_share_connections():
    opened = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        while not reader.at_eof():
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"Content-Length: (\d+)", head)
            assert length is not None
            await reader.readexactly(int(length[1]))
            body = b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()

    server = await asyncio.start_server(patient(serve), "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    provider = build_provider("counted", ProviderSettings(kind="compatible", base_url=address), {})
    for _ in range(3):
        assert len(await items_of(provider, ask("chat"))) == 2
    await provider.close()
    server.close()
    assert opened == 1
