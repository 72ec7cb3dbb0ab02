"""Vertex AI: a service account's key becomes a token, once, and the token opens the door."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from devtools.simulator import Simulator
from openagent.config.settings import ProviderSettings
from openagent.plugins.provider import AuthenticationFailed, ConnectionFailed
from openagent.providers.build import build_provider, default_providers

from ..servers import patient
from .harness import ask, items_of

pytestmark = pytest.mark.anyio


class TokenServer:
    """Google's token endpoint: remembers the claims it was shown."""

    def __init__(self, public_key: rsa.RSAPublicKey) -> None:
        self.public_key = public_key
        self.claims: list[dict[str, Any]] = []
        self.refuse = False
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        form = parse_qs((await reader.readexactly(length)).decode())
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        signed, _, signature = form["assertion"][0].rpartition(".")
        self.public_key.verify(decode(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        header, claims = (json.loads(decode(part)) for part in signed.split("."))
        assert header == {"alg": "RS256", "typ": "JWT", "kid": "kid-1"}
        self.claims.append(claims)
        status, answer = "200 OK", {"access_token": f"token-{len(self.claims)}", "expires_in": 3600}
        if self.refuse:
            status, answer = "400 Bad Request", {"error": "invalid_grant"}
        body = json.dumps(answer).encode()
        writer.write(f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()


def decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@pytest.fixture(scope="module")
def private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
async def google(private_key: rsa.RSAPrivateKey) -> AsyncGenerator[TokenServer]:
    google = TokenServer(private_key.public_key())
    server = await asyncio.start_server(patient(google.serve), "127.0.0.1", 0)
    google.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/token"
    yield google
    server.close()


@pytest.fixture
async def sim() -> AsyncGenerator[Simulator]:
    async with Simulator({"steps": [{"text": "Hello."}], "loop": True}) as simulator:
        yield simulator


@pytest.fixture
def key_file(tmp_path: Path, private_key: rsa.RSAPrivateKey, google: TokenServer) -> Path:
    pem = private_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    content = {
        "type": "service_account",
        "project_id": "my-project",
        "private_key_id": "kid-1",
        "private_key": pem.decode(),
        "client_email": "bot@example.com",
        "token_uri": google.url,
    }
    path = tmp_path / "key.json"
    path.write_text(json.dumps(content))
    return path


async def test_one_token_serves_many_requests(sim: Simulator, google: TokenServer, key_file: Path):
    env = {"GOOGLE_APPLICATION_CREDENTIALS": str(key_file), "GOOGLE_CLOUD_LOCATION": "us-central1"}
    assert list(default_providers(env)) == ["gemini", "demo"]
    provider = build_provider("gemini", ProviderSettings(kind="gemini", base_url=sim.base_url), env)
    await asyncio.gather(*(items_of(provider, ask("gemini")) for _ in range(3)))
    await provider.close()
    (claims,) = google.claims
    assert claims["iss"] == "bot@example.com"
    assert claims["aud"] == google.url
    assert claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"
    assert claims["exp"] - claims["iat"] == 3600
    assert claims["iat"] == pytest.approx(time.time(), abs=30)
    assert {record.header("Authorization") for record in sim.requests} == {"Bearer token-1"}
    assert sim.requests[0].target == (
        "/v1/projects/my-project/locations/us-central1/publishers/google/models/gemini-3-pro-preview"
        ":streamGenerateContent?alt=sse"
    )


async def test_a_key_comes_before_a_service_account(sim: Simulator, google: TokenServer, key_file: Path):
    env = {"GOOGLE_APPLICATION_CREDENTIALS": str(key_file), "GEMINI_API_KEY": "k"}
    provider = build_provider("gemini", ProviderSettings(kind="gemini", base_url=sim.base_url), env)
    await items_of(provider, ask("gemini"))
    await provider.close()
    assert not google.claims
    assert sim.requests[0].header("x-goog-api-key") == "k"


async def test_a_refused_account_says_so_without_showing_its_key(sim: Simulator, google: TokenServer, key_file: Path):
    google.refuse = True
    settings = ProviderSettings(kind="gemini", base_url=sim.base_url, credentials_file=str(key_file))
    provider = build_provider("vertex", settings, {})
    with pytest.raises(AuthenticationFailed, match="Google refused the service account of vertex") as caught:
        await items_of(provider, ask("gemini"))
    await provider.close()
    assert "PRIVATE KEY" not in str(caught.value)
    assert not sim.requests


async def test_nobody_at_the_token_endpoint_may_be_tried_again(sim: Simulator, key_file: Path):
    content = json.loads(key_file.read_text())
    key_file.write_text(json.dumps({**content, "token_uri": "http://127.0.0.1:9/token"}))
    settings = ProviderSettings(kind="gemini", base_url=sim.base_url, credentials_file=str(key_file))
    provider = build_provider("vertex", settings, {})
    with pytest.raises(ConnectionFailed, match="No access token for vertex"):
        await items_of(provider, ask("gemini"))
    await provider.close()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot be read"),
        ("not json", "are not a key file"),
        ('{"type": "authorized_user"}', "'authorized_user', not a service account's"),
        (
            '{"type": "service_account", "project_id": "p", "client_email": "a@b", "private_key": "nonsense"}',
            "The private key in",
        ),
    ],
)
async def test_a_file_that_is_no_key_is_named(sim: Simulator, tmp_path: Path, content: str | None, complaint: str):
    path = tmp_path / "key.json"
    if content is not None:
        path.write_text(content)
    settings = ProviderSettings(kind="gemini", base_url=sim.base_url, credentials_file=str(path))
    provider = build_provider("vertex", settings, {})
    with pytest.raises(AuthenticationFailed, match=complaint) as caught:
        await items_of(provider, ask("gemini"))
    await provider.close()
    assert str(path) in caught.value.info.message
