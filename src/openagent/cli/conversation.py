"""A session's events as they come, in a plain terminal, and what a person answers to them."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import to_builtins
from msgspec.structs import replace

from openagent.cli.asking import BECAUSE, DENY_SAYING_WHY, WHOLE, WHY, Answer, Asking
from openagent.cli.drawing import begun
from openagent.cli.terminal import CYAN, DIM, RED, YELLOW, columns, paint, use_colour
from openagent.cli.transcript import Transcript, within
from openagent.client import Client
from openagent.client.text import call_line, clean, one_line, plan_lines
from openagent.protocol import events as e
from openagent.protocol.conversation import AskAgain, MessageSend, PermissionAnswer, QuestionAnswer, TurnRetry
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.messages import Message, TextPart, ThinkingPart
from openagent.protocol.sessions import GrantScope, LapsedAsk, LiveAnswer, PermissionAsk, PlanItem, Question, Snapshot
from openagent.protocol.telling import said
from openagent.protocol.words import answer_told, lapsed_told, subject_of

if TYPE_CHECKING:
    from openagent.cli.run import Draw, Written

_STYLES = {"plain": DIM, "warning": YELLOW, "error": RED}


class Conversation:
    def __init__(self, session: str, draw: "Draw | None" = None) -> None:
        """`draw` makes something of the Markdown in answers."""
        self._session = session
        self._transcript = Transcript(self._print, draw)
        self._draw = draw
        self._answer: Written | None = None
        """The answer that is being drawn; what of it waits is printed before anything else is."""
        self._asks: dict[str, Asking] = {}
        self._denying = ""
        """What is denied with the line that is being typed."""
        self._by_key: Callable[[bool], None] = lambda _: None
        self.ground: str | None = None
        """The terminal's: dark or light, where it is known."""
        self._questions: dict[str, Question] = {}
        self._subjects: dict[str, str] = {}
        """What each call that has not finished is about."""
        self._own_ops: set[str] = set()
        """Messages typed here: the terminal has shown them already."""
        self._told: ErrorInfo | None = None
        """The newest error: when it is what ends the turn, once is enough."""
        self._living = False
        """The last line tells how things are now, and is gone when something else is told."""
        self._printing = ""
        """The call whose output was printed last."""
        self._live_number = 0
        self._live_text = self._live_thinking = ""
        self._thought_shown = self._in_line = False
        self._shown: dict[type[e.Event], Callable[[Any], None]] = {
            e.TextDelta: self._text,
            e.ThinkingDelta: self._thinking,
            e.LiveState: lambda event: self._live(event.live),
            e.MessageAdded: lambda event: self._message(event.message, event.op_id),
            e.ToolStarted: self._tool_started,
            e.ToolOutput: self._tool_output,
            e.ToolFinished: self._tool_finished,
            e.PermissionRequested: lambda event: self._ask(event.ask),
            e.PermissionResolved: self._resolved,
            e.QuestionAsked: lambda event: self._question(event.question),
            e.QuestionAnswered: self._answered,
            e.AsksLapsed: lambda event: self._lapsed(event.lapsed),
            e.TurnCompleted: self._turn_completed,
            e.PlanUpdated: lambda event: self._plan(event.plan),
        }

    # What happens

    def begin(self, snapshot: Snapshot) -> None:
        info = snapshot.info
        self.note(f"{info.name or 'Unnamed'}  ·  {info.id}  ·  {info.settings.mode} mode  ·  {info.cwd}", DIM)
        if snapshot.has_more:
            self.note(f"(older messages: `openagent sessions show {info.id}`)", DIM)
        self._transcript.learn(snapshot.turns)
        for message in snapshot.messages:
            self._transcript.add(message, taken_back=within(message.number, snapshot.rewound))
            self._remember_calls(message)
        self._transcript.end_turn()
        if snapshot.plan:
            self._plan(snapshot.plan)
        if snapshot.held:
            self.note(_held(len(snapshot.queued)), YELLOW)
        elif snapshot.queued:
            self.note(f"Queued: {len(snapshot.queued)}, to be said after this turn.", DIM)
        if snapshot.live:
            self._live(snapshot.live)
        for call in snapshot.running:
            for event in e.events_of(call):
                self.show(event)
        for ask in snapshot.permissions:
            self._ask(ask)
        for question in snapshot.questions:
            self._question(question)
        self._lapsed(snapshot.lapsed)

    def show(self, event: e.AnyEvent) -> None:
        if show := self._shown.get(type(event)):
            show(event)
            return
        self._told = event.error if isinstance(event, e.ErrorRaised) else self._told
        for each in said(event.told, event):
            living = isinstance(event, e.RetryScheduled) and use_colour(sys.stdout)
            self.note(one_line(each.whole, columns()) if living else each.whole, _STYLES[each.tone])
            self._living = living
        if isinstance(event, e.CheckpointRestored) and event.undo:
            self.note(f"To bring it again: openagent redo {event.session} {event.undo}", DIM)

    def note(self, text: str, style: str) -> None:
        self._print(paint(clean(text), style))

    def end_line(self) -> None:
        if self._answer is not None:
            answer, self._answer = self._answer, None
            self._stream(answer.flush(), drawn=True)
        if self._in_line:
            sys.stdout.write("\n")
            self._in_line = False

    def _forget_waiting(self) -> None:
        if self._living:
            self._living = False
            sys.stdout.write("\x1b[1A\x1b[2K")

    def _print(self, text: str) -> None:
        self._forget_waiting()
        self.end_line()
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def _answering(self, number: int) -> None:
        if number != self._live_number:
            self._live_number, self._live_text, self._live_thinking = number, "", ""
            self._thought_shown = False

    def _text(self, event: e.TextDelta) -> None:
        self._answering(event.message_number)
        self._show_thought()
        if not self._live_text:
            self._print("")
        self._live_text += event.text
        self._say(event.text)

    def _say(self, text: str) -> None:
        if self._answer is None and (answer := begun(self._draw)) is not None:
            self._answer = answer
        self._stream(text if self._answer is None else self._answer.feed(clean(text)), drawn=self._answer is not None)

    def _stream(self, text: str, *, drawn: bool = False) -> None:
        shown = text if drawn else clean(text)
        self._forget_waiting()
        sys.stdout.write(shown)
        sys.stdout.flush()
        if shown:
            self._in_line = not shown.endswith("\n")

    def _thinking(self, event: e.ThinkingDelta) -> None:
        self._answering(event.message_number)
        self._live_thinking += event.text

    def _show_thought(self) -> None:
        if self._live_thinking and not self._thought_shown:
            self._thought_shown = True
            self.note(f"… {one_line(self._live_thinking)}", DIM)

    def _live(self, live: LiveAnswer) -> None:
        """The whole answer so far, of which the beginning may have been shown before the connection was lost."""
        self._answering(live.message_number)
        self._live_thinking = "".join(part.text for part in live.parts if isinstance(part, ThinkingPart))
        self._catch_up("".join(part.text for part in live.parts if isinstance(part, TextPart)))

    def _catch_up(self, text: str) -> None:
        self._show_thought()
        if len(text) > len(self._live_text):
            if not self._live_text:
                self._print("")
            self._say(text[len(self._live_text) :])
            self._live_text = text

    def _message(self, message: Message, op_id: str) -> None:
        if message.role == "user":
            if op_id not in self._own_ops:
                self._transcript.add(message)
        elif message.role == "assistant":
            self._live(LiveAnswer(message.number, message.parts))
            self.end_line()
            self._remember_calls(message)

    def _remember_calls(self, message: Message) -> None:
        for call in message.tool_calls:
            self._subjects[call.id] = subject_of(call.name, call.arguments)

    def _tool_started(self, event: e.ToolStarted) -> None:
        self._subjects[event.call_id] = event.summary

    def _tool_output(self, event: e.ToolOutput) -> None:
        if event.call_id != self._printing:  # calls that run side by side take turns
            self._printing = event.call_id
            self.note(f"$ {one_line(self._subjects.get(event.call_id, ''))}", DIM)
        self._stream(event.text)

    def _tool_finished(self, event: e.ToolFinished) -> None:
        self._printing = ""
        line = call_line(
            event.tool,
            self._subjects.pop(event.call_id, "") or event.subject,
            ended=event.ended,
            reason=event.reason,
            summary=event.summary,
            duration_ms=event.duration_ms,
        )
        self.note(line, DIM if event.ended == "done" else RED)

    def _plan(self, plan: Sequence[PlanItem]) -> None:
        self.note("\n".join(plan_lines((item.text, item.state) for item in plan)), CYAN)

    def _ask(self, ask: PermissionAsk) -> None:
        self._asks[ask.id] = asking = Asking(to_builtins(ask), sys.stdout, self.ground)
        self._by_key(not self._denying)
        self._print(asking.shown())

    def _resolved(self, event: e.PermissionResolved) -> None:
        self._asks.pop(event.ask_id, None)
        if self._denying == event.ask_id:
            self._denying = ""
        self._by_key(bool(self._asks) and not self._denying)
        self.note(f"  {answer_told(event.decision, event.by, event.scope, event.covers)}", DIM)

    def _lapsed(self, lapsed: Sequence[LapsedAsk]) -> None:
        if lapsed:
            self.note(f"! {lapsed_told(each.what for each in lapsed)} /ask-again has it asked again.", YELLOW)

    def _question(self, question: Question) -> None:
        self._questions[question.id] = question
        choices = "".join(f"\n  {number}. {choice}" for number, choice in enumerate(question.choices, 1))
        self.note(f"? {question.text}{choices}", CYAN)

    def _answered(self, event: e.QuestionAnswered) -> None:
        self._questions.pop(event.question_id, None)
        self.note(f"  answered by {event.by or 'nobody'}: {event.answer}", DIM)

    def _turn_completed(self, event: e.TurnCompleted) -> None:
        self._asks.clear()
        self._denying = ""
        self._by_key(False)
        self._questions.clear()
        self._subjects.clear()
        told, self._told = self._told, None
        end = event.ended
        self._transcript.turn_ended(replace(end, error=None) if end.error == told else end)

    # What a person types

    def use_keys(self, by_key: Callable[[bool], None]) -> None:
        """`by_key` is told whether a single key is an answer now, or a line is wanted."""
        self._by_key = by_key
        by_key(bool(self._asks))

    async def take(self, line: str, client: Client) -> None:
        if self._denying:
            ask, self._denying = self._denying, ""
            await self._answer_ask(ask, Answer("deny", reason=line.strip()), client)
        elif not line.strip():
            return
        elif line.strip() == "/retry":
            await client.request(TurnRetry(id=client.next_id(), session=self._session))
        elif line.strip() == "/ask-again":
            await client.request(AskAgain(id=client.next_id(), session=self._session))
        elif self._asks:
            await self._take_key(line, client)
        elif self._questions:
            await self._answer_question(next(iter(self._questions.values())), line.strip(), client)
        else:
            op = MessageSend(id=client.next_id(), session=self._session, text=line)
            self._own_ops.add(op.id)
            await client.request(op)

    async def _take_key(self, pressed: str, client: Client) -> None:
        """Of what waits longest."""
        name, asking = next(iter(self._asks.items()))
        if not (key := asking.key_in(pressed)):
            return
        if (answer := asking.answer(key)) is not None:
            await self._answer_ask(name, answer, client)
        elif key == DENY_SAYING_WHY:
            self._denying = name
            self._by_key(False)
            self.end_line()
            self._stream(BECAUSE)
        elif key == WHOLE:
            self._print(asking.whole())
        elif key == WHY:
            self._print(asking.why())
        else:
            self._print(asking.hint())

    async def _answer_ask(self, ask: str, answer: Answer, client: Client) -> None:
        op = PermissionAnswer(id=client.next_id(), session=self._session, ask=ask, decision="deny")
        if answer.decision == "allow":
            op = replace(op, decision="allow", scope=cast("GrantScope", answer.scope), choice=answer.choice)
        await client.request(replace(op, reason=answer.reason))

    async def _answer_question(self, question: Question, said: str, client: Client) -> None:
        if said.isdigit() and 0 < int(said) <= len(question.choices):
            said = question.choices[int(said) - 1]
        op = QuestionAnswer(id=client.next_id(), session=self._session, question=question.id, answer=said)
        await client.request(op)


def _held(count: int) -> str:
    return f"Held back: {count} queued. They follow the next message, or `openagent sessions queue SESSION --resume`."
