"""Code in an answer: quiet colours, because green, amber and red are for states."""

from pygments.token import Token
from textual.content import Content
from textual.highlight import HighlightTheme, highlight
from textual.widgets.markdown import MarkdownFence


class Calm(HighlightTheme):
    STYLES = {
        Token.Comment: "$foreground-muted italic",
        Token.Generic.Strong: "bold",
        Token.Generic.Emph: "italic",
        Token.Generic.Deleted: "$error",
        Token.Generic.Inserted: "$success",
        Token.Generic.Heading: "$primary bold",
        Token.Generic.Subheading: "$primary",
        Token.Keyword: "$primary",
        Token.Literal.Number: "$secondary",
        Token.Literal.String: "$secondary",
        Token.Literal.String.Doc: "$foreground-muted italic",
        Token.Name.Class: "bold",
        Token.Name.Decorator: "$primary",
        Token.Name.Function: "bold",
        Token.Name.Tag: "$primary",
        Token.Operator.Word: "$primary",
    }


class Code(MarkdownFence):
    DEFAULT_CSS = """
    Code { background: $surface; margin: 1 0; padding: 0; }
    Code > Label { padding: 0 2; }
    """

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        return highlight(code, language=language or None, theme=Calm)
