"""What a session still knows after collections, on a small scale; docs/context.md has the whole."""

import pytest

from devtools.evals.recall import PLACES, measure, plant

pytestmark = pytest.mark.anyio


def test_facts_are_spread_over_turns_and_no_question_holds_its_answer() -> None:
    planted = plant(200, 40)
    assert len({each.turn for each in planted}) == 40
    assert max(each.turn for each in planted) <= 150
    assert {each.place for each in planted} == set(PLACES)
    assert len({each.answer for each in planted}) == 40
    for each in planted:
        assert each.shown in (each.printed or each.said)
        assert not each.printed or each.answer not in each.said
        assert each.asked not in each.said
        assert not any(each.answer in other.asked for other in planted)
        assert [other for other in planted if each.asked in other.asked] == [each], "questions are told apart"


async def test_rules_survive_and_what_went_is_found_again() -> None:
    forgetful = await measure("truncate", looks_up=False, turns=60, facts=8)
    assert forgetful.collections >= 1
    assert forgetful.percent < 100
    assert forgetful.known["rules"] == 3
    reminded = await measure("hybrid", looks_up=True, turns=60, facts=8)
    assert reminded.collections >= 1
    assert reminded.percent == 100
    assert reminded.known["rules"] == 3
    assert reminded.summaries_usd > 0
