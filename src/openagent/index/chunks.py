"""A file in pieces: each definition by itself, what lies between them in runs of lines."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node, QueryCursor

from openagent.index.languages import grammar

MAX_CHUNK_LINES = 60
MAX_CHUNK_CHARS = 6000
MAX_REFERENCES = 5000
MAX_NESTING = 500
"""Looking through code nested deeper takes time that grows with the square of it: such a file is only lines."""
_MAX_SYMBOL = 200
_CONTAINERS = frozenset({"class", "interface", "struct", "enum", "trait", "impl", "module", "namespace", "section"})
_WRAPPERS = frozenset({"decorated_definition", "export_statement", "template_declaration"})
_BRACKETS = re.compile(r"[(\[{)\]}]")
_WORD = re.compile(r"\w\w")


class Chunk(NamedTuple):
    start_line: int
    end_line: int
    symbol: str
    kind: str
    text: str


class Symbol(NamedTuple):
    name: str
    symbol: str
    kind: str
    start_line: int
    end_line: int
    signature: str


class Parsed(NamedTuple):
    chunks: list[Chunk]
    symbols: list[Symbol]
    references: list[tuple[str, int]]


class _Definition(NamedTuple):
    """Lines count from 0; the last one belongs to it."""

    first: int
    last: int
    name: str
    kind: str
    signature_line: int


def parse(text: str, language: str) -> Parsed:
    lines = text.splitlines()
    if not language or _nesting(text) > MAX_NESTING:
        return Parsed(list(_runs(lines, 0, len(lines) - 1, "", "lines")), [], [])
    definitions, references = _found(text.encode(), language)
    chunks: list[Chunk] = []
    symbols: list[Symbol] = []
    _cover(lines, definitions, chunks, symbols)
    return Parsed(chunks, symbols, references)


def _nesting(text: str) -> int:
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _found(data: bytes, language: str) -> tuple[list[_Definition], list[tuple[str, int]]]:
    parser, query = grammar(language)
    definitions: list[_Definition] = []
    references: list[tuple[str, int]] = []
    for _, captures in QueryCursor(query).matches(parser.parse(data).root_node):
        names = captures.pop("name", None)
        if names is None:
            if len(references) < MAX_REFERENCES:
                references += [(_text(node), node.start_point.row + 1) for node in captures.get("ref", ())]
            continue
        for kind, nodes in captures.items():
            definitions.append(_definition(nodes[0], _text(names[0]), kind))
    definitions.sort(key=lambda definition: (definition.first, -definition.last))
    return definitions, references


def _text(node: Node) -> str:
    return " ".join((node.text or b"").decode(errors="replace").split())[:_MAX_SYMBOL]


def _definition(node: Node, name: str, kind: str) -> _Definition:
    """With its decorators and the comment right above it."""
    signature_line = node.start_point.row
    whole = node
    while (parent := whole.parent) is not None and parent.type in _WRAPPERS:
        whole = parent
    first = whole.start_point.row
    before = whole.prev_sibling
    while before is not None and "comment" in before.type and _last_row(before) >= first - 1:
        first = min(first, before.start_point.row)
        before = before.prev_sibling
    return _Definition(first, max(_last_row(whole), first), name, kind, signature_line)


def _last_row(node: Node) -> int:
    end = node.end_point
    return end.row - 1 if end.column == 0 and end.row > node.start_point.row else end.row


def _cover(lines: list[str], definitions: list[_Definition], chunks: list[Chunk], symbols: list[Symbol]) -> None:
    """Every line with a word on it ends up in one piece, named after what it is part of."""
    open_: list[tuple[_Definition, str]] = []
    at = 0

    def close_until(line: int) -> None:
        nonlocal at
        while open_ and open_[-1][0].last < line:
            definition, symbol = open_.pop()
            chunks.extend(_runs(lines, at, definition.last, symbol, definition.kind))
            at = max(at, definition.last + 1)

    for definition in definitions:
        if open_ and open_[-1][0].kind not in _CONTAINERS and definition.last <= open_[-1][0].last:
            inside = f"{open_[-1][1]}.{definition.name}"[:_MAX_SYMBOL]
            symbols.append(_symbol(lines, definition, inside))
            continue
        close_until(definition.first)
        outer, kind = (open_[-1][1], open_[-1][0].kind) if open_ else ("", "lines")
        chunks.extend(_runs(lines, at, definition.first - 1, outer, kind))
        at = max(at, definition.first)
        symbol = (f"{outer}.{definition.name}" if outer else definition.name)[:_MAX_SYMBOL]
        symbols.append(_symbol(lines, definition, symbol))
        open_.append((definition, symbol))
    close_until(len(lines) + 1)
    chunks.extend(_runs(lines, at, len(lines) - 1, "", "lines"))


def _symbol(lines: list[str], definition: _Definition, symbol: str) -> Symbol:
    signature = lines[definition.signature_line].strip()[:_MAX_SYMBOL] if definition.signature_line < len(lines) else ""
    return Symbol(
        definition.name, symbol, definition.kind, definition.signature_line + 1, definition.last + 1, signature
    )


def _runs(lines: list[str], first: int, last: int, symbol: str, kind: str) -> Iterator[Chunk]:
    last = min(last, len(lines) - 1)
    while first <= last:
        end, size = first, 0
        while end <= last and end - first < MAX_CHUNK_LINES and size + len(lines[end]) <= MAX_CHUNK_CHARS:
            size += len(lines[end]) + 1
            end += 1
        if end == first:
            text = lines[first][:MAX_CHUNK_CHARS]
            end += 1
        else:
            text = "\n".join(lines[first:end])
        if _WORD.search(text):
            yield Chunk(first + 1, end, symbol, kind, text)
        first = end
