"""Leaving the jail: what a session may reach outside it, and asking a person for more.

What is asked here is no call of its own: it comes up while something runs, a command that connects to a host for one.
It is asked like a call all the same, and answered, granted and recorded like one.
"""

import asyncio
import functools
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4
from weakref import WeakKeyDictionary

import msgspec

from openagent.core.asks import ask_person
from openagent.core.audit import entry
from openagent.core.beyond_undo import BY_PEOPLE, asked_for, held
from openagent.grants.openings import Opening, own_port, split_subject
from openagent.plugins.addresses import HERE, address_of, written
from openagent.plugins.jail import OpenableJail, OpenableShell, Openings, Shell, Tunnel, offers
from openagent.plugins.store import AuditEntry
from openagent.policy.builtin.network import host_of
from openagent.policy.facts import CallFacts, Decision
from openagent.policy.units import WRITES, command_text, units_of
from openagent.protocol.sessions import PermissionAsk

if TYPE_CHECKING:
    from openagent.core.session import Session

ENGINE = Opening("engine", "container engine")
_ENGINES = ("docker", "podman", "engine", "container engine")
_HOST = re.compile(
    r"(?:https?://)?([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?/?", re.IGNORECASE
)
_PORT = re.compile(r"^(?:[a-z+]+://)?(?:[^@/\s]*@)?[A-Za-z0-9_.-]+:(\d{1,5})(?:[/?#]|$)")
_PATH = re.compile(r"""(?:^|[\s='"(:<>])(/[^\s'"`;|&<>()$*?\[\]{},:]+)""")
_SPEAKS = re.compile(r"^\s*(?:echo|printf)\b[^|;&<>]*$")
_NEVER = "jail:never"
_REMEMBERED = 512
_ASKED_AT_ONCE = 8
"""A program can want any number of hosts; a person cannot be asked about all of them at once. The others wait."""


class _Passed(NamedTuple):
    """A connection that was allowed."""

    opening: Opening
    scope: str
    """The call or program that it was allowed to; empty: to itself alone."""
    once: bool
    """No rule allowed it."""
    by_program: bool


class _Question:
    """One, however many wait for the answer."""

    def __init__(self, task: "asyncio.Task[Decision]") -> None:
        self.task = task
        self.waiting = 0


class Leaving:
    def __init__(self, session: "Session") -> None:
        self._session = session
        self._questions: dict[Opening, _Question] = {}
        self._answers: dict[tuple[str, Opening], Decision] = {}
        """What was said once, to one call or program: it holds for as long as that one runs."""
        self._places = asyncio.Semaphore(_ASKED_AT_ONCE)
        """Taken while a person is being asked. Those who wait for the answer to the same question share its place."""
        self._news: dict[Opening, str] = {}
        self._once: dict[Opening, bool] = {}
        """What the jail is opened to for the running call alone, each with whether a rule allows it."""
        self._tunnels = WeakKeyDictionary[Tunnel, _Passed]()
        self._fitted: tuple[Shell, Openings] | None = None
        self.call_id = ""
        """The call whose command is in the shell; empty when none is."""
        self._goes_on = ""
        """That command, when it goes on in the background."""
        self._ending: asyncio.Task[None] | None = None
        self._behind: dict[str, str] = {}
        """Commands that go on in the background, each with the call that it was."""
        self._closing: asyncio.Task[None] | None = None

    def begins(self, call_id: str) -> None:
        """A call is about to use the shell. What was said once to the one before is over."""
        if call_id != self.call_id:
            self._forget(self.call_id)
            self._once = {}
            self._goes_on = ""
            self.call_id = call_id
            self._close_tunnels()

    async def over(self, call_id: str) -> None:
        """The call has ended, and so has what was said once, also for what its command left running. A command that
        goes on in the background has not ended: it keeps it until the next one begins."""
        if call_id != self.call_id or self._session.shell.runs_behind(self._goes_on):
            return
        opened = bool(self._once)
        self.begins("")
        if opened:
            await self._session.shell.refit()

    def goes_on(self, background: str) -> None:
        """The running call's command, in the background."""
        self._goes_on = background
        self._behind[background] = self.call_id

    def ended_behind(self, background: str) -> None:
        if self._behind.pop(background, None) is not None:
            self._close_tunnels()
        if background == self._goes_on:
            self._ending = asyncio.create_task(self.over(self.call_id))

    def rules_changed(self) -> None:
        """What they allow no longer is closed at once, whatever runs."""
        self._close_tunnels()
        over = [each for each, by_rule in self._once.items() if by_rule and not self._is_allowed(each)]
        for opening in over:
            del self._once[opening]
        if self._fitted is not None and self._ports_to_close(self._fitted[1]):
            self._closing = asyncio.create_task(self._close_ports())

    def _ports_to_close(self, fitted: Openings) -> bool:
        return not set(fitted.ports) <= set(self.openings.ports)

    async def _close_ports(self) -> None:
        """Without waiting for the command that runs: what has to be mounted is for the next one."""
        jail = self._session.runtime.jail
        if self._fitted is None or not isinstance(jail, OpenableJail):
            return
        shell, fitted = self._fitted
        ports = tuple(port for port in fitted.ports if port in self.openings.ports)
        self._fitted = (shell, msgspec.structs.replace(fitted, ports=ports))
        await jail.refit(self._session.id, self._fitted[1])

    def _close_tunnels(self) -> None:
        for tunnel, passed in list(self._tunnels.items()):
            runs = not passed.scope or passed.scope in (self.call_id, *self._behind.values()) or passed.by_program
            if not (passed.once and runs) and not self._is_allowed(passed.opening):
                del self._tunnels[tunnel]
                tunnel.close()

    def _is_allowed(self, opening: Opening) -> bool:
        return self._decided(opening).kind == "allow"

    def _decided(self, opening: Opening) -> Decision:
        return self._session.permits.decide(opening.facts(self._session.info.cwd))

    def news(self) -> dict[str, str]:
        """What was refused since the last time: in a word for people, and as the model is told."""
        told, self._news = self._news, {}
        return {opening.subject: why for opening, why in told.items()}

    @property
    def openings(self) -> Openings:
        """What the session's jail is opened to."""
        return msgspec.structs.replace(_opened(self.granted), held=held(self._session, self.granted))

    @property
    def granted(self) -> Sequence[Opening]:
        """For longer, or for the running call."""
        return [*self._session.permits.openings, *self._once]

    async def fit(self, shell: Shell) -> None:
        """Opens the jail of a shell to what it may have by now, and to no more. A mount takes a new jail."""
        openings = self.openings
        before = self._fitted[1] if self._fitted is not None and self._fitted[0] is shell else openings
        self._fitted = (shell, openings)
        if openings == before:
            return
        if isinstance(jail := self._session.runtime.jail, OpenableJail):
            await jail.refit(self._session.id, openings)
        if openings.needs_mounts != before.needs_mounts and isinstance(shell, OpenableShell):
            await shell.reopen()

    async def prepare(self, call_id: str, facts: CallFacts, decision: Decision) -> str:
        """Opens the jail to what a command needs, as far as it may. Returns why it cannot be run at all."""
        self.begins(call_id)
        jail, command = self._session.runtime.jail, command_text(facts)
        try:
            wanted = _wishes(self._session, facts.arguments)
        except _NotToBeHadError as problem:
            return f"It asks for what it cannot have: {problem}."
        why = str(facts.arguments.get("justification") or "it gives no reason").strip().rstrip(".")
        for opening in wanted:
            said = await self.ask(opening, f"The model asks to leave the jail for it: {why}.", command=command)
            if said.kind == "deny":
                return f"{opening.subject}: {said.reason}"
        if decision.rule.startswith("answer:"):
            for host in _hosts_named(facts):
                self._remember(call_id, host, decision)
        if not offers(jail, OpenableJail) or self._session.permits.mode in ("plan", "full"):
            return ""
        if decision.rule.startswith(BY_PEOPLE):
            self._open_as_allowed(facts, jail, seen=decision.rule.startswith("answer:"))
        for folder in _folders_named(facts, command, jail):
            await self._open_folder(Opening("folder", folder), command)
        return ""

    def _open_as_allowed(self, facts: CallFacts, jail: OpenableJail, *, seen: bool) -> None:
        """Who allows a command allows what it says that it leaves for: by a rule the engine, and seeing the command
        itself its folders, too."""
        for opening in left_for(facts):
            if (seen or opening == ENGINE) and not jail.why_not(opening.kind, opening.subject):
                self._once[opening] = False

    async def _open_folder(self, opening: Opening, command: str) -> None:
        if any(opening.subject == path or opening.subject.startswith(f"{path}/") for path, _ in self.openings.folders):
            return
        said = await self.ask(opening, f"The command wants to read {opening.subject}.", command=command)
        if said.kind == "deny":
            why = _lower(said.reason.rstrip("."))
            self._news[opening] = f"{opening.subject} is outside the jail and was not opened to it, because {why}"

    async def reach(
        self, host: str, port: int, tunnel: Tunnel | None = None, *, program: str = "", reason: str = ""
    ) -> str:
        """Why a host may not be reached; empty when it may. `program` is who wants to, when it is not the running
        command; `reason` says so in words."""
        tunnel = tunnel or Tunnel()
        openings = [Opening("network", f"{name}:{port}") for name in (written(host), host, *tunnel.also)]
        opening = next((each for each in openings if self._is_forbidden(each)), openings[0])
        tunnel.refuse = functools.partial(self._not_reached, opening, program=program)
        here = own_port(opening.subject)
        words = f"port {port} of this machine itself" if here else opening.subject
        what = "The command" if self.call_id else "What an earlier command left running"
        reason = reason or f"{what} wants to connect to {words}."
        scope = program or self.call_id
        decision = await self.ask(opening, reason, program=program, never=tunnel.never)
        if decision.kind != "allow":
            return self._told_why(opening, decision.reason, program)
        runs = program or scope == self.call_id
        once = not self._is_allowed(opening)
        self._tunnels[tunnel] = _Passed(opening, scope if runs else "", once=once, by_program=bool(program))
        return ""

    def _is_forbidden(self, opening: Opening) -> bool:
        return self._decided(opening).kind == "deny"

    def _not_reached(self, opening: Opening, why: str, program: str) -> str:
        """What was said cannot be done."""
        decision = Decision(kind="deny", risk="high", reason=why, rule=_NEVER)
        self._session.post(audit=[self._audited(opening, decision, program)])
        return self._told_why(opening, why, program)

    def _told_why(self, opening: Opening, why: str, program: str) -> str:
        why = _lower(why.rstrip("."))
        if not program:
            self._news[opening] = f"the jail's network: {opening.subject} was not reached, because {why}"
        return f"OpenAgent did not let this connection to {opening.subject} out of the jail: {why}."

    async def ask(self, opening: Opening, reason: str, *, program: str = "", never: str = "", **about: Any) -> Decision:
        """`never` is why it cannot be had, whoever allows it. `about` is shown beside the question."""
        session = self._session
        facts = opening.facts(session.info.cwd)
        decision = session.permits.decide(facts)
        if opening.kind == "network" and not never:
            never = await session.runtime.never_reached(*split_subject(opening.subject), ())
        if never:
            decision = Decision(kind="deny", risk="high", reason=never, rule=_NEVER)
        scope = program or self.call_id
        before = self._answers.get((scope, opening))
        if decision.kind == "ask" and before is not None and before.rule.startswith("answer:"):
            return before
        if decision.kind == "ask":
            asked = msgspec.structs.replace(decision, reason=reason)
            decision = await self._joined(opening, facts, asked, {**_arguments(opening), **about}, program)
        elif before is None or before.kind != decision.kind:
            session.post(audit=[self._audited(opening, decision, program)])
        runs = program or (scope and scope == self.call_id)
        if not runs and decision.kind == "allow" and decision.rule.startswith("answer:"):
            return decision  # the call has ended: it holds for those who wait for it
        granted = session.permits.decide(facts)
        by_rule = decision.kind == granted.kind == "allow"  # by an answer for longer, too, until it is taken back
        self._remember(scope, opening, granted if by_rule else decision)
        by_mount = opening.kind != "network" or own_port(opening.subject)
        if decision.kind == "allow" and runs and not program and by_mount:
            self._once[opening] = by_rule
        return decision

    def _remember(self, scope: str, opening: Opening, decision: Decision) -> None:
        self._answers.pop((scope, opening), None)
        self._answers[scope, opening] = decision
        while len(self._answers) > _REMEMBERED:
            del self._answers[next(iter(self._answers))]

    def _forget(self, scope: str) -> None:
        self._answers = {key: answer for key, answer in self._answers.items() if key[0] != scope}

    async def _joined(
        self, opening: Opening, facts: CallFacts, decision: Decision, arguments: dict[str, Any], program: str
    ) -> Decision:
        """The answer to the one question about it, which stands until the last one who waits has left: who comes when
        it is answered and not yet heard of is not asked about again. What nobody waits for is taken back."""
        question = self._questions.get(opening)
        if question is None:
            call_id = "" if program else self.call_id
            task = asyncio.create_task(self._ask_person(opening, facts, decision, arguments, call_id))
            question = self._questions[opening] = _Question(task)
        question.waiting += 1
        try:
            await asyncio.wait([question.task])
        finally:
            question.waiting -= 1
            if not question.waiting:
                question.task.cancel()
                self._over(opening, question)  # who comes while it is being taken back is asked about anew
        if question.task.cancelled():
            return msgspec.structs.replace(decision, kind="deny", reason="The session ended before anybody answered.")
        return question.task.result()

    def _over(self, opening: Opening, question: _Question) -> None:
        if self._questions.get(opening) is question:
            del self._questions[opening]

    async def _ask_person(
        self, opening: Opening, facts: CallFacts, decision: Decision, arguments: dict[str, Any], call_id: str
    ) -> Decision:
        session = self._session
        ask = PermissionAsk(
            id=uuid4().hex[:12],
            call_id=call_id,
            tool=opening.kind,
            arguments=arguments,
            summary=opening.subject,
            risk=decision.risk,
            reason=decision.reason,
            rule=decision.rule,
        )
        async with self._places:
            resolved = await ask_person(
                session,
                ask,
                session.permits.offers(facts),
                facts,
                leaves=[opening],
                aside=True,
                patient=bool(call_id) and not session.open_calls.has_begun(call_id),
            )
        reason = decision.reason if resolved.decision == "allow" else resolved.reason or "the user said no."
        said = msgspec.structs.replace(decision, kind=resolved.decision, reason=reason, rule=f"answer:{resolved.by}")
        session.post(audit=[self._audited(opening, said, call_id=call_id)])
        return said

    def _audited(self, opening: Opening, decision: Decision, program: str = "", call_id: str = "") -> AuditEntry:
        return entry(
            "decision",
            opening.subject,
            tool=opening.kind,
            call_id=call_id or ("" if program else self.call_id),
            decision=decision.kind,
            rule=decision.rule,
            risk=decision.risk,
            reason=decision.reason,
            **({"program": program} if program else {}),
        )

    async def close(self) -> None:
        """Whoever waits is refused."""
        tasks = [question.task for question in self._questions.values()]
        tasks += [task for task in (self._closing,) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def left_for(facts: CallFacts) -> list[Opening]:
    """What a command says that it leaves the jail for, as far as opening the jail would let it."""
    found: list[Opening] = []
    for unit in units_of(facts):
        for way, detail in unit.leaves.items():
            if way == "engine":
                found.append(ENGINE)
            elif way == "outside" and detail.startswith("/"):
                found.append(Opening("folder_write", detail if os.path.isdir(detail) else os.path.dirname(detail)))
    return found


def _arguments(opening: Opening) -> dict[str, Any]:
    return {"host" if opening.kind == "network" else "what": opening.subject}


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:] if not sentence[1:2].isupper() else sentence


# What a command needs outside the jail: as its model asks for, and as its text shows.


class _NotToBeHadError(Exception):
    """What is asked for cannot be understood, or never be had."""


def _wishes(session: "Session", arguments: dict[str, Any]) -> list[Opening]:
    """What the model asks to leave the jail for. Raises _NotToBeHadError."""
    given: Sequence[str] = arguments.get("leave") or ()
    jail = session.runtime.jail
    found = [opening for each in given for opening in asked_for(session, _wish(each.strip(), jail))]
    for opening in found:
        if not isinstance(jail, OpenableJail):
            if opening.kind != "network":
                raise _NotToBeHadError(f"{opening.subject}: this kind of jail cannot be opened to it")
        elif why := jail.why_not(opening.kind, opening.subject):
            raise _NotToBeHadError(f"{opening.subject}: {why}")
    return found


def _wish(text: str, jail: object) -> Opening:
    if text.lower() in _ENGINES:
        return ENGINE
    writes = text.startswith(WRITES)
    path = text.partition(":")[2] if writes or text.startswith(("ro:", "read:")) else text
    if path.startswith("/"):
        return Opening("folder_write" if writes else "folder", os.path.normpath(path))
    if isinstance(jail, OpenableJail) and not jail.why_not("credential", text):
        return Opening("credential", text)
    if (host := _HOST.fullmatch(text)) and ("." in host[1] or host[2] or host[1] == "localhost"):
        port = int(host[2] or (443 if not text.startswith("http:") else 80))
        return Opening("network", f"{written(host[1])}:{port}")
    raise _NotToBeHadError(
        f"{text!r} is no host, no absolute path, no credential that is here (ssh-agent, netrc, gh) and not `docker`"
    )


def _folders_named(facts: CallFacts, command: str, jail: OpenableJail) -> list[str]:
    """Folders outside that a command names, and that are here but not in its jail."""
    if "/" not in command or _SPEAKS.match(command):
        return []
    workspace, found = Path(facts.workspace), dict[str, None]()
    for path in map(os.path.normpath, _PATH.findall(command)):
        if not _within(path, facts.workspace) and jail.lacks(workspace, path) and os.path.exists(path):
            found[path if os.path.isdir(path) else os.path.dirname(path)] = None
    return [
        folder
        for folder in found
        if not any(_within(folder, other) and folder != other for other in found) and not jail.why_not("folder", folder)
    ]


def _hosts_named(facts: CallFacts) -> list[Opening]:
    """Hosts that stand in a command itself: whoever allowed it has seen them. Not those of this machine."""
    found: list[Opening] = []
    for word in (word for unit in units_of(facts) for word in unit.argv[1:]):
        host, given = host_of(word), _PORT.search(word)
        ports = (int(given[1]),) if given else (80, 443)
        if host and written(host) != HERE and address_of(host.strip("[]")) is None:
            found += [Opening("network", f"{host}:{port}") for port in ports]
    return found


def _opened(openings: Collection[Opening]) -> Openings:
    """For the jail."""
    folders: dict[str, bool] = {}
    for each in openings:
        if each.kind in ("folder", "folder_write"):
            folders[each.subject] = folders.get(each.subject, False) or each.kind == "folder_write"
    ports = [port for each in openings if each.kind == "network" and (port := own_port(each.subject))]
    return Openings(
        tuple(folders.items()),
        tuple(dict.fromkeys(ports)),
        ENGINE in openings,
        tuple(dict.fromkeys(each.subject for each in openings if each.kind == "credential")),
    )


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
