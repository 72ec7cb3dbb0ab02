"""What a company's machine says about whom to trust and where packages are: without it nothing can be fetched behind a
proxy that signs with a certificate of its own."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from openagent.jail.toolchains import allowed

_AUTHORITIES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "NPM_CONFIG_CAFILE",
    "npm_config_cafile",
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
    "BUNDLE_SSL_CA_CERT",
    "NIX_SSL_CERT_FILE",
    "HTTPLIB2_CA_CERTS",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
)
"""Each names a file or folder of certificates."""
_SWITCHES = ("UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "NODE_USE_SYSTEM_CA", "DENO_TLS_CA_STORE")
_REGISTRIES = (
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "PIP_INDEX_URL",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "GOPROXY",
)
INHERITED = (*_AUTHORITIES, *_SWITCHES, *_REGISTRIES)
_LARGEST = 8 << 20


class Certificates(NamedTuple):
    env: dict[str, str]
    files: tuple[str, ...]
    """Files and folders that the variables name: to be read at the same place."""


def find_certificates(env: Mapping[str, str], homes: Collection[Path]) -> Certificates:
    named = {name: env[name] for name in _AUTHORITIES if _is_public(env.get(name, ""), homes)}
    switches = {name: env[name] for name in _SWITCHES if name in env}
    registries = {name: env[name] for name in _REGISTRIES if name in env and not _holds_password(env[name])}
    return Certificates({**named, **switches, **registries}, tuple(sorted(set(named.values()))))


def _is_public(path: str, homes: Collection[Path]) -> bool:
    """A folder, or a file that has no key in it: some keep both in one."""
    if not path.startswith("/"):
        return False
    if os.path.isdir(path):
        return allowed(path, homes)
    try:
        with open(path, "rb") as file:
            text = file.read(_LARGEST)
    except OSError:
        return False
    return b"PRIVATE KEY" not in text


def _holds_password(addresses: str) -> bool:
    return any("@" in urlsplit(address).netloc for address in addresses.replace(",", " ").split())
