"""Whether a patch resolves its instance: what must pass now passes, and what passed still does."""

import asyncio
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec import Struct

from openagent.evals.environments import Environment, Environments, MissingInterpreter
from openagent.evals.instances import Instance, Prediction
from openagent.evals.jailed import Confines, Ended, run_jailed
from openagent.evals.logs_of_tests import PARSERS, Outcomes
from openagent.evals.needs import Need
from openagent.protocol.errors import OpenAgentError

Status = Literal["resolved", "unresolved", "patch_failed", "timeout", "error", "skipped"]
Why = Literal[
    "",
    "still_failing",
    "broke_tests",
    "nothing_ran",
    "untrue_log",
    "too_much_output",
    "does_not_apply",
    "took_too_long",
    "test_patch",
    "environment",
    "interpreter",
]
_MODEL_PATCH, _TEST_PATCH = 10, 11
"""Exit codes: which of the patches could not be applied."""
_APPLY = ("git apply", "git apply --3way", "git apply --reject", "patch --batch --forward --fuzz=5 -p1 -i")
"""In this order, each on the tree as it was."""
_PASSED = ("PASSED", "XFAIL")
_FAILURE = re.compile(r"\b(?:fail(?:s|ed|ures?)?|errors?)\b|^not ok\b", re.IGNORECASE | re.MULTILINE)


class Verdict(Struct, frozen=True, omit_defaults=True):
    instance_id: str
    status: Status
    why: Why = ""
    detail: str = ""
    still_failing: tuple[str, ...] = ()
    """Of those that the change is to make pass."""
    broken: tuple[str, ...] = ()
    """Of those that passed before."""
    seconds: float = 0.0
    """That the tests took."""

    @property
    def resolved(self) -> bool:
        return self.status == "resolved"


async def grade(
    instance: Instance,
    prediction: Prediction,
    need: Need,
    *,
    environments: Environments,
    confines: Confines,
    log: Path,
) -> Verdict:
    """What the tests printed is in `log` afterwards."""
    try:
        async with environments.of(instance, need) as environment:
            await asyncio.to_thread(environment.renew_tree)
            return await _graded(instance, prediction, environment, confines, log)
    except MissingInterpreter as missing:
        return Verdict(instance.instance_id, "skipped", "interpreter", str(missing))
    except OpenAgentError as problem:
        return Verdict(instance.instance_id, "error", "environment", str(problem))


async def _graded(
    instance: Instance, prediction: Prediction, environment: Environment, confines: Confines, log: Path
) -> Verdict:
    named = instance.instance_id
    applied = await _apply_patches(instance, prediction, environment, confines)
    await asyncio.to_thread(_keep, log, applied.output, "w")
    if applied.exit_code == _MODEL_PATCH:
        return Verdict(named, "patch_failed", "does_not_apply", _end_of(applied.output))
    if applied.exit_code or applied.timed_out:
        return Verdict(named, "error", "test_patch", _end_of(applied.output))
    command = "\n".join([_rebuilt(prediction, environment.need), environment.need.command(instance)])
    ended = await run_jailed(
        command, environment.tree, confines, env=environment.variables(), readable=environment.readable
    )
    await asyncio.to_thread(_keep, log, f"+ {command}\n{ended.output}\n+ exit {ended.exit_code}\n", "a")
    return judge(instance, environment.need, ended)


def judge(instance: Instance, need: Need, ended: Ended) -> Verdict:
    if ended.timed_out:
        return Verdict(instance.instance_id, "timeout", "took_too_long", seconds=ended.seconds)
    if ended.too_loud:
        return Verdict(instance.instance_id, "error", "too_much_output", seconds=ended.seconds)
    outcomes = PARSERS[need.parser](ended.output)
    still_failing = tuple(name for name in instance.fail_to_pass if not _passes(name, outcomes))
    broken = tuple(name for name in instance.pass_to_pass if not _goes_on(name, outcomes))
    why: Why = ""
    if not outcomes:
        why = "nothing_ran"
    elif ended.exit_code and not _FAILURE.search(ended.output):
        # A patch can print lines of its own that look like a test that passed. Runners count failures that no test's
        # line tells (Django's unexpected successes, a fixture's error): those the datasets' lists leave out, too.
        why = "untrue_log"
    elif still_failing or broken:
        why = "still_failing" if still_failing else "broke_tests"
    return Verdict(
        instance.instance_id,
        "unresolved" if why else "resolved",
        why,
        _end_of(ended.output) if why in ("nothing_ran", "untrue_log") else "",
        still_failing,
        broken,
        round(ended.seconds, 2),
    )


def _found(name: str, outcomes: Outcomes) -> str | None:
    """The datasets have names that were cut off within their parameters: they stand for all that begin so, as long as
    those agree."""
    if name in outcomes:
        return outcomes[name]
    if name.count("[") <= name.count("]"):
        return None
    alike = [outcome for known, outcome in outcomes.items() if known.startswith(name)]
    return alike[0] if alike and len({outcome in _PASSED for outcome in alike}) == 1 else None


def _passes(name: str, outcomes: Outcomes) -> bool:
    return _found(name, outcomes) in _PASSED


def _goes_on(name: str, outcomes: Outcomes) -> bool:
    return _found(name, outcomes) in (*_PASSED, "SKIPPED")


async def _apply_patches(
    instance: Instance, prediction: Prediction, environment: Environment, confines: Confines
) -> Ended:
    """In the jail: a patch may name links that lead out of the tree."""
    with TemporaryDirectory(prefix="openagent-eval-", dir=environment.folder) as folder:
        patches = Path(folder)
        _write(patches / "model.diff", prediction.model_patch)
        _write(patches / "test.diff", instance.test_patch)
        lines = ["fresh() { git checkout --quiet --force HEAD -- . ; git clean -fdq; }"]
        if prediction.model_patch.strip():
            tries = " || ".join(f"{{ fresh; {each} {patches}/model.diff; }}" for each in _APPLY[1:])
            whole = f"git apply --check --reverse {patches}/model.diff"
            lines.append(f"{_APPLY[0]} {patches}/model.diff || {tries} || {whole} || exit {_MODEL_PATCH}")
        lines += _restored(instance.tested_files())
        lines.append(f"git apply {patches}/test.diff || exit {_TEST_PATCH}")
        return await run_jailed("\n".join(lines), environment.tree, confines, readable=(patches,))


def _restored(files: Iterable[tuple[str, str]]) -> list[str]:
    """Tests are ours: whatever the patch did to them is gone before they change."""
    names = sorted({name for pair in files for name in pair})
    return [
        f"git cat-file -e HEAD:{quoted} 2>/dev/null && git checkout --quiet --force HEAD -- {quoted}"
        f" || rm -rf -- {quoted}"
        for quoted in map(shlex.quote, names)
    ]


def _rebuilt(prediction: Prediction, need: Need) -> str:
    touched = any(
        line.startswith("+++ ") and line.rstrip().endswith((".pyx", ".pxd", ".c", ".h", ".cpp", ".cc"))
        for line in prediction.model_patch.splitlines()
    )
    return need.rebuild if touched else ""


def _write(file: Path, patch: str) -> None:
    ended = patch if patch.endswith("\n") or not patch else f"{patch}\n"
    file.write_bytes(ended.encode(errors="surrogateescape"))


def _keep(log: Path, text: str, how: Literal["w", "a"]) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open(how, errors="replace") as file:
        file.write(text)


def _end_of(output: str) -> str:
    return "\n".join(output.strip().splitlines()[-5:])[-1000:]
