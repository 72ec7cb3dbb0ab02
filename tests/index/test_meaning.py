"""Finding by meaning, with a model of the same shape as the real one, made of random numbers: equal texts are near."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from openagent.index.chroma import is_installed
from openagent.index.code_index import CodeIndex

pytestmark = pytest.mark.anyio

SIZE, WIDE, WORDS = 384, 64, ["[UNK]", "[PAD]", "def", "apple", "banana", "cherry", "pie", "peel", "stone", "return"]


def weights() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), SIZE),
        "embeddings.position_embeddings.weight": (512, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        "encoder.layer.0.intermediate.dense.weight": (WIDE, SIZE),
        "encoder.layer.0.intermediate.dense.bias": (WIDE,),
        "encoder.layer.0.output.dense.weight": (SIZE, WIDE),
        "encoder.layer.0.output.dense.bias": (SIZE,),
    }
    attention = "encoder.layer.0.attention"
    for name in ("self.query", "self.key", "self.value", "output.dense"):
        shapes |= {f"{attention}.{name}.weight": (SIZE, SIZE), f"{attention}.{name}.bias": (SIZE,)}
    for name in ("embeddings", f"{attention}.output", "encoder.layer.0.output"):
        shapes |= {f"{name}.LayerNorm.weight": (SIZE,), f"{name}.LayerNorm.bias": (SIZE,)}
    return shapes


def publish(source: Path) -> None:
    """As the real weights are published."""
    source.mkdir()
    chance = np.random.default_rng(1)
    table: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, shape in weights().items():
        numbers = chance.normal(0, 0.02 if "position" in name else 0.3, shape).astype(np.float32).tobytes()
        table[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    head = json.dumps(table).encode()
    (source / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + data)
    settings = {"layer_norm_eps": 1e-12, "num_hidden_layers": 1, "num_attention_heads": 12, "hidden_size": SIZE}
    (source / "config.json").write_text(json.dumps(settings))
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.save(str(source / "tokenizer.json"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    source, ready = tmp_path / "published", tmp_path / "model"
    publish(source)
    ready.mkdir()
    command = [sys.executable, "-m", "openagent.index.conversion", str(source), str(ready)]
    subprocess.run(command, check=True, capture_output=True)
    return ready


needs_chroma = pytest.mark.skipif(not is_installed(), reason="the extra `chroma` is not installed")


@pytest.mark.parametrize("vectors", ["own", pytest.param("chroma", marks=needs_chroma)])
async def test_pieces_get_vectors_behind_the_build_and_keep_up_with_the_files(
    tmp_path: Path, model: Path, vectors: Literal["own", "chroma"]
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for fruit, part in (("apple", "pie"), ("banana", "peel"), ("cherry", "stone")):
        (workspace / f"{fruit}.txt").write_text(f"{fruit} {part} {fruit} {part}\n")
    index = CodeIndex(tmp_path / "index", model=model, vectors=vectors)
    await index.build(workspace)
    assert [hit.path for hit in await index.search(workspace, "banana", 1, "text")] == ["banana.txt"]
    await index.embedded(workspace)
    status = await index.status(workspace)
    assert (status.model, status.embedded, status.chunks) == (True, 3, 3)
    for by in ("meaning", "fused"):
        hits = await index.search(workspace, "banana peel banana peel", 3, by)
        assert hits[0].path == "banana.txt", by
    assert len(await index.search(workspace, "banana peel", 3, "meaning")) == 3

    (workspace / "banana.txt").unlink()
    (workspace / "cherry.txt").write_text("stone stone stone\n")
    await index.build(workspace)
    await index.embedded(workspace)
    assert (await index.status(workspace)).embedded == 2
    hits = await index.search(workspace, "stone stone stone", 3, "meaning")
    assert [hit.path for hit in hits] == ["cherry.txt", "apple.txt"]
    await index.close()


async def test_closing_ends_what_goes_on_behind(tmp_path: Path, model: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("apple\n" * 20_000)
    index = CodeIndex(tmp_path / "index", model=model)
    await index.build(workspace)
    await index.close()
    assert (await index.status(workspace)).embedded < (await index.status(workspace)).chunks
