"""`openagent service`. The stand-in for systemctl starts what the unit says; systemd itself judges the unit's text."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator

import pytest

from .machine import PATIENCE, Machine, is_running, shell

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="units are systemd's")

SYSTEMCTL = f"""\
#!{sys.executable}
import os, shlex, signal, subprocess, sys, time
from pathlib import Path

words = sys.argv[2:]
home = Path(os.environ["HOME"])
unit, pid = home / ".config/systemd/user/openagent.service", home / "pid"
with open(home / "asked", "a") as asked:
    print(*words, file=asked)
if words[0] == "enable":
    said = [line.partition("=")[::2] for line in unit.read_text().splitlines() if "=" in line]
    words = [shlex.split(value)[0] for name, value in said if name == "Environment"]
    env = {{"HOME": str(home), **dict(word.replace("%%", "%").split("=", 1) for word in words)}}
    program = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(dict(said)["ExecStart"])]
    nothing = {{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}}
    started = subprocess.Popen(program, env=env, cwd=home, start_new_session=True, **nothing)
    pid.write_text(str(started.pid))
elif words[0] == "disable" and pid.exists():
    os.kill(int(pid.read_text()), signal.SIGTERM)
    while os.path.exists(f"/proc/{{pid.read_text()}}") and "Z" not in open(f"/proc/{{pid.read_text()}}/stat").read():
        time.sleep(0.02)
"""


@pytest.fixture
def served(fresh: Machine) -> Generator[Machine]:
    folder = fresh.root / "bin of $HOME & 100%"
    folder.mkdir()
    (folder / "systemctl").write_text(SYSTEMCTL)
    (folder / "systemctl").chmod(0o755)
    fresh.extra = {"PATH": f"{folder}:{os.environ['PATH']}"}
    yield fresh
    fresh.run("service", "remove")


def test_a_service_is_installed_used_and_removed(served: Machine) -> None:
    assert served.json("service", "status")["installed"] is False
    installed = served.run("service", "install")
    assert installed.returncode == 0, installed.stderr
    file = served.root / ".config/systemd/user/openagent.service"
    assert str(file) in installed.stdout
    assert served.run("service", "status").stdout == f"Runs: {file}\n"
    pid = served.json("status")["pid"]
    assert pid == int((served.root / "pid").read_text()), "commands find the service's daemon"
    served.turn("hello", script=[{"text": "Hello."}])
    removed = served.run("service", "remove")
    assert removed.returncode == 0, removed.stderr
    assert not file.exists()
    assert not is_running(pid)
    assert served.run("service", "remove").stdout == "No service is installed.\n"


def test_a_daemon_at_rest_is_replaced_and_one_at_work_is_not(served: Machine) -> None:
    served.turn("hello", script=[{"text": "Hello."}])
    before = served.daemon_pid()
    os.mkfifo(served.workspace / "gate")
    served.sim.reset({"steps": [shell("cat gate"), {"text": "Done."}]})
    with served.start("run", "--mode", "full", "wait") as waiting:
        with (served.workspace / "gate").open("w") as gate:  # opens when the command reads
            refused = served.run("service", "install")
            assert refused.returncode != 0
            assert "at work" in refused.stderr
            assert served.daemon_pid() == before
            gate.write("go on\n")
        assert waiting.wait(PATIENCE) == 0
    assert served.run("service", "install").returncode == 0
    assert served.daemon_pid() not in (None, before)


def test_the_unit_is_to_systemds_liking_and_holds_no_key(served: Machine) -> None:
    assert served.run("service", "install").returncode == 0
    file = served.root / ".config/systemd/user/openagent.service"
    assert served.env["OPENAI_API_KEY"] not in file.read_text()
    if judge := shutil.which("systemd-analyze"):
        env = {**served.env, "XDG_RUNTIME_DIR": str(served.root)}
        asked = [judge, "--user", "verify", "--man=no", str(file)]
        judged = subprocess.run(asked, env=env, capture_output=True, text=True, check=False)
        assert (judged.returncode, judged.stderr) == (0, "")


def test_a_line_break_in_path_is_refused_and_settings_that_are_left_out_are_named(served: Machine) -> None:
    usual = served.extra
    served.extra = {"PATH": usual["PATH"] + ":/x\ny"}
    refused = served.run("service", "install")
    assert "PATH holds a line break" in refused.stderr
    assert not (served.root / ".config/systemd").exists()
    served.extra = {**usual, "OPENAGENT_WEB_PORT": "1"}
    assert served.json("service", "install")["left_out"] == ["OPENAGENT_MODEL", "OPENAGENT_WEB_PORT"]


def test_without_systemd_nothing_is_written_and_the_daemon_stays(fresh: Machine) -> None:
    fresh.turn("hello", script=[{"text": "Hello."}])
    pid = fresh.daemon_pid()
    (fresh.root / "empty").mkdir()
    fresh.extra = {"PATH": str(fresh.root / "empty")}
    refused = fresh.run("service", "install")
    assert refused.returncode != 0
    assert refused.stderr.startswith("openagent: systemd does not manage services of yours here: There is no systemctl")
    assert not (fresh.root / ".config/systemd").exists()
    assert fresh.daemon_pid() == pid
