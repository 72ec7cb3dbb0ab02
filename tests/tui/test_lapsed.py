"""What nobody answered in time, in the terminal."""

from pathlib import Path

import pytest

from ..interaction.doing import write
from .screens import screens

pytestmark = pytest.mark.anyio


async def test_what_nobody_answered_in_time_stays_in_sight_until_it_is_asked_again_or_let_go(tmp_path: Path) -> None:
    script = [write("a", "x"), {"text": "I could not."}, write("a", "x"), {"text": "Again, no."}]
    async with screens(tmp_path, script, config="[limits]\nask_timeout = 0.2\n", mode="ask") as seen:
        await seen.write("go")
        await seen.until_shown("Nobody answered in time, so this was not done: write a.", "◆ no answer", "/ask-again")
        await seen.write("/ask-again")
        await seen.until_shown("Again, no.", "Nobody answered in time, so this was not done: write a.")
        await seen.write("/let-go")
        await seen.until(lambda: "/ask-again" not in seen.screen() and "○ ready" in seen.screen())
