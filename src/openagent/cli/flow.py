"""`openagent flows`"""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

import click

from openagent.cli.asking import question_here
from openagent.cli.command import (
    as_json,
    ask_daemon,
    command,
    complete,
    daemon,
    examples,
    group,
    plain,
    print_json,
    say,
)
from openagent.cli.terminal import DIM, GREEN, RED, YELLOW, paint, table
from openagent.client import Attachment, Client
from openagent.client.text import clean, one_line
from openagent.protocol import events as e
from openagent.protocol.conversation import PermissionAnswer, QuestionAnswer
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.flows import (
    FlowCheck,
    FlowInfo,
    FlowResume,
    FlowRun,
    FlowRunning,
    FlowShow,
    FlowsList,
)
from openagent.protocol.sessions import MODES, Mode
from openagent.protocol.words import call_to_come, in_words

DONE, FAILED, NEEDS_APPROVAL, CANCELLED = 0, 1, 3, 130
_MARKS = {"done": ("✓", GREEN), "failed": ("✗", RED), "running": ("▸", YELLOW), "waiting": ("·", DIM)}
Start = Callable[[str], FlowRun | FlowResume]
"""From an op's id to the op that starts a flow."""
_MODES = click.Choice(MODES)


@group(
    "flows",
    epilog=examples(
        "openagent flows list",
        "openagent flows check feature.toml",
        'openagent flows run feature.toml --input task="Add a --quiet option" --mode auto',
        "openagent flows resume 06gx",
    ),
)
def flows() -> None:
    """Chains of templates: one after the other, side by side, or again until a command passes."""


@command("list", "openagent flows list", "openagent flows list --json")
@as_json
def list_flows(as_json: bool) -> None:
    """List the flows of this project: .openagent/flows/*.toml"""
    found = ask_daemon(FlowsList(id="-", cwd=os.getcwd()))
    if as_json:
        print_json(plain(found))
    elif found.flows:
        rows = [(each.name, str(len(each.steps)), ", ".join(each.inputs) or "–", _about(each)) for each in found.flows]
        say(table(("FLOW", "STEPS", "INPUTS", "WHAT IT DOES"), rows))
    else:
        say("There are no flows in .openagent/flows. `openagent flows run FILE` runs any file.")


def _about(each: FlowInfo) -> str:
    return one_line(f"! {each.problems[0]}" if each.problems else each.description, 80)


@command("check", "openagent flows check feature.toml")
@click.argument("file")
@as_json
def check(file: str, as_json: bool) -> int:
    """Tell whether a flow could run here, and what it would do. Nothing is run."""
    path, text = _read(file)
    found = ask_daemon(FlowCheck(id="-", text=text, file=path, cwd=os.getcwd()))
    if as_json:
        print_json(plain(found))
        return int(bool(found.problems))
    for step in found.steps:
        say(f"  {clean(step)}")
    for name, what in found.inputs.items():
        given = f" (default: {found.defaults[name]})" if name in found.defaults else ""
        say(paint(clean(f"  input {name}: {what}{given}"), DIM))
    for problem in found.problems:
        click.echo(paint(f"✗ {clean(problem)}", RED, sys.stderr), err=True)
    if not found.problems:
        say(paint(f"✓ {clean(found.name)} can be run.", GREEN))
    return int(bool(found.problems))


def _read(file: str) -> tuple[str, str]:
    """A path, or the name of one of the project's."""
    named = Path(".openagent") / "flows" / f"{file}.toml"
    path = named if not os.path.exists(file) and named.exists() else Path(file)
    try:
        return str(path), path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise OpenAgentError(
            "invalid_argument", f"{path} cannot be read: {problem}.", hint="`openagent flows list` shows the project's."
        ) from None


@command(
    "run",
    'openagent flows run feature.toml --input task="Add a --quiet option"',
    "openagent flows run feature --mode auto --budget 2 --json",
)
@click.argument("file")
@click.option("--input", "inputs", multiple=True, metavar="NAME=VALUE", help="What the flow wants to be given.")
@click.option("--mode", type=_MODES, help="What its agents may do unasked.")
@click.option("--model", default="", metavar="PROVIDER/MODEL", help="For templates that name none.")
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), help="Dollars it may spend in all.")
@as_json
def run(  # noqa: PLR0917
    file: str, inputs: tuple[str, ...], mode: str | None, model: str, budget: float | None, as_json: bool
) -> int:
    """Run a flow and show its progress. Ctrl-C cancels it; what was done stays, and it can be resumed."""
    path, text = _read(file)
    given = dict(_pair(each) for each in inputs)

    def start(number: str) -> FlowRun:
        return FlowRun(
            id=number,
            text=text,
            file=path,
            cwd=os.getcwd(),
            inputs=given,
            mode=cast("Mode | None", mode),
            model=model,
            budget_usd=budget,
        )

    return complete(_follow(start, as_json=as_json))


def _pair(given: str) -> tuple[str, str]:
    name, found, value = given.partition("=")
    if not found:
        raise click.UsageError("--input wants NAME=VALUE.")
    return name.strip(), value


@command("resume", "openagent flows resume 06gx")
@click.argument("session", metavar="SESSION")
@as_json
def resume(session: str, as_json: bool) -> int:
    """Go on with a flow that failed, was cancelled or was cut off, after its last step that was done."""
    return complete(_follow(lambda number: FlowResume(id=number, session=session), as_json=as_json))


@command("show", "openagent flows show 06gx", "openagent flows show 06gx --json")
@click.argument("session", metavar="SESSION")
@as_json
def show(session: str, as_json: bool) -> None:
    """Print the report of a flow: each step, what it answered and what it cost."""
    report = ask_daemon(FlowShow(id="-", session=session))
    if as_json:
        print_json(plain(report))
        return
    for step in report.steps:
        mark, colour = _MARKS[step.state]
        rounds = f", {step.rounds} rounds" if step.rounds > 1 else ""
        say(paint(f"{mark} {step.name}", colour) + paint(f"  ${step.cost_usd:.4f}{rounds}", DIM))
        if step.text:
            say("\n".join(f"    {line}" for line in clean(step.text).splitlines()))
    say(f"{report.name} is {report.state}: ${report.cost_usd:.4f}, {report.tokens:,} tokens.")
    if report.error:
        say(paint(clean(f"{report.error.message} {report.error.hint}"), RED))


async def _follow(start: Start, *, as_json: bool) -> int:
    may_ask = sys.stdin.isatty() and sys.stderr.isatty()
    async with daemon(interactive=may_ask) as client:
        running = await client.request(start(client.next_id()))
        attachment = await client.attach(running.session, after=running.seq)
        progress = Progress(client, running, quiet=as_json, may_ask=may_ask)
        following = asyncio.create_task(progress.follow(attachment))
        try:
            code = await following
        except asyncio.CancelledError:  # Ctrl-C
            await client.cancel(running.session)
            code = CANCELLED
        report = await client.request(FlowShow(id=client.next_id(), session=running.session))
    if as_json:
        print_json(plain(report))
    return code


class Progress:
    def __init__(self, client: Client, running: FlowRunning, *, quiet: bool, may_ask: bool) -> None:
        self._client = client
        self._running = running
        self._quiet = quiet
        self._may_ask = may_ask
        self._code = DONE

    async def follow(self, attachment: Attachment) -> int:
        self._say(f"{self._running.name}  ·  {len(self._running.steps)} steps  ·  {self._running.session}", DIM)
        for step in self._running.done:
            self._say(f"✓ {step}  done before", DIM)
        async for event in attachment.events():
            if isinstance(event, e.PermissionRequested):
                await self._ask(event)
            elif isinstance(event, e.QuestionAsked):
                await self._answer(event)
            elif isinstance(event, e.FlowFinished):
                return self._finish(event)
            else:
                self._show(event)
        raise OpenAgentError("shutting_down", "The connection ended.", hint="`openagent flows show` tells the rest.")

    def _show(self, event: e.AnyEvent) -> None:
        match event:
            case e.FlowStepped() if event.state == "running" and not event.round:
                self._say(f"▸ {event.step}", YELLOW)
            case e.FlowStepped() if event.state == "running":
                self._say(f"  round {event.round}  ${event.cost_usd:.4f}", DIM)
            case e.FlowStepped():
                mark, colour = _MARKS[event.state]
                said = one_line(event.text, 100)
                self._say(f"{mark} {event.step}  {said}", colour)
            case e.SubagentStarted():
                self._say(f"    → {event.template} ({event.child}): {one_line(event.task, 80)}", DIM)
            case e.SubagentProgress() if event.detail:
                self._say(f"      {event.template}: {one_line(event.detail, 90)}", DIM)
            case e.SubagentFinished():
                ended = in_words(event.reason)
                files = f", merged {', '.join(event.changed[:8])}" if event.changed else ""
                self._say(f"    ← {event.template}: {ended}, ${event.cost_usd:.4f}{files}", DIM)
            case _:
                pass

    def _finish(self, event: e.FlowFinished) -> int:
        name, session = self._running.name, self._running.session
        spent = f"${event.cost_usd:.4f}, {event.tokens:,} tokens, {event.duration_ms / 1000:.1f} s"
        if event.state == "done":
            self._say(f"✓ {name} is done: {spent}. `openagent flows show {session}` prints the report.", GREEN)
            return self._code
        why = f" {event.error.message}" if event.error else ""
        self._say(f"✗ {name} is {event.state}: {spent}.{why}", RED)
        self._say(f"`openagent flows resume {session}` goes on after the last step that was done.", DIM)
        return self._code or (CANCELLED if event.state == "cancelled" else FAILED)

    async def _ask(self, event: e.PermissionRequested) -> None:
        ask = event.ask
        self._say(f"? {call_to_come(ask.tool, ask.summary)}\n  {ask.risk} risk. {ask.reason}", YELLOW)
        if not self._may_ask:
            if not event.answerable:
                self._say("! It needs an approval that nobody can give here: use --mode, or attach and answer.", RED)
                self._code = NEEDS_APPROVAL
                await self._client.cancel(self._running.session)
            return
        covers = next((choice.covers for choice in ask.choices if choice.id == "session"), "")
        told = covers.replace("this session", "this flow") or "For the rest of this flow."
        prompt = f"  [a] Only this, this one time.\n  [s] {clean(told)}\n  [d] Deny it.\n  "
        said = await asyncio.to_thread(click.prompt, prompt, default="d", show_default=False, err=True)
        allowed = said in ("a", "s")
        answer = PermissionAnswer(
            id=self._client.next_id(),
            session=event.session,
            ask=ask.id,
            decision="allow" if allowed else "deny",
            scope="session" if said == "s" else "once",
        )
        await self._client.request(answer)

    async def _answer(self, event: e.QuestionAsked) -> None:
        question = event.question
        said = question.unattended
        if self._may_ask:
            typed = await asyncio.to_thread(question_here, question.text, question.choices, sys.stderr)
            said = typed or said
        else:
            self._say(f"? {question.text}\n! No one is attached, so this was answered: {said}", YELLOW)
        op = QuestionAnswer(id=self._client.next_id(), session=event.session, question=question.id, answer=said)
        with suppress(OpenAgentError):  # somebody else was faster
            await self._client.request(op)

    def _say(self, text: str, style: str) -> None:
        if not self._quiet:
            say(paint(clean(text), style))
        elif style == RED:
            click.echo(clean(text), err=True)


for _command in (list_flows, check, run, resume, show):
    flows.add_command(_command)
