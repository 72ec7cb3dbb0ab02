"""No way out, for root's jail and for an ordinary user's, under bubblewrap and in a container."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.jail.conftest import needs_bwrap
from tests.jail.escapes import ATTEMPTS, SECRET, SUCCESS

_ORDINARY_UID = 65534
is_root = os.geteuid() == 0
needs_root = pytest.mark.skipif(not is_root, reason="only root can become another user")


@cache
def _outcomes(kind: str, *arguments: str) -> dict[str, str]:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.jail.escapes", "--kind", kind, *arguments],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(
    params=[
        pytest.param("bwrap", marks=needs_bwrap),
        pytest.param(f"bwrap --uid {_ORDINARY_UID}", marks=[needs_bwrap, needs_root]),
        "docker",
        pytest.param(f"docker --uid {_ORDINARY_UID}", marks=needs_root),
    ]
)
def outcomes(request: pytest.FixtureRequest) -> dict[str, str]:
    kind, *arguments = request.param.split()
    if kind == "docker":
        request.getfixturevalue("docker_host")
    return _outcomes(kind, *arguments)


@pytest.mark.parametrize("name", [attempt.name for attempt in ATTEMPTS])
def test_the_attempt_fails(outcomes: dict[str, str], name: str):
    assert SUCCESS not in outcomes[name]
    assert SECRET not in outcomes[name]
    assert "command not found" not in outcomes[name]


def test_ordinary_work_goes_on_and_new_files_belong_to_the_person(outcomes: dict[str, str]):
    assert outcomes["(ordinary work)"] == "0 git works\n"
    assert outcomes["(owner of new files)"] == "True"


@pytest.mark.skipif(not is_root, reason="some attempts need root even without a jail")
@pytest.mark.parametrize("name", [attempt.name for attempt in ATTEMPTS if attempt.works_unjailed])
def test_the_attempt_is_a_real_one(name: str):
    outcome = _outcomes("host")[name]
    assert SUCCESS in outcome or SECRET in outcome
