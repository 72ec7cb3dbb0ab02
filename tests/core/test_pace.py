"""Sessions go on in the order of coming, a few at a time, and a hanging one holds up nobody for long."""

import asyncio

import pytest

from openagent.core import pace as paces
from openagent.core.pace import Pace


@pytest.mark.anyio
async def test_no_more_than_it_says_are_inside_and_all_come_through_in_order() -> None:
    pace, inside, order, most = Pace(2), 0, list[int](), 0

    async def work(number: int) -> None:
        nonlocal inside, most
        async with pace.place():
            inside += 1
            most = max(most, inside)
            order.append(number)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work(number) for number in range(20)))
    assert (most, order, pace.is_crowded) == (2, list(range(20)), False)


@pytest.mark.anyio
async def test_those_behind_one_that_hangs_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paces, "_LONGEST_S", 0.001)
    pace, hanging = Pace(1), asyncio.Event()

    async def hang() -> None:
        async with pace.place():
            await hanging.wait()

    first = asyncio.create_task(hang())
    await asyncio.sleep(0)
    async with asyncio.timeout(60), pace.place():
        pass
    hanging.set()
    await first
    assert not pace.is_crowded


async def enter(pace: Pace, entered: list[str], name: str) -> None:
    async with pace.place():
        entered.append(name)


@pytest.mark.anyio
async def test_who_gives_up_waiting_takes_nobodys_place() -> None:
    pace, entered = Pace(1), list[str]()
    async with pace.place():
        gone, stays = (
            asyncio.create_task(enter(pace, entered, "gone")),
            asyncio.create_task(enter(pace, entered, "stays")),
        )
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
    await stays
    assert entered == ["stays"]


@pytest.mark.anyio
async def test_who_is_let_in_and_cancelled_in_the_same_moment_passes_the_place_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paces, "_LONGEST_S", 3600.0)
    pace, entered = Pace(1), list[str]()
    async with pace.place():
        gone, stays = (
            asyncio.create_task(enter(pace, entered, "gone")),
            asyncio.create_task(enter(pace, entered, "stays")),
        )
        await asyncio.sleep(0)
    gone.cancel()
    late = asyncio.create_task(enter(pace, entered, "late"))
    async with asyncio.timeout(60):
        await asyncio.gather(stays, late)
    assert (entered, pace.is_crowded) == (["stays", "late"], False)
