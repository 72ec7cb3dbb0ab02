"""`openagent run`: one prompt, one turn, one answer. On a warm daemon this is a thin, fast client."""

from __future__ import annotations

import os
import sys

from openagent.cli.terminal import DIM, RED, Prose, complain, forgiving_streams, paint, prose_width, silence_stdout
from openagent.client.launch import DaemonDidNotStart
from openagent.client.text import call_line, clean, plan_lines
from openagent.client.thin import ConnectionEnded, Refused, ThinClient, explain, parse, to_json
from openagent.protocol.ids import new_session_id
from openagent.protocol.telling import said_of
from openagent.protocol.words import LEAVING, call_to_come, choice_lines, turn_ended, ways_to_allow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from openagent.client.thin import Event

DONE, FAILED, USAGE, NEEDS_APPROVAL, LIMIT, CANCELLED = 0, 1, 2, 3, 4, 130
MODES = ("plan", "ask", "edits", "auto", "full")
IF_ASKED = ("refuse", "stop")
OUTPUTS = ("text", "json", "stream-json")
_NO_PERSON = "the run has no terminal. Do without it, or end with what you would need."
_LIMITS = ("step_limit", "time_limit", "budget", "loop", "max_tokens")

OPTIONS: dict[str, str] = {
    "--model": "PROVIDER/MODEL  what answers; the configured model when left out",
    "--session": "ID  go on with this session",
    "--continue": "go on with the newest session of this directory",
    "--cwd": "DIR  the workspace; this directory when left out",
    "--template": "NAME  start from a template; `openagent templates list` shows them",
    "--mode": "plan|ask|edits|auto|full  what the agent may do unasked",
    "--if-asked": "refuse|stop  what follows a question that nobody is here to answer: a refusal when left out",
    "--output": "text|json|stream-json  what is printed",
    "--max-steps": "N  model requests the turn may take",
    "--timeout": "S  seconds the turn may take",
}
FLAGS = ("--continue",)

HELP = """\
Usage: openagent run [OPTIONS] "PROMPT"
       openagent run [OPTIONS] < prompt.txt

Send one prompt to an agent, show what it does, and print its answer.

Options:
{options}

Exit codes: 0 done, 1 failed, 2 usage, 3 stopped at a question (--if-asked stop), 4 a limit was hit, 130 cancelled.

Examples:
  openagent run "Why does test_retry fail?"
  openagent run --mode full --model anthropic/claude-sonnet-5-5 "Fix it and run the tests"
  openagent run --template reviewer "Review the last commit"
  openagent run --continue "Now update the changelog"
  git diff | openagent run --mode plan --output json
  openagent run --connect build-server:8080 --token-file ~/build.token --cwd /srv/api "Why is the build red?"
"""


class Arguments:
    def __init__(self) -> None:
        self.prompt = ""
        self.session = ""
        self.go_on = False
        self.elsewhere = bool(os.environ.get("OPENAGENT_CONNECT"))
        self.cwd = "" if self.elsewhere else os.getcwd()
        self.output = "text"
        self.if_asked = "refuse"
        self.template = ""
        self.settings: dict[str, Any] = {}


def help_text() -> str:
    return HELP.format(options="\n".join(f"  {name:12} {text}" for name, text in OPTIONS.items()))


def main(arguments: list[str]) -> int:
    forgiving_streams()
    if "--help" in arguments or "-h" in arguments:
        sys.stdout.write(help_text())
        return DONE
    return perform(_parse(arguments))[0]


def perform(arguments: Arguments) -> tuple[int, str]:
    """The exit code, and the session that the turn belongs to."""
    session = ""
    try:
        run = Run(arguments)
        session = run.open()
        return run.follow(), session
    except (Refused, DaemonDidNotStart) as problem:
        return complain(str(problem), FAILED), session
    except ConnectionEnded as problem:
        reason = (str(problem) or "the daemon has gone").rstrip(".")
        hint = "Nothing is lost: `openagent run --continue` goes on."
        return complain(f"The connection ended: {reason}. {hint}", FAILED), session
    except BrokenPipeError:
        silence_stdout()
        return FAILED, session
    except OSError as problem:
        return complain(f"The daemon cannot be reached: {problem.strerror}.", FAILED), session
    except KeyboardInterrupt:
        return complain("Cancelled.", CANCELLED), session


def _parse(arguments: list[str]) -> Arguments:
    parsed = Arguments()
    words: list[str] = []
    waiting = iter(arguments)
    for word in waiting:
        if word == "--":
            words.extend(waiting)
        elif word.startswith("--"):
            name, has_value, value = word.partition("=")
            if name not in OPTIONS:
                _usage(f"There is no option {name}.")
            if name not in FLAGS and not has_value:
                value = next(waiting, None)
                if value is None:
                    _usage(f"{name} needs a value.")
            _take(parsed, name, value)
        else:
            words.append(word)
    parsed.prompt = " ".join(words)
    if not parsed.prompt and not sys.stdin.isatty():
        parsed.prompt = sys.stdin.read().strip()
    elif not sys.stdin.isatty() and words and "-" in words:
        parsed.prompt = " ".join(word for word in words if word != "-") + "\n\n" + sys.stdin.read()
    if not parsed.prompt:
        _usage("There is no prompt.")
    return parsed


def _take(parsed: Arguments, name: str, value: str) -> None:
    match name:
        case "--continue":
            parsed.go_on = True
        case "--template":
            parsed.template = value
        case "--session":
            parsed.session = value
        case "--cwd":
            parsed.cwd = value if parsed.elsewhere else os.path.abspath(os.path.expanduser(value))
        case "--output" if value in OUTPUTS:
            parsed.output = value
        case "--if-asked" if value in IF_ASKED:
            parsed.if_asked = value
        case "--mode" if value in MODES:
            parsed.settings["mode"] = value
        case "--model":
            parsed.settings["model"] = value
        case "--max-steps" if value.isdigit() and int(value) > 0:
            parsed.settings["max_steps"] = int(value)
        case "--timeout" if value.replace(".", "", 1).isdigit() and float(value) > 0:
            parsed.settings["turn_timeout"] = float(value)
        case _:
            _usage(f"{value!r} is not a value for {name} ({OPTIONS[name].split('  ')[0]}).")


def _usage(problem: str) -> NoReturn:
    sys.exit(complain(f"{problem} See `openagent run --help`.", USAGE))


def _client(arguments: Arguments) -> type[ThinClient]:
    if not arguments.elsewhere:
        return ThinClient
    from openagent.client.thin_elsewhere import ThinClientElsewhere

    return ThinClientElsewhere


_QUEUE = ("message.queued", "queue.changed", "turn.started")


class Run:
    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._may_ask = sys.stdin.isatty() and sys.stderr.isatty()
        self._streams = arguments.output == "text" and sys.stdout.isatty()
        self._client = _client(arguments)("run", interactive=self._may_ask)
        self._session = self._sent = self._queued = ""
        self._seq = self._heard = 0
        """The newest event seen: a line that is lost is taken up again from there."""
        self._streamed = ""
        self._prose = Prose(prose_width())
        self._needs_approval = False
        self._unanswered = "", "do that"
        self._refusals: set[str] = set()
        self._problem = ""
        self._started: dict[str, str] = {}
        self._shown = {
            "text.delta": self._show_text,
            "tool.started": self._tool_started,
            "tool.finished": self._tool_finished,
            "permission.requested": self._ask,
            "plan.updated": self._plan,
        }

    def open(self) -> str:
        """Everything that starts the turn leaves in one write; no reply has to be waited for."""
        arguments, client = self._arguments, self._client
        self._session = arguments.session or (self._newest("id") if arguments.go_on else "")
        if not self._session:
            cwd = arguments.cwd or self._newest("cwd")
            self._session = new_session_id()
            more = {"template": arguments.template} if arguments.template else {}
            client.queue("session.create", session=self._session, cwd=cwd, settings=arguments.settings, **more)
        elif arguments.settings:
            client.queue("session.update", session=self._session, settings=arguments.settings)
        client.queue("session.attach", session=self._session, messages=0)
        self._sent = client.queue("message.send", session=self._session, text=arguments.prompt)
        client.flush()
        return self._session

    def follow(self) -> int:
        try:
            return self._follow_on()
        except KeyboardInterrupt:
            if self._queued:  # the turn that runs is somebody else's
                self._client.queue("queue.remove", session=self._session, queued=self._queued)
            else:
                self._client.queue("turn.cancel", session=self._session)
            self._client.flush()
            return self._follow_on()

    def _follow_on(self) -> int:
        while True:
            self._heard = 0
            try:
                return self._follow()
            except ConnectionEnded as problem:
                if problem.for_good or not self._heard:
                    raise
                self._attach_again(problem)

    def _attach_again(self, problem: ConnectionEnded) -> None:
        """The daemon cuts off whoever does not keep up. What was streamed meanwhile comes whole, at the end."""
        self._client.close()
        try:
            self._client = _client(self._arguments)("run", interactive=self._may_ask, auto_start=False)
            self._client.queue("session.attach", session=self._session, after=self._seq, messages=0)
            self._client.flush()
        except (OSError, Refused):
            raise problem from None
        self._streams = False

    def _newest(self, what: str) -> str:
        """Of the newest session in the folder. Elsewhere, without a folder: of all."""
        cwd = self._arguments.cwd
        page = self._client.request("session.list", cwd=cwd, limit=1, roots=True)
        if not page["sessions"]:
            problem = f"There is no session in {cwd} to continue." if cwd else "There is no session there yet. "
            sys.exit(complain(problem + ("" if cwd else "--cwd names a folder of that machine."), USAGE))
        return page["sessions"][0][what]

    def _follow(self) -> int:
        while True:
            body = self._client.receive_body()
            event = parse(body)
            kind = event["type"]
            self._seq = max(self._seq, event.get("seq", 0))
            if kind == "reply":
                self._attached(event.get("result") or {})
                continue
            if kind == "failed" and event.get("op_id") in self._refusals:
                self._not_refused(event["error"])
                continue
            if kind == "failed":
                raise Refused(event["error"])
            if kind == "connection.closing":
                raise ConnectionEnded(explain(event["error"]), for_good=event["error"]["code"] != "slow_client")
            self._heard += 1
            if self._arguments.output == "stream-json":
                sys.stdout.write((clean(body) if sys.stdout.isatty() else body) + "\n")
                sys.stdout.flush()
            if kind == "turn.completed" and event.get("op_id") == self._sent:
                return self._finish(event)
            if kind in _QUEUE and (why := self._not_said(kind, event)):
                return complain(why, FAILED)
            if kind != "context.shown":
                self._tell_problem()
            if kind == "error":
                self._problem = explain(event["error"])
            elif show := self._shown.get(kind):
                show(event)
            elif kind not in _QUEUE:  # what became of this command's message is its own business
                self._tell(kind, event)

    def _not_said(self, kind: str, event: Event) -> str:
        """Why a message that waits will not be answered here."""
        if kind == "message.queued" and event.get("op_id") == self._sent:
            self._queued = event["queued"]["id"]
        elif kind == "turn.started" and event.get("op_id") == self._sent:
            self._queued = ""
        elif kind == "queue.changed" and self._queued:
            waiting = [each["id"] for each in event.get("queued", ())]
            if self._queued not in waiting:
                return "The message was withdrawn before it was said."
            if event.get("held"):
                again = f"openagent sessions queue {self._session} --resume"
                return f"The message is held back, since the turn before it was cancelled. Go on with: {again}"
        return ""

    def _attached(self, result: Event) -> None:
        if "snapshot" not in result:
            return
        if self._seq:
            # So much was missed that it is not repeated, the end of the turn perhaps among it.
            raise Refused(
                {
                    "message": "Too much happened while this command did not keep up.",
                    "hint": f"Nothing is lost: `openagent sessions show {self._session}` shows it.",
                }
            )
        self._session, self._seq = result["session"], result["seq"]

    def _tell_problem(self) -> None:
        """One that the turn went on after: what ends a turn is told when it has ended."""
        problem, self._problem = self._problem, ""
        if problem:
            self._note(f"! {problem}", True)

    def _tell(self, kind: str, event: Event) -> None:
        """Between the words of an answer, and where only its end is wanted, no more than what a person should know."""
        for line in said_of(kind, event):
            if line.tone != "plain":
                self._note(f"! {line.whole}", True)
            elif self._arguments.output == "text":
                self._note(f"· {line.whole}", False)

    def _show_text(self, event: Event) -> None:
        if self._streams:
            self._print(self._prose.feed(clean(event["text"])))

    def _print(self, text: str) -> None:
        self._streamed += text
        sys.stdout.write(text)
        sys.stdout.flush()

    def _end_line(self) -> None:
        self._print(self._prose.flush())
        if self._streamed and not self._streamed.endswith("\n"):
            self._print("\n")
        self._streamed = ""
        self._prose = Prose(prose_width())

    def _tool_started(self, event: Event) -> None:
        self._started[event["call_id"]] = event.get("summary") or event["tool"]

    def _tool_finished(self, event: Event) -> None:
        if self._arguments.output != "text":
            return
        what = self._started.pop(event["call_id"], "") or event.get("subject", "")
        ended, reason = event.get("ended", "done"), event.get("reason", "")
        summary, took = event.get("summary", ""), event.get("duration_ms", 0.0)
        line = call_line(event["tool"], what, ended=ended, reason=reason, summary=summary, duration_ms=took)
        self._note(line, ended != "done")

    def _plan(self, event: Event) -> None:
        if self._arguments.output == "text":
            self._note(
                "\n".join(plan_lines((item["text"], item.get("state", "pending")) for item in event["plan"])), False
            )

    def _ask(self, event: Event) -> None:
        ask = event["ask"]
        wanted = clean(call_to_come(ask["tool"], ask["summary"]))
        if self._may_ask:
            given = [(each["id"], each["scope"], each["covers"]) for each in ask.get("choices", ())]
            ways = ways_to_allow(given)
            listed = "\n  ".join(choice_lines(ways))
            self._note(f"{wanted}\n  {ask.get('risk', 'medium')} risk. {ask.get('reason', '')}\n  {listed}", False)
            sys.stderr.write("  > ")
            sys.stderr.flush()
            way = ways.get(sys.stdin.readline().strip())
            fields = {"decision": "deny"} if way is None else {"decision": "allow", "scope": way[1]}
            if way is not None and given:
                fields["choice"] = way[0]
            self._client.queue("permission.answer", session=self._session, ask=ask["id"], **fields)
            self._client.flush()
        elif event.get("answerable", True) is False:
            self._refuse(ask, wanted)
        else:
            self._note(f"… waiting for an approval in another client: {wanted}", False)

    def _refuse(self, ask: Event, wanted: str) -> None:
        """Nobody will answer. The model is told why, and finds another way or says what is in its way."""
        self._unanswered = ask["tool"], wanted
        if self._arguments.if_asked == "stop":
            self._note(f"! needs approval: {wanted}", True)
            self._stop()
            return
        self._note(f"! refused, for nobody is here to approve it: {wanted}", True)
        why = "" if ask["tool"] in LEAVING else ask.get("reason", "")
        reason = f"{why} It needs a person's approval, and nobody is here to give it: {_NO_PERSON}"
        fields = {"decision": "deny", "reason": reason.strip()}
        self._refusals.add(self._client.queue("permission.answer", session=self._session, ask=ask["id"], **fields))
        self._client.flush()

    def _not_refused(self, error: Event) -> None:
        if error["code"] not in ("not_found", "conflict"):  # somebody else was faster with an answer
            self._stop()  # this client may not even say no

    def _stop(self) -> None:
        self._needs_approval = True
        self._client.queue("turn.cancel", session=self._session)
        self._client.flush()

    def _note(self, line: str, failed: bool) -> None:
        self._end_line()
        sys.stderr.write(paint(clean(line), RED if failed else DIM, sys.stderr) + "\n")

    def _finish(self, event: Event) -> int:
        reason = event["reason"]
        text = event.get("text", "")
        if self._arguments.output == "json":
            fields = ("turn", "reason", "text", "steps", "usage", "cost_usd", "duration_ms", "by", "error")
            result = {"session": self._session, **{name: event[name] for name in fields if name in event}}
            sys.stdout.write(to_json(result) + "\n")
        elif self._streams:
            self._end_line()
        elif self._arguments.output == "text" and text:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
        return self._exit_code(reason, event.get("error"))

    def _exit_code(self, reason: str, error: Event | None) -> int:
        if self._needs_approval:
            tool, wanted = self._unanswered
            unasked = "a rule in policy.toml" if tool in LEAVING else "a wider --mode or a rule in policy.toml"
            return complain(
                f"The turn was stopped, for nobody here can allow it to {wanted}. You can answer where "
                f"`openagent attach {self._session}` goes on with it; {unasked} lets it run unasked.",
                NEEDS_APPROVAL,
            )
        if error is not None:
            return complain(explain(error), DONE if reason == "done" else LIMIT if reason in _LIMITS else FAILED)
        if reason == "done":
            return DONE
        told, following = turn_ended(reason)
        code = LIMIT if reason in _LIMITS else CANCELLED if reason == "cancelled" else FAILED
        return complain(f"{told} {following}", code)
