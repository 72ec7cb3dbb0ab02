"""Plans, commands, skills, hooks and plugins on the command line."""

import json

from ..interaction.doing import call
from .machine import Machine

PLAN = [{"text": "reproduce", "state": "done"}, {"text": "repair", "state": "active"}, {"text": "test"}]


def test_run_shows_the_plan_and_expands_commands(machine: Machine) -> None:
    commands = machine.workspace / ".openagent" / "commands"
    commands.mkdir(parents=True)
    (commands / "mend.md").write_text("Mend $1.")
    machine.sim.reset([call("todo", plan=PLAN), {"text": "Done."}])
    ran = machine.run("run", "--mode", "full", "/mend fence")
    assert ran.stdout == "Done.\n"
    assert "  ✓ reproduce\n  ▸ repair\n  · test" in ran.stderr
    assert "Mend fence." in machine.sim.requests[0].body


def test_commands_skills_hooks_and_plugins_are_listed(machine: Machine) -> None:
    elsewhere = machine.root / "elsewhere"
    elsewhere.mkdir()
    assert "no slash commands" in machine.run("commands", "list", "--cwd", str(elsewhere)).stdout
    assert "no skills" in machine.run("skills", "list").stdout
    assert "no hooks" in machine.run("hooks", "list").stdout
    assert machine.run("plugins", "list").returncode in (0, 1)
    skill = machine.workspace / ".claude" / "skills" / "cook"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: cook\ndescription: Makes soup\n---\nBoil it.")
    assert "Makes soup" in machine.run("skills", "list").stdout
    assert "Boil it." in machine.run("skills", "show", "cook").stdout
    assert json.loads(machine.run("skills", "list", "--json").stdout)["skills"][0]["name"] == "cook"
    unknown = machine.run("skills", "show", "bake")
    assert (unknown.returncode, "There are: cook." in unknown.stderr) == (1, True)
    wrong = machine.run("hooks", "test", "BeforeLunch")
    assert (wrong.returncode, "There is no event" in wrong.stderr) == (1, True)


def test_hooks_that_end_before_they_read_are_followed_by_the_real_daemon(machine: Machine) -> None:
    own = machine.root / ".config" / "openagent"
    own.mkdir(parents=True, exist_ok=True)
    commands = ["exit 0", "echo no >&2; exit 2", "exec <&-; exit 0", "kill -9 $$", "sleep 100 & exit 0"]
    hooks = [{"type": "command", "command": command, "timeout": 5} for command in commands]
    (own / "hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}}))
    fresh = machine.root / "fresh"
    fresh.mkdir()
    given = json.dumps({"command": "x" * 100_000})
    tried = machine.run(
        "hooks", "test", "PreToolUse", "--tool", "Bash", "--input", given, "--cwd", str(fresh), "--json"
    )
    (own / "hooks.json").unlink()
    outcomes = [each["outcome"] for each in json.loads(tried.stdout)["tried"]]
    assert outcomes == ["done", "blocked", "done", "failed", "done"]
