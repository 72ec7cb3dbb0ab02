"""What a session still knows after collections: facts planted over many turns, asked for at the end.

The model is scripted and knows only what a request shows it, so an answer can only be right when the collector kept the
fact, or when the model found it again with `recall`. Its summaries hold the sentences that state a decision: how well a
real model summarises is not measured here.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from devtools.evals.stage import MODEL, Stage, stage
from openagent.client import Client
from openagent.protocol.context import ContextShow
from openagent.protocol.usage import UsageAsk

COLLECTORS = ("truncate", "summarize", "hybrid", "evict")
TURNS = 200
FACTS = 40
PLACES = ("decision", "path", "aside", "output")
"""Stated as a decision; a path that was named; said in passing; printed by a tool."""
Place = Literal["decision", "path", "aside", "output"]
RULES = [
    "Write every date as year-month-day.",
    "Keep the public functions of module harbour unchanged.",
    "Never add a dependency without asking.",
]
CONFIG = """
[context]
threshold = {threshold}
goal = {goal}
keep_turns = 5
[prices."compatible/scripted"]
input = 3.0
output = 15.0
"""
THRESHOLD, GOAL = 16.0, 8.0
"""Percent of 128,000 tokens: as if the window were a sixth of that, so that 200 turns are collected many times."""
_FILLER = "all green\n" * 40
"""What a turn's command prints beside what it is for."""


class Planted(Struct, frozen=True):
    turn: int
    place: Place
    said: str
    asked: str
    shown: str
    answer: str
    printed: str = ""
    """What the command of `said` prints: the only place where the fact stands."""


class Recall(Struct, frozen=True):
    collector: str
    looks_up: bool
    asked: int
    known: dict[str, int]
    """Right answers by where the fact was planted; `rules` are those of AGENTS.md."""
    collections: int
    tokens_kept: int
    """What the model is shown at the end of the turns."""
    cost_usd: float
    summaries_usd: float

    @property
    def percent(self) -> float:
        facts = sum(count for place, count in self.known.items() if place != "rules")
        return 100.0 * facts / self.asked


def plant(turns: int, facts: int) -> list[Planted]:
    """In the first three quarters, so that all of them grow old."""
    return [_planted(number, 1 + number * (turns * 3 // 4) // facts) for number in range(facts)]


def _planted(number: int, turn: int) -> Planted:
    place = PLACES[number % len(PLACES)]
    name = f"{number:02d}"
    value = f"{(number + 7) * 7919 % 100_000:05d}"
    if place == "decision":
        said = f"We decided that service s{name} listens on port p{value}."
        return Planted(turn, place, said, f"What is the port of service s{name}?", f"on port p{value}", f"p{value}")
    if place == "path":
        file = f"handler_{value}.py"
        said = f"The handler of queue q{name} lives in services/q{name}/{file}."
        return Planted(turn, place, said, f"What is the handler of queue q{name}?", file, file)
    if place == "aside":
        said = f"By the way, the people of team t{name} call their mascot m{value}."
        return Planted(turn, place, said, f"What is the mascot of team t{name}?", f"mascot m{value}", f"m{value}")
    line = f"build of module b{name} has id i{value}"
    said = f"Look at `cat notes/b{name}.txt`."
    return Planted(turn, place, said, f"What is the build id of module b{name}?", line, f"i{value}", printed=line)


async def measure(collector: str, *, looks_up: bool, turns: int = TURNS, facts: int = FACTS) -> Recall:
    planted = plant(turns, facts)
    rules = [(rule, f"What is rule number {number} of this repository?") for number, rule in enumerate(RULES, 1)]
    known = [{"asked": each.asked, "shown": each.shown, "answer": each.answer} for each in planted]
    known += [{"asked": asked, "shown": rule, "answer": rule} for rule, asked in rules]
    knowledge = {"facts": known, "looks_up": looks_up, "keeps": ["decided"]}
    settings = CONFIG.format(threshold=THRESHOLD, goal=GOAL)
    async with stage({"knowledge": knowledge}, settings) as place:
        (place.workspace / "AGENTS.md").write_text("\n".join(f"- {rule}" for rule in RULES))
        (place.workspace / "notes").mkdir()
        for number, each in enumerate(planted):
            (place.workspace / "notes" / f"b{number:02d}.txt").write_text(f"{each.printed}\n{_FILLER}")
        session = await _played(place, collector, list(_turns(planted, turns)))
        client = place.client
        report = await client.request(ContextShow(id=client.next_id(), session=session))
        right: dict[str, int] = dict.fromkeys((*PLACES, "rules"), 0)
        for each in planted:
            right[each.place] += each.answer in await _asked(client, session, each.asked)
        for rule, asked in rules:
            right["rules"] += rule in await _asked(client, session, asked)
        spent = await client.request(UsageAsk(id=client.next_id(), by="activity"))
        return Recall(
            collector=collector,
            looks_up=looks_up,
            asked=len(planted),
            known=right,
            collections=len(report.collections),
            tokens_kept=report.used_tokens,
            cost_usd=round(spent.total.cost_usd, 4),
            summaries_usd=round(sum(row.cost_usd for row in spent.rows if row.key == "summarizing"), 4),
        )


def _turns(planted: Sequence[Planted], turns: int) -> Iterator[str]:
    """A message has one command: that of its fact, or one that prints a page of numbers."""
    by_turn = {each.turn: each for each in planted}
    for turn in range(1, turns + 1):
        check = f"Then run check {turn}: `echo check {turn} passed; seq {turn} {turn + 300}`."
        planting = by_turn.get(turn)
        yield check if planting is None else planting.said if planting.printed else f"{planting.said} {check}"


async def _played(place: Stage, collector: str, prompts: Sequence[str]) -> str:
    settings: dict[str, Any] = {"model": MODEL, "mode": "full", "collector": collector}
    session = (await place.client.create_session(str(place.workspace), **settings)).id
    for prompt in prompts:
        await _asked(place.client, session, prompt)
    return session


async def _asked(client: Client, session: str, prompt: str) -> str:
    attachment = await client.attach(session, messages=0)
    try:
        await client.send(session, prompt)
        ended, _ = await attachment.until_turn_ends()
    finally:
        await attachment.detach()
    if ended.reason != "done":
        raise RuntimeError(f"the turn ended with {ended.reason}: {ended.error}")
    return ended.text
