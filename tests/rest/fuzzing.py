"""Requests made up from the API's own document: those it allows, and those it forbids."""
# pyright: basic
# Schemathesis leaves many of its types open.

from collections.abc import Collection
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]


def ask_everything(
    document: dict[str, Any], base: str, token: str, *, agent: str, leaving_out: Collection[str], allowed: bool
) -> int:
    """Raises at the first answer that the document does not foresee. Returns how many requests were made."""
    asked = 0
    mode = GenerationMode.POSITIVE if allowed else GenerationMode.NEGATIVE
    for result in schemathesis.openapi.from_dict(document).get_all_operations():
        operation = result.ok()  # type: ignore[union-attr]
        if operation.path.removeprefix("/api/") in leaving_out:
            continue

        @settings(
            max_examples=2,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.large_base_example],
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            nonlocal asked
            asked += 1
            if case.path_parameters and "id" in case.path_parameters and asked % 2:
                case.path_parameters["id"] = agent
            headers = {"Authorization": f"Bearer {token}"}
            case.call_and_validate(base_url=base, headers=headers, checks=CHECKS, timeout=60)

        ask()
    return asked
