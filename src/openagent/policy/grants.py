"""What a person's "for this session" or "always" becomes: a rule for just that."""

from msgspec.structs import replace

from openagent.policy.builtin.catalogue import Level
from openagent.policy.builtin.network import host_of
from openagent.policy.decision import is_command, units_of
from openagent.policy.facts import CallFacts, GrantScope
from openagent.policy.paths import glob_escape, resolve
from openagent.policy.rules import Rule
from openagent.policy.units import Unit


def grant_rule(facts: CallFacts, scope: GrantScope) -> Rule:
    """As narrow as it can be: in this workspace only, for these very words, this file or this host."""
    reason = "You allowed it for this session." if scope == "session" else "You allowed it always."
    base = Rule(decision="allow", tool=facts.tool, workspace=facts.workspace, reason=reason, granted=True)
    if is_command(facts):
        return _for_command(base, facts)
    if facts.effect == "write":
        return replace(base, path=[glob_escape(resolve(facts.subject, facts.workspace))])
    if facts.effect == "network" and (host := host_of(facts.subject)):
        return replace(base, host=[glob_escape(host)])
    if facts.effect == "execute" and facts.tool == "execute_code":
        return replace(base, text=facts.subject)
    return base


def _for_command(base: Rule, facts: CallFacts) -> Rule:
    """One command that needs leave: its words, so that it is also met beside others. Otherwise the whole text."""
    needing = [unit for unit in units_of(facts) if unit.level is not Level.SAFE]
    if len(needing) == 1 and _is_plain(needing[0]):
        return replace(base, argv=list(needing[0].argv))
    return replace(base, text=facts.subject)


def _is_plain(unit: Unit) -> bool:
    """Its words are what they seem, today and tomorrow."""
    same = unit.known and not any(character in word for word in unit.argv for character in "*?[")
    return same and not unit.redirection and unit.level is Level.ASK
