"""What a call consists of, as far as rules are about it: one simple command, one redirection, one file."""

import re
import shlex

from msgspec import Struct

from openagent.policy import paths
from openagent.policy.builtin.catalogue import KINDS, Finding, Kind, Level, Way
from openagent.policy.builtin.network import host_of


class Unit(Struct, frozen=True):
    """One simple command, or one redirection."""

    argv: tuple[str, ...]
    known: bool
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
        shown = " ".join(shlex.quote(word) for word in self.argv) if not self.redirection else " ".join(self.argv)
        return re.sub(r"[\0\1\2]+", "…", shown)

    @property
    def hosts(self) -> list[str]:
        return [host for word in self.argv[1:] if (host := host_of(word))]

    @property
    def paths(self) -> list[str]:
        words = [word.partition("=")[2] if word.startswith("-") and "=" in word else word for word in self.argv[1:]]
        return [
            paths.resolve(word, self.cwd) for word in words if word and not word.startswith("-") and "://" not in word
        ]
