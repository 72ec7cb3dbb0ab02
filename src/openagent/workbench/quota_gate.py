"""A copy of a workspace that is full takes no more, until something in it is removed."""

import re

from openagent.plugins.gate import FrontGate, Gate, Ruling, Scene
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import ToolCallPart
from openagent.protocol.words import about
from openagent.workspace.copies import WorkspaceCopies

_FREES = re.compile(r"\s*(?:rm|rmdir|unlink|git clean|du|ls|df)\b[^;&|<>`$\n]*")
"""A command that can only make room, or look for what takes it."""


class QuotaGate(FrontGate):
    """Another gate, behind this one."""

    def __init__(self, gate: Gate, copies: WorkspaceCopies) -> None:
        super().__init__(gate)
        self._copies = copies

    async def before_call(self, scene: Scene, call: ToolCallPart) -> Ruling:
        quota = self._copies.quota_of(scene.workspace)
        if (
            quota is not None
            and about(call.name).kind in ("edit", "delete", "move", "run")
            and not _FREES.fullmatch(str(call.arguments.get("command", "x")))
        ):
            try:
                await self._copies.check_quota(scene.workspace, quota)
            except OpenAgentError as full:
                if full.info.code == "workspace_full":
                    reason = f"{full.info.message} Nothing more is written there: remove something with rm first."
                    return Ruling("deny", reason, by="workspace:quota")
        return await self._gate.before_call(scene, call)
