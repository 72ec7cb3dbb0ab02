"""Several sessions and a person in one folder: rewinding one restores its writes, and not a byte of others'."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from openagent.client import Attachment, Client
from openagent.protocol.undo import SessionChanges, SessionRedo, SessionUndo
from tests.workspace.trees import Entry, manifest

from .doing import ask, call
from .house import MODEL, House, house

pytestmark = pytest.mark.anyio

HISTORIES = int(os.environ.get("OPENAGENT_UNDO_HISTORIES", "8"))
"""Five hundred and more by hand."""
FIRST = int(os.environ.get("OPENAGENT_UNDO_FROM", "0"))
GROUP = 4
RECORDED = os.environ.get("OPENAGENT_UNDO_COMMANDS", "")
"""A file of recorded commands, a JSON object with `command` on each line, to be used in place of our own."""
OWN = Path(__file__).with_name("commands.txt")
RECORDED_AT = "/home/user/project"
SECONDS = 4.0
FILES = ("a.txt", "b.txt", "src/c.py", "new/d.md", "e.txt")

IMPATIENT = "[limits]\nask_timeout = 0.1\n"
"""Nobody is there to allow what is asked for even in full mode."""

Tree = dict[bytes, Entry]


def commands() -> list[str]:
    if RECORDED:
        return [json.loads(line)["command"] for line in Path(RECORDED).read_text().splitlines()]
    return [line.replace("\\n", "\n") for line in OWN.read_text().splitlines()]


class History:
    """One folder, who does what in it, and what was seen of it from outside."""

    def __init__(self, workspace: Path, seed: int, known: list[str]) -> None:
        self.workspace = workspace
        self.chance = random.Random(seed)
        self.known = known
        self.seed = seed
        self.seen: list[tuple[int, int, dict[bytes, tuple[Entry | None, Entry | None]]]] = []
        """Session, or -1 for the person; its turn; what changed."""
        workspace.mkdir()
        (workspace / "src").mkdir()
        for name in ("a.txt", "b.txt", "src/c.py"):
            (workspace / name).write_text("".join(f"{name} line {n} alpha beta\n" for n in range(20)))

    def step(self) -> dict[str, Any]:
        """One call of a session's turn."""
        kind = self.chance.randrange(6)
        path = self.chance.choice(FILES)
        word = f"w{self.chance.randrange(10**6)}"
        if kind == 0:
            return call("write_file", path=path, content=f"{word}\n" * self.chance.randrange(1, 30))
        if kind == 1:
            old = f"{path} line {self.chance.randrange(20)} alpha beta\n"
            return call("edit_file", path=path, old=old, new=f"edited {word}\n")
        command = self.chance.choice(self.known).replace(RECORDED_AT, str(self.workspace))
        return call("shell", command=command, timeout=SECONDS)

    def person(self) -> None:
        path = self.workspace / self.chance.choice(FILES)
        kind = self.chance.randrange(4)
        word = f"person {self.chance.randrange(10**6)}\n"
        if not path.is_file():
            if not path.parent.exists() or path.parent.is_dir():
                path.parent.mkdir(exist_ok=True)
                if not path.exists() and not path.is_symlink():
                    path.write_text(word)
        elif kind == 0:
            path.unlink()
        elif kind == 1:
            path.write_text(word)
        else:
            lines = path.read_bytes().splitlines(keepends=True)
            lines.insert(self.chance.randrange(len(lines) + 1), word.encode())
            path.write_bytes(b"".join(lines))


async def one_history(h: House, client: Client, number: int, known: list[str]) -> None:
    history = History(h.workspace / str(number), number, known)
    chance = history.chance
    plan = [chance.choice((0, 1, 2, -1)) for _ in range(chance.randrange(3, 9))]
    steps = [[history.step() for _ in range(chance.randrange(1, 4))] if who >= 0 else [] for who in plan]
    conversations = [
        {
            "match": f"history {number} session {who} ",
            "steps": [
                step
                for mine, some in zip(plan, steps, strict=True)
                if mine == who
                for step in (*some, {"text": "done"})
            ],
        }
        for who in range(3)
    ]
    h.sim.reset({"conversations": conversations})
    sessions: dict[int, Attachment] = {}
    turns = dict.fromkeys(range(3), 0)
    for who in plan:
        before = manifest(history.workspace)
        if who < 0:
            history.person()
        else:
            if who not in sessions:
                info = await client.create_session(str(history.workspace), model=MODEL, mode="full")
                sessions[who] = await client.attach(info.id)
            turns[who] += 1
            await client.send(sessions[who].session, f"history {number} session {who} ")
            completed, _ = await sessions[who].until_turn_ends()
            assert completed.reason == "done", completed
        after = manifest(history.workspace)
        delta = {
            path: (before.get(path), after.get(path))
            for path in before.keys() | after.keys()
            if before.get(path) != after.get(path)
        }
        history.seen.append((who, turns.get(who, 0), delta))
    if sessions:
        who = chance.choice(list(sessions))
        await rewound(client, history, who, chance.randrange(1, turns[who] + 1), sessions[who])


async def rewound(client: Client, history: History, who: int, turn: int, attachment: Attachment) -> None:
    session = attachment.session
    now = manifest(history.workspace)
    done = await ask(client, SessionUndo, session=session, turn=turn, conversation=True)
    after = manifest(history.workspace)
    reported = {left.path for left in done.others} | {problem.split(": ")[0] for problem in done.kept}
    first: dict[bytes, Entry | None] = {}
    mixed: set[bytes] = set()
    for name, number, delta in history.seen:
        for path, (old, _) in delta.items():
            if name == who and number >= turn:
                first.setdefault(path, old)
            elif path in first:
                mixed.add(path)
    where = f"history {history.seed}, session {who} to before turn {turn}"
    for path in now.keys() | after.keys():
        told = path.decode(errors="backslashreplace")
        inside = any(other.startswith(path + b"/") for other in after)
        if path not in first:
            needed = path not in now and inside
            assert needed or after.get(path) == now.get(path), f"{where}: {told} is somebody else's"
        elif path not in mixed and after.get(path) != first[path]:
            assert told in reported or (first[path] is None and inside), f"{where}: {told} was not taken back"
        elif path in mixed:
            kept = after.get(path) in (now.get(path), first[path]) or told in reported
            assert kept or told in done.merged, f"{where}: {told} is neither as it was nor merged"
            for line in _persons(now.get(path)):
                assert line in _persons(after.get(path)), f"{where}: {told} lost {line!r}"
    left = await ask(client, SessionChanges, session=session)
    assert turn > 1 or {file.path for file in left.files} <= reported, where
    await ask(client, SessionRedo, session=session, undo=done.undo)
    assert manifest(history.workspace) == now, f"{where}: not all came back"


def _persons(entry: Entry | None) -> list[bytes]:
    return [line for line in entry[2].splitlines() if line.startswith(b"person ")] if entry else []


async def test_rewinding_one_of_several_restores_its_writes_and_no_byte_of_others(tmp_path: Path) -> None:
    known = commands()
    for group in range(FIRST, FIRST + HISTORIES, GROUP):
        place = tmp_path / str(group)
        place.mkdir()
        async with house(place, [{"text": "-"}], config=IMPATIENT) as h, await h.client() as client:
            for number in range(group, min(group + GROUP, FIRST + HISTORIES)):
                await one_history(h, client, number, known)
