"""The one question this room answers: may this call run?"""

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from openagent.policy.builtin.catalogue import Finding, Level
from openagent.policy.facts import CallFacts, Decision, Kind
from openagent.policy.hidden import shown
from openagent.policy.rules import CompiledRule, Meeting, RuleSet, Target
from openagent.policy.units import Unit, asks_to_write, is_command, is_shell, units_of
from openagent.protocol.sessions import Mode, Risk

_HIDES_OUTPUT = re.compile(r"(?:&>>?|>&)\s*/dev/null|>\s*/dev/null\s+2>&1|2>\s*/dev/null\s+1?>\s*/dev/null")
_RISKS: tuple[Risk, ...] = ("low", "medium", "high")
_KINDS: tuple[Kind, ...] = ("allow", "ask", "deny")
_ONLY_READS = Decision(kind="allow", risk="low", reason="It only reads.", rule="builtin:read-only", wall="read")
_WANTS_TO_WRITE = Decision(
    kind="ask", risk="medium", reason="It seems to only read, but asks to write.", rule="jail:read-only"
)
_REFUSED_IN_PLAN = "The session is in plan mode, which only reads: put this step into the plan instead of doing it."
_NO_SHELL_IN_PLAN = (
    "The session is in plan mode, and without a jail that can be read-only nothing keeps a command from writing: use "
    "the tools that read files, and put what has to run into the plan."
)
_UNASKED: dict[Mode, str] = {
    "edits": "Edits inside the workspace are allowed.",
    "auto": "It stays in the jail.",
    "full": "Full mode allows it.",
}
_SAID: dict[Kind, str] = {
    "allow": "A rule allows it.",
    "ask": "A rule wants to be asked about it.",
    "deny": "A rule forbids it.",
}


def decide(facts: CallFacts, mode: Mode, rules: RuleSet) -> Decision:
    if facts.effect == "none":
        return Decision(kind="allow", risk="low", reason="It changes nothing.", rule="effect:none")
    units = units_of(facts)
    decision = _strictest([about(unit, facts, mode, rules) for unit in units])
    if any(unit.meets("not-understood") for unit in units):
        decision = replace(decision, unread=True)
    if decision.rule != "builtin:read-only" and is_command(facts) and _HIDES_OUTPUT.search(facts.subject):
        risk = _RISKS[min(_RISKS.index(decision.risk) + 1, 2)]
        decision = replace(decision, risk=risk, reason=f"{decision.reason} It also hides its output.")
    return _walled(decision, facts, mode) if facts.effect == "execute" else decision


def _walled(decision: Decision, facts: CallFacts, mode: Mode) -> Decision:
    """What only reads, as far as can be told, runs where it can do nothing else, unless nothing is asked anyway.
    Where nothing holds what runs, reading its text is not enough to let it."""
    if facts.walled:
        if mode in ("ask", "edits") and decision.wall == "read" and asks_to_write(facts):
            return _WANTS_TO_WRITE
        wall = "read" if mode == "plan" else "write" if mode in ("auto", "full") else decision.wall
        return replace(decision, wall=wall) if wall != decision.wall else decision
    if mode == "plan" and is_shell(facts):
        return replace(decision, kind="deny", reason=_NO_SHELL_IN_PLAN, rule="mode:plan", wall="write")
    if mode != "full" and decision.rule == "builtin:read-only" and is_shell(facts):
        reason = "It seems to only read, but without a jail nothing would keep it from doing more."
        return Decision(kind="ask", risk="low", reason=reason, rule="jail:none")
    return replace(decision, wall="write")


def _strictest(decisions: Sequence[Decision]) -> Decision:
    if len(decisions) < 2:
        return decisions[0] if decisions else _ONLY_READS
    strictest = max(
        decisions,
        key=lambda decision: (_KINDS.index(decision.kind), _RISKS.index(decision.risk), decision.wall == "write"),
    )
    wall = "write" if any(decision.wall == "write" for decision in decisions) else "read"
    return replace(strictest, risk=_highest(decision.risk for decision in decisions), wall=wall)


def _highest(risks: Iterable[Risk]) -> Risk:
    return _RISKS[max((_RISKS.index(risk) for risk in risks), default=0)]


# what is decided about one part


def about(unit: Unit, facts: CallFacts, mode: Mode, rules: RuleSet) -> Decision:
    worst = _worst(unit.findings)
    risk = _highest(finding.rule.risk for finding in unit.findings)
    if rules.compiled and (ruled := _ruled(target_of(facts, unit), mode, rules, worst, risk)):
        return ruled
    return _builtin(worst, unit, risk, mode, facts) if worst else _ONLY_READS


def target_of(facts: CallFacts, unit: Unit) -> Target:
    return Target(
        tool=facts.tool,
        workspace=facts.workspace,
        subject=facts.subject,
        argv=unit.argv if is_command(facts) else (),
        known=unit.known,
        paths=tuple(unit.paths) if facts.effect != "network" else (),
        hosts=tuple(unit.hosts),
        findings=tuple(finding.rule.name for finding in unit.findings),
    )


def _worst(findings: Sequence[Finding]) -> Finding | None:
    asked = [finding for finding in findings if finding.rule.level is not Level.SAFE]
    return max(asked, key=lambda finding: (finding.rule.level, _RISKS.index(finding.rule.risk)), default=None)


def _ruled(target: Target, mode: Mode, rules: RuleSet, worst: Finding | None, risk: Risk) -> Decision | None:
    """What the first rule that holds says; the rules stand strictest first. None: the built-in rules decide."""
    denied = worst is not None and worst.rule.level is Level.DENY
    perhaps: CompiledRule | None = None
    for compiled in rules.compiled:
        kind = compiled.rule.decision
        if perhaps is not None and perhaps.rule.decision != kind:
            break  # the rules stand strictest first
        if kind == "allow" and (denied or (mode == "plan" and worst is not None)):
            continue
        if kind == "ask" and (denied or mode == "plan"):
            continue
        meeting = compiled.meets(target)
        if meeting is Meeting.YES:
            return by_rule(compiled, risk)
        if kind == "allow" or mode == "plan" or denied:
            continue
        if meeting is Meeting.BY_PATTERN or (meeting is Meeting.MAYBE and worst is not None):
            perhaps = perhaps or compiled
    if perhaps is None:
        return None
    what = "forbids" if perhaps.rule.decision == "deny" else "wants to be asked about"
    reason = f"It may be something a rule {what}; that is decided only when it runs."
    return Decision(kind="ask", risk="high", reason=reason, rule=perhaps.name)


def by_rule(compiled: CompiledRule, risk: Risk) -> Decision:
    rule = compiled.rule
    if rule.decision != "allow":
        risk = _highest((risk, rule.risk or ("high" if rule.decision == "deny" else "medium")))
    elif rule.risk:
        risk = rule.risk
    return Decision(kind=rule.decision, risk=risk, reason=rule.reason or _SAID[rule.decision], rule=compiled.name)


def _builtin(worst: Finding, unit: Unit, risk: Risk, mode: Mode, facts: CallFacts) -> Decision:
    held = facts.walled and is_shell(facts)
    if worst.rule.level is Level.DENY:
        return _because(worst, "deny", risk)
    if mode == "plan":
        return _in_plan(risk, held=held)
    asked: Finding | None = worst
    if held and mode in ("auto", "full"):
        asked = _unread(unit) or (_leaves(unit) if mode == "auto" else None)
    elif worst.rule.level is not Level.FIRM and (
        mode == "full" or (mode in ("edits", "auto") and _only_edits(unit) and (held or facts.effect == "write"))
    ):
        asked = None
    if asked is not None:
        return _because(asked, "ask", risk)
    return Decision(kind="allow", risk=risk, reason=f"{_UNASKED[mode]} {_reason(worst)}", rule=f"mode:{mode}")


def _in_plan(risk: Risk, *, held: bool) -> Decision:
    if not held:
        return Decision(kind="deny", risk=risk, reason=_REFUSED_IN_PLAN, rule="mode:plan")
    reason = "Plan mode lets it run, on read-only files and without the network."
    return Decision(kind="allow", risk=risk, reason=reason, rule="mode:plan", wall="read")


def _leaves(unit: Unit) -> Finding | None:
    """What of a command leaves the jail, or is beyond undo: all that `auto` asks about before it runs. The network is
    asked about when a connection is made, and by the host's name: a command's text tells neither surely."""
    for finding in unit.findings:
        rule = finding.rule
        leaves = rule.leaves not in (None, "network") and rule.level is not Level.SAFE
        if leaves or rule.name == "deletes-repository":
            return finding
    return None


def _unread(unit: Unit) -> Finding | None:
    """What keeps it from being read: it may be what is never allowed, so that a jail is not enough to let it."""
    for finding in unit.findings:
        name = finding.rule.name
        if name in ("not-understood", "hidden-code", "dynamic-danger"):
            return finding
    return None


def _only_edits(unit: Unit) -> bool:
    """Plain changes of the workspace's files, and nothing else."""
    return unit.known and unit.kind == "write" and all(finding.rule.risk != "high" for finding in unit.findings)


def _because(finding: Finding, kind: Kind, risk: Risk) -> Decision:
    return Decision(kind=kind, risk=risk, reason=_reason(finding), rule=f"builtin:{finding.rule.name}")


def _reason(finding: Finding) -> str:
    detail = shown(re.sub(r"[\0\1\2]+", "…", finding.detail).strip())
    short = detail if len(detail) <= 80 else detail[:79] + "…"
    return f"{finding.rule.reason} ({short})" if finding.detail else finding.rule.reason
