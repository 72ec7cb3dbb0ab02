"""What today and this month will have cost: one figure for every client."""

from datetime import datetime

import pytest

from openagent.usage.metrics import projection

NOON = datetime(2026, 4, 10, 12, 0)
"""Twenty days of the month are to come."""


def test_goes_on_at_the_pace_of_today_and_of_the_last_seven_days() -> None:
    assert projection([2.0, 4, 4, 4, 4, 4, 4, 0, 0, 0], NOON) == pytest.approx((4.0, 24 + 4 + 20 * 4))


def test_counts_what_the_month_began_with_and_nothing_of_the_one_before() -> None:
    third = datetime(2026, 4, 3, 12, 0)
    end_of_day, end_of_month = projection([0.0, 1, 1, 50, 0, 0, 0], third)
    assert end_of_day == 0
    assert end_of_month == pytest.approx(2 + 27 * 52 / 7)


def test_does_not_go_by_the_first_hours_of_a_day() -> None:
    night = datetime(2026, 4, 10, 0, 6)
    assert projection([1.0, 3, 3, 3, 3, 3, 3, 0, 0, 0], night)[0] == 3


def test_a_day_never_ends_with_less_than_was_spent() -> None:
    night = datetime(2026, 4, 10, 0, 6)
    assert projection([5.0, 0, 0, 0, 0, 0, 0, 0, 0, 0], night)[0] == 5
