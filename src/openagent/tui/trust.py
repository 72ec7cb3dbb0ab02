"""Whether to trust a folder: asked in words, before anything of it counts."""

from openagent.client.text import clean
from openagent.protocol.setup import FolderTrust
from openagent.tui.first_run import Row, Threshold
from openagent.tui.place import from_home

TRUST, DECLINE = "trust", "decline"
_SHOWN = 5


class TrustQuestion(Threshold):
    def __init__(self, folder: FolderTrust, place: str) -> None:
        super().__init__(place)
        self._folder = folder

    def on_mount(self) -> None:
        files = [clean(name) for name in self._folder.files]
        more = [f"  and {len(files) - _SHOWN} more"] if len(files) > _SHOWN else []
        listed = "\n".join([*(f"  {name}" for name in files[:_SHOWN]), *more])
        text = (
            f"{clean(from_home(self._folder.folder))} has its own settings for agents:\n{listed}\n"
            "Trusted, they count: where requests go, what runs unasked, which servers and hooks start. "
            "Otherwise they can only make things stricter, and you can work here all the same."
        )
        rows = [
            Row("Work without them", "asked again when they change", lambda: self.leave(DECLINE)),
            Row("Trust them", "as they are now; read them first", lambda: self.leave(TRUST)),
        ]
        self.offer(
            "Do you trust this folder?",
            text,
            rows,
            hint="Enter chooses · ↑ ↓ or a number · Esc asks later",
            back=lambda: self.leave(""),
        )
