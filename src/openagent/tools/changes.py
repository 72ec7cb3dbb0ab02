"""How a change to a file is shown to a person."""

import difflib
from typing import Any

MAX_DIFF = 20_000


def change_display(path: str, before: str, after: str) -> dict[str, Any]:
    diff = list(difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=3))
    added = sum(line.startswith("+") and not line.startswith("+++") for line in diff)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in diff)
    return {
        "path": path,
        "diff": "\n".join(diff)[:MAX_DIFF],
        "added": added,
        "removed": removed,
        "summary": f"+{added} −{removed}",
    }
