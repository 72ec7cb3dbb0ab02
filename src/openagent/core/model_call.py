"""One request to a model: money set aside before, chunks shown as they come, the cost settled after."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from openagent.core.runtime import ResolvedModel
from openagent.core.streamed_answer import Draft
from openagent.plugins.ledger import Activity, Reservation
from openagent.plugins.provider import (
    Answer,
    FailoverNotice,
    ModelRequest,
    Notice,
    ProviderError,
    RetryNotice,
    RoutedNotice,
    TextChunk,
    ThinkingChunk,
)
from openagent.plugins.store import DraftPiece, Rows, UsageRecord
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import (
    Event,
    ModelRouted,
    ProviderFailedOver,
    RetryScheduled,
    TextDelta,
    ThinkingDelta,
    UsageUpdated,
)
from openagent.protocol.messages import Message, Part, TextPart, ThinkingPart
from openagent.protocol.sessions import Retrying
from openagent.protocol.usage import Usage

if TYPE_CHECKING:
    from openagent.core.session import Session


class Spending(Struct, frozen=True):
    model: str
    usage: Usage
    cost_usd: float | None


class ModelCall:
    def __init__(self, session: "Session", activity: Activity, *, watch: Callable[[str], None] | None = None) -> None:
        """`watch` hears what is streamed, and so do people; without it nobody does."""
        self._session = session
        self._watch = watch
        self._activity: Activity = activity
        self._reservation: Reservation | None = None
        self._model = ""
        self._prompt: Usage | None = None
        """What was sent, as estimated when it was first needed."""
        self._now: asyncio.Event | None = None
        """Ends the pause before the next attempt."""
        self.spent: list[Spending] = []
        """What was paid for: the answer, and attempts that broke off after they had begun to answer."""

    async def ask(self, resolved: ResolvedModel, request: ModelRequest) -> Answer:
        """One request. Cut off at any moment, what it has cost is settled, and what was streamed is kept."""
        request = await self._reserve(resolved.name, request)
        draft = Draft(self._session.recorder.next_number)
        if self._watch is not None:
            draft = self._session.recorder.draft = Draft(draft.message_number, partial(self._keep, request))
        draft.begin()
        try:
            return await self._stream(resolved, request, draft)
        except BaseException as problem:
            billed = problem.usage if isinstance(problem, ProviderError) else None
            await self._settle_cut_off(request, draft.parts, isinstance(problem, asyncio.CancelledError), billed)
            raise
        finally:
            self._waits_no_more()
            draft.close()

    async def _stream(self, resolved: ResolvedModel, request: ModelRequest, draft: Draft) -> Answer:
        """Each piece becomes an event at once; with the whole answer its cost is settled."""
        async with aclosing(resolved.provider.stream(request)) as stream:
            async for item in stream:
                self._waits_no_more()
                if isinstance(item, TextChunk):
                    draft.add(TextPart, item.text)
                    self._show(TextDelta(message_number=draft.message_number, text=item.text), item.text)
                elif isinstance(item, ThinkingChunk):
                    draft.add(ThinkingPart, item.text)
                    self._show(ThinkingDelta(message_number=draft.message_number, text=item.text), item.text)
                elif isinstance(item, Answer):
                    return await self._settle(request, item, scripted=resolved.provider.scripted)
                elif isinstance(item, Notice):
                    await self._go_on_elsewhere(item, request, draft)
        raise OpenAgentError("provider_error", f"{self._model} ended its stream without an answer.")

    def _waits(self, notice: RetryNotice) -> None:
        if notice.delay_s <= 0:
            return
        self._now = notice.now
        self._session.retries[notice.now] = Retrying(
            provider=notice.provider,
            attempt=notice.attempt + 1,
            max_attempts=notice.max_attempts,
            delay_s=notice.delay_s,
            error=notice.error,
            at=time.time(),
        )

    def _waits_no_more(self) -> None:
        if self._now is not None:
            self._session.retries.pop(self._now, None)
            self._now = None

    def _show(self, event: Event, text: str) -> None:
        if self._watch is not None:
            self._session.show(event)
            self._watch(text)

    async def _keep(self, request: ModelRequest, parts: Sequence[Part], anew: bool) -> None:
        """What was shown since the last time, and what it comes to if this is all."""
        recorder = self._session.recorder
        draft = recorder.draft
        if draft is None or draft.closed:  # from here on nothing waits, so what comes later is stored later
            return
        owed = [*self.spent, *([self._so_far(request, draft.parts, self._reservation)] if self._reservation else [])]
        number, now = draft.message_number, time.time()
        owner = self._session.info.owner
        usage = [
            UsageRecord(number, paid.model, paid.usage, paid.cost_usd, self._activity, now, owner=owner)
            for paid in owed
        ]
        await recorder.keep_draft(DraftPiece(number, list(parts), usage), anew=anew)

    def _so_far(self, request: ModelRequest, parts: Sequence[Part], reservation: Reservation) -> Spending:
        ledger = self._session.runtime.ledger
        if self._prompt is None:
            self._prompt = ledger.estimate(request, ())
        answered = ledger.estimate(msgspec.structs.replace(request, system="", tools=[], messages=[]), parts)
        usage = msgspec.structs.replace(
            self._prompt, output_tokens=answered.output_tokens, reasoning_tokens=answered.reasoning_tokens
        )
        return Spending(self._model, usage, reservation.price(usage).cost_usd)

    async def _reserve(self, model: str, request: ModelRequest) -> ModelRequest:
        """The ledger sets aside the most that it could cost, or refuses it."""
        ledger = self._session.runtime.ledger
        self._model = model
        self._reservation = await ledger.reserve(self._session.id, model, request, self._activity)
        granted = self._reservation.max_output_tokens
        return request if granted is None else msgspec.structs.replace(request, max_output_tokens=granted)

    async def _settle(self, request: ModelRequest, answer: Answer, *, scripted: bool) -> Answer:
        usage, ledger = answer.usage, self._session.runtime.ledger
        if usage.estimated:
            parts = answer.parts
            usage = ledger.estimate(request, parts) if scripted else await ledger.measure(request, parts)
            answer = msgspec.structs.replace(answer, usage=usage)
        self._charge(usage)
        return answer

    async def _settle_cut_off(
        self, request: ModelRequest, parts: list[Part], cancelled: bool, billed: Usage | None = None
    ) -> None:
        """A provider bills what it has answered so far, and the prompt of a request that was cancelled."""
        if self._reservation is None:
            return
        if billed is not None and not billed.estimated:
            self._charge(billed)
        elif parts or cancelled or billed:
            self._charge(self._session.runtime.ledger.estimate(request, parts))
        else:
            self._reservation.release()
            self._reservation = None

    def _charge(self, usage: Usage) -> None:
        if self._reservation is not None:
            charge = self._reservation.settle(usage)
            self._reservation = None
            self.spent.append(Spending(self._model, usage, charge.cost_usd))

    async def _go_on_elsewhere(self, notice: Notice, request: ModelRequest, draft: Draft) -> None:
        """Another attempt follows: what was shown of this one is void, and the next one needs its own money."""
        billed = notice.usage if isinstance(notice, RetryNotice) else None
        await self._settle_cut_off(request, draft.parts, cancelled=False, billed=billed)
        await draft.void()
        model = self._model
        match notice:
            case RetryNotice():
                event: Event = RetryScheduled(
                    provider=notice.provider,
                    attempt=notice.attempt + 1,
                    max_attempts=notice.max_attempts,
                    delay_s=notice.delay_s,
                    error=notice.error,
                )
            case FailoverNotice():
                model = notice.to_model
                event = ProviderFailedOver(from_model=notice.from_model, to_model=model, reason=notice.reason)
            case RoutedNotice():
                model = notice.model
                event = ModelRouted(model=model, reason=notice.reason)
        await self._session.record(event)
        granted = await self._reserve(model, request)
        if granted.max_output_tokens != request.max_output_tokens:
            raise OpenAgentError(
                "budget_exceeded",
                f"The rest of the budget does not cover an answer by {model}.",
                hint="Raise the budget, or choose a cheaper model.",
            )
        draft.begin()
        if isinstance(notice, RetryNotice):
            self._waits(notice)


async def ask_aside(session: "Session", resolved: ResolvedModel, request: ModelRequest, activity: Activity) -> Answer:
    """A request that is no part of the conversation, booked on its session."""
    call = ModelCall(session, activity)
    try:
        return await call.ask(resolved, request)
    finally:
        usage = session.info.usage
        for paid in call.spent:
            usage = msgspec.structs.replace(
                usage,
                tokens=usage.tokens + paid.usage,
                cost_usd=usage.cost_usd + (paid.cost_usd or 0.0),
                requests=usage.requests + 1,
                unpriced=usage.unpriced + (paid.cost_usd is None),
            )
        paid_at = time.time()
        await session.record(
            *(UsageUpdated(usage=usage, last=paid.usage, last_cost_usd=paid.cost_usd) for paid in call.spent),
            rows=Rows(
                usage=[
                    UsageRecord(
                        None, paid.model, paid.usage, paid.cost_usd, activity, paid_at, owner=session.info.owner
                    )
                    for paid in call.spent
                ]
            ),
            changes={"usage": usage},
        )


async def summarized(session: "Session", resolved: ResolvedModel, messages: Sequence[Message], instruction: str) -> str:
    """By one request to the session's model outside the conversation, counted against its budget."""
    asked = Message(number=0, role="user", parts=[TextPart(instruction)])
    request = ModelRequest(model=resolved.model, system="", messages=[*messages, asked], session=session.id)
    answer = await ask_aside(session, resolved, request, "summarizing")
    return "".join(part.text for part in answer.parts if isinstance(part, TextPart))
