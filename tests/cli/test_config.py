"""`openagent config get|path|edit|set|unset`."""

from dataclasses import replace

from .machine import Machine


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
