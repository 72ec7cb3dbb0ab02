"""aider: `.aider.chat.history.md` in each project, a Markdown file to which every session is added.

A session begins with `# aider chat started at DATE`; `####` is what a person said, `>` what aider printed, and the rest
what the model answered. Tokens are rounded there, so the cost that aider itself worked out counts.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from openagent.history.copies import Copies
from openagent.history.files import source
from openagent.history.json_lines import opened
from openagent.history.models import full_name
from openagent.history.reading import Answer, Head, Item, Look, Note, Prompt, Request, Source, Unreadable
from openagent.protocol.messages import TextPart
from openagent.protocol.origin import ForeignAgent
from openagent.protocol.usage import Usage

FILE = ".aider.chat.history.md"
LARGEST = 256 << 20
_DEEPEST = 3
_MOST_FOLDERS = 4000
_PATIENCE_S = 0.4
"""What looking through the home folder may take."""
_NOT_LOOKED_INTO = frozenset(("node_modules", "Library", "snap", "go", "venv", "__pycache__"))
_STARTED = b"# aider chat started at "
_MODEL = re.compile(r"^(?:Main model|Model): (\S+)")
_TOKENS = re.compile(
    r"^Tokens: (?P<sent>[\d.,]+[kM]?) sent(?:, (?P<write>[\d.,]+[kM]?) cache write)?"
    r"(?:, (?P<hit>[\d.,]+[kM]?) cache hit)?, (?P<received>[\d.,]+[kM]?) received\."
)
_COST = re.compile(r"Cost: \$(?P<message>[\d.,]+) message")
_TOLD = ("Applied edit to ", "Commit ", "Added ", "Removed ", "Ran ", "Running ")


class AiderReader:
    agent: ForeignAgent = "aider"

    def places(self, look: Look) -> list[Path]:
        found = dict.fromkeys(_candidates(look))
        return [place for place in found if place.is_file()]

    def find(self, place: Path, copies: Copies) -> Iterator[Source]:
        try:
            sessions = _sessions_in(place)
        except (OSError, Unreadable):
            sessions = 0
        if found := source(self.agent, str(place), sessions):
            yield found

    def count(self, source: Source, copies: Copies) -> Iterator[Request]:
        for item in self.read(source, copies):
            if isinstance(item, Answer) and item.request is not None:
                yield item.request

    def read(self, source: Source, copies: Copies, position: int = 0) -> Iterator[Item]:
        section: list[str] = []
        any_session = False
        with opened(source.path, LARGEST) as file:
            for raw in file:
                line = raw.decode(errors="replace").rstrip("\n")
                if raw.startswith(_STARTED):
                    any_session = True
                    yield from _session(source, section)
                    section = [line]
                elif section:
                    section.append(line)
        yield from _session(source, section)
        if not any_session:
            raise Unreadable("is no chat history of aider")


def _candidates(look: Look) -> Iterator[Path]:
    if given := look.env.get("AIDER_CHAT_HISTORY_FILE"):
        yield Path(given).expanduser()
    for folder in look.folders:
        for place in (Path(folder), *list(Path(folder).parents)[:2]):
            yield place / FILE
    yield from _below_home(look.home)


def _below_home(home: Path) -> Iterator[Path]:
    """Folders near the top, for as long as it does not keep anybody waiting."""
    deadline, looked = time.monotonic() + _PATIENCE_S, 0
    coming: list[tuple[str, int]] = [(str(home), 0)]
    while coming and looked < _MOST_FOLDERS and time.monotonic() < deadline:
        folder, depth = coming.pop(0)
        looked += 1
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name == FILE:
                        yield Path(entry.path)
                    elif (
                        depth < _DEEPEST
                        and entry.is_dir(follow_symlinks=False)
                        and not entry.name.startswith(".")
                        and entry.name not in _NOT_LOOKED_INTO
                    ):
                        coming.append((entry.path, depth + 1))
        except OSError:
            continue


def _sessions_in(place: Path) -> int:
    with opened(str(place), LARGEST) as file:
        return sum(line.startswith(_STARTED) for line in file)


class _Said:
    """The part of a session that is being read."""

    def __init__(self) -> None:
        self.prompt: list[str] = []
        self.answer: list[str] = []
        self.told: list[str] = []


def _session(source: Source, lines: list[str]) -> Iterator[Item]:
    if not lines:
        return
    started = lines[0].removeprefix(_STARTED.decode()).strip()
    at = _local(started)
    project = str(Path(source.path).parent)
    digest = hashlib.blake2b("\n".join(lines).encode(errors="replace"), digest_size=12).hexdigest()
    id_ = f"{source.path}@{started}"
    if not any(line.startswith("#### ") for line in lines):
        return
    yield Head(id_, project, at, version=digest)
    said, model, number = _Said(), "", 0
    for line, following in pairwise([*lines[1:], ""]):
        told = line[2:].strip() if line.startswith("> ") else None
        if line.startswith("#### "):
            if said.answer:
                yield from _turn(said, at, model, None)
            said.prompt.append(line[5:].rstrip())
        elif told is None:
            if _COST.match(line) and not said.answer:
                continue
            if line.strip() or said.answer:
                said.answer.append(line.rstrip())
        elif found := _MODEL.match(told):
            model = full_name(found[1])
        elif found := _TOKENS.match(told):
            number += 1
            usage = _usage(found)
            # At times it stands in a line of its own.
            cost = _COST.search(told) or _COST.match(following.removeprefix("> "))
            spent = float(cost["message"].replace(",", "")) if cost else None
            request = Request(f"{id_}:{number}", at, model, usage, project, cost_usd=spent, by_them=True)
            yield from _turn(said, at, model, request)
        elif told.startswith(_TOLD):
            said.told.append(told)
    yield from _turn(said, at, model, None)


def _turn(said: _Said, at: float, model: str, request: Request | None) -> Iterator[Item]:
    prompt, answer = "\n".join(said.prompt).strip(), "\n".join(said.answer).strip()
    if said.told:
        yield Note("\n".join(said.told), at)
    if prompt:
        yield Prompt([TextPart(prompt)], at)
    if answer and (prompt or request):
        yield Answer([TextPart(answer)], at, model, request)
    said.prompt, said.answer, said.told = [], [], []


def _usage(found: "re.Match[str]") -> Usage:
    sent, hit, written = _number(found["sent"]), _number(found["hit"]), _number(found["write"])
    return Usage(
        input_tokens=max(sent, hit + written),
        output_tokens=_number(found["received"]),
        cached_tokens=hit,
        cache_write_tokens=written,
        estimated=True,
    )


def _number(text: str | None) -> int:
    if not text:
        return 0
    scale = {"k": 1_000, "M": 1_000_000}.get(text[-1], 1)
    return round(float(text.rstrip("kM").replace(",", "")) * scale)


def _local(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
