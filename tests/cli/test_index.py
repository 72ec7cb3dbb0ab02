"""`openagent index`, from the outside."""

from pathlib import Path

from .machine import Machine
from .pseudo_terminal import Terminal


def test_a_workspace_is_built_searched_and_described(machine: Machine, tmp_path: Path) -> None:
    here = ("--cwd", str(tmp_path))
    (tmp_path / "till.py").write_text("def total(items):\n    return sum_of(items)\n")
    ran = machine.run("index", "search", *here, "total")
    assert ran.returncode == 1
    assert "openagent index build" in ran.stderr
    ran = machine.run("index", "build", *here)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("1 files: 1 read, 0 dropped, 0 left out")
    assert "Reading files" in ran.stderr

    assert machine.run("index", "search", *here, "total of items").stdout.startswith("till.py:1-2  total\n")
    assert machine.run("index", "search", *here, "zeppelin").returncode == 1
    (hit,) = machine.json("index", "search", *here, "total of items")["hits"]
    assert (hit["path"], hit["start_line"], hit["symbol"]) == ("till.py", 1, "total")
    assert "used in till.py:2" in machine.run("index", "symbols", *here, "sum_of").stdout
    assert machine.run("index", "map", *here).stdout == "till.py:\n  def total(items)\n"
    assert machine.json("index", "status", *here)["files"] == 1
    assert "By meaning: not set up" in machine.run("index", "status", *here).stdout


def test_watching_notices_what_changes(machine: Machine, tmp_path: Path) -> None:
    here = ("--cwd", str(tmp_path))
    (tmp_path / "a.py").write_text("apple = 1\n")
    with machine.start("index", "watch", *here) as process:
        try:
            assert process.stdout is not None
            assert b"1 files: 1 read" in process.stdout.readline()
            (tmp_path / "b.py").write_text("banana = 1\n")
            assert b"2 files: 1 read" in process.stdout.readline()
        finally:
            process.terminate()
            process.communicate(timeout=60)
    assert machine.json("index", "search", *here, "banana")["hits"][0]["path"] == "b.py"


def test_long_work_shows_a_bar_in_a_terminal_and_no_colours_anywhere_else(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "till.py").write_text("def total(items):\n    return sum(items)\n")
    with Terminal(machine, "index", "build", "--cwd", str(tmp_path)) as terminal:
        assert terminal.exit_code() == 0
    assert "█ 1 of 1" in terminal.seen
    for command in (["index", "build", "--cwd", str(tmp_path)], ["sessions", "list"], ["task", "list"], ["doctor"]):
        ran = machine.run(*command)
        assert "\x1b" not in ran.stdout + ran.stderr
