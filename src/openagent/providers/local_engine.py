"""The offline model's own process: weights and engine live here, so that the daemon stays small.

Run as a script with the directory the engine is installed in, the weights' file and the context's size. It reads one
request a line and answers with lines, both JSON; the end of its input ends it. It knows nothing of OpenAgent.
"""

import importlib
import json
import os
import sys
import threading
from typing import Any


def start(site: str, weights: str, context: int) -> Any:
    sys.path.insert(0, site)
    engine: Any = importlib.import_module("xllamacpp")
    params = engine.CommonParams()
    params.model.path = weights
    params.n_ctx = context
    params.n_parallel = 1
    params.warmup = False
    # More threads than free cores make it slower, and the machine has other work.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    return engine.Server(params)


def take(said: Any, usage: dict[str, Any]) -> dict[str, Any] | None:
    """What one piece of the engine's answer is worth telling."""
    piece: Any = json.loads(said) if isinstance(said, str | bytes) else said
    if piece.get("usage"):
        usage.update(piece["usage"])
    if "error" in piece or "code" in piece:
        error: Any = piece.get("error", piece)
        return {"error": str(error.get("message", "no reason given"))}
    choices: Any = piece.get("choices")
    if not choices:
        return None
    if choices[0].get("finish_reason"):
        usage["stop"] = choices[0]["finish_reason"]
    delta: Any = choices[0].get("delta")
    return {"text": delta["content"]} if delta and delta.get("content") else None


def main(site: str, weights: str, context: str) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # The engine prints.

    def tell(line: dict[str, Any]) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    server = start(site, weights, int(context))
    requests: list[str] = []
    arrived = threading.Semaphore(0)

    def read() -> None:
        for line in sys.stdin:
            requests.append(line)
            arrived.release()
        os._exit(0)  # Whoever asked has gone, whatever is being answered.

    threading.Thread(target=read, daemon=True).start()
    tell({"ready": True})
    while True:
        arrived.acquire()
        asked: Any = json.loads(requests.pop(0))
        usage: dict[str, Any] = {}

        def hear(said: Any, usage: dict[str, Any] = usage) -> None:
            for piece in said if isinstance(said, list) else [said]:  # pyright: ignore[reportUnknownVariableType]
                if line := take(piece, usage):
                    tell(line)

        asked |= {"stream": True, "stream_options": {"include_usage": True}, "cache_prompt": True}
        server.handle_chat_completions(asked, hear)
        tell({"done": usage})


if __name__ == "__main__":
    main(*sys.argv[1:4])
