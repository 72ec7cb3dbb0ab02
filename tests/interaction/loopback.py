"""Servers on loopback that go by made-up names in a jail: plain ones, and the registries that real programs ask."""

import asyncio
import base64
import datetime
import hashlib
import io
import ipaddress
import json
import re
import ssl
import subprocess
import tarfile
import zipfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NAMES = ("far.test", "other.test", "pypi.test", "npm.test", "git.test")
JAIL_NAMES = "[jail]\nnames = { " + ", ".join(f'"{name}" = "127.0.0.1"' for name in NAMES) + " }\n"


class Served:
    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[str] = []
        """First lines, in the order in which they came."""
        self.received: list[int] = []
        """How many bytes came with those that had some."""
        self.files: dict[str, bytes] = {}


@asynccontextmanager
async def web_server(
    body: bytes = b"hello from outside\n", tls: ssl.SSLContext | None = None
) -> AsyncGenerator[Served]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            first = head.partition(b"\r\n")[0].decode()
            served.requests.append(first)
            if length := re.search(rb"content-length: (\d+)", head, re.IGNORECASE):
                served.received.append(len(await reader.readexactly(int(length[1]))))
            path = first.split()[1].partition("?")[0]
            found = served.files.get(path) if served.files else body
            status, sent = ("200 OK", found) if found is not None else ("404 Not Found", b"")
            kind = "text/html" if path.endswith("/") else "application/json" if sent[:1] == b"{" else "text/plain"
            writer.write(
                f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {kind}\r\n"
                f"Content-Length: {len(sent)}\r\n\r\n".encode()
                + sent
            )
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    served = Served(server.sockets[0].getsockname()[1])
    try:
        yield served
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def registries(folder: Path) -> AsyncGenerator[tuple[Served, Path]]:
    """One server over TLS for all names, with a Python package, a Node package and a git repository, all called `demo`;
    and the certificate to trust."""
    tls, certificate = _certified(folder)
    async with web_server(tls=tls) as served:
        served.files = {
            **_python_package(),
            **_node_package(f"https://npm.test:{served.port}"),
            **_repository(folder),
            "/x": b"hello from outside\n",
        }
        yield served, certificate


def _certified(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """What a server shows, and what signed it."""
    own, signer = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([*map(x509.DNSName, NAMES), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signs = x509.BasicConstraints(ca=True, path_length=None)
    root, shown = folder / "certificate.crt", folder.parent / "shown.pem"
    root.write_bytes(_signed("signer", signer, signer, signs))
    plain = own.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shown.write_bytes(_signed("server", own, signer, names) + plain)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown)
    return context, root


def _signed(
    name: str, own: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType
) -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    called, by = (x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, each)]) for each in (name, "signer"))
    return (
        x509.CertificateBuilder(by, called, own.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(extension, critical=False)
        .sign(signer, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )


def _python_package() -> Mapping[str, bytes]:
    wheel, name = io.BytesIO(), "demo-1.0-py3-none-any.whl"
    files = {
        "demo.py": "GREETING = 'hello from a package'\n",
        "demo-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
        "demo-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, "demo-1.0.dist-info/RECORD"))
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, "demo-1.0.dist-info/RECORD": record}.items():
            archive.writestr(path, text)
    digest = hashlib.sha256(wheel.getvalue()).hexdigest()
    page = f'<!DOCTYPE html><html><body><a href="/files/{name}#sha256={digest}">{name}</a></body></html>'
    return {"/simple/demo/": page.encode(), f"/files/{name}": wheel.getvalue()}


_SERVER = """#!/usr/bin/env node
const lines = require('readline').createInterface({input: process.stdin});
lines.on('line', (line) => {
  const {id, method, params} = JSON.parse(line);
  const answers = {
    'initialize': () => ({protocolVersion: params.protocolVersion, capabilities: {tools: {}},
                          serverInfo: {name: 'demo', version: '1.0'}}),
    'tools/list': () => ({tools: [{name: 'greet', description: 'Greets.', inputSchema: {type: 'object'}}]}),
    'tools/call': () => ({content: [{type: 'text', text: 'hello from a server'}]}),
    'ping': () => ({}),
  };
  if (id === undefined) return;
  const result = answers[method] ? {result: answers[method]()} : {error: {code: -32601, message: 'no such method'}};
  console.log(JSON.stringify({jsonrpc: '2.0', id, ...result}));
});
"""


def _node_package(registry: str) -> Mapping[str, bytes]:
    manifest = {"name": "demo", "version": "1.0.0", "bin": {"demo": "server.js"}}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in (("package.json", json.dumps(manifest)), ("server.js", _SERVER)):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(text.encode()), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    digest = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
    dist = {"tarball": f"{registry}/demo/-/demo-1.0.0.tgz", "integrity": f"sha512-{digest}"}
    about = {"name": "demo", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {**manifest, "dist": dist}}}
    return {"/demo": json.dumps(about).encode(), "/demo/-/demo-1.0.0.tgz": packed.getvalue()}


def _repository(folder: Path) -> Mapping[str, bytes]:
    """As plain files, which git can clone, too."""
    work, bare = folder.parent / "demo", folder.parent / "demo.git"
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main", "-C", str(work))
    work.mkdir()
    (work / "greeting").write_text("hello from a repository\n")
    for step in (["init", "-q"], ["add", "."], ["commit", "-qm", "greet"], ["clone", "-q", "--bare", ".", str(bare)]):
        subprocess.run([*git, *step], check=True, capture_output=True)
    subprocess.run(["git", "-C", str(bare), "update-server-info"], check=True)
    return {f"/demo.git/{file.relative_to(bare)}": file.read_bytes() for file in bare.rglob("*") if file.is_file()}
