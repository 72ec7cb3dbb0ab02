"""`openagent config get|path|edit|set|unset`."""

import json
from dataclasses import replace

from .machine import MODEL, Machine


def test_a_setting_is_printed_and_a_misspelt_one_gets_a_suggestion(machine: Machine) -> None:
    assert machine.run("config", "get", "model").stdout == "compatible/scripted\n"
    below = machine.json("config", "get", "budget")["values"]
    assert "budget.day_usd" in {each["key"] for each in below}
    unknown = machine.run("config", "get", "budget.day_us")
    assert unknown.returncode == 1
    assert "Did you mean budget.day_usd?" in unknown.stderr


def test_the_file_is_named_and_edited_and_checked_afterwards(machine: Machine) -> None:
    file = machine.root / ".config" / "openagent" / "config.toml"
    assert machine.run("config", "path").stdout == f"{file}\n"
    assert machine.json("config", "path", "--project")["path"] == f"{machine.workspace}/.openagent/config.toml"
    writing = replace(machine, extra={"EDITOR": "sh -c 'echo max_steps_typo = 3 > \"$0\"'"})
    wrong = writing.run("config", "edit")
    assert wrong.returncode == 1
    assert "max_steps_typo" in wrong.stderr
    editing = replace(machine, extra={"EDITOR": 'sh -c \'echo "# mine" > "$0"\''})
    right = editing.run("config", "edit")
    assert (right.returncode, file.read_text()) == (0, "# mine\n")
    assert "is in order" in right.stdout
    assert editing.json("config", "edit") == {"path": str(file), "notes": []}


def test_what_is_shown_and_does_not_hold_is_said_and_how_it_would(fresh: Machine) -> None:
    own = fresh.workspace / ".openagent" / "config.toml"
    own.parent.mkdir()
    own.write_text('[jail]\nnetwork = "off"\n[budget]\nday_usd = 3.0\nsession_usd = 1.0\n[tools]\ndisabled = ["git"]\n')
    assert fresh.run("trust").returncode == 0
    assert fresh.run("config", "set", "budget.day_usd", "20").stdout.endswith("config.toml.\n")
    later = fresh.run("config", "set", "jail.memory", "1g").stdout
    assert later.endswith(
        "The daemon reads it when it starts. `openagent stop`, and the next command starts it anew.\n"
    )
    elsewhere = replace(fresh, extra={"OPENAGENT_CONTEXT_THRESHOLD": "9"})
    notes = [line for line in elsewhere.run("config", "show").stdout.splitlines() if line.startswith("! ")]
    assert [note.split("`")[1] for note in notes if "is not in force: all sessions share one" in note] == [
        "budget.day_usd",
        "jail.network",
    ]
    assert [note.split("`")[1] for note in notes if "is not in force yet" in note] == ["jail.memory"]
    assert "! $OPENAGENT_CONTEXT_THRESHOLD is set here and not where the daemon was started" in notes[-1]
    assert len(notes) == 4
    assert fresh.run("stop").returncode == 0
    assert "is not in force yet" not in fresh.run("config", "show").stdout


def test_a_setting_that_was_written_this_moment_holds_and_nobody_is_told_otherwise(fresh: Machine) -> None:
    fresh.turn("start the daemon", script=[{"text": "a"}])
    file = fresh.root / ".config" / "openagent" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    for price in (1, 2, 3):
        fresh.sim.reset([{"text": "ok"}])
        file.write_text(f'[prices."{MODEL}"]\ninput = {price}\noutput = {price}\n')
        ran = fresh.run("run", "Hello")
        assert (ran.returncode, "not in force" in ran.stderr) == (0, False), ran.stderr


def test_caps_and_limits_of_the_shell_a_command_is_typed_in_count_or_are_said_not_to(machine: Machine) -> None:
    machine.turn("start the daemon", script=[{"text": "a"}])
    capped = {"OPENAGENT_BUDGET_SESSION_TOKENS": "5", "OPENAGENT_LIMITS_MAX_STEPS": "9"}
    ran = replace(machine, extra=capped).run("run", "--json", "too long for five tokens")
    assert (ran.returncode, json.loads(ran.stdout)["reason"]) == (4, "budget")
    session = machine.json("sessions", "list")["sessions"][0]
    assert (session["settings"]["max_steps"], session["cap_tokens"]) == (9, 5)
    spending = replace(machine, extra={"OPENAGENT_BUDGET_DAY_USD": "0.001"}).run("run", "Hello")
    assert "`budget.day_usd` ($OPENAGENT_BUDGET_DAY_USD) is not in force" in spending.stderr


def test_a_setting_is_written_after_it_was_checked_and_comments_stay(fresh: Machine) -> None:
    file = fresh.root / ".config" / "openagent" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# what I spend\n[budget]\nday_usd = 5.0  # a day\n")
    assert fresh.run("config", "set", "budget.day_usd", "20").returncode == 0
    assert fresh.run("config", "get", "budget.day_usd").stdout == "20.0\n"
    assert fresh.run("config", "set", "tools.disabled", "git,grep").returncode == 0
    assert fresh.json("config", "get", "tools.disabled")["values"][0]["value"] == ["git", "grep"]
    assert file.read_text().startswith("# what I spend\n[budget]\n")
    before = file.read_text()
    for wrong, why in (
        (("budget.day_us", "3"), "day_usd"),
        (("budget.day_usd", "much"), "budget.day_usd"),
        (("providers.openai.api_key", "sk-1"), "is a secret"),
    ):
        ran = fresh.run("config", "set", *wrong)
        assert ran.returncode == 1
        assert why in ran.stderr
        assert "openagent-config-" not in ran.stderr
    assert file.read_text() == before
    assert fresh.run("config", "unset", "budget.day_usd").returncode == 0
    assert "day_usd" not in file.read_text()
    assert fresh.run("config", "set", "--project", "mode", "plan").returncode == 0
    assert (fresh.workspace / ".openagent" / "config.toml").read_text() == 'mode = "plan"\n'
