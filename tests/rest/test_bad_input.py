"""What cannot be meant is refused with 422 and in words, whatever address it is sent to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openagent.gateway.rest.endpoint import Endpoint, endpoints

from ..interaction.house import house
from .calling import Rest, rest

pytestmark = pytest.mark.anyio
PATHS = ("archive", "cwd", "file", "folder", "path", "to")
NO_PATHS = {"long": "/" + "x" * 4999, "deep": "/x" * 2500, "long name": "/" + "x" * 300, "nul": "/tmp/a\0b"}
FITTING: dict[str, Any] = {"archive": "/tmp/none.tar", "cwd": "/tmp", "folder": "/tmp", "to": "/tmp/none"}


def places(*names: str) -> Iterator[tuple[Endpoint, str]]:
    """Every address that takes a field of one of these names."""
    for endpoint in endpoints():
        kind = endpoint.body or endpoint.query
        for field in msgspec.structs.fields(kind) if kind else ():
            if field.name in names and field.type is not bool:
                yield endpoint, field.name


async def send(owner: Rest, agent: str, endpoint: Endpoint, **wrong: Any) -> Any:
    kind = endpoint.body or endpoint.query
    assert kind is not None
    needed = [field for field in msgspec.structs.fields(kind) if field.required]
    fields = {field.name: fitting(field) for field in needed} | wrong
    path = endpoint.path
    for name in endpoint.path_types:
        path = path.replace(f"{{{name}}}", agent if name == "id" else "1")
    body, query = (fields, None) if endpoint.body else (None, fields)
    return await owner(endpoint.method, path, body, query=query)


def fitting(field: Any) -> Any:
    """Something that can be meant."""
    if field.name in FITTING:
        return FITTING[field.name]
    match msgspec.json.schema(field.type):
        case {"enum": [first, *_]}:
            return first
        case {"type": "array", "items": {"enum": [first, *_]}}:
            return [first]
        case {"type": "array"}:
            return []
        case {"type": "boolean"}:
            return True
        case {"type": "integer" | "number"}:
            return 1
        case _:
            return "x"


def refused_for(answer: Any, name: str) -> bool:
    return answer.status_code == 422 and (f"`{name}`" in answer.text or f"$.{name}" in answer.text)


async def test_no_address_takes_a_path_that_no_file_can_have(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        taken: list[str] = []
        found = list(places(*PATHS))
        assert len(found) > 40
        for endpoint, name in found:
            for what, path in NO_PATHS.items():
                answer = await send(owner, agent, endpoint, **{name: path})
                if not refused_for(answer, name):
                    taken.append(f"{endpoint.method} {endpoint.path} {name} {what}: {answer.text}")
        assert taken == []


async def test_no_address_takes_a_count_below_one(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        taken: list[str] = []
        found = list(places("limit", "days"))
        assert len(found) >= 7
        for endpoint, name in found:
            for count in (0, -1, 10**18, "many", 1.5):
                answer = await send(owner, agent, endpoint, **{name: count})
                if not refused_for(answer, name):
                    taken.append(f"{endpoint.method} {endpoint.path} {name}={count}: {answer.text}")
        assert taken == []


async def test_no_address_takes_an_amount_that_no_clock_or_purse_holds(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        agent = await owner.agent()
        names = {
            field.name
            for endpoint in endpoints()
            for kind in (endpoint.body or endpoint.query,)
            for field in (msgspec.structs.fields(kind) if kind else ())
            if "float" in str(field.type) and "list" not in str(field.type)
        }
        taken: list[str] = []
        found = list(places(*names))
        assert len(found) >= 5
        for endpoint, name in found:
            for amount in (1e308, -1e308):
                answer = await send(owner, agent, endpoint, **{name: amount})
                if not refused_for(answer, name):
                    taken.append(f"{endpoint.method} {endpoint.path} {name}={amount}: {answer.text}")
        assert taken == []


async def test_settings_far_out_are_refused_and_a_negative_amount_is_told_so(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        place = f"/api/agents/{await owner.agent()}/settings"
        for wrong in ({"temperature": 1e308}, {"turn_timeout": 1e308}, {"budget_usd": -1}, {"max_steps": -1}):
            answer = await owner("PATCH", place, wrong, If_Match="*")
            assert (answer.status_code, next(iter(wrong)) in answer.text) == (422, True), answer.text


async def test_a_backup_that_cannot_be_written_is_refused_in_words(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        (h.workspace / "file").write_text("x")
        made = (await owner("POST", "/api/workspaces", {"cwd": str(h.workspace), "name": "spare"})).json()
        place = f"/api/workspaces/{made['id']}/backup"
        for archive in (h.workspace / "file" / "below.tar.gz", h.workspace, Path("/proc/nothing.tar.gz")):
            answer = await owner("POST", place, {"archive": str(archive)})
            assert (answer.status_code, str(archive) in answer.text) == (422, True), answer.text
        for archive in ("/tmp/a\0b", "/" + "x" * 4999):
            assert (await owner("POST", place, {"archive": archive})).status_code == 422
