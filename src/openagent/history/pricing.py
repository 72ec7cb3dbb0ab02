"""What a request to a model cost on its day."""

from collections.abc import Callable

from openagent.history.reading import Request
from openagent.telemetry.prices import PICO, PriceBook


def pricer(prices: PriceBook) -> Callable[[Request], float | None]:
    """By the list of prices, which knows since when each holds. What the other agent itself reckoned counts where no
    price is known, or where its tokens are rounded."""

    def cost(request: Request) -> float | None:
        if request.by_them and request.cost_usd is not None:
            return request.cost_usd
        price = prices.price_at(request.model, request.at)
        if price is None:
            return request.cost_usd
        long, searches = request.long_cache_tokens, request.searches
        return price.cost(request.usage, long_cache_tokens=long, searches=searches) / PICO

    return cost
