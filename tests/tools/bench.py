"""What a tool runs in, without a daemon: a real workspace, and a real shell where one is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from openagent.jail.host import HostJail
from openagent.plugins.files_read import FilesRead
from openagent.plugins.jail import Shell
from openagent.plugins.tool import Tool, ToolContext, ToolOutcome
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import PlanItem, Question


class Bench:
    def __init__(self, workspace: Path, scratch: Path, jail: HostJail | None = None) -> None:
        self.session = "session"
        self.call_id = "call"
        self.workspace = workspace
        self.scratch = scratch
        self.folders: Sequence[Path] = ()
        self.files_read = FilesRead()
        self.apart = False
        self.streamed: list[str] = []
        self.plan: list[PlanItem] = []
        self.asked: list[Question] = []
        self.answer = ""
        self.jail = jail or HostJail(log_dir=scratch)
        self._shell: Shell | None = None

    async def shell(self) -> Shell:
        if self._shell is None:
            self._shell = await self.jail.open(".", self.workspace)
        return self._shell

    def output(self, stream: Literal["stdout", "stderr", "progress"], text: str) -> None:
        self.streamed.append(text)

    async def ask(self, question: Question, *, patience: float | None = None) -> str:
        self.asked.append(question)
        return self.answer

    async def ask_if_there(self, question: Question) -> str | None:
        return await self.ask(question)

    def wrote(self, path: str) -> None:
        pass

    def may_read(self, path: str) -> bool:
        return True

    async def set_plan(self, plan: list[PlanItem]) -> None:
        self.plan = plan

    async def close(self) -> None:
        if self._shell is not None:
            await self._shell.close()

    async def run(self, tool: Tool, **arguments: Any) -> ToolOutcome:
        """As a session runs it: arguments checked, a refusal as an outcome."""
        assert tool.check(arguments) is None
        try:
            return await tool.run(_as_context(self), arguments)
        except OpenAgentError as problem:
            return ToolOutcome(str(problem), is_error=True)

    async def text(self, tool: Tool, **arguments: Any) -> str:
        outcome = await self.run(tool, **arguments)
        assert not outcome.is_error, outcome.text
        return outcome.text

    async def refusal(self, tool: Tool, **arguments: Any) -> str:
        outcome = await self.run(tool, **arguments)
        assert outcome.is_error, outcome.text
        return outcome.text

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def backups(self) -> list[bytes]:
        return [
            file.read_bytes()
            for file in sorted((self.scratch / "backups").glob("*"), key=lambda f: f.stat().st_mtime_ns)
        ]


def _as_context(bench: Bench) -> ToolContext:
    return bench
