"""Heavy libraries that are fetched when first wanted: ops about them, and how clients see them."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST

ExtraState = Literal["installed", "fetched", "absent"]


class ExtraInfo(Struct, frozen=True):
    """Something that not everybody needs and that is large."""

    name: str
    """Its name."""
    purpose: str
    """What it is for, in words."""
    without: str
    """What happens as long as it is absent, in words."""
    state: ExtraState
    """Whether it was installed with OpenAgent, fetched later, or is not here."""
    download_mb: int
    """About what is downloaded to fetch it, in MB."""
    size_bytes: int
    """What it takes on the disk, in bytes; 0 unless it was fetched."""
    stage: str = ""
    """How far it is, in words, while it is being fetched; empty: it is not."""


class ExtraInfos(Struct, frozen=True):
    """All there are."""

    extras: list[ExtraInfo]
    """The most wanted first."""


class ExtrasList(ReadingOp[ExtraInfos], tag="extras.list", needs="read", reach="open", routes=GET("/api/extras")):
    """Which heavy libraries are here, and what happens without the others."""


class ExtrasFetch(
    Op[ExtraInfo], tag="extras.fetch", needs="admin", reach="whole", waits=True, routes=POST("/api/extras/fetch")
):
    """Fetch one. Its progress comes as events, to this connection alone."""

    name: str
    """The one to fetch."""
