"""Random folders, random edits, and what a folder holds to the last bit."""

import os
import random
import shutil
import stat
import subprocess
from contextlib import suppress
from pathlib import Path

from openagent.plugins.workspace import Checkpoint, Checkpoints

NAMES = [
    b"a",
    b"b.txt",
    b"c.py",
    b"build",
    b"x.log",
    b"\xff\xfe bytes",
    "ümläut".encode(),
    b"new\nline",
    b"sp ace",
    b".hidden",
    b".gitignore",
    b".gitattributes",
    b".openagent",
    b"-dash",
    b"sub",
    b'quo"te',
]
MODES = [0o644, 0o755, 0o600, 0o444, 0o400, 0o777, 0o664]
FOLDER_MODES = [0o755, 0o700, 0o750, 0o555, 0o1777]

Entry = tuple[str, int, bytes]


def manifest(root: Path, *, without: tuple[bytes, ...] = (b".git",)) -> dict[bytes, Entry]:
    """Everything below a folder: type, mode, and bytes or link target. Empty folders count."""
    found: dict[bytes, Entry] = {}

    def visit(folder: bytes, prefix: bytes) -> None:
        for name in os.listdir(folder):
            path, inside = os.path.join(folder, name), prefix + name
            if inside in without:
                continue
            status = os.lstat(path)
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISDIR(status.st_mode):
                found[inside] = ("folder", mode, b"")
                visit(path, inside + b"/")
            elif stat.S_ISLNK(status.st_mode):
                found[inside] = ("link", 0, os.readlink(path))
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    found[inside] = ("file", mode, file.read())

    visit(os.fsencode(root), b"")
    return found


class Editor:
    """Does to a folder what an agent may do to it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = os.fsencode(root)
        self.random = random.Random(seed)

    def edit(self, times: int) -> None:
        """What the permissions do not allow an ordinary user is not done."""
        kinds = (self.write,) * 3 + (
            self.remove,
            self.chmod,
            self.make_folder,
            self.link,
            self.move,
            self.nest_repository,
        )
        for _ in range(times):
            with suppress(PermissionError):
                self.random.choice(kinds)()

    def folders(self) -> list[bytes]:
        found = [self.root]
        for at, names, _ in os.walk(self.root):
            if at == self.root and b".git" in names:
                names.remove(b".git")
            found += [os.path.join(at, name) for name in names if not os.path.islink(os.path.join(at, name))]
        return found

    def place(self) -> bytes:
        """A path that exists, or not."""
        return os.path.join(self.random.choice(self.folders()), self.random.choice(NAMES))

    def existing(self) -> bytes | None:
        every = [
            os.path.join(at, name)
            for at in self.folders()
            for name in os.listdir(at)
            if os.path.join(at, name) != os.path.join(self.root, b".git")
        ]
        return self.random.choice(every) if every else None

    def content(self) -> bytes:
        kind = self.random.randrange(6)
        if kind == 0:
            return b""
        if kind == 1:
            return self.random.randbytes(self.random.randrange(1, 300))
        if kind == 2:
            return b"*.log\nbuild/\n"
        if kind == 3:
            return b"* text=auto eol=crlf ident filter=x\n"
        ending = self.random.choice((b"\n", b"\r\n"))
        return ending.join(b"line %d $Id$" % self.random.randrange(9) for _ in range(self.random.randrange(1, 12)))

    def write(self) -> None:
        path = self.place()
        if os.path.isdir(path) and not os.path.islink(path):
            return
        if os.path.islink(path):
            os.unlink(path)
        with open(path, "wb") as file:
            file.write(self.content())
        if self.random.random() < 0.3:
            os.chmod(path, self.random.choice(MODES))

    def remove(self) -> None:
        if path := self.existing():
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)

    def chmod(self) -> None:
        path = self.existing()
        if path and not os.path.islink(path):
            os.chmod(path, self.random.choice(FOLDER_MODES if os.path.isdir(path) else MODES))

    def make_folder(self) -> None:
        path = self.place()
        if not os.path.lexists(path):
            os.mkdir(path)

    def link(self) -> None:
        path = self.place()
        if not os.path.lexists(path):
            os.symlink(self.random.choice((b"a", b"../b.txt", b"/etc/passwd", b"\xff", b"no/where", b".")), path)

    def move(self) -> None:
        source, target = self.existing(), self.place()
        if source and not os.path.lexists(target) and not (target + b"/").startswith(source + b"/"):
            os.rename(source, target)

    def nest_repository(self) -> None:
        """A repository inside, or a submodule's folder: what git itself would keep as a mere link to a commit."""
        at = self.random.choice(self.folders())
        if at == self.root or os.path.lexists(os.path.join(at, b".git")):
            return
        if self.random.random() < 0.5:
            with open(os.path.join(at, b".git"), "wb") as file:
                file.write(b"gitdir: ../.git/modules/sub\n")
            return
        os.makedirs(os.path.join(at, b".git", b"refs", b"heads"))
        for name, data in ((b"HEAD", b"ref: refs/heads/main\n"), (b"config", b"[core]\n\tbare = false\n")):
            with open(os.path.join(at, b".git", name), "wb") as file:
                file.write(data)


async def taken(checkpoints: Checkpoints, workspace: Path, session: str = "session", turn: int = 1) -> Checkpoint:
    checkpoint = await checkpoints.take(workspace, session, turn)
    assert checkpoint is not None
    return checkpoint


def git(root: Path, *arguments: str, check: bool = True) -> str:
    settings = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *settings, *arguments], cwd=root, capture_output=True, check=check)
    return done.stdout.decode("utf-8", "surrogateescape")


def repository_state(root: Path) -> tuple[object, ...]:
    """Everything of the user's own repository that must not change by our doing."""
    files = {
        path: entry for path, entry in manifest(root / ".git", without=()).items() if not path.startswith(b"objects/")
    }
    objects = sorted(str(path) for path in (root / ".git" / "objects").rglob("*"))
    return files, objects
