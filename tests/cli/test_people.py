"""Who works on an installation, said on the command line."""

from .machine import Machine

ANN, BOB = "ann@example.com", "bob@example.com"


def said(machine: Machine, *arguments: str) -> str:
    done = machine.run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_people_and_teams_are_added_limited_given_tokens_and_let_in_no_longer(fresh: Machine) -> None:
    added = said(fresh, "people", "add", BOB)
    assert f"{BOB} is member, and works in " in added
    assert "/invitation#" in added
    assert "works once" in added
    assert "only over https" in added, "how people elsewhere get there"
    assert fresh.json("people", "invite", BOB)["link"] != fresh.json("people", "invite", BOB)["link"]
    assert "invited" in said(fresh, "people", "list")
    assert "people.url" in fresh.run("doctor").stdout
    said(fresh, "people", "add", ANN, "--role", "viewer")
    assert f"{ANN} is admin" in said(fresh, "people", "role", ANN, "admin")
    said(fresh, "teams", "create", "core")
    assert BOB in said(fresh, "teams", "update", "core", "--add", BOB)
    assert "2 turns at once" in said(fresh, "people", "limit", BOB, "--turns-at-once", "2")
    assert "for work below all their folders" in said(fresh, "access", "create", "script", "--person", BOB)
    session = fresh.json("run", "--json", "hello")["session"]
    assert "core" in said(fresh, "share", session, "--team", "core")
    shared = fresh.json("share", session)
    assert shared["team"]["name"] == "core", shared
    said(fresh, "people", "disable", BOB)
    listed = {each["email"]: each for each in fresh.json("people", "list")["people"]}
    assert (listed[BOB]["disabled"], listed[ANN]["role"]) == (True, "admin")
    assert f"people enable {BOB}" in fresh.run("people", "invite", BOB).stderr
    said(fresh, "people", "enable", BOB)
    assert fresh.run("people", "invite", BOB).returncode == 0
    assert fresh.run("people", "remove", BOB).returncode == 2, "nobody can be asked"
    assert "Their sessions and folder stay" in said(fresh, "people", "remove", BOB, "--yes")
    assert [each["email"] for each in fresh.json("people", "list")["people"]] == [ANN]
    assert "only admin" in fresh.run("people", "remove", ANN, "--yes").stderr
    refused = fresh.run("auth", "add", "anthropic", "--own", given=b"sk-x\n")
    assert refused.returncode != 0
    assert "nobody in particular" in refused.stderr
