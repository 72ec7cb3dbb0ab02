"""Many instances, some at once: answered by an agent, graded, and written down one by one as they are done."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from openagent.client import Client
from openagent.evals.answering import Asked, answer
from openagent.evals.environments import Environments, MissingInterpreter
from openagent.evals.grading import Verdict, grade
from openagent.evals.instances import Instance, Prediction
from openagent.evals.jailed import Confines
from openagent.evals.needs import need_of
from openagent.evals.run_folder import Answered, RunFolder, by_instance
from openagent.protocol.errors import OpenAgentError

Told = Callable[[str], None]
"""Called with a line about each instance as it is done."""


class Ground(Struct, frozen=True):
    """What instances are worked on and judged with."""

    environments: Environments
    own_needs: Mapping[str, Mapping[str, Any]]
    confines: Confines
    jobs: int


async def grade_all(
    instances: Sequence[Instance], predictions: Mapping[str, Prediction], ground: Ground, run: RunFolder, told: Told
) -> None:
    done = by_instance(run.verdicts())
    waiting = [each for each in instances if each.instance_id in predictions and each.instance_id not in done]

    async def one(instance: Instance) -> None:
        verdict = await _graded(instance, predictions[instance.instance_id], ground, run.log(instance.instance_id))
        run.add_verdict(verdict)
        told(_line(verdict))

    await _side_by_side(waiting, ground.jobs, one)


async def answer_and_grade_all(
    client: Client, instances: Sequence[Instance], asked: Asked, *, ground: Ground, run: RunFolder, told: Told
) -> None:
    predicted, graded = by_instance(run.predicted()), by_instance(run.verdicts())

    async def one(instance: Instance) -> None:
        named = instance.instance_id
        prediction = predicted.get(named)
        if prediction is None:
            need = need_of(instance, ground.own_needs)
            try:
                prediction, answered = await answer(
                    client,
                    instance,
                    need,
                    environments=ground.environments,
                    asked=asked,
                    folder=run.folder / "workspaces",
                )
            except MissingInterpreter as missing:
                run.add_verdict(Verdict(named, "skipped", "interpreter", str(missing)))
                told(f"{named}: skipped. {missing}")
                return
            except OpenAgentError as problem:
                run.add_verdict(Verdict(named, "error", "environment", str(problem)))
                told(f"{named}: {problem}")
                return
            run.add_answer(prediction, answered)
        verdict = await _graded(instance, prediction, ground, run.log(named))
        run.add_verdict(verdict)
        told(_line(verdict))

    await _side_by_side([each for each in instances if each.instance_id not in graded], ground.jobs, one)


async def _graded(instance: Instance, prediction: Prediction, ground: Ground, log: Path) -> Verdict:
    try:
        need = need_of(instance, ground.own_needs)
    except OpenAgentError as unknown:
        return Verdict(instance.instance_id, "error", "environment", str(unknown))
    return await grade(instance, prediction, need, environments=ground.environments, confines=ground.confines, log=log)


async def _side_by_side(instances: Iterable[Instance], jobs: int, one: Callable[[Instance], Awaitable[None]]) -> None:
    waiting = iter(instances)

    async def work() -> None:
        for instance in waiting:
            await one(instance)

    async with asyncio.TaskGroup() as workers:
        for _ in range(jobs):
            workers.create_task(work())


def _line(verdict: Verdict) -> str:
    words = verdict.status if not verdict.why else f"{verdict.status} ({verdict.why.replace('_', ' ')})"
    return f"{verdict.instance_id}: {words}" + (f", {verdict.seconds:.1f} s" if verdict.seconds else "")


class Report(Struct, frozen=True):
    """A run, summed up."""

    source: str
    dataset: str
    instances: int
    """That were judged: what could not be run here is not among them."""
    resolved: int
    rate: float
    low: float
    high: float
    """The rate lies between them, 95 times in 100."""
    statuses: dict[str, int]
    classes: dict[str, int]
    """Why those failed that did."""
    skipped: dict[str, str]
    """What could not be run here, and why."""
    cost_usd: float
    unpriced: int
    input_tokens: int
    output_tokens: int
    answer_seconds: float
    test_seconds: float
    ends: dict[str, int]
    """How the agents' turns ended."""


def _counted(values: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def report(run: RunFolder, wilson: Callable[[int, int], tuple[float, float]]) -> Report:
    about = run.about()
    if about is None:
        raise OpenAgentError("not_found", f"{run.folder} holds no run.", hint="`openagent eval run` makes one.")
    verdicts: list[Verdict] = run.verdicts()
    answers: list[Answered] = run.answered()
    judged = [each for each in verdicts if each.status != "skipped" and each.why != "environment"]
    resolved = sum(each.resolved for each in judged)
    low, high = wilson(resolved, len(judged))
    return Report(
        about.source,
        about.dataset,
        len(judged),
        resolved,
        resolved / len(judged) if judged else 0.0,
        low,
        high,
        _counted(each.status for each in verdicts),
        _counted(each.why for each in verdicts if each.why),
        {each.instance_id: each.detail for each in verdicts if each not in judged},
        sum(each.cost_usd for each in answers),
        sum(each.unpriced for each in answers),
        sum(each.input_tokens for each in answers),
        sum(each.output_tokens for each in answers),
        sum(each.seconds for each in answers),
        sum(each.seconds for each in verdicts),
        _counted(each.ended for each in answers),
    )
