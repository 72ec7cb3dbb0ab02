"""Budgets that hold: the worst case of a request is set aside before it is sent.

A request counts against its session, against the tree of every session above it, and against the day. It is granted
only when it fits beside everything else that is under way; where it would fit once others have settled, it waits for
them. All calls belong on the event loop.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from openagent.plugins.ledger import Activity, Budget, Charge, Ledger, Reservation
from openagent.plugins.provider import ModelRequest
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Part
from openagent.protocol.sessions import DayBudget
from openagent.protocol.usage import SessionUsage, Usage
from openagent.telemetry.accounts import NOTHING, Account, BudgetNotice, Demand, Spent
from openagent.telemetry.counting import best_count, counted_usage, estimate_tokens, fixed_ceiling, prompt_ceiling
from openagent.telemetry.prices import PICO, Price, PriceBook
from openagent.telemetry.quotas import Quotas
from openagent.telemetry.tokens import TokenTracker, TokenUsage

SMALLEST_ANSWER = 256
"""An answer cut shorter than this is not worth its prompt."""
DEFAULT_ANSWER = 16_384
"""What a request under a cap gets that names no limit of its own."""
PATIENCE = 600.0
"""Seconds to wait for other requests to settle."""

_log = logging.getLogger(__name__)


class Limits(Struct, frozen=True):
    """Caps of one session: for itself, and for itself with all sessions that work for it."""

    session_usd: float | None = None
    session_tokens: int | None = None
    tree_usd: float | None = None
    tree_tokens: int | None = None


class DayLimits(Struct, frozen=True):
    usd: float | None = None
    tokens: int | None = None


NO_LIMITS = Limits()
NO_DAY_LIMITS = DayLimits()


class ConfiguredCaps(Struct, frozen=True):
    """Those that hold where a session has none of its own."""

    session: Limits = NO_LIMITS
    day: DayLimits = NO_DAY_LIMITS
    warn_at: float = 80.0
    """Percent of a cap."""


class _Ledgered:
    """What the ledger knows of one session."""

    def __init__(self, session: str, spent: Spent, tree_spent: Spent) -> None:
        self.parent: str | None = None
        self.budget: Budget | None = None
        """What was set for this session; what is left out in it is the configured cap."""
        self.own = Account("session", session, spent)
        self.tree = Account("tree", session, tree_spent)
        self.tracker = TokenTracker(session)
        self.fixed_tokens = 0
        """Ceiling of the system prompt and tools that the last answer was asked with."""


class _Subject(Struct, frozen=True):
    session: str
    model: str
    activity: Activity
    fixed_tokens: int = 0


class GrantedReservation:
    """Release after settle does nothing, so `finally: release()` is right."""

    def __init__(
        self,
        ledger: "BudgetLedger",
        subject: _Subject,
        price: Price | None,
        accounts: list[Account],
        *,
        held: tuple[int, int],
        max_output_tokens: int | None,
    ) -> None:
        self.max_output_tokens = max_output_tokens
        self._ledger = ledger
        self._subject = subject
        self._price = price
        self._accounts = accounts
        self._held: tuple[int, int] | None = held
        self._charge: Charge | None = None
        for account in accounts:
            account.hold(*held)

    def settle(self, usage: Usage) -> Charge:
        if self._charge is None:
            held = self._unhold()
            self._charge = self._ledger.charge(self._subject, self._price, self._accounts, usage, held)
            self._ledger.wake()
        return self._charge

    def price(self, usage: Usage) -> Charge:
        return Charge(cost_usd=None if self._price is None else self._price.cost(usage) / PICO)

    def release(self) -> None:
        self._unhold()
        self._ledger.wake()

    def _unhold(self) -> tuple[int, int]:
        held, self._held = self._held or (0, 0), None
        for account in self._accounts:
            account.hold(-held[0], -held[1])
        return held


class BudgetLedger:
    def __init__(
        self,
        prices: PriceBook,
        *,
        defaults: Limits = NO_LIMITS,
        day: DayLimits = NO_DAY_LIMITS,
        warn_at: float = 80.0,
        spent_since: Callable[[float], Awaitable[Spent]] | None = None,
        on_notice: Callable[[BudgetNotice], None] | None = None,
        on_record: Callable[[TokenUsage], None] | None = None,
        renewed: Callable[[], ConfiguredCaps | None] = lambda: None,
        clock: Callable[[], float] = time.time,
        quotas: Quotas | None = None,
    ) -> None:
        """`warn_at` is a percentage. `spent_since` asks the store what the day has cost before this start. `renewed`
        gives the configured caps anew, when they have changed since it was last asked."""
        self._prices = prices
        self._defaults = defaults
        self._share = warn_at / 100
        self._spent_since = spent_since
        self._on_notice = on_notice
        self._on_record = on_record
        self._renewed = renewed
        self._clock = clock
        self._quotas = quotas
        self._sessions: dict[str, _Ledgered] = {}
        self._day = Account("day")
        self._day.limit(day.tokens, day.usd)
        self._day_ends = 0.0
        self._seeding = asyncio.Lock()
        self._waiting: set[asyncio.Future[None]] = set()

    def _renew(self) -> None:
        if (caps := self._renewed()) is None:
            return
        self._defaults, self._share = caps.session, caps.warn_at / 100
        self._day.limit(caps.day.tokens, caps.day.usd)
        for known in self._sessions.values():
            if known.budget is not None:
                together = self._with_defaults(known.budget)
                known.tree.limit(together.tokens, together.usd)
        self.wake()

    def caps(self, budget: Budget) -> Budget:
        self._renew()
        return self._with_defaults(budget)

    def _with_defaults(self, budget: Budget) -> Budget:
        return Budget(
            usd=self._defaults.tree_usd if budget.usd is None else budget.usd,
            tokens=self._defaults.tree_tokens if budget.tokens is None else budget.tokens,
        )

    def today(self) -> DayBudget | None:
        if not self._day.capped:
            return None
        self._roll_day()
        day = self._day
        usd = None if day.money_limit is None else day.money_limit / PICO
        return DayBudget(usd, day.money / PICO, day.token_limit, day.tokens)

    async def start(self) -> None:
        """The store is asked what the day has cost before, so that nobody is told of an untouched budget."""
        await self._seed_day()

    def register(
        self, session: str, parent: str | None, budget: Budget, spent: SessionUsage, below: SessionUsage
    ) -> None:
        """A session's cap holds for all sessions that work for it, too."""
        caps = self.caps(budget)
        limits = structs.replace(self._defaults, tree_usd=caps.usd, tree_tokens=caps.tokens)
        own, others = (
            Spent(each.tokens.input_tokens + each.tokens.output_tokens, each.cost_usd) for each in (spent, below)
        )
        together = Spent(own.tokens + others.tokens, own.usd + others.usd)
        self.enrol(session, parent, limits, spent=own, tree_spent=together)
        self._sessions[session].budget = budget

    def enrol(
        self,
        session: str,
        parent: str | None = None,
        limits: Limits | None = None,
        *,
        spent: Spent = NOTHING,
        tree_spent: Spent | None = None,
    ) -> None:
        """Call again to change parent or limits. `spent` is what the store knows of a session that is loaded anew, and
        `tree_spent` the same with all sessions below it; they count only the first time."""
        known = self._sessions.get(session)
        if known is None:
            known = self._sessions[session] = _Ledgered(session, spent, tree_spent or spent)
        limits = limits or self._defaults
        known.parent = parent
        known.own.limit(limits.session_tokens, limits.session_usd)
        known.tree.limit(limits.tree_tokens, limits.tree_usd)
        known.tracker.budget = limits.session_tokens
        self.wake()

    def book(self, session: str, model: str, usage: Usage, cost_usd: float | None, activity: Activity) -> None:
        tokens, money = usage.input_tokens + usage.output_tokens, round((cost_usd or 0.0) * PICO)
        for account in self._accounts(session):
            if account is not self._day or self._day_ends:  # a day that is not known yet will be asked of the store
                account.spend(tokens, money)
        self._known(session).tracker.record(TokenUsage(session, model, usage, activity, cost_usd, self._clock()))

    def forget(self, session: str) -> None:
        """What it spent stays counted for the sessions above it."""
        self._sessions.pop(session, None)

    def tracker(self, session: str) -> TokenTracker:
        return self._known(session).tracker

    def estimate(self, request: ModelRequest, answer: Sequence[Part]) -> Usage:
        return counted_usage(request, answer, estimate_tokens)

    async def measure(self, request: ModelRequest, answer: Sequence[Part]) -> Usage:
        return await asyncio.to_thread(counted_usage, request, answer, best_count())

    async def reserve(self, session: str, model: str, request: ModelRequest, activity: Activity) -> Reservation:
        granted = await self._granted(session, model, request, activity)
        if self._quotas is None or not (limited := await self._quotas.of(session)):
            return granted
        try:
            price = self._prices.price(model)
            if price is None and any(quota.money is not None for quota in limited):
                raise _unknown_price(model)
            demand = Demand.of(prompt_ceiling(request, model, thorough=True), price)
            wanted = granted.max_output_tokens or DEFAULT_ANSWER
            least = min(wanted, SMALLEST_ANSWER)
            return await self._quotas.hold(limited, granted, demand, price, wanted=wanted, least=least)
        except BaseException:
            granted.release()
            raise

    async def _granted(self, session: str, model: str, request: ModelRequest, activity: Activity) -> GrantedReservation:
        await self._seed_day()
        self._renew()
        price = self._prices.price(model)
        accounts = self._accounts(session)
        if not any(account.capped for account in accounts):
            return GrantedReservation(
                self,
                _Subject(session, model, activity),
                price,
                accounts,
                held=(0, 0),
                max_output_tokens=request.max_output_tokens,
            )
        self._warn(session, accounts)
        if price is None and any(account.money_limit is not None for account in accounts):
            raise _unknown_price(model)
        subject = _Subject(session, model, activity, fixed_ceiling(request))
        wanted = request.max_output_tokens or DEFAULT_ANSWER
        demand = Demand.of(self._prompt_tokens(subject, request, thorough=False), price)
        if min(account.output_room(demand, beside_held=True) for account in accounts) < wanted:
            demand = Demand.of(self._prompt_tokens(subject, request, thorough=True), price)
        output = await self._wait_for_room(session, demand, wanted)
        return GrantedReservation(
            self,
            subject,
            price,
            self._accounts(session),
            held=(demand.tokens(output), demand.money(output)),
            max_output_tokens=output,
        )

    async def _wait_for_room(self, session: str, demand: Demand, wanted: int) -> int:
        """The length of answer that is granted: all that is wanted, or what is left when nobody else is under way."""
        least = min(wanted, SMALLEST_ANSWER)
        while True:
            accounts = self._accounts(session)
            possible = min(wanted, *(account.output_room(demand, beside_held=False) for account in accounts))
            room = min(account.output_room(demand, beside_held=True) for account in accounts)
            if possible < least:
                raise self._refuse(session, accounts, demand, least, beside_held=False)
            if room >= possible:
                return possible
            changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(changed)
            try:
                async with asyncio.timeout(PATIENCE):
                    await changed
            except TimeoutError:
                raise self._refuse(session, accounts, demand, least, beside_held=True) from None
            finally:
                self._waiting.discard(changed)

    def _refuse(
        self, session: str, accounts: list[Account], demand: Demand, output: int, *, beside_held: bool
    ) -> OpenAgentError:
        blocking = min(accounts, key=lambda account: account.output_room(demand, beside_held=beside_held))
        notice = blocking.notice("exceeded", session, blocking.tightest_unit(demand, beside_held=beside_held))
        if self._on_notice:
            self._on_notice(notice)
        if notice.unit == "usd":
            figures = f"${notice.spent:.4f} of ${notice.limit:.2f} is spent"
            need = f"the next request may cost up to ${demand.money(output) / PICO:.4f}"
        else:
            figures = f"{notice.spent:,.0f} of {notice.limit:,.0f} tokens are used"
            need = f"the next request may take up to {demand.tokens(output):,}"
        if beside_held:
            figures += ", the rest is set aside for requests that have not ended"
        of = {"session": "this session", "tree": "this session and its sub-agents", "day": "today"}[blocking.scope]
        return OpenAgentError(
            "budget_exceeded",
            f"The budget for {of} does not cover another request: {figures}, and {need}.",
            hint="Raise the budget in the session's settings or under [budget] in the config, or shorten the context.",
        )

    def charge(
        self,
        subject: _Subject,
        price: Price | None,
        accounts: list[Account],
        usage: Usage,
        held: tuple[int, int],
    ) -> Charge:
        session, model = subject.session, subject.model
        self._roll_day()
        tokens = usage.input_tokens + usage.output_tokens
        money = price.cost(usage) if price else 0
        if any(held) and (tokens > held[0] or money > held[1]):
            _log.warning("request to %s used %d tokens, at most %d were expected", model, tokens, held[0])
        for account in accounts:
            account.spend(tokens, money)
        cost = None if price is None else money / PICO
        record = TokenUsage(session, model, usage, subject.activity, cost, self._clock())
        known = self._known(session)
        known.tracker.record(record)
        if subject.activity != "summarizing":
            known.fixed_tokens = subject.fixed_tokens
        if self._on_record:
            self._on_record(record)
        self._warn(session, accounts)
        return Charge(cost_usd=cost)

    def _warn(self, session: str, accounts: list[Account]) -> None:
        if self._on_notice:
            for account in accounts:
                for notice in account.warnings(session, self._share):
                    self._on_notice(notice)

    def wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _known(self, session: str) -> _Ledgered:
        if session not in self._sessions:
            self.enrol(session)
        return self._sessions[session]

    def _accounts(self, session: str) -> list[Account]:
        known = self._known(session)
        accounts = [self._day, known.own, known.tree]
        seen = {session}
        while (above := known.parent) is not None and above not in seen:
            seen.add(above)
            known = self._known(above)
            accounts.append(known.tree)
        return accounts

    def _prompt_tokens(self, subject: _Subject, request: ModelRequest, *, thorough: bool) -> int:
        """An answer's count covers the system prompt and tools it was asked with: what they grew by is added."""
        before = self._known(subject.session).fixed_tokens
        grown = max(0, subject.fixed_tokens - before) if before else 0
        return prompt_ceiling(request, subject.model, thorough=thorough) + grown

    async def _seed_day(self) -> None:
        if self._day_ends == 0.0:
            async with self._seeding:
                if self._day_ends == 0.0:
                    start, end = _day_of(self._clock())
                    if self._spent_since:
                        self._day.restart(await self._spent_since(start))
                    self._day_ends = end
        self._roll_day()

    def _roll_day(self) -> None:
        if self._clock() >= self._day_ends > 0.0:
            self._day_ends = _day_of(self._clock())[1]
            self._day.restart()


def _day_of(now: float) -> tuple[float, float]:
    """Local midnight to local midnight."""
    midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    following = datetime.fromordinal(midnight.toordinal() + 1)
    return midnight.timestamp(), following.timestamp()


def _unknown_price(model: str) -> OpenAgentError:
    return OpenAgentError(
        "budget_exceeded",
        f"There is a budget in dollars, but the price of {model} is not known, so it cannot be kept.",
        hint=f'Set it in the config under [prices."{model}"] with input and output in dollars per million tokens '
        "(0 for a free model), or use a budget in tokens.",
    )


if TYPE_CHECKING:

    def conforms(ledger: BudgetLedger) -> Ledger:
        return ledger
