"""The turn: from a user's message to the agent's final answer.

`begin` stores the message, `resume` takes up a turn that was cut short, `run` is the loop, `drive` brings it to an end
whatever happens. docs/architecture.md says the same in words, and has a picture that is drawn from here.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from openagent.core.audit import audit_closed, entry
from openagent.core.calls import run_calls
from openagent.core.collect import ThresholdWatch, collect, collect_when_full, must_fit
from openagent.core.loop_guard import LoopGuard
from openagent.core.model_call import ModelCall
from openagent.core.open_calls import finished
from openagent.core.recorder import InfoChanges
from openagent.core.runtime import ResolvedModel
from openagent.core.view import DEFAULT_WINDOW
from openagent.plugins.ledger import Activity
from openagent.plugins.provider import Answer, ContextTooLong
from openagent.plugins.store import RawAnswer, Rows, UsageRecord
from openagent.protocol.conversation import Sent
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import (
    ErrorRaised,
    MessageAdded,
    StatusChanged,
    TurnCompleted,
    TurnStarted,
    UsageUpdated,
)
from openagent.protocol.messages import Message, NotePart, Part, StopReason, ToolCallPart, UserPart
from openagent.protocol.sessions import EndedTurn, TurnEnd, status_after
from openagent.protocol.usage import SessionUsage, Usage
from openagent.protocol.words import call_at_work, subject_of

if TYPE_CHECKING:
    from openagent.core.recovery import Waiting
    from openagent.core.session import Session

NAME_LENGTH = 60
_log = logging.getLogger(__name__)
_ENDS: dict[StopReason, TurnEnd] = {"max_tokens": "max_tokens", "refusal": "refused"}
_CUT_SHORT: dict[TurnEnd, StopReason] = {
    "cancelled": "cancelled",
    "time_limit": "cancelled",
    "interrupted": "interrupted",
}
_LOOKED_BACK = 50
"""Messages in which a turn that continues looks for what was said in it."""
_BROKEN_OFF = NotePart("retry", "Your answer above was cut short. Continue it where it stopped, without repeating it.")
_SILENT = ErrorInfo(
    "provider_error",
    "Done, without a word from the model.",
    hint="Its calls show what it did; ask it for a summary if you want one.",
)


class Turn:
    def __init__(
        self, session: "Session", number: int, op_id: str, env: Mapping[str, str], left: "Waiting | None" = None
    ) -> None:
        """`left`: where it stood when the daemon stopped."""
        self.session = session
        self.number = number
        self.op_id = op_id
        self.env = env
        self.task: asyncio.Task[None] | None = None
        self.guard = LoopGuard()
        self.text = ""
        """What was asked."""
        self.notes: list[NotePart] = []
        """What the model is told after the running calls."""
        self._earlier = EndedTurn(number, "done")
        """What it came to before it was cut short and continued."""
        self._admitted = False
        self._model = ""
        """What a gate chose for this turn, in the place of the session's model."""
        self._chosen = session.info.settings.model
        self._steps = 0
        self._model_call: ModelCall | None = None
        self._usage = Usage()
        self._cost_usd = 0.0
        self._unpriced = 0
        self._final_text = ""
        self._silent = False
        self._started = time.monotonic()
        self._cancelled: TurnEnd | None = None
        self._stopped_by = ""
        self._left = left
        self.is_taken_up = left is not None
        self._leaves = False
        for message in left.messages if left is not None else ():
            self._count_in(message)

    async def begin(self, parts: Sequence[UserPart], unqueued: Sequence[str]) -> Sent:
        """The message is stored, and with it that a turn answers it."""
        session = self.session
        session.permits.begin_turn()
        notes = session.gate.opening() if self.number == 1 else ()
        told = [session.user_message(notes, self.number)] if notes else []
        message = session.user_message(parts, self.number, after=len(told))
        self.text = message.text
        changes: InfoChanges = {"turn_count": self.number, "archived": False, **session.inbox.facts}
        if not session.info.name and message.text:
            changes["name"] = " ".join(message.text.split())[:NAME_LENGTH]
        await session.record(
            TurnStarted(turn=self.number, model=session.answering(self.env)),
            *session.listed_anew(changes, self.env),
            *(MessageAdded(message=each) for each in (*told, message)),
            StatusChanged(status="thinking"),
            *(session.asks.let_go() if self.op_id else ()),
            *(session.inbox.news() if unqueued or session.info.held else ()),
            *(ErrorRaised(error=notice) for notice in session.permits.new_notices()),
            rows=Rows(messages=[*told, message], unqueued=unqueued),
            changes=changes,
        )
        return Sent(session=session.id, turn=self.number, message_number=message.number)

    async def resume(self, earlier: EndedTurn, then: "Turn | None", *, told: bool) -> Sent:
        """It continues where it was cut short: what was said and done in it stands, and is not said or done again.

        `then` is the turn as it was, where it is still known; `told`: people are to hear what waits behind it."""
        session = self.session
        session.permits.begin_turn()
        newest = await session.recorder.outbox.messages(limit=_LOOKED_BACK)
        said = [message for message in newest if message.turn == self.number]
        asked = next((message for message in said if _is_a_persons(message)), None)
        self.text = asked.text if asked else ""
        self._admitted = asked is None or said[-1] is not asked or (then is not None and then._admitted)
        self._earlier = earlier
        if then is not None:
            self._model, self._chosen = then._model, then._chosen
        broken_off = bool(said) and said[-1].role == "assistant" and not said[-1].tool_calls
        notes = [session.user_message([_BROKEN_OFF], self.number)] if broken_off else []
        changes: InfoChanges = {"archived": False, **session.inbox.facts}
        await session.record(
            TurnStarted(turn=self.number, model=session.answering(self.env)),
            *session.listed_anew(changes, self.env),
            *(MessageAdded(message=each) for each in notes),
            StatusChanged(status="thinking"),
            *(session.inbox.news() if told else ()),
            *(ErrorRaised(error=notice) for notice in session.permits.new_notices()),
            rows=Rows(messages=notes, audit=[entry("message", "retried", message=self.op_id, turn=self.number)]),
            changes=changes,
        )
        return Sent(session=session.id, turn=self.number)

    async def drive(self) -> None:
        """Run to the end, whatever the end is, and leave a history that every provider accepts."""
        error: ErrorInfo | None = None
        try:
            if self._cancelled:
                raise asyncio.CancelledError
            self.session.recorder.outbox.check()
            await self.session.shell.obey_mode()  # the rules may be others by now
            async with asyncio.timeout(self.session.info.settings.turn_timeout):
                reason = await self.run()
                error = _SILENT if self._silent and reason == "done" else None
        except asyncio.CancelledError:
            if self._leaves:
                return
            reason = self._cancelled or "cancelled"
        except TimeoutError:
            reason = "time_limit"
        except OpenAgentError as problem:
            error = problem.info
            reason = "budget" if error.code == "budget_exceeded" else "error"
        except Exception as problem:  # the supervisor: a defect ends this turn and nothing else
            _log.exception("turn ended on an unexpected error", extra={"session": self.session.id})
            error = ErrorInfo("internal", f"The turn ended on a defect ({type(problem).__name__}: {problem}).")
            reason = "error"
        try:
            await self._complete(reason, error)
        except Exception as problem:  # of what was said last, something cannot be stored: the end is told without it
            _log.exception("end of turn could not be stored completely", extra={"session": self.session.id})
            await self._complete("error", error or ErrorInfo("internal", f"The end could not be stored ({problem})."))

    async def run(self) -> TurnEnd:
        """Step after step, until an answer has no calls or a limit says stop."""
        if self._left is None:
            await self._admit()
        elif await self._take_up(self._left.calls):
            return "loop"
        sent_on = False
        while self._steps < self.session.info.settings.max_steps:
            self._steps += 1
            answer = await self._answer()
            if answer.tool_calls:
                await run_calls(self, answer.tool_calls)
                if self.guard.end_step():
                    return "loop"
                continue
            self._final_text = answer.text
            self._silent = not answer.text.strip() and answer.stop_reason == "end"
            if not (sent_on := await self._must_go_on(answer, again=sent_on)):
                return _ENDS.get(answer.stop_reason or "end", "done")
        return "step_limit"

    async def _admit(self) -> None:
        """What the turn has to work with is found, and the message is one that may be answered."""
        session = self.session
        await session.tools.look()
        await session.runtime.learn_model(
            self._model_name(), env=session.env, cwd=session.workspace, whose=session.keys_of
        )
        if self._admitted:
            return
        await must_fit(session, self._resolve(), session.info.message_count)
        admission = await session.gate.admit(self.text)
        if admission.blocked:
            await session.undo.take_back(session.info.message_count)
            raise OpenAgentError("permission_denied", f"The message was held back: {admission.blocked}")
        self._admitted = True
        self._model = admission.model
        if admission.notes:
            await session.tell_model(admission.notes, self.number)

    async def _take_up(self, calls: Sequence[ToolCallPart]) -> bool:
        """What it waited for when the daemon stopped is asked again, and its step comes to its end."""
        session = self.session
        session.permits.begin_turn()
        await session.tools.look()
        await run_calls(self, calls)
        await session.runtime.learn_model(
            self._model_name(), env=session.env, cwd=session.workspace, whose=session.keys_of
        )
        return self.guard.end_step()

    def _count_in(self, message: Message) -> None:
        """What it had used before the daemon stopped."""
        if message.role != "assistant":
            return
        self._steps += 1
        self._usage += message.usage or Usage()
        self._cost_usd += message.cost_usd or 0.0
        self._unpriced += message.cost_usd is None

    async def _answer(self) -> Message:
        """The model's next answer, from a context that fits."""
        await self.session.tools.look_again()
        resolved = self._resolve()
        await collect_when_full(self.session, resolved)
        try:
            return await self._ask(resolved)
        except ContextTooLong:
            if not await collect(self.session, resolved, "overflow"):
                raise
            return await self._ask(resolved)

    async def _ask(self, resolved: ResolvedModel) -> Message:
        """The view is shown to the model, and what it answers becomes a message."""
        session = self.session
        view = await session.view.build(resolved)
        window = resolved.context_window or DEFAULT_WINDOW
        request = view.request(session.id, resolved, session.info.settings, session.tools.schemas(window))
        threshold = session.runtime.context(session.workspace).threshold
        watch = ThresholdWatch(view.tokens(), window, threshold, session.post)
        model_call = self._model_call = ModelCall(session, self._activity, watch=watch)
        began = time.monotonic()
        answer = await model_call.ask(resolved, request)
        paid = model_call.spent[-1]
        message = Message(
            number=session.recorder.next_number,
            role="assistant",
            parts=answer.parts,
            turn=self.number,
            created_at=time.time(),
            model=paid.model,
            usage=answer.usage,
            cost_usd=paid.cost_usd,
            latency_ms=round((time.monotonic() - began) * 1000, 3),
            stop_reason=answer.stop_reason,
        )
        cache_miss = session.runtime.explain_cache(session.id, paid.model, request, answer.usage)
        await self._keep(message, answer, cache_miss, resolved.context_window)
        return message

    async def _keep(self, message: Message, answer: Answer, cache_miss: str, window: int) -> None:
        """The answer is stored before anything acts on it."""
        used = answer.usage
        records, usage = self._account(message.number, used.input_tokens + used.output_tokens, window)
        async with self.session.runtime.pace.place():
            await self.session.record(
                MessageAdded(message=message),
                UsageUpdated(usage=usage, last=used, last_cost_usd=message.cost_usd, cache_miss=cache_miss),
                *(
                    [StatusChanged(status="executing_tool", detail=_doing(calls))]
                    if (calls := message.tool_calls)
                    else ()
                ),
                rows=Rows(
                    messages=[message],
                    raw=RawAnswer(message.number, answer.raw_request, answer.raw_response),
                    usage=records,
                ),
                changes={"usage": usage},
            )
        self.session.recorder.outbox.check()

    async def _must_go_on(self, answer: Message, *, again: bool) -> bool:
        """A gate may have the turn go on after its last answer."""
        if answer.stop_reason != "end":
            return False
        reason = await self.session.gate.before_end(answer.text, again=again)
        if reason:
            await self.session.tell_model([NotePart("hook:Stop", reason)], self.number)
        return bool(reason)

    async def _complete(self, reason: TurnEnd, error: ErrorInfo | None) -> None:
        """What is open is closed, what was used is settled, and people are told how it ended."""
        session, recorder = self.session, self.session.recorder
        messages: list[Message] = []

        def add(role: str, part: list[Part], stop_reason: StopReason | None = None) -> None:
            messages.append(
                Message(
                    number=recorder.next_number + len(messages),
                    role="assistant" if role == "assistant" else "tool",
                    parts=part,
                    turn=self.number,
                    created_at=time.time(),
                    stop_reason=stop_reason,
                )
            )

        if recorder.draft is not None and (partial := recorder.draft.parts):
            add("assistant", partial, _CUT_SHORT.get(reason, "error"))
            self._final_text = messages[-1].text
        closed = session.open_calls.stopped(reason, self._stopped_by)
        for _, result in closed:
            add("tool", [result])
        recorder.draft = None
        totals, earlier = session.info.usage, self._earlier
        records, usage = self._account(session.info.message_count, totals.context_tokens, totals.context_window)
        await session.record(
            *(MessageAdded(message=message) for message in messages),
            *(finished(call, result) for call, result in closed),
            *([ErrorRaised(error=error)] if error and reason != "done" and not recorder.has_told(error) else []),
            # What was cut off costs too.
            *(
                [UsageUpdated(usage=usage, last=records[-1].usage, last_cost_usd=records[-1].cost_usd)]
                if records
                else []
            ),
            TurnCompleted(
                turn=self.number,
                reason=reason,
                text=self._final_text,
                steps=earlier.steps + self._steps,
                usage=earlier.usage + self._usage,
                cost_usd=earlier.cost_usd + self._cost_usd,
                unpriced=self._unpriced,
                duration_ms=round(earlier.duration_ms + (time.monotonic() - self._started) * 1000, 3),
                by=self._stopped_by,
                error=error,
            ),
            StatusChanged(status=session.asks.at_rest(status_after(reason))),
            rows=Rows(messages=messages, usage=records, audit=audit_closed(session.tools.by_name, closed)),
            changes={"usage": usage},
        )

    def cancel(self, by: str = "", reason: TurnEnd = "cancelled") -> None:
        """`by`: the client of whoever stops it."""
        if not self._cancelled:
            self._cancelled, self._stopped_by = reason, by
            if self.task is not None:
                self.task.cancel()

    def leave(self) -> None:
        """The daemon stops while it waits for a person: the next one takes it up where it is in the store."""
        self._leaves = True
        if self.task is not None:
            self.task.cancel()

    def _resolve(self) -> ResolvedModel:
        session = self.session
        return session.runtime.resolve_model(
            self._model_name(), env=session.env, cwd=session.workspace, whose=session.keys_of
        )

    def _model_name(self) -> str:
        chosen = self.session.info.settings.model
        # What a person chooses in mid-turn counts from the next step.
        return self._model if self._model and chosen == self._chosen else chosen

    @property
    def _activity(self) -> Activity:
        return "subagent" if self.session.info.parent else "conversation" if self._steps == 1 else "tool_use"

    def _account(self, message_number: int, context_tokens: int, window: int) -> tuple[list[UsageRecord], SessionUsage]:
        """Enter what the last request has cost into this turn's sums and the session's."""
        model_call, self._model_call = self._model_call, None
        spent = model_call.spent if model_call is not None else []
        totals = self.session.info.usage
        tokens, cost_usd = totals.tokens, totals.cost_usd
        for paid in spent:
            tokens += paid.usage
            cost_usd += paid.cost_usd or 0.0
            self._usage += paid.usage
            self._cost_usd += paid.cost_usd or 0.0
            self._unpriced += paid.cost_usd is None
        owner, now = self.session.info.owner, time.time()
        records = [
            UsageRecord(message_number, paid.model, paid.usage, paid.cost_usd, self._activity, now, owner=owner)
            for paid in spent
        ]
        unpriced = totals.unpriced + sum(paid.cost_usd is None for paid in spent)
        usage = SessionUsage(tokens, cost_usd, totals.requests + len(spent), context_tokens, window, unpriced)
        return records, usage


def _is_a_persons(message: Message) -> bool:
    return message.role == "user" and any(not isinstance(part, NotePart) for part in message.parts)


def _doing(calls: Sequence[ToolCallPart]) -> str:
    """The first of them, and how many more there are."""
    first = call_at_work(calls[0].name, subject_of(calls[0].name, calls[0].arguments))
    return first if len(calls) == 1 else f"{first} and {len(calls) - 1} more"
