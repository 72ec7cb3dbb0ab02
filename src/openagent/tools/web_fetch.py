"""web_fetch"""

import asyncio
import re
import ssl
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple
from urllib.parse import urljoin

from openagent.plugins.jail import NeverReached, reach_anything
from openagent.plugins.tool import FunctionTool, ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display
from openagent.protocol.errors import OpenAgentError
from openagent.tools.child import run_child
from openagent.tools.scratch import shortened
from openagent.tools.web_address import Guard, Resolve, resolve_host

if TYPE_CHECKING:
    import httpx2

MAX_BODY = 5 * 1024 * 1024
MAX_REDIRECTS = 5
TIMEOUT = 30.0
LAYOUT_TIMEOUT = 10.0
_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)
_TEXTUAL = re.compile(r"text/|application/(?:.*\+)?(?:json|xml|javascript|yaml|toml|x-sh|x-ndjson)|^$")
_HEADERS = {"User-Agent": "OpenAgent", "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5"}


def web_fetch_tool(
    *,
    reachable: Sequence[str] = (),
    resolve: Resolve = resolve_host,
    names: Mapping[str, str] | None = None,
    never: NeverReached = reach_anything,
) -> FunctionTool:
    """`reachable` are networks that may be fetched from although they are not public, `names` such hosts."""
    guard = Guard(reachable, resolve, names, never)

    @tool(
        effect="network",
        kind="fetch",
        words=("fetch", "fetching", "fetched"),
        summary="url",
        urls=("url",),
        known_as=("WebFetch",),
    )
    async def web_fetch(
        context: ToolContext, url: Annotated[str, "http or https."], raw: Annotated[bool, "HTML as it is."] = False
    ) -> ToolOutcome:
        """Fetch a web page as readable text."""
        fetched = await _fetch(guard, url)
        if fetched.moved_to:
            return ToolOutcome(f"{fetched.url} redirects to another host. To follow it, fetch {fetched.moved_to}")
        if not _TEXTUAL.match(fetched.media_type):
            return ToolOutcome(f"{fetched.url} is {fetched.media_type}, not text.", is_error=True)
        text = fetched.body.decode(_codec(fetched), errors="replace")
        if "html" in fetched.media_type and not raw:
            text = await _readable(text, fetched.url)
        note = f"\n[only the first {MAX_BODY} bytes]" if fetched.cut else ""
        status = f"[HTTP {fetched.status}]\n" if fetched.status >= 400 else ""
        display = Display(url=fetched.url, status=fetched.status, summary=f"{len(fetched.body)} bytes")
        return ToolOutcome(
            shortened(context, status + text + note) or "The page is empty.",
            is_error=fetched.status >= 400,
            display=display,
        )

    return web_fetch


class _Fetched(NamedTuple):
    url: str
    status: int
    media_type: str
    charset: str
    body: bytes
    cut: bool = False
    moved_to: str = ""


async def _fetch(guard: Guard, url: str) -> _Fetched:
    import httpx2

    try:
        async with asyncio.timeout(TIMEOUT):
            return await _follow(guard, url)
    except TimeoutError:
        raise OpenAgentError("tool_error", f"{url} did not answer within {TIMEOUT:g} s.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError) as problem:
        raise OpenAgentError(
            "tool_error", f"{url} could not be fetched: {problem or type(problem).__name__}."
        ) from None


async def _follow(guard: Guard, url: str) -> _Fetched:
    import httpx2

    first_host = ""
    async with httpx2.AsyncClient(verify=await _certificates(), trust_env=False, timeout=TIMEOUT) as client:
        for _ in range(MAX_REDIRECTS + 1):
            address = _parsed(url)
            connect_to = await guard.address_of(
                address.host, address.port or (443 if address.scheme == "https" else 80)
            )
            port = "" if address.port in (None, 80, 443) else f":{address.port}"
            host = address.host.removeprefix("www.") + port
            if host != (first_host := first_host or host):
                return _Fetched(url, 0, "", "", b"", moved_to=url)
            fetched = await _request(client, address, connect_to)
            if not fetched.moved_to:
                return fetched
            url = urljoin(url, fetched.moved_to)
    raise OpenAgentError("tool_error", f"{url} was reached after more than {MAX_REDIRECTS} redirects.")


def _parsed(url: str) -> "httpx2.URL":
    import httpx2

    address = httpx2.URL(url)
    if address.scheme not in ("http", "https") or not address.host:
        raise OpenAgentError("tool_error", f"{url} is no http or https address.")
    if address.userinfo:
        raise OpenAgentError("tool_error", "An address with a user name or password in it is not fetched.")
    return address


async def _request(client: "httpx2.AsyncClient", address: "httpx2.URL", connect_to: str) -> _Fetched:
    """The connection goes to the address that was checked, whatever the name stands for by now."""
    request = client.build_request(
        "GET",
        address.copy_with(host=connect_to),
        headers={**_HEADERS, "Host": address.netloc.decode("ascii")},
        extensions={"sni_hostname": address.raw_host.decode("ascii")},
    )
    response = await client.send(request, stream=True)
    try:
        if response.is_redirect:
            return _Fetched(str(address), response.status_code, "", "", b"", moved_to=response.headers["location"])
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BODY:
                break
    finally:
        await response.aclose()
    return _Fetched(
        url=str(address),
        status=response.status_code,
        media_type=response.headers.get("content-type", "").split(";")[0].strip().lower(),
        charset=response.charset_encoding or "",
        body=bytes(body[:MAX_BODY]),
        cut=len(body) > MAX_BODY,
    )


async def _readable(html: str, url: str) -> str:
    try:
        result = await run_child(
            "openagent.tools.html_text", url, html.encode(errors="replace"), timeout=LAYOUT_TIMEOUT
        )
    except TimeoutError:
        return f"[the page could not be made readable; as it is:]\n{html}"
    return result.output.decode(errors="replace") if not result.complaint else html


def _codec(fetched: _Fetched) -> str:
    declared = _CHARSET.search(fetched.body[:4096])
    for name in (fetched.charset, declared[1].decode("ascii") if declared else "", "utf-8"):
        try:
            "".encode(name)
        except LookupError:
            continue
        if name:
            return name
    return "utf-8"


_certificate_store: list[ssl.SSLContext] = []


async def _certificates() -> ssl.SSLContext:
    """Loading them takes long enough to be done once, and aside."""
    if not _certificate_store:
        _certificate_store.append(await asyncio.to_thread(ssl.create_default_context))
    return _certificate_store[0]
