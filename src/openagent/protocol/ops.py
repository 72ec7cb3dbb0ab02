"""All ops there are. Each stands in the file of its feature and says all of itself; a new file is named here."""

from collections.abc import Iterable, Iterator
from functools import reduce
from types import ModuleType
from typing import Any

from openagent.protocol import (
    agents,
    auth,
    backups,
    configuration,
    context,
    conversation,
    customizing,
    daemon,
    extras,
    files,
    flows,
    grants,
    history,
    index,
    mcp,
    metrics,
    models,
    people,
    queue,
    reports,
    repository,
    review,
    safety,
    search,
    sessions,
    setup,
    tasks,
    templates,
    terminals,
    tokens,
    tools,
    undo,
    usage,
    workspaces,
)
from openagent.protocol.op import Op

_FEATURES = (
    *(
        daemon,
        sessions,
        conversation,
        queue,
        undo,
        review,
        agents,
        flows,
        tasks,
        files,
        terminals,
        search,
        context,
        tools,
    ),
    *(mcp, templates, customizing, models, auth, setup, configuration, usage, metrics, workspaces, index, safety),
    *(grants, tokens, people, extras, repository, history, backups, reports),
)


def _ops_of(feature: ModuleType) -> Iterator[type[Op]]:
    for kind in vars(feature).values():
        if isinstance(kind, type) and issubclass(kind, Op) and kind.__module__ == feature.__name__:
            yield kind


def _union(kinds: Iterable[Any]) -> Any:
    return reduce(lambda one, other: one | other, kinds)


ALL_OPS: tuple[type[Op], ...] = tuple(op for feature in _FEATURES for op in _ops_of(feature))
BY_TAG: dict[str, type[Op]] = {op.tag: op for op in ALL_OPS}
AnyOp = _union(ALL_OPS)
"""The union of them, for decoders and schemas. In an annotation, `Op` says the same."""
