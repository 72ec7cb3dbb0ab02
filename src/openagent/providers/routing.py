"""`model = "auto"`: the cheap or the strong model, chosen for each step by rules."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Literal

import msgspec
from msgspec import Struct

from openagent.plugins.provider import ModelInfo, ModelRequest, RoutedNotice, StreamItem
from openagent.protocol.messages import Message, ToolResultPart
from openagent.providers.failover import ModelChoice

Tier = Literal["cheap", "strong"]


class RoutingRule(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Holds for a step when everything it names holds. Of several rules the first that holds decides."""

    use: Tier
    reason: str = ""
    """What a person reads; by default the conditions themselves."""
    after_tools: Sequence[str] = ()
    """The step follows results of these tools, and of no others."""
    after_error: bool | None = None
    """The step follows a result that is (or is not) an error."""
    new_turn: bool | None = None
    """The step is (or is not) the first after a user's message."""
    prompt_contains: Sequence[str] = ()
    """The user's last message contains one of these, whatever the case."""
    prompt_shorter_than: int | None = None
    """Characters of the user's last message."""
    steps_over: int | None = None
    """The turn has taken more steps than this."""


READING_AND_RUNNING = ("read_file", "list_dir", "glob", "grep", "shell")
DEFAULT_RULES: Sequence[RoutingRule] = (
    RoutingRule(use="strong", new_turn=True, reason="a new task is being understood"),
    RoutingRule(use="strong", after_error=True, reason="something went wrong"),
    RoutingRule(use="strong", steps_over=20, reason="the turn is taking long"),
    RoutingRule(use="cheap", after_tools=READING_AND_RUNNING, reason="reading and running"),
)


class _Situation(Struct, frozen=True):
    prompt: str
    steps: int
    results: Sequence[ToolResultPart]
    """Of the step before this one."""


def choose(request: ModelRequest, rules: Sequence[RoutingRule]) -> tuple[Tier, str]:
    situation = _situation(request.messages)
    for rule in rules:
        if _holds(rule, situation):
            return rule.use, rule.reason or _explain(rule)
    return "strong", "no rule applies"


def _situation(messages: Sequence[Message]) -> _Situation:
    steps = 0
    results: list[ToolResultPart] = []
    for message in reversed(messages):
        if message.role == "user":
            return _Situation(message.text, steps, results)
        if message.role == "assistant":
            steps += 1
        elif steps == 0:
            results.extend(part for part in message.parts if isinstance(part, ToolResultPart))
    return _Situation("", steps, results)


def _holds(rule: RoutingRule, now: _Situation) -> bool:
    prompt = now.prompt.lower()
    used = {result.name for result in now.results}
    return (
        (not rule.after_tools or (bool(used) and used <= set(rule.after_tools)))
        and rule.after_error in (None, any(result.is_error for result in now.results))
        and rule.new_turn in (None, now.steps == 0)
        and (not rule.prompt_contains or any(word.lower() in prompt for word in rule.prompt_contains))
        and (rule.prompt_shorter_than is None or len(prompt) < rule.prompt_shorter_than)
        and (rule.steps_over is None or now.steps > rule.steps_over)
    )


def _explain(rule: RoutingRule) -> str:
    conditions = msgspec.to_builtins(rule)
    del conditions["use"]
    return ", ".join(f"{name} = {value}" for name, value in conditions.items()) or "always"


class RoutingProvider:
    """What `auto` stands for."""

    scripted = False

    def __init__(
        self,
        strong: ModelChoice,
        cheap: ModelChoice,
        rules: Sequence[RoutingRule] = DEFAULT_RULES,
        *,
        name: str = "auto",
    ) -> None:
        self.name = name
        self._choices = {"strong": strong, "cheap": cheap}
        self._rules = rules

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        tier, reason = choose(request, self._rules)
        choice = self._choices[tier]
        yield RoutedNotice(choice.full_name, f"{tier}: {reason}")
        async with aclosing(choice.provider.stream(msgspec.structs.replace(request, model=choice.model))) as items:
            async for item in items:
                yield item

    async def models(self) -> list[ModelInfo]:
        return [ModelInfo(choice.full_name) for choice in self._choices.values()]

    async def close(self) -> None:
        """The providers belong to whoever made them."""
