import unittest

from pages import page, page_count


class PageCountTest(unittest.TestCase):
    def test_full_pages(self) -> None:
        count = page_count(items=20, per_page=10)
        assert count == 2, f"20 items fill 2 pages, got {count}"

    def test_a_last_page_that_is_not_full(self) -> None:
        count = page_count(items=21, per_page=10)
        assert count == 3, f"21 items need 3 pages, got {count}"

    def test_less_than_a_page(self) -> None:
        count = page_count(items=4, per_page=10)
        assert count == 1, f"4 items need 1 page, got {count}"

    def test_nothing_needs_no_page(self) -> None:
        count = page_count(items=0, per_page=10)
        assert count == 0, f"0 items need 0 pages, got {count}"


class PageTest(unittest.TestCase):
    def test_the_last_page_holds_the_rest(self) -> None:
        assert page(["a", "b", "c"], number=2, per_page=2) == ["c"]


if __name__ == "__main__":
    unittest.main()
