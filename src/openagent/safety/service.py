"""Rules, trust, undo and the audit trail of one daemon, and what they share."""

import asyncio
from pathlib import Path

from openagent.config.cache import ConfigCache
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.jail.git_walls import OpenJails
from openagent.plugins.store import Store
from openagent.policy.decision import decide
from openagent.policy.facts import CallFacts
from openagent.protocol.errors import ErrorInfo
from openagent.safety.audit import AuditService
from openagent.safety.git_watch import GitWatch
from openagent.safety.policy import PolicyService, TrustService
from openagent.safety.rule_files import RuleFiles
from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.copies import WorkspaceCopies
from openagent.workspace.git_guard import NoJails
from openagent.workspace.writes import WorkspaceWrites


class Safety:
    def __init__(self, home: Path, configs: ConfigCache, git_watch: GitWatch, *, jailed: bool) -> None:
        """`jailed=False`: commands are the person's own doing, and so is what they leave in git's own files."""
        self._configs = configs
        self._jailed = jailed
        self.rules = RuleFiles(configs)
        self.checkpoints = GitCheckpoints(home)
        self.writes = WorkspaceWrites(
            home,
            self.checkpoints,
            jails=OpenJails() if jailed else NoJails(),
            on_disarmed=git_watch.disarmed,
        )
        self.workspaces = WorkspaceCopies(home, self.checkpoints, self.writes)
        configs.origin_of = self.workspaces.origin_of

    def notices(self, workspace: Path) -> list[ErrorInfo]:
        """What a person should know before an agent works there."""
        return [*self._configs.notices(workspace), *self.rules.notices(self.workspaces.origin_of(workspace))]

    def may_read(self, workspace: Path, path: str) -> bool:
        """Whether a file may be shown to a model without anybody being asked."""
        origin = self.workspaces.origin_of(workspace)
        facts = CallFacts("read_file", "read", path, str(origin), {"path": path})
        return decide(facts, "edits", self.rules.holding(origin).rules).kind == "allow"

    def room_in(self, workspace: Path) -> int | None:
        """How large a single file there may become; None where nothing is said."""
        quota = self.workspaces.quota_of(workspace)
        return quota.bytes if quota is not None else None

    async def open_workspace(self, workspace: Path) -> None:
        """A copy is mounted again, when the machine was restarted since."""
        if copy := self.workspaces.copy_of(workspace):
            await self.workspaces.open(copy)

    async def close(self) -> None:
        await asyncio.to_thread(self.workspaces.unmount_all)

    def handlers(self, store: Store, manager: SessionManager) -> list[Handler]:
        return [
            *PolicyService(self._configs, self.rules, walled=self._jailed).handlers(),
            *TrustService(self._configs, self.rules, store).handlers(),
            *AuditService(store, manager).handlers(),
        ]
