"""What a person's "for this session" or "always" becomes: a rule, as wide as the person chose, and its words."""

import os.path
import re
import shlex
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from openagent.grants.prefixes import is_program, prefix_of
from openagent.policy.builtin.catalogue import Level
from openagent.policy.builtin.network import host_of
from openagent.policy.decision import about
from openagent.policy.facts import CallFacts
from openagent.policy.hidden import shown
from openagent.policy.paths import glob_escape, glob_text, is_inside
from openagent.policy.rules import Rule, RuleSet, listed
from openagent.policy.units import Unit, is_command, is_shell, units_of
from openagent.protocol.sessions import GrantBy, GrantScope, Mode, PermissionChoice

UNSAVED = "unsaved"
"""What files are asked about as that undo could not bring back."""
_OUTSIDE = {"folder": "Reading anything", "folder_write": "Reading and writing anything"}
"""What a folder outside is asked about as."""
_BY_NAME = {"engine": "The {}", "credential": "The credential `{}`"}
"""What else is asked about that is no call: it is known by its name alone."""
_MOST_PREFIXES = 3
"""More commands in one line than these are allowed by the line itself."""
_LONGEST = 120
_NEVER_WIDE = ("steers-program", "own-variables")
_PLAIN_WRITES = frozenset(("writes-workspace", "writes-outside"))
_FOR_HOW_LONG: dict[GrantScope, str] = {
    "once": "this one time",
    "session": "for the rest of this session",
    "always": "always in this workspace",
}


class Offer(Struct, frozen=True):
    """One way to allow a call."""

    choice: PermissionChoice
    rule: Rule | None = None
    """None: this one time."""


def offers(facts: CallFacts, mode: Mode, rules: RuleSet) -> list[Offer]:
    """Once, for the session and always, each as a sensible person would mean it; then other widths."""
    return offers_of(_widths(facts, mode, rules))


def offers_of(widths: Sequence[tuple[GrantBy, Rule]]) -> list[Offer]:
    """`widths` are rules without a reason, the one that is meant by a scope alone first."""
    found = [Offer(PermissionChoice("once", "once", "call", "Only this, this one time."))]
    scopes: tuple[GrantScope, ...] = ("session", "always")
    for number, (by, rule) in enumerate(widths):
        for scope in scopes:
            covers = f"{words(rule)}, {_FOR_HOW_LONG[scope]}."
            name = scope if number == 0 else f"{scope}:{by}"
            found.append(Offer(PermissionChoice(name, scope, by, covers), _reasoned(rule, scope)))
    return found


def _reasoned(rule: Rule, scope: GrantScope) -> Rule:
    return replace(rule, reason="You allowed it for this session." if scope == "session" else "You allowed it always.")


def _widths(facts: CallFacts, mode: Mode, rules: RuleSet) -> list[tuple[GrantBy, Rule]]:
    base = Rule(decision="allow", tool=facts.tool, workspace=facts.workspace, granted=True)
    if is_command(facts):
        return _for_command(base, facts, _asked_about(facts, mode, rules))
    units = units_of(facts)
    wide = replace(base, about=_findings(units))
    files = [path for unit in units for path in unit.paths]
    if facts.effect in ("write", "read") and len(files) == 1:
        return _for_file(base, wide, files[0], facts.workspace)
    if facts.effect == "write":
        return [("file", replace(base, path=[glob_escape(path) for path in files]))]
    if facts.effect == "network" and (host := host_of(next(iter(facts.urls), facts.subject))):
        return [("host", replace(wide, host=[glob_escape(host)]))]
    if is_shell(facts):
        return [("exact", replace(base, text=facts.subject))]
    return [("tool", wide)]


def _asked_about(facts: CallFacts, mode: Mode, rules: RuleSet) -> list[Unit]:
    """The commands of a line that need leave; where only the line as a whole does, all that do anything."""
    units = units_of(facts)
    asked = [unit for unit in units if about(unit, facts, mode, rules).kind == "ask"]
    return asked or [unit for unit in units if unit.level is not Level.SAFE]


def _for_command(base: Rule, facts: CallFacts, asked: Sequence[Unit]) -> list[tuple[GrantBy, Rule]]:
    exact = replace(base, text=facts.subject)
    if len(asked) == 1 and _is_plain(asked[0]):  # by its words it is also met beside others
        exact = replace(base, argv=list(asked[0].argv), about=_findings(asked))
    engines = _engines(base, asked)
    prefixes = list(dict.fromkeys(_prefix(unit) for unit in asked))
    if not prefixes or not all(prefixes) or len(prefixes) > _MOST_PREFIXES:
        return [*engines, ("exact", exact)]
    wide = replace(base, command=[" ".join(prefix) for prefix in prefixes], about=_findings(asked))
    proposed = _proposed(facts, asked[0], prefixes[0]) if len(asked) == 1 else ""
    narrower: list[tuple[GrantBy, Rule]] = [("prefix", replace(wide, command=[proposed]))] if proposed else []
    return [*engines, ("prefix", wide), ("exact", exact), *narrower]


def _engines(base: Rule, asked: Sequence[Unit]) -> list[tuple[GrantBy, Rule]]:
    """Whoever works with containers does so all the time, and once a jail is open to the engine, to ask about each
    command protects nothing: all that a program does with them, and nothing that would leave a container or reach what
    is not its own."""
    plain = all(unit.known and _findings([unit]) == ["containers"] for unit in asked)
    programs = list(dict.fromkeys(unit.argv[0] for unit in asked))
    if not asked or not plain or not all(map(is_program, programs)):
        return []
    return [("tool", replace(base, command=programs, about=["containers"]))]


def _proposed(facts: CallFacts, unit: Unit, prefix: tuple[str, ...]) -> str:
    """What the model would like to be granted (`prefix_rule`), where it is narrower than what is offered anyway."""
    given: Sequence[str] = facts.arguments.get("prefix_rule") or ()
    words = tuple(given)
    fits = len(prefix) < len(words) < len(unit.argv) and unit.argv[: len(words)] == words
    return shlex.join(words) if fits and _is_plain(unit) else ""


def _prefix(unit: Unit) -> tuple[str, ...]:
    """Not of a redirection, nor of what is asked about in every mode, nor of what is more than its first words say."""
    wide = not unit.redirection and unit.level <= Level.ASK and not any(map(unit.meets, _NEVER_WIDE))
    return prefix_of(unit.argv) if wide else ()


def _is_plain(unit: Unit) -> bool:
    """Its words are what they seem, today and tomorrow."""
    same = unit.known and not any(character in word for word in unit.argv for character in "*?[")
    return same and not unit.redirection and unit.level is Level.ASK and not unit.meets("own-variables")


def _findings(units: Iterable[Unit]) -> list[str]:
    return sorted({finding.rule.name for unit in units for finding in unit.findings})


def _for_file(base: Rule, wide: Rule, path: str, workspace: str) -> list[tuple[GrantBy, Rule]]:
    found: list[tuple[GrantBy, Rule]] = [("file", replace(base, path=[glob_escape(path)]))]
    if not _PLAIN_WRITES.issuperset(wide.about):  # what is protected or secret is allowed by its name alone
        return found
    folder = os.path.dirname(path)
    if folder not in ("", "/", "~") and not is_inside(workspace, folder):
        found.append(("folder", replace(wide, path=[f"{glob_escape(folder)}/**"])))
    if is_inside(path, workspace):
        found.append(("tool", replace(wide, path=[f"{glob_escape(workspace)}/**"])))
    return found


# In words


def words(rule: Rule) -> str:
    """What a rule that allows something covers, to be followed by for how long."""
    return shown(_covers(rule))


def _covers(rule: Rule) -> str:
    if rule.argv:
        return f"Exactly `{_short(' '.join(map(_shown, rule.argv)))}`"
    if rule.text:
        return _BY_NAME.get(rule.tool, "Exactly `{}`").format(_short(rule.text))
    hosts = " or ".join(f"`{glob_text(host)}`" for host in listed(rule.host))
    if commands := listed(rule.command):
        told = " or ".join(f"`{command}`" for command in commands)
        it, does = ("it", "does") if len(commands) == 1 else ("they", "do")
        after = f"with any arguments, unless they change what {it} {does}"
        if not rule.about:
            after = f"and anything after {it if it == 'it' else 'them'}"
        return f"{told} {after}" + (f" to {hosts}" if hosts else "")
    if paths := listed(rule.path):
        what = _OUTSIDE.get(rule.tool) or f"Any `{rule.tool}`"
        return f"{what} {_places(paths, rule.workspace)}" if rule.tool != UNSAVED else _beyond_undo(rule, paths)
    if hosts:
        return f"Connections to {hosts}" if rule.tool == "network" else f"Any `{rule.tool}` of {hosts}"
    return f"Any call of `{rule.tool}`"


def _beyond_undo(rule: Rule, paths: Sequence[str]) -> str:
    places = " or ".join(f"`{_within(glob_text(path), rule.workspace)}`" for path in paths)
    return f"Changing what undo cannot bring back in {places}"


def _places(globs: Sequence[str], workspace: str) -> str:
    folders = [glob.removesuffix("/**") for glob in globs if glob.endswith("/**")]
    files = [glob_text(glob) for glob in globs if not glob.endswith("/**") and glob not in folders]
    below = [glob_text(folder) for folder in folders]
    return " or ".join(
        [
            *(f"of `{_within(file, workspace)}`" for file in files),
            *("of a plain file" if each == workspace else f"below `{_within(each, workspace)}/`" for each in below),
        ]
    )


def _within(path: str, workspace: str) -> str:
    return os.path.relpath(path, workspace) if workspace and is_inside(path, workspace) else path


def _shown(word: str) -> str:
    """As a person would write it: a `~` needs no quotes."""
    return word if re.fullmatch(r"[\w@%+=:,./~^{}-]+", word) else shlex.quote(word)


def _short(text: str) -> str:
    line = " ".join(shown(text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
