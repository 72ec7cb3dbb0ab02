"""Model requests over our own HTTP/1.1: every framing, every way a connection ends, and what stays with httpx2."""

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from openagent.config.settings import ProviderSettings
from openagent.plugins.provider import CertificateRefused, ConnectionFailed, Provider, ProviderTimeout, RequestRejected
from openagent.providers.build import build_provider
from openagent.providers.framing import Response, read_response
from openagent.providers.http import certificates

from ..servers import patient
from .harness import answer_to, ask, text_of

pytestmark = pytest.mark.anyio

EVENTS = (
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Fine."},"finish_reason":null}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(EVENTS), EVENTS)


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x;x=y\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nTrailer: x\r\n\r\n"


def encoded(name: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-encoding: %s\r\ntransfer-encoding: chunked\r\n\r\n" % name + chunked(body, 40)


ANSWERS = {
    "sized": SIZED,
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n" + chunked(EVENTS, 7),
    "until the end": b"HTTP/1.0 200 OK\n\n" + EVENTS,
    "informed first": b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + SIZED,
    "folded": SIZED.replace(b"\r\n\r\n", b"\r\nX: a\r\n  b\r\n\r\n", 1),
    "gzip": encoded(b"gzip", gzip.compress(EVENTS)),
    "deflate": encoded(b"deflate", zlib.compress(EVENTS)),
    "raw deflate": encoded(b"deflate", zlib.compress(EVENTS, wbits=-15)),
}
Answering = Callable[[int, bytes], bytes | None]
"""From which connection and which request came, to what to write. None: close at once."""


def always(reply: bytes | None) -> Answering:
    return lambda _connection, _request: reply


@asynccontextmanager
async def server(
    answer: Answering, secure: ssl.SSLContext | None = None
) -> AsyncGenerator[tuple[int, list[tuple[int, bytes]]]]:
    seen: list[tuple[int, bytes]] = []
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        number = connections
        while request := await reader.read(1_000_000):
            seen.append((number, request))
            reply = answer(number, request)
            writer.write(reply or b"")
            if reply is None or (reply and b"Content-Length" not in reply):
                break
        writer.close()

    listening = await asyncio.start_server(patient(serve), "127.0.0.1", 0, ssl=secure)
    try:
        yield listening.sockets[0].getsockname()[1], seen
    finally:
        listening.close()


async def with_provider(base_url: str, use: Callable[[Provider], Awaitable[None]]) -> None:
    settings = ProviderSettings(kind="compatible", base_url=base_url, api_key="k", timeout=5)
    provider = build_provider("chat", settings, {})
    try:
        await use(provider)
    finally:
        await provider.close()


async def fine(provider: Provider) -> None:
    assert text_of((await answer_to(provider, ask("chat"))).parts) == "Fine."


@pytest.mark.parametrize("framing", ANSWERS)
async def test_an_answer_is_read_however_it_is_framed(framing: str):
    async with server(always(ANSWERS[framing])) as (port, seen):
        await with_provider(f"http://127.0.0.1:{port}/v1", fine)
    assert seen[0][1].startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % port)


def test_the_same_works_on_uvloop():
    async def two_answers() -> None:
        async with server(always(SIZED)) as (port, seen):

            async def twice(provider: Provider) -> None:
                await fine(provider)
                await fine(provider)

            await with_provider(f"http://localhost:{port}", twice)
            assert [connection for connection, _ in seen] == [1, 1]

    uvloop.run(two_answers())


@given(st.sampled_from(sorted(ANSWERS)), st.lists(st.integers(1, 400), max_size=30))
def test_where_the_network_cuts_an_answer_makes_no_difference(framing: str, cuts: list[int]):
    data, pieces = ANSWERS[framing], list[bytes]()
    for cut in cuts:
        pieces.append(data[:cut])
        data = data[cut:]
    coming = iter([piece for piece in (*pieces, data) if piece])

    async def more() -> bytes:
        return next(coming, b"")

    async def whole() -> tuple[bytes, Response]:
        response = await read_response(more, b"")
        return b"".join([chunk async for chunk in response]), response

    body, response = asyncio.run(whole())
    assert body == EVENTS
    assert response.leaves_connection_usable == (framing != "until the end")


async def test_a_kept_connection_the_server_gave_up_is_replaced_once():
    def answer(connection: int, request: bytes) -> bytes | None:
        return SIZED if len([c for c, _ in seen if c == connection]) == 1 else None

    async with server(answer) as (port, seen):

        async def twice(provider: Provider) -> None:
            await fine(provider)
            await fine(provider)

        await with_provider(f"http://127.0.0.1:{port}", twice)
        assert [connection for connection, _ in seen] == [1, 1, 2]


async def test_a_request_that_closing_the_provider_ends_is_not_sent_again():
    asked_again = asyncio.Event()

    def answer(connection: int, request: bytes) -> bytes:
        if len(seen) == 1:
            return SIZED
        asked_again.set()
        return b""

    async with server(answer) as (port, seen):

        async def closed_within(provider: Provider) -> None:
            await fine(provider)
            second = asyncio.create_task(fine(provider))
            await asked_again.wait()
            await provider.close()
            with pytest.raises(ConnectionFailed):
                await second

        await with_provider(f"http://127.0.0.1:{port}", closed_within)
    assert len(seen) == 2


async def test_a_fresh_connection_closed_without_an_answer_is_not_tried_again():
    async with server(always(None)) as (port, seen):
        with pytest.raises(ConnectionFailed, match="closed the connection"):
            await with_provider(f"http://127.0.0.1:{port}", fine)
    assert len(seen) == 1


@pytest.mark.parametrize(
    "reply",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
        b"HTTP/1.1 200 OK\r\nbroken header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5, 6\r\n\r\n" + EVENTS,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"1" * 20_000,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\ndata",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        encoded(b"gzip", b"this was never compressed"),
    ],
)
async def test_what_is_not_http_is_a_failed_connection(reply: bytes):
    async with server(always(reply)) as (port, _):
        with pytest.raises(ConnectionFailed):
            await with_provider(f"http://127.0.0.1:{port}", fine)


async def test_a_header_of_the_configuration_cannot_change_the_framing():
    async with server(always(SIZED)) as (port, seen):
        for name, value in (("Content-Length", "3"), ("Transfer-Encoding", "chunked"), ("X", "a\r\nY: b")):
            settings = ProviderSettings(
                kind="compatible", base_url=f"http://127.0.0.1:{port}", api_key="k", headers={name: value}
            )
            with pytest.raises(RequestRejected):
                await fine(build_provider("chat", settings, {}))
    assert not seen


@pytest.mark.parametrize("address", ["http://127.0.0.1:70000", "http://127.0.0.1:1", "http://a..b:1"])
async def test_an_address_that_leads_nowhere_is_said_plainly(address: str):
    with pytest.raises(ConnectionFailed, match="Could not connect"):
        await with_provider(address, fine)


async def test_a_path_is_quoted():
    async with server(always(SIZED)) as (port, seen):
        await with_provider(f"http://127.0.0.1:{port}/a b", fine)
    assert seen[0][1].startswith(b"POST /a%20b/chat/completions HTTP/1.1\r\n")


async def test_a_proxy_of_the_environment_is_used_for_hosts_elsewhere_only(monkeypatch: pytest.MonkeyPatch):
    async with server(always(SIZED)) as (port, seen):
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
        await with_provider("http://models.example/v1", fine)
        await with_provider(f"http://127.0.0.1:{port}/v1", fine)
    assert [request.split(b" ")[1] for _, request in seen] == [
        b"http://models.example/v1/chat/completions",
        b"/v1/chat/completions",
    ]


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_secure_server_must_show_a_certificate_we_trust(
    trusted: bool, certificate: Path, monkeypatch: pytest.MonkeyPatch
):
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secure.load_cert_chain(certificate)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    certificates.cache_clear()
    try:
        async with server(always(SIZED), secure) as (port, seen):
            if trusted:
                await with_provider(f"https://localhost:{port}/v1", fine)
                with pytest.raises(CertificateRefused, match="cannot be verified") as refused:
                    await with_provider(f"https://127.0.0.1:{port}/v1", fine)
            else:
                with pytest.raises(CertificateRefused, match="cannot be verified") as refused:
                    await with_provider(f"https://localhost:{port}/v1", fine)
        assert len(seen) == trusted
        assert "SSL_CERT_FILE" in refused.value.info.hint
        assert not refused.value.retryable
    finally:
        certificates.cache_clear()


async def test_a_server_that_falls_silent_within_the_headers_is_given_up():
    async with server(always(b"Content-Length")) as (port, _):
        settings = ProviderSettings(kind="compatible", base_url=f"http://127.0.0.1:{port}", api_key="k", timeout=0.1)
        provider = build_provider("chat", settings, {})
        with pytest.raises(ProviderTimeout, match="sent nothing"):
            await fine(provider)
        await provider.close()
