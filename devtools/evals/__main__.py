"""`python -m devtools.evals recall`: what collectors keep, as a table; `--write` puts it into docs/context.md.
`python -m devtools.evals replay FILE…`: recorded sessions of other agents, made again here."""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import get_args

import msgspec

from devtools.evals.recall import COLLECTORS, FACTS, PLACES, RULES, TURNS, Recall, measure
from devtools.evals.recordings import read
from devtools.evals.replay import (
    PATIENCE,
    Replayed,
    Tally,
    began_at,
    files_of,
    lay_out,
    placed,
    replay,
    script_of,
    undo_all,
)
from devtools.evals.stage import WIRES, Stage, stage
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import Mode
from openagent.protocol.tools import ToolsList

PAGE = Path("docs/context.md")
BEGIN, END = "<!-- generated: python -m devtools.evals recall --write -->\n", "<!-- end of generated -->\n"
_MOST_SHOWN = 25


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m devtools.evals", description=__doc__)
    evaluations = parser.add_subparsers(dest="evaluation", required=True)
    recalling = evaluations.add_parser("recall", help="what collectors keep")
    recalling.add_argument("--turns", type=int, default=TURNS)
    recalling.add_argument("--facts", type=int, default=FACTS)
    recalling.add_argument("--collector", choices=COLLECTORS, action="append")
    recalling.add_argument("--json", action="store_true", help="print JSON instead of a table")
    recalling.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    replaying = evaluations.add_parser("replay", help="recorded sessions of Claude Code and codex (JSONL)")
    replaying.add_argument("recordings", type=Path, nargs="+", metavar="FILE")
    replaying.add_argument("--wire", choices=[*WIRES, "all"], default="chat", help="the format the model speaks")
    replaying.add_argument("--model", default="scripted", help="its name: that of a family gets that family's tools")
    replaying.add_argument("--as-recorded", action="store_true", help="calls with the names they had there")
    start = replaying.add_mutually_exclusive_group()
    start.add_argument("--files", type=Path, help="a folder to start from (default: an empty one)")
    start.add_argument("--history", type=Path, help="a git directory; starts from the commit of the recording's time")
    replaying.add_argument("--mode", choices=get_args(Mode), default="full")
    replaying.add_argument("--answer", choices=["once", "session"], default="once", help="for how long all is allowed")
    replaying.add_argument("--jail", choices=["bwrap", "host"], default="bwrap")
    replaying.add_argument("--patience", type=float, default=PATIENCE, help="seconds until a turn counts as hung")
    replaying.add_argument("--undo", action="store_true", help="take all of each session back, and compare the files")
    replaying.add_argument("--json", action="store_true", help="print JSON instead of a summary")
    given = parser.parse_args(arguments)
    if given.evaluation == "replay":
        return asyncio.run(_replay(given))
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


async def _replay(given: argparse.Namespace) -> int:
    wires = list(WIRES) if given.wire == "all" else [given.wire]
    results: list[Replayed] = []
    async with stage({"steps": []}, "", jail=given.jail) as there:
        for path in given.recordings:
            for wire in wires:
                try:
                    results.append(await _replay_one(there, path, wire, given))
                except OpenAgentError as problem:
                    sys.stderr.write(f"{path}: {problem}\n")
                    continue
                last = results[-1]
                sys.stderr.write(f"{path} ({wire}): {last.handed_out} calls, {last.seconds:.1f} s, {last.ends}\n")
    if given.json:
        sys.stdout.write(msgspec.json.encode(results).decode() + "\n")
    else:
        sys.stdout.write(summary(results))
    return 0 if all(result.well for result in results) else 1


async def _replay_one(there: Stage, path: Path, wire: str, given: argparse.Namespace) -> Replayed:
    client = there.client
    tools = await client.request(ToolsList(id=client.next_id()))
    recording = read(path, [tool.name for tool in tools.tools])
    workspace = there.workspace / str(len(list(there.workspace.iterdir())))
    await asyncio.to_thread(
        lay_out, workspace, files=given.files, history=given.history, began=began_at(recording, path)
    )
    recording = placed(recording, workspace)
    await there.play(script_of(recording, as_recorded=given.as_recorded))
    info = await client.create_session(
        str(workspace), model=f"{WIRES[wire][0]}/{given.model}", mode=given.mode, max_steps=10_000
    )
    before = await asyncio.to_thread(files_of, workspace) if given.undo else {}
    result = await replay(client, recording, info.id, patience=given.patience, scope=given.answer)
    if given.undo:
        result.undone = await undo_all(client, info.id, workspace, before)
    return result


def summary(results: Sequence[Replayed]) -> str:
    ends = Counter(end for result in results for end in result.ends)
    tallies: dict[str, Tally] = {}
    for name, each in ((name, each) for result in results for name, each in result.calls.items()):
        tally = tallies.setdefault(name, Tally())
        tally.calls += each.calls
        tally.failed_here += each.failed_here
        tally.failed_there += each.failed_there
        tally.only_here += each.only_here
    lines = [f"{len(results)} sessions; turns ended: {', '.join(f'{end} {count}' for end, count in ends.items())}"]
    lines += ["", "| tool | calls | failed here | failed there | only here |", "|---|---|---|---|---|"]
    lines += [
        f"| {name} | {each.calls} | {each.failed_here} | {each.failed_there} | {each.only_here} |"
        for name, each in sorted(tallies.items())
    ]
    questions = [len(result.asked) for result in results]
    if any(questions):
        lines += ["", f"Questions: {sum(questions)}; median {median(questions):g} a session, at most {max(questions)}"]
        kinds = Counter(asked for result in results for asked in result.asked)
        lines += [f"  {count} × {asked[:200]}" for asked, count in kinds.most_common(_MOST_SHOWN)]
    if undone := [result.undone for result in results if result.undone is not None]:
        worked = [each for each in undone if each.changed]
        whole = sum(not each.left for each in worked)
        left, changed = sum(len(each.left) for each in worked), sum(each.changed for each in worked)
        took = [each.seconds for each in undone]
        lines += [
            "",
            f"Undone: {whole} of {len(worked)} sessions that changed files left none behind; {left} of {changed} files "
            f"did not go back; a rewind took {median(took):.2f} s, at most {max(took):.2f} s",
        ]
        lines += [f"  {path}" for each in worked for path in each.left][:_MOST_SHOWN]
        lines += [f"  said: {why}" for each in worked for why in each.told][:_MOST_SHOWN]
    left_out = sum((Counter(result.left_out) for result in results), Counter[str]())
    if left_out:
        lines += ["", f"No counterpart here: {', '.join(f'{name} {count}' for name, count in left_out.most_common())}"]
    differences = [(result.name, each) for result in results for each in result.differences if each.tool != "shell"]
    for name, each in differences[:_MOST_SHOWN]:
        lines += ["", f"{name}: {each.tool} {msgspec.json.encode(each.arguments).decode()[:200]}"]
        lines += (
            ["  made here at the first attempt, which was refused there"] if each.made_before else [f"  {each.here}"]
        )
    return "\n".join(lines) + "\n"


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
