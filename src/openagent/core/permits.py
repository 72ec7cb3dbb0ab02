"""What one session may do: the rules of its workspace, its mode, and what a person allowed in it."""

import hashlib
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
from msgspec import Struct

from openagent.core.jail_exit_asks import Leaving, left_for
from openagent.core.outside_files import behind_walls, outside
from openagent.grants.offers import Offer, offers, offers_of
from openagent.grants.openings import (
    Opening,
    behind_network,
    decide_opening,
    fetched_from,
    is_opening,
    opening_widths,
    openings_of,
    split_subject,
)
from openagent.plugins.store import KeptGrant
from openagent.policy.decision import decide
from openagent.policy.facts import CallFacts, Decision
from openagent.policy.paths import names_credentials
from openagent.policy.rules import Rule, RuleSet
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import ErrorRaised
from openagent.protocol.sessions import MODES, Mode, strictest

if TYPE_CHECKING:
    from openagent.core.session import Session


class Granted(Struct, frozen=True):
    """What a person allowed for longer than once."""

    id: str
    rule: Rule
    at: float = 0.0
    by: str = ""
    """The client it was given in."""
    permanent: bool = False
    """It stands in the person's own rules."""

    @property
    def to_keep(self) -> KeptGrant:
        return KeptGrant(self.id, msgspec.to_builtins(self.rule), self.at, self.by)


def permanent_id(rule: Rule) -> str:
    """What a rule of the person's own file is called: the same as long as it says the same."""
    return hashlib.sha256(msgspec.json.encode(rule)).hexdigest()[:10]


class Permits:
    def __init__(self, session: "Session", kept: Sequence[KeptGrant] = ()) -> None:
        self._session = session
        self.leaving = Leaving(session)
        self.granted = [Granted(each.id, msgspec.convert(each.rule, Rule), each.at, each.by) for each in kept]
        self._for_turn: list[Granted] = []
        """What else is allowed until the next turn, and why: a grant of another session, or no id."""
        self._found = RuleSet()
        self._rules = RuleSet()
        self.at_most: Mode = "ask"
        self._told: Sequence[ErrorInfo] | None = () if session.info.turn_count == 0 else None
        """The notices people have seen; None: those of an earlier life of this session."""
        self._coming: Sequence[ErrorInfo] = ()
        self.renew()

    @property
    def mode(self) -> Mode:
        """What counts: that of the session, or a stricter one."""
        return strictest(self._session.info.settings.mode, self.at_most)

    def begin_turn(self) -> None:
        self._for_turn = []
        self.renew()

    def renew(self) -> None:
        """The files may have changed. What was allowed in this session stays allowed."""
        holding = self._session.runtime.rules(self._session.info)
        self.at_most = holding.at_most
        self._found = holding.rules
        self._gather()

    def _gather(self) -> None:
        self._rules = self._found
        for grant in (*self.granted, *self._for_turn):
            self._rules = self._rules.granting(grant.rule)
        self.leaving.rules_changed()

    def may_read(self, path: str) -> bool:
        """What a call comes across, without having named it: in no mode, unless somebody allowed just that."""
        if not names_credentials(path):
            return True
        facts = CallFacts("read_file", "read", path, self._session.info.cwd, {"path": path})
        return decide(facts, "ask", self._rules).kind == "allow"

    def enough_mode(self, facts: CallFacts) -> Mode | None:
        """The narrowest mode in which nobody would be asked; None when it is not the mode that asks."""
        wider = MODES[MODES.index(self.mode) + 1 :]
        return next((mode for mode in wider if self.decide(facts, mode).kind == "allow"), None)

    def decide(self, facts: CallFacts, mode: Mode | None = None) -> Decision:
        """Allow, ask or deny: by the rules, the mode, and what a person allowed."""
        mode = mode or self.mode
        if is_opening(facts):
            return decide_opening(facts, mode, self._rules)
        decision = decide(facts, mode, self._rules)
        if facts.effect == "network" and (fetched := fetched_from(facts)):
            setting = self._session.runtime.network(*split_subject(fetched.subject))
            return behind_network(decision, decide_opening(fetched, mode, self._rules), setting)
        if facts.opens_files and (opening := outside(facts)):
            said = decide_opening(opening.facts(facts.workspace), mode, self._rules)
            return behind_walls(self._session.runtime.jail, facts, decision, said, mode)
        return decision

    def limits(self, tool: str) -> bool:
        """Whether a rule may ask about it or forbid it."""
        return any(each.rule.tool == tool and each.rule.decision != "allow" for each in self._rules.compiled)

    def leaves_for(self, facts: CallFacts) -> list[Opening]:
        """What a person who allows it lets the agent out to."""
        if facts.effect == "execute":
            return left_for(facts)
        return [opening] if (opening := outside(facts)) else []

    def offers(self, facts: CallFacts) -> list[Offer]:
        """The ways to allow it."""
        if is_opening(facts):
            return offers_of(opening_widths(facts))
        if facts.opens_files and (opening := outside(facts)):
            return offers_of(opening_widths(opening.facts(facts.workspace)))
        return offers(facts, self.mode, self._rules)

    @property
    def openings(self) -> list[Opening]:
        """What the session's jail is opened to, for longer than a call."""
        return openings_of(self._rules, self._session.info.cwd)

    def grant(self, offer: Offer, by: str) -> KeptGrant | None:
        """From now on calls like this one need not be asked for. Returns what is to be kept with the session."""
        assert offer.rule is not None
        permanent = self._remember(offer.rule) if offer.choice.scope == "always" else ""
        name = permanent or uuid4().hex[:10]
        grant = Granted(name, offer.rule, time.time(), by, permanent=bool(permanent))
        self.take_over(grant)
        return None if permanent else grant.to_keep

    def _remember(self, rule: Rule) -> str:
        """In the person's own rules; where that cannot be done it holds for this session."""
        try:
            return permanent_id(self._session.runtime.remember_grant(rule))
        except OpenAgentError as problem:
            self._session.post(ErrorRaised(error=problem.info))
            return ""

    def take_over(self, grant: Granted) -> None:
        """One that was given in a session of the same family, for good."""
        self.granted.append(grant)
        self._gather()
        self._settle()

    def revoke(self, grants: Collection[str]) -> list[str]:
        """They hold no longer, from the next decision on. Returns those that were given here."""
        own = [grant.id for grant in self.granted if grant.id in grants]
        self.granted = [grant for grant in self.granted if grant.id not in grants]
        self._for_turn = [grant for grant in self._for_turn if grant.id not in grants]
        self.renew()
        return own

    def allow_for_turn(self, rules: Sequence[Rule], grant: str = "") -> None:
        self._for_turn += [Granted(grant, rule) for rule in rules]
        self._gather()
        self._settle()

    def _settle(self) -> None:
        self._session.asks.settle(lambda facts: self.decide(facts).kind == "allow")

    def notice(self, notices: Sequence[ErrorInfo]) -> None:
        """What a person should be told of with the next turn."""
        self._coming = notices

    def new_notices(self) -> Sequence[ErrorInfo]:
        """Each is told once."""
        told, self._told = self._told, self._session.runtime.notices(self._session.workspace)
        coming, self._coming = self._coming, ()
        return [*coming, *([] if told is None else [notice for notice in self._told if notice not in told])]
