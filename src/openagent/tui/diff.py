"""A unified diff in colour."""

from textual.content import Content

from openagent.client.text import clean

_COLOURS = {"+": "$success", "-": "$error", "@": "$primary"}
MAX_LINES = 2000


def coloured(patch: str) -> Content:
    lines = clean(patch).split("\n")
    shown = [
        Content.styled(line, "$foreground-muted" if line.startswith(("+++", "---")) else _COLOURS.get(line[:1], ""))
        for line in lines[:MAX_LINES]
    ]
    if len(lines) > MAX_LINES:
        shown.append(Content.styled(f"… {len(lines) - MAX_LINES} more lines", "$foreground-muted"))
    return Content("\n").join(shown)
