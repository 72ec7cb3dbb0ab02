"""`openagent mcp`"""

import json
import shutil
from pathlib import Path

from .machine import Machine

SCRIPTED = Path(__file__).parents[1] / "mcp_host" / "scripted_server.py"


def test_a_server_is_added_tried_switched_and_removed(machine: Machine) -> None:
    shutil.copy(SCRIPTED, machine.workspace)
    added = machine.run("mcp", "add", "mine", "python3", "scripted_server.py")
    assert added.returncode == 0, added.stderr
    tried = machine.run("mcp", "test", "mine")
    assert tried.returncode == 0, tried.stderr
    assert "mine is up. 11 tools: echo, die," in tried.stdout
    assert machine.run("mcp", "disable", "mine").returncode == 0
    (server,) = machine.json("mcp", "list")["servers"]
    assert (server["name"], server["status"], server["transport"]) == ("mine", "disabled", "stdio")
    assert machine.run("mcp", "remove", "mine").returncode == 0
    assert machine.json("mcp", "list")["servers"] == []
    other = machine.workspace / "other.json"
    other.write_text(json.dumps({"mcpServers": {"theirs": {"url": "http://127.0.0.1:9/mcp"}}}))
    assert machine.json("mcp", "import", str(other))["added"] == ["theirs"]
    failed = machine.run("mcp", "test", "theirs")
    assert failed.returncode == 1
    assert "theirs is failed" in failed.stdout
