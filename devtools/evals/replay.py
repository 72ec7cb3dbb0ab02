"""Recorded sessions, made again here: a scripted model hands out the recorded calls, and everything else is real."""

import asyncio
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import Struct

from devtools.evals.recordings import Call, Recording, Step, Turn
from openagent.client import Attachment, Client
from openagent.protocol.conversation import QuestionAnswer
from openagent.protocol.events import MessageAdded, PermissionRequested, QuestionAsked, TurnCompleted
from openagent.protocol.messages import Message, ToolCallPart, ToolResultPart
from openagent.protocol.sessions import GrantScope, PermissionAsk, Question
from openagent.protocol.undo import SessionUndo

PATIENCE = 900.0
"""Seconds of a turn after which it counts as hung."""
HUNG = "hung"
_TEMPLATE = re.compile(r"\{(last_result|last_user|first_user|model|step)\}")
_SHOWN = 400
"""Characters of a result in a report."""
_PATHS = ("path", "command", "patch", "pattern", "task")
_THEIR_PATHS = ("file_path", "cmd", "workdir", "input", "prompt", *_PATHS)
"""Arguments in which the recording's own folder stands for the workspace; file contents are left as they are."""


class Tally(Struct):
    calls: int = 0
    failed_here: int = 0
    failed_there: int = 0
    only_here: int = 0
    """Failed here, and not there."""


class Difference(Struct, frozen=True):
    """A call that failed here and not there."""

    tool: str
    arguments: dict[str, Any]
    here: str
    there: str
    made_before: bool = False
    """The same call was refused there at first, and made here at once: nothing was left to do."""


class Undone(Struct, frozen=True):
    """What was left of a session when all its turns had been taken back."""

    changed: int
    """Files that it had made, changed or removed."""
    left: list[str]
    """Those of them that are not as they were before."""
    told: list[str]
    """What the rewind itself said it had left, and why."""
    seconds: float


class Replayed(Struct):
    name: str
    ends: list[str] = []
    """How each turn ended."""
    handed_out: int = 0
    calls: dict[str, Tally] = {}
    differences: list[Difference] = []
    left_out: dict[str, int] = {}
    asked: list[str] = []
    """What a person was asked to allow, in order."""
    seconds: float = 0.0
    undone: "Undone | None" = None
    """When all of it was taken back afterwards."""

    @property
    def well(self) -> bool:
        return all(end == "done" for end in self.ends)


def placed(recording: Recording, workspace: Path) -> Recording:
    """As it would have been recorded in this folder. What sub-agents did is made relative: they may work in a copy."""
    root = recording.root.rstrip("/")
    if not root:
        return recording
    inside, itself = re.compile(re.escape(root) + r"/(?=[\w.-])"), re.compile(re.escape(root) + r"(?![\w.-])")

    def here(text: str) -> str:
        return itself.sub(str(workspace), text)

    def anywhere(text: str) -> str:
        return itself.sub(".", inside.sub("", text))

    return msgspec.structs.replace(
        recording,
        turns=[
            msgspec.structs.replace(turn, steps=[_moved(step, here) for step in turn.steps]) for turn in recording.turns
        ],
        below={here(task): [_moved(step, anywhere) for step in steps] for task, steps in recording.below.items()},
        root=str(workspace),
    )


def _moved(step: Step, move: Callable[[str], str]) -> Step:
    def arguments(given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value(each, movable=name in _THEIR_PATHS) for name, each in given.items()}

    def value(given: Any, *, movable: bool = False) -> Any:
        if isinstance(given, dict):
            return arguments(cast("dict[str, Any]", given))
        if isinstance(given, list):
            return [value(each, movable=movable) for each in cast("list[Any]", given)]
        return move(given) if movable and isinstance(given, str) else given

    return Step(
        [
            msgspec.structs.replace(call, arguments=arguments(call.arguments), given=arguments(call.given))
            for call in step.calls
        ]
    )


def script_of(recording: Recording, *, as_recorded: bool = False) -> dict[str, Any]:
    """For the simulator. `as_recorded`: with the names and arguments that the calls had there."""
    main = [scripted for turn in recording.turns for scripted in _scripted(turn.steps, turn.answer, as_recorded)]
    below = [
        {"name": f"below {number}", "match": {"said": task}, "steps": _scripted(steps, "Done.", as_recorded)}
        for number, (task, steps) in enumerate(recording.below.items())
        if task
    ]
    return {"conversations": [*below, {"name": "main", "steps": main}]}


def _scripted(steps: Sequence[Step], answer: str, as_recorded: bool) -> list[dict[str, Any]]:
    def call(made: Call) -> dict[str, Any]:
        name, given = (made.theirs, made.given) if as_recorded and made.theirs else (made.tool, made.arguments)
        return {"name": name, "arguments": _as_it_is(given)}

    calls = [list(map(call, step.calls)) for step in steps]
    return [*({"tool_calls": those} for those in calls), {"text": _TEMPLATE.sub(r"(\1)", answer) or "Done."}]


def _as_it_is(arguments: Mapping[str, Any]) -> str:
    """JSON in which the simulator finds no template of its own: recorded code is full of braces."""
    return _TEMPLATE.sub(r"\\u007b\1}", msgspec.json.encode(arguments).decode())


async def replay(
    client: Client, recording: Recording, session: str, *, patience: float = PATIENCE, scope: GrantScope = "once"
) -> Replayed:
    """The model must have its script already. Whatever is asked is allowed, for so long, and questions get the recorded
    answers."""
    result = Replayed(recording.name, left_out=recording.left_out)
    person = _Person(client, scope, result.asked)
    began = time.monotonic()
    attachment = await client.attach(session)
    ahead: set[bytes] = set()
    for turn in recording.turns:
        heard: list[Message] = []
        await client.send(session, turn.prompt)
        try:
            async with asyncio.timeout(patience):
                result.ends.append(await _until_the_end(person, attachment, turn, heard))
        except TimeoutError:
            result.ends.append(HUNG)
            if await client.cancel(session):
                await attachment.until_turn_ends()
        _compare(turn, heard, result, ahead)
        if result.ends[-1] == HUNG:
            break
    result.seconds = round(time.monotonic() - began, 3)
    await attachment.detach()
    return result


Files = dict[str, bytes]
"""Of a workspace: each path with what it holds."""


def files_of(workspace: Path) -> Files:
    """Without what git keeps for itself: its state goes back only when that is asked for."""
    found: Files = {}
    for folder, below, names in os.walk(workspace):
        below[:] = [name for name in below if name != ".git"]
        for path in (Path(folder, name) for name in names):
            held = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(workspace))] = hashlib.sha256(held).digest()
    return found


async def undo_all(client: Client, session: str, workspace: Path, before: Files) -> Undone:
    after = await asyncio.to_thread(files_of, workspace)
    began = time.monotonic()
    rewound = await client.request(SessionUndo(id=client.next_id(), session=session, turn=1, conversation=True))
    seconds = time.monotonic() - began
    at_last = await asyncio.to_thread(files_of, workspace)
    told = [*rewound.kept, *(f"{each.path}: {each.reason}" for each in rewound.others)]
    return Undone(len(_differing(before, after)), _differing(before, at_last), told, round(seconds, 3))


def _differing(some: Files, others: Files) -> list[str]:
    return sorted(name for name in some.keys() | others.keys() if some.get(name) != others.get(name))


class _Person(NamedTuple):
    client: Client
    scope: GrantScope
    asked: list[str]

    async def allow(self, session: str, ask: PermissionAsk) -> None:
        self.asked.append(f"{ask.tool}: {ask.summary} ({ask.reason})")
        await self.client.answer_permission(session, ask.id, allow=True, scope=self.scope)

    async def answer(self, session: str, question: Question, said: str) -> None:
        op = QuestionAnswer(id=self.client.next_id(), session=session, question=question.id, answer=said)
        await self.client.request(op)


async def _until_the_end(person: _Person, attachment: Attachment, turn: Turn, heard: list[Message]) -> str:
    """What sub-agents ask is asked in their caller's session too."""
    async for event in attachment.events():
        match event:
            case MessageAdded(message=message):
                heard.append(message)
            case PermissionRequested(ask=ask, session=session):
                await person.allow(session, ask)
            case QuestionAsked(question=question, session=session):
                await person.answer(session, question, _answer(turn, question))
            case TurnCompleted(reason=reason, error=error):
                return f"{reason}: {error.message}" if error else reason
            case _:
                pass
    return "the connection was lost"


def _answer(turn: Turn, question: Question) -> str:
    """What was answered there."""
    for call in (call for step in turn.steps for call in step.calls):
        if call.arguments.get("question") == question.text and call.result and not call.failed:
            return call.result
    return question.choices[0] if question.choices else "As you think best."


def _compare(turn: Turn, heard: Sequence[Message], result: Replayed, ahead: set[bytes]) -> None:
    """`ahead` are calls that were refused there and made here."""
    results = {part.call_id: part for message in heard for part in message.parts if isinstance(part, ToolResultPart)}
    for recorded, made in _pairs(turn, heard):
        result.handed_out += 1
        tally = result.calls.setdefault(recorded.tool, Tally())
        tally.calls += 1
        here = results.get(made.id)
        failed = here is None or here.is_error
        tally.failed_here += failed
        tally.failed_there += bool(recorded.failed)
        which = msgspec.json.encode((recorded.tool, recorded.arguments))
        if recorded.failed and not failed:
            ahead.add(which)
        if failed and recorded.failed is False:
            tally.only_here += 1
            told = here.text if here else "It has no result."
            result.differences.append(
                Difference(recorded.tool, recorded.arguments, told[:_SHOWN], recorded.result[:_SHOWN], which in ahead)
            )


def _pairs(turn: Turn, heard: Sequence[Message]) -> Iterator[tuple[Call, ToolCallPart]]:
    answers = [message for message in heard if message.tool_calls]
    for step, message in zip(turn.steps, answers, strict=False):
        yield from zip(step.calls, message.tool_calls, strict=False)


def lay_out(workspace: Path, *, files: Path | None = None, history: Path | None = None, began: float = 0.0) -> None:
    """What the recording started from: a folder's files, or a repository as it was at that time."""
    shutil.rmtree(workspace, ignore_errors=True)
    if files is not None:
        shutil.copytree(files, workspace, symlinks=True)
        return
    workspace.mkdir()
    if history is None:
        return
    git = ["git", "--git-dir", str(history)]
    listed = [*git, "rev-list", "-1", f"--before={int(began)}", "HEAD"]
    commit = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.strip() or "HEAD"
    with subprocess.Popen([*git, "archive", commit], stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x", "-C", str(workspace)], stdin=archive.stdout, check=True)
    who = ["-c", "user.name=replay", "-c", "user.email=replay@localhost"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "--allow-empty", "-m", "as it was"]):
        subprocess.run(["git", *command], cwd=workspace, check=True, capture_output=True)


def began_at(recording: Recording, path: Path) -> float:
    """Seconds; from the recording itself, or from the time in a file's or folder's name."""
    if recording.began:
        return datetime.fromisoformat(recording.began).timestamp()
    stamp = re.search(r"(?<!\d)(1[5-9]\d{8})(?!\d)", str(path))
    return float(stamp.group(1)) if stamp else time.time()
