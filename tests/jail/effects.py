"""What commands that would change something really change, behind a wall: by its effect, whatever they say.

Run as a program, it runs all of `writing_commands.txt` and prints, as JSON, which of them changed what. Started by root
with `--uid`, it becomes that user first.

    python -m tests.jail.effects plan           # an enclosure with read-only mounts
    python -m tests.jail.effects ask            # the reading shell beside a writing one
    python -m tests.jail.effects write          # no wall: shows which of the commands have an effect here at all
"""

import argparse
import asyncio
import hashlib
import importlib
import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from openagent.jail.bwrap import BwrapJail
from openagent.plugins.jail import Shell

COMMANDS = Path(__file__).with_name("writing_commands.txt")
_PATIENCE = 6.0
_WRITES = "#!/bin/sh\ntouch made pwned\necho pwned >> a.txt\n"
_DIFFERENCE = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a\n+z\n"


def commands() -> list[str]:
    return [line for line in COMMANDS.read_text().splitlines() if line and not line.startswith("#")]


def make_workspace(folder: Path) -> None:
    """A repository with something in it for every command to change or to be led astray by."""
    for name in ("sub", "empty", "evil", "../outside"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, text in (("a.txt", "a\n"), ("b.txt", "b\n"), ("sub/c.txt", "c\n"), ("../outside/kept", "kept\n")):
        (folder / name).write_text(text)
    (folder / "big.txt").write_text("".join(f"{number}\n" for number in range(20_000)))
    for name in ("x", "git-x", "planted.js"):
        (folder / name).write_text(_WRITES)
        (folder / name).chmod(0o755)
    (folder / "planted.py").write_text("open('made', 'w')\n")
    (folder / "planted.pm").write_text("open F, '>made'; 1;\n")
    (folder / "Makefile").write_text("made:\n\ttouch made\nx := $(shell touch made)\n")
    (folder / "change.patch").write_text(_DIFFERENCE)
    (folder / "a.json").write_text("{}\n")
    for name, target in (("link-to-a", "a.txt"), ("link-to-sub", "sub"), ("dangling", "made")):
        (folder / name).symlink_to(target)
    os.setxattr(folder / "a.txt", "user.kept", b"yes")
    subprocess.run(["tar", "-cf", "a.tar", "a.txt", "x"], cwd=folder, check=True)
    for place in (folder, folder / "evil"):
        _commit(place)
    _git(folder / "evil", "config", "core.fsmonitor", "../x")
    _git(folder, "branch", "side")
    _git(folder, "tag", "v1")
    (folder / "b.txt").write_text("changed\n")


def _commit(folder: Path) -> None:
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "--allow-empty", "-m", "first")):
        _git(folder, *words)
    _git(folder, "commit", "-q", "--allow-empty", "-m", "second")


def _git(folder: Path, *words: str) -> None:
    own = ["-c", "user.name=n", "-c", "user.email=e", "-c", "safe.directory=*"]
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


def seen(*folders: Path) -> dict[str, object]:
    """Names, kinds, modes, owners, sizes, times, extended attributes and contents; not when a file was last read."""
    found: dict[str, object] = {}
    for folder in folders:
        for path in (folder, *sorted(folder.rglob("*"))):
            about = path.lstat()
            data = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
            attributes = {name: os.getxattr(path, name, follow_symlinks=False) for name in _attributes(path)}
            found[str(path)] = (
                *(about.st_mode, about.st_uid, about.st_gid, about.st_nlink, about.st_mtime_ns, about.st_ctime_ns),
                *(hashlib.sha256(data).hexdigest(), os.readlink(path) if path.is_symlink() else "", attributes),
            )
    return found


def _attributes(path: Path) -> list[str]:
    return [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith("user.")]


async def effects(wall: str, base: Path) -> dict[str, list[str]]:
    """What each command changed; those that changed nothing are left out."""
    path = f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin"  # the wrappers of version managers are slow
    jail = BwrapJail(log_dir=base / "logs", env={"PATH": path})
    changed: dict[str, list[str]] = {}
    workspace = base / "place" / "workspace"
    make_workspace(workspace)
    shell = await _open(jail, wall, workspace)
    before = seen(workspace.parent)
    for command in commands():
        given = f"HOST_HOME={base} HOST_TMP={tempfile.gettempdir()}\n{command}"
        await shell.run(given, timeout=_PATIENCE, cwd=str(workspace), wall="read" if wall == "ask" else "write")
        after = seen(workspace.parent) if workspace.exists() else {}
        if after == before:
            continue
        names = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        changed[command] = sorted(os.path.relpath(path, workspace) for path in names)
        await shell.close()
        shutil.rmtree(workspace.parent)
        make_workspace(workspace)
        shell = await _open(jail, wall, workspace)
        before = seen(workspace.parent)
    await shell.close()
    for place in (base, Path(tempfile.gettempdir())):
        if (place / "made").exists():
            changed["(outside the jail)"] = [str(place / "made")]
    return changed


async def _open(jail: BwrapJail, wall: str, workspace: Path) -> Shell:
    shell = await (jail.open_reading("s", workspace) if wall == "plan" else jail.open("s", workspace))
    await shell.run("true")  # what a jail puts into a workspace, it has put there now
    return shell


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wall", choices=["plan", "ask", "write"])
    parser.add_argument("--uid", type=int, help="of the user to become")
    parser.add_argument("--below", type=Path, help="where to make the workspace (default: the user's home)")
    given = parser.parse_args()
    below = given.below or Path(pwd.getpwuid(os.getuid()).pw_dir)
    with tempfile.TemporaryDirectory(dir=below, prefix="openagent-test-") as folder:
        if given.uid is None:
            return _try_all(given.wall, Path(folder))
        importlib.import_module("concurrent.futures.thread")  # that user may not be able to read our library
        os.chown(folder, given.uid, given.uid)
        if child := os.fork():
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            os.setgroups([])
            os.setgid(given.uid)
            os.setuid(given.uid)
            os.environ |= {"HOME": folder, "XDG_RUNTIME_DIR": ""}
            os._exit(_try_all(given.wall, Path(folder)))
        except BaseException as problem:  # what the folder holds is its parent's to clean up
            sys.stderr.write(f"{problem!r}\n")
            os._exit(1)


def _try_all(wall: str, base: Path) -> int:
    changed = asyncio.run(effects(wall, base))
    json.dump({"commands": len(commands()), "changed": changed}, sys.stdout, indent=1)
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
