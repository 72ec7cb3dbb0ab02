"""Running one hook, whatever it does: it may hang, fork, fail or print without end, and the turn goes on."""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from openagent.customizing.hook_forms import folders
from openagent.customizing.hook_never_ran import why_it_never_ran
from openagent.plugins.held_time import HeldTime
from openagent.protocol.customizing import Hook
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.locations import FORWARDED_ENV
from openagent.safety.jail_exit_routing import Requester

MAX_OUTPUT = 256 * 1024
"""Bytes kept of each stream; the rest is read and thrown away."""
MAX_TOLD = 16 * 1024
"""Characters of what a hook says that reach the model."""
LONGEST_NAME = 80
BLOCKS = 2
_NOT_FOUND = (126, 127)
"""What a shell ends with when there is no such program, or it cannot be run."""
_IN_JAIL = "It runs in the jail, which does not show all of this machine."
_GRACE = 0.3
"""Seconds that what a hook left running may go on holding its output."""
_REAPED = 5.0
"""Seconds that a killed process may take to be gone: on a busy machine more than a moment."""

_log = logging.getLogger(__name__)

_closings: set[asyncio.Task[None]] = set()

StartInJail = Callable[[Path, Sequence[str], Mapping[str, str], Requester], Awaitable[asyncio.subprocess.Process]]


class _Answer(Struct, frozen=True):
    """What a hook prints as JSON. Unknown keys are no mistake: there will be new ones."""

    go_on: bool = msgspec.field(name="continue", default=True)
    stop_reason: str = msgspec.field(name="stopReason", default="")
    message: str = msgspec.field(name="systemMessage", default="")
    decision: str = ""
    reason: str = ""
    specific: dict[str, Any] = msgspec.field(name="hookSpecificOutput", default={})
    permission: str = msgspec.field(name="permissionDecision", default="")
    """Copilot's hooks say it here."""
    permission_reason: str = msgspec.field(name="permissionDecisionReason", default="")


class HookRun(Struct, frozen=True):
    hook: Hook
    outcome: Literal["done", "blocked", "failed", "timeout"]
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    reason: str = ""
    """Why it blocks, or what went wrong."""
    context: str = ""
    """What the model should be told."""
    decision: Literal["allow", "ask", "deny"] | None = None
    updated: dict[str, Any] | None = None
    stops: str = ""
    """Why the turn must end here."""
    message: str = ""
    duration_ms: float = 0.0


async def run_hook(
    hook: Hook, workspace: Path, facts: Mapping[str, Any], start_in_jail: StartInJail, session: str = ""
) -> HookRun:
    """A person's own hook runs as they would run it; a project's runs in the jail, where a host that it wants to
    connect to is asked for in its session, and that time is not its own."""
    began = time.monotonic()
    held = HeldTime()
    asks = Requester(session, f"hook:{hook.command}", f"The hook `{hook.command[:LONGEST_NAME]}`", held)
    try:
        process = await _start(hook, workspace, session, start_in_jail, asks)
    except (OSError, OpenAgentError) as problem:
        why = problem.info.message if isinstance(problem, OpenAgentError) else problem.strerror or str(problem)
        return HookRun(hook, "failed", reason=f"It could not be started: {why}")
    stdout, stderr = bytearray(), bytearray()
    timed_out = False
    try:
        async with held.timeout(hook.timeout):
            await _communicate(process, msgspec.json.encode(facts), stdout, stderr)
    except TimeoutError:
        timed_out = True
    except Exception as problem:  # whatever a hook does, the turn goes on
        _log.exception("hook could not be run to its end", extra={"hook": hook.event})
        return HookRun(hook, "failed", reason=f"It could not be followed: {type(problem).__name__}: {problem}")
    finally:
        await _end(process)
    took = round((time.monotonic() - began) * 1000, 3)
    if timed_out:
        return HookRun(hook, "timeout", reason=f"It took more than {hook.timeout:g} s.", duration_ms=took)
    said, complained = stdout.decode(errors="replace"), stderr.decode(errors="replace")
    run = _judge(hook, process.returncode, said, complained)
    reason = f"{held.refusal} {run.reason}" if held.refusal and run.outcome != "done" else run.reason
    updated = run.updated
    if updated is not None and hook.form == "gemini":  # there it is added to what the call has
        updated = {**facts.get("tool_input", {}), **updated}
    return msgspec.structs.replace(run, reason=reason, updated=updated, duration_ms=took)


async def _start(
    hook: Hook, workspace: Path, session: str, start_in_jail: StartInJail, asks: Requester
) -> asyncio.subprocess.Process:
    places = folders(str(workspace), session, hook.form, hook.root)
    if hook.origin == "project":
        return await start_in_jail(workspace, ["bash", "-c", hook.command], places, asks)
    secret = {name for name in FORWARDED_ENV if name.endswith(("KEY", "TOKEN", "CREDENTIALS"))}
    env = {name: value for name, value in os.environ.items() if name not in secret}
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            hook.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=workspace,
            env=env | places,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:  # asyncio would kill the shell alone, and wait for what the shell had started
        with contextlib.suppress(OSError):
            await _end(await starting)
        raise


async def _communicate(process: asyncio.subprocess.Process, facts: bytes, stdout: bytearray, stderr: bytearray) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with contextlib.suppress(OSError, RuntimeError):  # it has ended already; uvloop says so in its own way
        process.stdin.write(facts + b"\n")
        process.stdin.close()
    closing = asyncio.create_task(_closed(process.stdin))
    _closings.add(closing)
    closing.add_done_callback(_closings.discard)
    readers = [
        asyncio.create_task(_read(process.stdout, stdout)),
        asyncio.create_task(_read(process.stderr, stderr)),
    ]
    try:
        waited = 0.0
        while not all(reader.done() for reader in readers):
            await asyncio.wait(readers, timeout=0.05)
            if process.returncode is not None:
                waited += 0.05
                if waited > _GRACE:  # something it left behind holds the pipes
                    return
        await process.wait()
    finally:
        for reader in readers:
            reader.cancel()


async def _closed(stdin: asyncio.StreamWriter) -> None:
    """That a hook ended and read nothing is told here alone; where nobody listens it is logged as a defect of ours."""
    with contextlib.suppress(OSError, RuntimeError):
        await stdin.wait_closed()


async def _read(stream: asyncio.StreamReader, kept: bytearray) -> None:
    while chunk := await stream.read(65536):
        kept += chunk[: max(MAX_OUTPUT - len(kept), 0)]


async def _end(process: asyncio.subprocess.Process) -> None:
    """With whatever it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_REAPED):
            await process.wait()


def _judge(hook: Hook, code: int | None, stdout: str, stderr: str) -> HookRun:
    run = HookRun(hook, "done", code, stdout[:MAX_TOLD], stderr[:MAX_TOLD])
    if code == BLOCKS and (why := why_it_never_ran(hook.command, stdout, stderr)):
        return msgspec.structs.replace(run, outcome="failed", reason=_never_ran(hook, why))
    if code == BLOCKS:
        reason = stderr.strip()[:MAX_TOLD] or "The hook gave no reason."
        return msgspec.structs.replace(run, outcome="blocked", reason=reason, decision="deny")
    if code != 0:
        last = stderr.strip().rpartition("\n")[2][:500]
        said = f"It ended with exit code {code}. {last}".strip()
        if code in _NOT_FOUND and hook.origin == "project":
            said = f"{said.removesuffix('.')}. {_IN_JAIL}"
        return msgspec.structs.replace(run, outcome="failed", reason=said)
    if not stdout.lstrip().startswith("{"):
        speaks = hook.event in ("SessionStart", "UserPromptSubmit")
        return msgspec.structs.replace(run, context=stdout.strip()[:MAX_TOLD] if speaks else "")
    try:
        answer = msgspec.json.decode(stdout, type=_Answer)
        return _answered(run, answer)
    except (msgspec.DecodeError, RecursionError) as problem:
        return msgspec.structs.replace(run, outcome="failed", reason=f"What it printed cannot be read: {problem}")


def _never_ran(hook: Hook, why: str) -> str:
    where = f" {_IN_JAIL}" if hook.origin == "project" else ""
    return f"It was not run, and nothing was blocked: {why[:500].rstrip('.')}.{where}"


def _answered(run: HookRun, answer: _Answer) -> HookRun:
    specific = answer.specific
    decision, reason = _decided(specific, answer)
    context = _text(specific.get("additionalContext"))
    stops = "" if answer.go_on else answer.stop_reason or "A hook said so."
    updated: Any = specific.get("updatedInput") or (specific.get("tool_input") if run.hook.form == "gemini" else None)
    return msgspec.structs.replace(
        run,
        outcome="blocked" if decision == "deny" or stops else "done",
        decision=decision,
        reason=reason[:MAX_TOLD],
        context=context[:MAX_TOLD],
        updated=updated if isinstance(updated, dict) else None,
        stops=stops[:500],
        message=answer.message[:500],
    )


def _decided(specific: Mapping[str, Any], answer: _Answer) -> tuple[Literal["allow", "ask", "deny"] | None, str]:
    asked: Any = specific.get("decision")
    if isinstance(asked, dict):
        behaviour = msgspec.convert(asked, dict[str, Any])
        said, reason = behaviour.get("behavior"), _text(behaviour.get("message"))
    else:
        said = specific.get("permissionDecision") or answer.permission or answer.decision
        reason = _text(specific.get("permissionDecisionReason")) or answer.permission_reason or answer.reason
    match said:
        case "allow" | "approve":
            return "allow", reason or "A hook allowed it."
        case "ask":
            return "ask", reason or "A hook wants a person to decide."
        case "deny" | "block":
            return "deny", reason or "A hook refused it."
        case _:
            return None, reason


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
