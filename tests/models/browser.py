"""A person's browser, as far as a login needs one."""

import asyncio
from urllib.request import ProxyHandler, build_opener


async def visit(url: str) -> str:
    """Follows redirects, and returns the page."""

    def get() -> str:
        with build_opener(ProxyHandler({})).open(url, timeout=60) as answer:
            return answer.read().decode()

    return await asyncio.to_thread(get)
