"""The one question this room answers: may this call run?"""

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from openagent.policy import paths
from openagent.policy.builtin import catalogue
from openagent.policy.builtin.catalogue import BuiltinRule, Finding, Level
from openagent.policy.builtin.network import host_of
from openagent.policy.facts import CallFacts, Decision, Kind
from openagent.policy.leaving import leaves
from openagent.policy.rules import CompiledRule, RuleSet, Target
from openagent.policy.units import Unit
from openagent.protocol.sessions import Mode, Risk

__all__ = [
    "CallFacts",
    "Decision",
    "RuleSet",
    "Verdict",
    "command_text",
    "decide",
    "is_command",
    "is_readable",
    "is_shell",
    "rule_meets",
    "units_of",
    "verdicts",
]

_SHELL_TOOLS = frozenset({"shell", "bash", "execute_bash", "run_shell_command"})
_HIDES_OUTPUT = re.compile(r"(?:&>>?|>&)\s*/dev/null|>\s*/dev/null\s+2>&1|2>\s*/dev/null\s+1?>\s*/dev/null")
_RISKS: tuple[Risk, ...] = ("low", "medium", "high")
_KINDS: tuple[Kind, ...] = ("allow", "ask", "deny")
_ONLY_READS = Decision(kind="allow", risk="low", reason="It only reads.", rule="builtin:read-only", wall="read")
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
_PATCHED_FILE = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) (?:[ab]/)?|rename to )([^\t\n]+)",
    re.MULTILINE,
)


class Verdict(Struct, frozen=True):
    """One simple command, or the call itself where it is no command, and what was decided about it."""

    text: str
    decision: Decision


def decide(facts: CallFacts, mode: Mode, rules: RuleSet) -> Decision:
    if facts.effect == "none":
        return Decision(kind="allow", risk="low", reason="It changes nothing.", rule="effect:none")
    units = units_of(facts)
    decision = _strictest([_about(unit, facts, mode, rules) for unit in units])
    if any(finding.rule is catalogue.NOT_UNDERSTOOD for unit in units for finding in unit.findings):
        decision = replace(decision, unread=True)
    if decision.rule != "builtin:read-only" and is_command(facts) and _HIDES_OUTPUT.search(facts.subject):
        risk = _RISKS[min(_RISKS.index(decision.risk) + 1, 2)]
        decision = replace(decision, risk=risk, reason=f"{decision.reason} It also hides its output.")
    return _walled(decision, facts, mode) if facts.effect == "execute" else decision


def _walled(decision: Decision, facts: CallFacts, mode: Mode) -> Decision:
    """What only reads, as far as can be told, runs where it can do nothing else, unless nothing is asked anyway."""
    if not facts.walled:
        return _unwalled(decision, facts, mode)
    if mode == "plan":
        return replace(decision, wall="read")
    return replace(decision, wall="write") if mode in ("auto", "full") else decision


def _unwalled(decision: Decision, facts: CallFacts, mode: Mode) -> Decision:
    """Nothing holds what runs: reading its text is not enough to let it."""
    if mode == "plan" and is_shell(facts):
        return replace(decision, kind="deny", reason=_NO_SHELL_IN_PLAN, rule="mode:plan", wall="write")
    if mode != "full" and decision.rule == "builtin:read-only" and is_shell(facts):
        reason = "It seems to only read, but without a jail nothing would keep it from doing more."
        return Decision(kind="ask", risk="low", reason=reason, rule="jail:none")
    return replace(decision, wall="write")


def is_shell(facts: CallFacts) -> bool:
    """Whether it runs in the session's shell."""
    return facts.effect == "execute" and (facts.tool in _SHELL_TOOLS or facts.tool in ("git", "execute_code"))


def is_command(facts: CallFacts) -> bool:
    return facts.effect == "execute" and (facts.tool in _SHELL_TOOLS or facts.tool == "git")


def is_readable(facts: CallFacts) -> bool:
    """Not where a command as a whole is none of the shell's language, as far as this room knows it."""
    if not is_command(facts):
        return True
    return not any(
        unit.argv == (command_text(facts),)
        and any(finding.rule is catalogue.NOT_UNDERSTOOD for finding in unit.findings)
        for unit in units_of(facts)
    )


def rule_meets(compiled: CompiledRule, facts: CallFacts) -> bool:
    return any(compiled.meets(_target(facts, unit)) == "yes" for unit in units_of(facts))


def verdicts(facts: CallFacts, mode: Mode, rules: RuleSet) -> list[Verdict]:
    """The decision about each part of a call."""
    return [Verdict(unit.text, _about(unit, facts, mode, rules)) for unit in units_of(facts)]


def _strictest(decisions: Sequence[Decision]) -> Decision:
    if not decisions:
        return _ONLY_READS
    if len(decisions) == 1:
        return decisions[0]
    strictest = max(
        decisions,
        key=lambda decision: (_KINDS.index(decision.kind), _RISKS.index(decision.risk), decision.wall == "write"),
    )
    wall = "write" if any(decision.wall == "write" for decision in decisions) else "read"
    return replace(strictest, risk=_highest(decision.risk for decision in decisions), wall=wall)


def _highest(risks: Iterable[Risk]) -> Risk:
    return _RISKS[max((_RISKS.index(risk) for risk in risks), default=0)]


# what a call consists of


def units_of(facts: CallFacts) -> list[Unit]:
    match facts.effect:
        case "execute":
            return _executed(facts)
        case "write":
            return [_written(facts, path) for path in _written_paths(facts)]
        case "network":
            return [Unit((facts.tool, facts.subject), known=True, findings=tuple(_fetched(facts.subject)))]
        case _:
            path = _path_argument(facts.arguments) or facts.subject
            credentials = paths.names_credentials(path, facts.workspace)
            findings = (Finding(catalogue.READS_CREDENTIALS, path),) if credentials else ()
            return [Unit((facts.tool, path), known=True, findings=findings, cwd=facts.workspace)]


def _executed(facts: CallFacts) -> list[Unit]:
    # Reading commands takes all that is known about them. Loading it is no part of a daemon's start.
    from openagent.policy.analysis import analyse, analyse_code

    language = str(facts.arguments.get("language", "")).lower()
    if facts.tool in _SHELL_TOOLS or language in ("bash", "sh", "shell"):
        return analyse(command_text(facts), facts.workspace, facts.cwd)
    if facts.tool == "git":
        return analyse(_git_command(facts), facts.workspace, facts.cwd)
    code = command_text(facts)
    return analyse_code(facts.tool, code, facts.workspace)


def command_text(facts: CallFacts) -> str:
    """The whole text that runs: a subject may be shortened for people."""
    for name in ("command", "code", "script"):
        if isinstance(given := facts.arguments.get(name), str):
            return given
    return facts.subject


def _git_command(facts: CallFacts) -> str:
    arguments = facts.arguments
    verb = next(
        (arguments[name] for name in ("operation", "subcommand", "command") if isinstance(arguments.get(name), str)),
        None,
    )
    if verb is None:
        return facts.subject if facts.subject.startswith("git") else f"git {facts.subject}"
    given: Any = arguments.get("args", arguments.get("arguments", []))
    if isinstance(given, str):
        return f"git {verb} {given}"
    return shlex.join(["git", *shlex.split(str(verb)), *(str(word) for word in given)])


def _path_argument(arguments: dict[str, Any]) -> str:
    for name in ("path", "file_path", "file", "filename", "directory"):
        if isinstance(given := arguments.get(name), str):
            return given
    return ""


def _written_paths(facts: CallFacts) -> list[str]:
    patch = facts.arguments.get("patch", facts.arguments.get("diff", ""))
    patched = [path.strip() for path in _PATCHED_FILE.findall(str(patch)) if path.strip() != "/dev/null"]
    named = _path_argument(facts.arguments)
    return list(dict.fromkeys([*patched, *([named] if named else [])])) or [facts.subject]


_WRITE_RULES: dict[str, BuiltinRule] = {
    "workspace": catalogue.WRITES_WORKSPACE,
    "protected": catalogue.PROTECTED_FILE,
    "startup": catalogue.PROTECTED_FILE,
    "system": catalogue.WRITES_SYSTEM,
    "device": catalogue.WRITES_DEVICE,
}


def _written(facts: CallFacts, path: str) -> Unit:
    place = paths.locate(path, facts.workspace, facts.workspace)
    rule = _WRITE_RULES.get(place, catalogue.WRITES_OUTSIDE)
    if place == "workspace" and paths.looks_secret(path):
        rule = catalogue.PROTECTED_FILE
    return Unit((facts.tool, path), known=True, findings=(Finding(rule, path),), cwd=facts.workspace)


def _fetched(subject: str) -> Iterable[Finding]:
    host = host_of(subject)
    yield Finding(catalogue.USES_NETWORK, host or subject)
    if host.startswith(("169.254.", "metadata.")) or subject.startswith("file:"):
        yield Finding(catalogue.SECRET_STORE, host or subject)


def _target(facts: CallFacts, unit: Unit) -> Target:
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


# what is decided about one part


def _about(unit: Unit, facts: CallFacts, mode: Mode, rules: RuleSet) -> Decision:
    worst = _worst(unit.findings)
    risk = _highest(finding.rule.risk for finding in unit.findings)
    if rules.compiled and (ruled := _ruled(_target(facts, unit), mode, rules, worst, risk)):
        return ruled
    return _builtin(worst, unit, risk, mode, facts) if worst else _ONLY_READS


def _worst(findings: Sequence[Finding]) -> Finding | None:
    findings = [finding for finding in findings if finding.rule.level is not Level.SAFE]
    if not findings:
        return None
    return max(findings, key=lambda finding: (finding.rule.level, _RISKS.index(finding.rule.risk)))


def _ruled(target: Target, mode: Mode, rules: RuleSet, worst: Finding | None, risk: Risk) -> Decision | None:
    """What the first rule that holds says; the rules stand strictest first. None: the built-in rules decide."""
    denied = worst is not None and worst.rule.level is Level.DENY
    for compiled in rules.compiled:
        meeting = compiled.meets(target)
        kind = compiled.rule.decision
        if meeting == "no" or (kind == "allow" and (denied or (mode == "plan" and worst is not None))):
            continue
        if kind == "ask" and (denied or mode == "plan"):
            continue
        if meeting == "maybe":
            if kind == "deny" and mode != "plan" and worst is not None and not denied:
                reason = "It may be something a rule forbids; that is decided only when it runs."
                return Decision(kind="ask", risk="high", reason=reason, rule=compiled.name)
            continue
        return _by_rule(compiled, risk)
    return None


def _by_rule(compiled: CompiledRule, risk: Risk) -> Decision:
    rule = compiled.rule
    if rule.decision != "allow":
        least: Risk = rule.risk or ("high" if rule.decision == "deny" else "medium")
        risk = _highest((risk, least))
    elif rule.risk:
        risk = rule.risk
    reason = (
        rule.reason
        or {
            "allow": "A rule allows it.",
            "ask": "A rule wants to be asked about it.",
            "deny": "A rule forbids it.",
        }[rule.decision]
    )
    return Decision(kind=rule.decision, risk=risk, reason=reason, rule=compiled.name)


def _builtin(worst: Finding, unit: Unit, risk: Risk, mode: Mode, facts: CallFacts) -> Decision:
    if worst.rule.level is Level.DENY:
        return _because(worst, "deny", risk)
    held = facts.walled and is_shell(facts)
    if mode == "plan":
        return _in_plan(risk, held=held)
    asked: Finding | None = worst
    if held and mode in ("auto", "full"):
        asked = leaves(unit) if mode == "auto" else None
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


def _because(finding: Finding, kind: Kind, risk: Risk) -> Decision:
    return Decision(kind=kind, risk=risk, reason=_reason(finding), rule=f"builtin:{finding.rule.name}")


def _only_edits(unit: Unit) -> bool:
    """Plain changes of the workspace's files, and nothing else."""
    return unit.known and unit.kind == "write" and all(finding.rule.risk != "high" for finding in unit.findings)


def _reason(finding: Finding) -> str:
    return f"{finding.rule.reason} ({_shown(finding.detail)})" if finding.detail else finding.rule.reason


def _shown(detail: str) -> str:
    plain = re.sub(r"[\0\1\2]+", "…", detail).strip()
    return plain if len(plain) <= 80 else plain[:79] + "…"
