"""`openagent run`: one prompt, one turn, one answer. On a warm daemon this is a thin, fast client."""

from __future__ import annotations

import sys
from time import monotonic, time

from openagent.cli import exit_codes
from openagent.cli.exit_codes import CANCELLED, DONE, FAILED, LIMIT, LIMITS, NEEDS_ANSWER, READER_LEFT
from openagent.cli.terminal import (
    DIM,
    RED,
    Prose,
    columns,
    complain,
    forgiving_streams,
    paint,
    prose_width,
    silence_stdout,
    use_colour,
)
from openagent.client.command_line import (
    HELP_OPTIONS,
    OPTIONS,
    SHORT,
    Arguments,
    WrongUse,
    before_dashes,
    join_stdin,
    json_problem,
    read,
    wrong_use,
)
from openagent.client.launch import DaemonDidNotStart
from openagent.client.own_trace import own
from openagent.client.text import call_line, clean, one_line, plan_lines, time_left
from openagent.client.thin import (
    HUNG_UP,
    UNANSWERED,
    ConnectionEnded,
    Refused,
    ThinClient,
    explain,
    parse,
    still_listens,
    to_json,
)
from openagent.protocol.ids import new_session_id
from openagent.protocol.telling import said_of
from openagent.protocol.words import LEAVING, call_to_come, lapsed_told, left_out, may_continue, turn_ended

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from typing import Protocol

    from openagent.client.thin import Event

    class Written(Protocol):
        """An answer on its way to a terminal: what of it can be printed now, and in the end its rest."""

        def feed(self, text: str) -> str: ...

        def flush(self) -> str: ...

    Told = Callable[[float], str]
    """A line about something that is waited for, with so many seconds left."""
    Draw = Callable[[int], Written | None]
    """Markdown drawn in so many columns; None where this program has no part that can."""
else:
    import _signal  # the C part of `signal`, which brings enums along

_ENDING = (_signal.SIGTERM, _signal.SIGHUP)
"""What `timeout`, a job that is cancelled and a terminal that closes send: the turn stops, as with Ctrl+C."""
_UNATTENDED = "No one is attached. Decide, and say what you assumed."
_TICK = 1.0
"""Seconds between two lines of a countdown."""
_SLOW = 3.0
"""Seconds after which it is told that the daemon does not answer."""
_QUIET = 15.0
"""Seconds without a word after which the daemon is asked whether it is there."""
_NO_PERSON = "the run has no terminal. Do without it, or end with what you would need."

HELP = """\
Usage: openagent run [OPTIONS] "PROMPT"
       COMMAND | openagent run [OPTIONS] ["PROMPT"]

Send one prompt to an agent, show what it does, and print its answer. What is led into the command is joined to the
prompt.

Options:
{options}

Exit codes:
{codes}

Examples:
  openagent run "Why does test_retry fail?"
  openagent run --mode full -m anthropic/claude-sonnet-5-5 "Fix it and run the tests"
  openagent run --template reviewer "Review the last commit"
  openagent run -c "Now update the changelog"
  git diff | openagent run "Review this"
  openagent run --json "Which tests are slow?" | jq -r .text
  openagent run --connect build-server:8080 --token-file ~/build.token -C /srv/api "Why is the build red?"
"""


def help_text() -> str:
    return HELP.format(options="\n".join(option_lines()), codes=exit_codes.listed())


def option_lines() -> list[str]:
    letters = {name: letter for letter, name in SHORT.items()}
    lines: list[str] = []
    for name, text in OPTIONS.items():
        value, _, meaning = text.rpartition("  ")
        written = f"{letters[name]}, {name}" if name in letters else f"    {name}"
        first = f"  {written} {value}"
        lines.append(f"{first:<28}  {meaning}" if len(first) <= 28 else f"{first}\n{'':28}  {meaning}")
    return [*lines, f"{'      --':<28}  what follows is the prompt, whatever it begins with"]


def main(arguments: list[str], draw: Draw | None = None) -> int:
    forgiving_streams()
    if not HELP_OPTIONS.isdisjoint(before_dashes(arguments)):
        sys.stdout.write(help_text())
        return DONE
    try:
        parsed = read(arguments)
    except WrongUse as problem:
        return wrong_use(problem, arguments, "openagent run")
    return answer(parsed, "openagent run", draw)


def answer(parsed: Arguments, program: str, draw: Draw | None = None) -> int:
    """One prompt, answered on stdout."""
    parsed.output = parsed.output or "text"
    try:
        join_stdin(parsed)
        if not parsed.prompt and not parsed.images:
            raise WrongUse("There is no prompt.")
    except WrongUse as problem:
        return wrong_use(problem, ["--json"] if parsed.output != "text" else [], program)
    except KeyboardInterrupt:
        return complain("Cancelled.", CANCELLED)
    code, _ = perform(parsed, draw)
    own.ended("openagent run", code)
    if code == exit_codes.NO_MODEL and parsed.output == "text" and _set_up(parsed):
        return perform(parsed, draw)[0]
    return code


def _set_up(parsed: Arguments) -> bool:
    """Where nothing would answer, the person at the terminal is asked what should."""
    if parsed.elsewhere or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    from openagent.cli.choose_model import choose_if_needed

    return choose_if_needed()


def perform(arguments: Arguments, draw: Draw | None = None) -> tuple[int, str]:
    """The exit code, and the session that the turn belongs to."""
    before = {each: _signal.getsignal(each) for each in _ENDING}
    for each in _ENDING:
        if before[each] == _signal.SIG_DFL:  # `nohup` has it ignored
            _signal.signal(each, _signal.default_int_handler)
    try:
        return _perform(arguments, draw)
    finally:
        for each, handler in before.items():
            _signal.signal(each, handler)


def _perform(arguments: Arguments, draw: Draw | None) -> tuple[int, str]:
    session = ""
    try:
        run = Run(arguments, draw)
        try:
            session = run.open()
            return run.follow(), session
        finally:
            run.close()
    except Refused as problem:
        error, code = problem.error, exit_codes.of_error(problem.error.get("code", ""))
    except DaemonDidNotStart as problem:
        error, code = {"code": "config_error", "message": str(problem)}, FAILED
    except ConnectionEnded as problem:
        reason = (str(problem) or "the daemon has gone").rstrip(".")
        hint = "Nothing is lost: `openagent run --continue` goes on."
        if not str(problem) and not arguments.elsewhere and still_listens():
            reason, hint = HUNG_UP
        error, code = {"code": "disconnected", "message": f"The connection ended: {reason}.", "hint": hint}, FAILED
    except BrokenPipeError:
        silence_stdout()
        return READER_LEFT, session
    except OSError as problem:
        error, code = {"code": "not_found", "message": f"The daemon cannot be reached: {problem.strerror}."}, FAILED
    except KeyboardInterrupt:
        error, code = {"code": "cancelled", "message": "Cancelled."}, CANCELLED
    if arguments.output != "text":
        return json_problem(error, code), session
    return complain(explain(error), code), session


def _client(arguments: Arguments) -> type[ThinClient]:
    if not arguments.elsewhere:
        return ThinClient
    from openagent.client.thin_elsewhere import ThinClientElsewhere

    return ThinClientElsewhere


_QUEUE = ("message.queued", "queue.changed", "turn.started")


class Run:
    def __init__(self, arguments: Arguments, draw: Draw | None = None) -> None:
        self._arguments = arguments
        self._may_ask = sys.stdin.isatty() and sys.stderr.isatty()
        self._streams = arguments.output == "text" and sys.stdout.isatty()
        self._client = _client(arguments)("run", interactive=self._may_ask)
        self._client.told_silent = self._tell_silent
        self._heard_at = self._due_since = 0.0
        """When something came last; since when an answer is due, 0: none is."""
        self._told_silent = False
        self._session = self._sent = self._queued = ""
        self._turn = 0
        """The turn that was running when its retry was wanted: it began with another op."""
        self._seq = self._heard = 0
        """The newest event seen: a line that is lost is taken up again from there."""
        self._streamed = ""
        self._draw = draw if self._streams and not arguments.plain and use_colour(sys.stdout) else None
        self._answer: Written = Prose(prose_width())
        self._needs_approval = self._over = self._noted = False
        self._unanswered: Event = {"tool": "", "summary": "do that"}
        self._refused: list[Event] = []
        self._own_answers: set[str] = set()
        self._problem = ""
        self._living = False
        """The last line tells how things are now, and no longer when something else is told."""
        self._countdown: tuple[Told, float, bool] | None = None
        """What that line says, until when, and whether it tells of a failure."""
        self._started: dict[str, str] = {}
        self._shown = {
            "text.delta": self._show_text,
            "message.added": self._message_ended,
            "tool.started": self._tool_started,
            "tool.finished": self._tool_finished,
            "permission.requested": self._ask,
            "permission.resolved": self._answered,
            "question.asked": self._question,
            "question.answered": self._answered,
            "asks.lapsed": self._lapsed,
            "plan.updated": self._plan,
        }

    def close(self) -> None:
        self._client.close()

    def open(self) -> str:
        """Everything that starts the turn leaves in one write; no reply has to be waited for."""
        arguments, client = self._arguments, self._client
        self._session = arguments.session or (self._newest("id") if arguments.go_on else "")
        if not self._session:
            cwd = arguments.cwd or self._folder_elsewhere()
            self._session = new_session_id()
            more = {"template": arguments.template} if arguments.template else {}
            client.queue("session.create", session=self._session, cwd=cwd, settings=arguments.settings, **more)
        elif arguments.settings:
            client.queue("session.update", session=self._session, settings=arguments.settings)
        client.queue("session.attach", session=self._session, messages=0)
        if arguments.retry:
            self._sent = client.queue("turn.retry", session=self._session)
        elif arguments.ask_again:
            self._sent = client.queue("ask.again", session=self._session)
        else:
            parts = {"parts": arguments.images} if arguments.images else {}
            self._sent = client.queue("message.send", session=self._session, text=arguments.prompt, **parts)
        client.flush()
        self._heard_at = self._due_since = monotonic()
        return self._session

    def follow(self) -> int:
        try:
            self._load_drawing()
            return self._follow_on()
        except BrokenPipeError:
            return self._leave()
        except KeyboardInterrupt:
            op, fields = self._cancelling()
            self._client.queue(op, **fields)
            self._client.flush()
            return self._follow_on()

    def _load_drawing(self) -> None:
        """While the model thinks. Ctrl+C waits for the end of it: half of a module cannot be loaded a second time."""
        if self._draw is None:
            self._answer = self._new_answer()
            return
        before = _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGINT, *_ENDING])
        try:
            self._answer = self._new_answer()
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)

    def _cancelling(self) -> tuple[str, dict[str, str]]:
        if self._queued:  # the turn that runs is somebody else's
            return "queue.remove", {"session": self._session, "queued": self._queued}
        return "turn.cancel", {"session": self._session}

    def _leave(self) -> int:
        """Nobody reads the answer any more, so nobody pays for the rest of it."""
        silence_stdout()
        if not self._over:
            op, fields = self._cancelling()
            try:
                self._client.request(op, **fields)
            except (ConnectionEnded, Refused):
                return READER_LEFT  # the turn has ended by itself
        return READER_LEFT

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
            self._client.told_silent = self._tell_silent
            self._client.queue("session.attach", session=self._session, after=self._seq, messages=0)
            self._client.flush()
            self._heard_at = self._due_since = monotonic()
        except (OSError, Refused):
            raise problem from None
        self._streams = False

    def _folder_elsewhere(self) -> str:
        """That of the newest session, or of who is asking."""
        try:
            return self._newest("cwd")
        except Refused:
            from openagent.cli.team_login import own_folder

            if not (folder := own_folder()):
                raise
            return folder

    def _newest(self, what: str) -> str:
        """Of the newest session in the folder. Elsewhere, without a folder: of all."""
        cwd = self._arguments.cwd
        page = self._client.request("session.list", cwd=cwd, limit=1, roots=True, archived=False)
        if not page["sessions"]:
            problem = f"There is no session in {cwd} to continue." if cwd else "There is no session there yet. "
            hint = "" if cwd else "--cwd names a folder of that machine."
            raise Refused({"code": "usage", "message": problem.rstrip(), "hint": hint})
        return page["sessions"][0][what]

    def _follow(self) -> int:
        while True:
            body = self._client.receive_body(_TICK)
            if body is None:
                self._count_down_on()
                self._look_for_life()
                continue
            self._heard_life()
            event = parse(body)
            kind = event["type"]
            self._seq = max(self._seq, event.get("seq", 0))
            if kind == "reply":
                result: Event = event.get("result") or {}
                if event.get("op_id") == self._sent:
                    self._turn = result.get("turn", 0)
                self._attached(result)
                continue
            if kind == "failed" and event.get("op_id") in self._own_answers:
                self._not_answered(event["error"])
                continue
            if kind == "failed":
                raise Refused(event["error"])
            if kind == "connection.closing":
                raise ConnectionEnded(explain(event["error"]), for_good=event["error"]["code"] != "slow_client")
            self._heard += 1
            if self._arguments.output == "stream-json":
                sys.stdout.write((clean(body) if sys.stdout.isatty() else body) + "\n")
                sys.stdout.flush()
            if kind == "turn.completed" and (event.get("op_id") == self._sent or event["turn"] == self._turn):
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

    def _heard_life(self) -> None:
        self._heard_at, self._due_since = monotonic(), 0.0
        if self._told_silent:
            self._told_silent = False
            if self._countdown is None:
                self._forget_waiting()

    def _look_for_life(self) -> None:
        """A turn may be silent for long, a daemon may not."""
        now = monotonic()
        if self._due_since:
            self._client.silent_for(now - self._due_since)
        elif now - self._heard_at > _QUIET:
            self._client.queue("ping")
            self._client.flush()
            self._due_since = now

    def _tell_silent(self, seconds: float) -> None:
        """Once, where there is no terminal."""
        if seconds >= _SLOW and (use_colour(sys.stderr) or not self._told_silent):
            self._told_silent = True
            self._tell_waiting(f"waiting for the daemon to answer: {seconds:.0f} s, at most {UNANSWERED:.0f} s", True)

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
            self._note(f"! {problem}", True, within=True)

    def _tell(self, kind: str, event: Event) -> None:
        """Between the words of an answer, and where only its end is wanted, no more than what a person should know."""
        if kind == "retry.scheduled" and event.get("delay_s"):
            self._count_down(lambda left: _retrying(event, left), monotonic() + event["delay_s"], True)
            return
        if kind == "mcp.late" and event["state"] == "awaited":
            seconds = event.get("seconds", 0.0)
            self._count_down(lambda left: _awaiting(event, left), monotonic() + seconds, False)
            return
        for line in said_of(kind, event):
            if kind in ("retry.scheduled", "turn.waiting"):
                self._tell_waiting(line.whole, line.tone != "plain")
            elif line.tone != "plain":
                self._note(f"! {line.whole}", True, within=True)
            elif self._arguments.output == "text":
                self._note(f"· {line.whole}", False, within=True)

    def _tell_waiting(self, text: str, failed: bool) -> None:
        """On a terminal one line that changes, and is gone when it no longer holds."""
        living = use_colour(sys.stderr)
        line = f"{'!' if failed else '·'} {text}"
        self._note(one_line(line, columns()) if living else line, failed, within=True)
        self._living = living

    def _count_down(self, told: Told, until: float, failed: bool) -> None:
        """A terminal shows the seconds that are left, until something else is told. `until` as `monotonic()` has it."""
        self._tell_waiting(told(max(0.0, until - monotonic())), failed)
        if self._living:
            self._countdown = told, until, failed

    def _count_down_on(self) -> None:
        if self._countdown is not None:
            self._count_down(*self._countdown)

    def _forget_waiting(self) -> None:
        self._countdown = None
        if self._living:
            self._living = False
            sys.stderr.write("\x1b[1A\x1b[2K")
            sys.stderr.flush()

    def _show_text(self, event: Event) -> None:
        if self._streams:
            self._print(self._answer.feed(clean(event["text"])))

    def _message_ended(self, event: Event) -> None:
        if event["message"]["role"] == "assistant":
            self._end_line()

    def _print(self, text: str) -> None:
        if text:
            self._forget_waiting()
        if self._noted and self._draw and text:
            self._noted, text = False, f"\n{text}"
        self._streamed += text
        sys.stdout.write(text)
        sys.stdout.flush()

    def _end_line(self) -> None:
        self._print(self._answer.flush())
        if self._streamed and not self._streamed.endswith("\n"):
            self._print("\n")
        self._streamed = ""
        self._answer = self._new_answer()

    def _new_answer(self) -> Written:
        return (self._draw and self._draw(columns())) or Prose(prose_width())

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
            self._ask_here(ask)
        elif self._waits_for_others(event):
            if ask.get("diff"):
                self._note(ask["diff"].rstrip("\n"), False)
                if untold := left_out(ask.get("more_lines", 0), ask.get("more_files", 0)):
                    self._note(f"… {untold}", False)
            self._wait_for_others(f"approval in another client: {wanted}", ask.get("until"))
        else:
            self._refuse(ask, wanted)

    def _waits_for_others(self, event: Event) -> bool:
        """Where this command has no terminal. What somebody else's turn asks is theirs to answer."""
        if self._arguments.if_asked == "wait":
            return True
        return event.get("op_id") != self._sent and event.get("answerable", True)

    def _wait_for_others(self, what: str, until: float | None) -> None:
        if until is None:
            self._tell_waiting(f"waiting for {what}", False)
        else:
            self._count_down(
                lambda left: f"waiting for {what} (at most {time_left(left)})", monotonic() + until - time(), False
            )

    def _answered(self, event: Event) -> None:
        self._forget_waiting()

    def _lapsed(self, event: Event) -> None:
        if event["lapsed"]:
            self._note(
                f"! {clean(lapsed_told(_whats(event)))} `openagent agents ask-again {self._session}` asks again.", True
            )

    def _question(self, event: Event) -> None:
        question = event["question"]
        if self._may_ask:
            self._question_here(question)
        elif self._waits_for_others(event):
            self._wait_for_others(f"an answer in another client: {clean(question['text'])}", None)
        elif self._arguments.if_asked == "stop":
            self._unanswered = {"tool": "", "summary": "", "question": question["text"]}
            self._note(f"! needs an answer: {question['text']}", True)
            self._stop()
        else:
            answer = question.get("unattended") or _UNATTENDED
            self._note(f"? {question['text']}", False)
            self._note(f"! no one is attached, so this was answered: {answer}", True)
            self._answer_question(question, answer)

    def _question_here(self, question: Event) -> None:
        from openagent.cli.asking import question_here

        self._note("", False)
        answer = question_here(question["text"], question.get("choices", ()), sys.stderr)
        self._answer_question(question, answer or question.get("unattended") or _UNATTENDED)

    def _answer_question(self, question: Event, answer: str) -> None:
        fields = {"question": question["id"], "answer": answer}
        self._own_answers.add(self._client.queue("question.answer", session=self._session, **fields))
        self._client.flush()

    def _ask_here(self, ask: Event) -> None:
        from openagent.cli.asking import Asking, asked_here, ground_of_terminal

        self._note("", False)
        answer = asked_here(Asking(ask, sys.stderr, ground_of_terminal()), sys.stderr)
        op = self._client.queue("permission.answer", session=self._session, ask=ask["id"], **answer.fields)
        self._own_answers.add(op)
        self._client.flush()

    def _refuse(self, ask: Event, wanted: str) -> None:
        """Nobody will answer. The model is told why, and finds another way or says what is in its way."""
        self._unanswered = ask
        if self._arguments.if_asked == "stop":
            self._note(f"! needs approval: {wanted}", True)
            self._stop()
            return
        known = ("tool", "summary", "reason", "risk", "enough_mode")
        self._refused.append({name: ask[name] for name in known if name in ask})
        self._note(f"! refused, for nobody is here to approve it: {wanted}", True)
        why = "" if ask["tool"] in LEAVING else ask.get("reason", "")
        reason = f"{why} It needs a person's approval, and nobody is here to give it: {_NO_PERSON}"
        fields = {"decision": "deny", "reason": reason.strip()}
        self._own_answers.add(self._client.queue("permission.answer", session=self._session, ask=ask["id"], **fields))
        self._client.flush()

    def _not_answered(self, error: Event) -> None:
        if error["code"] not in ("not_found", "conflict"):  # somebody else was faster with an answer
            self._stop()  # this client may not answer

    def _stop(self) -> None:
        self._needs_approval = True
        self._client.queue("turn.cancel", session=self._session)
        self._client.flush()

    def _note(self, line: str, failed: bool, *, within: bool = False) -> None:
        """`within`: the answer goes on behind it. What is drawn stands in whole lines, and is not ended for that."""
        self._forget_waiting()
        if not (within and self._draw):
            self._end_line()
            self._noted = True
        sys.stderr.write(paint(clean(line), RED if failed else DIM, sys.stderr) + "\n")

    def _finish(self, event: Event) -> int:
        self._forget_waiting()
        self._over = True
        reason = event["reason"]
        text = event.get("text", "")
        if self._arguments.output == "json":
            fields = ("turn", "reason", "text", "steps", "usage", "cost_usd", "unpriced", "duration_ms", "by", "error")
            result = {"session": self._session, **{name: event[name] for name in fields if name in event}}
            if event.get("unpriced") and not event.get("cost_usd"):
                result["cost_usd"] = None
            if self._refused:
                result["refused"] = self._refused
            if self._needs_approval:
                result |= {"reason": "needs_approval", "error": self._needed()}
            sys.stdout.write(to_json(result) + "\n")
        elif self._streams:
            self._end_line()
        elif self._arguments.output == "text" and text:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
        return self._exit_code(reason, event.get("error"))

    def _needed(self) -> Event:
        """The answer that nobody could give, and what would do without it."""
        ask = self._unanswered
        if "question" in ask:
            return {
                "code": "needs_approval",
                "message": f"The turn was stopped, because the agent asked: {clean(ask['question'])}",
                "hint": f'Answer it: `openagent run -r {self._session} "…"`.',
            }
        wanted, mode = clean(call_to_come(ask["tool"], ask["summary"])), ask.get("enough_mode")
        again = f"openagent run -r {self._session}"
        if mode:
            hint = f'`{again} --mode {mode} "go on"` lets it, and so does a rule in policy.toml.'
        else:
            there = f"`openagent resume {self._session}` goes on where you can answer"
            hint = f"A rule in policy.toml lets it run unasked; {there}."
        message = f"The turn was stopped, for nobody here can allow it to {wanted}."
        return {"code": "needs_approval", "message": message, "hint": hint}

    def _exit_code(self, reason: str, error: Event | None) -> int:
        if self._needs_approval:
            return complain(explain(self._needed()), NEEDS_ANSWER)
        again = f" Retry: `openagent retry {self._session}`." if may_continue(reason) else ""
        if error is not None:
            code = LIMIT if reason in LIMITS else exit_codes.of_error(error.get("code", ""))
            return complain(explain(error) + again, DONE if reason == "done" else code)
        if reason == "done":
            return DONE
        told, following = turn_ended(reason)
        code = LIMIT if reason in LIMITS else CANCELLED if reason == "cancelled" else FAILED
        return complain(f"{told} {following}{again}", code)


def _awaiting(event: Event, left: float) -> str:
    return said_of("mcp.late", {**event, "seconds": float(round(left))})[0].whole


def _whats(event: Event) -> list[tuple[str, str]]:
    """Of each that nobody answered in time, the tool and what it was about."""
    permissions = [each["permission"] for each in event["lapsed"] if each.get("permission")]
    questions = [each["question"] for each in event["lapsed"] if each.get("question")]
    return [*((each["tool"], each["summary"]) for each in permissions), *(("", each["text"]) for each in questions)]


def _retrying(event: Event, left: float) -> str:
    return said_of("retry.scheduled", {**event, "delay_s": float(round(left))})[0].whole
