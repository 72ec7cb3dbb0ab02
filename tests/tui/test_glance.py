"""What is always in sight, in the real program in a real terminal."""

import shutil
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator

from ..cli.machine import Machine
from .test_in_tmux import terminal

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


def test_the_model_that_a_key_alone_gives_is_in_sight(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "Me."}]) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_MODEL": ""})
        with terminal(machine) as seen:
            seen.until_shown("gpt-5 · auto", gone="no model")
            seen.write("who are you?")
            seen.press("Enter")
            seen.until_shown("Me.", "gpt-5 · auto")
