"""What a session's model has seen of files: stored with the results that showed it, and as lasting as they are.

After a restart, in a fork and after a rewind the model knows what its history tells it, so what it has seen is read
from the same history. What a step shows it, it can act on from the next step: the calls beside a look were made without
it.
"""

from typing import TYPE_CHECKING

from openagent.plugins.context import within
from openagent.plugins.files_read import FilesRead, SeenFile, Stamp, seen_file
from openagent.plugins.store import FileSeen, SeenRecord

if TYPE_CHECKING:
    from openagent.core.session import Session


REMEMBERED_TOTAL = 2 * 1024 * 1024


class KnownFiles(FilesRead):
    """Digests are kept for all files, contents for the last ones, so that a change can be shown."""

    def __init__(self) -> None:
        super().__init__()
        self._remembered = 0

    def put(self, path: str, seen: SeenFile) -> None:
        if (before := self._seen.pop(path, None)) is not None:
            self._remembered -= len(before.content or b"")
        self._seen[path] = seen
        self._remembered += len(seen.content or b"")
        if self._remembered > REMEMBERED_TOTAL:
            self._drop_oldest_contents()

    def _drop_oldest_contents(self) -> None:
        for path, seen in self._seen.items():
            if self._remembered <= REMEMBERED_TOTAL:
                return
            if seen.content is not None:
                self._remembered -= len(seen.content)
                self._seen[path] = seen._replace(content=None)


class CallFiles(FilesRead):
    """What one call sees and writes, on top of what was known before its step."""

    def __init__(self, known: FilesRead) -> None:
        super().__init__()
        self._known = known
        self.looks: dict[str, SeenFile] = {}
        self.writes: dict[str, SeenFile] = {}

    def get(self, path: str) -> SeenFile | None:
        return self._known.get(path)

    def saw(self, path: str, stamp: Stamp, content: bytes | None) -> None:
        self.looks[path] = seen_file(stamp, content)

    def wrote(self, path: str, stamp: Stamp, content: bytes | None) -> None:
        self.writes[path] = seen_file(stamp, content)

    def record(self, number: int) -> SeenRecord | None:
        """For the store, with the message that tells the model of it."""
        news = {**self.looks, **self.writes}
        files = [FileSeen(path, *seen.stamp, seen.digest) for path, seen in news.items()]
        return SeenRecord(number, files) if files else None


class SeenFiles:
    def __init__(self, session: "Session") -> None:
        self._session = session
        self._known: KnownFiles | None = None
        self._looks: dict[str, SeenFile] = {}
        """Of the step that runs."""

    async def begin_step(self) -> None:
        if self._known is None:
            self._known = await self._stored()
        for path, seen in self._looks.items():
            self._known.put(path, seen)
        self._looks = {}

    async def _stored(self) -> KnownFiles:
        session, known = self._session, KnownFiles()
        if session.info.turn_count <= 1 and not session.info.forked_from:
            return known  # nothing can have been stored
        hidden = await session.undo.taken_back()
        for record in await session.runtime.store.files_seen(session.id):
            if not within(record.number, hidden):
                for file in record.files:
                    stamp = Stamp(file.inode, file.size, file.modified_ns)
                    known.put(file.path, SeenFile(stamp, file.digest, None))
        return known

    def for_call(self) -> CallFiles:
        return CallFiles(self._known or KnownFiles())

    def take_in(self, call: CallFiles) -> None:
        """Its result is recorded. What it wrote is known at once, and more recent than any look."""
        self._looks |= call.looks
        for path, seen in call.writes.items():
            self._looks.pop(path, None)
            if self._known is not None:
                self._known.put(path, seen)

    def forget(self) -> None:
        """The history has changed: what it tells now is read again."""
        self._known = None
        self._looks = {}
