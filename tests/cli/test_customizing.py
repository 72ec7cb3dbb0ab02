"""Plans, commands, skills, hooks and plugins on the command line."""

import json
from pathlib import Path
from typing import Any

from ..interaction.doing import call
from ..mcp_host.bench import SCRIPTED
from .machine import Machine

OVEN = {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/oven.py"]}
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


def test_a_plugin_of_another_program_is_installed_listed_used_and_removed(machine: Machine) -> None:
    market = machine.root / "market"
    plugin = market / "plugins" / "kitchen"
    files: dict[Path, Any] = {
        market / ".claude-plugin" / "marketplace.json": {
            "name": "m",
            "plugins": [
                {"name": "kitchen", "source": "./plugins/kitchen"},
                {"name": "far", "source": {"source": "github", "repo": "a/b"}},
                {"name": "out", "source": "../../etc"},
            ],
        },
        plugin / ".claude-plugin" / "plugin.json": {"name": "kitchen", "version": "1.2", "lspServers": {}},
        plugin / "commands" / "taste.md": "---\ndescription: Taste it\n---\nTaste $1.",
        plugin / "skills" / "bake" / "SKILL.md": "---\nname: bake\ndescription: Bakes\n---\nHeat it.",
        plugin / "agents" / "cook.md": "---\nname: head-cook\ndescription: Cooks\nmodel: opus\n---\nCook.",
        plugin / "hooks" / "hooks.json": {
            "hooks": {
                "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "cat ${CLAUDE_PLUGIN_ROOT}/note.txt"}]}]
            }
        },
        plugin / "note.txt": "said by the plugin",
        plugin / ".mcp.json": {
            "mcpServers": {"oven": {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/oven.py"]}}
        },
        plugin / "oven.py": SCRIPTED.read_text(),
    }
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    assert "--plugin kitchen, far, out" in machine.run("plugins", "install", str(market)).stderr
    for name in ("far", "out"):
        assert "lies elsewhere" in machine.run("plugins", "install", str(market), "--plugin", name).stderr
    (plugin / "leak").symlink_to("/etc")
    assert "leads out" in machine.run("plugins", "install", str(plugin)).stderr
    (plugin / "leak").unlink()

    done = machine.run("plugins", "install", str(market), "--plugin", "kitchen")
    assert "kitchen is installed: 1 agents, 1 skills, 1 commands, 1 hooks, 1 MCP servers." in done.stdout
    assert "! Not used here: `lspServers`." in done.stdout
    assert "already a plugin" in machine.run("plugins", "install", str(plugin)).stderr
    found = json.loads(machine.run("customizing", "--json").stdout)
    assert "kitchen:bake" in [each["name"] for each in found["skills"]["skills"]]
    assert "head-cook" in [each["template"]["name"] for each in found["agents"]["templates"]]
    shown = machine.run("customizing").stdout
    assert "/kitchen:taste" in shown
    machine.sim.reset([{"text": "Tasty."}])
    assert machine.run("run", "/kitchen:taste soup").stdout == "Tasty.\n"
    assert "Taste soup." in machine.sim.requests[0].body
    assert "said by the plugin" in machine.sim.requests[0].body

    machine.turn("Bake.", script=[{"tool_calls": [{"name": "echo", "arguments": {"text": "hot"}}]}, {"text": "Baked."}])
    assert "hot" in [message.get("content") for message in machine.sim.requests[-1].json()["messages"]]

    assert "kitchen is removed." in machine.run("plugins", "remove", "kitchen").stdout
    assert "There is no plugin" in machine.run("plugins", "remove", "kitchen").stderr
    assert "There is no plugin" in machine.run("plugins", "remove", "..").stderr
    assert "kitchen" not in machine.run("customizing").stdout
    assert "oven" not in machine.run("mcp", "list").stdout
