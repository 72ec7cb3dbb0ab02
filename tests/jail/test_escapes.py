"""No way out, for root's jail and for an ordinary user's."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.jail.conftest import needs_bwrap
from tests.jail.escapes import ATTEMPTS, SECRET, SUCCESS

pytestmark = needs_bwrap
_ORDINARY_UID = 65534
is_root = os.geteuid() == 0
Outcomes = Callable[[str], dict[str, str]]


@cache
def _outcomes(who: str) -> dict[str, str]:
    arguments = {"current": [], "ordinary": ["--uid", str(_ORDINARY_UID)], "unjailed": ["--kind", "host"]}[who]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.jail.escapes", *arguments],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


users = pytest.mark.parametrize(
    "who",
    [
        "current",
        pytest.param("ordinary", marks=pytest.mark.skipif(not is_root, reason="only root can become another user")),
    ],
)


@users
@pytest.mark.parametrize("name", [attempt.name for attempt in ATTEMPTS])
def test_the_attempt_fails(who: str, name: str):
    outcome = _outcomes(who)[name]
    assert SUCCESS not in outcome
    assert SECRET not in outcome


@users
def test_ordinary_work_goes_on_and_new_files_belong_to_the_person(who: str):
    assert _outcomes(who)["(ordinary work)"] == "0 git works\n"
    assert _outcomes(who)["(owner of new files)"] == "True"


@pytest.mark.skipif(not is_root, reason="some attempts need root even without a jail")
@pytest.mark.parametrize("name", [attempt.name for attempt in ATTEMPTS if attempt.works_unjailed])
def test_the_attempt_is_a_real_one(name: str):
    outcome = _outcomes("unjailed")[name]
    assert SUCCESS in outcome or SECRET in outcome
