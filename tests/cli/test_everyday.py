"""`openagent diff`, `undo`, `redo`, `login` and `logout`: the session need not be named."""

from .machine import Machine

WROTE = {"tool_calls": [{"name": "write_file", "arguments": {"path": "made.py", "content": "print('made')\n"}}]}


def test_the_newest_session_of_the_folder_is_shown_taken_back_and_brought_again(fresh: Machine) -> None:
    nothing = fresh.run("diff")
    assert nothing.returncode == 1
    assert "There is no session in" in nothing.stderr
    session = fresh.turn("write it", script=[WROTE, {"text": "Written."}, {"text": "More."}])
    made = fresh.workspace / "made.py"
    assert "made.py" in fresh.run("diff", "--names").stdout
    fresh.turn("and now?", "--continue")
    undone = fresh.run("undo")
    assert f"Turn 2 of {session} is taken back." in undone.stdout
    assert made.exists()
    undone = fresh.run("undo")
    assert f"Turn 1 of {session} is taken back." in undone.stdout
    assert not made.exists()
    assert "no turn that could be taken back" in fresh.run("undo").stderr
    command = next(line for line in undone.stdout.splitlines() if "openagent redo" in line).partition("openagent ")[2]
    assert fresh.run(*command.split()).returncode == 0
    assert made.read_text() == "print('made')\n"


def test_a_key_is_stored_from_stdin_and_forgotten(machine: Machine) -> None:
    assert machine.run("login", given="sk-1\n").returncode == 2
    stored = machine.run("login", "openai", given="sk-1\n")
    assert (stored.returncode, stored.stderr) == (0, "")
    assert machine.run("login", "openai", given="\n").returncode == 2
    kept = [each["name"] for each in machine.json("auth", "list")["entries"] if each["source"] == "vault"]
    assert kept == ["openai"]
    assert machine.run("logout", "openai").stdout == "The key or login of openai is forgotten.\n"
