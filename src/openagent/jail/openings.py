"""What else a jail may hold when a person said so: folders outside, the container engine, credentials by name."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from openagent.jail.inside import HOME
from openagent.jail.toolchains import PRIVATE
from openagent.jail.walls import NEVER, home_directories
from openagent.plugins.jail import Openings

_ENGINE = "/run/engine.sock"
_SSH_AGENT = "/run/ssh-agent.sock"
_FILES = {
    "netrc": ".netrc",
    "gh": ".config/gh",
    "git-credentials": ".git-credentials",
    "npmrc": ".npmrc",
    "pypirc": ".pypirc",
}
"""Below the home directory: read-only, and at the same place of the jail's own."""
_BELOW_HOME = (
    ".docker/run/docker.sock",
    ".colima/default/docker.sock",
    ".orbstack/run/docker.sock",
    ".rd/docker.sock",
    ".local/share/containers/podman/machine/podman.sock",
)
"""Where the engines of Docker Desktop, Colima, OrbStack, Rancher Desktop and Podman listen on macOS."""
CREDENTIALS = ("ssh-agent", *_FILES)


def why_not(kind: str, subject: str, hidden: Sequence[Path], env: Mapping[str, str]) -> str:
    """Why a jail cannot be opened to something, whoever says so; empty when it can."""
    if kind in ("folder", "folder_write"):
        return _why_no_folder(subject, hidden)
    if kind == "engine":
        return "" if engine_sockets(env) else "there is no container engine on this machine"
    if kind == "credential":
        known = subject in CREDENTIALS
        there = known and (_agent(env) if subject == "ssh-agent" else _own(subject)) is not None
        return "" if there else f"this machine has no credential called {subject!r}"
    return ""


def _why_no_folder(subject: str, hidden: Sequence[Path]) -> str:
    path = Path(subject)
    if not path.is_absolute() or not path.exists():
        return f"{subject} is not there"
    real = path.resolve()
    homes = home_directories()
    if str(real) in NEVER or any(home.is_relative_to(real) for home in homes):
        return f"{real} holds a home directory or system files"
    if any(real.is_relative_to(home / private) for home in homes for private in PRIVATE):
        return f"{real} holds credentials, which are opened by their names alone"
    for secret in (each.resolve() for each in hidden):
        if real.is_relative_to(secret) or secret.is_relative_to(real):
            return f"{real} holds what decides about agents"
    return ""


def _own(credential: str) -> Path | None:
    found = (home / _FILES[credential] for home in home_directories())
    return next((path for path in found if os.access(path, os.R_OK)), None)


def _agent(env: Mapping[str, str]) -> str | None:
    path = env.get("SSH_AUTH_SOCK", "")
    return path if path and os.path.exists(path) else None


def mounts(openings: Openings, env: Mapping[str, str]) -> list[str]:
    """Beside folders, for bubblewrap."""
    arguments: list[str] = []
    if openings.engine and (sockets := engine_sockets(env)):
        arguments += ["--bind-try", sockets[0], _ENGINE]
    for credential in openings.credentials:
        if credential == "ssh-agent" and (agent := _agent(env)):
            arguments += ["--bind-try", agent, _SSH_AGENT]
            arguments += [
                each
                for home in home_directories()
                for each in ("--ro-bind-try", str(home / ".ssh/known_hosts"), f"{HOME}/.ssh/known_hosts")
            ]
        elif credential in _FILES and (own := _own(credential)):
            arguments += ["--ro-bind-try", str(own), f"{HOME}/{_FILES[credential]}"]
    return arguments


def exports(openings: Openings) -> str:
    """Shell text by which programs find it."""
    variables = dict[str, str]()
    if openings.engine:
        variables |= {"DOCKER_HOST": f"unix://{_ENGINE}", "CONTAINER_HOST": f"unix://{_ENGINE}"}
    if "ssh-agent" in openings.credentials:
        variables["SSH_AUTH_SOCK"] = _SSH_AGENT
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


def engine_sockets(env: Mapping[str, str]) -> list[str]:
    """Where an engine listens on this machine, the likeliest first."""
    named = env.get("DOCKER_HOST", "").removeprefix("unix://")
    return [named] if named.startswith("/") and os.path.exists(named) else usual_places(env)


def usual_places(env: Mapping[str, str]) -> list[str]:
    """Those that exist."""
    runtime = env.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    places = (
        "/var/run/docker.sock",
        f"{runtime}/docker.sock",
        f"{runtime}/podman/podman.sock",
        "/run/podman/podman.sock",
        *(f"{home}/{place}" for home in home_directories() for place in _BELOW_HOME),
    )
    return [place for place in places if os.path.exists(place)]
