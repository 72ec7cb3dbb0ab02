"""Bringing the workspace's own repository back to a saved state: HEAD, refs, index and settings."""

from typing import Literal

from openagent.filesystem.beneath import opened_root
from openagent.workspace.apply import Apply
from openagent.workspace.git import BlobReader
from openagent.workspace.git_state import missing_objects, repository_of
from openagent.workspace.kept_objects import KeptObjects, kept_objects
from openagent.workspace.snapshots import Snapshots
from openagent.workspace.tree import Manifest, shown


def restore_repository(
    store: Snapshots, reader: BlobReader, checkpoint: str, present: Manifest | None
) -> tuple[Literal["untouched", "restored", "refused"], str]:
    if not store.read_checkpoint(reader, checkpoint).git_state:
        return "refused", "The checkpoint holds no state of a git repository."
    repository = repository_of(store.workspace)
    if repository is None or present is None:
        return "refused", "The workspace has no .git folder any more, and its objects are not part of checkpoints."
    target = store.repository_of(reader, checkpoint)
    KeptObjects(kept_objects(store.directory)).bring_back(repository)
    if missing := missing_objects(store.directory, reader, target.root, repository):
        return (
            "refused",
            f"The repository has lost {len(missing)} objects that its old state needs, {missing[0]} first.",
        )
    change = Apply(reader, present, target, store.begin_writing())
    with opened_root(repository) as root:
        change.run(root)
    store.end_writing()
    if change.kept:
        return "restored", f"{shown(change.kept[0][0])} in .git was left as it is: {change.kept[0][1]}."
    return "restored", ""
