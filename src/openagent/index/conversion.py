"""From the published weights of MiniLM (safetensors) to an int8 ONNX model: `python -m openagent.index.conversion`.

The network is a BERT encoder; its graph is written down here, so that no training framework is needed. Runs once, in a
process of its own: `onnx` is only there meanwhile.
"""

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from openagent.index.embedding import MODEL_FILE, TOKENIZER_FILE

_OPSET = 17


class _Graph:
    def __init__(self, weights: dict[str, Any]) -> None:
        from onnx import helper, numpy_helper

        self._helper: Any = helper
        self._numpy: Any = numpy_helper
        self._weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        output = f"{kind}_{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, list(inputs), [output], name=output, **attributes))
        return output

    def constant(self, name: str, value: Any) -> str:
        if name not in self.constants:
            self.constants[name] = self._numpy.from_array(np.asarray(value, order="C"), name)
        return name

    def weight(self, name: str, *, transposed: bool = False) -> str:
        value = self._weights[name]
        return self.constant(name, value.T if transposed else value)

    def linear(self, data: str, name: str) -> str:
        product = self.add("MatMul", data, self.weight(f"{name}.weight", transposed=True))
        return self.add("Add", product, self.weight(f"{name}.bias"))

    def norm(self, data: str, name: str, epsilon: float) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", data, scale, bias, axis=-1, epsilon=epsilon)

    def gelu(self, data: str) -> str:
        half, one = self.constant("half", np.float32(0.5)), self.constant("one", np.float32(1))
        root = self.constant("root_of_two", np.float32(np.sqrt(2)))
        curved = self.add("Add", self.add("Erf", self.add("Div", data, root)), one)
        return self.add("Mul", self.add("Mul", data, curved), half)


def convert(source: Path, target: Path) -> None:
    onnx: Any = import_module("onnx")
    quantization: Any = import_module("onnxruntime.quantization")
    settings: dict[str, Any] = json.loads((source / "config.json").read_text())
    model: Any = _encoder(read_safetensors(source / "model.safetensors"), settings)
    exact = target / "exact.onnx"
    onnx.save(model, str(exact))
    quantization.quantize_dynamic(exact, target / MODEL_FILE, weight_type=quantization.QuantType.QInt8)
    exact.unlink()
    shutil.copyfile(source / "tokenizer.json", target / TOKENIZER_FILE)


def read_safetensors(file: Path) -> dict[str, Any]:
    """A length, a table of contents in JSON, the numbers."""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    table: dict[str, Any] = json.loads(data[8:start])
    kinds = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
    found: dict[str, Any] = {}
    for name, entry in table.items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            numbers = np.frombuffer(data[start + first : start + last], kinds[entry["dtype"]])
            found[name] = numbers.reshape(entry["shape"])
    return found


def _encoder(weights: dict[str, Any], settings: dict[str, Any]) -> Any:
    from onnx import TensorProto, helper

    make: Any = helper
    graph = _Graph(weights)
    epsilon = float(settings["layer_norm_eps"])
    hidden = _embeddings(graph, epsilon)
    bias = _mask_bias(graph)
    for layer in range(settings["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        attended = _attention(graph, hidden, bias, f"{name}.attention", settings)
        hidden = graph.norm(graph.add("Add", hidden, attended), f"{name}.attention.output.LayerNorm", epsilon)
        wide = graph.gelu(graph.linear(hidden, f"{name}.intermediate.dense"))
        narrow = graph.linear(wide, f"{name}.output.dense")
        hidden = graph.norm(graph.add("Add", hidden, narrow), f"{name}.output.LayerNorm", epsilon)
    size = settings["hidden_size"]
    inputs = [
        make.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    output = make.make_tensor_value_info(hidden, TensorProto.FLOAT, ["batch", "tokens", size])
    body = make.make_graph(graph.nodes, "minilm", inputs, [output], list(graph.constants.values()))
    return make.make_model(body, opset_imports=[make.make_opsetid("", _OPSET)], ir_version=8)


def _embeddings(graph: _Graph, epsilon: float) -> str:
    words = graph.add("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    length = graph.add("Gather", graph.add("Shape", "input_ids"), graph.constant("second", np.int64(1)))
    zero, step = graph.constant("zero", np.int64(0)), graph.constant("step", np.int64(1))
    numbers = graph.add("Range", zero, length, step)
    places = graph.add("Gather", graph.weight("embeddings.position_embeddings.weight"), numbers)
    kind = graph.add("Gather", graph.weight("embeddings.token_type_embeddings.weight"), zero)
    together = graph.add("Add", graph.add("Add", words, places), kind)
    return graph.norm(together, "embeddings.LayerNorm", epsilon)


def _mask_bias(graph: _Graph) -> str:
    """Nothing looks at padding."""
    mask = graph.add("Cast", "attention_mask", to=1)
    absent = graph.add("Sub", graph.constant("one", np.float32(1)), mask)
    bias = graph.add("Mul", absent, graph.constant("never", np.float32(-10000)))
    return graph.add("Unsqueeze", bias, graph.constant("middle", np.array([1, 2], np.int64)))


def _attention(graph: _Graph, hidden: str, bias: str, name: str, settings: dict[str, Any]) -> str:
    heads, size = settings["num_attention_heads"], settings["hidden_size"]
    apart = graph.constant("apart", np.array([0, 0, heads, size // heads], np.int64))
    joined = graph.constant("joined", np.array([0, 0, size], np.int64))

    def part(which: str, order: list[int]) -> str:
        shaped = graph.add("Reshape", graph.linear(hidden, f"{name}.self.{which}"), apart)
        return graph.add("Transpose", shaped, perm=order)

    query, key, value = part("query", [0, 2, 1, 3]), part("key", [0, 2, 3, 1]), part("value", [0, 2, 1, 3])
    scale = graph.constant("scale", np.float32(1 / np.sqrt(size // heads)))
    scores = graph.add("Add", graph.add("Mul", graph.add("MatMul", query, key), scale), bias)
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
    flat = graph.add("Reshape", graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), joined)
    return graph.linear(flat, f"{name}.output.dense")


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
