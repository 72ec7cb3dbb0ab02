"""Other agents' sessions become sessions here: what is new of them, and nothing twice.

A session that was brought is gone on with from the turn that was its newest, which is read again; one that was
rewritten is read again from its beginning. One that has gone on here is left as it is: what was said there since
becomes another session.
"""

import asyncio
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Protocol

import msgspec
from msgspec import Struct

from openagent.history.conversation import Conversation, Price, Progress
from openagent.history.copies import Copies, InUse
from openagent.history.ids import session_id
from openagent.history.readers import READERS
from openagent.history.reading import Head, Item, Source, StartOver, Unreadable
from openagent.protocol.history import ImportedAgent, LeftOut
from openagent.protocol.origin import TITLES, ForeignAgent, Origin
from openagent.protocol.sessions import SessionInfo, Settings
from openagent.protocol.usage import SessionUsage
from openagent.store.history import BroughtPiece, HistoryFile, SqlHistory

_MESSAGES_AT_ONCE = 400
_ITEMS_AT_ONCE = 400
_LOOKED_BACK = 4096


class Mark(Struct, frozen=True, omit_defaults=True):
    """How far a source was brought."""

    version: str
    sessions: dict[str, str] = {}
    """Ids there to ids here."""
    position: int = 0
    """The byte at which its newest turn begins; 0: it is read from its beginning."""
    before: str = ""
    """A digest of what stands before that byte: with another one, it was rewritten."""
    progress: Progress = Progress()
    """How far its one conversation was there."""
    id: str = ""
    """And its id."""
    problem: str = ""
    at: float = 0.0
    """When that was."""


_marks = msgspec.json.Decoder(Mark)


class Here(Struct, frozen=True):
    """A session as it stands here."""

    info: SessionInfo | None
    busy: bool = False


class Sessions(Protocol):
    """What the importer must know of the sessions that are here."""

    async def stands(self, session: str) -> Here:
        """As it stands, and no longer in memory unless it is busy."""
        ...

    async def rewritten(self, session: str) -> None:
        """What was known of its words holds no longer."""
        ...

    def settings(self, cwd: str) -> Settings:
        """What a session in this folder starts with."""
        ...


class Counts:
    """What an import brought from one agent, so far."""

    def __init__(self, agent: ForeignAgent) -> None:
        self.agent: ForeignAgent = agent
        self.new = self.grown = self.apart = self.unchanged = self.dropped = self.messages = 0

    def told(self) -> ImportedAgent:
        figures = {name: value for name, value in vars(self).items() if name != "agent"}
        return ImportedAgent(self.agent, TITLES[self.agent], **figures)


class Importer:
    def __init__(self, history: SqlHistory, sessions: Sessions, price: Price, home: str) -> None:
        self._history = history
        self.sessions = sessions
        self.price = price
        self._home = home
        self.counts: dict[ForeignAgent, Counts] = {}
        self.left_out: list[LeftOut] = []

    @property
    def messages(self) -> int:
        return sum(each.messages for each in self.counts.values())

    def of(self, agent: ForeignAgent) -> Counts:
        return self.counts.setdefault(agent, Counts(agent))

    async def bring(self, source: Source, known: HistoryFile | None, copies: Copies, tell: Callable[[], None]) -> None:
        """`tell` is called now and then."""
        mark = _mark(known)
        counts = self.of(source.agent)
        if mark is not None and mark.version == source.version:
            counts.unchanged += max(len(mark.sessions), 1 if not mark.problem else 0)
            if mark.problem:
                self.left_out.append(LeftOut(source.agent, source.path, mark.problem))
            return
        reading = _Reading(self, source, mark, copies, tell)
        try:
            try:
                made = await reading.run()
            except StartOver:
                made = await _Reading(self, source, mark and _from_the_start(mark), copies, tell).run()
        except (Unreadable, InUse) as problem:
            made = Mark(source.version, mark.sessions if mark else {}, problem=str(problem))
        if made.problem:
            self.left_out.append(LeftOut(source.agent, source.path, made.problem))
        made = msgspec.structs.replace(made, at=time.time())
        await self._history.put_imported(source.agent, source.name, msgspec.json.encode(made).decode(), made.problem)

    async def target(self, agent: ForeignAgent, head: Head, mark: Mark | None) -> "_Target | None":
        """Which session here a conversation goes into; None: it was deleted here and stays away."""
        brought = mark.sessions.get(head.id) if mark else None
        if brought is not None and (await self.sessions.stands(brought)).info is None:
            return None
        for copy in count():
            id_ = session_id(agent, head.id, copy)
            here = await self.sessions.stands(id_)
            if here.info is None:
                return _Target(id_, None, "apart" if copy else "new")
            origin = here.info.origin
            if origin is not None and not here.busy and here.info.message_count <= origin.messages:
                return _Target(id_, here.info, "grown")
            if origin is not None and head.version and origin.version == head.version:
                return _Target(id_, here.info, "unchanged")
        return None

    async def store(self, piece: BroughtPiece) -> None:
        await self._history.bring(piece)

    def info(self, source: Source, head: Head, target: "_Target") -> SessionInfo:
        cwd = head.cwd if os.path.isabs(head.cwd) else self._home
        parent = session_id(source.agent, head.parent) if head.parent else None
        return target.info or SessionInfo(
            id=target.id,
            name=head.name,
            cwd=cwd,
            created_at=head.at or source.modified,
            updated_at=head.at or source.modified,
            settings=self.sessions.settings(cwd),
            parent=parent,
            seq=1,
        )


class _Target(Struct, frozen=True):
    id: str
    info: SessionInfo | None
    how: str
    """new, grown, apart or unchanged."""


class _Reading:
    """One source, from where it was left."""

    def __init__(
        self, importer: Importer, source: Source, mark: Mark | None, copies: Copies, tell: Callable[[], None]
    ) -> None:
        self._importer = importer
        self._source = source
        self._mark = mark
        self._copies = copies
        self._tell = tell
        self._made: dict[str, str] = dict(mark.sessions) if mark else {}
        self._remarks: list[str] = []
        self._conversation: Conversation | None = None
        self._target: _Target | None = None
        self._info: SessionInfo | None = None
        self._cut: tuple[int, int] | None = None
        self._conversations = 0

    async def run(self) -> Mark:
        source = self._source
        if source.problem:
            raise Unreadable(source.problem)
        position = await asyncio.to_thread(_resumable, source, self._mark)
        if position and self._mark is not None:
            begun = await self._resume(self._mark)
            if not begun:
                position = 0
        items = READERS[source.agent].read(source, self._copies, position)
        while some := await asyncio.to_thread(_next, items):
            for item in some:
                if isinstance(item, Head):
                    if not (position and item.id == (self._mark and self._mark.id)):
                        await self._end()
                        await self._begin(item)
                elif self._conversation is not None:
                    self._conversation.feed(item)
                    if self._conversation.waiting >= _MESSAGES_AT_ONCE:
                        await self._store()
            self._tell()
        resume = self._conversation.resume if self._conversation is not None and self._conversations == 1 else None
        last = self._conversation.head.id if self._conversation is not None else ""
        await self._end()
        return await asyncio.to_thread(self._left_at, resume, last)

    async def _resume(self, mark: Mark) -> bool:
        """False: the session is not as it was left, so that it has to be read from its beginning."""
        head = Head(mark.id, "", 0.0)
        target = await self._importer.target(self._source.agent, head, mark)
        if target is None or target.how != "grown" or target.info is None or target.info.origin is None:
            return False
        self._take(head, target, mark.progress)
        self._info, self._cut = target.info, (mark.progress.messages, mark.progress.turns)
        return True

    async def _begin(self, head: Head) -> None:
        counts = self._importer.of(self._source.agent)
        target = await self._importer.target(self._source.agent, head, self._mark)
        if target is None:
            counts.dropped += 1
            return
        self._made[head.id] = target.id
        origin = target.info.origin if target.info else None
        if target.how == "unchanged" or (origin is not None and head.version and origin.version == head.version):
            counts.unchanged += 1
            return
        self._take(head, target, Progress())
        self._info = self._importer.info(self._source, head, target)
        if target.info is not None:
            await self._importer.sessions.rewritten(target.id)
        self._cut = (0, 0)

    def _take(self, head: Head, target: _Target, begun: Progress) -> None:
        self._conversations += 1
        self._target = target
        self._conversation = Conversation(self._source.agent, head, self._importer.price, begun)

    async def _end(self) -> None:
        conversation, target = self._conversation, self._target
        if conversation is None or target is None:
            return
        conversation.close()
        self._remarks += conversation.remarks
        if conversation.progress.messages:
            await self._store()
            counts = self._importer.of(self._source.agent)
            before = target.info.message_count if target.info else 0
            how = "unchanged" if conversation.progress.messages == before else target.how
            setattr(counts, how, getattr(counts, how) + 1)
            counts.messages += max(conversation.progress.messages - before, 0)
        else:
            self._made.pop(conversation.head.id, None)  # nothing was said in it
        self._conversation = None

    async def _store(self) -> None:
        conversation, info = self._conversation, self._info
        assert conversation is not None
        assert info is not None
        messages, ends, collections = conversation.take()
        now = conversation.progress
        origin = Origin(
            agent=self._source.agent,
            title=TITLES[self._source.agent],
            id=conversation.head.id,
            path=self._source.path,
            messages=now.messages,
            usage=now.usage,
            version=conversation.head.version or (info.origin.version if info.origin else ""),
        )
        self._info = msgspec.structs.replace(
            info,
            name=info.name or conversation.name,
            message_count=now.messages,
            turn_count=now.turns,
            updated_at=max(now.last_at, info.created_at),
            usage=info.usage if info.usage.requests else SessionUsage(context_tokens=now.usage.context_tokens),
            origin=origin,
        )
        keep, keep_turns = self._cut if self._cut is not None else (None, 0)
        self._cut = None
        await self._importer.store(BroughtPiece(self._info, messages, ends, collections, keep, keep_turns))

    def _left_at(self, resume: tuple[int, Progress] | None, last: str) -> Mark:
        version, problem = self._source.version, "; ".join(self._remarks)
        if resume is None or self._conversations != 1:
            return Mark(version, self._made, problem=problem)
        position, progress = resume
        before = _digest_before(self._source.path, position)
        return Mark(version, self._made, position, before, progress, last, problem)


def _mark(known: HistoryFile | None) -> Mark | None:
    if known is None or not known.imported:
        return None
    try:
        return _marks.decode(known.imported)
    except msgspec.DecodeError:
        return None


def brought_at(known: HistoryFile) -> float:
    mark = _mark(known)
    return mark.at if mark is not None and mark.sessions else 0.0


def is_fresh(source: Source, known: HistoryFile | None) -> bool:
    mark = _mark(known)
    return mark is None or mark.version != source.version


def _from_the_start(mark: Mark) -> Mark:
    return msgspec.structs.replace(mark, position=0)


def _resumable(source: Source, mark: Mark | None) -> int:
    if mark is None or not mark.position or source.size < mark.position or not mark.id:
        return 0
    return mark.position if _digest_before(source.path, mark.position) == mark.before else 0


def _digest_before(path: str, position: int) -> str:
    """Of the file's first bytes, and of the last ones before this one."""
    try:
        with open(path, "rb") as file:
            first = file.read(min(_LOOKED_BACK, position))
            file.seek(max(position - _LOOKED_BACK, 0))
            last = file.read(min(_LOOKED_BACK, position))
    except OSError:
        return ""
    return hashlib.blake2b(first + last, digest_size=12).hexdigest()


def _next(items: Iterator[Item]) -> list[Item]:
    return list(islice(items, _ITEMS_AT_ONCE))
