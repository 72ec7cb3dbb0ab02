"""Where nothing was said yet: what will answer, where it works, what to try, and the keys for the rest."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from openagent import __version__
from openagent.client.text import clean, one_line
from openagent.protocol.sessions import SessionInfo
from openagent.tui.keys import Keys
from openagent.tui.place import from_home

FIRST = "Say what to do. @ names a file, ! runs a command, / lists what else there is."
REOPEN = "/reopen opens what was open here last time."
TRY = (
    "what does this project do, and how is it tested?",
    "!git log --oneline -5",
    "read @README.md and say what is out of date",
)
LONGEST_FOLDER = 56
ROOM = 20
"""Lines of the screen below which only the first sentence is shown."""


class Welcome(Static):
    DEFAULT_CSS = """
    Welcome { height: auto; padding: 0 2; color: $text-muted; }
    """

    def __init__(self, keys: Keys) -> None:
        super().__init__(FIRST, markup=False, classes="welcome")
        self._keys = keys

    def show(self, info: SessionInfo, branch: str, earlier: Sequence[str]) -> None:
        """`earlier`: what the sessions are called that were open here last time."""
        if self.screen.size.height < ROOM:
            self.update(f"{FIRST}\n{REOPEN}" if earlier else FIRST)
            return
        model = info.model or "no model yet: /login brings one"
        place = _end_of(clean(from_home(info.cwd))) + (f" ({one_line(branch, 24)})" if branch else "")
        lines = [
            Content.assemble(("OpenAgent", "bold $primary"), f" {__version__}"),
            Content(""),
            _row("model", Content.styled(one_line(model, 60), "$foreground" if info.model else "$warning")),
            _row("folder", Content.styled(place, "$foreground")),
            _row("mode", Content.styled(info.settings.mode, "$foreground")),
            *([_row("earlier", Content(f"{one_line(', '.join(earlier), 60)}\n{'':8}{REOPEN}"))] if earlier else []),
            Content(""),
            *(_row("try" if each is TRY[0] else "", Content(each)) for each in TRY),
            Content(""),
            _row("keys", self._hints()),
            Content(""),
            Content(FIRST),
        ]
        self.update(Content("\n").join(lines))

    def _hints(self) -> Content:
        hints = (("sessions", "earlier sessions"), ("new_session", "another tab"), ("palette", "everything"))
        named = [Content.assemble((self._keys.label(action), "bold"), f" {what}") for action, what in hints]
        return Content("   ").join([*named, Content.assemble(("?", "bold"), " all keys")])


def _end_of(folder: str) -> str:
    """A long path is known by its last folders."""
    if len(folder) <= LONGEST_FOLDER:
        return folder
    parts = folder.split("/")
    while len(parts) > 1 and len("/".join(parts)) > LONGEST_FOLDER:
        parts.pop(0)
    return "…/" + one_line("/".join(parts), LONGEST_FOLDER)


def _row(name: str, what: Content) -> Content:
    return Content.assemble((f"{name:<8}", "$text-muted"), what)
