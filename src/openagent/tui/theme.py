"""One accent, neutrals otherwise; green, amber and red only for state."""

from textual.theme import Theme

DARK = Theme(
    name="openagent-dark",
    primary="#818cf8",
    secondary="#a5b4fc",
    accent="#818cf8",
    foreground="#d5d8e2",
    background="#0e1016",
    surface="#141720",
    panel="#1c202c",
    success="#4ade80",
    warning="#fbbf24",
    error="#f87171",
    dark=True,
    variables={"block-cursor-text-style": "none", "footer-key-foreground": "#818cf8"},
)
LIGHT = Theme(
    name="openagent-light",
    primary="#4f46e5",
    secondary="#6366f1",
    accent="#4f46e5",
    foreground="#23262f",
    background="#fbfbfd",
    surface="#f2f3f7",
    panel="#e6e8ef",
    success="#15803d",
    warning="#a16207",
    error="#b91c1c",
    dark=False,
    variables={"block-cursor-text-style": "none", "footer-key-foreground": "#4f46e5"},
)
