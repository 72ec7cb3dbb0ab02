"""`status`, `stop` and `serve`: a daemon that comes, goes, and dies."""

import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.client import thin

from .machine import PATIENCE, Machine, is_running, shell
from .pseudo_terminal import Terminal


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while is_running(pid):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_daemon_is_started_asked_about_and_stopped(fresh: Machine) -> None:
    started = fresh.run("serve", "--daemon", "--web-socket", "0")
    assert started.returncode == 0
    status = fresh.json("status")
    assert status["socket"] == str(fresh.home / "daemon.sock")
    assert status["web_url"].startswith("http://127.0.0.1:")
    assert (status["sessions"], status["running"], status["clients"]) == (0, 0, 1)
    assert status["rss_bytes"] > 1_000_000
    assert status["uptime_s"] > 0
    assert status["version"]
    for value in (str(status["pid"]), status["socket"], status["web_url"]):
        assert value in started.stdout
        assert value in fresh.run("serve", "--status").stdout
    stopped = fresh.run("serve", "--stop")
    assert (stopped.returncode, stopped.stdout) == (0, f"The daemon (pid {status['pid']}) has stopped.\n")
    assert not is_running(status["pid"])
    assert fresh.json("stop") == {"stopped": False, "pid": None}


def test_status_never_starts_a_daemon(fresh: Machine) -> None:
    ran = fresh.run("status")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "openagent: No daemon is running. Start one with `openagent serve --daemon`.\n"
    assert json.loads(fresh.run("status", "--json").stdout)["error"]["code"] == "not_found"
    assert not fresh.home.exists()


def test_a_second_daemon_for_the_same_home_is_refused(machine: Machine) -> None:
    machine.turn("start", script=[{"text": "a"}])
    pid = machine.daemon_pid()
    ran = machine.run("serve", "--daemon")
    assert ran.returncode == 1
    assert f"already running for {machine.home} (pid {pid})" in ran.stderr
    assert machine.daemon_pid() == pid


def test_after_kill_9_the_next_command_starts_a_new_daemon_with_everything_said(fresh: Machine) -> None:
    session = fresh.turn("remember me", script=[{"text": "I will."}])
    pid = fresh.daemon_pid()
    assert pid is not None
    kill(pid)
    assert (fresh.home / "daemon.sock").exists()
    assert (fresh.home / "daemon.pid").read_text().strip() == str(pid)
    assert fresh.run("status").returncode == 1
    assert fresh.run("stop").stdout == "No daemon was running.\n"
    shown = fresh.run("sessions", "show", session)
    assert "› remember me" in shown.stdout
    assert "I will." in shown.stdout
    assert fresh.daemon_pid() not in (None, pid)


def test_of_several_who_come_at_once_one_starts_the_daemon_and_all_are_answered(fresh: Machine) -> None:
    fresh.sim.reset({"steps": [{"text": "here"}] * 8})
    runs = [fresh.start("run", f"question {number}") for number in range(8)]
    ended = [(run.communicate(timeout=PATIENCE), run.returncode) for run in runs]
    assert [(out, code) for (out, _), code in ended] == [(b"here\n", 0)] * 8, [err for (_, err), _ in ended]
    assert len(fresh.json("sessions", "list")["sessions"]) == 8


def test_whoever_comes_while_a_daemon_is_being_started_by_hand_waits_for_it(fresh: Machine) -> None:
    fresh.sim.reset({"steps": [{"text": "here"}] * 8})
    with fresh.start("serve") as by_hand:
        ran = fresh.run("run", "question")
        assert (ran.returncode, ran.stdout) == (0, "here\n"), ran.stderr
        fresh.run("stop")
        by_hand.communicate(timeout=PATIENCE)


def test_a_daemon_keeps_nothing_open_of_whoever_started_it(fresh: Machine) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    process = subprocess.Popen(
        [sys.executable, "-m", "openagent", "serve", "--daemon"],
        env=fresh.env,
        stdout=subprocess.PIPE,
        pass_fds=[writing],
    )
    os.close(writing)
    with process:
        process.communicate(timeout=PATIENCE)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == ""  # its end comes although the daemon lives
    assert fresh.run("stop").returncode == 0


def test_a_home_named_relative_to_where_one_is_belongs_to_that_place(fresh: Machine) -> None:
    fresh.sim.reset({"steps": [{"text": "here"}] * 8})
    # Also where the whole path is too long for a socket, and the short one would not be.
    for home in ("own/data", f"own/{'long' * 20}"):
        elsewhere = Machine(fresh.root, fresh.sim, {"OPENAGENT_HOME": home})
        ran = elsewhere.run("run", "question")
        assert (ran.returncode, ran.stdout) == (0, "here\n"), ran.stderr
        assert (fresh.workspace / home / "daemon.lock").exists()
        assert elsewhere.run("stop").returncode == 0


def test_a_pid_file_that_names_a_stranger_harms_nobody(fresh: Machine) -> None:
    fresh.home.mkdir()
    (fresh.home / "daemon.pid").write_text(f"{os.getpid()}\n")
    (fresh.home / "daemon.lock").touch()
    assert fresh.run("stop").stdout == "No daemon was running.\n"
    assert fresh.run("serve", "--daemon").returncode == 0


def test_stop_saves_what_runs(fresh: Machine) -> None:
    fresh.sim.reset([shell("sleep 60"), {"text": "x"}])
    with fresh.start("run", "--mode", "full", "--output", "stream-json", "go") as process:
        assert process.stdout is not None
        while b'"tool.started"' not in (line := process.stdout.readline()):
            assert line
        session = json.loads(line)["session"]
        pid = fresh.daemon_pid()
        assert pid is not None
        assert fresh.run("stop").returncode == 0
        assert not is_running(pid)
        process.stdout.read()
        assert process.wait(PATIENCE) in (1, 130)
    exported = fresh.json("sessions", "show", session)
    assert exported["session"]["status"] == "interrupted"
    assert [message["role"] for message in exported["messages"]] == ["user", "assistant", "tool"]


def test_a_daemon_that_does_not_answer_can_still_be_stopped(fresh: Machine) -> None:
    assert fresh.run("serve", "--daemon").returncode == 0
    pid = fresh.daemon_pid()
    assert pid is not None
    (fresh.home / "daemon.sock").unlink()
    told = fresh.run("status")
    assert told.returncode == 1
    assert f"A daemon runs (pid {pid})" in told.stderr
    assert fresh.run("stop").stdout == f"The daemon (pid {pid}) has stopped.\n"
    assert not is_running(pid)


def test_a_daemon_that_is_frozen_is_waited_for_in_sight(fresh: Machine) -> None:
    assert fresh.run("serve", "--daemon").returncode == 0
    pid = fresh.daemon_pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        with Terminal(fresh, "run", "hello") as terminal:
            terminal.until("waiting for the daemon to answer: 3 s, at most 60 s")
            os.kill(pid, signal.SIGCONT)
            terminal.until("Hello.")
            assert terminal.exit_code() == 0
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_daemon_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thin, "UNANSWERED", 1.0)
    monkeypatch.setenv("OPENAGENT_SOCKET", str(tmp_path / "s"))
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        client = thin.ThinClient("test", interactive=False, auto_start=False)
        with pytest.raises(thin.ConnectionEnded, match="has not answered for 1 seconds"):
            client.request("ping")
        client.close()


def test_a_daemon_that_hangs_up_on_everybody_has_not_gone(tmp_path: Path, sim: ThreadedSimulator) -> None:
    """As one does that has no file left to open."""
    path = tmp_path / "s"
    machine = Machine(tmp_path, sim, {"OPENAGENT_SOCKET": str(path)})
    with socketserver.ThreadingUnixStreamServer(str(path), socketserver.BaseRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            for refused in (machine.run("run", "hello"), machine.run("status")):
                assert refused.returncode == 1
                assert "daemon runs, but has hung up" in refused.stderr
                assert "ulimit -n" in refused.stderr
        finally:
            server.shutdown()
            thread.join()


def test_another_socket_can_be_chosen(fresh: Machine, tmp_path: Path) -> None:
    path = tmp_path / "own.sock"
    assert fresh.run("serve", "--daemon", "--ipc-socket", str(path)).returncode == 0
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(path))
    assert str(path) in fresh.run("serve", "--status", "--ipc-socket", str(path)).stdout
    assert fresh.run("serve", "--stop", "--ipc-socket", str(path)).returncode == 0


def test_every_command_finds_a_daemon_on_another_socket_by_one_variable(fresh: Machine, tmp_path: Path) -> None:
    path = str(tmp_path / "own.sock")
    assert fresh.run("serve", "--daemon", "--ipc-socket", path).returncode == 0
    lost = fresh.run("status")
    assert (lost.returncode, "OPENAGENT_SOCKET" in lost.stderr) == (1, True)
    fresh.extra = {"OPENAGENT_SOCKET": path}
    fresh.sim.reset({"steps": [{"text": "Hello."}]})
    assert fresh.run("run", "hi").returncode == 0
    assert len(fresh.json("sessions", "list")["sessions"]) == 1
    assert path in fresh.run("status").stdout
    assert fresh.run("stop").returncode == 0
    assert not (fresh.home / "daemon.sock").exists()


@pytest.mark.parametrize(
    "arguments", [("--daemon", "--stop"), ("--daemon", "--web-socket", "eighty"), ("--status", "--nonsense")]
)
def test_a_wrong_command_line_is_exit_code_2(machine: Machine, arguments: tuple[str, ...]) -> None:
    ran = machine.run("serve", *arguments)
    assert ran.returncode == 2
    assert ran.stderr.startswith("openagent: ")
    assert ran.stderr.endswith("See `openagent serve --help`.\n")


def test_the_log_is_written_where_a_container_shows_it(tmp_path: Path, sim: ThreadedSimulator) -> None:
    machine = Machine(tmp_path, sim, {"OPENAGENT_LOG_STDERR": "true"})
    with machine.start("serve") as daemon:
        assert daemon.stderr is not None
        assert "daemon listening" in (json.loads(line)["message"] for line in daemon.stderr)
        daemon.terminate()
        daemon.communicate(timeout=PATIENCE)


@pytest.mark.parametrize(("given", "told"), [("error,app=info", True), ("info,app=error", False)])
def test_single_areas_of_the_log_have_levels_of_their_own(
    tmp_path: Path, sim: ThreadedSimulator, given: str, told: bool
) -> None:
    machine = Machine(tmp_path, sim, {"OPENAGENT_LOG": given})
    assert machine.run("serve", "--daemon").returncode == 0
    assert machine.run("stop").returncode == 0
    lines = [json.loads(line) for line in (machine.home / "logs/daemon.log").read_text().splitlines()]
    assert any(line["message"] == "daemon listening" for line in lines) is told
    assert any(line["message"] == "daemon stop requested" for line in lines) is not told


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("loud", "'loud' is not a level"),
        ("info,teem=debug", "'teem' is not an area"),
        ("info,", "'' is not a level"),
        ("info,team", "'team' is not a level. Write team=debug"),
        ("info,=debug", "the area of '=debug' is missing or repeated"),
        ("team=debug,Team=error", "the area of 'team=error' is missing or repeated"),
    ],
)
def test_a_wrong_log_level_is_named(tmp_path: Path, sim: ThreadedSimulator, given: str, wrong: str) -> None:
    ran = Machine(tmp_path, sim, {"OPENAGENT_LOG": given}).run("serve")
    assert ran.returncode == 1
    assert f"OPENAGENT_LOG: {wrong}" in ran.stderr


def test_a_database_that_cannot_be_reached_ends_the_daemon_with_its_reason(
    tmp_path: Path, sim: ThreadedSimulator
) -> None:
    machine = Machine(tmp_path, sim, {"OPENAGENT_DATABASE": "postgresql://nobody@127.0.0.1:1/none"})
    ran = machine.run("serve")
    assert ran.returncode == 1
    assert "cannot be reached" in ran.stderr
    assert "`database`" in ran.stderr


def test_a_port_that_is_taken_is_named(fresh: Machine, sim: ThreadedSimulator) -> None:
    ran = fresh.run("serve", "--daemon", "--web-socket", str(sim.port))
    assert ran.returncode == 1
    assert f"Port {sim.port} on 127.0.0.1 cannot be opened" in ran.stderr
    assert fresh.run("status").returncode == 1


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null/below", "FILE"])
def test_a_home_that_cannot_be_is_told_in_one_sentence_by_every_command(fresh: Machine, home: str) -> None:
    fresh.root.joinpath("FILE").touch()
    home = str(fresh.root / home)
    nowhere = Machine(fresh.root, fresh.sim, {"OPENAGENT_HOME": home})
    for command in (["run", "hello"], ["sessions"], ["serve", "--daemon"], ["serve"]):
        ran = nowhere.run(*command)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert len(ran.stderr.splitlines()) == 1
        assert f"The data home {home} cannot be used: " in ran.stderr
        assert "Set OPENAGENT_HOME" in ran.stderr


def test_a_hangup_has_the_settings_read_again_and_ends_nothing(fresh: Machine) -> None:
    fresh.turn("start", script=[{"text": "a"}, {"text": "b"}])
    pid = fresh.daemon_pid()
    assert pid is not None
    os.kill(pid, signal.SIGHUP)
    log = fresh.home / "logs" / "daemon.log"
    while "settings reloaded" not in log.read_text():
        assert is_running(pid)
    assert fresh.turn("go on", "--continue")
    assert fresh.daemon_pid() == pid


def test_the_status_tells_what_all_sessions_used(fresh: Machine) -> None:
    fresh.turn("one", script=[{"text": "a"}])
    fresh.turn("two", script=[{"text": "b"}])
    usage = fresh.json("status")["usage"]
    assert usage["requests"] == 2
    assert usage["tokens"]["input_tokens"] > 0


def test_the_web_takes_the_next_free_port_and_opens_there_again(fresh: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        assert fresh.run("config", "set", "web.port", str(taken)).returncode == 0
        opened = fresh.run("web", "--no-open")
        assert opened.returncode == 0
        url = fresh.json("status")["web_url"]
        port = int(url.rpartition(":")[2])
        assert port != taken
        assert opened.stdout.startswith(f"{url}/login#")
        assert opened.stderr == f"Port {taken} is in use, so the web interface uses {port}, also after a restart.\n"
    kill(fresh.json("status")["pid"])
    assert fresh.run("serve", "--daemon").returncode == 0
    assert fresh.json("status")["web_url"] == url

    assert "closed" in fresh.run("web", "--off").stdout
    assert fresh.json("status")["web_url"] == ""
    fresh.run("stop")
    assert fresh.run("serve", "--daemon").returncode == 0
    assert fresh.json("status")["web_url"] == ""


def test_a_port_that_was_asked_for_by_number_is_taken_or_refused(fresh: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        ran = fresh.run("serve", "--daemon", "--web-socket", str(taken))
    assert ran.returncode == 1
    assert f"Port {taken} on 127.0.0.1 cannot be opened" in ran.stderr
