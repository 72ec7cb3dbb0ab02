"""What a jail can be opened to: hosts, folders outside, ports of the machine, its container engine, credentials.

Each is a rule like any other, so that what was granted, for a session or always, is listed and taken back in one place:
`network` with a host, `folder` and `folder_write` with a path, `engine`, `credential` with a name as its text. So is
`unsaved` with a path: what lies in the workspace, and undo could not bring back.
"""

from typing import Literal, get_args
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from openagent.policy.decision import by_rule
from openagent.policy.facts import CallFacts, Decision, Kind
from openagent.policy.paths import glob_escape, glob_text
from openagent.policy.rules import CompiledRule, Meeting, Rule, RuleSet, Target, listed
from openagent.protocol.sessions import GrantBy, Mode, Risk

OpeningKind = Literal["network", "folder", "folder_write", "engine", "credential", "unsaved"]
KINDS: tuple[OpeningKind, ...] = get_args(OpeningKind)
_PLACES = ("folder", "folder_write", "unsaved")
_WEB = (80, 443)
_BY_RULE = ("user:", "project:", "session:")
_IN_PLAN = "Plan mode has no way out of the jail: put this step into the plan instead of doing it."


class Opening(Struct, frozen=True):
    kind: OpeningKind
    subject: str
    """`host:port`, a folder's absolute path, a credential's name, or `container engine`."""

    def facts(self, workspace: str) -> CallFacts:
        return CallFacts(tool=self.kind, effect="network", subject=self.subject, workspace=workspace)


def is_opening(facts: CallFacts) -> bool:
    return facts.tool in KINDS


def decide_opening(facts: CallFacts, mode: Mode, rules: RuleSet) -> Decision:
    """Leaving the jail is asked about in every mode, but for `plan`, which has no way out."""
    if mode == "plan":
        return Decision(kind="deny", risk="medium", reason=_IN_PLAN, rule="mode:plan")
    for compiled in rules.compiled:
        if _meets(compiled, facts):
            return by_rule(compiled, _risk(facts))
    return Decision(kind="ask", risk=_risk(facts), reason="It is outside the jail.", rule=f"jail:{facts.tool}")


def fetched_from(facts: CallFacts) -> CallFacts | None:
    """The host of the page that a call fetches, as something to be let out to."""
    try:
        address = urlsplit(facts.subject)
        port = address.port or (443 if address.scheme == "https" else 80)
    except ValueError:
        return None
    if address.scheme not in ("http", "https") or not address.hostname:
        return None
    return Opening("network", f"{address.hostname.rstrip('.')}:{port}").facts(facts.workspace)


def behind_network(call: Decision, host: Decision, setting: Kind) -> Decision:
    """What is decided about fetching a page, by a daemon that could reach what the jail cannot: no more than the jail's
    network allows, in any mode. A rule about this very tool goes before that."""
    if call.kind == "deny" or call.rule.startswith(_BY_RULE):
        return call
    if setting == "deny":
        reason = "The jail's network does not include it. The user can allow it under [jail] network."
        return replace(call, kind="deny", reason=reason, rule="jail:network")
    if setting == "allow":
        return call
    if host.kind == "ask":
        return call if call.kind == "ask" else replace(host, reason="It would be fetched from outside the jail.")
    return host


def opening_widths(facts: CallFacts) -> list[tuple[GrantBy, Rule]]:
    """What an answer for longer than once may cover."""
    rule = Rule(decision="allow", tool=facts.tool, workspace=facts.workspace, granted=True)
    match facts.tool:
        case "network":
            return [("host", replace(rule, host=[glob_escape(_named(*split_subject(facts.subject)))]))]
        case "unsaved":
            return [("folder", replace(rule, path=[glob_escape(facts.subject)]))]
        case "folder" | "folder_write":  # the folder itself, and all below it
            folder = glob_escape(facts.subject.rstrip("/"))
            return [("folder", replace(rule, path=[folder or "/", f"{folder}/**"]))]
        case _:
            return [("tool", replace(rule, text=facts.subject))]


def openings_of(rules: RuleSet, workspace: str) -> list[Opening]:
    """What the rules open, as far as they say it without patterns: a mount needs a place."""
    found: list[Opening] = []
    for compiled in rules.compiled:
        rule = compiled.rule
        if rule.decision != "allow" or rule.workspace not in ("", workspace):
            continue
        match rule.tool:
            case "network":
                found += [Opening("network", host) for host in _plain(rule.host) if own_port(host)]
            case "folder" | "folder_write" | "unsaved":
                found += [Opening(rule.tool, path) for path in _plain(rule.path)]
            case "engine" | "credential":
                found.append(Opening(rule.tool, rule.text))
            case _:
                pass
    return found


def split_subject(subject: str) -> tuple[str, int]:
    host, _, port = subject.rpartition(":")
    return host, int(port)


def _meets(compiled: CompiledRule, facts: CallFacts) -> bool:
    """What forbids a host forbids all of its ports; what allows one allows the web's, unless it names another."""
    rule, paths, hosts = compiled.rule, (), ()
    if facts.tool == "network":
        host, port = split_subject(facts.subject)
        hosts = (_named(host, port),) if rule.decision == "allow" else (host, facts.subject)
        if not (rule.host or rule.tool):
            return False
    elif not rule.tool:  # rules about files and commands are not about mounts
        return False
    if facts.tool in _PLACES:
        paths = (facts.subject,)
    tools = (facts.tool, "folder_write") if facts.tool == "folder" and rule.decision == "allow" else (facts.tool,)
    return any(
        compiled.meets(Target(tool, facts.workspace, facts.subject, paths=paths, hosts=hosts)) is Meeting.YES
        for tool in tools
    )


def _named(host: str, port: int) -> str:
    return host if port in _WEB and host != "localhost" else f"{host}:{port}"


def own_port(host: str) -> int | None:
    """Of this machine."""
    name, _, port = host.rpartition(":")
    return int(port) if name == "localhost" and port.isdigit() else None


def _plain(given: str | list[str]) -> list[str]:
    """Those that are no pattern."""
    return [glob_text(glob) for glob in listed(given) if glob_escape(glob_text(glob)) == glob]


def _risk(facts: CallFacts) -> Risk:
    if facts.tool == "network":
        return "high" if facts.subject.startswith("localhost:") else "medium"
    return "medium" if facts.tool in ("folder", "unsaved") else "high"
