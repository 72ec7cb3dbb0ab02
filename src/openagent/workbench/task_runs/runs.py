"""Tasks on their way to merged pull requests: what is done next with each, and what is known of it after a restart.

A run is a record in the store and a loop that reads `step`: the agent works, describes, it is published, followed, and
answers what is said about it. Every step can be begun again: a message has an id under which it comes once, nothing
changed is no commit, a branch is pushed as it is, and a pull request that is there is not opened.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import msgspec

from openagent.core.audit import NOBODY, acting, entry
from openagent.core.session import Session
from openagent.daemon.bus import EventBus
from openagent.daemon.manager import SessionManager
from openagent.plugins.tasks import TaskRun, TaskRunStore
from openagent.plugins.workspace import Workspaces
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import Event, PermissionRequested, QuestionAsked, TurnCompleted
from openagent.protocol.messages import TextPart
from openagent.protocol.sessions import EndedTurn, Mode, SessionCreate
from openagent.protocol.tasks import TaskInfo, TaskRunInfo, TaskRunState, TaskState, TaskUpdate
from openagent.tasks.board import TaskBoard
from openagent.workbench.repository.running import Git
from openagent.workbench.repository.state import committed_running_outside
from openagent.workbench.task_runs import words
from openagent.workbench.task_runs.branch import Branch
from openagent.workbench.task_runs.forge import Looked, PullRequest, forge
from openagent.workbench.task_runs.start import begun

GOES_ON = ("working", "publishing", "open", "answering")
_MOST_ROUNDS = 20
"""Answers of an agent that nobody spoke to, after which a person has a look."""
_ANSWER = 4_000
_A_WHILE = 0.5
_log = logging.getLogger(__name__)


class TaskRuns:
    def __init__(
        self,
        manager: SessionManager,
        bus: EventBus,
        board: TaskBoard,
        store: TaskRunStore,
        copies: Workspaces,
        *,
        home: Path,
        place: str,
        follow_every: Callable[[], float],
    ) -> None:
        """`home` is where the branches' repositories lie, `place` says whose runs these are."""
        self._manager = manager
        self._bus = bus
        self._board = board
        self._store = store
        self._copies = copies
        self._home = home
        self._place = place
        self._follow_every = follow_every
        self._driving: dict[str, asyncio.Task[None]] = {}
        self._now: dict[str, asyncio.Event] = {}
        """Set to look at a pull request at once."""
        self._told: dict[str, str] = {}
        """The trouble with following it that was told last."""

    async def resume(self) -> None:
        """After a start: what goes on by itself, goes on."""
        for run in await self._store.open_task_runs():
            if run.place == self._place and run.task not in self._driving:
                self._drive_soon(run)

    async def close(self) -> None:
        driving = list(self._driving.values())
        for task in driving:
            task.cancel()
        await asyncio.gather(*driving, return_exceptions=True)

    # What people say

    async def run(
        self, task: TaskInfo, *, template: str, base: str, draft: bool, env: Mapping[str, str], most: Mode
    ) -> None:
        """From the beginning, or, where something is there already, on from there."""
        run = await self._store.task_run(task.id)
        if run is not None and run.info.state in GOES_ON and run.step != "follow":
            raise OpenAgentError(
                "busy",
                f"An agent is at work on it: the session {run.info.session}.",
                hint=f"`openagent tasks stop {task.id}` stops it.",
            )
        if task.waits_for and run is None:
            waits = ", ".join([(await self._board.get(each)).title for each in task.waits_for])
            raise OpenAgentError(
                "conflict",
                f"It waits for others: {waits}.",
                hint="Do those first, or take them out of what it waits for.",
            )
        if run is None or run.info.state in ("merged", "closed") or not await self._is_there(run):
            await self._begin(task, run, template=template, base=base, draft=draft, env=env, most=most)
            return
        await self._stop_driving(task.id)
        (await self._manager.get(run.info.session)).env = env
        await self._board.note(task.id, "Goes on.")
        # What the person said or did in the session meanwhile is published, too.
        step = "publish" if run.step == "follow" else run.step
        state: TaskRunState = "working" if step in ("work", "describe") else "publishing"
        run = msgspec.structs.replace(run, step=step, rounds=0, sent=run.sent + (step in ("work", "answer")))
        if run.number and step == "publish":
            run = msgspec.structs.replace(run, subject=f"Go on: {run.title}"[: words.LONGEST_TITLE])
        if step in ("work", "answer") and run.info.state in ("failed", "stopped"):
            run = msgspec.structs.replace(run, prompt=words.GO_ON)
        await self._go_on(run, state)

    async def follow(self, task: str) -> None:
        run = await self._store.task_run(task)
        if run is None or run.info.state not in GOES_ON:
            raise OpenAgentError(
                "conflict", "Nothing of it is followed.", hint=f"`openagent tasks run {task}` gives it to an agent."
            )
        if task not in self._driving:
            self._drive_soon(run)
        self._now.setdefault(task, asyncio.Event()).set()

    async def stop(self, task: str) -> None:
        run = await self._store.task_run(task)
        if run is None or run.info.state not in GOES_ON:
            raise OpenAgentError("conflict", "Nothing goes on with it.")
        await self._stop_driving(task)
        with suppress(OpenAgentError):  # it may have been deleted
            await (await self._manager.get(run.info.session)).cancel(by="tasks stop")
        await self._end(run, "stopped", f"Stopped. `openagent tasks run {task}` goes on.")

    async def _is_there(self, run: TaskRun) -> bool:
        try:
            await self._manager.get(run.info.session)
            await self._copies.open(run.copy)
        except OpenAgentError:
            return False
        return True

    async def _begin(
        self,
        task: TaskInfo,
        before: TaskRun | None,
        *,
        template: str,
        base: str,
        draft: bool,
        env: Mapping[str, str],
        most: Mode,
    ) -> None:
        name = words.branch_name(task, task.id[-4:] + (f"-{token_hex(2)}" if before else ""))
        started = await begun(task, name, base, self._copies, self._home / task.id)
        op = SessionCreate(id=token_hex(6), cwd=started.files, name=task.title[:60], template=template)
        try:
            session = await self._manager.create(op, env, most=most)
        except BaseException:
            await self._copies.remove(started.copy, force=True)
            raise
        session.env = env
        info = TaskRunInfo("working", session.id, name, started.base, template)
        run = TaskRun(
            task=task.id,
            info=info,
            place=self._place,
            workspace=task.cwd,
            copy=started.copy,
            start=started.start,
            remote=started.remote,
            forge=started.forge,
            prompt=words.work(task, name),
            sent=1,
            draft=draft,
        )
        for note in started.notes:
            await self._board.note(task.id, note)
        by = f"the template {template}" if template else "an agent"
        await self._board.note(task.id, f"Given to {by}: session {session.id}, branch {name} from {started.start[:9]}.")
        await self._board.update(TaskUpdate(id="", task=task.id, session=session.id))
        await self._go_on(run, "working")

    # Going on

    async def _go_on(self, run: TaskRun, state: TaskRunState) -> None:
        await self._stop_driving(run.task)
        await self._keep(run, state)
        await self._move(run.task, "doing")
        self._drive_soon(run)

    def _drive_soon(self, run: TaskRun) -> None:
        if run.task in self._driving:  # by the look after the start, which met it when it was only just kept
            return
        with acting(NOBODY):  # what comes of it is the daemon's doing, whoever asked for it
            driving = asyncio.create_task(self._drive(run.task), name=f"task run {run.task}")
        self._driving[run.task] = driving
        driving.add_done_callback(lambda done: self._ended(run.task, done))

    def _ended(self, task: str, done: "asyncio.Task[None]") -> None:
        if self._driving.get(task) is done:
            del self._driving[task]

    async def _stop_driving(self, task: str) -> None:
        if driving := self._driving.pop(task, None):
            driving.cancel()
            await asyncio.gather(driving, return_exceptions=True)

    async def _drive(self, task: str) -> None:
        while (run := await self._store.task_run(task)) is not None and run.info.state in GOES_ON:
            try:
                await self._board.get(task)
            except OpenAgentError:  # it was deleted
                return
            try:
                await self._step(run)
            except OpenAgentError as problem:
                await self._failed(run, problem)
            except Exception as problem:
                _log.exception("task run ended on an unexpected error", extra={"task": task})
                await self._failed(run, OpenAgentError("internal", f"Something broke: {problem!r}."))

    async def _step(self, run: TaskRun) -> None:
        match run.step:
            case "work":
                await self._work(run)
            case "describe":
                await self._describe(run)
            case "publish":
                await self._publish(run)
            case "follow":
                await self._follow(run)
            case "answer":
                await self._answer(run)

    async def _failed(self, run: TaskRun, problem: OpenAgentError) -> None:
        run = await self._store.task_run(run.task) or run  # the step may have come some way
        said = f"{problem.info.message.rstrip('.')}. {problem.info.hint}".strip()
        if run.step == "follow":  # the network, mostly: it is looked again
            if self._told.get(run.task) != said:
                self._told[run.task] = said
                with suppress(OpenAgentError):  # it was deleted
                    await self._board.note(run.task, f"The pull request could not be looked at: {said}")
            return
        hint = f"`openagent tasks run {run.task}` tries again."
        with suppress(OpenAgentError):  # it was deleted
            await self._end(run, "failed", f"{said} {hint}" if hint not in said else said)

    # The steps

    async def _work(self, run: TaskRun) -> None:
        session, ended = await self._turn(run)
        if ended.reason != "done":
            await self._broken_off(run, ended)
            return
        summary, branch = await _last_words(session), await self._branch(run)
        if not await branch.changed() and not await branch.count(run.start):
            await self._board.note(run.task, f"The agent said:\n{summary[:_ANSWER]}")
            raise OpenAgentError("conflict", "The agent changed nothing, so that there is nothing to publish.")
        run = msgspec.structs.replace(run, step="describe", summary=summary, prompt=words.DESCRIBE, sent=run.sent + 1)
        await self._keep(run, "working")

    async def _describe(self, run: TaskRun) -> None:
        session, ended = await self._turn(run)
        said = words.described(await _last_words(session)) if ended.reason == "done" else None
        if ended.reason == "interrupted":
            await self._broken_off(run, ended)
            return
        if said is None:
            files = await (await self._branch(run)).changed()
            said = words.from_summary(await self._board.get(run.task), run.summary, files)
            await self._board.note(run.task, "The model wrote no description: it is made of what the agent said.")
        run = msgspec.structs.replace(run, step="publish", title=said.title, body=said.body, subject=said.title)
        await self._keep(run, "publishing")

    async def _publish(self, run: TaskRun) -> None:
        """Committed, pushed, and a pull request for it, as far as there is somewhere to push and a program for it."""
        branch, person = await self._branch(run), await Git.checked(Path(run.workspace))
        session = await self._manager.get(run.info.session)
        run = await self._commit(
            run, branch, session, f"{run.subject}\n\n{run.body}" if not run.number else run.subject
        )
        if not run.remote:
            await branch.leave_in(person)
            said = f"The repository has no remote: the branch is left in it, and `git merge {branch.name}` takes it."
            await self._end(run, "pushed", said)
            return
        await self._push(run, branch, session)
        if not run.forge:
            where = f"do it with `gh pr create --head {branch.name}` or `glab mr create`, or in the browser"
            said = (
                f"{branch.name} was pushed. Neither gh nor glab is installed, so no pull request was opened: {where}."
            )
            await self._end(run, "pushed", said)
            return
        run = run if run.number else await self._open(run, person, session)
        await self._keep(msgspec.structs.replace(run, step="follow"), "open")

    async def _open(self, run: TaskRun, person: Git, session: Session) -> TaskRun:
        task = await self._board.get(run.task)
        body = run.body + words.closing(task.links)
        at = forge(run.forge, person)
        opened = await at.open(run.info.branch, run.info.base, run.title, body, draft=run.draft)
        session.post(audit=[entry("git", f"pull request for {run.info.branch}", url=opened.url, program=run.forge)])
        await self._board.note(run.task, f"Opened {opened.url}: {run.title}")
        if opened.url not in task.links:
            await self._board.update(TaskUpdate(id="", task=run.task, links=[*task.links, opened.url]))
        info = msgspec.structs.replace(run.info, url=opened.url)
        return msgspec.structs.replace(run, number=opened.number, info=info)

    async def _follow(self, run: TaskRun) -> None:
        now = self._now.setdefault(run.task, asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(self._follow_every()):
                await now.wait()
        now.clear()
        request = PullRequest(run.number, run.info.url)
        looked = await forge(run.forge, await Git.checked(Path(run.workspace))).look(request, run.heard)
        self._told.pop(run.task, None)
        if looked.state == "merged":
            frees = f"`openagent workspaces remove {run.copy}` frees the copy."
            await self._end(run, "merged", f"{run.info.url} was merged. {frees}")
        elif looked.state == "closed":
            await self._end(run, "closed", f"{run.info.url} was closed without being merged.")
        else:
            await self._hear(run, looked)

    async def _hear(self, run: TaskRun, looked: Looked) -> None:
        """What is new goes to the session. What strangers say is only written down: it would steer the agent."""
        comments = [each for each in looked.comments if each.id not in run.heard]
        failed = [each for each in looked.failed if each.id not in run.heard]
        if not comments and not failed:
            return
        run = msgspec.structs.replace(run, heard=[*run.heard, *(each.id for each in (*comments, *failed))])
        for each in comments:
            where = f" on {each.place}" if each.place else ""
            passed_on = "" if each.is_members else " (not passed on: they may not push there)"
            await self._board.note(run.task, f"{each.author} commented{where}{passed_on}: {each.body[:_ANSWER]}")
        for check in failed:
            await self._board.note(run.task, f"The check {check.name} failed.")
        comments = [each for each in comments if each.is_members]
        if not comments and not failed:
            await self._keep(run, "open")
            return
        if run.rounds >= _MOST_ROUNDS:
            await self._end(run, "stopped", f"{run.rounds} answers were not enough: have a look at {run.info.url}.")
            return
        run = msgspec.structs.replace(
            run,
            step="answer",
            prompt=words.answer(comments, failed, run.info.url),
            sent=run.sent + 1,
            subject=words.subject(comments, failed),
            owed=bool(comments),
            rounds=run.rounds + 1,
        )
        await self._keep(run, "answering")

    async def _answer(self, run: TaskRun) -> None:
        session, ended = await self._turn(run)
        if ended.reason != "done":
            await self._broken_off(run, ended)
            return
        branch, said = await self._branch(run), (await _last_words(session))[:_ANSWER]
        before = run.info.commits
        run = await self._commit(run, branch, session, run.subject)
        await self._push(run, branch, session)
        if run.owed:
            commit = await branch.asked("rev-parse", "--short", f"refs/heads/{branch.name}")
            done = f"\n\n({commit})" if run.info.commits > before else ""
            at = forge(run.forge, await Git.checked(Path(run.workspace)))
            await at.reply(PullRequest(run.number, run.info.url), f"{said or 'Done.'}{done}")
            await self._board.note(run.task, f"Answered: {said or 'Done.'}")
        await self._keep(msgspec.structs.replace(run, step="follow", owed=False), "open")

    # What steps are made of

    async def _turn(self, run: TaskRun) -> tuple[Session, EndedTurn]:
        """The session is told, unless it was already; and all it does about it has ended."""
        session = await self._manager.get(run.info.session)
        idle = asyncio.Event()
        asked: list[str] = []

        def hear(event: Event) -> None:
            if isinstance(event, TurnCompleted):
                idle.set()
            elif isinstance(event, PermissionRequested | QuestionAsked):
                asked.append(event.ask.summary if isinstance(event, PermissionRequested) else event.question.text)
                idle.set()

        self._bus.watch(session.id, hear)
        try:
            with suppress(OpenAgentError):
                await self._copies.open(run.copy)
            await session.send([TextPart(run.prompt)], f"task-{run.task}-{run.sent}", again=True)
            while session.running or session.inbox.goes_on:
                with suppress(TimeoutError):  # a turn says that it has ended a little before it has
                    async with asyncio.timeout(_A_WHILE):
                        await idle.wait()
                idle.clear()
                while asked:
                    way = f"`openagent attach {session.id}` or the web answers."
                    await self._board.note(run.task, f"The agent asks: {asked.pop(0)[:500]}. {way}")
        finally:
            self._bus.unwatch(session.id, hear)
        ended = (await self._manager.runtime.store.last_ends([session.id])).get(session.id)
        if ended is None:
            raise OpenAgentError("conflict", "The session has done nothing.")
        return session, ended

    async def _broken_off(self, run: TaskRun, ended: EndedTurn) -> None:
        """A turn that a stopping daemon cut short goes on; whatever else ended one, a person has a look at it."""
        if ended.reason == "interrupted":
            prompt = run.prompt if run.step == "describe" else words.GO_ON
            await self._board.note(run.task, "The daemon was stopped meanwhile: the agent goes on.")
            await self._keep(msgspec.structs.replace(run, prompt=prompt, sent=run.sent + 1), run.info.state)
            return
        why = f" ({ended.error.message})" if ended.error else ""
        raise OpenAgentError("conflict", f"The agent's turn ended early: {ended.reason.replace('_', ' ')}{why}.")

    async def _branch(self, run: TaskRun) -> Branch:
        return Branch(self._home / run.task, await self._copies.open(run.copy), run.info.branch)

    async def _commit(self, run: TaskRun, branch: Branch, session: Session, message: str) -> TaskRun:
        if commit := await branch.commit(message):
            session.post(audit=[entry("git", f"commit {commit} on {branch.name}")])
            await self._board.note(run.task, f"Committed {commit}: {message.partition(chr(10))[0]}")
        outside = await committed_running_outside(branch, run.start)
        info = msgspec.structs.replace(run.info, commits=await branch.count(run.start), runs_outside=outside)
        run = msgspec.structs.replace(run, info=info)
        await self._keep(run, run.info.state)
        return run

    async def _push(self, run: TaskRun, branch: Branch, session: Session) -> None:
        await branch.push(run.remote)
        session.post(audit=[entry("git", f"push {branch.name}", commits=run.info.commits)])

    async def _keep(self, run: TaskRun, state: TaskRunState, problem: str = "") -> None:
        await self._board.get(run.task)  # nothing is kept of one that was deleted
        run = msgspec.structs.replace(run, info=msgspec.structs.replace(run.info, state=state, problem=problem))
        await self._store.put_task_run(run, is_open=state in GOES_ON)
        await self._board.tell(run.task)

    async def _end(self, run: TaskRun, state: TaskRunState, said: str) -> None:
        moved: dict[TaskRunState, TaskState] = {"merged": "done", "closed": "todo", "failed": "blocked"}
        await self._board.note(run.task, said)
        if state in moved:
            await self._move(run.task, moved[state])
        await self._keep(run, state, said if state in ("failed", "stopped", "pushed") else "")

    async def _move(self, task: str, state: TaskState) -> None:
        if (await self._board.get(task)).state != state:
            await self._board.update(TaskUpdate(id="", task=task, state=state))


async def _last_words(session: Session) -> str:
    page = await session.recorder.outbox.messages(limit=20)
    return next((message.text.strip() for message in reversed(page) if message.role == "assistant"), "")
