"""What leaves the jail: the only thing that `auto` asks about before it runs. The rest runs, and meets the walls."""

from openagent.policy.builtin import catalogue
from openagent.policy.builtin.catalogue import Finding, Level
from openagent.policy.units import Unit

_ASKED_AT_THE_DOOR = "network"
"""When a connection is made, and by the host's name: a command's text tells neither surely."""


def leaves(unit: Unit) -> Finding | None:
    """What of a command leaves the jail, or is beyond undo; None when all of it stays."""
    for finding in unit.findings:
        rule = finding.rule
        if rule is catalogue.DELETES_REPOSITORY:
            return finding
        if rule.leaves and rule.leaves != _ASKED_AT_THE_DOOR and rule.level is not Level.SAFE:
            return finding
    return None
