"""Servers as sessions meet them: a whole daemon, a scripted model, the real jail."""

import json
import shutil
from pathlib import Path
from typing import Any

from openagent.protocol import events as e

from ..interaction.house import House

SCRIPTED = Path(__file__).with_name("scripted_server.py")


def plant(tmp_path: Path, **servers: dict[str, Any]) -> None:
    """Into the person's own file, before the daemon starts."""
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    for folder in (home, workspace):
        folder.mkdir(exist_ok=True)
    shutil.copy(SCRIPTED, workspace)
    (home / "mcpServers.json").write_text(json.dumps({"mcpServers": servers}))


def scripted(manner: str = "good", **more: Any) -> dict[str, Any]:
    return {"command": "python3", "args": ["scripted_server.py", manner], **more}


def offered(h: House, number: int = -1) -> dict[str, dict[str, Any]]:
    """The tools of one request to the model."""
    return {each["function"]["name"]: each["function"] for each in h.sim.requests[number].json()["tools"]}


def statuses(seen: list[e.Event]) -> list[tuple[str, str]]:
    return [(event.server, event.status) for event in seen if isinstance(event, e.McpServerStatus)]
