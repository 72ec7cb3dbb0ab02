"""Commands beside a plain bash, one after another: text, exit code, directory, variables, options and files.

    python -m tests.jail.lockstep COMMANDS.jsonl [--skip N] [--limit N] [--project /home/user/project]

Each line of the file is an object with `command`. Three copies of one tree are made: the jail's shell works in the
first, and a plain bash in each of the others, outside the jail's walls but with nothing writable except its copy, and
without a network. Where the two plain ones disagree with each other, the command has no one answer: it is counted.
"""

import argparse
import asyncio
import collections
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TextIO

from openagent.jail.bwrap import BwrapJail
from openagent.jail.inside import read_git_identity, settings_files
from openagent.jail.shell import PersistentShell
from openagent.plugins.jail import Jail

PATIENCE = 3.0
NAMES = ("ours", "bsh1", "bsh2")
"""As long as each other, so that nothing that prints a path is longer in one of them."""
STATE = "declare -p; declare -f; alias -p; shopt -p; set +o; umask"
_OWN = re.compile(
    r"declare -\S+ (?:BASH\w*|GIT_CONFIG_SYSTEM|COPROC_PID|DIRSTACK|EPOCH\w+|E?UID|FUNCNAME|GROUPS|HISTCMD|"
    r"LINENO|OLDPWD|PIPESTATUS|PPID|PWD|S?RANDOM|SECONDS|SHLVL|_|__last|__text|_oa\w*)(?:=|$)"
)
_KILLED = re.compile(r"(line N:) +\d+ (?=Killed|Terminated)")
_LINE_NUMBER = re.compile(r"\bline \d+(?=[: ]|$)", re.MULTILINE)


class Seen(NamedTuple):
    text: str
    code: int | None
    """None: it was still running when patience ended."""
    directory: str
    state: frozenset[str]
    status: str
    """What the next command sees as `$?`."""
    ended: bool = False
    """The shell is over."""


@dataclass
class Difference:
    number: int
    command: str
    what: str
    ours: str
    theirs: str


@dataclass
class Report:
    compared: int = 0
    equal: int = 0
    unsure: list[str] = field(default_factory=list[str])
    too_long: list[str] = field(default_factory=list[str])
    ended: int = 0
    differences: list[Difference] = field(default_factory=list[Difference])

    @property
    def different(self) -> int:
        return len({difference.number for difference in self.differences})


class PlainBash:
    """Bash reading lines from a pipe; each evaluates one command."""

    def __init__(self, folder: Path, env: Mapping[str, str], directory: Path | None = None) -> None:
        self._folder = folder
        self._control = folder.parent.with_name(f"{folder.parent.name}.control") / folder.name
        shutil.rmtree(self._control, ignore_errors=True)
        self._control.mkdir(parents=True)
        for path, text in settings_files(1000, 1000, read_git_identity()).items():
            (self._control / Path(path).name).write_text(text)
        os.mkfifo(self._control / "done")
        self._done = os.open(self._control / "done", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        inside = [
            *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
            *("--bind", str(folder), str(folder), "--bind", str(self._control), str(self._control)),
            *("--ro-bind", str(self._control / "passwd"), "/etc/passwd"),
            *("--ro-bind", str(self._control / "group"), "/etc/group"),
            *("--unshare-all", "--die-with-parent", "--new-session", "--uid", "1000", "--gid", "1000"),
            *("--hostname", "openagent", "--cap-drop", "ALL", "--chdir", str(directory or folder)),
        ]
        self._process = subprocess.Popen(
            ["bwrap", *inside, "bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**env, "GIT_CONFIG_SYSTEM": str(self._control / "gitconfig")},
            start_new_session=True,
        )
        self._send("__last=0")

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            pass

    def run(self, command: str) -> Seen:
        seen = self._run(command)
        if seen.ended or seen.code is None:
            return seen
        return seen._replace(status=self._run("printf %s $?").text)

    def _run(self, command: str) -> Seen:
        control = self._control
        (control / "command").write_text(command, errors="surrogateescape")
        for name in ("out", "code", "state"):
            (control / name).unlink(missing_ok=True)
        self._send(
            f"IFS= read -r -d '' __text <{control}/command; (exit $__last) && :\n"
            f'eval "$__text" </dev/null >{control}/out 2>&1; __last=$?; '
            f'{{ printf "%s\\n%s" $__last "$PWD" >{control}/code; {{ {STATE}; }} >{control}/state; echo; }} '
            f"1<>{control}/done 2>/dev/null"
        )
        ended = not self._wait()
        text = (control / "out").read_bytes().decode(errors="replace") if (control / "out").exists() else ""
        if ended or not (control / "code").exists():
            code = self._process.poll()
            return Seen(text, code, "", frozenset(), "", ended=True)
        code, _, directory = (control / "code").read_text().partition("\n")
        return Seen(text, int(code), directory, relevant((control / "state").read_text(errors="replace")), "")

    def _wait(self) -> bool:
        """False when it ended, or did not end in time."""
        for _ in range(int(PATIENCE * 20)):
            if select.select([self._done], [], [], 0.05)[0]:
                os.read(self._done, 64)
                return True
            if self._process.poll() is not None:
                return False
        return False

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        os.close(self._done)


class OurBash:
    def __init__(self, shell: PersistentShell, workspace: Path) -> None:
        self._shell = shell
        self._workspace = str(workspace)

    @classmethod
    async def start(cls, jail: Jail, workspace: Path) -> "OurBash":
        shell = await jail.open("lockstep", workspace)
        assert isinstance(shell, PersistentShell)
        return cls(shell, workspace)

    async def run(self, command: str) -> Seen:
        result = await self._shell.run(command, timeout=PATIENCE, merged=True)
        if result.notes or result.exit_code is None:
            return Seen(result.stdout, result.exit_code, "", frozenset(), "", ended=True)
        directory = self._shell.directory
        status = (await self._shell.run("printf %s $?", timeout=PATIENCE, merged=True)).stdout
        state = await self._shell.run(f"{{ {STATE}; }} 2>/dev/null", timeout=PATIENCE, cwd=self._workspace)
        return Seen(result.stdout, result.exit_code, directory, relevant(state.stdout), status)

    async def environment(self) -> dict[str, str]:
        seen = await self._shell.run("env -0", cwd=self._workspace)
        return dict(entry.split("=", 1) for entry in seen.stdout.split("\0") if entry)

    async def close(self) -> None:
        await self._shell.close()


def relevant(state: str) -> frozenset[str]:
    return frozenset(line for line in state.splitlines() if not _OWN.match(line))


class Files:
    """What is in a folder. A file is read again when it looks changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, tuple[tuple[int, int, int, int], bytes]] = {}

    def now(self) -> dict[str, tuple[int, bytes]]:
        found: dict[str, tuple[int, bytes]] = {}
        for root, folders, names in os.walk(self._folder):
            # Git's index holds times and inode numbers (what git says is compared), a home caches and logs with dates.
            folders[:] = [name for name in folders if name not in (".git", ".home")]
            for name in (*folders, *names):
                path = os.path.join(root, name)
                status = os.lstat(path)
                sign = (status.st_mode, status.st_size, status.st_ino, status.st_ctime_ns)
                if (known := self._read.get(path)) is None or known[0] != sign:
                    known = self._read[path] = (sign, self._content(Path(path)))
                found[path.removeprefix(f"{self._folder}/")] = (status.st_mode, known[1])
        return found

    def _content(self, path: Path) -> bytes:
        content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        return content.replace(str(self._folder).encode(), b"PROJECT")


def make_tree(folder: Path, commands: Sequence[str], project: str) -> None:
    """A repository with the files that the commands speak of."""
    named = re.compile(rf"{re.escape(project)}/([\w./-]+)|(?<=[\s\"'=(])((?:[\w.-]+/)+[\w.-]+)")
    for command in commands:
        for match in named.finditer(command):
            name = (match[1] or match[2]).strip("/.")
            if ".." in name or "//" in name or len(name) > 120 or name.startswith((".git/", "home/", "tmp/")):
                continue
            path = folder / name
            try:
                if "." in path.name.lstrip("."):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    if not path.exists():
                        path.write_text(
                            "".join(f"line {number} of {name}: def test import\n" for number in range(1, 30))
                        )
                else:
                    path.mkdir(parents=True, exist_ok=True)
            except OSError:
                continue
    (folder / "package.json").write_text(
        '{"name": "project", "version": "1.0.0", "scripts": {"test": "echo tested"}}\n'
    )
    (folder / "README.md").write_text("# Project\n\nWhat it is.\n")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    dates = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "First"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True, env={**os.environ, **dates}, capture_output=True)


class Lockstep:
    def __init__(self, root: Path, commands: Sequence[str], project: str, tree: Path | None = None) -> None:
        self._commands = commands
        self._project = project
        self._folders = [root / name for name in NAMES]
        template = root / "tree"
        if tree is None:
            template.mkdir()
            make_tree(template, commands, project)
        else:
            shutil.copytree(tree, template, symlinks=True)
        (template / ".home").mkdir(exist_ok=True)
        for folder in self._folders:
            shutil.copytree(template, folder, symlinks=True)
        self._files = [Files(folder) for folder in self._folders]
        self._jail = BwrapJail(env={"HOME": f"{self._folders[0]}/.home", "EMAIL": "agent@example.com"})
        self.report = Report()

    async def run(self, progress: TextIO | None = None) -> Report:
        await self._start()
        try:
            for number, command in enumerate(self._commands):
                known = len(self.report.differences)
                await self._step(number, command)
                if progress is not None:
                    self._tell(progress, number + 1, self.report.differences[known:])
        finally:
            await self._stop()
        return self.report

    def _tell(self, progress: TextIO, number: int, differences: Sequence[Difference]) -> None:
        for each in differences:
            progress.write(f"--- {each.number} {each.what}: {each.command[:300]!r}\n")
            progress.write(f"    ours: {each.ours[:400]!r}\n    bash: {each.theirs[:400]!r}\n")
        if number % 50 == 0 or number == len(self._commands):
            report = self.report
            progress.write(
                f"{number} commands: {report.compared} compared, {report.equal} equal, {report.different} different, "
                f"{len(report.too_long)} took more than {PATIENCE:g} s, {len(report.unsure)} in which the two plain "
                f"ones differ, {report.ended} ended the shell in both\n"
            )
        progress.flush()

    async def _start(self) -> None:
        self._ours = await OurBash.start(self._jail, self._folders[0])
        env = await self._ours.environment()
        self._plain = [
            PlainBash(folder, {**env, "HOME": f"{folder}/.home", "PWD": str(folder)}) for folder in self._folders[1:]
        ]

    async def _stop(self) -> None:
        await self._ours.close()
        for plain in self._plain:
            plain.close()

    async def _step(self, number: int, command: str) -> None:
        texts = [command.replace(self._project, str(folder)) for folder in self._folders]
        ours, first, second = await asyncio.gather(
            self._ours.run(texts[0]),
            *(asyncio.to_thread(plain.run, text) for plain, text in zip(self._plain, texts[1:], strict=True)),
        )
        seen = [self._normal(each, folder) for each, folder in zip((ours, first, second), self._folders, strict=True)]
        trees = await asyncio.gather(*(asyncio.to_thread(files.now) for files in self._files))
        self._judge(number, command, seen, trees)
        if any(each.ended or each.code is None for each in seen):
            await self._stop()
            await self._start()
        if trees[0] != trees[1] or trees[1] != trees[2]:
            self._level(trees)

    def _normal(self, seen: Seen, folder: Path) -> Seen:
        def plain(text: str) -> str:
            return text.replace(str(folder), self._project)

        text = _LINE_NUMBER.sub("line N", plain(seen.text)).replace("bash: eval: line", "bash: line")
        text = _KILLED.sub(r"\1PID ", text)
        state = frozenset(map(plain, seen.state))
        return seen._replace(text=text, directory=plain(seen.directory), state=state)

    def _judge(self, number: int, command: str, seen: list[Seen], trees: list[dict[str, tuple[int, bytes]]]) -> None:
        report = self.report
        ours, first, second = seen
        if any(each.code is None for each in seen):
            report.too_long.append(command)
            return
        report.compared += 1
        if first.ended:
            report.ended += 1
        unsure = False
        found: list[Difference] = []
        for what in ("text", "code", "directory", "status", "ended", "state"):
            mine, theirs, others = (getattr(each, what) for each in (ours, first, second))
            if theirs != others:
                unsure = True
            elif mine != theirs and not (first.ended and what in ("directory", "status", "state")):
                if what == "state":
                    mine, theirs = sorted(mine - theirs), sorted(theirs - mine)
                found.append(Difference(number, command, what, str(mine), str(theirs)))
        if trees[1] == trees[2] and trees[0] != trees[1]:
            names = sorted(name for name in {*trees[0], *trees[1]} if trees[0].get(name) != trees[1].get(name))
            found.append(Difference(number, command, "files", str(names), ""))
        report.differences += found
        if unsure:
            report.unsure.append(command)
        if not found:
            report.equal += 1

    def _level(self, trees: Sequence[Mapping[str, object]]) -> None:
        """The next command finds the same files everywhere again."""
        model = self._folders[1]
        for folder, tree in ((self._folders[0], trees[0]), (self._folders[2], trees[2])):
            for name in sorted({*tree, *trees[1]}):
                if tree.get(name) == trees[1].get(name):
                    continue
                path = folder / name
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
                if name in trees[1] and path.parent.is_dir():
                    subprocess.run(["cp", "-a", model / name, path], check=False, capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.jail.lockstep", description=__doc__)
    parser.add_argument("commands", type=Path)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--project", default="/home/user/project")
    given = parser.parse_args()
    lines = given.commands.read_text().splitlines()[given.skip :][: given.limit]
    commands = [json.loads(line)["command"] for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "copies")
        root.mkdir()
        report = asyncio.run(Lockstep(root, commands, given.project).run(sys.stdout))
    kinds = collections.Counter(difference.what for difference in report.differences)
    sys.stdout.write(f"differences: {dict(kinds)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
