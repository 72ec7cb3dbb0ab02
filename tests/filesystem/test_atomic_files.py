"""A file that is replaced is the old one or the new one, whatever happens in between."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openagent.filesystem.atomic_files import replace_file

WRITER = """
import itertools, sys
from openagent.filesystem.atomic_files import replace_file
print("ready", flush=True)
for number in itertools.count():
    replace_file(sys.argv[1], bytes([number % 256]) * int(sys.argv[2]), flush=False)
"""


class Stopped(BaseException):
    """As abrupt as it gets from within."""


def whole(content: bytes, size: int) -> bool:
    return len(content) == size and len(set(content)) == 1


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 3 << 20), st.floats(0, 0.03))
def test_a_writer_killed_at_any_moment_leaves_the_old_content_or_the_new(
    tmp_path: Path, size: int, seconds: float
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\xff" * size)
    with subprocess.Popen([sys.executable, "-c", WRITER, str(file), str(size)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert whole(file.read_bytes(), size)
        writer.send_signal(signal.SIGKILL)
    assert whole(file.read_bytes(), size)


@pytest.mark.parametrize("flush", [True, False])
def test_whatever_call_fails_the_old_content_stays_and_nothing_is_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flush: bool
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    for call in ("open", "fchmod", "replace", *(["fsync"] if flush else [])):
        for problem in (OSError(errno.ENOSPC, "the disk is full"), Stopped()):

            def fails(*arguments: object, _problem: BaseException = problem, **more: object) -> None:
                raise _problem

            with monkeypatch.context() as patch:
                patch.setattr(os, call, fails)
                with pytest.raises(type(problem)):
                    replace_file(file, b"new", flush=flush)
            assert file.read_bytes() == b"old"
            assert os.listdir(tmp_path) == ["file"]


def test_a_file_is_for_its_owner_alone_unless_told_otherwise(tmp_path: Path) -> None:
    def mode(name: str) -> int:
        return stat.S_IMODE((tmp_path / name).stat().st_mode)

    before = os.umask(0)
    try:
        replace_file(tmp_path / "usual", b"")
        replace_file(tmp_path / "shared", b"", mode=0o644)
        (tmp_path / "shared").chmod(0o664)
        replace_file(tmp_path / "shared", b"", keep_mode=True)
        replace_file(tmp_path / "new", b"", mode=0o640, keep_mode=True)
        (tmp_path / "open").touch(0o666)
        replace_file(tmp_path / "open", b"")
    finally:
        os.umask(before)
    assert (mode("usual"), mode("shared"), mode("new"), mode("open")) == (0o600, 0o664, 0o640, 0o600)


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "link").symlink_to("other")
    replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "other").read_bytes() == b"other"
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_bytes() == b"new"


def test_the_longest_name_there_is_can_be_replaced(tmp_path: Path) -> None:
    replace_file(tmp_path / ("n" * 255), b"new")
    assert (tmp_path / ("n" * 255)).read_bytes() == b"new"
