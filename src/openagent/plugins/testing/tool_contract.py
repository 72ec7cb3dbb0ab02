"""What every Tool must do. A plugin author subclasses `ToolContract` and gives it two fixtures:

    class TestMyTool(ToolContract):
        @pytest.fixture
        def tool(self) -> Tool: return word_count

        @pytest.fixture
        def arguments(self) -> dict[str, Any]: return {"path": "a.txt"}   # a call that works in an empty workspace

and has a fixture `anyio_backend` that says "asyncio".
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from openagent.plugins.files_read import FilesRead
from openagent.plugins.jail import Shell
from openagent.plugins.tool import Tool, ToolOutcome, Touched
from openagent.protocol.sessions import PlanItem, Question

KINDS = ("read", "edit", "delete", "move", "search", "run", "fetch", "think", "ask", "agent", "other")
EFFECTS = ("none", "read", "write", "execute", "network")
NONSENSE: list[dict[str, Any]] = [{}, {"no such argument": 1}, {"path": None}, {"path": ["a"]}, {"path": {}}]


class LoneContext:
    """A call's surroundings without a daemon. It has a workspace, and no shell and nobody to ask."""

    def __init__(self, folder: Path) -> None:
        self.session, self.call_id = "session", "call"
        self.workspace, self.scratch = folder / "workspace", folder / "scratch"
        self.workspace.mkdir(exist_ok=True)
        self.folders: Sequence[Path] = ()
        self.files_read = FilesRead()
        self.apart = False
        self.shown: list[str] = []
        self.plan: list[PlanItem] = []

    async def shell(self) -> Shell:
        raise AssertionError("this context has no shell")

    def output(self, stream: Literal["stdout", "stderr", "progress"], text: str) -> None:
        self.shown.append(text)

    async def ask(self, question: Question, *, patience: float | None = None) -> str:
        raise AssertionError("this context has nobody to ask")

    async def ask_if_there(self, question: Question) -> str | None:
        return None

    def wrote(self, path: str) -> None:
        pass

    def may_read(self, path: str) -> bool:
        return True

    async def set_plan(self, plan: list[PlanItem]) -> None:
        self.plan = plan


class ToolContract:
    pytestmark = pytest.mark.anyio

    def test_its_name_is_one_that_every_provider_accepts(self, tool: Tool) -> None:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name)
        assert tool.schema.name == tool.name

    def test_its_schema_is_an_object_without_references(self, tool: Tool) -> None:
        assert tool.schema.description.strip()
        assert tool.schema.parameters["type"] == "object"
        assert b'"$ref"' not in msgspec.json.encode(tool.schema.parameters)

    def test_it_says_what_it_does_to_the_world(self, tool: Tool) -> None:
        assert tool.effect in EFFECTS
        assert tool.read_only == (tool.effect in ("read", "none"))

    def test_it_says_what_it_is_and_what_its_arguments_name(self, tool: Tool) -> None:
        assert tool.about.kind in KINDS
        assert all(tool.about.words) or not any(tool.about.words)
        assert {*tool.about.paths, *tool.about.urls, *tool.about.keys} <= tool.schema.parameters["properties"].keys()

    def test_nothing_about_a_call_raises_before_it_runs(self, tool: Tool, arguments: dict[str, Any]) -> None:
        for given in (*NONSENSE, arguments):
            assert isinstance(tool.summarize(given), str)
            assert isinstance(tool.touches(given), Touched)
            assert tool.effect_of(given) in EFFECTS
            problem = tool.check(given)
            assert problem is None or problem.strip()

    def test_arguments_that_fit_are_found_to_fit(self, tool: Tool, arguments: dict[str, Any]) -> None:
        assert tool.check(arguments) is None
        assert tool.check({**arguments, "no such argument": 1})

    async def test_a_call_has_an_outcome(self, tool: Tool, arguments: dict[str, Any], tmp_path: Path) -> None:
        outcome = await tool.run(LoneContext(tmp_path), arguments)
        assert isinstance(outcome, ToolOutcome)
        assert isinstance(outcome.text, str)
        msgspec.json.encode(outcome)
