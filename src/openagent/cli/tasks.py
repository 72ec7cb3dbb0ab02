"""`openagent tasks`"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import click
import msgspec
from msgspec import Struct

from openagent.cli.command import as_json, command, complete, daemon, examples, group, plain, print_json, say
from openagent.cli.task_cache import SeenTasks, remember_tasks, seen_tasks
from openagent.cli.terminal import DIM, YELLOW, paint, table
from openagent.client import Client
from openagent.client.text import ago, clean, one_line, outside
from openagent.protocol.daemon import DaemonFollow
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import TaskUpdated
from openagent.protocol.op import Op
from openagent.protocol.tasks import (
    TaskCreate,
    TaskDelete,
    TaskFollow,
    TaskGet,
    TaskHistory,
    TaskInfo,
    TaskLogEntry,
    TaskNote,
    TaskRun,
    TaskRunInfo,
    TasksImport,
    TasksList,
    TasksSync,
    TaskState,
    TaskStop,
    TaskUpdate,
)

R = TypeVar("R", bound=Struct)

_STATES = ("doing", "blocked", "todo", "done")
_PUBLISHED = ("open", "answering", "merged", "closed", "pushed", "stopped", "failed")
_ENDED = ("merged", "closed", "pushed", "stopped", "failed")
_STATE = click.Choice(["todo", "doing", "blocked", "done"])
_task = click.argument("task", metavar="TASK")
_after = click.option("--after", multiple=True, metavar="TASK", help="It waits for this task; may be given again.")
_link = click.option("--link", "links", multiple=True, metavar="URL", help="An address or a file; may be given again.")


class Seen(NamedTuple):
    tasks: list[TaskInfo]
    at: float
    offline: bool = False
    reason: str = ""


@group(
    "tasks",
    epilog=examples(
        "openagent tasks list",
        'openagent tasks add "Write the parser" --owner ann',
        'openagent tasks add "Test the parser" --after 06gx',
        'openagent tasks note 06gx "The grammar is settled"',
        "openagent tasks move 06gx doing",
        "openagent tasks sync",
        "openagent tasks run 06gx --template coder",
        "openagent tasks list --connect build-server:8080",
    ),
)
def tasks() -> None:
    """What is to be done: the same tasks that the web app's board shows.

    The beginning of a task's id is enough where no other begins with it. When no daemon runs or can be reached,
    `list` and `show` tell what was last seen, and how old that is.
    """


def elsewhere(function: Callable[..., Any]) -> Callable[..., Any]:
    """--connect, for a daemon that is not this machine's."""
    return click.option(
        "--connect",
        "url",
        envvar="OPENAGENT_CONNECT",
        default="",
        metavar="URL",
        help="Ask the daemon there.  [env: OPENAGENT_CONNECT; OPENAGENT_TOKEN holds its token]",
    )(function)


@command(
    "list",
    "openagent tasks list",
    "openagent tasks list --state todo --here",
    "openagent tasks list --json | jq -r '.tasks[].title'",
)
@click.option("--state", type=_STATE, help="Only those.")
@click.option("--owner", default="", metavar="NAME", help="Only what this person or agent has.")
@click.option("--here", is_flag=True, help="Only those of this folder.")
@click.option("--fresh", is_flag=True, help="Never what was last seen: start the daemon, or fail.")
@elsewhere
@as_json
def list_tasks(state: str | None, owner: str, here: bool, fresh: bool, url: str, as_json: bool) -> None:  # noqa: PLR0917
    """List tasks: what is being done first, what is done last."""
    seen = complete(_seen(url, fresh=fresh))
    cwd = os.getcwd()
    found = [
        each
        for each in sorted(seen.tasks, key=lambda each: (_STATES.index(each.state), each.position))
        if state in (None, each.state) and owner in ("", each.owner) and (not here or each.cwd == cwd)
    ]
    if as_json:
        print_json({"tasks": plain(found), "as_of": seen.at, "offline": seen.offline})
        return
    if found:
        now = time.time()
        say(table(("ID", "STATE", "OWNER", "CHANGED", "TITLE"), [_row(each, now) for each in found]))
    else:
        say('There are no such tasks. `openagent tasks add "…"` makes one.')
    _tell_age(seen)


def _row(each: TaskInfo, now: float) -> tuple[str, ...]:
    title = one_line(each.title, 100) + _waits(each)
    return each.id, each.state, one_line(each.owner, 20) or "–", ago(each.updated_at, now), title


def _waits(each: TaskInfo) -> str:
    return f"  (waits for {', '.join(each.waits_for)})" if each.waits_for and each.state != "done" else ""


def _tell_age(seen: Seen) -> None:
    if seen.offline:
        said = f"Offline, as last seen {ago(seen.at, time.time())}. {seen.reason}"
        click.echo(paint(f"! {clean(said)}", YELLOW, sys.stderr), err=True)


@command("show", "openagent tasks show 06gx", "openagent tasks show 06gx --json")
@_task
@click.option("--fresh", is_flag=True, help="Never what was last seen: start the daemon, or fail.")
@elsewhere
@as_json
def show(task: str, fresh: bool, url: str, as_json: bool) -> None:
    """Print a task with its detail, what it waits for and what belongs to it."""
    seen = complete(_seen(url, fresh=fresh))
    each = _one(seen.tasks, task)
    if as_json:
        print_json({**plain(each), "as_of": seen.at, "offline": seen.offline})
        return
    say(clean(each.title))
    facts = [each.state, each.owner and f"@{each.owner}", each.cwd, each.session and f"session {each.session}", each.id]
    say(paint(clean("  ·  ".join(fact for fact in facts if fact)), DIM))
    if each.detail:
        say("\n" + clean(each.detail).rstrip())
    titles = {other.id: other for other in seen.tasks}
    for other in (titles[name] for name in each.after if name in titles):
        say(("✓ after " if other.state == "done" else "… waits for ") + f"{other.id}  {one_line(other.title, 100)}")
    for link in each.links:
        say(f"→ {clean(link)}")
    if each.run:
        say(_how_far(each.run))
    _tell_age(seen)


@command(
    "add",
    'openagent tasks add "Write the parser"',
    'openagent tasks add "Review it" --owner ann --state blocked --detail "Waits for **CI**."',
    'git log -1 --format=%B | openagent tasks add "Announce this" --detail -',
)
@click.argument("title")
@click.option("--detail", default="", help="Markdown; - reads it from stdin.")
@click.option("--owner", default="", metavar="NAME", help="The person or agent who has it.")
@click.option("--state", type=_STATE, default="todo", show_default=True)
@click.option("--session", default="", metavar="SESSION", help="The session that works on it.")
@click.option("--cwd", metavar="DIR", help="The workspace it is about; this folder if left out.")
@_after
@_link
@elsewhere
@as_json
def add(  # noqa: PLR0917
    title: str,
    detail: str,
    owner: str,
    state: str,
    session: str,
    cwd: str | None,
    after: tuple[str, ...],
    links: tuple[str, ...],
    url: str,
    as_json: bool,
) -> None:
    """Add a task, at the end of those of its state."""
    op = TaskCreate(
        id="add",
        title=title,
        detail=_text(detail),
        owner=owner,
        state=cast("TaskState", state),
        session=session,
        cwd=_workspace(cwd),
        after=complete(_named(url, after)) if after else [],
        links=list(links),
    )
    _tell(complete(_ask(url, op)), "Added", as_json)


@command(
    "edit",
    'openagent tasks edit 06gx --title "Write the parser and its tests"',
    "openagent tasks edit 06gx --owner ben --detail - < detail.md",
    "openagent tasks edit 06gx",
)
@_task
@click.option("--title")
@click.option("--detail", help="Markdown; - reads it from stdin.")
@click.option("--owner", metavar="NAME", help="'' for nobody.")
@click.option("--session", metavar="SESSION")
@click.option("--cwd", metavar="DIR")
@click.option("--after", multiple=True, metavar="TASK", help="What it waits for, all of it; '' for nothing.")
@click.option("--link", "links", multiple=True, metavar="URL", help="What belongs to it, all of it; '' for nothing.")
@elsewhere
@as_json
def edit(  # noqa: PLR0917
    task: str,
    title: str | None,
    detail: str | None,
    owner: str | None,
    session: str | None,
    cwd: str | None,
    after: tuple[str, ...],
    links: tuple[str, ...],
    url: str,
    as_json: bool,
) -> None:
    """Change what is given of a task; with nothing given, its detail in your editor."""
    given = {"title": title, "owner": owner, "session": session}
    changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if after:
        changes["after"] = complete(_named(url, tuple(filter(None, after))))
    if links:
        changes["links"] = list(links)
    if detail is not None:
        changes["detail"] = _text(detail)
    if cwd is not None:
        changes["cwd"] = _workspace(cwd)
    if not changes:
        before = complete(_get(url, task))
        written = click.edit(before.detail, extension=".md")
        if written is None or written == before.detail:
            say("Nothing was changed.")
            return
        changes["detail"] = written
    _tell(complete(_update(url, task, changes)), "Changed", as_json)


@command("move", "openagent tasks move 06gx doing", "openagent tasks move 06gx todo --first")
@_task
@click.argument("state", type=_STATE)
@click.option("--first", is_flag=True, help="Before all others of that state, not after them.")
@elsewhere
@as_json
def move(task: str, state: str, first: bool, url: str, as_json: bool) -> None:
    """Put a task into another state, or to the front of its own."""
    _tell(complete(_move(url, task, state, first)), f"Moved to {state}:", as_json)


@command("log", "openagent tasks log 06gx", "openagent tasks log 06gx --json")
@_task
@elsewhere
@as_json
def log(task: str, url: str, as_json: bool) -> None:
    """Print what happened with a task, the oldest first."""
    entries = complete(_log(url, task))
    if as_json:
        print_json({"entries": plain(entries)})
        return
    for entry in entries:
        say(_logged(entry))


def _logged(entry: TaskLogEntry) -> str:
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.at))
    return paint(f"{at}  {clean(entry.by) or 'openagent'}  ", DIM) + clean(entry.text)


@command("note", 'openagent tasks note 06gx "The grammar is settled"', "git log -1 | openagent tasks note 06gx -")
@_task
@click.argument("text")
@elsewhere
@as_json
def note(task: str, text: str, url: str, as_json: bool) -> None:
    """Write into a task's progress log; - reads from stdin."""
    entry = complete(_note(url, task, _text(text)))
    if as_json:
        print_json(plain(entry))
    else:
        say(_logged(entry))


@command(
    "run",
    "openagent tasks run 06gx",
    "openagent tasks run 06gx --template coder --base develop --draft",
    "openagent tasks run 06gx --detach",
)
@_task
@click.option("--template", default="", metavar="NAME", help="What the session is made from.")
@click.option("--base", default="", metavar="BRANCH", help="The branch to start from; the remote's own if left out.")
@click.option("--draft", is_flag=True, help="The pull request is not ready to be merged.")
@click.option("--detach", is_flag=True, help="Do not wait: `openagent tasks log` tells how far it is.")
@elsewhere
@as_json
def run(task: str, template: str, base: str, draft: bool, detach: bool, url: str, as_json: bool) -> None:  # noqa: PLR0917
    """Give a task to an agent: a branch, commits, and a pull request that is followed until it is merged.

    The agent works in a copy of the workspace. What it changed is committed in your name, pushed, and opened as a pull
    request by gh or glab; with this command you say that it may be. What reviewers say and checks find goes back to the
    agent. For a task that was run before: go on, and publish what was changed meanwhile.
    """
    op = TaskRun(id="run", task=task, template=template, base=base, draft=draft)
    _tell_run(complete(_follow(url, op, until=() if detach else _PUBLISHED, quiet=as_json)), as_json)


@command("follow", "openagent tasks follow 06gx", "openagent tasks follow 06gx --wait")
@_task
@click.option("--wait", is_flag=True, help="Until it is merged or closed.")
@elsewhere
@as_json
def follow(task: str, wait: bool, url: str, as_json: bool) -> None:
    """Look now at what became of a task's pull request; it is looked at from time to time anyway."""
    op = TaskFollow(id="follow", task=task)
    _tell_run(complete(_follow(url, op, until=_ENDED if wait else (), quiet=as_json)), as_json)


@command("stop", "openagent tasks stop 06gx", "openagent tasks stop 06gx --json")
@_task
@elsewhere
@as_json
def stop(task: str, url: str, as_json: bool) -> None:
    """Stop what goes on with a task: its agent, and following its pull request."""
    _tell_run(complete(_follow(url, TaskStop(id="stop", task=task), until=(), quiet=as_json)), as_json)


@command("import", "openagent tasks import", "openagent tasks import --limit 100 --json")
@click.option("--limit", default=30, show_default=True, metavar="N", help="So many at most, the newest first.")
@click.option("--cwd", metavar="DIR", help="The workspace; this folder if left out.")
@elsewhere
@as_json
def import_issues(limit: int, cwd: str | None, url: str, as_json: bool) -> None:
    """Make tasks of the open issues of the repository's forge, as gh or glab lists them."""
    done = complete(_ask(url, TasksImport(id="import", cwd=_workspace(cwd), limit=limit)))
    if as_json:
        print_json(plain(done))
        return
    for each in done.added:
        say(f"Added {each.id}  {one_line(each.title, 100)}")
    say(f"Issues that became tasks: {len(done.added)}; that were tasks already: {done.known}.")


def _tell_run(each: TaskInfo, as_json: bool) -> None:
    if as_json:
        print_json(plain(each))
    elif each.run:
        say(_how_far(each.run))
    if each.run and each.run.state == "failed":
        sys.exit(1)


def _how_far(run: TaskRunInfo) -> str:
    facts = [run.state, run.branch, run.url, run.commits and f"{run.commits} commits", f"session {run.session}"]
    line = paint(clean("  ·  ".join(str(fact) for fact in facts if fact)), DIM)
    marks = [f"\n! {one_line(path)} {outside(reason)}" for path, reason in run.runs_outside.items()]
    return line + "".join(marks)


@command("remove", "openagent tasks remove 06gx", "openagent tasks remove 06gx 06gy --json")
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@elsewhere
@as_json
def remove(tasks: tuple[str, ...], url: str, as_json: bool) -> None:
    """Delete tasks."""
    removed = complete(_remove(url, tasks))
    if as_json:
        print_json({"removed": [each.id for each in removed]})
    for each in () if as_json else removed:
        say(f"Removed {each.id}  {one_line(each.title, 100)}")


@command("sync", "openagent tasks sync", "openagent tasks sync --cwd ~/project --json")
@click.option("--cwd", metavar="DIR", help="The workspace; this folder if left out.")
@elsewhere
@as_json
def sync(cwd: str | None, url: str, as_json: bool) -> None:
    """Bring the board and the workspace's docs/TASKS.md together.

    Edits on either side survive. Where both changed the same, the newer counts, and what the older said is kept in the
    task's detail. The file is made when there is none; what else stands in it is left alone.
    """
    synced = complete(_ask(url, TasksSync(id="sync", cwd=_workspace(cwd))))
    if as_json:
        print_json(plain(synced))
        return
    changed = f"changed on the board {synced.to_board}, in the file {synced.to_file}"
    say(f"{clean(synced.file)}: tasks {synced.tasks}, {changed}.")
    for note in synced.notes:
        say(paint(f"! {clean(note)}", YELLOW))


def _tell(each: TaskInfo, done: str, as_json: bool) -> None:
    if as_json:
        print_json(plain(each))
    else:
        say(f"{done} {each.id}  {one_line(each.title, 100)}{_waits(each)}")


def _text(given: str) -> str:
    return sys.stdin.read() if given == "-" else given


def _workspace(cwd: str | None) -> str:
    return os.path.abspath(os.path.expanduser(cwd or "."))


def _one(tasks: list[TaskInfo], start: str) -> TaskInfo:
    found = [each for each in tasks if each.id == start] or [each for each in tasks if each.id.startswith(start)]
    if len(found) == 1 and start:
        return found[0]
    what = f"{len(found)} tasks begin with" if found else "There is no task"
    raise OpenAgentError("not_found", f"{what} {start!r}.", hint="`openagent tasks list` shows them.")


async def _all(client: Client, url: str) -> list[TaskInfo]:
    tasks = (await client.request(TasksList(id=client.next_id()))).tasks
    remember_tasks(url, tasks)
    return tasks


async def _seen(url: str, *, fresh: bool) -> Seen:
    """Of the daemon, or what was last seen, when none answers. Nothing seen yet: then one is started."""
    last: SeenTasks | None = None if fresh else seen_tasks(url)
    try:
        async with daemon(auto_start=last is None) as client:
            return Seen(await _all(client, url), time.time())
    except (OpenAgentError, OSError) as problem:
        if last is None or (isinstance(problem, OpenAgentError) and problem.info.code == "unauthorized"):
            raise
        return Seen(last.tasks, last.at, offline=True, reason=str(problem))


async def _ask(url: str, op: Op[R]) -> R:
    async with daemon() as client:
        done = await client.request(msgspec.structs.replace(op, id=client.next_id()))
        await _all(client, url)
        return done


async def _get(url: str, start: str) -> TaskInfo:
    async with daemon() as client:
        found = _one(await _all(client, url), start)
        return await client.request(TaskGet(id=client.next_id(), task=found.id))


async def _update(url: str, start: str, changes: dict[str, Any]) -> TaskInfo:
    async with daemon() as client:
        found = _one(await _all(client, url), start)
        op = msgspec.structs.replace(TaskUpdate(id=client.next_id(), task=found.id), **changes)
        changed = await client.request(op)
        await _all(client, url)
        return changed


async def _named(url: str, starts: tuple[str, ...]) -> list[str]:
    async with daemon() as client:
        tasks = await _all(client, url)
        return [_one(tasks, start).id for start in starts]


async def _log(url: str, start: str) -> list[TaskLogEntry]:
    async with daemon() as client:
        found = _one(await _all(client, url), start)
        return (await client.request(TaskHistory(id=client.next_id(), task=found.id))).entries


async def _note(url: str, start: str, text: str) -> TaskLogEntry:
    async with daemon() as client:
        found = _one(await _all(client, url), start)
        return await client.request(TaskNote(id=client.next_id(), task=found.id, text=text))


async def _follow(url: str, op: TaskRun | TaskFollow | TaskStop, *, until: tuple[str, ...], quiet: bool) -> TaskInfo:
    """What is written into its log meanwhile is shown, until its run is in one of these states."""
    async with daemon() as client, client.all_events() as events:
        found = _one(await _all(client, url), op.task)
        shown = len((await client.request(TaskHistory(id=client.next_id(), task=found.id))).entries)
        await client.request(DaemonFollow(id=client.next_id()))
        now = await client.request(msgspec.structs.replace(op, id=client.next_id(), task=found.id))
        while True:
            entries = (await client.request(TaskHistory(id=client.next_id(), task=found.id))).entries
            for entry in () if quiet else entries[shown:]:
                say(_logged(entry))
            shown = len(entries)
            if not until or (now.run and now.run.state in until):
                await _all(client, url)
                return now
            while (event := await events.get()) is not None:
                if isinstance(event, TaskUpdated) and event.task == found.id:
                    break
            else:
                raise OpenAgentError("shutting_down", "The daemon is gone.", hint="`openagent tasks log` tells more.")
            now = await client.request(TaskGet(id=client.next_id(), task=found.id))


async def _move(url: str, start: str, state: str, first: bool) -> TaskInfo:
    changes: dict[str, Any] = {"state": state}
    if first:
        async with daemon() as client:
            others = [each.position for each in await _all(client, url) if each.state == state]
        changes["position"] = min(others, default=1.0) - 1.0
    return await _update(url, start, changes)


async def _remove(url: str, starts: tuple[str, ...]) -> list[TaskInfo]:
    async with daemon() as client:
        tasks = await _all(client, url)
        found = [_one(tasks, start) for start in starts]
        for each in found:
            await client.request(TaskDelete(id=client.next_id(), task=each.id))
        await _all(client, url)
        return found


for _command in (list_tasks, show, add, edit, move, log, note, run, follow, stop, import_issues, remove, sync):
    tasks.add_command(_command)
