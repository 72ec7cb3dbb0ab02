"""What holds for a session because of the one it works for, and because of where its workspace was copied from."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from openagent.core.runtime import WorkspaceRules
from openagent.core.session import Session
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.policy.paths import is_inside
from openagent.policy.rules import CompiledRule, Rule, RuleSet, listed
from openagent.protocol.sessions import SessionInfo, strictest
from openagent.safety.rule_files import RuleFiles
from openagent.workspace.copies import WorkspaceCopies


def _moved(rule: Rule, origin: str, place: str) -> Rule:
    """One that names the workspace names its copy. Where a path lies beneath it, both are meant."""
    paths = listed(rule.path)
    beneath = [place + path[len(origin) :] for path in paths if is_inside(path, origin)]
    workspace = place if rule.workspace == origin else rule.workspace
    return replace(rule, workspace=workspace, path=[*paths, *beneath])


def _in_copy(rules: RuleSet, origin: str, place: str) -> RuleSet:
    return RuleSet(
        tuple(CompiledRule(_moved(each.rule, origin, place), each.source, each.number) for each in rules.compiled)
    )


class InheritedRules:
    def __init__(
        self,
        files: RuleFiles,
        copies: WorkspaceCopies,
        loaded: LoadedSessions,
        role_of: Callable[[str], str | None] = lambda _person: "",
    ) -> None:
        """`role_of` tells a person's role; None: it is not known at the moment."""
        self._role_of = role_of
        self._files = files
        self._copies = copies
        self._loaded = loaded

    def rules(self, info: SessionInfo) -> WorkspaceRules:
        """Those of the workspace that a copy was made from, with what was allowed in the sessions above, and no wider a
        mode than theirs."""
        workspace = Path(info.cwd)
        origin = self._copies.origin_of(workspace)
        above = [elder.info.template for elder in self._loaded.elders(info)]
        role = self._role_of(info.owner) if info.owner else ""
        found = self._files.holding(origin, info.template, above, role)
        rules, at_most = found.rules, found.at_most
        if origin != workspace:
            rules = _in_copy(rules, str(origin), info.cwd)
        for elder in self._loaded.elders(info):
            at_most = strictest(at_most, elder.info.settings.mode, elder.permits.at_most)
            for grant in elder.permits.granted:
                rules = rules.granting(_moved(grant.rule, elder.info.cwd, info.cwd))
        return WorkspaceRules(rules, at_most)

    def remember(self, rule: Rule) -> Rule:
        """What was always allowed in a copy is so in the workspace."""
        place = Path(rule.workspace)
        remembered = _moved(rule, rule.workspace, str(self._copies.origin_of(place)))
        self._files.remember(remembered)
        return remembered

    def share(self, session: Session) -> None:
        """What a person allowed a sub-agent for the session holds for the whole tree it belongs to."""
        if not (elders := self._loaded.elders(session.info)):
            return
        root = elders[-1]
        known = {grant.id for grant in root.permits.granted}
        for grant in session.permits.granted:
            if grant.id in known:
                continue
            moved = replace(grant, rule=_moved(grant.rule, session.info.cwd, root.info.cwd))
            root.permits.take_over(moved)
            if not moved.permanent:
                root.post(granted=[moved.to_keep])
            for other in self._loaded.all:
                if other is not session and root in self._loaded.elders(other.info):
                    rule = _moved(grant.rule, session.info.cwd, other.info.cwd)
                    other.permits.allow_for_turn([rule], grant.id)

    def hand_down(self, session: Session) -> None:
        """What a person allowed in a session holds at once for those that work for it."""
        for other in self._loaded.all:
            if session in self._loaded.elders(other.info):
                for grant in session.permits.granted:
                    rule = _moved(grant.rule, session.info.cwd, other.info.cwd)
                    other.permits.allow_for_turn([rule], grant.id)
