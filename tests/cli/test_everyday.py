"""`openagent diff`, `undo`, `redo`, `login` and `logout`: the session need not be named."""

from typing import Any

from tests.workspace.trees import git

from .machine import Machine, shell

WROTE = {"tool_calls": [{"name": "write_file", "arguments": {"path": "made.py", "content": "print('made')\n"}}]}


def wrote(path: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "write_file", "arguments": {"path": path, "content": "made\n"}}]}


def test_the_newest_session_of_the_folder_is_shown_taken_back_and_brought_again(fresh: Machine) -> None:
    nothing = fresh.run("diff")
    assert nothing.returncode == 1
    assert "There is no session in" in nothing.stderr
    session = fresh.turn("write it", script=[WROTE, {"text": "Written."}, {"text": "More."}])
    made = fresh.workspace / "made.py"
    assert "made.py" in fresh.run("diff", "--names").stdout
    fresh.turn("and now?", "--continue")
    undone = fresh.run("undo")
    assert f"Undid turn 1 of {session}." in undone.stdout
    assert "The conversation is as it was" in undone.stdout
    assert not made.exists()
    assert "no changes to files left to undo" in fresh.run("undo").stderr
    for number in (2, 1):
        assert f"no longer sees turn {number}" in fresh.run("undo", "--conversation").stdout
    assert "no turn left to undo" in fresh.run("undo", "--conversation").stderr
    command = next(line for line in undone.stdout.splitlines() if "openagent redo" in line).partition("openagent ")[2]
    assert fresh.run(*command.split()).returncode == 0
    assert made.read_text() == "print('made')\n"


def test_undo_with_git_brings_back_a_repository_that_was_all_a_turn_deleted(fresh: Machine) -> None:
    script = [wrote("made.py"), {"text": "ok"}, shell("rm -rf .git"), {"text": "gone"}]
    fresh.workspace.mkdir(parents=True, exist_ok=True)
    git(fresh.workspace, "init", "-q")
    git(fresh.workspace, "commit", "-qm", "first", "--allow-empty")
    session = fresh.turn("write it", "--mode", "full", script=script)
    fresh.turn("and the rest", "--continue")
    assert not (fresh.workspace / ".git/HEAD").exists()
    assert f"Undid turn 2 of {session}." in fresh.run("undo", "--git").stdout
    assert git(fresh.workspace, "log", "--format=%s").split() == ["first"]
    assert (fresh.workspace / "made.py").exists()
    assert f"Undid turn 1 of {session}." in fresh.run("undo", "--git").stdout
    assert not (fresh.workspace / "made.py").exists()
    assert "no changes to files or to the repository left to undo" in fresh.run("undo", "--git").stderr


def test_undo_of_a_path_touches_that_path_alone(fresh: Machine) -> None:
    script = [wrote("till.py"), wrote("lib/a.txt"), {"text": "ok"}, wrote("lib/b.txt"), wrote("c.txt"), {"text": "ok"}]
    session = fresh.turn("write", script=script)
    fresh.turn("write more", "--continue")

    def there() -> set[str]:
        return {str(path.relative_to(fresh.workspace)) for path in fresh.workspace.rglob("*") if path.is_file()}

    everything = there()
    assert everything == {"till.py", "lib/a.txt", "lib/b.txt", "c.txt"}
    older = fresh.run("undo", "till.py")
    assert "turn 1 was the last to change it" in older.stderr
    assert f"`openagent undo {session} till.py --turn 1`" in older.stderr
    assert "no session is called that" in fresh.run("undo", "tilll.py").stderr
    assert "is no path in the workspace" in fresh.run("undo", "../c.txt").stderr
    assert "is no path" in fresh.run("undo", "").stderr
    assert there() == everything
    assert fresh.run("undo", session, "till.py", "--turn", "1").returncode == 0
    assert there() == everything - {"till.py"}
    assert "0 written, 1 removed." in fresh.run("undo", "./lib/b.txt").stdout
    assert there() == {"lib/a.txt", "c.txt"}
    below = fresh.run("undo", session, "a.txt", "--turn", "1", cwd=fresh.workspace / "lib")
    assert below.returncode == 0, below.stderr
    assert there() == {"c.txt"}
    assert "taken back" not in fresh.run("sessions", "show", session).stdout


def test_files_that_run_outside_the_sandbox_are_marked(fresh: Machine) -> None:
    (fresh.workspace / "Makefile").write_text("all:\n")
    fresh.turn("write", script=[shell("echo more >> Makefile"), {"text": "ok"}])
    mark = "runs outside the sandbox: make or build"
    assert f"M Makefile  +1 −0  ({mark})" in fresh.run("diff").stdout
    assert f"  Makefile  ({mark})" in fresh.run("undo").stdout
    assert f"  Makefile  ({mark})" in fresh.run("redo").stdout
    assert f"  Makefile  ({mark})" in fresh.run("revert", "Makefile").stdout


def test_files_that_git_ignores_are_one_line_until_they_are_asked_for(fresh: Machine) -> None:
    git(fresh.workspace, "init", "-q")
    (fresh.workspace / ".gitignore").write_text("__pycache__/\n.envrc\n")
    names = [f"__pycache__/{name}.pyc" for name in "abcd"]
    script = [shell(f"mkdir __pycache__ && echo more | tee {' '.join(names)} app.py .envrc"), {"text": "ok"}]
    fresh.turn("write", script=script)
    line = f"4 ignored files (+4 −0): {', '.join(names[:3])}, …"
    assert fresh.run("diff", "--names").stdout.splitlines() == [
        "A .envrc  +1 −0  (runs outside the sandbox: direnv or environment)",
        "A app.py  +1 −0",
        "2 files changed, +2 −0",
        f"{line}  (--ignored shows them)",
    ]
    shown = fresh.run("diff", "--ignored").stdout.splitlines()
    assert shown[-5:] == [
        f"A {names[3]}  +1 −0  (ignored by git)",
        "@@ -0,0 +1 @@",
        "+more",
        "2 files changed, +2 −0",
        line,
    ]
    assert shown.index("A app.py  +1 −0") < shown.index("A __pycache__/a.pyc  +1 −0  (ignored by git)")
    assert [file["ignored"] for file in fresh.json("diff")["files"]] == [False, *[True] * 4, False]


def test_redo_needs_no_id_and_revert_takes_the_session_first(fresh: Machine) -> None:
    session = fresh.turn("write", script=[wrote("a.txt"), wrote("b.txt"), {"text": "ok"}])
    assert "There is nothing to redo" in fresh.run("redo").stderr
    assert "a.txt" in fresh.run("revert", session, "a.txt").stdout
    assert fresh.run("revert", "b.txt").returncode == 0
    assert "Name one file" in fresh.run("revert", session).stderr
    assert [path.name for path in fresh.workspace.iterdir()] == []
    assert "1 written, 0 removed.\n  b.txt" in fresh.run("redo").stdout
    assert "1 written, 0 removed.\n  a.txt" in fresh.run("redo", session).stdout
    assert fresh.run("redo").returncode == 1


def test_a_word_that_is_a_session_and_a_file_is_refused(fresh: Machine) -> None:
    session = fresh.turn("write", script=[wrote("a.txt"), {"text": "ok"}])
    (fresh.workspace / session).touch()
    refused = fresh.run("undo", session)
    assert f"Write ./{session} for the file" in refused.stderr
    assert (fresh.workspace / "a.txt").exists()
    (fresh.workspace / session).unlink()
    assert fresh.run("undo", session).returncode == 0
    assert not (fresh.workspace / "a.txt").exists()


def test_a_key_is_stored_from_stdin_and_forgotten(machine: Machine) -> None:
    assert machine.run("login", given="sk-1\n").returncode == 2
    stored = machine.run("login", "openai", given="sk-1\n")
    assert (stored.returncode, stored.stderr) == (0, "")
    assert machine.run("login", "openai", given="\n").returncode == 2
    kept = [each["name"] for each in machine.json("auth", "list")["entries"] if each["source"] == "vault"]
    assert kept == ["openai"]
    assert machine.run("logout", "openai").stdout == "The key or login of openai is forgotten.\n"
