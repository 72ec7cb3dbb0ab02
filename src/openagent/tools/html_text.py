"""A web page as readable text: headings, lists, links, code and tables in Markdown; no scripts, styles or menus.

`python -m openagent.tools.html_text BASE_URL` turns stdin into it: Python's parser can be kept busy for hours by a page
of a few kilobytes, so the daemon does this in a process that it can kill.
"""

import re
import sys
from html.parser import HTMLParser
from urllib.parse import urljoin

_SKIPPED = frozenset(("script", "style", "noscript", "template", "svg", "iframe", "head", "nav", "button", "select"))
_BLOCK = re.compile(
    "p|div|section|article|main|header|footer|aside|[uod]l|table|tbody|thead|tr|d[td]|form|fieldset|figure|figcaption"
    "|blockquote|details|summary|address|h[1-6r]|li|pre"
)
_MAIN = frozenset(("main", "article"))
_ENOUGH = 200
"""Characters a page's main part must have to stand for the page."""


def html_to_text(html: str, base_url: str = "") -> str:
    page = _Page(base_url)
    page.feed(html)
    page.close()
    return page.text()


class _Page(HTMLParser):
    def __init__(self, base_url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base_url = base_url
        self._pieces: list[str] = []
        self._skipped = ""
        self._skipped_depth = 0
        self._preformatted = 0
        self._newlines = 0
        self._lists: list[int | None] = []
        self._link: tuple[str, int] | None = None
        self._title = ""
        self._in_title = False
        self._main_depth = 0
        self._main_from = -1
        self._main: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = not self._title
        if self._skipped:
            self._skipped_depth += tag == self._skipped
            return
        if tag in _SKIPPED:
            self._skipped, self._skipped_depth = tag, 1
            return
        if _BLOCK.fullmatch(tag):
            self._break(tag)
        if tag in _MAIN:
            if self._main_depth == 0:
                self._main_from = len(self._pieces)
            self._main_depth += 1
        self._open(tag, {name: value or "" for name, value in attrs})

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        match tag:
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._add("#" * int(tag[1]) + " ")
            case "ul":
                self._lists.append(None)
            case "ol":
                self._lists.append(1)
            case "li":
                self._add(self._bullet())
            case "br":
                self._add("\n")
            case "hr":
                self._add("---")
            case "td" | "th":
                self._add("| ")
            case "blockquote":
                self._add("> ")
            case "pre":
                self._add("```\n")
                self._preformatted += 1
            case "code" if not self._preformatted:
                self._add("`")
            case "a":
                self._close_link()
                self._break_now()
                self._link = attributes.get("href", ""), len(self._pieces)
            case "img" if attributes.get("alt"):
                self._add(f"[image: {attributes['alt']}]")
            case _:
                pass

    def _bullet(self) -> str:
        depth = "  " * max(len(self._lists) - 1, 0)
        if self._lists and (number := self._lists[-1]) is not None:
            self._lists[-1] = number + 1
            return f"{depth}{number}. "
        return f"{depth}- "

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._skipped:
            self._skipped_depth -= tag == self._skipped
            if not self._skipped_depth:
                self._skipped = ""
            return
        match tag:
            case "ul" | "ol" if self._lists:
                self._lists.pop()
            case "td" | "th":
                self._add(" ")
            case "pre" if self._preformatted:
                self._preformatted -= 1
                self._add("\n```")
            case "code" if not self._preformatted:
                self._add("`")
            case "a":
                self._close_link()
            case _:
                pass
        if tag in _MAIN and self._main_depth:
            self._main_depth -= 1
            if self._main_depth == 0:
                self._main += self._pieces[self._main_from :]
        if _BLOCK.fullmatch(tag):
            self._break(tag)

    def _close_link(self) -> None:
        if self._link is None:
            return
        (href, since), self._link = self._link, None
        label = " ".join("".join(self._pieces[since:]).split())
        target = urljoin(self._base_url, href) if href else ""
        if label and target.startswith(("http://", "https://")):
            self._pieces[since:] = [f"[{label}]({target})"]

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title += data
        if self._skipped:
            return
        self._add(data if self._preformatted else re.sub(r"\s+", " ", data))

    def _add(self, text: str) -> None:
        if self._newlines and not self._preformatted:
            text = text.lstrip(" ") if text.isspace() else text
        if text:
            self._break_now()
            self._pieces.append(text)

    def _break(self, tag: str) -> None:
        """Before the next text; breaks that meet are one."""
        within = tag in ("li", "tr", "dd") or (tag in ("ul", "ol") and bool(self._lists))
        self._newlines = max(self._newlines, 1 if within else 2)

    def _break_now(self) -> None:
        self._pieces.append("\n" * self._newlines)
        self._newlines = 0

    def text(self) -> str:
        main = _tidied("".join(self._main))
        body = main if len(main) >= _ENOUGH else _tidied("".join(self._pieces))
        title = " ".join(self._title.split())
        return f"# {title}\n\n{body}" if title and not body.startswith("# ") else body


def _tidied(text: str) -> str:
    """Spaces and blank lines as a person would set them, except inside code."""
    fenced = re.split(r"(```\n.*?\n```)", text, flags=re.DOTALL)
    tidy = [part if part.startswith("```\n") else _tidied_prose(part) for part in fenced]
    return "".join(tidy).strip()


def _tidied_prose(text: str) -> str:
    text = re.sub(r"[ \t\xa0]+\n", "\n", text)
    text = re.sub(r"\n[ \t\xa0]+(?![ \t\xa0]*(?:- |\d+\. ))", "\n", text)
    text = re.sub(r"(?<=\S)[ \t\xa0]{2,}", " ", text)
    return re.sub(r"\n{3,}", "\n\n", text)


if __name__ == "__main__":
    page = sys.stdin.buffer.read().decode(errors="replace")
    sys.stdout.buffer.write(html_to_text(page, sys.argv[1]).encode(errors="replace"))
