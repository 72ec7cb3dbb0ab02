"""A copy of a workspace that is full takes no more, until something in it is removed."""

import re
from collections.abc import Sequence
from pathlib import Path

from openagent.plugins.gate import Admission, Gate, Ruling, Scene
from openagent.plugins.tool import ToolOutcome
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import NotePart, ToolCallPart
from openagent.workspace.copies import WorkspaceCopies

_WRITERS = frozenset(("shell", "execute_code", "git", "write_file", "edit_file", "apply_patch"))
_FREES = re.compile(r"\s*(?:rm|rmdir|unlink|git clean|du|ls|df)\b[^;&|<>`$\n]*")
"""A command that can only make room, or look for what takes it."""


class QuotaGate:
    """Another gate, behind this one."""

    def __init__(self, gate: Gate, copies: WorkspaceCopies) -> None:
        self._gate = gate
        self._copies = copies

    def opening(self, workspace: Path) -> Sequence[NotePart]:
        return self._gate.opening(workspace)

    async def admit(self, scene: Scene, text: str) -> Admission:
        return await self._gate.admit(scene, text)

    async def before_call(self, scene: Scene, call: ToolCallPart) -> Ruling:
        quota = self._copies.quota_of(scene.workspace)
        if (
            quota is not None
            and call.name in _WRITERS
            and not _FREES.fullmatch(str(call.arguments.get("command", "x")))
        ):
            try:
                await self._copies.check_quota(scene.workspace, quota)
            except OpenAgentError as full:
                if full.info.code == "workspace_full":
                    reason = f"{full.info.message} Nothing more is written there: remove something with rm first."
                    return Ruling("deny", reason, by="workspace:quota")
        return await self._gate.before_call(scene, call)

    async def before_ask(self, scene: Scene, call: ToolCallPart) -> Ruling:
        return await self._gate.before_ask(scene, call)

    async def after_call(self, scene: Scene, call: ToolCallPart, outcome: ToolOutcome) -> Sequence[NotePart]:
        return await self._gate.after_call(scene, call, outcome)

    async def before_end(self, scene: Scene, answer: str, *, again: bool) -> str:
        return await self._gate.before_end(scene, answer, again=again)
