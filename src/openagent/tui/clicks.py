"""Words that do something when they are clicked: what has a key has a place to click too."""

from textual.content import Content
from textual.style import Style


def hint(key: str, what: str, action: str) -> Content:
    """`^P plan`: the key, what it does, and the action a click runs."""
    shown = Content.assemble((key, "bold $primary"), f" {what}" if what else "")
    return shown.stylize(Style.from_meta({"@click": action}))
