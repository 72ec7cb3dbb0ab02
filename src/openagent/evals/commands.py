"""`openagent eval`"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import click

from openagent.cli.command import as_json, command, complete, daemon, examples, group, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client.text import cost
from openagent.evals.answering import Asked
from openagent.evals.cli_vs_mcp import Taken, by_way, read_scenarios, take_all
from openagent.evals.comparison import Compared, compare, difference, wilson
from openagent.evals.environments import Environments
from openagent.evals.instances import Instance, read_instances, read_predictions
from openagent.evals.jailed import Confines
from openagent.evals.needs import read_own
from openagent.evals.run_folder import About, Answered, RunFolder
from openagent.evals.running import Ground, Report, answer_and_grade_all, grade_all, report
from openagent.evals.suite import SUITE, lay_out_suite, suite_tasks
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError

F = TypeVar("F", bound=Callable[..., Any])
_PATH = click.Path(path_type=Path)
_MIB = 1 << 20


@group(
    "eval",
    epilog=examples(
        "openagent eval run suite --model anthropic/claude-sonnet-4-5 --out runs/first",
        "openagent eval grade verified.jsonl --repos trees --predictions gold --out runs/gold",
        "openagent eval compare runs/first runs/second",
    ),
)
def evals() -> None:
    """Measure agents: give them tasks with hidden tests, judge what they did, compare.

    Datasets are files in SWE-bench's format (JSONL), or `suite`: small tasks in five languages that come with
    OpenAgent. Tests run in the jail, without a network.
    """


def _about_instances(function: F) -> F:
    for option in reversed(
        (
            click.argument("dataset"),
            click.option("--repos", type=_PATH, help="Folder with the instances' trees, archives or clones."),
            click.option("--needs", type=_PATH, help="JSON: what instances' tests need, where it is not known."),
            click.option("--only", multiple=True, metavar="ID", help="Only this instance; may be repeated."),
            click.option("--max-instances", type=click.IntRange(min=1), metavar="N", help="Only the first N."),
            click.option("--out", type=_PATH, required=True, help="Folder of the run."),
            click.option("--resume", is_flag=True, help="Go on with the run in that folder."),
            click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="How many at once."),
            click.option("--timeout", type=float, default=1800.0, show_default=True, help="Seconds tests may take."),
            click.option(
                "--memory", type=click.IntRange(min=64), default=4096, show_default=True, help="MiB for them."
            ),
            click.option("--environments", type=_PATH, help="Where environments are kept."),
        )
    ):
        function = option(function)
    return function


class _Chosen:
    """Instances, and the ground they stand on, from the options all commands share."""

    def __init__(self, scratch: Path, given: dict[str, Any]) -> None:
        own = read_own(given["needs"])
        kept: Path = given["environments"] or Path(locations.data_home(os.environ)) / "evals"
        if given["dataset"] == SUITE:
            dataset, repositories, suite_needs = lay_out_suite(scratch)
            own = {**suite_needs, **own}
            kept = scratch / "environments"
        else:
            dataset, repositories = Path(given["dataset"]), given["repos"]
            if repositories is None:
                raise OpenAgentError(
                    "invalid_argument", "Where are the repositories?", hint="Name their folder with `--repos`."
                )
        self.instances: list[Instance] = read_instances(dataset, given["only"], given["max_instances"])
        confines = Confines(given["timeout"], given["memory"] * _MIB)
        self.ground = Ground(Environments(kept.absolute(), repositories.absolute()), own, confines, given["jobs"])
        self.run = RunFolder(given["out"].absolute())

    def begin(self, given: dict[str, Any], source: str, mode: str = "") -> None:
        dataset = given["dataset"] if given["dataset"] == SUITE else str(Path(given["dataset"]).absolute())
        self.run.begin(About(dataset, source, mode), resume=given["resume"])


@command(
    "grade",
    "openagent eval grade verified.jsonl --repos trees --predictions predictions.jsonl --out runs/mine",
    "openagent eval grade suite --predictions gold --out /tmp/gold",
)
@_about_instances
@click.option("--predictions", required=True, metavar="FILE|gold|empty", help="Patches in the official format.")
@as_json
def grade(predictions: str, as_json: bool, **given: Any) -> int:
    """Judge patches: what must pass passes, and what passed still does."""
    with TemporaryDirectory(prefix="openagent-eval-") as scratch:
        chosen = _Chosen(Path(scratch), given)
        chosen.begin(given, predictions)
        found = read_predictions(predictions, chosen.instances)
        complete(grade_all(chosen.instances, found, chosen.ground, chosen.run, _teller(as_json)))
    return _tell_report(chosen.run, as_json)


@command(
    "run",
    "openagent eval run suite --model openai/gpt-5 --out runs/gpt --jobs 4",
    "openagent eval run verified.jsonl --repos trees --max-instances 20 --out runs/first --resume",
)
@_about_instances
@click.option("--model", default="", help="provider/model; the configured one when it is not given.")
@click.option("--mode", default="full", show_default=True, help="What agents may do unasked.")
@click.option("--turn-timeout", type=float, default=1800.0, show_default=True, help="Seconds an agent has.")
@click.option("--budget", type=float, metavar="USD", help="Dollars each instance may cost.")
@click.option("--max-steps", type=click.IntRange(min=1), help="Steps each instance may take.")
@as_json
def run(model: str, mode: str, as_json: bool, **given: Any) -> int:
    """Give each instance to an agent, then judge its patch."""
    asked = Asked(model, mode, given["turn_timeout"], given["budget"], given["max_steps"])
    with TemporaryDirectory(prefix="openagent-eval-") as scratch:
        chosen = _Chosen(Path(scratch), given)
        chosen.begin(given, model or "the configured model", mode)

        async def work() -> None:
            async with daemon() as client:
                await answer_and_grade_all(
                    client, chosen.instances, asked, ground=chosen.ground, run=chosen.run, told=_teller(as_json)
                )

        complete(work())
    return _tell_report(chosen.run, as_json)


@command("report", "openagent eval report runs/first", "openagent eval report runs/first --json")
@click.argument("folder", type=_PATH)
@as_json
def show(folder: Path, as_json: bool) -> int:
    """Show a run: how many it resolved, what that took, why the others failed."""
    return _tell_report(RunFolder(folder), as_json)


@command("compare", "openagent eval compare runs/first runs/second")
@click.argument("first", type=_PATH)
@click.argument("second", type=_PATH)
@as_json
def compare_runs(first: Path, second: Path, as_json: bool) -> None:
    """Compare two runs on the instances both have, with 95 % intervals."""
    runs = RunFolder(first), RunFolder(second)
    names = [report(each, wilson).source for each in runs]
    resolved = [
        {each.instance_id: each.resolved for each in run.verdicts() if each.status != "skipped"} for run in runs
    ]
    answers = [run.answered() for run in runs]
    measures = {
        name: (_measured(answers[0], of), _measured(answers[1], of))
        for name, of in (("cost_usd", _cost), ("tokens", _tokens), ("seconds", _seconds))
    }
    found = compare(resolved[0], resolved[1], measures)
    if not found.instances:
        raise OpenAgentError("invalid_argument", "The two runs have no instance in common.")
    if as_json:
        print_json(found)
    else:
        say(_compared(found, names[0], names[1]))


def _cost(row: Answered) -> float:
    return row.cost_usd


def _tokens(row: Answered) -> float:
    return row.input_tokens + row.output_tokens


def _seconds(row: Answered) -> float:
    return row.seconds


def _measured(rows: Sequence[Answered], of: Callable[[Answered], float]) -> dict[str, float]:
    return {row.instance_id: of(row) for row in rows}


def _compared(found: Compared, first: str, second: str) -> str:
    share = found.resolved
    rows = [
        (
            "resolved",
            f"{share.first:.1%}",
            f"{share.second:.1%}",
            f"{share.difference:+.1%}",
            f"{share.low:+.1%} … {share.high:+.1%}",
        )
    ]
    rows += [
        (f"{name}, mean", f"{each.first:,.3g}", f"{each.second:,.3g}", f"{each.difference:+,.3g}",
         f"{each.low:+,.3g} … {each.high:+,.3g}")
        for name, each in found.means.items()
    ]  # fmt: skip
    lines = [f"{found.instances} instances; A is {first}, B is {second}.", ""]
    lines.append(table(("", "A", "B", "B - A", "95 % INTERVAL"), rows))
    lines.append(f"\nResolved by A alone: {len(found.only_first)}, by B alone: {len(found.only_second)}.")
    verdict = "no difference is shown" if found.p_value > 0.05 else "they differ"
    lines.append(f"Exact McNemar test: p = {found.p_value:.3f}, so {verdict}.")
    return "\n".join(lines)


@command("suite", "openagent eval suite", "openagent eval suite --json")
@as_json
def suite(as_json: bool) -> None:
    """List the tasks that come with OpenAgent."""
    tasks = suite_tasks()
    if as_json:
        print_json({"tasks": [{"id": each.id, "language": each.language, "about": each.title} for each in tasks]})
    else:
        say(table(("ID", "LANGUAGE", "TASK"), [(each.id, each.language, each.title) for each in tasks]))


def _teller(as_json: bool) -> Callable[[str], None]:
    return lambda line: click.echo(line, err=as_json)


def _tell_report(run: RunFolder, as_json: bool) -> int:
    summed = report(run, wilson)
    if as_json:
        print_json(summed)
    else:
        say(_report_text(summed))
    return 0


def _report_text(summed: Report) -> str:
    lines = [
        f"{summed.source} on {summed.dataset}",
        f"resolved   {summed.resolved} of {summed.instances}: {summed.rate:.1%}"
        f" (95 %: {summed.low:.1%} to {summed.high:.1%})",
    ]
    lines += [f"  {name.replace('_', ' ')}: {count}" for name, count in summed.classes.items()]
    if summed.ends:
        tokens = summed.input_tokens + summed.output_tokens
        lines += [
            f"cost       {cost(summed.cost_usd, summed.unpriced)}",
            f"tokens     {tokens:,}",
            f"time       {summed.answer_seconds:,.0f} s of agents, {summed.test_seconds:,.0f} s of tests",
        ]
    lines += [f"not run    {name}: {why}" for name, why in summed.skipped.items()]
    return "\n".join(lines)


@command(
    "cli-vs-mcp",
    "openagent eval cli-vs-mcp --model openai/gpt-5 --repeats 5",
    "openagent eval cli-vs-mcp wiki.toml --scenario get_page --trace",
)
@click.argument("scenarios", type=_PATH, required=False)
@click.option("--scenario", "only", multiple=True, metavar="NAME", help="Only this one; may be repeated.")
@click.option("--model", default="", help="provider/model; the configured one when it is not given.")
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="How often each is asked.")
@click.option("--trace", is_flag=True, help="Print each question's calls and answer as it ends.")
@as_json
def cli_vs_mcp(
    scenarios: Path | None, only: tuple[str, ...], model: str, repeats: int, *, trace: bool, as_json: bool
) -> None:
    """Ask the same questions of agents with a command and of agents with an MCP server."""
    read = read_scenarios(scenarios, only)

    def told(each: Taken) -> None:
        if trace:
            calls = ", ".join(each.calls) or "no calls"
            click.echo(f"{each.scenario}, {each.way}: {'right' if each.right else 'wrong'}; {calls}", err=as_json)
            click.echo(f"  {each.answer}", err=as_json)

    async def work() -> list[Taken]:
        async with daemon() as client:
            return await take_all(client, read, model, repeats, told)

    taken = complete(work())
    if as_json:
        print_json({"taken": [plain(each) for each in taken]})
    else:
        say(_ways_table(taken))


def _ways_table(taken: Sequence[Taken]) -> str:
    measures: dict[str, Callable[[Taken], float]] = {
        "right": lambda each: each.right,
        "steps": lambda each: each.steps,
        "tokens in": lambda each: each.input_tokens,
        "tokens out": lambda each: each.output_tokens,
        "dollars": lambda each: each.cost_usd,
        "seconds": lambda each: each.seconds,
    }
    rows: list[tuple[str, ...]] = []
    for measure, of in measures.items():
        pairs = by_way(taken, of)
        for name, each in [*pairs.items(), ("all", [pair for some in pairs.values() for pair in some])]:
            found = difference(each)
            between = f"{found.low:+,.4g} … {found.high:+,.4g}"
            rows.append((measure, name, f"{found.first:,.4g}", f"{found.second:,.4g}", between))
    return table(("MEAN", "SCENARIO", "CLI", "MCP", "MCP - CLI, 95 %"), rows)


for each in (grade, run, show, compare_runs, suite, cli_vs_mcp):
    evals.add_command(each)
