"""What one session may do: the rules of its workspace, its mode, and what a person allowed in it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from openagent.policy.decision import decide
from openagent.policy.facts import CallFacts, Decision, GrantScope
from openagent.policy.grants import grant_rule
from openagent.policy.rules import Rule, RuleSet
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import ErrorRaised
from openagent.protocol.sessions import Mode

if TYPE_CHECKING:
    from openagent.core.session import Session

_MODES: tuple[Mode, ...] = get_args(Mode)
"""The strictest first."""


class Permits:
    def __init__(self, session: "Session") -> None:
        self._session = session
        self.granted: list[Rule] = []
        self._rules = RuleSet()
        self.at_most: Mode = "ask"
        self._told: Sequence[ErrorInfo] | None = () if session.info.turn_count == 0 else None
        """The notices people have seen; None: those of an earlier life of this session."""
        self.renew()

    def renew(self) -> None:
        """The files may have changed. What was allowed in this session stays allowed."""
        holding = self._session.runtime.rules(self._session.info)
        self.at_most = holding.at_most
        self._rules = holding.rules
        for rule in self.granted:
            self._rules = self._rules.granting(rule)

    def decide(self, facts: CallFacts) -> Decision:
        mode = _MODES[min(_MODES.index(self._session.info.settings.mode), _MODES.index(self.at_most))]
        return decide(facts, mode, self._rules)

    def grant(self, facts: CallFacts, scope: GrantScope) -> Rule:
        """From now on calls like this one need not be asked for."""
        rule = grant_rule(facts, scope)
        self.granted.append(rule)
        self._rules = self._rules.granting(rule)
        if scope == "always":
            try:
                self._session.runtime.remember_grant(rule)
            except OpenAgentError as problem:
                self._session.post(ErrorRaised(error=problem.info))
        self._settle()
        return rule

    def allow_for_turn(self, rules: Sequence[Rule]) -> None:
        for rule in rules:
            self._rules = self._rules.granting(rule)
        self._settle()

    def _settle(self) -> None:
        self._session.asks.settle(lambda facts: self.decide(facts).kind == "allow")

    def new_notices(self) -> Sequence[ErrorInfo]:
        """Each is told once."""
        told, self._told = self._told, self._session.runtime.notices(self._session.workspace)
        return [] if told is None else [notice for notice in self._told if notice not in told]
