"""One accent, neutrals otherwise; green, amber and red only for state.

Each palette is chosen by hand for what a terminal can show: calculated from the full one, all dark surfaces of a
terminal of 256 or 16 colours would be one. Besides Textual's own names there are these:

- `$added-row`, `$removed-row`: the ground of a line of a diff; `$added-word`, `$removed-word`: of what changed in it
- `$gutter`: line numbers and the marks of lines broken to fit
- `$chosen-row`: the ground of what has the keys
- `$found`, `$found-now`: the ground of what a search found, and of the hit it stands at
- `$veil`: what lies over everything behind a dialog
"""

from textual.theme import Theme

_QUIET = {"block-cursor-text-style": "none"}


def _theme(name: str, *, dark: bool, accent: str, soft: str, states: tuple[str, str, str], **named: str) -> Theme:
    success, warning, error = states
    background, surface, panel = named.pop("grounds").split()
    foreground = named.pop("text")
    return Theme(
        name=f"openagent-{name}",
        primary=accent,
        secondary=soft,
        accent=accent,
        foreground=foreground,
        background=background,
        surface=surface,
        panel=panel,
        success=success,
        warning=warning,
        error=error,
        dark=dark,
        variables={
            **_QUIET,
            "footer-key-foreground": accent,
            **{key.replace("_", "-"): value for key, value in named.items()},
        },
    )


DARK = _theme(
    "dark",
    dark=True,
    accent="#818cf8",
    soft="#a5b4fc",
    states=("#4ade80", "#fbbf24", "#f87171"),
    text="#d5d8e2",
    grounds="#0e1016 #141720 #1c202c",
    added_row="#10251b",
    added_word="#1d5638",
    removed_row="#2b151b",
    removed_word="#742a38",
    gutter="#6b7285",
    chosen_row="#25284a",
    found="#4b4220",
    found_now="#8a6a12",
    veil="#0e1016 60%",
)
LIGHT = _theme(
    "light",
    dark=False,
    accent="#4f46e5",
    soft="#6366f1",
    states=("#15803d", "#a16207", "#b91c1c"),
    text="#23262f",
    grounds="#fbfbfd #f2f3f7 #e6e8ef",
    added_row="#e2f5e7",
    added_word="#abe3bb",
    removed_row="#fbe7e8",
    removed_word="#f6b9bd",
    gutter="#767c8c",
    chosen_row="#dcdbfa",
    found="#fbeeb6",
    found_now="#f5cf4b",
    veil="#fbfbfd 60%",
)
# Every colour below falls on one of the terminal's own: of its cube of 6×6×6 or of its 24 greys, each on another.
DARK_256 = _theme(
    "dark-256",
    dark=True,
    accent="#8787ff",
    soft="#afafff",
    states=("#5fd787", "#ffaf00", "#ff5f5f"),
    text="#dadada",
    grounds="#121212 #262626 #3a3a3a",
    text_muted="#9e9e9e",
    text_disabled="#6c6c6c",
    foreground_muted="#9e9e9e",
    foreground_disabled="#6c6c6c",
    added_row="#005f00",
    added_word="#008700",
    removed_row="#5f0000",
    removed_word="#af0000",
    gutter="#8a8a8a",
    chosen_row="#444444",
    found="#5f5f00",
    found_now="#875f00",
    veil="#121212 60%",
    scrollbar="#444444",
    border_blurred="#303030",
    block_cursor_blurred_background="#444444",
)
LIGHT_256 = _theme(
    "light-256",
    dark=False,
    accent="#5f00d7",
    soft="#5f5fd7",
    states=("#008700", "#875f00", "#af0000"),
    text="#262626",
    grounds="#ffffff #f0f0f0 #dddddd",
    text_muted="#5f5f5f",
    text_disabled="#949494",
    foreground_muted="#5f5f5f",
    foreground_disabled="#949494",
    added_row="#d7ffd7",
    added_word="#87ff87",
    removed_row="#ffd7d7",
    removed_word="#ffafaf",
    gutter="#767676",
    chosen_row="#d7d7ff",
    found="#ffffaf",
    found_now="#ffd700",
    veil="#ffffff 60%",
    scrollbar="#bcbcbc",
    border_blurred="#dddddd",
    block_cursor_blurred_background="#d7d7ff",
)
# The sixteen, as they are numbered: what a terminal makes of them is its owner's choice. Rows of a diff keep the
# ground, for sixteen colours have no quiet green; so do panels, for what is called dark grey is a middle one in xterm,
# on which nothing can be read.
_BLACK, _RED, _GREEN, _BROWN, _BLUE, _GREY = "#000000", "#aa0000", "#00aa00", "#aa5500", "#0000aa", "#aaaaaa"
_DARK_GREY, _BRIGHT_RED, _BRIGHT_GREEN = "#555555", "#ff5555", "#55ff55"
_YELLOW, _BRIGHT_CYAN, _WHITE = "#ffff55", "#55ffff", "#ffffff"
DARK_16 = _theme(
    "dark-16",
    dark=True,
    accent=_BRIGHT_CYAN,
    soft=_BRIGHT_CYAN,
    states=(_BRIGHT_GREEN, _YELLOW, _BRIGHT_RED),
    text=_WHITE,
    grounds=f"{_BLACK} {_BLACK} {_BLUE}",
    text_muted=_GREY,
    text_disabled=_GREY,
    foreground_muted=_GREY,
    foreground_disabled=_GREY,
    added_row=_BLACK,
    added_word=_GREEN,
    removed_row=_BLACK,
    removed_word=_RED,
    gutter=_GREY,
    chosen_row=_BLUE,
    found=_BROWN,
    found_now=_RED,
    veil=_BLACK,
    scrollbar=_DARK_GREY,
    scrollbar_background=_BLACK,
    border_blurred=_DARK_GREY,
    block_cursor_blurred_background=_BLUE,
    block_cursor_background=_BLUE,
    block_cursor_foreground=_WHITE,
)
LIGHT_16 = _theme(
    "light-16",
    dark=False,
    accent=_BLUE,
    soft=_BLUE,
    states=(_GREEN, _BROWN, _RED),
    text=_BLACK,
    grounds=f"{_WHITE} {_WHITE} {_BRIGHT_CYAN}",
    text_muted=_DARK_GREY,
    text_disabled=_DARK_GREY,
    foreground_muted=_DARK_GREY,
    foreground_disabled=_DARK_GREY,
    added_row=_WHITE,
    added_word=_BRIGHT_GREEN,
    removed_row=_WHITE,
    removed_word=_BRIGHT_RED,
    gutter=_DARK_GREY,
    chosen_row=_BRIGHT_CYAN,
    found=_YELLOW,
    found_now=_BRIGHT_GREEN,
    veil=_WHITE,
    scrollbar=_GREY,
    scrollbar_background=_WHITE,
    border_blurred=_GREY,
    block_cursor_blurred_background=_BRIGHT_CYAN,
    block_cursor_background=_BLUE,
    block_cursor_foreground=_WHITE,
)
PALETTES = {
    ("dark", "truecolor"): DARK,
    ("light", "truecolor"): LIGHT,
    ("dark", "256"): DARK_256,
    ("light", "256"): LIGHT_256,
    ("dark", "16"): DARK_16,
    ("light", "16"): LIGHT_16,
}
