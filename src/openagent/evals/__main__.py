"""`python -m openagent.evals recall`: what collectors keep, as a table; `--write` puts it into docs/context.md."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from openagent.evals.recall import COLLECTORS, FACTS, PLACES, RULES, TURNS, Recall, measure

PAGE = Path("docs/context.md")
BEGIN, END = "<!-- generated: python -m openagent.evals recall --write -->\n", "<!-- end of generated -->\n"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m openagent.evals", description=__doc__)
    parser.add_argument("evaluation", choices=["recall"])
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--facts", type=int, default=FACTS)
    parser.add_argument("--collector", choices=COLLECTORS, action="append")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    given = parser.parse_args(arguments)
    measured = asyncio.run(_measure(given.collector or COLLECTORS, given.turns, given.facts))
    if given.json:
        sys.stdout.write(msgspec.json.encode(measured).decode() + "\n")
    else:
        sys.stdout.write(table(measured, given.turns))
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(before + BEGIN + table(measured, given.turns) + END + rest.partition(END)[2], encoding="utf-8")
    return 0


async def _measure(collectors: Sequence[str], turns: int, facts: int) -> list[Recall]:
    measured: list[Recall] = []
    for collector in collectors:
        for looks_up in (False, True):
            measured.append(await measure(collector, looks_up=looks_up, turns=turns, facts=facts))
            sys.stderr.write(f"{collector}, {'with' if looks_up else 'without'} recall: {measured[-1].percent:.0f} %\n")
    return measured


def table(measured: Sequence[Recall], turns: int) -> str:
    asked = measured[0].asked
    money = ("tokens kept", "cost", "of it summaries")
    heads = ("collector", "`recall`", "recall %", *PLACES, "rules", "collections", *money)
    lines = [f"{asked} facts planted in {turns} turns, asked for afterwards; {len(RULES)} rules in AGENTS.md.", ""]
    lines += [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for each in measured:
        cells = (
            each.collector,
            "used" if each.looks_up else "not used",
            f"**{each.percent:.0f}**",
            *(f"{each.known[place]}/{asked // len(PLACES)}" for place in PLACES),
            f"{each.known['rules']}/{len(RULES)}",
            str(each.collections),
            f"{each.tokens_kept:,}",
            f"${each.cost_usd:.2f}",
            f"${each.summaries_usd:.3f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
