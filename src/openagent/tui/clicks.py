"""Words that do something when they are clicked: what has a key has a place to click too."""

from rich.style import Style as RichStyle
from textual.content import Content
from textual.style import Style
from textual.widgets import Static


def hint(key: str, what: str, action: str) -> Content:
    """`^P plan`: the key, what it does, and the action a click runs."""
    return clickable(Content.assemble((key, "bold $primary"), f" {what}" if what else ""), action)


def clickable(content: Content, action: str) -> Content:
    return content.stylize(Style.from_meta({"@click": action}))


class Hints(Static):
    """Shows what can be clicked in its own colours, not as underlined links."""

    @property
    def link_style(self) -> RichStyle:
        return RichStyle.null()
