"""What is decided on, and the decision."""

from typing import Any, Literal

from msgspec import Struct

from openagent.protocol.sessions import Risk, Wall

Effect = Literal["read", "write", "execute", "network", "none"]
Kind = Literal["allow", "ask", "deny"]


class CallFacts(Struct, frozen=True):
    """One tool call, as far as policy cares."""

    tool: str
    effect: Effect
    subject: str
    """The command, path or URL."""
    workspace: str
    """An absolute path."""
    arguments: dict[str, Any] = {}
    paths: tuple[str, ...] = ()
    """Files that it names; none: the subject is the only one."""
    urls: tuple[str, ...] = ()
    """Addresses that it names; none: the subject is the only one."""
    runs: Literal["", "command", "bash", "code"] = ""
    """What of it runs in the session's jail: nothing, a command of its shell, a snippet in that language, or one in
    another."""
    text: str = ""
    """All of what runs, where the subject may have been shortened for people."""
    cwd: str = ""
    """Where a shell command starts; empty: the workspace."""
    walled: bool = True
    """It runs in the session's jail, whose walls hold whatever it does. Not without a jail, and not others' tools."""
    opens_files: bool = False
    """The daemon itself opens the paths that it names: what holds for commands outside the workspace holds for it."""


class Decision(Struct, frozen=True):
    kind: Kind
    risk: Risk
    reason: str
    """A sentence for a person, and for the model when the call is refused."""
    rule: str
    """The name of the rule that decided, e.g. `builtin:rm-system` or `mode:plan`."""
    wall: Wall = "write"
    """Where a command runs once it may."""
    unread: bool = False
    """Policy could not read all of it: it may be none of the shell's language."""
