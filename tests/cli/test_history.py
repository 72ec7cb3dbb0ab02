"""`openagent import` and what is listed after it."""

from tests.history.left import lay, lay_goose

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


def test_a_session_whose_folder_is_gone_says_so_and_goes_on_in_another(fresh: Machine) -> None:
    lay_goose(fresh.root)
    fresh.sim.reset({"conversations": [{"steps": [{"text": "Hello."}], "loop": True}]})
    fresh.run("import")
    [info] = fresh.json("sessions", "list", "--brought")["sessions"]
    refused = fresh.run("run", "--session", info["id"], "Go on")
    assert refused.returncode != 0
    assert "The folder of this session is gone: /home/user/project." in refused.stderr
    assert f"openagent sessions fork {info['id']} --cwd DIR" in refused.stderr
    fork = fresh.json("sessions", "fork", info["id"], "--cwd", str(fresh.workspace))
    assert fork["cwd"] == str(fresh.workspace)
    went_on = fresh.run("run", "--session", fork["id"], "Go on")
    assert went_on.returncode == 0, went_on.stderr
    said = fresh.run("sessions", "show", fork["id"]).stdout
    assert "It has two lines, says goose." in said
    assert "Hello." in said
