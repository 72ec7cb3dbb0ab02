"""A lock has one holder, and goes with it."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openagent.filesystem.locks import HeldElsewhereError, holder, holding, take

HOLDER = """
import sys
from openagent.filesystem.locks import take
take(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


class BusyError(Exception):
    pass


def test_a_lock_is_free_again_when_its_holder_is_killed(tmp_path: Path) -> None:
    lock, pid_file = tmp_path / "lock", tmp_path / "pid"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        pid_file.write_text(f"{other.pid}\n")
        with pytest.raises(HeldElsewhereError):
            take(lock)
        with pytest.raises(BusyError), holding(lock, seconds=0.02, otherwise=BusyError()):
            pytest.fail("two hold it")
        assert holder(lock, pid_file) == other.pid
        other.kill()
    assert holder(lock, pid_file) is None
    os.close(take(lock))


def test_threads_wait_for_each_other(tmp_path: Path) -> None:
    inside: list[int] = []
    together: list[int] = []

    def work() -> None:
        for _ in range(20):
            with holding(tmp_path / "lock", seconds=30, otherwise=BusyError()):
                inside.append(1)
                together.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [1] * 80


def test_a_lock_nobody_made_has_no_holder(tmp_path: Path) -> None:
    (tmp_path / "pid").write_text("1\n")
    assert holder(tmp_path / "lock", tmp_path / "pid") is None
    assert not (tmp_path / "lock").exists()


def test_a_lock_that_was_refused_leaves_no_descriptor_open(tmp_path: Path) -> None:
    held = take(tmp_path / "lock")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(HeldElsewhereError):
        take(tmp_path / "lock")
    assert len(os.listdir("/proc/self/fd")) == before
    os.close(held)
