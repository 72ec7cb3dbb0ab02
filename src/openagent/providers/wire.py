"""Wire profiles: the header set of a request as data, in the order and case it has on the wire.

A profile is a list of `(name, value)` pairs for each wire format. Values are templates: `{key}`, `{organization}`,
`{version}`, `{model}`, `{host}`, `{length}`, `{platform}`, `{arch}`, `{python}`. A header whose placeholder has no
value is left out. The pair `AUTH` stands where the credential goes; its name follows from the format and from how one
logs in. `Host` always comes first: HTTP/1.1 libraries write it there.

`native` is honest about who we are. `reference` is for gateways that expect one documented header set and order.
"""

import platform
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from openagent import __version__

WireFormat = Literal["anthropic", "openai-chat", "openai-responses", "gemini"]
AuthKind = Literal["key", "oauth", "azure-key"]
HeaderTemplate = Sequence[tuple[str, str]]

AUTH = ("@auth", "")


class WireProfile(Struct, frozen=True):
    name: str
    headers: Mapping[str, HeaderTemplate]
    """Wire format to headers; `*` is for formats that are not listed."""

    def template(self, wire_format: WireFormat) -> HeaderTemplate:
        return self.headers.get(wire_format) or self.headers.get("*") or NATIVE.headers[wire_format]


_NATIVE_OPENAI = (
    AUTH,
    ("OpenAI-Organization", "{organization}"),
    ("User-Agent", "OpenAgent/{version}"),
    ("Accept", "text/event-stream"),
    ("Content-Type", "application/json"),
)
NATIVE = WireProfile(
    "native",
    {
        "anthropic": (
            AUTH,
            ("anthropic-version", "2023-06-01"),
            ("User-Agent", "OpenAgent/{version}"),
            ("Accept", "text/event-stream"),
            ("Content-Type", "application/json"),
        ),
        "openai-chat": _NATIVE_OPENAI,
        "openai-responses": _NATIVE_OPENAI,
        "gemini": (
            AUTH,
            ("User-Agent", "OpenAgent/{version}"),
            ("Accept", "text/event-stream"),
            ("Content-Type", "application/json"),
        ),
    },
)

_REFERENCE_OPENAI = (
    AUTH,
    ("OpenAI-Organization", "{organization}"),
    ("OpenAI-Beta", "assistants v2"),
    ("User-Agent", "llxprt/1.0"),
    ("Accept", "application/json"),
    ("X-Client-Version", "1.0.0"),
)
REFERENCE = WireProfile(
    "reference",
    {
        "anthropic": (
            AUTH,
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "messages-2023-12-15"),
            ("User-Agent", "llxprt/1.0"),
            ("Accept", "application/json"),
            ("X-Client-Version", "1.0.0"),
        ),
        "openai-chat": _REFERENCE_OPENAI,
        "openai-responses": _REFERENCE_OPENAI,
        # Names, case and order of the reference client; where it names itself and its SDK, we name ourselves.
        "gemini": (
            ("host", "{host}"),
            ("connection", "keep-alive"),
            ("User-Agent", "OpenAgent/{version}/{model} ({platform}; {arch}; terminal)"),
            ("x-goog-api-client", "openagent/{version} gl-python/{python}"),
            ("Content-Type", "application/json"),
            AUTH,
            ("accept", "*/*"),
            ("accept-language", "*"),
            ("sec-fetch-mode", "cors"),
            ("accept-encoding", "gzip, deflate"),
            ("content-length", "{length}"),
        ),
    },
)

BUILT_IN = {"native": NATIVE, "reference": REFERENCE}

_AUTH_HEADERS: Mapping[tuple[str, AuthKind], tuple[str, str]] = {
    ("anthropic", "key"): ("x-api-key", "{key}"),
    ("gemini", "key"): ("x-goog-api-key", "{key}"),
    ("openai-chat", "azure-key"): ("api-key", "{key}"),
    ("openai-responses", "azure-key"): ("api-key", "{key}"),
}
_BEARER = ("Authorization", "Bearer {key}")


def headers_for(
    profile: WireProfile,
    wire_format: WireFormat,
    *,
    auth: AuthKind,
    key: str,
    host: str,
    length: int | None,
    model: str = "",
    organization: str = "",
    extra: Sequence[tuple[str, str]] = (),
) -> list[tuple[str, str]]:
    """The headers of one request, in order. `extra` replaces a header of the same name in its place, or follows."""
    values = {
        "key": key,
        "organization": organization,
        "version": __version__,
        "model": model,
        "host": host,
        "length": "" if length is None else str(length),
        "platform": platform.system().lower(),
        "arch": platform.machine(),
        "python": platform.python_version(),
    }
    replaced = {name.lower(): (name, value) for name, value in extra}
    headers: list[tuple[str, str]] = []
    for pair in profile.template(wire_format):
        name, template = _AUTH_HEADERS.get((wire_format, auth), _BEARER) if pair == AUTH else pair
        if name.lower() in replaced:
            headers.append(replaced.pop(name.lower()))
        elif (value := _fill(template, values)) is not None:
            headers.append((name, value))
    headers.extend(replaced.values())
    return _framed(headers, host, length)


def _fill(template: str, values: Mapping[str, str]) -> str | None:
    if "{" not in template:
        return template
    filled = template
    for name, value in values.items():
        if f"{{{name}}}" in filled:
            if not value:
                return None
            filled = filled.replace(f"{{{name}}}", value)
    return filled


def _framed(headers: list[tuple[str, str]], host: str, length: int | None) -> list[tuple[str, str]]:
    """Host first, and what HTTP needs to know about the body last, unless the profile placed it."""
    names = {name.lower() for name, _ in headers}
    if "host" not in names:
        headers.insert(0, ("Host", host))
    if length is None:
        return [pair for pair in headers if pair[0].lower() not in ("content-type", "content-length")]
    if "content-type" not in names:
        headers.append(("Content-Type", "application/json"))
    if "content-length" not in names:
        headers.append(("Content-Length", str(length)))
    return headers
