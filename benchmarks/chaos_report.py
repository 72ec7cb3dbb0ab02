"""What a team under fire did: whether every message was kept and answered once, and how long people waited for it."""

import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from openagent.protocol.messages import Message

RESULTS = Path(__file__).parent / "results" / "team.md"
TAKEN_OVER = "has taken it over"


class Spoken(NamedTuple):
    """A message that was acknowledged."""

    text: str
    session: str
    asked: float
    acknowledged: float


class Fault(NamedTuple):
    at: float
    kind: str
    lasts: float
    """Seconds in which messages count as met by it."""
    sessions: frozenset[str] | None
    """Those that the worker had; None: it meets all."""

    def meets(self, session: str, asked: float, answered: float) -> bool:
        is_then = asked < self.at + self.lasts and answered > self.at
        return is_then and (self.sessions is None or session in self.sessions)


class Wait(NamedTuple):
    session: str
    asked: float
    answered: float


class Verdict(NamedTuple):
    acknowledged: int
    lost: list[str]
    doubled: list[str]
    twice: list[str]
    unanswered: list[str]
    taken_over: int
    waits: list[float]
    """From asking to the answer."""
    faults: Counter[str]
    recovery: dict[str, list[float]]
    """By kind of trouble: how long each message that it met waited, from the trouble on, or from its asking."""


class Found(NamedTuple):
    verdict: Verdict
    stuck: list[str]
    given_up: list[str]
    quiet_after: float
    refused: Counter[str]
    memory: Mapping[str, int]
    least_left: float

    @property
    def failed(self) -> bool:
        verdict = self.verdict
        bad = (verdict.lost, verdict.doubled, verdict.twice, verdict.unanswered, self.stuck, self.given_up)
        return any(bad)


def judge(said: Mapping[str, Sequence[Message]], spoken: Sequence[Spoken], faults: Sequence[Fault]) -> Verdict:
    lost, doubled, unanswered, twice = list[str](), list[str](), list[str](), list[str]()
    waits = list[Wait]()
    for text, session, asked, _ in spoken:
        messages = said.get(session, ())
        places = [place for place, each in enumerate(messages) if each.role == "user" and each.text == text]
        if not places:
            lost.append(text)
            continue
        if len(places) > 1:
            doubled.append(text)
        whole = [each for each in messages if each.role == "assistant" and each.stop_reason != "interrupted"]
        if sum(each.text == f"You said: {text}" for each in whole) > 1:
            twice.append(text)
        after = [each for each in whole if each.number > messages[places[0]].number]
        if after:
            waits.append(Wait(session, asked, max(after[0].created_at, asked)))
        else:
            unanswered.append(text)
    told = (each.text for messages in said.values() for each in messages if each.role == "user")
    return Verdict(
        acknowledged=len(spoken),
        lost=lost,
        doubled=doubled,
        twice=twice,
        unanswered=unanswered,
        taken_over=sum(TAKEN_OVER in text for text in told),
        waits=sorted(each.answered - each.asked for each in waits),
        faults=Counter(fault.kind for fault in faults),
        recovery=_recovery(waits, faults),
    )


def _recovery(waits: Sequence[Wait], faults: Sequence[Fault]) -> dict[str, list[float]]:
    """A message whose worker was lost says nothing of what else happened at that time."""
    of_workers = [fault for fault in faults if fault.sessions is not None]
    found = {fault.kind: list[float]() for fault in faults}
    for wait in waits:
        lost = [fault for fault in of_workers if fault.meets(*wait)]
        for fault in lost or [each for each in faults if each.sessions is None and each.meets(*wait)]:
            found[fault.kind].append(wait.answered - max(wait.asked, fault.at))
    return {kind: sorted(times) for kind, times in found.items()}


def _figures(times: Sequence[float]) -> str:
    """Median, 95th percentile, longest: of what is sorted."""
    if not times:
        return "– | – | –"
    most = times[min(int(len(times) * 0.95), len(times) - 1)]
    return f"{statistics.median(times):.2f} s | {most:.2f} s | {times[-1]:.2f} s"


def told(verdict: Verdict) -> dict[str, Any]:
    """In a few words each."""
    waits = verdict.waits
    return {
        "acknowledged": verdict.acknowledged,
        "lost": verdict.lost,
        "doubled": verdict.doubled,
        "answered twice": verdict.twice,
        "unanswered": verdict.unanswered,
        "taken over": verdict.taken_over,
        "p50, p95, longest": _figures(waits),
        "longest wait at": {kind: round(times[-1], 1) for kind, times in verdict.recovery.items() if times},
    }


def as_markdown(title: str, found: Found, *, workers: int, haproxy: bool) -> str:
    verdict = found.verdict
    losses = [len(each) for each in (verdict.lost, verdict.doubled, verdict.twice, verdict.unanswered)]
    door = "through HAProxy, each a person with a token" if haproxy else "at a gateway chosen at random"
    memory = ", ".join(f"{role} {most} MB" for role, most in sorted(found.memory.items()))
    lines = [
        f"## {title}",
        "",
        f"`python -m benchmarks.chaos` on {time.strftime('%Y-%m-%d')}: two gateways, {workers} workers, PostgreSQL"
        f" without fsync, Redis without persistence, the simulator as model (0.3 s to the first word); users come"
        f" {door}.",
        "",
        "| | |",
        "|---|---|",
        f"| messages acknowledged | {verdict.acknowledged:,} |",
        f"| lost / doubled / answered twice / unanswered | {' / '.join(map(str, losses))} |",
        f"| sessions stuck at the end | {len(found.stuck)} |",
        f"| things that a user gave up trying | {len(found.given_up)} |",
        f"| turns taken over in mid-way | {verdict.taken_over} |",
        f"| quiet after the last message | {found.quiet_after:.1f} s |",
        f"| most memory of one process | {memory} |",
        f"| least memory left on the machine | {found.least_left:.1f} GiB |",
        f"| refused and tried again | {sum(found.refused.values())} |",
        "",
        "| from asking to the answer | messages | p50 | p95 | longest |",
        "|---|---|---|---|---|",
        f"| all | {len(verdict.waits)} | {_figures(verdict.waits)} |",
        "",
        "How long messages that trouble met waited, from the trouble on or from their asking. Of a worker, only those"
        " of its sessions count, for half a minute; of the rest, all others, for five seconds.",
        "",
        "| trouble | times | messages met | p50 | p95 | longest |",
        "|---|---|---|---|---|---|",
        *(
            f"| {kind} | {verdict.faults[kind]} | {len(times)} | {_figures(times)} |"
            for kind, times in verdict.recovery.items()
        ),
    ]
    named = {
        "lost": verdict.lost,
        "doubled": verdict.doubled,
        "answered twice": verdict.twice,
        "unanswered": verdict.unanswered,
        "stuck": found.stuck,
        "given up": found.given_up,
        "refused": [f"{why} ({times} times)" for why, times in found.refused.most_common(5)],
    }
    wrong = [f"- {what}: {'; '.join(each)}" for what, each in named.items() if each]
    return "\n".join([*lines, *(["", *wrong] if wrong else [])]) + "\n"


def write(title: str, text: str, path: Path = RESULTS) -> None:
    """In the place of the part with the same title, or at the end."""
    before, here, after = path.read_text().partition(f"## {title}\n")
    following = after.partition("\n## ") if here else ("", "", "")
    rest = f"\n## {following[2]}" if following[1] else ""
    path.write_text(f"{before.rstrip()}\n\n{text}{rest}")
