"""What becomes of a tool call: recorded for every mode, kind of sandbox and call, with each answer a person may give.

`python -m tests.interaction.calls_table` prints what differs from the tables in `calls/`; `--write` records them again.
Every row is one turn of a whole daemon: what a person was asked, how the call ended, what the model was told, and what
is different on the disk.
"""

import argparse
import asyncio
import json
import os
import pwd
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from openagent.protocol import events as e
from openagent.protocol.safety import AuditAsk
from openagent.protocol.sessions import MODES, PermissionAsk

from .doing import answer, ask, call, results_of, shell, write
from .house import PATIENCE, house, new_session
from .loopback import web_server

TABLES = Path(__file__).parent / "calls"
SANDBOXES = ("bwrap", "bwrap-apart", "host")
"""`bwrap-apart`: the workspace is below /tmp, where the reading shell has an enclosure of its own."""
ANSWERS = ("allow", "deny")
_LARGE = 11 << 20
"""Larger than an ignored file may be that undo keeps."""
_LINE = "echo line >> log"
_RULES = '[[rule]]\nname = "no-deploys"\ndecision = "deny"\ncommand = "deploy"\n'
_GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}

Row = dict[str, Any]


def _commands(worktree: bool, **commands: str) -> dict[str, "Given"]:
    return {name.replace("_", "-"): Given(shell(command), worktree) for name, command in commands.items()}


class Given(NamedTuple):
    """One call, and where it is made."""

    step: dict[str, Any]
    worktree: bool = False
    """Its repository lies outside the workspace."""


CALLS: Mapping[str, Given] = {
    **_commands(
        False,
        reads="cat a",
        status="git status --short",
        reading_that_writes="git diff",
        reading_that_writes_and_hides_it="git diff || echo never mind",
        reading_that_writes_then_reads="git diff; cat a",
        reading_below_that_writes="cd sub && git diff",
        appends=_LINE,
        appends_and_commits=f"{_LINE} && git add -A && git commit -qm n",
        runs_a_program=f"{_LINE} && python3 writes.py",
        appends_then_unsaved=f"{_LINE} && echo more >> data/large",
        appends_then_unsaved_then_reads=f"{_LINE}; echo more >> data/large; cat a",
        appends_then_unsaved_by_a_program=f"{_LINE} && python3 grows.py",
        removes_unsaved="rm -rf data",
        moves_unsaved="mv data/large elsewhere",
        appends_then_host=f"{_LINE} && curl -sS --max-time 20 http://far.test:PORT/x",
        appends_then_own_port=f"{_LINE} && curl -sS --noproxy '*' --max-time 20 http://127.0.0.1:PORT/x",
        appends_then_secret=f"{_LINE} && cat .env",
        secret="cat .env",
        appends_then_outside=f"{_LINE} && touch OUTSIDE/made",
        reads_outside="cat OUTSIDE/notes",
        appends_then_denied_by_rule=f"{_LINE} && deploy now",
        appends_then_push=f"{_LINE} && git push",
        appends_then_hook=f"{_LINE} && echo x > .git/hooks/post-commit",
        appends_then_git_config=f"{_LINE} && git config user.name x",
        deletes_repository="rm -rf .git",
        fails="echo before; exit 3",
        function="f() { echo changed >> log; }; f",
        not_bash="echo 'open",
    ),
    **_commands(
        True,
        worktree_status="git status --short; git log --oneline | wc -l",
        worktree_appends_and_commits=f"{_LINE} && git add -A && git commit -qm n",
        worktree_commits_then_reads=f"{_LINE}; git commit -qam n; cat a",
        worktree_branch="git branch other",
        worktree_destroys="rm -rf MAIN/.git/refs/heads",
    ),
    "leaves-for-a-folder": Given(call("shell", command=f"{_LINE} && touch OUTSIDE/made", leave=["rw:OUTSIDE"])),
    "leaves-for-nonsense": Given(call("shell", command=_LINE, leave=["what?"])),
    "write-file": Given(write("made", "x\n")),
    "write-file-unsaved": Given(write("data/large", "x\n")),
    "write-file-outside": Given(write("OUTSIDE/made", "x\n")),
    "edit-file": Given(call("edit_file", path="a", old="b", new="c")),
    "read-file": Given(call("read_file", path="a")),
    "read-file-secret": Given(call("read_file", path=".env")),
    "read-file-outside": Given(call("read_file", path="OUTSIDE/notes")),
    "grep": Given(call("grep", pattern="b")),
    "code-writes": Given(call("execute_code", language="python", code="open('made', 'w').write('x')")),
    "code-writes-unsaved": Given(call("execute_code", language="python", code="open('data/large', 'a').write('x')")),
    "git-tool-diff": Given(call("git", subcommand="diff")),
    "git-tool-commit": Given(call("git", subcommand="commit", args=["-am", "n"])),
    "git-tool-commit-in-worktree": Given(call("git", subcommand="commit", args=["-am", "n"]), worktree=True),
}


class Scene(NamedTuple):
    root: Path
    port: int = 0

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def places(self) -> dict[str, str]:
        return {"OUTSIDE": f"{self.root}/outside", "MAIN": f"{self.root}/main", "PORT": str(self.port)}

    def lay_out(self, *, worktree: bool) -> None:
        """A repository in which `git diff`, which everybody believes to read, runs a program that writes."""
        (self.root / "outside").mkdir()
        (self.root / "outside" / "notes").write_text("kept outside\n")
        repository = self.root / "main" if worktree else self.workspace
        (repository / "data").mkdir(parents=True)
        (repository / "sub").mkdir()
        (repository / "a").write_text("a\n")
        (repository / "log").write_text("first\n")
        (repository / "sub" / "b").write_text("b\n")
        (repository / "writes.py").write_text("open('made', 'w').write('x')\n")
        (repository / "grows.py").write_text("open('data/large', 'a').write('x')\n")
        (repository / ".gitignore").write_text("data/\n.env\n")
        (repository / "differ").write_text("#!/bin/sh\ntouch made || exit 1\necho differs\n")
        (repository / "differ").chmod(0o755)
        self.git(repository, "init", "-q", "-b", "master")
        for name, value in (("user.name", "T"), ("user.email", "t@example.com"), ("diff.external", "./differ")):
            self.git(repository, "config", name, value)
        self.git(repository, "add", ".")
        self.git(repository, "commit", "-qm", "one")
        if worktree:
            self.git(repository, "config", "--unset", "diff.external")
            self.git(repository, "worktree", "add", "-q", "-b", "side", str(self.workspace))
            (self.workspace / "data").mkdir()
        (self.workspace / "a").write_text("b\n")
        (self.workspace / ".env").write_text("KEY=s3cret\n")
        (self.workspace / "data" / "large").write_text("precious")
        os.truncate(self.workspace / "data" / "large", _LARGE)

    def git(self, folder: Path, *arguments: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.root), **_GIT}
        ran = subprocess.run(
            ["git", "-C", str(folder), *arguments], check=False, env=env, capture_output=True, text=True
        )
        return ran.stdout

    def disk(self) -> dict[str, str]:
        """What can be told apart of it: files but those of the repository, of which commits and branches count."""
        found: dict[str, str] = {}
        for folder in (self.workspace, self.root / "outside"):
            for path in sorted(folder.rglob("*")):
                name = path.relative_to(self.root).as_posix().removeprefix("workspace/")
                if name.startswith(".git/") and not name.startswith((".git/hooks/post", ".git/config")):
                    continue
                if path.is_file() and name not in (".git", ".git/config.worktree"):
                    found[name] = self._contents(path)
        found["log"] = found.get("log", "gone")
        found["commits"] = str(len(self.git(self.workspace, "log", "--oneline").splitlines()))
        found["branches"] = " ".join(self.git(self.workspace, "branch", "--format=%(refname:short)").split())
        return found

    @staticmethod
    def _contents(path: Path) -> str:
        if path.stat().st_size >= _LARGE:
            with path.open("rb") as file:
                return f"{path.stat().st_size} bytes, {file.read(8)!r}"
        return path.read_text()

    def told_alike(self, text: str) -> str:
        """Without what is another in each run."""
        text = text.replace(str(self.root), "~").replace(f"far.test:{self.port}", "far.test:PORT")
        text = re.sub(rf"\b{self.port}\b", "PORT", text)
        return re.sub(r"\b[0-9a-f]{7,40}\b", "HASH", text)


@contextmanager
def place_for(sandbox: str) -> Generator[Path]:
    """Not below /tmp, if the two shells are to share an enclosure."""
    parent = None if sandbox == "bwrap-apart" else pwd.getpwuid(os.getuid()).pw_dir
    with tempfile.TemporaryDirectory(dir=parent, prefix="openagent-calls-") as folder:
        yield Path(folder).resolve()


async def record(sandbox: str, mode: str, name: str, says: str) -> Row:
    """One row, from a daemon of its own. `says` is the answer to whatever is asked."""
    given = CALLS[name]
    with place_for(sandbox) as root:
        async with web_server() as far:
            scene = Scene(root, far.port)
            scene.lay_out(worktree=given.worktree)
            before = scene.disk()
            row = await _make(scene, given, sandbox, mode, says)
            after = scene.disk()
            row["changed"] = _changed(before, after)
            if far.requests:
                row["requests"] = len(far.requests)
            return {"mode": mode, "call": name, "answer": says if row["asked"] else "", **row}


async def _make(scene: Scene, given: Given, sandbox: str, mode: str, says: str) -> Row:
    config = f'[jail]\nkind = "{"host" if sandbox == "host" else "bwrap"}"\nnames = {{ "far.test" = "127.0.0.1" }}\n'
    script = [json.loads(_filled(json.dumps(given.step), scene.places)), {"text": "done"}]
    asked: list[str] = []
    async with house(scene.root, script, config=config) as h, await h.client(interactive=True) as client:
        (h.home / "policy.toml").write_text(_RULES)
        attachment = await client.attach(await new_session(h, client, mode=mode))
        await client.send(attachment.session, "go")
        async with asyncio.timeout(PATIENCE):
            async for event in attachment.events():
                if isinstance(event, e.PermissionRequested):
                    asked.append(scene.told_alike(_shown(event.ask)))
                    scope = {"scope": "once"} if says == "allow" else {"reason": "mine"}
                    await answer(client, event, decision=says, **scope)
                if isinstance(event, e.TurnCompleted):
                    break
        [result] = await results_of(client, attachment.session)
        trail = await ask(client, AuditAsk, session=attachment.session, kind="decision")
    decided = [
        f"{row.detail['tool']}: {row.detail.get('decision')} ({row.detail.get('rule', '')})" for row in trail.entries
    ]
    return {
        "asked": asked,
        "decided": [re.sub(r"answer:\w+", "answer", each) for each in reversed(decided)],
        "ended": result.ended,
        "exit": result.display.exit_code,
        "told": scene.told_alike(result.text).splitlines(),
    }


def _filled(text: str, places: Mapping[str, str]) -> str:
    for name, value in places.items():
        text = text.replace(name, value)
    return text


def _shown(asking: PermissionAsk) -> str:
    return f"{asking.tool} {asking.summary}: {asking.reason}"


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """In words; lines that `log` has more are counted."""
    found: list[str] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if name == "log" and new is not None:
            found.append(f"log: {new.count('line')} lines more" if "line" in new else f"log: {new!r}")
        elif name in ("commits", "branches"):
            found.append(f"{name}: {new}")
        else:
            found.append(f"{name} {'made' if old is None else 'gone' if new is None else 'changed'}")
    return found


def wanted(sandbox: str) -> list[tuple[str, str]]:
    """Mode and call. Only where something is believed to read it matters in what the reading shell stands."""
    if sandbox != "bwrap-apart":
        return [(mode, name) for mode in MODES for name in CALLS]
    calls = ("reads", "status", "secret", "appends", "git-tool-diff", "code-writes", "fails")
    chosen = [
        name for name in CALLS if name.startswith(("reading", "worktree", "appends-then-unsaved")) or name in calls
    ]
    return [(mode, name) for mode in ("plan", "ask", "edits") for name in chosen]


async def record_all(sandbox: str, only: str = "") -> list[Row]:
    rows: list[Row] = []
    for mode, name in wanted(sandbox):
        if only in name:
            rows.append(await record(sandbox, mode, name, "allow"))
            if rows[-1]["asked"]:
                rows.append(await record(sandbox, mode, name, "deny"))
    return rows


def path_of(sandbox: str) -> Path:
    return TABLES / f"{sandbox}.json"


def recorded(sandbox: str) -> list[Row]:
    return json.loads(path_of(sandbox).read_text())


def decisive(row: Row) -> Row:
    """What no program's own words or version change."""
    ours = [line for line in row["told"] if line.startswith(("[", "Denied"))]
    return {**row, "told": ours, "exit": row["exit"] if row["exit"] in (None, 0) else "not 0"}


def written(rows: Sequence[Row]) -> str:
    """A line each, so that two tables can be compared line by line."""
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--write", action="store_true", help="record the tables again")
    given.add_argument("--only", default="", help="calls with this in their name")
    given.add_argument("sandbox", nargs="*", default=SANDBOXES)
    options = given.parse_args()
    differs = 0
    for sandbox in options.sandbox:
        rows = asyncio.run(record_all(sandbox, options.only))
        if options.write and not options.only:
            path_of(sandbox).write_text(written(rows))
            continue
        known = [row for row in recorded(sandbox) if options.only in row["call"]] if path_of(sandbox).exists() else []
        for line in {*map(json.dumps, rows)} ^ {*map(json.dumps, known)}:
            differs += 1
            sys.stdout.write(f"{'now' if json.loads(line) in rows else 'was'} {sandbox} {line}\n")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
