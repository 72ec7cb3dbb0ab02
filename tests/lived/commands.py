"""Every command on a bare machine, as people pipe them: `python -m tests.lived.commands`.

With no daemon, no key and an empty home, each is given `--json` (one object, or one with an error), an option that does
not exist (refused, and named), and a reader that leaves after one line (nothing is said about it).
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from ..cli.test_json import (
    A_STREAM,
    CHANGES_THIS_MACHINE,
    COMMANDS,
    GROUPS,
    IS_READ_BEFORE,
    SPEAKS_A_PROTOCOL,
    TREE,
    least_arguments,
)

WAIT = {("login",), ("models", "pull"), ("extras", "get"), ("index", "build"), ("help",), ("completion",)}
"""They ask, fetch, work long, or print for people alone."""
LEFT_OUT = {*CHANGES_THIS_MACHINE, *SPEAKS_A_PROTOCOL, *A_STREAM, *IS_READ_BEFORE, *WAIT}
QUIETLY = {0, 1, 2, 3, 4, 5, 141}
PATIENCE = 60.0


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Bare:
    def __init__(self, root: Path) -> None:
        (root / "work").mkdir()
        self._cwd = root / "work"
        self._env = {
            "HOME": str(root),
            "OPENAGENT_HOME": str(root / "data"),
            "OPENAGENT_LOCAL_SERVERS": "{}",
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
        }

    def say(self, line: str) -> Said:
        command = f"{shlex.quote(sys.executable)} -P -m openagent {line}"
        try:
            ran = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                env={**self._env, "PYTHONPATH": os.pathsep.join(sys.path)},
                cwd=self._cwd,
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return Said(-1, "", "it did not end")
        return Said(ran.returncode, ran.stdout, ran.stderr)


def wrong(bare: Bare, line: str) -> list[str]:
    found: list[str] = []
    said = bare.say(f"{line} --json")
    try:
        is_object = isinstance(json.loads(said.out), dict)
    except ValueError:
        is_object = False
    if not is_object or said.err:
        found.append(f"{line} --json: {said}")
    said = bare.say(f"{line} --bogus")
    if said.code != 2 or "bogus" not in said.err or "Traceback" in said.err:
        found.append(f"{line} --bogus: {said}")
    said = bare.say(f"{line} | head -1")
    if said.code not in QUIETLY or "Traceback" in said.err or "roken pipe" in said.err:
        found.append(f"{line} | head -1: {said}")
    return found


def main() -> int:
    tried, found = 0, list[str]()
    with tempfile.TemporaryDirectory(prefix="oa-bare-") as folder:
        bare = Bare(Path(folder))
        for path in [*GROUPS, *COMMANDS]:
            if path not in LEFT_OUT:
                line = shlex.join([*path, *least_arguments(TREE[path])])
                found += wrong(bare, line)
                tried += 1
        bare.say("stop")
    sys.stdout.write("\n".join([*found, f"{tried} commands, {len(found)} wrong", ""]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
