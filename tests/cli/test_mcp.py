"""`openagent mcp`"""

import json
import shutil
from pathlib import Path
from typing import Any

from .machine import Machine

SCRIPTED = Path(__file__).parents[1] / "mcp_host" / "scripted_server.py"


def test_a_server_is_added_tried_switched_and_removed(machine: Machine) -> None:
    shutil.copy(SCRIPTED, machine.workspace)
    added = machine.run("mcp", "add", "mine", "python3", "scripted_server.py")
    assert added.returncode == 0, added.stderr
    tried = machine.run("mcp", "test", "mine")
    assert tried.returncode == 0, tried.stderr
    assert "mine is up. 12 tools: echo, die," in tried.stdout
    assert machine.run("mcp", "disable", "mine").returncode == 0
    server = _servers(machine)["mine"]
    assert (server["status"], server["transport"]) == ("disabled", "stdio")
    assert machine.run("mcp", "remove", "mine").returncode == 0
    assert "mine" not in _servers(machine)
    other = machine.workspace / "other.json"
    other.write_text(json.dumps({"mcpServers": {"theirs": {"url": "http://127.0.0.1:9/mcp"}}}))
    assert machine.json("mcp", "import", str(other))["added"] == ["theirs"]
    failed = machine.run("mcp", "test", "theirs")
    assert failed.returncode == 1
    assert "theirs is failed" in failed.stdout


def test_prompts_and_resources_are_listed_and_read(machine: Machine) -> None:
    shutil.copy(SCRIPTED, machine.workspace)
    assert "No MCP server that is up offers a prompt." in machine.run("mcp", "prompts").stdout
    assert machine.run("mcp", "add", "shop", "python3", "scripted_server.py", "library").returncode == 0
    assert machine.json("mcp", "prompts")["prompts"][0]["name"] == "review"
    shown = machine.run("mcp", "prompts", "shop").stdout
    assert "/shop:review" in shown
    assert "title [tone]" in shown
    assert "book://one" in machine.run("mcp", "resources").stdout
    assert machine.json("mcp", "resources", "shop")["resources"][0]["uri"] == "book://one"
    assert machine.run("mcp", "resources", "shop", "book://one").stdout == "Once upon a time\n"
    filled = machine.json("mcp", "prompt", "shop", "review", "title=Emma")
    assert filled["messages"][0]["part"]["text"] == "Review it."
    assert machine.run("mcp", "prompt", "shop", "review", "title=Emma").stdout.startswith("user\nReview it.")
    assert "is not NAME=VALUE" in machine.run("mcp", "prompt", "shop", "review", "Emma").stderr
    missing = machine.run("mcp", "prompts", "gone")
    assert missing.returncode == 1
    assert "There is no MCP server 'gone'" in missing.stderr


def test_a_known_server_is_added_by_its_name_and_says_what_it_needs(machine: Machine) -> None:
    names = {entry["name"] for entry in machine.json("mcp", "catalog")["entries"]}
    assert {"github", "postgres", "playwright", "slack", "filesystem", "git", "fetch"} <= names
    shown = machine.run("mcp", "catalog", "slack").stdout
    assert "Needs:    SLACK_BOT_TOKEN (not set): xoxb-" in shown
    assert "Install:  npm install -g @modelcontextprotocol/server-slack" in shown
    added = machine.run("mcp", "add", "sqlite", "--env", "SQLITE_PATH=shop.db")
    assert added.returncode == 0, added.stderr
    assert "SQLITE_PATH (set)" in added.stdout
    assert "Needs:    GITHUB_PERSONAL_ACCESS_TOKEN (not set)" in machine.run("mcp", "add", "github").stdout
    listed = {server["name"]: server for server in machine.json("mcp", "list")["servers"]}
    assert listed["sqlite"]["status"] == "idle"
    assert listed["github"]["status"] == "failed"
    assert "GITHUB_PERSONAL_ACCESS_TOKEN is not set" in listed["github"]["detail"]
    missing = machine.run("mcp", "add", "slakc")
    assert missing.returncode == 1
    assert "Did you mean 'slack'?" in missing.stderr


def _servers(machine: Machine) -> dict[str, Any]:
    return {server["name"]: server for server in machine.json("mcp", "list")["servers"]}
