"""What sessions wrote under versions that kept whole states of a workspace and no journal.

Those versions saved the workspace before each turn and did not record who wrote what in between. The differences
between those states become journal entries that are marked as possibly somebody else's.
"""

import os

from openagent.plugins.workspace import Checkpoint
from openagent.workspace.git import BlobReader
from openagent.workspace.journal import Entry, Journal
from openagent.workspace.snapshots import Snapshots
from openagent.workspace.states import Change, compare, inside
from openagent.workspace.tree import Manifest

NOT_RECORDED = "an older version of OpenAgent did not record who wrote it"


def fill_journal(store: Snapshots, journal: Journal, now: Manifest) -> None:
    """For every session that has states of before its turns and no journal. `now` is what the workspace holds."""
    known = set(journal.sessions())
    with BlobReader(store.directory) as reader:
        saved = [
            store.read_checkpoint(reader, reference.read_text().strip())
            for session in _sessions(store)
            if session not in known
            for _, reference in store.numbered(session)
        ]
        turns = sorted((each for each in saved if each.kind == "turn"), key=lambda each: each.at)
        states = [store.files_of(reader, each.id) for each in turns]
    for checkpoint, before, after in zip(turns, states, [*states, now][1:], strict=True):
        if touched := _differences(before, after):
            journal.append(checkpoint.session, _entry(checkpoint, touched))


def _sessions(store: Snapshots) -> list[str]:
    try:
        return sorted(os.listdir(store.directory / "refs" / "checkpoints"))
    except FileNotFoundError:
        return []


def _differences(before: Manifest, after: Manifest) -> list[Change]:
    unknown = {path for path, _ in (*before.left_out, *after.left_out)}
    return [change for change in compare(before.root, after.root) if not inside(change.path, unknown)]


def _entry(checkpoint: Checkpoint, touched: list[Change]) -> Entry:
    return Entry(0, 0, turn=checkpoint.turn, touched=touched, shared=NOT_RECORDED)
