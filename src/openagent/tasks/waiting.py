"""Which tasks wait for which others."""

from collections.abc import Mapping, Sequence

from openagent.protocol.tasks import TaskInfo


def waiting_for(tasks: Sequence[TaskInfo]) -> dict[str, list[str]]:
    """Of each task, what has to be done before it and is not. What is gone holds up nothing."""
    undone = {task.id for task in tasks if task.state != "done"}
    return {task.id: [each for each in task.after if each in undone] for task in tasks}


def circle(task: TaskInfo, by_id: Mapping[str, TaskInfo]) -> list[str]:
    """From the task back to itself, when it would wait for itself; empty when it would not."""
    ways = [[task.id, each] for each in task.after]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        if way[-1] == task.id:
            return way
        if way[-1] not in seen and way[-1] in by_id:
            seen.add(way[-1])
            ways += [[*way, each] for each in by_id[way[-1]].after]
    return []
