"""What the daemon counts about itself: one place, which hears the events that clients hear, too.

Nothing here waits or raises. Names and labels are an interface: deploy/ has dashboards and alerts that know them.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

from openagent.protocol.events import (
    BudgetExceeded,
    ContextCollected,
    Event,
    HookRan,
    MessageAdded,
    PermissionNoted,
    PermissionResolved,
    ProviderFailedOver,
    RetryScheduled,
    SessionCreated,
    SessionDeleted,
    SubagentFinished,
    ToolFinished,
    TurnCompleted,
    TurnStarted,
)
from openagent.telemetry.instruments import Counter, Family, Histogram
from openagent.telemetry.tokens import TokenUsage
from openagent.telemetry.watched_provider import Attempted

FAST = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds, for what people do not notice when all is well."""


class Measures:
    def __init__(self) -> None:
        self.sessions_created = Counter("openagent_sessions_created", "Sessions made since the start.")
        self.sessions_deleted = Counter("openagent_sessions_deleted", "Sessions deleted since the start.")
        self.turns_started = Counter("openagent_turns_started", "Turns begun.")
        self.turns = Counter("openagent_turns", "Turns ended, by how they ended.", "end")
        self.turn_errors = Counter("openagent_turn_errors", "Turns that ended on an error or a cap.", "cause")
        self.turn_seconds = Histogram("openagent_turn_duration_seconds", "From a message to the end of its turn.")
        self.steps = Counter("openagent_steps", "Answers of models that became part of a conversation.")
        self.tokens = Counter(
            "openagent_tokens",
            "Tokens billed; the kinds leave each other out, so that their sum is all.",
            "model",
            "kind",
        )
        self.cost = Counter("openagent_cost_usd", "Dollars spent, as far as prices are known.", "model")
        self.unpriced = Counter("openagent_unpriced_requests", "Requests whose price is not known.", "model")
        self.provider_requests = Counter(
            "openagent_provider_requests", "Requests to providers, each attempt.", "provider", "model", "end"
        )
        self.provider_errors = Counter(
            "openagent_provider_errors", "Attempts that failed, by why.", "provider", "cause"
        )
        self.provider_seconds = Histogram(
            "openagent_provider_request_duration_seconds",
            "From a request to the last byte of its answer.",
            "provider",
            "model",
        )
        self.first_token = Histogram(
            "openagent_provider_first_token_seconds",
            "From a request to the first piece of its answer.",
            "provider",
            "model",
        )
        self.retries = Counter("openagent_provider_retries", "Attempts that are made again.", "provider", "cause")
        self.failovers = Counter("openagent_provider_failovers", "Requests that went on to another model.", "to_model")
        self.tool_calls = Counter("openagent_tool_calls", "Tool calls, by how they ended.", "tool", "end")
        self.tool_seconds = Histogram("openagent_tool_duration_seconds", "How long calls ran.", "tool")
        self.mcp_calls = Counter("openagent_mcp_calls", "Calls of MCP servers' tools.", "server", "end")
        self.mcp_seconds = Histogram("openagent_mcp_call_duration_seconds", "How long MCP servers took.", "server")
        self.decisions = Counter(
            "openagent_permission_answers", "Calls that waited for a person, or were denied by a rule.", "decision"
        )
        self.budgets = Counter("openagent_budget_exceeded", "Requests refused because a budget was spent.", "scope")
        self.collections = Counter("openagent_context_collections", "Contexts that were shrunk.", "collector", "reason")
        self.hooks = Counter("openagent_hooks", "Hooks that ran, by how they ended.", "outcome")
        self.subagents = Counter("openagent_subagents", "Sub-agents that ended, by how.", "end")
        self.event_lag = Histogram(
            "openagent_event_lag_seconds",
            "From an event to its having been stored and handed to those who follow.",
            bounds=FAST,
        )
        self._read = self._sent = 0

    def families(self) -> Iterator[Family]:
        for each in vars(self).values():
            if isinstance(each, Counter | Histogram):
                yield each.family()
        share = self._read / self._sent if self._sent else 0.0
        yield Family(
            "openagent_cache_hit_ratio",
            "gauge",
            "Share of all prompt tokens since the start that providers read from their caches.",
            (),
            [((), share)],
        )

    def hearers(self) -> "list[tuple[type[Event], Callable[[Any], None]]]":
        """Each with the kind of event that it is to be called with."""
        return [
            (SessionCreated, lambda _: self.sessions_created.add()),
            (SessionDeleted, lambda _: self.sessions_deleted.add()),
            (TurnStarted, lambda _: self.turns_started.add()),
            (TurnCompleted, self._turn_completed),
            (MessageAdded, self._message_added),
            (ToolFinished, self._tool_finished),
            (RetryScheduled, lambda event: self.retries.add(event.provider, event.error.code)),
            (ProviderFailedOver, lambda event: self.failovers.add(event.to_model)),
            (PermissionResolved, lambda event: self.decisions.add(event.decision)),
            (PermissionNoted, lambda event: self.decisions.add(f"{event.decision}_by_rule")),
            (BudgetExceeded, lambda event: self.budgets.add(event.scope)),
            (ContextCollected, lambda event: self.collections.add(event.collector, event.reason)),
            (HookRan, lambda event: self.hooks.add(event.outcome)),
            (SubagentFinished, lambda event: self.subagents.add(event.reason)),
        ]

    def charged(self, record: TokenUsage) -> None:
        used, model = record.usage, record.model
        kinds = {
            "input": used.input_tokens - used.cached_tokens - used.cache_write_tokens,
            "cache_read": used.cached_tokens,
            "cache_write": used.cache_write_tokens,
            "output": used.output_tokens - used.reasoning_tokens,
            "reasoning": used.reasoning_tokens,
        }
        for kind, tokens in kinds.items():
            if tokens > 0:  # what a provider reports need not add up
                self.tokens.add(model, kind, by=tokens)
        self._read += used.cached_tokens
        self._sent += used.input_tokens
        if record.cost_usd is None:
            self.unpriced.add(model)
        else:
            self.cost.add(model, by=record.cost_usd)

    def attempted(self, attempt: Attempted) -> None:
        provider, model = attempt.provider, attempt.request.model
        self.provider_requests.add(provider, model, "failed" if attempt.cause else "done")
        if attempt.cause:
            self.provider_errors.add(provider, attempt.cause)
        self.provider_seconds.observe(attempt.seconds, provider, model)
        if attempt.first is not None:
            self.first_token.observe(attempt.first, provider, model)

    def mcp_called(self, server: str, seconds: float, end: str) -> None:
        self.mcp_calls.add(server, end)
        self.mcp_seconds.observe(seconds, server)

    def _turn_completed(self, event: TurnCompleted) -> None:
        self.turns.add(event.reason)
        self.turn_seconds.observe(event.duration_ms / 1000)
        if event.error is not None and event.reason != "done":
            self.turn_errors.add(event.error.code)
        self._lag(event)

    def _message_added(self, event: MessageAdded) -> None:
        if event.message.role == "assistant" and event.message.model:
            self.steps.add()
        self._lag(event)

    def _tool_finished(self, event: ToolFinished) -> None:
        self.tool_calls.add(event.tool, event.ended)
        if event.duration_ms:
            self.tool_seconds.observe(event.duration_ms / 1000, event.tool)

    def _lag(self, event: Event) -> None:
        self.event_lag.observe(max(time.time() - event.at, 0.0))
