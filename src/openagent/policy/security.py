"""The same decisions behind two small classes, for callers that hold rules and ask often."""

from msgspec import Struct

from openagent.policy.builtin.catalogue import Level
from openagent.policy.decision import decide, units_of
from openagent.policy.facts import CallFacts, Decision
from openagent.policy.grants import grant_rule
from openagent.policy.rules import Rule, RuleSet
from openagent.protocol.sessions import GrantScope, Mode, Risk


class Assessment(Struct, frozen=True):
    risk: Risk
    reasons: list[str]


class RiskAssessor:
    """How risky a call is, whatever the mode and the rules say about it."""

    def assess(self, facts: CallFacts) -> Assessment:
        risk = decide(facts, "ask", RuleSet.builtin()).risk
        found = [
            finding.rule for unit in units_of(facts) for finding in unit.findings if finding.rule.level > Level.SAFE
        ]
        return Assessment(risk, list(dict.fromkeys(rule.reason for rule in found)))


class SecurityManager:
    """The rules of one session, with what was allowed in it."""

    def __init__(self, rules: RuleSet | None = None) -> None:
        self.rules = rules or RuleSet.builtin()
        self.risk_assessor = RiskAssessor()

    def evaluate(self, facts: CallFacts, mode: Mode) -> Decision:
        return decide(facts, mode, self.rules)

    def grant(self, facts: CallFacts, scope: GrantScope) -> Rule:
        """It holds from now on in this session; for `always`, the caller appends it to the user's rules file."""
        rule = grant_rule(facts, scope)
        self.rules = self.rules.granting(rule)
        return rule
