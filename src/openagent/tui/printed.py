"""Markdown printed to a plain terminal as it comes: each line once, in the sixteen colours that are its own."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from time import monotonic

from markdown_it.tree import SyntaxTreeNode
from textual.content import Content
from textual.style import Style

from openagent.tui.markdown import Line, parsed, pieces

_CODES = {
    "bold": "1",
    "italic": "3",
    "underline": "4",
    "strike": "9",
    "$primary": "36",
    "$secondary": "35",
    "$success": "32",
    "$warning": "33",
    "$error": "31",
    "$foreground-muted": "2",
    "$gutter": "2",
    "$panel": "2",
}
"""Legible on dark and on light ground. Grounds are left as they are."""
_ENDED_BY_A_BLANK = ("paragraph", "heading", "hr", "table")
_INLINE_CODE = "$foreground on $panel"
_MARGINS = 8
_SHARE = 4
"""A drawing is followed by a pause of that many times its length."""
_LINKING = ("kitty", "foot", "alacritty", "ghostty", "wezterm", "contour")
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "rio", "Hyper", "Tabby")
_LINKING_VTE = 5000


class Printed:
    def __init__(self, width: int, env: Mapping[str, str]) -> None:
        self._width = width
        self._links = knows_links(env)
        self._text = ""
        """What is not printed whole yet: the block that grows."""
        self._shown = 0
        """Pieces of it that are printed."""
        self._anything = False
        self._next = 0.0

    def feed(self, text: str) -> str:
        """What can be printed now and will stay as it is."""
        self._text += text
        began = monotonic()
        if "\n" not in text or began < self._next:
            return ""
        printed = self._take(self._text.rfind("\n") + 1, ended=False)
        self._next = began + _SHARE * (monotonic() - began)
        return printed

    def flush(self) -> str:
        """The rest: the text has ended, or something else is printed in between."""
        return self._take(len(self._text), ended=True)

    def _take(self, end: int, *, ended: bool) -> str:
        text, lines = self._text[:end], list[Line]()
        blocks = parsed(text)
        for place, block in enumerate(blocks):
            parts = pieces(block, self._room(block))
            grows = place == len(blocks) - 1 and not ended and not _is_over(block, text)
            whole = len(parts) - (grows and not (block.type == "fence" and block.content.strip()))
            if self._shown == 0 and self._anything and whole:
                lines.append(Line(Content("")))
            lines += [line for part in parts[self._shown : whole] for line in part]
            self._shown = max(whole, self._shown) if grows else 0
            self._anything = self._anything or bool(lines)
        if ended or (blocks and _is_over(blocks[-1], text)):
            self._text = self._text[end:]
        elif blocks:
            begin = (blocks[-1].map or (0, 0))[0]
            self._text = "".join(text.splitlines(keepends=True)[begin:]) + self._text[end:]
        return "".join(f"{self._painted(line.content)}\n" for line in lines)

    def _room(self, block: SyntaxTreeNode) -> int:
        """Code is broken by the terminal itself, which copies it as the line it is."""
        if block.type not in ("fence", "code_block"):
            return self._width
        return _MARGINS + 2 * max(len(line.expandtabs()) for line in block.content.split("\n"))

    def _painted(self, content: Content) -> str:
        content = content.rstrip()
        spans = [(span.start, span.end, *self._code(span.style)) for span in content.spans]
        edges = sorted({0, len(content), *(min(edge, len(content)) for span in spans for edge in span[:2])})
        printed: list[str] = []
        for begin, end in pairwise(edges):
            covering = [span for span in spans if span[0] <= begin and span[1] >= end]
            codes = ";".join(_one_each(code for span in covering for code in span[2]))
            text = content.plain[begin:end]
            text = f"\x1b[{codes}m{text}\x1b[0m" if codes else text
            link = next((span[3] for span in covering if span[3]), "")
            if link and self._links:
                text = f"\x1b]8;;{link}\x1b\\{text}\x1b]8;;\x1b\\"
            printed.append(text)
            if link and not self._links and not _goes_on(spans, link, end) and link not in content.plain:
                printed.append(f" \x1b[2m({link})\x1b[0m")
        return "".join(printed)

    @staticmethod
    def _code(style: str | Style) -> tuple[list[str], str]:
        if isinstance(style, Style):
            return [], style.link or ""
        if style == _INLINE_CODE:
            return ["33"], ""
        words = style.partition("on $")[0].split()
        return [_CODES[word] for word in words if word in _CODES], ""


def _is_over(block: SyntaxTreeNode, text: str) -> bool:
    """Whether no line that follows can become part of it."""
    if block.type == "fence":
        begin, end = block.map or (0, 0)
        last = "".join(text.splitlines()[end - 1 : end]).strip()
        return end - begin > 1 and last.startswith(block.markup) and not last.strip(block.markup[:1])
    return block.type in _ENDED_BY_A_BLANK and text.endswith("\n\n")


def _one_each(codes: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(codes)


def _goes_on(spans: list[tuple[int, int, list[str], str]], link: str, end: int) -> bool:
    return any(span[3] == link and span[0] <= end < span[1] for span in spans)


def knows_links(env: Mapping[str, str]) -> bool:
    """Where a link is shown by its words alone. Elsewhere its address stands behind them."""
    vte = env.get("VTE_VERSION", "")
    return (
        env.get("TERM_PROGRAM") in _LINKING_PROGRAMS
        or "WT_SESSION" in env
        or any(name in env.get("TERM", "") for name in _LINKING)
        or (vte.isdigit() and int(vte) >= _LINKING_VTE)
    )
