"""`openagent import` and what is listed after it."""

from tests.history.left import lay

from .machine import Machine


def test_a_list_of_sessions_tells_how_many_were_brought_and_how_to_see_them(fresh: Machine) -> None:
    lay(fresh.root)
    assert fresh.run("import").returncode == 0
    listed = fresh.run("sessions", "list").stdout
    assert "There are no such sessions." in listed
    assert "And 11 brought from other agents: `openagent sessions list --brought`." in listed
    brought = fresh.run("sessions", "list", "--brought").stdout
    assert len([line for line in brought.splitlines() if "(from " in line]) == 11
    assert "brought from other agents" not in brought
    assert len(fresh.json("sessions", "list", "--from", "goose")["sessions"]) == 1
