"""No request that the document allows or forbids meets a defect, and every answer is one that it describes.

`API_EXAMPLES=50 pytest tests/rest/test_fuzz.py` tries each address fifty times instead of two.
"""

import asyncio
import functools
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from openagent.gateway.rest.app import OPENAPI

from ..interaction import house as a_house
from ..interaction.house import house
from .calling import rest
from .fuzzing import ask_everything

EXAMPLES = int(os.environ.get("API_EXAMPLES", "2"))
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(max(240, 60 * EXAMPLES))]
STOP = "POST /api/stop"
"""Asked last, and once."""
NO_INDEX = "http://127.0.0.1:9/simple"
"""Nothing listens there, so that nothing is fetched."""


@pytest.mark.parametrize("allowed", [True, False])
async def test_no_request_meets_a_defect_or_an_answer_that_is_not_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    monkeypatch.setattr(a_house, "PATIENCE", 20.0 * EXAMPLES)
    for name, value in {"PIP_INDEX_URL": NO_INDEX, "PIP_CONFIG_FILE": os.devnull, "UV_INDEX_URL": NO_INDEX}.items():
        monkeypatch.setenv(name, value)
    async with house(tmp_path, {"loop": True, "steps": [{"text": "hi"}]}, web=True) as h, rest(h) as owner:
        agent = await owner.agent(mode="ask")  # no command that is made up is run
        document: dict[str, Any] = (await owner("GET", OPENAPI)).json()
        places = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
        assert STOP in places
        ask = functools.partial(
            ask_everything,
            document,
            h.daemon.place.web_url,
            (h.home / "token").read_text(),
            named={"id": agent},
            last=STOP,
            allowed=allowed,
            examples=EXAMPLES,
        )
        asked = await asyncio.to_thread(ask)
        if EXAMPLES > 2:
            slow = sorted(asked.seconds.items(), key=lambda each: -each[1])
            slowest = [f"{seconds:.1f} s {place}" for place, seconds in slow[:8]]
            sys.stderr.write(f"\n{asked.times.total()} requests; {'; '.join(slowest)}\n")
        assert asked.problems == []
        untried = places - set(asked.times)
        if allowed:
            assert untried == set()
        else:  # where nothing is asked for, nothing can be wrong
            assert {place for place in untried if document_takes(document, place)} == set()


def document_takes(document: dict[str, Any], place: str) -> bool:
    method, _, path = place.partition(" ")
    operation = document["paths"][path][method.lower()]
    return "requestBody" in operation
