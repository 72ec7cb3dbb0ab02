"""What a call shows to people, and what is written down around it, never ends a turn."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.core.runtime import Runtime
from openagent.customizing.gate import CustomGate
from openagent.plugins.gate import Admission, OpenGate, Ruling, Scene
from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.protocol import events as e
from openagent.protocol.display import Display, as_far_as_it_fits
from openagent.protocol.messages import NotePart, ToolCallPart

from ..interaction.doing import answer, asked, call, messages_of, one_turn, results_of, shell
from ..interaction.house import House, house, house_over, new_session

pytestmark = pytest.mark.anyio


async def runtime_of(h: House) -> Runtime:
    """To put a faulty plugin in: no setting installs one."""
    return (await h.daemon._manager()).runtime  # pyright: ignore[reportPrivateUsage]


async def test_a_turn_goes_on_after_looking_for_files(tmp_path: Path) -> None:
    async with house(tmp_path, [call("glob", pattern="**/*.py"), {"text": "two"}]) as h, await h.client() as client:
        (h.workspace / "a.py").write_text("")
        (h.workspace / "b.py").write_text("")
        session, completed, _ = await one_turn(h, client)
        assert (completed.reason, completed.text, completed.error) == ("done", "two", None)
        (result,) = await results_of(client, session)
        assert sorted(result.text.split()) == ["a.py", "b.py"]
        assert result.display == Display(summary="2 files")


async def test_a_transcript_from_before_displays_had_a_type_is_read_and_goes_on(tmp_path: Path) -> None:
    script = [call("write_file", path="a.py", content="x\n"), call("glob", pattern="*"), {"text": "ok"}, {"text": "on"}]
    async with Simulator(script) as sim:
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            session, _, _ = await one_turn(h, client)
        with closing(sqlite3.connect(h.home / "openagent.db")) as database, database:
            rows = database.execute("select number, parts from messages where role = 'tool'").fetchall()
            for number, text in rows:
                parts = json.loads(text)
                shown = parts[0].get("display", {})
                old = {**shown, "colour": "blue", "files": 1} if parts[0]["name"] == "glob" else {**shown, "diff": None}
                parts[0]["display"] = old
                database.execute("update messages set parts = ? where number = ?", (json.dumps(parts), number))
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            written, found = await results_of(client, session)
            assert (written.display.added, written.display.files[0].path, written.display.diff) == (1, "a.py", "")
            assert found.display == Display(summary="1 files")
            await client.send(session, "more")
            completed, _ = await (await client.attach(session)).until_turn_ends()
            assert (completed.reason, completed.text) == ("done", "on")


SHAPELESS: list[Any] = [None, 3, [], {"files": [{}]}, {"added": "many", "agents": 7}]


@pytest.mark.parametrize("value", SHAPELESS)
def test_what_does_not_fit_a_display_is_left_out(value: Any) -> None:
    assert as_far_as_it_fits(value) == Display()


async def test_a_tool_that_shows_something_without_a_type_fails_and_the_turn_goes_on(tmp_path: Path) -> None:
    @tool(effect="none")
    async def painter(context: ToolContext) -> ToolOutcome:
        """Paint."""
        return ToolOutcome("done", display={"summary": "red"})  # pyright: ignore[reportArgumentType]

    async with house(tmp_path, [call("painter"), {"text": "I see."}]) as h, await h.client() as client:
        runtime = await runtime_of(h)
        runtime.tools = [*runtime.tools, painter]
        session, completed, _ = await one_turn(h, client)
        assert (completed.reason, completed.text) == ("done", "I see.")
        (result,) = await results_of(client, session)
        assert result.is_error
        assert "must be a Display, not dict" in result.text


class BrokenGate(OpenGate):
    """A gate with a defect in one place."""

    def __init__(self, broken: str) -> None:
        self._broken = broken

    def _meets(self, place: str) -> None:
        if place == self._broken:
            raise KeyError("a defect of the gate's")

    def opening(self, workspace: Path) -> Sequence[NotePart]:
        self._meets("opening")
        return ()

    async def admit(self, scene: Scene, text: str) -> Admission:
        self._meets("admit")
        return await super().admit(scene, text)

    async def before_call(self, scene: Scene, call: ToolCallPart) -> Ruling:
        self._meets("before_call")
        return await super().before_call(scene, call)

    async def before_ask(self, scene: Scene, call: ToolCallPart) -> Ruling:
        self._meets("before_ask")
        return await super().before_ask(scene, call)

    async def after_call(self, scene: Scene, call: ToolCallPart, outcome: ToolOutcome) -> Sequence[NotePart]:
        self._meets("after_call")
        return ()

    async def before_end(self, scene: Scene, answer: str, *, again: bool) -> str:
        self._meets("before_end")
        return ""


@pytest.mark.parametrize("place", ["opening", "admit", "before_call", "after_call", "before_end"])
async def test_a_defect_in_a_gate_is_told_and_does_not_end_the_turn(tmp_path: Path, place: str) -> None:
    async with house(tmp_path, [shell("touch made"), {"text": "answered"}]) as h, await h.client() as client:
        (await runtime_of(h)).gate = BrokenGate(place)
        session, completed, seen = await one_turn(h, client)
        assert (completed.reason, completed.text) == ("done", "answered")
        told = [event.error for event in seen if isinstance(event, e.ErrorRaised)]
        assert [error.code for error in told] == ["internal"], await messages_of(client, session)
        assert "a defect of the gate's" in told[0].message
        # What could not be put before the hooks was not run: one of them might have refused it.
        assert (h.workspace / "made").exists() is (place != "before_call")


async def test_where_no_hook_can_answer_for_them_a_person_is_asked(tmp_path: Path) -> None:
    async with house(tmp_path, [shell("touch made"), {"text": "answered"}]) as h, await h.client() as client:
        (await runtime_of(h)).gate = BrokenGate("before_ask")
        attachment = await client.attach(await new_session(h, client, mode="ask"))
        await client.send(attachment.session, "go")
        await answer(client, await asked(attachment), decision="deny")
        completed, _ = await attachment.until_turn_ends()
        assert (completed.reason, completed.text) == ("done", "answered")
        assert not (h.workspace / "made").exists()


class UnreadableHooks:
    def find(self, workspace: Path) -> Any:
        raise KeyError("a defect among the hooks")


async def test_a_message_whose_hooks_cannot_be_run_is_held_back(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "never said"}]) as h, await h.client() as client:
        gate: Any = (await runtime_of(h)).gate
        while not isinstance(gate, CustomGate):
            gate = gate._gate
        gate._hooks = UnreadableHooks()  # type: ignore[assignment]  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        _, completed, _ = await one_turn(h, client)
        assert completed.error is not None
        assert (completed.reason, completed.error.code) == ("error", "permission_denied")
        assert "its hooks could not be run" in completed.error.message
        assert not h.sim.requests
