"""Conflicts of a merge that a person has settled."""

import hashlib
from collections.abc import Sequence

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.workspaces import MergeChoice
from openagent.workspace.merge import CONTENT, PERMISSIONS, REMOVED, Node, Nodes, Plan
from openagent.workspace.objects import Objects
from openagent.workspace.tree import shown

_SETTLED = (CONTENT, REMOVED, PERMISSIONS)
"""The others are about folders, or files that could not be read: whoever wants those moves them by hand."""


def version_of(ours: Node | None, theirs: Node | None) -> str:
    sides = (ours and ours.value, theirs and theirs.value)
    return hashlib.sha256(repr(sides).encode()).hexdigest()[:16]


def settle(plan: Plan, ours: Nodes, theirs: Nodes, choices: Sequence[MergeChoice], objects: Objects) -> Plan:
    """What is not in conflict any more needs no choice: somebody else settled it."""
    chosen = {choice.path: choice for choice in choices}
    left: list[tuple[bytes, str]] = []
    applied = list(plan.applied)
    for path, reason in plan.conflicts:
        choice = chosen.get(shown(path))
        if choice is None:
            left.append((path, reason))
            continue
        mine, other = ours.get(path), theirs.get(path)
        if reason not in _SETTLED:
            raise OpenAgentError("conflict", f"{choice.path}: {reason}. Move one of them out of the way first.")
        if choice.version and choice.version != version_of(mine, other):
            raise OpenAgentError(
                "conflict", f"{choice.path} has changed since you looked. Nothing was merged.", hint="Merge again."
            )
        wanted = _wanted(choice, mine, other, objects)
        for nodes, node in ((plan.result, wanted), (plan.base, other)):
            if node is None:
                nodes.pop(path, None)
            else:
                nodes[path] = node
        if wanted != mine:
            applied.append(path)
    return plan._replace(conflicts=left, applied=applied)


def _wanted(choice: MergeChoice, mine: Node | None, other: Node | None, objects: Objects) -> Node | None:
    if choice.take == "origin":
        return mine
    if choice.take == "copy":
        return other
    like = mine or other
    return Node("file", like.mode if like and like.kind == "file" else 0o644, objects.blob(choice.text.encode()))
