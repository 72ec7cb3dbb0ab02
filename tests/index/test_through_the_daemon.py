"""The index as a client and as a model sees it."""

import asyncio
from pathlib import Path

import pytest

from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.index import (
    IndexAsk,
    IndexBuild,
    IndexMap,
    IndexSearch,
    IndexSymbols,
    IndexWatch,
)

from ..interaction.doing import ask, one_turn, results_of
from ..interaction.house import house

pytestmark = pytest.mark.anyio


async def test_a_client_builds_searches_and_asks(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        (h.workspace / "till.py").write_text("def total(items):\n    return sum_of(items)\n")
        cwd = str(h.workspace)
        with pytest.raises(OpenAgentError, match="not indexed yet"):
            await ask(client, IndexSearch, cwd=cwd, query="total")
        async with client.all_events() as events:
            built = await ask(client, IndexBuild, cwd=cwd)
            told = [events.get_nowait() for _ in range(events.qsize())]
        assert (built.files, built.indexed) == (1, 1)
        assert any(isinstance(event, e.IndexProgress) and event.done == event.total == 1 for event in told)
        (hit,) = (await ask(client, IndexSearch, cwd=cwd, query="total of items")).hits
        assert (hit.path, hit.start_line, hit.end_line, hit.symbol) == ("till.py", 1, 2, "total")
        found = await ask(client, IndexSymbols, cwd=cwd, name="sum_of")
        assert [(each.path, each.line) for each in found.references] == [("till.py", 2)]
        drawn = await ask(client, IndexMap, cwd=cwd)
        assert "def total(items)" in drawn.text
        (file,) = drawn.files
        assert (file.path, [(each.symbol, each.start_line) for each in file.symbols]) == ("till.py", [("total", 1)])
        assert (await ask(client, IndexAsk, cwd=cwd)).files == 1
        with pytest.raises(OpenAgentError, match="whole path"):
            await ask(client, IndexBuild, cwd="here")


async def test_a_model_finds_code_that_was_just_written(tmp_path: Path) -> None:
    script = [{"tool_calls": [{"name": "search_code", "arguments": {"query": "total of items"}}]}, {"text": "Found."}]
    async with house(tmp_path, script) as h, await h.client() as client:
        (h.workspace / "till.py").write_text("def total(items):\n    return sum(items)\n")
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        (result,) = await results_of(client, session)
        assert not result.is_error
        assert result.text.startswith("till.py:1-2  total\ndef total(items):")


async def test_what_was_opened_after_a_search_is_found_sooner_by_similar_questions(tmp_path: Path) -> None:
    script = [
        {"tool_calls": [{"name": "search_code", "arguments": {"query": "round the price", "count": 10}}]},
        {"tool_calls": [{"name": "read_file", "arguments": {"path": "tills.py"}}]},
        {"text": "Read."},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        for name in ("bills", "tills", "wills"):
            (h.workspace / f"{name}.py").write_text("def round_price(price):\n    return round(price, 2)\n")
        cwd = str(h.workspace)
        await ask(client, IndexBuild, cwd=cwd)
        before = await ask(client, IndexSearch, cwd=cwd, query="how is a price rounded, round price")
        await one_turn(h, client)
        while True:
            info = await ask(client, IndexAsk, cwd=cwd)
            if info.useful:
                break
        after = await ask(client, IndexSearch, cwd=cwd, query="how is a price rounded, round price")
        other = await ask(client, IndexSearch, cwd=cwd, query="return", by="text")
    assert (info.shown, info.useful) == (3, 1)
    assert before.hits[0].path != "tills.py"
    assert after.hits[0].path == "tills.py"
    assert other.hits[0].path != "tills.py"


async def test_code_that_was_answered_from_without_opening_it_is_found_as_before(tmp_path: Path) -> None:
    search = {"tool_calls": [{"name": "search_code", "arguments": {"query": "round the price", "count": 1}}]}
    script = {"steps": [search, {"text": "To two places, halves to even."}], "loop": True}
    async with house(tmp_path, script) as h, await h.client() as client:
        for name in ("bills", "tills", "wills"):
            (h.workspace / f"{name}.py").write_text("def round_price(price):\n    return round(price, 2)\n")
        (h.workspace / "other.py").write_text("def price_list(shop):\n    return shop.items\n")
        cwd, query = str(h.workspace), "how is a price rounded, round price"
        await ask(client, IndexBuild, cwd=cwd)
        before = await ask(client, IndexSearch, cwd=cwd, query=query)
        for _ in range(4):
            await one_turn(h, client)
        info = await ask(client, IndexAsk, cwd=cwd)
        after = await ask(client, IndexSearch, cwd=cwd, query=query)
    assert (info.shown, info.useful) == (4, 0)
    assert [hit.path for hit in after.hits] == [hit.path for hit in before.hits]


async def test_code_that_an_answer_names_was_of_use(tmp_path: Path) -> None:
    script = [
        {"tool_calls": [{"name": "search_code", "arguments": {"query": "round the price", "count": 10}}]},
        {"text": "Look at `tills.py`: it rounds to two places."},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        for name in ("bills", "tills", "wills"):
            (h.workspace / f"{name}.py").write_text("def round_price(price):\n    return round(price, 2)\n")
        cwd, query = str(h.workspace), "how is a price rounded, round price"
        await ask(client, IndexBuild, cwd=cwd)
        before = await ask(client, IndexSearch, cwd=cwd, query=query)
        await one_turn(h, client)
        while not (info := await ask(client, IndexAsk, cwd=cwd)).useful:
            pass
        after = await ask(client, IndexSearch, cwd=cwd, query=query)
    assert (info.shown, info.useful) == (3, 1)
    assert before.hits[0].path != "tills.py"
    assert after.hits[0].path == "tills.py"


async def test_a_watched_workspace_is_up_to_date_after_every_change(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        cwd = str(h.workspace)
        folder = h.workspace / "shop"
        folder.mkdir()
        (folder / "till.py").write_text("def total(items):\n    return sum(items)\n")

        async def found(query: str) -> list[str]:
            hits = (await ask(client, IndexSearch, cwd=cwd, query=query)).hits
            return [hit.path for hit in hits]

        async with await h.client() as watcher, watcher.all_events() as events:

            async def updated() -> e.IndexUpdated:
                while not isinstance(event := await events.get(), e.IndexUpdated):
                    assert event is not None
                return event

            watching = asyncio.create_task(ask(watcher, IndexWatch, cwd=cwd))
            assert (await updated()).indexed == 1
            (folder / "till.py").write_text("def discount(items):\n    return 0\n")
            assert (await updated()).indexed == 1
            assert await found("discount") == ["shop/till.py"]
            folder.rename(h.workspace / "store")
            assert (await updated()).removed == 1
            assert await found("discount") == ["store/till.py"]
            watching.cancel()
