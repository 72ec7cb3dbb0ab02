"""Other programs' files: their servers are taken over with the meaning they have there."""

import json
from pathlib import Path

import pytest

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpImport, McpImported, McpList, McpServerEntry, McpShow

from ..interaction.doing import ask
from ..interaction.house import house

pytestmark = pytest.mark.anyio

CODEX = """
model = "gpt-5"

[mcp_servers.docs]
command = "npx"
args = ["-y", "@acme/docs"]
env_vars = ["DOCS_KEY"]
startup_timeout_sec = 20
tool_timeout_sec = 90
enabled_tools = ["search"]

[mcp_servers.docs.env]
LEVEL = "info"

[mcp_servers.far]
url = "https://far.example/mcp"
bearer_token_env_var = "FAR_TOKEN"
env_http_headers = { X-Team = "TEAM" }
enabled = false
"""
OPENCODE = """{
  // what opencode.jsonc looks like
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "near": {
      "type": "local",
      "command": ["bun", "x", "near-mcp"],
      "environment": {"KEY": "{env:NEAR_KEY}"},
      "enabled": false,
      "timeout": 20000, /* to list its tools */
    },
    "remote": {"type": "remote", "url": "https://r.example/mcp", "oauth": {"clientId": "me", "scope": "a b"}},
  },
}"""
VSCODE = """{
  "inputs": [{"id": "api-key", "type": "promptString", "password": true}],
  "servers": {
    "files": {
      "type": "stdio", "command": "mcp-files", "args": ["${workspaceFolder}/data"], "env": {"K": "${input:api-key}"}
    },
  }
}"""
GEMINI = {
    "mcp": {"excluded": ["old"]},
    "mcpServers": {
        "new": {"httpUrl": "https://n.example/mcp", "headers": {"X-Key": "$NEW_KEY"}, "timeout": 30000, "trust": True},
        "old": {"url": "https://o.example/events", "excludeTools": ["drop"]},
    },
}
COPILOT = {
    "mcpServers": {"hub": {"type": "local", "command": "hub", "args": [8080], "tools": ["*"], "timeout": 500}},
}
WINDSURF = {
    "mcpServers": {"w": {"serverUrl": "https://w.example/sse"}, "x": {"command": "x", "disabled": True, "odd": 1}}
}
ZED = '{"theme": "One", "context_servers": {"z": {"source": "custom", "command": "z", "args": [], "env": {"A": true}}}}'
CLAUDE = {
    "mcpServers": {"own": {"type": "stdio", "command": "own", "env": {"TOKEN": "${NOT_SET}"}, "timeout": 120000}},
    "projects": {"/home/me/shop": {"mcpServers": {"theirs": {"command": "theirs"}}}},
}
CLINE = {"mcpServers": {"c": {"command": "c", "timeout": 1800, "alwaysAllow": ["read"], "disabled": False}}}


async def taken(client: Client, file: Path, text: str) -> tuple[McpImported, dict[str, McpServerEntry]]:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    imported = await ask(client, McpImport, path=str(file))
    assert imported.problems == []
    shown = {name: (await ask(client, McpShow, name=name)).server for name in imported.added}
    return imported, shown


async def test_the_files_of_other_programs_keep_their_meaning(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        imported, found = await taken(client, tmp_path / ".codex" / "config.toml", CODEX)
        docs, far = found["docs"], found["far"]
        assert (docs.command, docs.args, docs.env) == (
            "npx",
            ["-y", "@acme/docs"],
            {"LEVEL": "", "DOCS_KEY": "${DOCS_KEY}"},
        )
        assert (docs.timeout, docs.start_timeout, docs.tools, docs.disabled) == (90, 20, ["search"], False)
        assert (far.kind, far.disabled, set(far.headers)) == ("http", True, {"Authorization", "X-Team"})
        assert imported.notes[0] == "docs: The variable DOCS_KEY is not set."

        _, found = await taken(client, tmp_path / "opencode.jsonc", OPENCODE)
        near, remote = found["near"], found["remote"]
        assert (near.command, near.args, near.env) == ("bun", ["x", "near-mcp"], {"KEY": "${NEAR_KEY}"})
        assert (near.disabled, near.timeout, near.start_timeout) == (True, 60, 20)
        assert (remote.kind, remote.oauth.client_id, remote.oauth.scopes) == ("http", "me", ["a", "b"])

        imported, found = await taken(client, tmp_path / ".vscode" / "mcp.json", VSCODE)
        assert (found["files"].args, found["files"].env) == (["${workspaceFolder}/data"], {"K": "${API_KEY}"})
        assert imported.notes[0].startswith("files: `api-key` is asked for there; here the variable API_KEY")

        imported, found = await taken(client, tmp_path / ".gemini" / "settings.json", json.dumps(GEMINI))
        assert (found["new"].kind, found["new"].timeout, found["new"].headers) == ("http", 30, {"X-Key": "${NEW_KEY}"})
        assert (found["old"].kind, found["old"].disabled, found["old"].without_tools) == ("sse", True, ["drop"])
        assert any("what it allows unasked is not taken over" in note for note in imported.notes)

        _, found = await taken(client, tmp_path / "mcp-config.json", json.dumps(COPILOT))
        hub = found["hub"]
        assert (hub.kind, hub.args, hub.tools, hub.timeout) == ("stdio", ["8080"], [], 0.5)

        imported, found = await taken(client, tmp_path / "mcp_config.json", json.dumps(WINDSURF))
        assert (found["w"].kind, found["w"].url) == ("sse", "https://w.example/sse")
        assert (found["x"].disabled, imported.notes) == (True, ["x: `odd` means nothing here and is left out."])

        _, found = await taken(client, tmp_path / "settings.json", ZED)
        assert (found["z"].command, found["z"].env) == ("z", {"A": ""})

        imported, found = await taken(client, tmp_path / ".claude.json", json.dumps(CLAUDE))
        assert found["own"].timeout == 120
        assert "/home/me/shop alone (theirs) are left out" in imported.notes[0]

        _, found = await taken(client, tmp_path / "cline_mcp_settings.json", json.dumps(CLINE))
        assert found["c"].timeout == 1800

        # One that lacks a variable is there, and says which.
        listed = {each.name: each for each in (await ask(client, McpList, cwd=str(h.workspace))).servers}
        assert (listed["own"].status, listed["own"].detail) == ("failed", "The variable NOT_SET is not set.")


async def test_a_file_without_servers_is_refused_in_a_sentence(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        for name, text, why in (
            ("goose.yaml", "extensions: {}", "it is YAML"),
            ("other.json", '{"theme": "dark"}', "there are no MCP servers in it"),
            ("broken.json", '{"mcpServers": {', "cannot be read"),
        ):
            (h.workspace / name).write_text(text)
            with pytest.raises(OpenAgentError, match=why):
                await ask(client, McpImport, path=str(h.workspace / name))
