"""Own nasty commands and some recorded ones beside a plain bash. `tests.jail.lockstep` takes any file of them."""

import json
from pathlib import Path

import pytest

from tests.jail.conftest import needs_bwrap
from tests.jail.lockstep import Lockstep

pytestmark = [pytest.mark.anyio, needs_bwrap]

KNOWN = {
    "echo $LINENO; echo $FUNCNAME; echo $SHLVL; echo $0": "lines count from the command, not from the shell's start",
    "echo ${BASH_SOURCE[0]-none} ${#BASH_SOURCE[@]}": "the shell reads its commands as a script",
    "caller; echo $?": "the shell reads its commands as a script",
    "echo $- ": "the plain one reads its commands from its input",
    "exec 2>/dev/null; nosuch": "each command has streams of its own",
    "nosuch": "each command has streams of its own",
}


async def test_commands_do_what_they_do_in_a_plain_bash(tmp_path: Path):
    lines = (Path(__file__).parent / "lockstep_commands.jsonl").read_text().splitlines()
    commands = [json.loads(line)["command"] for line in lines]
    root = tmp_path / "copies"
    root.mkdir()
    report = await Lockstep(root, commands, "/home/user/project").run()
    assert report.compared > len(commands) * 0.9
    unknown = [each for each in report.differences if each.command not in KNOWN]
    assert not unknown
