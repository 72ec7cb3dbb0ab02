"""What a call consists of, as far as rules are about it: one simple command, one redirection, one file."""

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from openagent.policy import paths
from openagent.policy.builtin.catalogue import KINDS, Finding, Kind, Level, Way, hit, write_rule
from openagent.policy.builtin.network import host_of
from openagent.policy.facts import CallFacts

WRITES = ("rw:", "write:")
"""Before the folder that a call asks to write to."""


class Unit(Struct, frozen=True):
    """One simple command, or one redirection."""

    argv: tuple[str, ...]
    known: bool = True
    """Every word of it is."""
    findings: tuple[Finding, ...] = ()
    cwd: str | None = None
    redirection: bool = False

    @property
    def level(self) -> Level:
        return max((finding.rule.level for finding in self.findings), default=Level.SAFE)

    @property
    def kind(self) -> Kind:
        """What it is believed to do, all in all."""
        return KINDS[max((KINDS.index(finding.rule.kind) for finding in self.findings), default=0)]

    @property
    def leaves(self) -> dict[Way, str]:
        """The ways by which it leaves the jail, each with what it is about."""
        return {finding.rule.leaves: finding.detail for finding in self.findings if finding.rule.leaves}

    @property
    def text(self) -> str:
        return re.sub(r"[\0\1\2]+", "…", " ".join(self.argv) if self.redirection else shlex.join(self.argv))

    @property
    def hosts(self) -> list[str]:
        return [host for word in self.argv[1:] if (host := host_of(word))]

    @property
    def paths(self) -> list[str]:
        words = [word.partition("=")[2] if word.startswith("-") and "=" in word else word for word in self.argv[1:]]
        return [
            paths.resolve(word, self.cwd) for word in words if word and not word.startswith("-") and "://" not in word
        ]

    def meets(self, rule: str) -> bool:
        """One of the built-in rules."""
        return any(finding.rule.name == rule for finding in self.findings)


def is_command(facts: CallFacts) -> bool:
    return facts.effect == "execute" and facts.runs == "command"


def asks_to_write(facts: CallFacts) -> bool:
    """It says so itself, however much it seems to only read."""
    given = facts.arguments.get("leave") or ()
    return any(str(each).strip().startswith(WRITES) for each in given)


def is_shell(facts: CallFacts) -> bool:
    """Whether it runs in the session's shell."""
    return facts.effect == "execute" and facts.runs != ""


def is_readable(facts: CallFacts) -> bool:
    """Not where a command as a whole is none of the shell's language, as far as this room knows it."""
    whole = (command_text(facts),)
    return not is_command(facts) or not any(
        unit.argv == whole and unit.meets("not-understood") for unit in units_of(facts)
    )


def command_text(facts: CallFacts) -> str:
    """The whole text that runs: a subject may be shortened for people."""
    return facts.text or facts.subject


def units_of(facts: CallFacts) -> Sequence[Unit]:
    match facts.effect:
        case "execute":
            return _executed(facts)
        case "write":
            return [_written(facts, path) for path in facts.paths or (facts.subject,)]
        case "network":
            return [Unit((facts.tool, url), findings=_fetched(url)) for url in facts.urls or (facts.subject,)]
        case _:
            return [_read(facts, path) for path in facts.paths or (facts.subject,)]


def _executed(facts: CallFacts) -> Sequence[Unit]:
    shell = facts.runs in ("command", "bash")
    return _analysed("" if shell else facts.tool, command_text(facts), facts.workspace, facts.cwd)


@lru_cache(maxsize=32)
def _analysed(tool: str, text: str, workspace: str, cwd: str) -> Sequence[Unit]:
    """Kept for a while: a step asks for the same command's several times (to decide, to offer, to open a jail)."""
    # Reading commands takes all that is known about them. Loading it is no part of a daemon's start.
    from openagent.policy.analysis import analyse, analyse_code

    return analyse_code(tool, text, workspace) if tool else analyse(text, workspace, cwd)


def _read(facts: CallFacts, path: str) -> Unit:
    secret = paths.names_credentials(path, facts.workspace)
    return Unit((facts.tool, path), findings=(hit("reads-credentials", path),) * secret, cwd=facts.workspace)


def _written(facts: CallFacts, path: str) -> Unit:
    rule = write_rule(paths.locate(path, facts.workspace, facts.workspace), path)
    return Unit((facts.tool, path), findings=(hit(rule, path),), cwd=facts.workspace)


def _fetched(subject: str) -> tuple[Finding, ...]:
    host = host_of(subject)
    secret = host.startswith(("169.254.", "metadata.")) or subject.startswith("file:")
    return (hit("uses-network", host or subject), *([hit("secret-store", host or subject)] if secret else []))
