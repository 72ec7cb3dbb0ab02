"""Pages lead to pages, and to places in them, that are there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .pages import PAGES

_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(rf"{_BLOCK.pattern}|`[^`\n]+`(?!\])", re.MULTILINE | re.DOTALL)


def places(page: Path) -> set[str]:
    """Headings as addresses, the way they are made of them where Markdown is shown."""
    headings = re.findall(r"^#+ (.*)$", _BLOCK.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def lost(page: Path) -> Iterator[str]:
    for file, place in _LINK.findall(_CODE.sub("", page.read_text())):
        target = page.parent / file if file else page
        if not target.exists() or (place and target.suffix == ".md" and place not in places(target)):
            yield f"{file}#{place}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert list(lost(page)) == []


def test_every_test_that_the_page_on_safety_names_is_there() -> None:
    (page,) = (page for page in PAGES if page.name == "safety.md")
    named = set(re.findall(r"`(test_\w+)`", page.read_text()))
    tried = (page.parents[1] / "tests/interaction/test_attacker.py").read_text()
    assert {name for name in named if f"def {name}(" not in tried} == set()
