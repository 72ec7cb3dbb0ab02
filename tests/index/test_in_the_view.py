"""What a session is told of its code without asking."""

from pathlib import Path

import pytest

from openagent.protocol.index import IndexAsk, IndexBuild, IndexSymbols

from ..interaction.doing import ask, turn
from ..interaction.house import house, new_session

pytestmark = pytest.mark.anyio

QUESTION = "How is the total of all items rounded?"


async def test_an_indexed_workspace_is_mapped_once_and_code_comes_with_the_message(tmp_path: Path) -> None:
    script = [
        {"tool_calls": [{"name": "read_file", "arguments": {"path": "till.py"}}]},
        {"text": "By round."},
        {"text": "Still."},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        (h.workspace / "till.py").write_text("def rounded_total(items):\n    return round(sum(items), 2)\n")
        (h.workspace / "old.py").write_text("def total_of_all(items):\n    return 1\n")
        await ask(client, IndexBuild, cwd=str(h.workspace))
        (h.workspace / "old.py").write_text("def something_else():\n    return 2\n")
        attachment = await client.attach(await new_session(h, client))
        await turn(client, attachment, QUESTION)
        while not (info := await ask(client, IndexAsk, cwd=str(h.workspace))).useful:
            pass
        await turn(client, attachment, "And how are they rounded now, all the items?")
        first, second, third = (str(request.json()) for request in h.sim.requests if request.method == "POST")
    assert all(words in first for words in ("used most", "till.py:1-2", "round(sum(items), 2)"))
    assert "return 1" not in first, "what has changed since is not shown"
    assert third.count("used most") == 1
    assert third.count("found by search") == 2
    assert second.startswith(first[: first.rindex("found by search")])
    assert (info.shown, info.useful) == (1, 1)


async def test_without_an_index_nothing_is_added(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "Hm."}]) as h, await h.client() as client:
        (h.workspace / "till.py").write_text("def rounded_total(items):\n    return round(sum(items), 2)\n")
        await turn(client, await client.attach(await new_session(h, client)), QUESTION)
        (request,) = (request for request in h.sim.requests if request.method == "POST")
        assert "rounded_total" not in str(request.json())


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    config = "[index]\nmap_tokens = 0\nretrieved_tokens = 0\n"
    async with house(tmp_path, [{"text": "Hm."}], config=config) as h, await h.client() as client:
        (h.workspace / "till.py").write_text("def rounded_total(items):\n    return round(sum(items), 2)\n")
        await ask(client, IndexBuild, cwd=str(h.workspace))
        await turn(client, await client.attach(await new_session(h, client)), QUESTION)
        (request,) = (request for request in h.sim.requests if request.method == "POST")
        assert "rounded_total" not in str(request.json())


@pytest.mark.parametrize("decision", ["deny", "ask"])
async def test_what_may_not_be_read_unasked_is_neither_told_nor_found(tmp_path: Path, decision: str) -> None:
    script = [
        {"tool_calls": [{"name": "search_code", "arguments": {"query": "rounded total items"}}]},
        {"text": "Hm."},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        (h.home / "policy.toml").write_text(f'[[rule]]\ndecision = "{decision}"\npath = "{h.workspace}/secret/**"\n')
        (h.workspace / "secret").mkdir()
        (h.workspace / "secret" / "till.py").write_text("def rounded_total(items):\n    return round(sum(items), 7)\n")
        (h.workspace / "open.py").write_text("def rounded_items(items):\n    return 1\n")
        await ask(client, IndexBuild, cwd=str(h.workspace))
        await turn(client, await client.attach(await new_session(h, client)), QUESTION)
        sent = " ".join(str(request.json()) for request in h.sim.requests if request.method == "POST")
        found = await ask(client, IndexSymbols, cwd=str(h.workspace), name="rounded_total")
        assert not found.definitions
    assert "rounded_items" in sent
    assert "secret" not in sent
    assert "rounded_total" not in sent
