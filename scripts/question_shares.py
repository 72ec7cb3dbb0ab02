"""How often each mode asks about recorded commands: `python scripts/question_shares.py COMMANDS.jsonl [--markdown]`.

Each line of the file is an object with `command` and `from`, the kind of recording. Every command is decided on by
itself, with no rule of anybody's, in a workspace of that name.
"""

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from openagent.policy.decision import decide
from openagent.policy.facts import CallFacts, Kind
from openagent.policy.rules import RuleSet
from openagent.protocol.sessions import Mode

WORKSPACE = "/home/user/project"
MODES: tuple[Mode, ...] = get_args(Mode)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--markdown", action="store_true", help="a table for docs/safety.md")
    parser.add_argument(
        "--why", metavar="MODE", choices=MODES, help="count what is asked about in a mode, and for what"
    )
    given = parser.parse_args(arguments)
    records = [json.loads(line) for line in given.file.read_text().splitlines()]
    commands = [(str(record["from"]), str(record["command"])) for record in records]
    if given.why:
        return _why(commands, given.why)
    kinds = sorted({origin for origin, _ in commands})
    decided: dict[tuple[Mode, str], Counter[Kind]] = {}
    took: list[float] = []
    for mode in MODES:
        for origin, command in commands:
            began = time.perf_counter()
            kind = decide(_facts(command), mode, RuleSet()).kind
            took.append(time.perf_counter() - began)
            decided.setdefault((mode, origin), Counter())[kind] += 1
    head = ["mode", *(f"asked, {origin}" for origin in kinds), *(f"refused, {origin}" for origin in kinds)]
    rows = [
        [mode, *(_share(decided[mode, o], "ask") for o in kinds), *(_share(decided[mode, o], "deny") for o in kinds)]
        for mode in MODES
    ]
    edge = "| " if given.markdown else ""
    for row in (head, *([["---"] * len(head)] if given.markdown else []), *rows):
        print(edge + (" | " if given.markdown else "\t").join(row) + edge[::-1])
    p99 = statistics.quantiles(took, n=100)[98]
    print(f"{len(commands)} commands; one decision: p99 {p99 * 1000:.1f} ms.", file=sys.stderr)
    return 0


def _facts(command: str) -> CallFacts:
    arguments = {"command": command}
    return CallFacts(
        tool="shell", effect="execute", subject=command, workspace=WORKSPACE, arguments=arguments, runs="command"
    )


def _share(counted: Counter[Kind], kind: Kind) -> str:
    return f"{100 * counted[kind] / counted.total():.1f} %"


def _why(commands: Sequence[tuple[str, str]], mode: Mode) -> int:
    found: Counter[tuple[str, str]] = Counter()
    for _, command in commands:
        decision = decide(_facts(command), mode, RuleSet())
        if decision.kind != "allow":
            found[decision.kind, decision.rule] += 1
            print(f"{decision.kind}\t{decision.rule}\t{decision.reason}\t{command[:160]!r}")
    for (kind, rule), number in found.most_common():
        print(f"{number}\t{kind}\t{rule}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
