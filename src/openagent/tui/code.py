"""Code in an answer: quiet colours, because green, amber and red are for states."""

from pygments.token import Token
from textual.content import Content
from textual.highlight import HighlightTheme, highlight

_TAB = 4


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


def highlighted(code: str, language: str) -> Content:
    """Without a language it stays plain: guessing takes long, and changes its mind while the code grows."""
    code = code.expandtabs(_TAB)
    return highlight(code, language=language, theme=Calm) if language else Content(code)
