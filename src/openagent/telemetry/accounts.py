"""One cap and what counts against it: tokens and money, spent and set aside."""

from typing import Literal

from msgspec import Struct

from openagent.telemetry.prices import PICO, Price

Scope = Literal["session", "day", "tree"]
Unit = Literal["usd", "tokens"]

UNBOUNDED = 1 << 62


class Spent(Struct, frozen=True):
    """What was used before this ledger existed, as the store knows it."""

    tokens: int = 0
    usd: float = 0.0


NOTHING = Spent()


class BudgetNotice(Struct, frozen=True):
    """The data of a BudgetWarning or BudgetExceeded event."""

    kind: Literal["warning", "exceeded"]
    session: str
    """Whose request it was."""
    owner: str
    """Whose budget it is: the session itself, or the root of the tree; empty for the day."""
    scope: Scope
    spent: float
    limit: float
    unit: Unit


class Demand(Struct, frozen=True):
    """The worst case of one request, up to the length of its answer."""

    prompt_tokens: int
    prompt_rate: int
    output_rate: int

    @classmethod
    def of(cls, prompt_tokens: int, price: Price | None) -> "Demand":
        """Without a price only tokens count."""
        prompt_rate, output_rate = price.worst_rates(prompt_tokens) if price else (0, 0)
        return cls(prompt_tokens, prompt_rate, output_rate)

    @property
    def free(self) -> bool:
        return self.prompt_rate == 0 == self.output_rate

    def tokens(self, output_tokens: int) -> int:
        return self.prompt_tokens + output_tokens

    def money(self, output_tokens: int) -> int:
        return self.prompt_tokens * self.prompt_rate + output_tokens * self.output_rate


class Account:
    def __init__(self, scope: Scope, owner: str = "", spent: Spent = NOTHING) -> None:
        self.scope: Scope = scope
        self.owner = owner
        self.token_limit: int | None = None
        self.money_limit: int | None = None
        self.tokens = spent.tokens
        self.money = round(spent.usd * PICO)
        self.held_tokens = 0
        self.held_money = 0
        self._warned: set[tuple[Unit, str]] = set()

    def limit(self, tokens: int | None, usd: float | None) -> None:
        money = None if usd is None else round(usd * PICO)
        if (tokens, money) != (self.token_limit, self.money_limit):
            self.token_limit, self.money_limit = tokens, money
            self._warned.clear()

    def restart(self, spent: Spent = NOTHING) -> None:
        """What is set aside stays: it will be spent after the change."""
        self.tokens, self.money = spent.tokens, round(spent.usd * PICO)
        self._warned.clear()

    @property
    def capped(self) -> bool:
        return self.token_limit is not None or self.money_limit is not None

    def output_room(self, demand: Demand, *, beside_held: bool) -> int:
        """How long an answer may be. `beside_held`: with what is set aside now taken as spent; negative when not even
        the prompt fits."""
        return min(self._token_room(demand, beside_held), self._money_room(demand, beside_held))

    def tightest_unit(self, demand: Demand, *, beside_held: bool) -> Unit:
        return "usd" if self._money_room(demand, beside_held) < self._token_room(demand, beside_held) else "tokens"

    def _token_room(self, demand: Demand, beside_held: bool) -> int:
        if self.token_limit is None:
            return UNBOUNDED
        held = self.held_tokens if beside_held else 0
        return self.token_limit - self.tokens - held - demand.prompt_tokens

    def _money_room(self, demand: Demand, beside_held: bool) -> int:
        if self.money_limit is None or demand.free:
            return UNBOUNDED
        held = self.held_money if beside_held else 0
        left = self.money_limit - self.money - held - demand.money(0)
        if demand.output_rate:
            return left // demand.output_rate
        return UNBOUNDED if left >= 0 else -1

    def hold(self, tokens: int, money: int) -> None:
        self.held_tokens += tokens
        self.held_money += money

    def spend(self, tokens: int, money: int) -> None:
        self.tokens += tokens
        self.money += money

    def warnings(self, session: str, share: float) -> list[BudgetNotice]:
        """The ones that have not been given yet. Of the day's, every session is told once; of a session's, it alone."""
        due: list[BudgetNotice] = []
        for unit in ("usd", "tokens"):
            limit = self.money_limit if unit == "usd" else self.token_limit
            spent = self.money if unit == "usd" else self.tokens
            told = (unit, self.owner or session)
            if limit is not None and told not in self._warned and spent >= limit * share:
                self._warned.add(told)
                due.append(self.notice("warning", session, unit))
        return due

    def notice(self, kind: Literal["warning", "exceeded"], session: str, unit: Unit) -> BudgetNotice:
        spent, limit = (
            (self.money / PICO, (self.money_limit or 0) / PICO)
            if unit == "usd"
            else (float(self.tokens), float(self.token_limit or 0))
        )
        return BudgetNotice(kind, session, self.owner, self.scope, spent, limit, unit)
