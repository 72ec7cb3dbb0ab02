"""What people allowed for longer than once, listed and taken back: `grants.list`, `grants.revoke`."""

import asyncio

import msgspec

from openagent.core.audit import entry
from openagent.core.permits import permanent_id
from openagent.core.session import Session
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.grants.offers import words
from openagent.plugins.places import lies_in
from openagent.plugins.store import Batch, KeptGrant, Rows
from openagent.policy.rules import Rule
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.grants import Grant, Grants, GrantsList, GrantsRevoke
from openagent.protocol.op import Done
from openagent.safety.rule_files import RuleFiles
from openagent.workspace.copies import WorkspaceCopies


class GrantService:
    def __init__(self, manager: SessionManager, rules: RuleFiles, copies: WorkspaceCopies) -> None:
        self._manager = manager
        self._rules = rules
        self._copies = copies
        self._writing = asyncio.Lock()

    def handlers(self) -> list[Handler]:
        return [
            GrantsList.handled_by(self._list),
            GrantsRevoke.handled_by(self._revoke),
        ]

    async def _list(self, connection: Connection, op: GrantsList) -> Grants:
        kept = await self._of_sessions()
        notices: list[str] = []
        permanent: list[Rule] = []
        try:
            permanent = await asyncio.to_thread(self._rules.granted)
        except OpenAgentError as problem:
            notices.append(str(problem))
        if op.session:
            session = await self._manager.get(op.session)
            family = {session.id, *(each.id for each in self._manager.elders(session.info))}
            origin = str(self._copies.origin_of(session.workspace))
            kept = [(name, grant) for name, grant in kept if name in family]
            permanent = [rule for rule in permanent if rule.workspace in ("", origin)]
        grants = [*(_permanent(rule) for rule in permanent), *_told(kept)]
        if (within := await connection.within()) is not None:
            grants = [each for each in grants if lies_in(each.workspace, within.folders)]
            if within.person:
                theirs = {each.id for each in await self._manager.runtime.store.session_counts(within=within)}
                grants = [each for each in grants if not each.session or each.session in theirs]
        return Grants(grants, notices)

    async def place_of(self, grant: str) -> tuple[str, str]:
        """The workspace where it holds, and the session it was given in; empty for one that holds everywhere, or that
        there is not."""
        permanent = await asyncio.to_thread(self._rules.granted)
        listed = [*(_permanent(rule) for rule in permanent), *_told(await self._of_sessions())]
        return next(((each.workspace, each.session) for each in listed if each.id == grant), ("", ""))

    async def _of_sessions(self) -> list[tuple[str, KeptGrant]]:
        """As stored, and what is about to be."""
        fresh = [
            (session.id, grant.to_keep)
            for session in self._manager.all_loaded
            for grant in session.permits.granted
            if not grant.permanent
        ]
        loaded = {session.id for session in self._manager.all_loaded}
        stored = [each for each in await self._manager.runtime.store.grants() if each[0] not in loaded]
        return sorted([*stored, *fresh], key=lambda each: each[1].at)

    async def _revoke(self, connection: Connection, op: GrantsRevoke) -> Done:
        async with self._writing:
            revoked = [name for name, grant in await self._of_sessions() if grant.id == op.grant]
            for name in revoked:  # those of the family that have it too
                await self._manager.get(name)
            rule = None if revoked else await self._find_permanent(connection, op.grant)
            if rule is not None:
                await asyncio.to_thread(self._rules.revoke, rule)
            for session in self._manager.all_loaded:
                await self._take_back(session, op.grant)
            if rule is not None:
                told = entry("grant", words(rule), what="revoked", scope="always", rule=msgspec.to_builtins(rule))
                await self._manager.runtime.store.commit(Batch("", audit=[told]))
        return Done()

    async def _find_permanent(self, connection: Connection, grant: str) -> Rule:
        for rule in await asyncio.to_thread(self._rules.granted):
            if permanent_id(rule) == grant:
                break
        else:
            raise OpenAgentError(
                "not_found", f"There is no grant {grant!r}.", hint="`openagent grants` lists the ones there are."
            )
        if not connection.caller.may("admin"):
            raise OpenAgentError(
                "permission_denied",
                "What is allowed always stands in the owner's rules, and only the owner changes them.",
                hint="A token needs the scope admin for it.",
            )
        return rule

    async def _take_back(self, session: Session, grant: str) -> None:
        """From its next decision on, in the middle of a turn too."""
        rules = {each.id: each for each in session.permits.granted if not each.permanent}
        session.permits.revoke({grant})
        if taken := rules.get(grant):
            told = entry("grant", words(taken.rule), what="revoked", scope="session", given_by=taken.by)
            await session.record(rows=Rows(revoked=[grant], audit=[told]))


def _permanent(rule: Rule) -> Grant:
    return Grant(permanent_id(rule), "always", f"{words(rule)}.", workspace=rule.workspace)


def _told(kept: list[tuple[str, KeptGrant]]) -> list[Grant]:
    """What a sub-agent was allowed holds for the whole family: it is told once, as the root's."""
    found: dict[str, Grant] = {}
    for session, grant in kept:
        rule = msgspec.convert(grant.rule, Rule)
        found[grant.id] = Grant(
            grant.id, "session", f"{words(rule)}.", rule.workspace, session=session, at=grant.at, by=grant.by
        )
    return list(found.values())
