"""A server that looks like Ollama."""

from contextlib import AbstractContextManager

from devtools.simulator import Simulator, ThreadedSimulator

from .own_server import own_server

MODELS = (
    ("qwen3:8b", 5_225_388_164, "8.2B"),
    ("llama3.2:latest", 2_019_393_189, "3.2B"),
    ("nomic-embed-text:latest", 274_302_450, "137M"),
)


def ollama(sim: Simulator | ThreadedSimulator | None, *, models: int = len(MODELS)) -> AbstractContextManager[int]:
    """Its port. Without a simulator it lists, and answers nothing."""
    listed = MODELS[:models]
    return own_server(
        sim,
        {
            "/api/tags": {
                "models": [
                    {"name": name, "size": size, "details": {"parameter_size": parameters, "families": ["x"]}}
                    for name, size, parameters in listed
                ]
            },
            "/v1/models": {
                "object": "list",
                "data": [{"id": name, "object": "model", "owned_by": "library"} for name, _, _ in listed],
            },
        },
    )
