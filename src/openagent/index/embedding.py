"""Text to vectors: MiniLM (int8, ONNX) on the processor.

numpy, onnxruntime and tokenizers load here, when a model is there.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
MAX_TOKENS = 128
"""The beginning of a piece says what it is; longer input costs more than it finds."""
_BLOCK = 256
"""Rows compared at once: their float32 numbers stay in the processor's cache, which is five times as fast."""
_LIBRARIES = ("numpy", "onnxruntime", "tokenizers")


def missing_libraries() -> list[str]:
    return [name for name in _LIBRARIES if find_spec(name) is None]


def is_set_up(model: Path) -> bool:
    return (model / MODEL_FILE).is_file() and (model / TOKENIZER_FILE).is_file() and not missing_libraries()


class Vectors:
    """Unit vectors, one a row."""

    def __init__(self, rows: "NDArray[np.float32]") -> None:
        self.rows = rows

    def packed(self) -> Iterator[tuple[float, bytes]]:
        """A scale and int8 numbers for each."""
        import numpy as np

        for row in self.rows:
            scale = float(np.abs(row).max()) / 127 or 1.0
            numbers: NDArray[np.float32] = row / scale
            yield scale, numbers.round().astype(np.int8).tobytes()


class Embedder:
    def __init__(self, model: Path) -> None:
        from tokenizers import Tokenizer

        onnxruntime: Any = import_module("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        options.log_severity_level = 3
        self._session: Any = onnxruntime.InferenceSession(
            str(model / MODEL_FILE), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = Tokenizer.from_file(str(model / TOKENIZER_FILE))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        encoded = self._tokenizer.encode_batch(list(texts))
        order = sorted(range(len(encoded)), key=lambda each: sum(encoded[each].attention_mask))
        rows = np.zeros((len(encoded), 384), dtype=np.float32)
        for start in range(0, len(order), 16):
            batch = order[start : start + 16]
            length = max(sum(encoded[each].attention_mask) for each in batch)
            ids = np.array([encoded[each].ids[:length] for each in batch], dtype=np.int64)
            mask = np.array([encoded[each].attention_mask[:length] for each in batch], dtype=np.int64)
            hidden: NDArray[np.float32] = self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
            summed = (hidden * mask[..., None]).sum(axis=1)
            rows[batch] = summed / np.linalg.norm(summed, axis=1, keepdims=True)
        return Vectors(rows)


class Meanings:
    """The vectors of one index, ready to be compared."""

    def __init__(self, stored: Sequence[tuple[int, float, bytes]]) -> None:
        import numpy as np

        self._chunks = np.array([chunk for chunk, _, _ in stored], dtype=np.int64)
        self._scales = np.array([scale for _, scale, _ in stored], dtype=np.float32)
        self._numbers = np.frombuffer(b"".join(vector for _, _, vector in stored), dtype=np.int8).reshape(-1, 384)

    def nearest(self, query: Vectors, limit: int) -> list[int]:
        """Chunks, best first."""
        import numpy as np

        if not len(self._chunks):
            return []
        wanted = query.rows[0]
        scores = np.empty(len(self._chunks), dtype=np.float32)
        unpacked = np.empty((_BLOCK, self._numbers.shape[1]), dtype=np.float32)
        for start in range(0, len(scores), _BLOCK):
            part = self._numbers[start : start + _BLOCK]
            np.copyto(unpacked[: len(part)], part)
            scores[start : start + _BLOCK] = unpacked[: len(part)] @ wanted
        scores *= self._scales
        limit = min(limit, len(scores))
        best = np.argpartition(-scores, limit - 1)[:limit]
        return [int(self._chunks[each]) for each in best[np.argsort(-scores[best])]]
