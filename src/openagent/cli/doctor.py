"""`openagent doctor`"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct

from openagent.cli.command import as_json, command, complete, daemon, plain, print_json, say
from openagent.cli.process import daemon_pid
from openagent.cli.stop import end_daemon
from openagent.cli.terminal import GREEN, RED, YELLOW, paint
from openagent.client import elsewhere
from openagent.client.text import clean
from openagent.filesystem.handles import LINUX
from openagent.protocol import locations
from openagent.protocol.configuration import ConfigList, ConfigShow
from openagent.protocol.customizing import Plugin, PluginsList
from openagent.protocol.daemon import DaemonInfo, DaemonStatus
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.extras import ExtraInfo, ExtrasList
from openagent.protocol.people import People, PeopleList
from openagent.protocol.safety import PolicyExplain
from openagent.protocol.setup import FolderTrust, ModelSources, SetupLook, SetupShow

OLDEST_PYTHON = (3, 11)
KEYS = tuple(name for name in locations.FORWARDED_ENV if name.endswith(("_KEY", "_TOKEN", "_CREDENTIALS", "_HOST")))
_FILES_NAMED = 8
State = Literal["ok", "missing", "broken"]
_PLACES = {"vault": "stored", "config": "in the configuration"}
_MARKS = {"ok": ("✓", GREEN), "missing": ("–", YELLOW), "broken": ("✗", RED)}
_INSTALLERS = {
    "apt-get": "sudo apt-get install {}",
    "dnf": "sudo dnf install {}",
    "pacman": "sudo pacman -S {}",
    "apk": "sudo apk add {}",
    "zypper": "sudo zypper install {}",
    "brew": "brew install {}",
}
_JAIL_TRIAL = ("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "true")


class Check(Struct, frozen=True):
    name: str
    state: State
    detail: str
    advice: str = ""
    """How to get what is missing."""
    required: bool = False


@command("doctor", "openagent doctor", "openagent doctor --json | jq '.checks[] | select(.state != \"ok\")'")
@as_json
def doctor(as_json: bool) -> int:
    """Check what is here, what is missing and how to get it. Exit code 1 only when something required is missing."""
    os.environ.pop(elsewhere.CONNECT, None)  # it is this machine that is looked at
    checks = [_python(), *_programs(), _data_home(), *_daemon()]
    failed = any(check.required and check.state != "ok" for check in checks)
    if as_json:
        print_json({"ok": not failed, "checks": plain(checks)})
        return int(failed)
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark, style = _MARKS[check.state]
        say(f"{paint(mark, style)} {check.name:{width}}  {clean(check.detail)}")
        if check.advice:
            say(f"  {'':{width}}  → {clean(check.advice)}")
    say()
    say(_in_short(checks, failed))
    return int(failed)


def _in_short(checks: list[Check], failed: bool) -> str:
    if failed:
        return "Something required is missing."
    broken = [check.name for check in checks if check.state == "broken"]
    return f"It runs, but this does not work: {', '.join(broken)}." if broken else "Everything required is here."


def _python() -> Check:
    found = platform.python_version()
    if sys.version_info >= OLDEST_PYTHON:
        return Check("python", "ok", f"{found}, {sys.executable}", required=True)
    return Check("python", "broken", f"{found} is too old", "Install Python 3.11 or newer.", required=True)


def _programs() -> Iterable[Check]:
    yield _program("bash", "bash", "the agents' shell", required=True)
    if LINUX:
        yield _jail()
    yield _program("git", "git", "checkpoints and diffs of workspaces")
    yield _program("rg", "ripgrep", "fast search")
    yield _program("tmux", "tmux", "long-running terminals")
    yield _program(
        "docker", "docker", "the second kind of jail; optional" if LINUX else "the jail that commands run in"
    )


def _program(name: str, package: str, purpose: str, *, required: bool = False) -> Check:
    if path := shutil.which(name):
        return Check(name, "ok", path, required=required)
    return Check(name, "missing", f"not found; for {purpose}", _install(package), required=required)


def _jail() -> Check:
    found = _program("bwrap", "bubblewrap", "the jail that agents' commands run in")
    if found.state != "ok":
        return found
    problem = _attempt(_JAIL_TRIAL)
    if problem is None:
        return found
    return Check(
        "bwrap",
        "broken",
        f"{found.detail} cannot make a jail here: {problem}",
        "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for "
        "bwrap), or use Docker.",
    )


def _attempt(arguments: Sequence[str]) -> str | None:
    try:
        ran = subprocess.run(arguments, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    said = ran.stderr.decode(errors="replace").strip()
    return None if ran.returncode == 0 else said or f"exit code {ran.returncode}"


def _install(package: str) -> str:
    for installer, form in _INSTALLERS.items():
        if shutil.which(installer):
            return form.format(package)
    return f"Install the package {package}."


def _data_home() -> Check:
    home = Path(locations.data_home(os.environ))
    existing = next(place for place in (home, *home.parents) if place.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Check("data home", "ok", str(home), required=True)
    advice = "Make it writable for you, or set OPENAGENT_HOME to another directory."
    return Check("data home", "broken", f"{existing} cannot be written to", advice, required=True)


def _daemon() -> Iterable[Check]:
    """What the daemon itself says. One that was not running is started for this and, unless used, stopped again."""
    before = daemon_pid()
    try:
        info, people, settings, notices, plugins, extras, sources, folder = complete(_ask_daemon())
    except (OpenAgentError, OSError) as problem:
        yield _refusal(problem)
        yield _keys(None, "")
        return
    if before is None and info.clients == 1:
        end_daemon()
    running = f"runs (pid {info.pid}) at {info.socket}" if before else "starts; it was not running"
    yield Check("daemon", "ok", running, required=True)
    if info.jail_problem:
        yield Check("jail", "broken", info.jail_problem, required=True)
    if isinstance(settings, OpenAgentError):
        yield _refusal(settings)
    else:
        files = ", ".join(settings.files) or "no file; defaults and the environment"
        yield Check("configuration", "ok", files, required=True)
        yield from (Check("note", "missing", note) for note in settings.notes)
        yield from (Check("rules", "missing", note) for note in notices)
        yield from _trust(folder)
    if people.note:
        yield Check("people", "missing", people.note)
    for plugin in plugins:
        advice = f"Correct or uninstall {plugin.distribution or plugin.place}."
        yield Check("plugin", "broken", f"{plugin.name} ({plugin.kind}): {plugin.error}", advice)
    yield from _extras(extras)
    if info.model:
        yield Check("model", "ok", f"{info.model} answers when no other is named")
    else:
        advice = "Run `openagent` and choose what answers, or set a key such as ANTHROPIC_API_KEY."
        yield Check("model", "missing", "none is set up", advice)
    yield from _found(sources)
    yield _keys(sources, info.model)


def _trust(folder: FolderTrust | None) -> Iterable[Check]:
    """What a folder brings for agents, MCP servers and hooks among it, and whether it counts."""
    if folder is None or not folder.files:
        return
    brought = ", ".join(folder.files[:_FILES_NAMED])
    more = f" and {len(folder.files) - _FILES_NAMED} more" if len(folder.files) > _FILES_NAMED else ""
    if folder.trusted:
        yield Check("trust", "ok", f"{folder.folder} is trusted: {brought}{more}")
        return
    detail = f"{folder.folder} is not trusted, so these files can only make things stricter: {brought}{more}"
    yield Check("trust", "missing", detail, "Read them, then run `openagent trust`, if you want what they say.")


def _found(sources: ModelSources | None) -> Iterable[Check]:
    """What could answer, beside the keys of the environment."""
    if sources is None:
        return
    for server in sources.servers:
        models = ", ".join(model.name for model in server.models[:3]) or "no model yet"
        more = f" and {len(server.models) - 3} more" if len(server.models) > 3 else ""
        yield Check("server", "ok" if server.models else "missing", f"{server.title} at {server.url}: {models}{more}")
    for login in sources.logins:
        advice = "" if login.done else f"Log in with `openagent auth login {login.provider}`."
        yield Check("login", "ok" if login.done else "missing", login.provider, advice)


def _extras(extras: Sequence[ExtraInfo]) -> Iterable[Check]:
    """What is fetched when it is first wanted, and what happens until then."""
    if here := [extra.name for extra in extras if extra.state != "absent"]:
        yield Check("extras", "ok", ", ".join(here))
    absent = [extra for extra in extras if extra.state == "absent"]
    for extra in absent:
        advice = "openagent extras get NAME" if extra is absent[-1] else ""
        yield Check("extras", "missing", f"{extra.name} is fetched when wanted; until then {extra.without}", advice)


def _refusal(problem: Exception) -> Check:
    is_config = isinstance(problem, OpenAgentError) and problem.info.code == "config_error"
    return Check("configuration" if is_config else "daemon", "broken", str(problem), required=True)


class _Told(NamedTuple):
    info: DaemonInfo
    people: People
    settings: ConfigList | OpenAgentError
    notices: list[str]
    plugins: list[Plugin]
    extras: list[ExtraInfo]
    sources: ModelSources | None
    folder: FolderTrust | None


async def _ask_daemon() -> _Told:
    """How it is, and what it makes of the settings and the rules that hold here."""
    cwd = os.getcwd()
    async with daemon() as client:
        info = await client.request(DaemonStatus(id=client.next_id()))
        people = await client.request(PeopleList(id=client.next_id()))
        plugins = (await client.request(PluginsList(id=client.next_id()))).plugins
        broken = [plugin for plugin in plugins if plugin.error]
        extras = (await client.request(ExtrasList(id=client.next_id()))).extras
        try:
            settings = await client.request(ConfigShow(id=client.next_id(), cwd=cwd))
            explain = PolicyExplain(id=client.next_id(), command="true", cwd=cwd)
            notices = (await client.request(explain)).notices
            sources = await client.request(SetupLook(id=client.next_id(), cwd=cwd))
            folder = (await client.request(SetupShow(id=client.next_id(), cwd=cwd))).folder
        except OpenAgentError as problem:
            return _Told(info, people, problem, [], broken, extras, None, None)
        return _Told(info, people, settings, notices, broken, extras, sources, folder)


def _keys(sources: ModelSources | None, model: str) -> Check:
    """Wherever they are."""
    here = [name for name in KEYS if os.environ.get(name)]
    for key in sources.keys if sources else ():
        if key.variable not in here:
            here.append(f"{key.title} ({_PLACES[key.source]})" if key.source != "environment" else key.variable)
    here += [f"{login.provider} (login)" for login in (sources.logins if sources else ()) if login.done]
    if here:
        return Check("keys", "ok", ", ".join(here))
    if model:
        return Check("keys", "ok", f"none, and {model} needs none")
    where = "the environment, the vault or the configuration" if sources else "the environment"
    return Check("keys", "missing", f"no provider's key in {where}")
