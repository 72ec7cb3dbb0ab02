"""How a task's run begins: the commit it starts from, the copy it is worked on in, where it will be pushed."""

import asyncio
import re
from pathlib import Path
from typing import NamedTuple

from openagent.plugins.workspace import Workspaces
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.repository import ForgeProgram
from openagent.protocol.tasks import TaskInfo
from openagent.workbench.repository.running import Git, local_path
from openagent.workbench.repository.state import base_of, forge_of, remote_of
from openagent.workbench.task_runs.branch import Branch, clear_copy


class Begun(NamedTuple):
    copy: str
    files: str
    start: str
    base: str
    remote: str
    """Its address; empty: there is none."""
    forge: ForgeProgram
    notes: list[str]


class _Remote(NamedTuple):
    name: str = ""
    address: str = ""
    base: str = ""


async def begun(task: TaskInfo, name: str, base: str, copies: Workspaces, directory: Path) -> Begun:
    person = await _repository(task)
    here = await person.asked("symbolic-ref", "--short", "HEAD")
    remote = await _remote(person, here, base)
    branch = Branch(directory, directory, name)
    await branch.make(person)
    start, notes = await _start(person, branch, remote, base or here)
    await branch.begin(start)
    copy = await copies.create(Path(task.cwd), re.sub(r"[^\w-]", "-", name.rpartition("/")[2])[:40])
    try:
        left_out = await clear_copy(Path(copy.path), branch, start)
    except BaseException:
        await copies.remove(copy.id, force=True)
        raise
    if left_out:
        notes.append(f"What you have not committed (files: {left_out}) is no part of it.")
    program: ForgeProgram = await forge_of(person, remote.name) if remote.name else ""
    return Begun(copy.id, copy.path, start, remote.base or base or here, remote.address, program, notes)


async def _repository(task: TaskInfo) -> Git:
    folder = Path(task.cwd)
    if not task.cwd or not await asyncio.to_thread(folder.is_dir):
        raise OpenAgentError(
            "invalid_argument",
            "The task names no folder to work in.",
            hint="Give it one: --cwd DIR.",
        )
    person = await Git.checked(folder)
    if person.prefix:
        raise OpenAgentError(
            "invalid_argument",
            f"{task.cwd} is not the top folder of its repository, which is {person.top}.",
            hint=f"`openagent tasks edit {task.id} --cwd {person.top}` sets it.",
        )
    if not await person.asked("rev-parse", "--verify", "--quiet", "HEAD"):
        raise OpenAgentError("conflict", "The repository has no commit yet.", hint="Commit something first.")
    return person


async def _remote(person: Git, here: str, base: str) -> _Remote:
    name = await remote_of(person, here)
    if not name:
        return _Remote()
    if await person.lies_within(name):
        raise OpenAgentError(
            "conflict",
            f"{name} lies in the workspace, where anybody may have given it hooks: nothing is pushed there.",
            hint="Name a remote that lies elsewhere.",
        )
    address = await person.asked("remote", "get-url", "--push", name)
    if (path := local_path(address)) and not address.lower().startswith("file://"):
        address = str((person.top / path).resolve())
    base = base or await base_of(person, name) or await _default(person, address)
    if not base or base.startswith("-") or (await person.run("check-ref-format", "--branch", base)).code:
        raise OpenAgentError(
            "invalid_argument", f"It is not known which branch of {name} to start from.", hint="Name it with --base."
        )
    return _Remote(name, address, base)


async def _default(person: Git, address: str) -> str:
    told = re.match(r"ref: refs/heads/(\S+)\s", await person.asked("ls-remote", "--symref", address, "HEAD"))
    return told[1] if told else ""


async def _start(person: Git, branch: Branch, remote: _Remote, here: str) -> tuple[str, list[str]]:
    """What the remote has now; where it does not answer, what was last seen of it."""
    if not remote.name:
        found = await person.asked("rev-parse", "--verify", "--quiet", f"{here or 'HEAD'}^{{commit}}")
        if not found:
            raise OpenAgentError("not_found", f"There is no branch {here}.", hint="Name another with --base.")
        return found, []
    if fetched := await branch.fetch(remote.address, remote.base):
        return fetched, []
    seen = f"refs/remotes/{remote.name}/{remote.base}"
    if found := await person.asked("rev-parse", "--verify", "--quiet", f"{seen}^{{commit}}"):
        return found, [f"{remote.name} did not answer: it starts from what was last seen of {remote.base}."]
    raise OpenAgentError(
        "conflict", f"{remote.base} could not be fetched from {remote.name}.", hint="Try `git fetch` in your terminal."
    )
