"""The web app's files as they were built, and the few pages that are there without it."""

import asyncio
import gzip
import hashlib
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from openagent.gateway.rest.problems import problem

BUILT = Path(__file__).parents[1] / "web_dist"
"""Where the web app's build goes: `index.html`, and files that carry a hash in their name below `assets/`."""
_PAGES = Path(__file__).parent / "pages"
_OWN = {
    "/login": "login.html",
    "/-/login.js": "login.js",
    "/device": "device.html",
    "/-/device.js": "device.js",
    "/invitation": "invitation.html",
    "/-/invitation.js": "invitation.js",
    "/password": "password.html",
    "/-/password.js": "password.js",
    "/-/page.css": "page.css",
}
_FOREVER = "public, max-age=31536000, immutable"
_ENCODINGS = {"br": ".br", "gzip": ".gz"}
"""The better one first."""
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}


class _Served(NamedTuple):
    content: bytes
    encoding: str
    media_type: str


class StaticFiles:
    def __init__(self, built: Path = BUILT) -> None:
        self._built = built

    async def respond(self, request: Request) -> Response:
        path = request.url.path
        accepted = request.headers.get("accept-encoding", "")
        served = await asyncio.to_thread(self._find, path, accepted)
        if served is None:
            return problem(404, "not_found", f"There is nothing at {path}.")
        if path.startswith("/assets/"):
            headers = {"Cache-Control": _FOREVER}
        else:
            tag = f'"{hashlib.sha256(served.content).hexdigest()[:32]}"'
            headers = {"Cache-Control": "no-cache", "ETag": tag}
            if request.headers.get("if-none-match") == tag:
                return Response(status_code=304, headers=headers)
        headers["Vary"] = "Accept-Encoding"
        if served.encoding:
            headers["Content-Encoding"] = served.encoding
        return Response(served.content, headers=headers, media_type=served.media_type)

    def _find(self, path: str, accepted: str) -> _Served | None:
        if path in _OWN:
            return _read(_PAGES / _OWN[path], "")
        file = self._inside(path.lstrip("/"))
        if file is not None:
            return _read(file, accepted)
        if "." in path.rpartition("/")[2] or path.startswith(("/assets/", "/api/", "/-/")):
            return None
        # One of the app's own addresses, such as /sessions/ID: the app finds its way by itself.
        index = self._built / "index.html"
        return _read(index, accepted) if index.is_file() else _read(_PAGES / "not_built.html", "")

    def _inside(self, path: str) -> Path | None:
        if not path or "\0" in path:
            return None
        file = (self._built / path).resolve()
        there = file.is_file() or _packed(file, ".gz").is_file()
        return file if there and file.is_relative_to(self._built.resolve()) else None


def _read(file: Path, accepted: str) -> _Served:
    media_type = _TYPES.get(file.suffix, "application/octet-stream")
    names = {each.partition(";")[0].strip() for each in accepted.split(",")}
    for encoding, suffix in _ENCODINGS.items():
        packed = _packed(file, suffix)
        if encoding in names and packed.is_file():
            return _Served(packed.read_bytes(), encoding, media_type)
    if not file.is_file():  # an installed package holds most files packed alone
        return _Served(gzip.decompress(_packed(file, ".gz").read_bytes()), "", media_type)
    return _Served(file.read_bytes(), "", media_type)


def _packed(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)
