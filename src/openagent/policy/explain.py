"""Why a command is decided as it is, and whether the rules do what their examples say."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from openagent.policy.decision import decide, rule_meets, verdicts
from openagent.policy.facts import CallFacts, Decision
from openagent.policy.rules import CompiledRule, Rule, RuleSet, Source, parse_rules
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import Mode

_BUILTIN_EXAMPLES = Path(__file__).parent / "builtin" / "examples.toml"
_EXAMPLE_WORKSPACE = "/home/user/project"


class Step(Struct, frozen=True):
    """One simple command that would run."""

    command: str
    decision: Decision


class Explanation(Struct, frozen=True):
    command: str
    mode: Mode
    decision: Decision
    steps: list[Step]


class Example(Struct, frozen=True):
    """One example of one rule."""

    rule: str
    command: str
    expected: bool
    """The rule should meet it."""
    met: bool

    @property
    def passed(self) -> bool:
        return self.expected == self.met


def explain(command: str, mode: Mode, rules: RuleSet, workspace: str, tool: str = "shell") -> Explanation:
    facts = CallFacts(tool=tool, effect="execute", subject=command, workspace=workspace)
    steps = [Step(verdict.text, verdict.decision) for verdict in verdicts(facts, mode, rules)]
    return Explanation(command, mode, decide(facts, mode, rules), steps)


def load_rules(text: str, file: str, source: Source) -> list[Rule]:
    """The rules of a file's text. A rule that does not do what its own examples say is refused."""
    rules = parse_rules(text, file)
    for example in check_examples(rules, source):
        if not example.passed:
            problem = "does not meet its own example" if example.expected else "meets an example it should not"
            raise OpenAgentError(
                "config_error",
                f"The rule {example.rule} in {file} {problem}: {example.command!r}.",
                hint="`openagent policy explain` shows how a command is read.",
            )
    return rules


def check_examples(rules: Sequence[Rule], source: Source) -> list[Example]:
    examples: list[Example] = []
    for number, rule in enumerate(rules, 1):
        compiled = CompiledRule(rule, source, number)
        for expected, texts in ((True, rule.match), (False, rule.not_match)):
            examples.extend(Example(compiled.name, text, expected, _meets(compiled, text)) for text in texts)
    return examples


def check_builtin_examples() -> list[Example]:
    from openagent.policy.analysis import analyse  # as in `decision`: not with every daemon's start

    examples: list[Example] = []
    for name, texts in tomllib.loads(_BUILTIN_EXAMPLES.read_text()).items():
        for expected, key in ((True, "match"), (False, "not_match")):
            for text in texts[key]:
                met = any(f.rule.name == name for unit in analyse(text, _EXAMPLE_WORKSPACE) for f in unit.findings)
                examples.append(Example(f"builtin:{name}", text, expected, met))
    return examples


def _meets(compiled: CompiledRule, example: str) -> bool:
    rule = compiled.rule
    workspace = rule.workspace or _EXAMPLE_WORKSPACE
    if compiled.about_commands or (not rule.path and not rule.host and rule.tool in ("", "shell")):
        facts = CallFacts(tool=rule.tool or "shell", effect="execute", subject=example, workspace=workspace)
    elif rule.host:
        facts = CallFacts(tool=rule.tool or "web_fetch", effect="network", subject=example, workspace=workspace)
    else:
        facts = CallFacts(tool=rule.tool or "write_file", effect="write", subject=example, workspace=workspace)
    return rule_meets(compiled, facts)
