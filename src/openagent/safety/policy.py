"""What rules say, and whose count: `policy.*` and `trust.*`."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from openagent.config.cache import ConfigCache
from openagent.config.project import project_folder
from openagent.config.trust import TrustedFolder, governed_files
from openagent.core.audit import entry
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.folders import no_folder
from openagent.plugins.store import Batch, Store
from openagent.policy.explain import check_builtin_examples, check_examples, explain
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Done
from openagent.protocol.safety import (
    PolicyExplain,
    PolicyExplanation,
    PolicyTest,
    PolicyTested,
    RuleExample,
    TrustAdd,
    TrustDecline,
    TrustEntries,
    TrustEntry,
    TrustRemove,
    TrustShow,
)
from openagent.protocol.sessions import strictest
from openagent.safety.rule_files import RuleFiles


class PolicyService:
    def __init__(self, configs: ConfigCache, rules: RuleFiles, *, walled: bool) -> None:
        """`walled=False`: there is no jail to hold commands."""
        self._configs = configs
        self._rules = rules
        self._walled = walled

    def handlers(self) -> list[Handler]:
        return [
            PolicyExplain.handled_by(self._explain),
            PolicyTest.handled_by(self._test),
        ]

    async def _explain(self, connection: Connection, op: PolicyExplain) -> PolicyExplanation:
        workspace = _folder(op.cwd)
        found = self._rules.find(workspace)
        mode = op.mode or self._configs.load(workspace, connection.env).settings.usual_mode
        mode = strictest(mode, found.holding.at_most)
        rules = found.holding.rules.holding_for(op.template, role=op.role)
        explained = explain(op.command, mode, rules, str(workspace), op.tool, walled=self._walled)
        return replace(explained, notices=[notice.message for notice in found.notices])

    async def _test(self, connection: Connection, op: PolicyTest) -> PolicyTested:
        found = self._rules.find(_folder(op.cwd))

        def check() -> list[RuleExample]:
            return [
                *check_builtin_examples(),
                *check_examples(found.user, "user"),
                *check_examples(found.project, "project"),
            ]

        examples = await asyncio.to_thread(check)
        return PolicyTested(
            checked=len(examples),
            failures=[example for example in examples if example.expected != example.met],
            files=found.files,
            notices=[notice.message for notice in found.notices],
        )


class TrustService:
    def __init__(self, configs: ConfigCache, rules: RuleFiles, store: Store) -> None:
        self._configs = configs
        self._trust = configs.trust
        self._rules = rules
        self._store = store

    def handlers(self) -> list[Handler]:
        return [
            TrustAdd.handled_by(self._add),
            TrustRemove.handled_by(self._remove),
            TrustDecline.handled_by(self._decline),
            TrustShow.handled_by(self._list),
        ]

    async def _add(self, connection: Connection, op: TrustAdd) -> TrustEntry:
        folder = project_folder(_folder(op.cwd), self._configs.environment({}))
        added = await asyncio.to_thread(self._trust.add, folder)
        await self._changed(added, "trusted")
        return _entry(added, current=True)

    async def _remove(self, connection: Connection, op: TrustRemove) -> Done:
        removed = await asyncio.to_thread(self._trust.remove, Path(op.folder))
        await self._changed(removed, "removed")
        return Done()

    async def _decline(self, connection: Connection, op: TrustDecline) -> Done:
        folder = project_folder(_folder(op.cwd), self._configs.environment({}))
        declined = await asyncio.to_thread(self._trust.decline, folder)
        await self._changed(declined, "declined")
        return Done()

    async def _list(self, connection: Connection, op: TrustShow) -> TrustEntries:
        def look() -> list[TrustEntry]:
            entries = sorted(self._trust.entries(), key=lambda entry: entry.folder)
            return [_entry(trusted, current=self._trust.trusts(Path(trusted.folder))) for trusted in entries]

        return TrustEntries(await asyncio.to_thread(look))

    async def _changed(self, trusted: TrustedFolder, what: str) -> None:
        self._configs.forget()
        self._rules.forget()
        row = entry("trust", trusted.folder, what=what, fingerprint=trusted.fingerprint)
        await self._store.commit(Batch("", audit=[row]))


def _entry(trusted: TrustedFolder, *, current: bool) -> TrustEntry:
    try:
        files = [str(file) for file in governed_files(Path(trusted.folder))]
    except (OpenAgentError, OSError):
        files = []
    return TrustEntry(folder=trusted.folder, at=trusted.at, current=current, files=files)


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if not folder.is_absolute() or not folder.is_dir():
        raise no_folder(cwd)
    return folder
