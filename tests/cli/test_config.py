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
    right = replace(machine, extra={"EDITOR": 'sh -c \'echo "# mine" > "$0"\''}).run("config", "edit")
    assert (right.returncode, file.read_text()) == (0, "# mine\n")
    assert "is in order" in right.stdout
