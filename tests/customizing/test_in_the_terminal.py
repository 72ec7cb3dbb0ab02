"""Slash commands in the terminal interface."""

from pathlib import Path

import pytest

from ..tui.screens import screens


@pytest.mark.anyio
async def test_the_terminal_offers_and_sends_commands_of_the_project(tmp_path: Path) -> None:
    commands = tmp_path / "workspace" / ".openagent" / "commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("---\ndescription: Says hello\n---\nGreet $ARGUMENTS warmly.")
    async with screens(tmp_path, [{"text": "Greeted."}]) as seen:
        await seen.until(lambda: any(each.name == "greet" for each in seen.view.completion.commands))
        await seen.write("/gre", send=False)
        await seen.until_shown("/greet", "Says hello")
        await seen.pilot.press("ctrl+u")
        await seen.write("/greet everybody ", send=True)
        await seen.until_shown("Greeted.")
        assert "Greet everybody warmly." in seen.house.sim.requests[0].body
