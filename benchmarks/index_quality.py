"""How well code is found: `python -m benchmarks.index_quality MODEL_DIRECTORY [QUERIES]`.

The Python files of real packages in this environment, without their docstrings, are indexed; the first paragraph of
each docstring that was taken out is a question, and the function it stood in is the answer.
"""

import ast
import asyncio
import random
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Literal, NamedTuple

from openagent.index.chroma import is_installed
from openagent.index.code_index import CodeIndex
from openagent.plugins.index import SearchBy

SEED = 7
PACKAGES = (
    *("alembic", "anyio", "authlib", "click", "cryptography", "jsonschema", "mcp", "msgspec", "rich", "starlette"),
    *("textual", "uvicorn", "websockets"),
)


class Question(NamedTuple):
    text: str
    path: str
    line: int


def held_out(source: str, path: str) -> tuple[str, list[Question]]:
    lines = source.splitlines()
    questions: list[Question] = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            continue
        if (docstring := ast.get_docstring(node)) is None:
            continue
        written = node.body[0]
        for number in range(written.lineno, (written.end_lineno or written.lineno) + 1):
            lines[number - 1] = ""
        first = " ".join(docstring.split("\n\n")[0].split())
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(node.body) > 1 and len(first.split()) >= 5:
            questions.append(Question(first, path, node.lineno))
    return "\n".join(lines), questions


async def measure(model: Path, count: int) -> None:
    library = Path(sysconfig.get_paths()["purelib"])
    with tempfile.TemporaryDirectory() as home:
        workspace = Path(home, "workspace")
        workspace.mkdir()
        questions: list[Question] = []
        for file in sorted(file for name in PACKAGES for file in (library / name).rglob("*.py")):
            path = file.relative_to(library)
            text, found = held_out(file.read_text(), str(path))
            (workspace / path).parent.mkdir(parents=True, exist_ok=True)
            (workspace / path).write_text(text)
            questions += found
        asked = random.Random(SEED).sample(questions, min(count, len(questions)))
        await _measure(Path(home, "own"), workspace, asked, model, "own")
        if is_installed():
            await _measure(Path(home, "chroma"), workspace, asked, model, "chroma")


async def _measure(
    home: Path, workspace: Path, asked: list[Question], model: Path, vectors: Literal["own", "chroma"]
) -> None:
    index = CodeIndex(home, model=model, vectors=vectors)
    built = await index.build(workspace)
    began = time.monotonic()
    await index.embedded(workspace)
    status = await index.status(workspace)
    print(f"{built.files} files, {status.chunks} pieces, {len(asked)} questions, vectors: {vectors}")
    print(f"full text {built.seconds:.1f} s, vectors {time.monotonic() - began:.1f} s")
    for way in ("text", "meaning", "fused"):
        await _score(index, workspace, asked, way)
    await index.close()


async def _score(index: CodeIndex, workspace: Path, asked: list[Question], way: SearchBy) -> None:
    within = 0
    reciprocal = 0.0
    took: list[float] = []
    for question in asked:
        began = time.perf_counter()
        hits = await index.search(workspace, question.text, 20, way)
        took.append((time.perf_counter() - began) * 1000)
        right = [
            rank
            for rank, hit in enumerate(hits, 1)
            if hit.path == question.path and hit.start_line <= question.line <= hit.end_line
        ]
        if right:
            within += right[0] <= 5
            reciprocal += 1 / right[0]
    took.sort()
    print(
        f"{way:8} recall@5 {within / len(asked):.3f}  MRR {reciprocal / len(asked):.3f}  "
        f"median {took[len(took) // 2]:.1f} ms  p95 {took[int(len(took) * 0.95)]:.1f} ms"
    )


if __name__ == "__main__":
    asyncio.run(measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200))
