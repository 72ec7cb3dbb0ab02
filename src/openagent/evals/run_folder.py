"""What a run leaves behind, in one folder: what was asked of whom, predictions, verdicts, logs. Written line by line:
a run that was interrupted goes on where it stood."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from openagent.evals.grading import Verdict
from openagent.evals.instances import Prediction
from openagent.protocol.errors import OpenAgentError

T = TypeVar("T", bound=Struct)


class About(Struct, frozen=True):
    dataset: str
    source: str
    """The model that was asked, or where the predictions came from."""
    mode: str = ""


class Answered(Struct, frozen=True, omit_defaults=True):
    """How an agent came to its patch, and what that took."""

    instance_id: str
    ended: str
    """As a turn's end is called; `not_started` when there was nothing to work in."""
    detail: str = ""
    session: str = ""
    model: str = ""
    steps: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0


class RunFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, about: About, *, resume: bool) -> None:
        """Raises OpenAgentError when there is another run, or one that nobody wants to go on with."""
        there = self.about()
        if there is not None and not resume:
            raise OpenAgentError(
                "conflict", f"{self.folder} already holds a run.", hint="Go on with it by `--resume`, or name another."
            )
        if there is not None and there != about:
            raise OpenAgentError(
                "conflict",
                f"The run in {self.folder} is of {there.source} on {there.dataset}.",
                hint="Resume it with what it began with, or name another folder.",
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "run.json").write_bytes(msgspec.json.encode(about))

    def about(self) -> About | None:
        file = self.folder / "run.json"
        return msgspec.json.decode(file.read_bytes(), type=About) if file.exists() else None

    def log(self, instance_id: str) -> Path:
        return self.folder / "logs" / f"{instance_id}.log"

    @property
    def predictions(self) -> Path:
        return self.folder / "predictions.jsonl"

    def predicted(self) -> list[Prediction]:
        return self._read("predictions.jsonl", Prediction)

    def answered(self) -> list[Answered]:
        return self._read("answers.jsonl", Answered)

    def verdicts(self) -> list[Verdict]:
        return self._read("results.jsonl", Verdict)

    def add_answer(self, prediction: Prediction, answered: Answered) -> None:
        """The answer first: without a prediction, it is asked for again."""
        self._add("answers.jsonl", answered)
        self._add("predictions.jsonl", prediction)

    def add_verdict(self, verdict: Verdict) -> None:
        self._add("results.jsonl", verdict)

    def _add(self, name: str, row: Struct) -> None:
        """Whole or not at all, as far as anybody reads: a torn line is the last, and `_read` leaves it out."""
        with (self.folder / name).open("ab") as file:
            torn = file.tell() and not _ends_whole(self.folder / name)
            file.write((b"\n" if torn else b"") + msgspec.json.encode(row) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, name: str, kind: type[T]) -> list[T]:
        """Of several for an instance the last counts."""
        try:
            lines = (self.folder / name).read_bytes().splitlines()
        except FileNotFoundError:
            return []
        found: dict[str, T] = {}
        for line in lines:
            try:
                row = msgspec.json.decode(line, type=kind)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            found[row.instance_id] = row  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        return list(found.values())


def _ends_whole(file: Path) -> bool:
    with file.open("rb") as written:
        written.seek(-1, os.SEEK_END)
        return written.read(1) == b"\n"


def by_instance(rows: Sequence[T]) -> dict[str, T]:
    return {row.instance_id: row for row in rows}  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
