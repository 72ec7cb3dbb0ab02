"""Requests made up from the API's own document: those it allows, and those it forbids."""
# pyright: basic
# Schemathesis leaves many of its types open.

import time
from collections import Counter, defaultdict
from typing import Any, cast

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


class Asked:
    """How often each address was tried, and how long that took."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.problems: list[str] = []


def ask_everything(
    document: dict[str, Any],
    base: str,
    token: str,
    *,
    named: dict[str, str],
    last: str,
    allowed: bool,
    examples: int,
) -> Asked:
    """Tries every address and keeps what the document does not foresee. `named`: what parameters of addresses are set
    to, every other time. `last` is asked once, after all others: it ends the daemon."""
    asked = Asked()
    mode = GenerationMode.POSITIVE if allowed else GenerationMode.NEGATIVE
    operations = [result.ok() for result in schemathesis.openapi.from_dict(document).get_all_operations()]  # type: ignore[union-attr]
    for operation in sorted(operations, key=lambda each: _place(each) == last):
        place = _place(operation)
        times = 1 if place == last else examples
        _ask(asked, operation, place, base, token, named if operation.method != "delete" else {}, mode, times)
    return asked


def _place(operation: Any) -> str:
    return f"{operation.method.upper()} {operation.path}"


def _ask(
    asked: Asked,
    operation: Any,
    place: str,
    base: str,
    token: str,
    named: dict[str, str],
    mode: GenerationMode,
    examples: int,
) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=cast("list[HealthCheck]", list(HealthCheck)),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        asked.times[place] += 1
        if asked.times[place] % 2:
            for name in set(case.path_parameters or ()) & set(named):
                case.path_parameters[name] = named[name]
        began = time.monotonic()
        headers = {"Authorization": f"Bearer {token}"}
        case.validate_response(_answer(case, base, headers), checks=CHECKS)
        asked.seconds[place] += time.monotonic() - began

    try:
        ask()
    except Exception as problem:  # of any kind: the next address is tried all the same
        first = problem.exceptions[0] if isinstance(problem, BaseExceptionGroup) else problem
        asked.problems.append(f"{place}: {first}")


def _answer(case: Any, base: str, headers: dict[str, str]) -> requests.Response:
    """All of an answer, or the beginning of one that does not end: a stream of events tells by it whether it is one."""
    request = case.as_transport_kwargs(base_url=base, headers=headers)
    answer = requests.request(**request, timeout=60, stream=True)
    with answer:
        if answer.status_code == 200 and "text/event-stream" in answer.headers.get("Content-Type", ""):
            answer._content = b""
        else:
            _ = answer.content
    return answer
