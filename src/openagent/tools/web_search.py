"""web_search: only offered where a search service is configured."""

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Struct

from openagent.plugins.tool import FunctionTool, ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display
from openagent.protocol.errors import OpenAgentError

MAX_RESULTS = 20
TIMEOUT = 20.0
_MAX_EXCERPT = 300


class SearchResult(Struct, frozen=True):
    title: str
    url: str
    excerpt: str = ""


class _Hit(Struct, frozen=True):
    title: str
    url: str
    description: str | None = None
    content: str | None = None


class _Hits(Struct, frozen=True):
    results: list[_Hit] = []


class _Answer(Struct, frozen=True):
    """Brave's results stand under `web`."""

    web: _Hits | None = None
    results: list[_Hit] = []


class SearchBackend(Protocol):
    async def search(self, query: str, count: int) -> Sequence[SearchResult]:
        """Raises OpenAgentError."""
        ...


class JsonSearch:
    """A service that answers a GET with JSON, in Brave's way or in SearXNG's."""

    def __init__(self, kind: Literal["brave", "searxng"], base_url: str = "", api_key: str = "") -> None:
        if kind == "searxng" and not base_url:
            raise OpenAgentError(
                "config_error", "SearXNG has no usual address.", hint="Set tools.search.base_url to yours."
            )
        self._kind = kind
        self._base_url = (base_url or "https://api.search.brave.com").rstrip("/")
        self._api_key = api_key

    def __repr__(self) -> str:
        return f"JsonSearch({self._kind!r}, {self._base_url!r})"

    async def search(self, query: str, count: int) -> Sequence[SearchResult]:
        answer = await self._ask(query, count)
        found = answer.web.results if answer.web is not None else answer.results
        return [SearchResult(hit.title, hit.url, hit.description or hit.content or "") for hit in found[:count]]

    async def _ask(self, query: str, count: int) -> "_Answer":
        import httpx2

        if self._kind == "brave":
            path, parameters = "/res/v1/web/search", {"q": query, "count": str(count)}
            headers = {"X-Subscription-Token": self._api_key}
        else:
            path, parameters = "/search", {"q": query, "format": "json"}
            headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        try:
            async with httpx2.AsyncClient(trust_env=False, timeout=TIMEOUT) as client:
                response = await client.get(self._base_url + path, params=parameters, headers=headers)
            if response.status_code != 200:
                raise OpenAgentError(
                    "tool_error",
                    f"The search service answered with HTTP {response.status_code}.",
                    hint="Check tools.search in the configuration." if response.status_code in (401, 403) else "",
                )
            return msgspec.json.decode(response.content, type=_Answer)
        except (httpx2.HTTPError, msgspec.MsgspecError) as problem:
            raise OpenAgentError(
                "tool_error", f"The search service did not give a usable answer: {type(problem).__name__}."
            ) from None


def web_search_tool(backend: SearchBackend) -> FunctionTool:
    @tool(
        effect="network",
        kind="fetch",
        words=("search the web for", "searching the web for", "searched the web for"),
        summary="query",
        known_as=("WebSearch",),
    )
    async def web_search(context: ToolContext, query: str, count: Annotated[int, "At most 20."] = 8) -> ToolOutcome:
        """Search the web. Returns titles, addresses and excerpts."""
        found = await backend.search(query, min(max(count, 1), MAX_RESULTS))
        text = "\n\n".join(
            f"{number}. {result.title}\n{result.url}\n{result.excerpt[:_MAX_EXCERPT]}".rstrip()
            for number, result in enumerate(found, 1)
        )
        return ToolOutcome(text or "Nothing was found.", display=Display(summary=f"{len(found)} results"))

    return web_search
