"""What of a session lies on one machine, kept where other machines of the team find it.

Of every session: what it wrote, so that undo goes on. Of one that works on a clone: the files, the repository's state
and its checkpoints too. Objects go as packs, each with what was not in those before; what the session began from is
in the mirror of every machine and does not go at all. The note that names the packs is written last: a session is
as its last note says, or as it was before.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct

from openagent.filesystem.atomic_files import replace_file
from openagent.filesystem.beneath import opened_root
from openagent.plugins.blobs import Blobs
from openagent.plugins.carrying import Carrying
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionInfo
from openagent.workspace.apply import Apply
from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.clones import Clones
from openagent.workspace.git import BlobReader, run_git
from openagent.workspace.git_state import beside, named_objects, repository_of
from openagent.workspace.journal import OTHERS, Journal
from openagent.workspace.repository_restore import restore_repository
from openagent.workspace.snapshots import CheckpointNote, Snapshot, Snapshots, safe_name, store_directory
from openagent.workspace.tree import Folder, count_files, shown
from openagent.workspace.writes import WorkspaceWrites

_MOST_PACKS = 20
"""Then one takes the place of all."""
_MOST_NAMED = 5
_REFERENCE = "carried"


class Origin(Struct, frozen=True):
    """What a clone is of."""

    repository: str
    branch: str
    base: str
    """The commit it began from."""


class Packs(Struct, frozen=True):
    names: list[str] = []
    tips: list[str] = []
    """Objects from which all that is in them can be reached."""


class Note(Struct, frozen=True):
    """Where a session's things are, as they were when it was written."""

    mark: str
    turn: int
    origin: Origin | None = None
    tree: str = ""
    commit: str = ""
    """Of a clone: its files and its repository's state."""
    left_out: list[str] = []
    writes: dict[str, str] = {}
    """By session, the object that holds its journal."""
    checkpoints: dict[str, dict[str, str]] = {}
    """By session and the name of its reference."""
    packs: Packs = Packs()
    repository_packs: Packs = Packs()


class _Packing:
    """What goes, first into files: whoever works in the folder waits for that alone."""

    def __init__(self, store: Snapshots, session: str, scratch: Path) -> None:
        self.store = store
        self._session = session
        self._scratch = scratch
        self._files: list[tuple[str, Path]] = []

    def add(self, before: Packs, tips: Iterable[str], base: Collection[str], extra: dict[str, str]) -> Packs:
        """What can be reached from the tips, and neither from those before nor from what every machine has."""
        tips = sorted(set(tips))
        if tips == before.tips:
            return before
        anew = len(before.names) >= _MOST_PACKS
        known = _present(self.store, [*([] if anew else before.tips), *base], extra)
        listing = "".join([*(f"{tip}\n" for tip in tips), *(f"^{name}\n" for name in known)])
        arguments = ["pack-objects", "--revs", "-q", "--threads=1", str(self._scratch / "pack")]
        made = run_git(self.store.directory, arguments, stdin=listing.encode(), extra=extra).stdout.decode().split()
        names: list[str] = []
        for each in made:
            if _is_empty(self._scratch / f"pack-{each}.pack"):
                continue
            name = f"{self._session}/{token_hex(8)}"
            names.append(name)
            self._files += [(name + suffix, self._scratch / f"pack-{each}{suffix}") for suffix in (".pack", ".idx")]
        return Packs(names if anew else [*before.names, *names], tips)

    def send(self, blobs: Blobs) -> None:
        for name, file in self._files:
            blobs.put(name, file)


def _is_empty(pack: Path) -> bool:
    with pack.open("rb") as file:
        return file.read(12)[8:] == bytes(4)


def _packed(packing: _Packing, info: SessionInfo, before: Note) -> Note:
    store, base = packing.store, [before.origin.base] if before.origin else []
    journal = Journal(store.directory)
    sessions = [name for name in journal.sessions() if name != OTHERS] if before.origin else [info.id]
    writes = {name: store.objects.blob((store.directory / "writes" / name).read_bytes()).hex() for name in sessions}
    tips = [*writes.values(), journal.keep(store.objects, sessions).hex()]
    tree, commit, left_out = before.tree, before.commit, before.left_out
    checkpoints: dict[str, dict[str, str]] = {}
    repository = before.repository_packs
    if before.origin is not None:
        checkpoints = _references(store)
        snapshot = store.take()
        left_out = [shown(path) for path, _ in snapshot.files.left_out]
        if snapshot.tree.hex() != tree:
            tree, commit = snapshot.tree.hex(), _commit(store, snapshot, info)
            if snapshot.repository is not None:
                repository = _packed_repository(packing, before, snapshot.repository.root, base)
        tips += [commit, *(name for each in checkpoints.values() for name in each.values())]
    packs = packing.add(before.packs, tips, base, {})
    mark, turn = token_hex(8), info.turn_count
    return Note(mark, turn, before.origin, tree, commit, left_out, writes, checkpoints, packs, repository)


def _commit(store: Snapshots, snapshot: Snapshot, info: SessionInfo) -> str:
    at, files = time.time(), count_files(snapshot.files.root)
    note = CheckpointNote(info.id, info.turn_count, at, "turn", files, snapshot.repository is not None)
    commit = store.objects.commit(snapshot.tree, at, msgspec.json.encode(note))
    store.point(_REFERENCE, commit)
    return commit.hex()


def _packed_repository(packing: _Packing, before: Note, state: Folder, base: list[str]) -> Packs:
    store = packing.store
    repository = store.workspace / ".git"
    with BlobReader(store.directory) as reader:
        named = named_objects(store.directory, reader, state, repository)
    return packing.add(before.repository_packs, named.present, base, beside(repository / "objects"))


class Carried:
    def __init__(
        self,
        home: Path,
        blobs: Callable[[], Blobs],
        clones: Clones,
        checkpoints: GitCheckpoints,
        writes: WorkspaceWrites,
        *,
        is_ours: Callable[[str], Awaitable[bool]],
    ) -> None:
        """`is_ours` tells of a session whether this daemon still has it."""
        self._home = home
        self._notes = home / "carried"
        self._make_blobs = blobs
        self._made_blobs: Blobs | None = None
        self._clones = clones
        self._checkpoints = checkpoints
        self._writes = writes
        self._is_ours = is_ours
        self._cloned: dict[str, Path] = {}
        """By session, the folders of those that work here."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def _blobs(self) -> Blobs:
        if self._made_blobs is None:
            self._made_blobs = self._make_blobs()
        return self._made_blobs

    def is_clone(self, folder: Path) -> bool:
        return any(folder.is_relative_to(clone) for clone in self._cloned.values())

    async def clone(self, session: str, below: Path, repository: str, branch: str) -> Path:
        safe_name(session)
        self._clones.check(repository)
        place = self._clones.place(_real(below), repository, session)

        def work() -> Note:
            if place.exists() or self._blobs.read(_name(session)) is not None:
                raise OpenAgentError("conflict", f"There is a session {session} already.")
            made = self._clones.make(repository, branch, place)
            note = Note(token_hex(8), 0, Origin(repository, made.branch, made.base))
            self._blobs.write(_name(session), msgspec.json.encode(note))
            self._remember(session, note)
            return note

        async with self._lock(session):
            self._cloned[session] = place
            try:
                note = await asyncio.to_thread(work)
            except BaseException:
                self._cloned.pop(session, None)
                raise
            store = self._checkpoints.store(place)
            await self._checkpoints.exclusively(store, lambda: self._borrow(store, note))
        return place

    async def bring(self, info: SessionInfo) -> str:
        try:
            return await self._bring(info)
        except (OpenAgentError, OSError) as problem:
            said = problem.info.message if isinstance(problem, OpenAgentError) else str(problem)
            raise OpenAgentError(
                "store_unavailable",
                f"The files of session {info.id} could not be fetched: {said}",
                hint="They are kept where team.snapshots says. It is tried again.",
            ) from problem

    async def _bring(self, info: SessionInfo) -> str:
        workspace = Path(info.cwd)
        async with self._lock(info.id):
            known = self._remembered(info.id)
            try:
                raw = await asyncio.to_thread(self._blobs.read, _name(info.id))
            except OpenAgentError as problem:
                if (known is not None and known.origin is not None) or not _is_there(workspace):
                    raise
                return f"What undo knew of this session elsewhere could not be had: {problem.info.message}"
            if raw is None:
                return ""
            note = msgspec.json.decode(raw, type=Note)
            if note.origin is not None:
                self._cloned[info.id] = workspace
            if known is not None and known.mark == note.mark and (note.origin is None or _is_there(workspace)):
                return ""
            if note.origin is not None:
                self._writes.drop(workspace)
                await asyncio.to_thread(self._clone_again, workspace, note.origin)
            elif not _is_there(workspace):
                return ""
            await self._checkpoints.forget(info.id)
            store = self._checkpoints.store(workspace)
            await self._checkpoints.exclusively(store, lambda: self._unpack(store, note))
            self._remember(info.id, note)
        return _told(note, info)

    async def keep(self, info: SessionInfo, *, leaving: bool = False) -> None:
        workspace = Path(info.cwd)
        async with self._lock(info.id):
            is_clone = info.id in self._cloned
            if (not is_clone and self.is_clone(workspace)) or not _is_there(workspace):
                return  # whoever has the clone keeps it
            before = self._remembered(info.id)
            if before is None and not self._has_written(workspace, info.id):
                return
            store = self._checkpoints.store(workspace)
            before = before or Note("", 0)
            with tempfile.TemporaryDirectory(dir=self._made(self._notes)) as scratch:
                packing = _Packing(store, info.id, Path(scratch))
                note = await self._checkpoints.exclusively(store, lambda: _packed(packing, info, before))
                # Without the lock: whoever works in the folder does not wait for what is sent.
                await asyncio.to_thread(packing.send, self._blobs)
            if not await self._is_ours(info.id):
                return
            await asyncio.to_thread(self._blobs.write, _name(info.id), msgspec.json.encode(note))
            self._remember(info.id, note)
            gone = {*before.packs.names, *before.repository_packs.names} - {
                *note.packs.names,
                *note.repository_packs.names,
            }
            await asyncio.to_thread(self._remove, gone)
            if leaving and is_clone:
                await asyncio.to_thread(self._drop, info.id, workspace)

    async def forget(self, session: str) -> None:
        async with self._lock(session):
            if (workspace := self._cloned.get(session)) is not None:
                await asyncio.to_thread(self._drop, session, workspace)
            self._note_file(session).unlink(missing_ok=True)
            for name in await asyncio.to_thread(self._blobs.names, session):
                await asyncio.to_thread(self._blobs.remove, name)

    # Keeping

    def _has_written(self, workspace: Path, session: str) -> bool:
        store = store_directory(self._home, _real(workspace))
        return (store / "writes" / session).exists()

    def _remove(self, packs: Iterable[str]) -> None:
        for name in packs:
            for suffix in (".pack", ".idx"):
                self._blobs.remove(name + suffix)

    def _drop(self, session: str, workspace: Path) -> None:
        shutil.rmtree(workspace, ignore_errors=True)
        shutil.rmtree(store_directory(self._home, workspace), ignore_errors=True)
        self._note_file(session).unlink(missing_ok=True)
        self._cloned.pop(session, None)
        self._writes.drop(workspace)

    # Bringing

    def _clone_again(self, workspace: Path, origin: Origin) -> None:
        self._clones.check(origin.repository)
        if workspace.exists():
            shutil.rmtree(workspace)
        shutil.rmtree(store_directory(self._home, workspace), ignore_errors=True)
        self._clones.make_again(origin.repository, origin.branch, origin.base, workspace)

    def _borrow(self, store: Snapshots, note: Note) -> None:
        """Checkpoints of a clone need not hold what its mirror does."""
        if note.origin is not None:
            alternates = store.directory / "objects" / "info" / "alternates"
            alternates.parent.mkdir(parents=True, exist_ok=True)
            alternates.write_text(f"{self._clones.objects(note.origin.repository)}\n")

    def _unpack(self, store: Snapshots, note: Note) -> None:
        self._borrow(store, note)
        self._fetch(note.packs, store.directory / "objects" / "pack")
        repository = repository_of(store.workspace)
        if note.commit and repository is not None:
            self._fetch(note.repository_packs, repository / "objects" / "pack")
            self._put_in_place(store, note.commit)
        with BlobReader(store.directory) as reader:
            for session, journal in note.writes.items():
                (store.directory / "writes").mkdir(mode=0o700, exist_ok=True)
                replace_file(store.directory / "writes" / safe_name(session), reader.read(journal), flush=False)
        for session, references in note.checkpoints.items():
            for name, commit in references.items():
                store.point(f"checkpoints/{safe_name(session)}/{name}", bytes.fromhex(commit))

    def _fetch(self, packs: Packs, to: Path) -> None:
        to.mkdir(parents=True, exist_ok=True)
        for name in packs.names:
            place = to / f"pack-{name.rpartition('/')[2]}"
            for suffix in (".pack", ".idx"):  # a pack counts once its index is there
                new = place.with_name(f"tmp_{place.name}{suffix}")
                self._blobs.fetch(name + suffix, new)
                new.replace(place.with_suffix(suffix))

    def _put_in_place(self, store: Snapshots, commit: str) -> None:
        with BlobReader(store.directory) as reader:
            target = store.files_of(reader, commit)
            present = store.take()
            change = Apply(reader, present.files, target, store.begin_writing())
            with opened_root(store.workspace) as root:
                change.run(root)
            store.end_writing()
            outcome, detail = restore_repository(store, reader, commit, present.repository)
        if outcome != "restored":
            raise OpenAgentError("store_error", f"The clone {store.workspace} could not be made again. {detail}")
        store.point(_REFERENCE, bytes.fromhex(commit))

    # What is known here

    def _lock(self, session: str) -> asyncio.Lock:
        return self._locks.setdefault(session, asyncio.Lock())

    def _note_file(self, session: str) -> Path:
        return self._notes / f"{safe_name(session)}.json"

    def _remember(self, session: str, note: Note) -> None:
        """What lies here is at least as new as what this note names."""
        self._made(self._notes)
        replace_file(self._note_file(session), msgspec.json.encode(note), flush=False)

    def _remembered(self, session: str) -> Note | None:
        with suppress(FileNotFoundError, msgspec.DecodeError):
            return msgspec.json.decode(self._note_file(session).read_bytes(), type=Note)
        return None

    def _made(self, folder: Path) -> Path:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _is_there(folder: Path) -> bool:
    return folder.is_dir()


def _name(session: str) -> str:
    return f"{session}/note.json"


def _references(store: Snapshots) -> dict[str, dict[str, str]]:
    folder = store.directory / "refs" / "checkpoints"
    sessions = sorted(os.listdir(folder)) if folder.is_dir() else []
    return {
        session: {path.name: path.read_text().strip() for _, path in store.numbered(session)} for session in sessions
    }


def _present(store: Snapshots, names: Collection[str], extra: dict[str, str]) -> list[str]:
    """Those that are there, and the trees of commits among them: git leaves out what a commit's tree holds only where
    another commit follows it, and checkpoints follow none."""
    listing = "".join(f"{name}\n{name}^{{tree}}\n" for name in names).encode()
    answers = run_git(store.directory, ["cat-file", "--batch-check"], stdin=listing, extra=extra).stdout
    found = [line.split() for line in answers.splitlines()]
    return [words[0].decode() for words in found if len(words) == 3 and words[2].isdigit()]


def _told(note: Note, info: SessionInfo) -> str:
    told: list[str] = []
    if info.turn_count > note.turn:
        what = "The files of this session are" if note.origin else "What undo knows of this session is"
        told.append(
            f"{what} as after turn {note.turn}: the worker that had it was lost before it could keep what came later."
        )
    if note.left_out:
        first = ", ".join(note.left_out[:_MOST_NAMED])
        more = f" and {len(note.left_out) - _MOST_NAMED} more" if len(note.left_out) > _MOST_NAMED else ""
        told.append(f"The session has moved to another worker, and this was too large to go with it: {first}{more}.")
    return " ".join(told)


if TYPE_CHECKING:

    def type_check(carried: Carried) -> None:
        _: Carrying = carried
