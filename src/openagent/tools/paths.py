"""Paths a model names, kept inside the workspace: a symlink cannot lead out."""

import os
from pathlib import Path

from openagent.protocol.errors import OpenAgentError


def inside(workspace: Path, path: str) -> Path:
    """The real path. Raises when it lies outside the workspace."""
    root = os.path.realpath(workspace)
    real = os.path.realpath(os.path.join(root, os.path.expanduser(path)))
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        raise OpenAgentError("tool_error", f"{path} is outside the workspace {workspace}, where file tools work.")
    return Path(real)
