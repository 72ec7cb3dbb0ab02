"""What outside the jail a command needs: as its model asks for, and as its text shows."""

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from openagent.grants.openings import Opening, own_port
from openagent.plugins.addresses import address_of
from openagent.plugins.jail import HOST_NAME, OpenableJail, Openings
from openagent.policy.builtin.network import host_of
from openagent.policy.facts import CallFacts
from openagent.policy.units import units_of

ENGINE = Opening("engine", "container engine")
_ENGINES = ("docker", "podman", "engine", "container engine")
_HOST = re.compile(
    r"(?:https?://)?([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:]+\])(?::(\d{1,5}))?/?", re.IGNORECASE
)
_PORT = re.compile(r"^(?:[a-z+]+://)?(?:[^@/\s]*@)?[A-Za-z0-9_.-]+:(\d{1,5})(?:[/?#]|$)")
_PATH = re.compile(r"""(?:^|[\s='"(:<>])(/[^\s'"`;|&<>()$*?\[\]{},:]+)""")
_SPEAKS = re.compile(r"^\s*(?:echo|printf)\b[^|;&<>]*$")


class NotToBeHadError(Exception):
    """What is asked for cannot be understood, or never be had."""


def wishes(arguments: dict[str, Any], jail: object) -> list[Opening]:
    """What the model asks to leave the jail for. Raises NotToBeHadError."""
    given: Sequence[str] = arguments.get("leave") or ()
    found = [_wish(each.strip(), jail) for each in given]
    for opening in found:
        if not isinstance(jail, OpenableJail):
            if opening.kind != "network":
                raise NotToBeHadError(f"{opening.subject}: this kind of jail cannot be opened to it")
        elif why := jail.why_not(opening.kind, opening.subject):
            raise NotToBeHadError(f"{opening.subject}: {why}")
    return found


def _wish(text: str, jail: object) -> Opening:
    if text.lower() in _ENGINES:
        return ENGINE
    writes = text.startswith(("rw:", "write:"))
    path = text.partition(":")[2] if writes or text.startswith(("ro:", "read:")) else text
    if path.startswith("/"):
        return Opening("folder_write" if writes else "folder", os.path.normpath(path))
    if isinstance(jail, OpenableJail) and not jail.why_not("credential", text):
        return Opening("credential", text)
    if (host := _HOST.fullmatch(text)) and ("." in host[1] or host[2] or host[1] == "localhost"):
        port = int(host[2] or (443 if not text.startswith("http:") else 80))
        return Opening("network", f"{host[1].strip('[]').lower()}:{port}")
    raise NotToBeHadError(
        f"{text!r} is no host, no absolute path, no credential that is here (ssh-agent, netrc, gh) and not `docker`"
    )


def folders_named(facts: CallFacts, command: str, jail: OpenableJail) -> list[str]:
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


def hosts_named(facts: CallFacts) -> list[Opening]:
    """Hosts that stand in a command itself: whoever allowed it has seen them. Not those of this machine."""
    found: list[Opening] = []
    for word in (word for unit in units_of(facts) for word in unit.argv[1:]):
        host, given = host_of(word), _PORT.search(word)
        ports = (int(given[1]),) if given else (80, 443)
        if host and host not in (HOST_NAME, "localhost") and address_of(host.strip("[]")) is None:
            found += [Opening("network", f"{host}:{port}") for port in ports]
    return found


def opened(openings: Collection[Opening]) -> Openings:
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
