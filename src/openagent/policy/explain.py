"""Why a command is decided as it is, and whether the rules do what their examples say."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from openagent.policy.builtin import catalogue
from openagent.policy.decision import about, decide, target_of
from openagent.policy.facts import CallFacts, Decision, Effect
from openagent.policy.hidden import shown
from openagent.policy.rules import CompiledRule, Meeting, Rule, RuleSet, Source, compile_rules, parse_rules
from openagent.policy.units import units_of
from openagent.protocol import words
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.safety import PolicyExplanation, RuleExample, Ruling
from openagent.protocol.sessions import Mode

_EXAMPLE_WORKSPACE = "/home/user/project"


_EFFECTS: dict[str, Effect] = {
    **dict.fromkeys(("read", "search"), "read"),
    **dict.fromkeys(("think", "ask", "agent"), "none"),
    "edit": "write",
    "fetch": "network",
}
"""By the kind of a tool. What runs something, and what nothing is known of, may do everything."""


def explain(
    command: str, mode: Mode, rules: RuleSet, workspace: str, tool: str = "shell", *, walled: bool = True
) -> PolicyExplanation:
    """The decision, and that about each simple command that would run. `command`: what the tool is given."""
    known = words.about(tool)
    effect = "execute" if known.runs else _EFFECTS.get(known.kind, "execute")
    facts = replace(
        _facts(command, tool, effect, workspace),
        walled=walled and words.is_known(tool),
        opens_files=effect in ("read", "write"),
    )
    steps = [_ruling(unit.text, about(unit, facts, mode, rules)) for unit in units_of(facts)]
    return PolicyExplanation(mode, _ruling(command, decide(facts, mode, rules)), steps)


def _ruling(command: str, decision: Decision) -> Ruling:
    return Ruling(shown(command, lines=True), decision.kind, decision.risk, decision.reason, decision.rule)


def load_rules(text: str, file: str, source: Source) -> list[Rule]:
    """The rules of a file's text. A rule that does not do what its own examples say is refused."""
    rules = parse_rules(text, file)
    for example in check_examples(rules, source):
        if example.expected != example.met:
            problem = "does not meet its own example" if example.expected else "meets an example it should not"
            raise OpenAgentError(
                "config_error",
                f"The rule {example.rule} in {file} {problem}: {example.command!r}.",
                hint="`openagent policy explain` shows how a command is read.",
            )
    return rules


def check_examples(rules: Sequence[Rule], source: Source) -> list[RuleExample]:
    return [
        RuleExample(compiled.name, text, expected, _meets(compiled, text))
        for compiled in compile_rules(rules, source)
        for text, expected in _examples(compiled.rule)
    ]


def check_builtin_examples() -> list[RuleExample]:
    return [
        RuleExample(f"builtin:{name}", text, expected, any(unit.meets(name) for unit in units_of(_facts(text))))
        for name, rule in catalogue.rules().items()
        for text, expected in _examples(rule)
    ]


def _examples(rule: Rule | catalogue.BuiltinRule) -> Iterable[tuple[str, bool]]:
    return [*((text, True) for text in rule.match), *((text, False) for text in rule.not_match)]


def _facts(text: str, tool: str = "shell", effect: Effect = "execute", workspace: str = "") -> CallFacts:
    runs = words.about(tool).runs if effect == "execute" else ""
    return CallFacts(tool=tool, effect=effect, subject=text, workspace=workspace or _EXAMPLE_WORKSPACE, runs=runs)


def _meets(compiled: CompiledRule, example: str) -> bool:
    rule = compiled.rule
    if compiled.about_commands or (not rule.path and not rule.host and rule.tool in ("", "shell")):
        facts = _facts(example, rule.tool or "shell", "execute", rule.workspace)
    elif rule.host:
        facts = _facts(example, rule.tool or "web_fetch", "network", rule.workspace)
    else:
        facts = _facts(example, rule.tool or "write_file", "write", rule.workspace)
    return any(compiled.meets(target_of(facts, unit)) is Meeting.YES for unit in units_of(facts))
