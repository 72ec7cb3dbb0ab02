"""What becomes of a file in each language, through a built index."""

import sys
from pathlib import Path

import pytest

from openagent.index.building import build
from openagent.index.code_index import CodeIndex
from openagent.index.database import Database

pytestmark = pytest.mark.anyio

PHP = "<?php\nclass Till {\n  function total($items) { return sum($items); }\n}\nfunction sum($x) { return 0; }\n"
SAMPLES = {
    "till.py": (
        "import os\n\n\nclass Till:\n    def total(self, items):\n        return sum_of(items)\n\n\n"
        "@cached\ndef sum_of(x):\n    return 0\n",
        {"Till", "Till.total", "sum_of"},
        "sum_of",
    ),
    "till.js": (
        "class Till {\n  total(items) { return sumOf(items); }\n}\nfunction sumOf(x) { return 0; }\n"
        "const late = (x) => x;\n",
        {"Till", "Till.total", "sumOf", "late"},
        "sumOf",
    ),
    "till.ts": (
        "interface Priced { price: number }\nexport class Till {\n  total(items: Priced[]): number { "
        "return sumOf(items); }\n}\nfunction sumOf(x: Priced[]): number { return 0; }\n",
        {"Priced", "Till", "Till.total", "sumOf"},
        "sumOf",
    ),
    "till.tsx": (
        "export function Till(props: Props) { return <b>{sumOf(props.items)}</b>; }\n",
        {"Till"},
        "sumOf",
    ),
    "till.go": (
        "package till\n\ntype Till struct{}\n\nfunc (t *Till) Total(items []int) int { return sumOf(items) }\n\n"
        "func sumOf(x []int) int { return 0 }\n",
        {"Till", "Total", "sumOf"},
        "sumOf",
    ),
    "till.rs": (
        "struct Till;\n\nimpl Till {\n    fn total(&self, items: &[u32]) -> u32 { sum_of(items) }\n}\n\n"
        "/// Adds up.\nfn sum_of(x: &[u32]) -> u32 { 0 }\n",
        {"Till", "Till.total", "sum_of"},
        "sum_of",
    ),
    "Till.java": (
        "class Till {\n  int total(int[] items) { return sumOf(items); }\n"
        "  static int sumOf(int[] x) { return 0; }\n}\n",
        {"Till", "Till.total", "Till.sumOf"},
        "sumOf",
    ),
    "till.c": (
        "struct till { int open; };\nint sum_of(int *x) { return 0; }\n"
        "int total(int *items) { return sum_of(items); }\n",
        {"till", "sum_of", "total"},
        "sum_of",
    ),
    "till.cpp": (
        "namespace shop {\nclass Till {\n public:\n  int total() { return sum_of(); }\n};\n}\n"
        "int sum_of() { return 0; }\n",
        {"shop", "shop.Till", "shop.Till.total", "sum_of"},
        "sum_of",
    ),
    "till.rb": (
        "class Till\n  def total(items)\n    sum_of(items)\n  end\nend\n\ndef sum_of(x)\n  0\nend\n",
        {"Till", "Till.total", "sum_of"},
        "sum_of",
    ),
    "till.php": (PHP, {"Till", "Till.total", "sum"}, "sum"),
    "till.sh": (
        "#!/bin/bash\nsum_of() {\n  echo 0\n}\ntotal() {\n  sum_of 1 2\n}\n",
        {"sum_of", "total"},
        "sum_of",
    ),
    "till.md": ("# Tills\n\nAbout tills.\n\n## Totals\n\nHow they are made.\n", {"Tills", "Tills.Totals"}, ""),
}


@pytest.mark.parametrize("name", SAMPLES)
async def test_definitions_are_pieces_of_their_own_and_uses_are_known(tmp_path: Path, name: str) -> None:
    text, wanted, used = SAMPLES[name]
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / name).write_text(text)
    index = CodeIndex(tmp_path / "index")
    await index.build(workspace)

    for symbol in wanted:
        found = await index.symbols(workspace, symbol)
        assert symbol in {each.symbol for each in found}, symbol
        hits = await index.search(workspace, symbol.replace(".", " "), 10)
        assert symbol in {hit.symbol for hit in hits}, (symbol, hits)
    if used:
        lines = [
            number for number, line in enumerate(text.splitlines(), 1) if f"{used}(" in line or f"{used} 1" in line
        ]
        references = await index.references(workspace, used)
        assert references
        assert {each.line for each in references} <= set(lines)


async def test_every_line_with_a_word_is_in_a_piece_with_its_right_number(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    lines = [
        "import os",
        "",
        "# about it",
        "@wrapped",
        "class Able:",
        "    size = 1",
        "    def method(self):",
        "        return size",
    ]
    lines += [f"constant_{number} = {number}" for number in range(150)]
    (workspace / "a.py").write_text("\n".join(lines))
    index = CodeIndex(tmp_path / "index")
    await index.build(workspace)
    for number, line in enumerate(lines, 1):
        if line:
            hits = await index.search(workspace, line, 50)
            assert any(
                hit.start_line <= number <= hit.end_line and hit.text.splitlines()[number - hit.start_line] == line
                for hit in hits
            ), line


def test_a_file_whose_grammar_comes_later_is_found_by_its_words_and_by_name_once_it_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, file = tmp_path / "workspace", tmp_path / "data" / "index" / "one.db"
    workspace.mkdir()
    file.parent.mkdir(parents=True)
    (workspace / "till.rb").write_text("class Till\n  def total\n    42\n  end\nend\n")
    (workspace / "till.py").write_text("def total():\n    return 42\n")

    def look() -> tuple[int, set[str], list[str]]:
        without: set[str] = set()
        built = build(workspace, file, lambda stage, done, total: None, without=without)
        database = Database(file)
        try:
            assert len(database.by_words("total", 10)) >= 2
            return built.indexed, without, sorted(each.path for each in database.symbols("total", 10))
        finally:
            database.close()

    monkeypatch.setitem(sys.modules, "tree_sitter_ruby", None)
    assert look() == (2, {"ruby"}, ["till.py"])
    assert look() == (0, {"ruby"}, ["till.py"])
    monkeypatch.undo()
    assert look() == (1, set(), ["till.py", "till.rb"])
    assert look() == (0, set(), ["till.py", "till.rb"])
