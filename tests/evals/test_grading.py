"""`openagent eval`: patches are judged as SWE-bench judges them, whatever they do to whoever judges."""

import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.evals.grading import judge
from openagent.evals.instances import Instance
from openagent.evals.jailed import Ended
from openagent.evals.logs_of_tests import PARSERS
from openagent.evals.needs import Need, need_of
from openagent.evals.suite import suite_tasks
from tests.cli.machine import Machine, shell

BEFORE = "# a\n# b\n# c\ndef add(a, b):\n    return a - b\n# d\n# e\n# f\n"
FIX = " def add(a, b):\n-    return a - b\n+    return a + b\n # d\n # e\n"
GOLD = f"@@ -2,6 +2,6 @@\n # b\n # c\n{FIX}"
SHIFTED = f"@@ -7,6 +7,6 @@\n # was here once\n # c\n{FIX}"
ELSEWHERE = "@@ -1,2 +1,2 @@\n def other(x):\n-    return 1\n+    return 2\n"
FORGING = """\
@@ -1,2 +1,1 @@
-from calc import add
-print("ok" if add(0, 0) == 0 else "not ok", 1, "-", "zero")
+print("ok 1 - adds\\nok 2 - zero")
"""
FORKING = """\
import os, time
while True:
    try:
        if not os.fork():
            time.sleep(9999)
    except OSError:
        time.sleep(9999)
"""
REACHING = """\
import socket
try:
    socket.create_connection(("127.0.0.1", PORT), 5)
    add = lambda a, b: a + b
except OSError:
    add = lambda a, b: 0
"""
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b")
CHECKS = """\
from calc import add
for number, (name, passed) in enumerate([("adds", add(2, 3) == 5), ("zero", add(0, 0) == 0)], 1):
    print("ok" if passed else "not ok", number, "-", name)
"""
OLD_CHECKS = 'from calc import add\nprint("ok" if add(0, 0) == 0 else "not ok", 1, "-", "zero")\n'
NEEDS = {"*": {"install": "", "test": "PYTHONPATH=. python3 tests/check.py", "whole": True, "parser": "tap"}}


def changed(file: str, hunks: str) -> str:
    return f"diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n{hunks}"


def instead(code: str) -> str:
    """A patch that puts other code in place of the whole file."""
    lines = [f"+{line}\n" for line in code.splitlines()]
    old = "".join(f"-{line}\n" for line in BEFORE.splitlines())
    return changed("calc.py", f"@@ -1,8 +1,{len(lines)} @@\n{old}{''.join(lines)}")


class Bench:
    """A dataset of one small repository, whose clone is in a folder; each patch is an instance."""

    def __init__(self, root: Path, sim: ThreadedSimulator) -> None:
        self.machine = Machine(root, sim)
        self.root = root
        clone = root / "repos" / "some__calc"
        (clone / "tests").mkdir(parents=True)
        (clone / "calc.py").write_text(BEFORE)
        (clone / "tests/check.py").write_text(OLD_CHECKS)
        for words in (
            ["init", "-q"],
            ["add", "-A"],
            [*IDENTITY, "commit", "-qm", "x"],
        ):
            subprocess.run(["git", *words], cwd=clone, check=True)
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True)
        self.commit = done.stdout.strip()
        (root / "needs.json").write_text(json.dumps(NEEDS))

    def write(self, patches: dict[str, str]) -> None:
        old = "".join(f"-{line}\n" for line in OLD_CHECKS.splitlines())
        new = "".join(f"+{line}\n" for line in CHECKS.splitlines())
        test_patch = changed("tests/check.py", f"@@ -1,2 +1,3 @@\n{old}{new}")
        rows = [
            {
                "instance_id": name,
                "repo": "some/calc",
                "base_commit": self.commit,
                "patch": changed("calc.py", GOLD),
                "test_patch": test_patch,
                "FAIL_TO_PASS": '["adds"]',
                "PASS_TO_PASS": ["zero"],
            }
            for name in patches
        ]
        (self.root / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
        written = [
            {"instance_id": name, "model_patch": patch, "model_name_or_path": "m"} for name, patch in patches.items()
        ]
        (self.root / "predictions.jsonl").write_text("\n".join(map(json.dumps, written)))

    def words(self, out: str, *more: str) -> list[str]:
        given = ("data.jsonl", "--repos", "repos", "--needs", "needs.json", "--environments", "environments")
        named = [str(self.root / each) if not each.startswith("-") else each for each in given]
        return [
            "eval",
            "grade",
            *named,
            "--predictions",
            str(self.root / "predictions.jsonl"),
            "--out",
            str(self.root / out),
            *more,
        ]

    def grade(self, out: str, *more: str) -> dict[str, dict[str, Any]]:
        ran = self.machine.run(*self.words(out, *more))
        assert ran.returncode == 0, ran.stderr
        return self.results(out)

    def results(self, out: str) -> dict[str, dict[str, Any]]:
        rows = [json.loads(line) for line in (self.root / out / "results.jsonl").read_text().splitlines()]
        return {row["instance_id"]: row for row in rows}

    def left_running(self) -> list[str]:
        searched = ["pgrep", "-f", str(self.root / "environments")]
        found = subprocess.run(searched, check=False, capture_output=True, text=True)
        return found.stdout.split()


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    with ThreadedSimulator([{"text": "Hello."}]) as sim:
        yield Bench(tmp_path, sim)


def test_patches_are_judged_by_the_tests_they_cannot_change(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        bench.write(
            {
                "good": changed("calc.py", GOLD),
                "good-without-line-end": changed("calc.py", GOLD).rstrip("\n"),
                "fuzzy": changed("calc.py", SHIFTED),
                "empty": "",
                "breaks": instead("def add(a, b):\n    return a + b + (a == 0)"),
                "forged": changed("tests/check.py", FORGING),
                "untrue": instead("import os, sys\nprint('ok 1 - adds\\nok 2 - zero', flush=True)\nos._exit(3)"),
                "ends": instead("raise SystemExit"),
                "does-not-apply": changed("calc.py", ELSEWHERE),
                "reaches-out": instead(REACHING.replace("PORT", str(port))),
            }
        )
        verdicts = bench.grade("run", "--jobs", "4")
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    said = {name: (row["status"], row.get("why", "")) for name, row in verdicts.items()}
    assert said == {
        "good": ("resolved", ""),
        "good-without-line-end": ("resolved", ""),
        "fuzzy": ("resolved", "") if shutil.which("patch") else ("patch_failed", "does_not_apply"),  # git is strict
        "empty": ("unresolved", "still_failing"),
        "breaks": ("unresolved", "broke_tests"),
        "forged": ("unresolved", "still_failing"),
        "untrue": ("unresolved", "untrue_log"),
        "ends": ("unresolved", "nothing_ran"),
        "does-not-apply": ("patch_failed", "does_not_apply"),
        "reaches-out": ("unresolved", "still_failing"),
    }
    assert verdicts["breaks"]["broken"] == ["zero"]


def test_what_hangs_or_forks_is_ended_whole(bench: Bench) -> None:
    bench.write({"hangs": instead("import time\ntime.sleep(9999)"), "forks": instead(FORKING)})
    verdicts = bench.grade("run", "--timeout", "3")
    assert {name: row["status"] for name, row in verdicts.items()} == {"hangs": "timeout", "forks": "timeout"}
    assert bench.left_running() == []


def test_an_interrupted_run_goes_on_where_it_stood(bench: Bench) -> None:
    bench.write({"first": changed("calc.py", GOLD), "second": instead("import time\ntime.sleep(9999)")})
    with bench.machine.start(*bench.words("run", "--jobs", "1")) as started:
        assert started.stdout is not None
        assert started.stdout.readline().startswith(b"first: resolved")
        started.send_signal(signal.SIGKILL)
    with (bench.root / "run/results.jsonl").open("a") as torn:
        torn.write('{"instance_id": "sec')
    refused = bench.machine.run(*bench.words("run"))
    assert refused.returncode != 0
    assert "already holds a run" in refused.stderr
    again = bench.machine.run(*bench.words("run", "--resume", "--timeout", "2"))
    assert again.returncode == 0, again.stderr
    assert "first: " not in again.stdout
    assert "second: timeout" in again.stdout
    assert "resolved   1 of 2" in again.stdout


def test_an_interpreter_that_is_not_here_is_said_and_nothing_else_taken(bench: Bench) -> None:
    bench.write({"old": changed("calc.py", GOLD)})
    (bench.root / "needs.json").write_text(json.dumps({"*": {**NEEDS["*"], "python": "3.1"}}))
    verdicts = bench.grade("run")
    assert verdicts["old"]["status"] == "skipped"
    assert "no Python 3.1" in verdicts["old"]["detail"]
    assert bench.machine.json("eval", "report", str(bench.root / "run"))["instances"] == 0


def test_every_task_of_the_suite_is_resolved_by_its_solution_and_by_nothing_less(bench: Bench) -> None:
    tasks = {task.id: task for task in suite_tasks()}
    assert len(tasks) >= 30
    assert len({task.language for task in tasks.values()}) >= 5
    here = {name for name, task in tasks.items() if all(map(shutil.which, task.programs))}
    for source in ("gold", "empty"):
        out = str(bench.root / source)
        ran = bench.machine.run("eval", "grade", "suite", "--predictions", source, "--out", out, "--jobs", "4")
        assert ran.returncode == 0, ran.stderr
        verdicts = bench.results(source)
        assert verdicts.keys() == tasks.keys()
        for name in here:
            if source == "gold":
                assert verdicts[name]["status"] == "resolved", (name, verdicts[name])
            else:
                assert sorted(verdicts[name]["still_failing"]) == sorted(tasks[name].fail_to_pass), name
                assert "broken" not in verdicts[name], name
        assert {verdicts[name]["status"] for name in tasks.keys() - here} <= {"skipped"}


def test_agents_are_given_tasks_and_two_runs_compared(tmp_path: Path) -> None:
    tasks = {task.id: task for task in suite_tasks()}
    chosen = ["bash-join", "bash-retry", "bash-versions"]

    def solving(name: str) -> dict[str, Any]:
        file, text = next(iter(tasks[name].solution.items()))
        return {"match": tasks[name].title, "steps": [shell(f"cat >{file} <<'END'\n{text}END"), {"text": "Done."}]}

    gives_up = {"steps": [{"text": "I cannot."}]}
    script = {"conversations": [*map(solving, chosen[:2]), gives_up]}
    with ThreadedSimulator(script) as sim:
        machine = Machine(tmp_path, sim)
        words = ["eval", "run", "suite", *(f"--only={name}" for name in chosen), "--model", "compatible/scripted"]
        told = machine.json(*words, "--out", str(tmp_path / "first"))
        assert (told["resolved"], told["instances"]) == (2, 3)
        assert told["low"] < told["rate"] < told["high"]
        assert told["input_tokens"] > 0
        assert told["ends"] == {"done": 3}
        assert told["classes"] == {"still_failing": 1}
        written = [json.loads(line) for line in (tmp_path / "first/predictions.jsonl").read_text().splitlines()]
        assert {row["instance_id"] for row in written} == set(chosen)
        assert all(row["model_name_or_path"] == "compatible/scripted" for row in written)
        patches = {row["instance_id"]: row["model_patch"] for row in written}
        assert patches["bash-versions"] == ""
        assert "diff --git a/join.sh b/join.sh" in patches["bash-join"]
        sim.reset({"conversations": [gives_up]})
        machine.json(*words, "--out", str(tmp_path / "second"))
        compared = machine.json("eval", "compare", str(tmp_path / "first"), str(tmp_path / "second"))
        assert machine.run("stop").returncode == 0
    assert sorted(compared["only_first"]) == chosen[:2]
    assert compared["only_second"] == []
    assert compared["resolved"]["low"] <= compared["resolved"]["difference"] <= compared["resolved"]["high"]
    assert compared["p_value"] == 0.5


def test_the_same_question_is_asked_by_command_and_by_server(tmp_path: Path) -> None:
    by_server = {"tool_calls": [{"name": "get_page", "arguments": {"id": "12345"}}]}
    script = {
        "conversations": [
            {"match": "Use the command", "steps": [shell("python3 pages.py get 12345"), {"text": "{last_result}"}]},
            {"match": "Use the tools", "steps": [by_server, {"text": "{last_result}"}]},
        ]
    }
    with ThreadedSimulator(script) as sim:
        machine = Machine(tmp_path, sim)
        told = machine.json("eval", "cli-vs-mcp", "--scenario", "get_page", "--repeats", "1")["taken"]
        assert machine.run("stop").returncode == 0
        offered = [{tool["function"]["name"] for tool in request.json()["tools"]} for request in sim.requests]
    assert [(each["way"], each["right"], each["calls"]) for each in told] == [
        ("cli", True, ["shell"]),
        ("mcp", True, ["get_page"]),
    ]
    assert all(each["input_tokens"] > 0 for each in told)
    assert offered[0] == {"shell"}
    assert {"get_page", "search_pages", "create_page"} <= offered[-1]
    assert "shell" not in offered[-1]


LOGS: dict[str, tuple[list[str], dict[str, str]]] = {
    "pytest": (
        ["PASSED a.py::t[x y]", "FAILED a.py::u - assert 1 == 2", "SKIPPED [2] a.py:3: no"],
        {"a.py::t[x": "PASSED", "a.py::u": "FAILED"},
    ),
    "pytest-short-paths": (
        ["PASSED a.py::t[/home/x/data.txt]", "XFAIL a.py::u"],
        {"a.py::t[/data.txt]": "PASSED", "a.py::u": "XFAIL"},
    ),
    "pytest-whole-names": (
        ["\x1b[32mPASSED\x1b[0m a.py::t[x y]", "a.py::u FAILED"],
        {"a.py::t[x y]": "PASSED", "a.py::u": "FAILED"},
    ),
    "django": (
        [
            *("test_a (m.T) ... ok", "Doc of b ... Internal Server Error: /x/", "ok"),
            *("test_c (m.T) ... FAIL", "test_d (m.T) ... skipped 'no'"),
        ],
        {"test_a (m.T)": "PASSED", "Doc of b": "PASSED", "test_c (m.T)": "FAILED", "test_d (m.T)": "SKIPPED"},
    ),
    "sympy": (
        ["test_a ok", "test_b F", "____ sympy/x.py:test_b ____"],
        {"test_a": "PASSED", "test_b": "FAILED", "sympy/x.py:test_b": "FAILED"},
    ),
    "go": (
        ["--- PASS: TestA (0.00s)", "    --- FAIL: TestA/sub (0.01s)"],
        {"TestA": "PASSED", "TestA/sub": "FAILED"},
    ),
    "cargo": (["test a::b ... ok", "test c ... FAILED"], {"a::b": "PASSED", "c": "FAILED"}),
    "jest": (["  ✓ adds (5 ms)", "  ✕ fails"], {"adds": "PASSED", "fails": "FAILED"}),
}


@pytest.mark.parametrize("parser", LOGS)
def test_logs_are_read_as_the_datasets_name_tests(parser: str) -> None:
    lines, outcomes = LOGS[parser]
    assert PARSERS[parser]("\n".join(lines)) == outcomes


def test_a_name_that_was_cut_off_stands_for_those_that_agree() -> None:
    instance = Instance("i", "r", "1", "c", "", "", "", "", ("a::t[log(x",), ("a::u", "a::s"))
    agree = "PASSED a::t[log(x)-1]\nPASSED a::t[log(x)-2]\nPASSED a::u\nSKIPPED a::s\n"
    assert judge(instance, Need(parser="pytest"), Ended(0, agree, 0.0)).resolved
    differ = agree.replace("PASSED a::t[log(x)-2]", "FAILED a::t[log(x)-2]")
    assert judge(instance, Need(parser="pytest"), Ended(1, differ, 0.0)).still_failing == ("a::t[log(x",)


@pytest.mark.parametrize(
    ("repo", "version", "python"),
    [
        ("django/django", "3.2", "3.6"),
        ("django/django", "4.2", "3.9"),
        ("pallets/flask", "2.3", "3.11"),
        ("astropy/astropy", "v5.3", "3.10"),
    ],
)
def test_what_is_needed_follows_repository_and_version(repo: str, version: str, python: str) -> None:
    patch = "diff --git a/tests/a/test_b.py b/tests/a/test_b.py\n"
    instance = Instance("i", repo, version, "c", "", "", "", patch, (), ())
    need = need_of(instance, {})
    assert need.python == python
    assert need.command(instance).endswith(" a.test_b" if repo == "django/django" else " tests/a/test_b.py")
    official = {"i": {"python": "3.8", "install": ["python -m pip install -e .[test]"], "test": "pytest -rA x.py"}}
    ours = need_of(instance, official)
    assert (ours.python, ours.install, ours.command(instance)) == ("3.8", ".[test]", "pytest -rA x.py")


def test_the_example_makes_a_training_set_and_leaves_out_what_is_none(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples/training_set"

    def changed_to(name: str, line: str) -> dict[str, str]:
        return {"text": json.dumps({"request": f"Change {name}.", "code": f"       {name}.\n           {line}"})}

    steps = [
        {"text": "I would rather not."},
        changed_to("MAIN-PARAGRAPH", "STOP RUN."),
        changed_to("COUNT-BOATS", "ADD 2 TO WS-BOATS."),
        changed_to("OTHER", "STOP RUN."),
        {"text": "No."},
    ]
    with ThreadedSimulator(steps) as sim:
        machine = Machine(tmp_path, sim)
        given = ("--source", str(example / "sample_cobol.cbl"), "--out", str(tmp_path / "set.jsonl"))
        command = [sys.executable, str(example / "generate_training_set.py"), *given]
        ran = subprocess.run(command, env=machine.env, check=True, capture_output=True, text=True)
        assert machine.run("stop").returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "set.jsonl").read_text().splitlines()]
    assert [row["paragraph"] for row in rows] == ["MAIN-PARAGRAPH", "COUNT-BOATS"]
    assert rows[1]["modlog"] == ["-            ADD 1 TO WS-BOATS.", "+            ADD 2 TO WS-BOATS."]
    assert [message["role"] for message in rows[0]["messages"]] == ["user", "assistant"]
    assert "ADD-FEES: left out" in ran.stderr
