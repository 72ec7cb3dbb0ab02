"""Cut a list of results into pages."""

from collections.abc import Sequence


def page_count(items: int, per_page: int) -> int:
    """How many pages it takes to show all items."""
    return items // per_page


def page(results: Sequence[str], number: int, per_page: int) -> Sequence[str]:
    """The results on one page. The first page is number 1."""
    start = (number - 1) * per_page
    return results[start : start + per_page]
