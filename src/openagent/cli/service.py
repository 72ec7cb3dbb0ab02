"""`openagent service`: the daemon starts with the machine, by systemd or launchd, as the person's own service."""

import os
import plistlib
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from openagent.cli.command import as_json, command, complete, examples, group, tell
from openagent.cli.status import ask_status
from openagent.cli.stop import end_daemon
from openagent.client.launch import daemon_program, listens
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError

_UNIT = "openagent.service"
_LABEL = "dev.openagent.daemon"
_PATIENCE = 60.0
_UNIT_TEXT = """\
[Unit]
Description=OpenAgent

[Service]
{environment}
ExecStart={program}
Restart=on-failure
TimeoutStopSec=30

[Install]
WantedBy=default.target
"""


@group("service", epilog=examples("openagent service install", "openagent service remove"))
def service() -> None:
    """Start the daemon when you log in, and keep it running."""


@command("install", "openagent service install")
@as_json
def install(as_json: bool) -> None:
    """Make the daemon a service of yours: a user unit of systemd, or a launch agent on macOS.

    The service keeps PATH and where your data and settings are, and no keys. On Linux it ends when you log out, unless
    `loginctl enable-linger` was called once.
    """
    file, content = _file(), _launch_agent() if sys.platform == "darwin" else _unit()
    if sys.platform != "darwin":
        _require_systemd()
    _require_none_running()
    _write(file, content)
    if sys.platform == "darwin":
        _ask("launchctl", "bootout", _domain(), str(file), may_fail=True)  # an earlier one
        _ask("launchctl", "bootstrap", _domain(), str(file))
        further = ""
    else:
        _ask("systemctl", "--user", "daemon-reload")
        _ask("systemctl", "--user", "enable", "--now", _UNIT)
        further = "\nIt ends when you log out. To have it stay: loginctl enable-linger"
    _wait_until_it_listens()
    text = f"The daemon runs, and starts when you log in: {file}{further}"
    if left_out := _left_out():
        text += f"\nNot kept, and best set with `openagent config set`: {', '.join(left_out)}"
    tell(as_json, {"installed": True, "file": str(file), "left_out": left_out}, text)


@command("remove", "openagent service remove")
@as_json
def remove(as_json: bool) -> None:
    """Stop the service and delete its file. The next command starts a daemon in the background, as before."""
    file = _file()
    if not file.exists():
        tell(as_json, {"removed": False, "file": str(file)}, "No service is installed.")
        return
    if sys.platform == "darwin":
        _ask("launchctl", "bootout", _domain(), str(file), may_fail=True)  # it may not run
        file.unlink()
    else:
        _ask("systemctl", "--user", "disable", "--now", _UNIT, may_fail=True)  # systemd may not be there any more
        file.unlink()
        _ask("systemctl", "--user", "daemon-reload", may_fail=True)
    tell(as_json, {"removed": True, "file": str(file)}, f"The service has ended, and {file} is removed.")


@command("status", "openagent service status")
@as_json
def status(as_json: bool) -> None:
    """Say whether the service is installed, and whether it runs."""
    file, installed = _file(), _file().exists()
    runs = installed and _runs()
    text = f"{'Runs' if runs else 'Installed, and does not run'}: {file}"
    if not installed:
        text = "Not installed. `openagent service install` installs it."
    tell(as_json, {"installed": installed, "runs": runs, "file": str(file)}, text)


for each in (install, remove, status):
    service.add_command(each)


def _file() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user" / _UNIT


def _environment() -> dict[str, str]:
    """PATH for what agents run, and the variables that name folders. Keys stay out: the file is not secret."""
    kept = {"PATH": os.environ.get("PATH", os.defpath), **locations.wherever_we_are(os.environ)}
    for name, value in kept.items():
        if not value.isprintable():
            raise OpenAgentError("invalid_argument", f"{name} holds a line break or another control character.")
    return kept


def _left_out() -> list[str]:
    """Settings that were made by variables, and will not hold in the service."""
    return sorted(name for name in os.environ if name.startswith("OPENAGENT_") and name not in _environment())


def _program() -> Sequence[str]:
    return [*daemon_program(), "serve"]


def _unit() -> bytes:
    environment = "\n".join(f"Environment={_quoted(f'{name}={value}')}" for name, value in _environment().items())
    program = " ".join(_quoted(word).replace("$", "$$") for word in _program())  # variables are put in here alone
    return _UNIT_TEXT.format(environment=environment, program=program).encode()


def _quoted(word: str) -> str:
    """As systemd reads it: no escape or specifier is meant."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _launch_agent() -> bytes:
    return plistlib.dumps(
        {
            "Label": _LABEL,
            "ProgramArguments": list(_program()),
            "EnvironmentVariables": _environment(),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Interactive",
        }
    )


def _write(file: Path, content: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    except OSError as problem:
        raise OpenAgentError(
            "config_error", f"The service's file {file} cannot be written: {problem.strerror}."
        ) from None


def _require_none_running() -> None:
    """A daemon that a command started is replaced by the service, unless it works."""
    try:
        info = complete(ask_status(""))
    except OpenAgentError as problem:
        if problem.info.code != "not_found":
            raise
        return
    if info.running:
        raise OpenAgentError(
            "busy",
            f"The daemon that runs now (pid {info.pid}) is at work.",
            hint="Run this again when its turns have ended, or end them with `openagent stop`.",
        )
    end_daemon()


def _wait_until_it_listens() -> None:
    socket, give_up = locations.socket_path(os.environ), time.monotonic() + _PATIENCE
    while not listens(socket):
        if time.monotonic() > give_up:
            raise OpenAgentError(
                "config_error",
                f"The service is installed, but its daemon does not listen after {_PATIENCE:.0f} s.",
                hint="`openagent logs` or `journalctl --user -u openagent` say why.",
            )
        time.sleep(0.02)


def _require_systemd() -> None:
    try:
        _ask("systemctl", "--user", "show-environment")
    except OpenAgentError as problem:
        raise OpenAgentError(
            "config_error",
            f"systemd does not manage services of yours here: {problem.info.message.rstrip('.')}.",
            hint="Start `openagent serve` with whatever starts programs on this machine.",
        ) from None


def _runs() -> bool:
    asked = (
        ["launchctl", "print", f"{_domain()}/{_LABEL}"]
        if sys.platform == "darwin"
        else [*("systemctl", "--user", "is-active", "--quiet", _UNIT)]
    )
    try:
        return subprocess.run(asked, capture_output=True, timeout=_PATIENCE, check=False).returncode == 0
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _ask(*words: str, may_fail: bool = False) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except FileNotFoundError:
        raise OpenAgentError("config_error", f"There is no {words[0]} on this machine.") from None
    except subprocess.TimeoutExpired:
        raise OpenAgentError("busy", f"`{' '.join(words)}` did not answer within {_PATIENCE:.0f} s.") from None
    if done.returncode and not may_fail:
        said = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[0]
        raise OpenAgentError("config_error", f"`{' '.join(words)}`: {said}")
