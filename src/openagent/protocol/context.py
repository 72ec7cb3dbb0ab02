"""What a model is shown, by what takes how much of its window; and what was taken out of it."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import GET, POST


class ContextSection(Struct, frozen=True, omit_defaults=True):
    """A part of what a model is shown."""

    name: str
    """`tools`, `system`, `rules`, `code`, `summary`, `user`, `assistant`, `tool: NAME`, `images`, …"""
    tokens: int
    """How many tokens it takes."""
    items: int = 0
    """Messages, or tools, or images."""
    cached_tokens: int = 0
    """What of it the provider last read from its cache."""


class ContextMessage(Struct, frozen=True, omit_defaults=True):
    """A message that a model is shown."""

    number: int
    """0: the summary."""
    role: Literal["user", "assistant", "tool"]
    """Who said it."""
    tokens: int
    """How many tokens it takes."""
    about: str = ""
    """Its beginning, on one line."""
    section: str = ""
    """The section it counts to."""
    pinned: bool = False
    """No collector takes it away."""
    shortened: bool = False
    """The model sees a pointer in place of it."""


class CollectionInfo(Struct, frozen=True, omit_defaults=True):
    """One time that a context was shrunk."""

    id: int
    """Its number in the session."""
    collector: str
    """Which collector took it."""
    at: float
    """When, in seconds since 1970."""
    messages: int = 0
    """How many went."""
    shortened: int = 0
    """How many messages were shortened."""
    tokens_freed: int = 0
    """Tokens it freed."""
    summary: str = ""
    """What was written in place of what went."""
    holds: bool = True
    """False: it was taken back."""


class ContextReport(Struct, frozen=True, omit_defaults=True):
    """What a model is shown, and what takes how much of it."""

    session: str
    """The session, by its id or the beginning of it."""
    model: str
    """The model: provider/model."""
    window: int
    """The model's window, in tokens; 0 when it is not known."""
    used_tokens: int
    """As the provider counted, and our estimate of what came after."""
    estimated: bool
    """No provider has counted this context yet."""
    threshold: float
    """Percent of the window at which it is collected."""
    collector: str
    """The collector that is used."""
    cached_tokens: int = 0
    """What the provider last read from its cache."""
    sections: list[ContextSection] = []
    """In the order they are sent."""
    messages: list[ContextMessage] = []
    """Every message that is shown, in order."""
    collections: list[CollectionInfo] = []
    """What was collected so far."""


class ContextProposal(Struct, frozen=True, omit_defaults=True):
    """What a collection did, or would do."""

    collector: str
    """The collector that was asked."""
    done: bool
    """False: only a preview."""
    hidden: list[tuple[int, int]] = []
    """Ranges of message numbers that went."""
    shortened: list[int] = []
    """Messages that were shortened, by number."""
    tokens_before: int = 0
    """The context's size before, in tokens."""
    tokens_after: int = 0
    """Of a preview: with room for the summary that was not written."""
    summary: str = ""
    """What was written in place of what went."""
    note: str = ""
    """Why nothing went, or other things to know."""
    collection: int = 0
    """The number of the collection; 0: nothing was done."""


class ContextGivenBack(Struct, frozen=True):
    """What was shown to the model again."""

    collections: list[int]
    """The collections that were taken back, by number."""
    tokens_before: int
    """The context's size before, in tokens."""
    tokens_after: int
    """The context's size after, in tokens."""


class ContextShow(
    ReadingOp[ContextReport], tag="context.show", needs="read", routes=GET("/api/agents/{id=session}/context")
):
    """What the model would be shown now."""

    session: str
    """The session, by its id or the beginning of it."""


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
    """The session, by its id or the beginning of it."""
    collector: str = ""
    """The session's, or the configured one, when left out."""
    dry_run: bool = False
    """Only tell what would go. No summary is written, so nothing is spent."""


class ContextPin(Op[Done], tag="context.pin", needs="chat", routes=POST("/api/agents/{id=session}/context/pin")):
    """Keep a message from every collector, or no longer. A tool's result is kept together with its call."""

    session: str
    """The session, by its id or the beginning of it."""
    message: int
    """The message, by its number."""
    on: bool = True
    """False: it may be collected again."""


class ContextRestore(
    Op[ContextGivenBack], tag="context.restore", needs="chat", routes=POST("/api/agents/{id=session}/context/restore")
):
    """Show the model again what a collection took away."""

    session: str
    """The session, by its id or the beginning of it."""
    collection: int = 0
    """0: the newest one that still holds."""
    every: bool = False
    """All of them."""
