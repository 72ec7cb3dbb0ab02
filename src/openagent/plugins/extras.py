"""Heavy libraries that are not installed with the rest: fetched when first wanted, into a folder of the data home.

Each has its pins in `pins/NAME.txt`, every file of every package by its hash. Nothing of a turn, of the tools, of the
index by words or of the policy needs one. What is installed beside OpenAgent, as `openagent[NAME]`, is not fetched.
"""

import asyncio
import hashlib
import importlib
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from openagent.plugins.isolation import also_from
from openagent.plugins.package_install import PINS, Tell, install_packages, size_of
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.extras import ExtraInfo

_STAMP = ".pins"
"""Holds the hash of the pins a folder was filled from: with others it is fetched anew."""


class _Extra(NamedTuple):
    purpose: str
    without: str
    modules: tuple[str, ...]
    download_mb: int


EXTRAS = {
    "index": _Extra(
        "find code by meaning", "code is found by its words", ("numpy", "onnxruntime", "tokenizers"), 43
    ),
    "grammars": _Extra(
        "know the symbols of C++, PHP and Ruby in the index",
        "their files are indexed by lines",
        ("tree_sitter_cpp", "tree_sitter_php", "tree_sitter_ruby"),
        2,
    ),
    "intent": _Extra("find out what a message is for", "messages go to the model as they are", ("dspy",), 4),
    "otel": _Extra(
        "send traces and metrics to an OpenTelemetry collector",
        "metrics are fetched from /metrics, and traces are ids alone",
        ("opentelemetry.sdk", "opentelemetry.proto"),
        2,
    ),
    "graphql": _Extra("answer GraphQL queries at /graphql", "REST tells the same", ("graphql",), 1),
    "socketio": _Extra(
        "speak with Socket.IO clients at /socket.io",
        "REST and the WebSocket tell the same",
        ("socketio", "engineio"),
        1,
    ),
    "s3": _Extra("keep backups in an S3-compatible store", "backups are kept in a folder", ("minio",), 3),
    "tokenizer": _Extra(
        "count tokens exactly where a provider tells none", "such counts are estimated", ("bpe_openai",), 40
    ),
    "chroma": _Extra(
        "keep the index's vectors in Chroma", "vectors are kept in the index's own file", ("chromadb",), 92
    ),
}  # fmt: skip


class Extras:
    def __init__(self, home: Path, *, pins: Path = PINS) -> None:
        """What was fetched before can be imported from now on."""
        self._folder = home / "extras" / (sys.implementation.cache_tag or "python")
        self._pins = pins
        self._fetching: dict[str, asyncio.Task[None]] = {}
        self._stages: dict[str, str] = {}
        for name in EXTRAS:
            if self._is_fetched(name):
                also_from(self._folder / name)

    def list(self) -> "list[ExtraInfo]":
        return [self.about(name) for name in EXTRAS]

    def about(self, name: str) -> ExtraInfo:
        extra = _known(name)
        fetched = self._is_fetched(name)
        return ExtraInfo(
            name=name,
            purpose=extra.purpose,
            without=extra.without,
            state="fetched" if fetched else "installed" if self.is_here(name) else "absent",
            download_mb=extra.download_mb,
            size_bytes=size_of(self._folder / name) if fetched else 0,
            stage=self.stage(name),
        )

    def is_here(self, name: str) -> bool:
        return all(find_spec(module) is not None for module in _known(name).modules)

    def stage(self, name: str) -> str:
        """How far it is, in words; empty when it is not being fetched."""
        return self._stages.get(name, "")

    async def fetch(self, name: str, tell: Tell) -> None:
        """Returns when it can be imported. Of several who want it at once, all wait for the same."""
        if self.is_here(name):
            return
        task = self._fetching.get(name)
        if task is None:
            task = self._fetching[name] = asyncio.create_task(self._fetch(name, tell))
            task.add_done_callback(lambda _: self._fetching.pop(name, None))
        await asyncio.shield(task)

    async def close(self) -> None:
        for task in list(self._fetching.values()):
            task.cancel()
        await asyncio.gather(*self._fetching.values(), return_exceptions=True)

    async def _fetch(self, name: str, tell: Tell) -> None:
        place, arriving = self._folder / name, self._folder / f".{name}.arriving"
        pins = self._pins / f"{name}.txt"

        def tell_and_keep(stage: str, done: int, total: int) -> None:
            share = f", {100 * done // total} %" if total else ""
            self._stages[name] = f"{stage}{share}"
            tell(stage, done, total)

        await asyncio.to_thread(_clear, arriving)
        try:
            await install_packages(pins, arriving, tell_and_keep, expected=EXTRAS[name].download_mb * 1_000_000)
            await asyncio.to_thread(_put, arriving, place, _digest(pins))
        finally:
            self._stages.pop(name, None)
            await asyncio.to_thread(shutil.rmtree, arriving, ignore_errors=True)
        also_from(place)
        importlib.invalidate_caches()

    def _is_fetched(self, name: str) -> bool:
        try:
            return (self._folder / name / _STAMP).read_text() == _digest(self._pins / f"{name}.txt")
        except OSError:
            return False


def _known(name: str) -> _Extra:
    if name not in EXTRAS:
        raise OpenAgentError("not_found", f"There is no extra named {name!r}.", hint=f"There are: {', '.join(EXTRAS)}.")
    return EXTRAS[name]


def _digest(pins: Path) -> str:
    return hashlib.sha256(pins.read_bytes()).hexdigest()


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as problem:
        raise OpenAgentError("store_error", f"{folder} cannot be made: {problem.strerror}.") from None


def _put(arriving: Path, place: Path, digest: str) -> None:
    (arriving / _STAMP).write_text(digest)
    shutil.rmtree(place, ignore_errors=True)
    os.replace(arriving, place)
