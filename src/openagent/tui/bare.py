"""Containers with nothing of their own to draw. Saying so spares Textual a line of blanks a layer, in every frame."""

from textual.containers import Horizontal, Vertical
from textual.widgets import ContentSwitcher


class Columns(Horizontal):
    BLANK = True


class Rows(Vertical):
    BLANK = True


class Sheets(ContentSwitcher):
    BLANK = True
