"""What a model is shown, by what takes how much of its window; and what was taken out of it."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import GET, POST


class ContextSection(Struct, frozen=True, omit_defaults=True):
    name: str
    """`tools`, `system`, `rules`, `code`, `summary`, `user`, `assistant`, `tool: NAME`, `images`, …"""
    tokens: int
    items: int = 0
    """Messages, or tools, or images."""
    cached_tokens: int = 0
    """What of it the provider last read from its cache."""


class ContextMessage(Struct, frozen=True, omit_defaults=True):
    number: int
    """0: the summary."""
    role: Literal["user", "assistant", "tool"]
    tokens: int
    about: str = ""
    """Its beginning, on one line."""
    section: str = ""
    pinned: bool = False
    shortened: bool = False
    """The model sees a pointer in place of it."""


class CollectionInfo(Struct, frozen=True, omit_defaults=True):
    id: int
    collector: str
    at: float
    messages: int = 0
    """How many went."""
    shortened: int = 0
    tokens_freed: int = 0
    summary: str = ""
    holds: bool = True
    """False: it was taken back."""


class ContextReport(Struct, frozen=True, omit_defaults=True):
    session: str
    model: str
    window: int
    used_tokens: int
    """As the provider counted, and our estimate of what came after."""
    estimated: bool
    """No provider has counted this context yet."""
    threshold: float
    """Percent of the window at which it is collected."""
    collector: str
    cached_tokens: int = 0
    sections: list[ContextSection] = []
    """In the order they are sent."""
    messages: list[ContextMessage] = []
    collections: list[CollectionInfo] = []


class ContextProposal(Struct, frozen=True, omit_defaults=True):
    """What a collection did, or would do."""

    collector: str
    done: bool
    hidden: list[tuple[int, int]] = []
    shortened: list[int] = []
    tokens_before: int = 0
    tokens_after: int = 0
    """Of a preview: with room for the summary that was not written."""
    summary: str = ""
    note: str = ""
    collection: int = 0


class ContextGivenBack(Struct, frozen=True):
    collections: list[int]
    tokens_before: int
    tokens_after: int


class ContextShow(
    ReadingOp[ContextReport], tag="context.show", needs="read", routes=GET("/api/agents/{id=session}/context")
):
    """What the model would be shown now."""

    session: str


class ContextCollect(
    Op[ContextProposal],
    tag="context.collect",
    needs="chat",
    acts=True,
    waits=True,
    routes=POST("/api/agents/{id=session}/context/collect"),
):
    """Shrink the context now. Nothing is destroyed: `context.restore` takes it back."""

    session: str
    collector: str = ""
    """The session's, or the configured one, when left out."""
    dry_run: bool = False
    """Only tell what would go. No summary is written, so nothing is spent."""


class ContextPin(Op[Done], tag="context.pin", needs="chat", routes=POST("/api/agents/{id=session}/context/pin")):
    """Keep a message from every collector, or no longer. A tool's result is kept together with its call."""

    session: str
    message: int
    on: bool = True


class ContextRestore(
    Op[ContextGivenBack], tag="context.restore", needs="chat", routes=POST("/api/agents/{id=session}/context/restore")
):
    """Show the model again what a collection took away."""

    session: str
    collection: int = 0
    """0: the newest one that still holds."""
    every: bool = False
    """All of them."""
