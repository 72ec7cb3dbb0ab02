"""Tasks given to agents, and issues taken from forges: `task.run`, `task.follow`, `task.stop`, `tasks.import`."""

from pathlib import Path

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.tasks import (
    TaskCreate,
    TaskFollow,
    TaskInfo,
    TaskRun,
    TasksImport,
    TasksImported,
    TaskStop,
)
from openagent.tasks.board import LONGEST_DETAIL, LONGEST_TITLE, TaskBoard
from openagent.workbench.repository.running import Git
from openagent.workbench.repository.state import forge_of, remote_of
from openagent.workbench.task_runs.forge import forge
from openagent.workbench.task_runs.runs import TaskRuns

_MOST_ISSUES = 500


class TaskRunService:
    def __init__(self, runs: TaskRuns, board: TaskBoard) -> None:
        self._runs = runs
        self._board = board

    def handlers(self) -> list[Handler]:
        return [
            TaskRun.handled_by(self._run),
            TaskFollow.handled_by(self._follow),
            TaskStop.handled_by(self._stop),
            TasksImport.handled_by(self._import),
        ]

    async def resume(self) -> None:
        await self._runs.resume()

    async def close(self) -> None:
        await self._runs.close()

    async def _run(self, connection: Connection, op: TaskRun) -> TaskInfo:
        task = await self._board.get(op.task)
        most = connection.most(Path(task.cwd))
        await self._runs.run(
            task, template=op.template, base=op.base.strip(), draft=op.draft, env=connection.env, most=most
        )
        return await self._board.get(task.id)

    async def _follow(self, connection: Connection, op: TaskFollow) -> TaskInfo:
        task = await self._board.get(op.task)
        await self._runs.follow(task.id)
        return task

    async def _stop(self, connection: Connection, op: TaskStop) -> TaskInfo:
        await self._runs.stop((await self._board.get(op.task)).id)
        return await self._board.get(op.task)

    async def _import(self, connection: Connection, op: TasksImport) -> TasksImported:
        git = await Git.checked(Path(op.cwd))
        program = await forge_of(git, await remote_of(git, await git.asked("symbolic-ref", "--short", "HEAD")))
        if not program:
            raise OpenAgentError(
                "not_found",
                "Neither gh nor glab is installed where the daemon runs.",
                hint="Install one of them and log in with it.",
            )
        issues = await forge(program, git).issues(max(1, min(op.limit, _MOST_ISSUES)))
        there = {link for task in await self._board.all(cwd=op.cwd) for link in task.links}
        added: list[TaskInfo] = []
        for issue in issues:
            if issue.url in there:
                continue
            wanted = TaskCreate(
                id="",
                title=issue.title.strip()[:LONGEST_TITLE] or f"Issue {issue.number}",
                detail=issue.body[:LONGEST_DETAIL],
                owner=issue.owner,
                cwd=op.cwd,
                links=[issue.url],
            )
            made = await self._board.create(wanted)
            await self._board.note(made.id, f"Issue {issue.number} of {issue.author}: {issue.url}")
            added.append(made)
        return TasksImported(added, len(issues) - len(added))
