"""A path never undoes another path, and an undo is exact or says what it is not, over many random histories."""

import os
import random
import shutil
import stat
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest

from openagent.plugins.workspace import Caller
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.tree import shown
from openagent.workspace.writes import WorkspaceWrites
from tests.workspace.test_writes import SESSIONS, Delta, Tree, check, difference
from tests.workspace.trees import Editor, git, manifest

pytestmark = pytest.mark.anyio

HISTORIES = int(os.environ.get("OPENAGENT_UNDO_HISTORIES", "60"))
"""A thousand and more by hand."""
FIRST = int(os.environ.get("OPENAGENT_UNDO_FROM", "0"))
GROUPS = 6


class Rough(Editor):
    """What agents do to a folder on a bad day."""

    def edit(self, times: int) -> None:
        rough = (
            self.swap,
            self.nul_bytes,
            self.fifo,
            self.clean,
            self.stash,
            self.checkout,
            self.commit,
            self.worktree,
        )
        for _ in range(times):
            if self.random.random() < 0.5:
                super().edit(1)
            else:
                self.random.choice(rough)()

    def place(self) -> bytes:
        path = super().place()
        if os.path.lexists(path) and stat.S_ISFIFO(os.lstat(path).st_mode):
            os.unlink(path)  # whoever opened it would wait for a reader
        return path

    def move(self) -> None:
        super().move()
        for at, _, files in os.walk(self.root):
            for name in (b".gitignore", b".gitattributes"):
                if name in files and stat.S_ISFIFO(os.lstat(os.path.join(at, name)).st_mode):
                    os.unlink(os.path.join(at, name))

    def swap(self) -> None:
        """A file becomes a folder with the file in it, or a folder a file."""
        path = self.existing()
        if path is None or os.path.islink(path) or self._guarded(path):
            return
        if os.path.isdir(path):
            shutil.rmtree(path)
            with open(path, "wb") as file:
                file.write(self.content())
        elif stat.S_ISREG(os.lstat(path).st_mode):
            aside = path + b".aside"
            os.rename(path, aside)
            os.mkdir(path)
            os.rename(aside, os.path.join(path, self.random.choice((b"a", b"inside"))))

    def nul_bytes(self) -> None:
        path = self.place()
        if not os.path.lexists(path):
            with open(path, "wb") as file:
                file.write(b"one\0two\0" * self.random.randrange(1, 9))

    def fifo(self) -> None:
        path = self.existing() if self.random.random() < 0.3 else self.place()
        reads = path and path.endswith((b".gitignore", b".gitattributes"))  # git would wait for a writer
        if path and not reads and not self._guarded(path) and not os.path.isdir(path):
            if os.path.lexists(path):
                os.unlink(path)
            os.mkfifo(path)

    def clean(self) -> None:
        git(Path(os.fsdecode(self.root)), "clean", "-ffd" + self.random.choice(("", "x")), check=False)

    def stash(self) -> None:
        here = Path(os.fsdecode(self.root))
        git(here, "stash", *self.random.choice((("-u",), ("pop",), ())), check=False)

    def commit(self) -> None:
        here = Path(os.fsdecode(self.root))
        git(here, "add", "-A", check=False)
        git(here, "commit", "-qm", "some", check=False)

    def checkout(self) -> None:
        git(Path(os.fsdecode(self.root)), "checkout", "-qf", self.random.choice(("HEAD", "HEAD~1", "-")), check=False)

    def worktree(self) -> None:
        git(Path(os.fsdecode(self.root)), "worktree", "add", "-fq", "--detach", "tree", check=False)

    def _guarded(self, path: bytes) -> bool:
        return b".git" in path[len(self.root) :].split(b"/")


def everything(root: Path) -> Tree:
    """With FIFOs, of which nothing but that they are there can be told."""
    found = manifest(root)
    for at, names, files in os.walk(os.fsencode(root)):
        if at == os.fsencode(root) and b".git" in names:
            names.remove(b".git")
        for name in files:
            path = os.path.join(at, name)
            if stat.S_ISFIFO(os.lstat(path).st_mode):
                found[os.path.relpath(path, os.fsencode(root))] = ("fifo", 0, b"")
    return found


@pytest.mark.parametrize("group", range(GROUPS))
async def test_a_path_never_undoes_another_and_an_undo_is_exact_or_says_what_it_is_not(
    group: int, memory: Path
) -> None:
    writes = WorkspaceWrites(memory / "home", GitCheckpoints(memory / "home"))
    for number in range(FIRST + group * HISTORIES // GROUPS, FIRST + (group + 1) * HISTORIES // GROUPS):
        workspace = memory / f"workspace-{number}"
        workspace.mkdir()
        await _one_history(writes, workspace, number)
        subprocess.run(["chmod", "-R", "u+rwX", str(workspace)], check=True)
        shutil.rmtree(workspace)


async def _one_history(writes: WorkspaceWrites, workspace: Path, seed: int) -> None:
    chance = random.Random(seed)
    git(workspace, "init", "-q")
    editor = Rough(workspace, seed)
    editor.edit(chance.randrange(4, 20))
    editor.commit()
    done: list[tuple[str, int, Delta]] = []
    turns = dict.fromkeys(SESSIONS, 0)
    for _ in range(chance.randrange(2, 9)):
        who = chance.choice((*SESSIONS[:2], ""))
        before = everything(workspace)
        if who:
            turns[who] += chance.random() < 0.7 or not turns[who]
            window = await writes.begin(workspace, Caller(who, turns[who], "call"))
            editor.edit(chance.randrange(0, 6))
            await writes.end(window)
        else:
            editor.edit(chance.randrange(1, 4))
        done.append((who, turns.get(who, 0), difference(before, everything(workspace))))
    acting = [name for name, turn in turns.items() if turn]
    if not acting:
        return
    who = chance.choice(acting)
    turn = chance.randrange(1, turns[who] + 1)
    where = f"seed {seed}, {who} from turn {turn}"
    touched = sorted({path for name, number, delta in done if name == who and number >= turn for path in delta})
    if touched:
        await _some(writes, workspace, done, who, turn, chance, touched, where)
    now = everything(workspace)
    restored = await writes.rewind(workspace, who, turn)
    check(done, who, turn, now, everything(workspace), restored, where)
    if restored is not None:
        assert await writes.unrewind(workspace, who, restored.undo) is not None
        assert everything(workspace) == now, f"{where}: not all came back"


async def _some(
    writes: WorkspaceWrites,
    workspace: Path,
    done: list[tuple[str, int, Delta]],
    who: str,
    turn: int,
    chance: random.Random,
    touched: list[bytes],
    where: str,
) -> None:
    """Undoes some paths, files and folders, and brings them back."""
    chosen = {chance.choice(touched) for _ in range(chance.randrange(1, 4))}
    raw = {path.rpartition(b"/")[0] if b"/" in path and chance.random() < 0.3 else path for path in chosen}
    where = f"{where}, only {sorted(raw)}"
    now = everything(workspace)
    overwrite = chance.random() < 0.3
    refused, restored = "", None
    try:
        restored = await writes.rewind(workspace, who, turn, paths=[shown(path) for path in raw], overwrite=overwrite)
    except OpenAgentError as problem:
        refused = problem.info.message
    if refused:
        assert refused.endswith("Nothing was undone."), where
        assert everything(workspace) == now, f"{where}: refused, and still something was done"
        return
    assert restored is not None
    after = everything(workspace)
    for path in now.keys() | after.keys():
        if after.get(path) != now.get(path) and not within(path, raw):
            makes_way = path not in now and any(each.startswith(path + b"/") for each in after if within(each, raw))
            assert makes_way, f"{where}: {path!r} was not named"
    if not overwrite:
        limited = [(name, number, {p: d for p, d in delta.items() if within(p, raw)}) for name, number, delta in done]
        check(limited, who, turn, now, after, restored, where)
    assert await writes.unrewind(workspace, who, restored.undo) is not None
    assert everything(workspace) == now, f"{where}: not all came back"


def within(path: bytes, chosen: Collection[bytes]) -> bool:
    return any(path == each or path.startswith(each + b"/") for each in chosen)
