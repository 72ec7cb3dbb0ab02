"""`openagent update`: asks for a newer version when a person does, and never by itself."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn
from urllib.parse import urlsplit

import click

from openagent import __version__
from openagent.cli.command import as_json, command, complete, print_json, say
from openagent.cli.installation import NAME, SPOKEN, Installation, installation, installer
from openagent.cli.process import daemon_pid
from openagent.cli.status import ask_status
from openagent.cli.stop import end_daemon
from openagent.cli.terminal import BOLD, DIM, paint
from openagent.client import elsewhere
from openagent.client.text import clean
from openagent.protocol.errors import OpenAgentError

_PACKED = Path(__file__).parent.parent / "CHANGELOG.md"
"""Where the build puts it."""
_BESIDE = Path(__file__).parents[3] / "CHANGELOG.md"
_WOULD = re.compile(rf"(?:Would install .*\b{NAME}-|\+ {NAME}==)(\d[\w.!+]*)")
_UNREACHABLE = re.compile(
    r"name resolution|not known|Connection (refused|broken|reset)|timed out|unreachable|No route|dns error"
    r"|error trying to connect|Failed to fetch",
    re.I,
)
_PATIENCE = 120.0
_SHOWN_COMMITS = 20
_SHOWN_LINES = 30


@command("update", "openagent update", "openagent update --check", "openagent update --from ./openagent-0.2.0.whl")
@click.option("--check", is_flag=True, help="Only tell whether there is a newer version, and what has changed.")
@click.option("--from", "source", metavar="FILE|URL", default="", help="Install this wheel instead of the newest.")
@click.option("--finish", metavar="VERSION", hidden=True)
@as_json
def update(check: bool, source: str, finish: str | None, as_json: bool) -> int:
    """Update OpenAgent the way it was installed: by uv, pipx or pip, or in its checkout.

    What has changed is shown, and the daemon starts anew when no turn runs; sessions stay.
    """
    os.environ.pop(elsewhere.CONNECT, None)  # it is this machine's installation
    if finish is not None:
        return _finish(finish, as_json)
    found = installation()
    if found.way == "client":
        raise OpenAgentError(
            "config_error",
            f"This is the one-file client, {found.place}: it is updated by putting a newer file in its place.",
            hint="The installed package updates itself: `openagent update` there.",
        )
    if found.way == "checkout":
        return _update_checkout(found.place, check, as_json)
    if found.file and not source:
        raise OpenAgentError(
            "invalid_argument",
            f"This was installed from {found.file}, so there is no package index to ask for a newer one.",
            hint="Name the new file: `openagent update --from FILE`.",
        )
    newest = source or _newest(found)
    if not source and _number(newest) <= _number(__version__):
        return _say_newest(found, as_json)
    if check:
        return _say_newer(found, newest, as_json)
    _run(found.updating(_absolute(source)), as_json)
    return _become(["update", "--finish", __version__, *(["--json"] if as_json else [])])


def _newest(found: Installation) -> str:
    ran = _asked(found.asking())
    told = ran.stdout + ran.stderr
    if ran.returncode != 0:
        raise _not_told(told)
    would = _WOULD.search(told)
    return would[1] if would else __version__


def _number(version: str) -> tuple[int, ...]:
    """What comes before a release of the same number counts as that release: installers choose it only when asked."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[a-z+]", version, maxsplit=1)[0]))


def _asked(words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise OpenAgentError(
            "busy", f"No answer came within {_PATIENCE:.0f} s.", hint="Check the network and try again."
        ) from None


def _not_told(said: str) -> OpenAgentError:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if any(_UNREACHABLE.search(line) for line in lines):
        return OpenAgentError(
            "provider_error",
            "The package index cannot be reached, so it is not known whether there is a newer version.",
            hint="Check the network and try again; this one goes on working.",
        )
    reason = next((line for line in lines if line.lower().startswith("error")), lines[-1] if lines else "no reason")
    return OpenAgentError(
        "provider_error",
        f"A newer version could not be looked for: {clean(re.sub('^(error|ERROR): ', '', reason))}",
        hint="Check that the package index has openagent.",
    )


def _say_newest(found: Installation, as_json: bool) -> int:
    if as_json:
        print_json({"installed": __version__, "newest": __version__, "newer": False, "way": found.way, "changes": ""})
    else:
        say(f"openagent {__version__} is the newest there is.")
    return 0


def _say_newer(found: Installation, newest: str, as_json: bool) -> int:
    changes = _changes_of(newest)
    if as_json:
        print_json({"installed": __version__, "newest": newest, "newer": True, "way": found.way, "changes": changes})
        return 0
    say(f"openagent {paint(clean(newest), BOLD)} is there; {__version__} is installed, by {SPOKEN[found.way]}.")
    _show(changes, "`openagent update --check --json` has them")
    say("`openagent update` installs it.")
    return 0


def _changes_of(version: str) -> str:
    """From the package itself, which is looked into and not kept; empty when it does not tell."""
    with TemporaryDirectory(prefix="openagent-update-") as folder:
        ran = _asked([*installer(), "--no-deps", "--target", folder, f"{NAME}=={version}"])
        file = Path(folder) / NAME / _PACKED.name
        return what_changed(__version__, version, file) if ran.returncode == 0 else ""


def _run(words: Sequence[str], as_json: bool) -> None:
    """With its own output, progress included, before the person."""
    if not as_json:
        click.echo(paint(f"$ {clean(' '.join(words))}", DIM, sys.stderr), err=True)
    hidden = subprocess.DEVNULL if as_json else None
    ran = subprocess.run(words, stdout=hidden or sys.stderr, stderr=hidden, check=False)
    if ran.returncode != 0:
        raise OpenAgentError(
            "provider_error",
            f"`{clean(' '.join(words))}` failed (exit code {ran.returncode}); {__version__} is still installed.",
            hint="What it said stands above." if not as_json else "Run it yourself to see why.",
        )


def _become(arguments: Sequence[str]) -> NoReturn:
    """The new version goes on: what this process would still load may be gone."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "openagent", *arguments])  # noqa: S606


def _finish(before: str, as_json: bool) -> int:
    changes = what_changed(before, __version__, _PACKED if _PACKED.is_file() else _BESIDE)
    daemon = _restart()
    if as_json:
        print_json({"installed": __version__, "before": before, "changes": changes, "daemon": daemon})
        return 0
    if before == __version__:
        say(f"openagent {__version__} is installed anew.")
    else:
        say(f"{paint(f'openagent {__version__}', BOLD)} is installed; it was {clean(before)}.")
    _show(changes, f"they are in {_PACKED if _PACKED.is_file() else _BESIDE}")
    say(daemon)
    return 0


def _show(changes: str, rest: str) -> None:
    lines = clean(changes).splitlines()
    more = [paint(f"… {len(lines) - _SHOWN_LINES} more lines: {rest}", DIM)] if len(lines) > _SHOWN_LINES else []
    if lines:
        say("\n".join(["", *lines[:_SHOWN_LINES], *more, ""]))


def _restart() -> str:
    """What became of the daemon, in words. One that works is left alone."""
    if daemon_pid() is None:
        return "No daemon was running; the next command starts the new one."
    later = "When they have ended, `openagent stop` ends it, and the next command starts the new one."
    try:
        info = complete(ask_status(""))
        if info.running or info.queued:
            busy = _plural(info.running, "turn") if info.running else _plural(info.queued, "message")
            return f"The daemon still runs version {info.version}: {busy} at work. {later}"
        end_daemon()
    except (OpenAgentError, OSError) as problem:
        return f"The daemon could not be started anew: {problem} `openagent stop` ends it."
    web = ("--web-socket", urlsplit(info.web_url).netloc) if info.web_url else ()
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "openagent", "serve", "--daemon", *web],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        return f"The old daemon has ended, the new one did not start: {clean(ran.stderr.strip())}"
    return f"The daemon was idle and has been started anew; {_plural(info.sessions, 'session')} kept."


def what_changed(before: str, now: str, file: Path) -> str:
    """The changelog's sections of the versions after `before`, up to `now`."""
    try:
        sections = re.split(r"^(?=## \[)", file.read_text(encoding="utf-8"), flags=re.M)[1:]
    except OSError:
        return ""
    wanted: list[str] = []
    for section in sections:
        version = section.partition("[")[2].partition("]")[0]
        if version == before:
            break
        if version == now or wanted:
            wanted.append(section.strip())
    return "\n\n".join(wanted)


# A checkout


def _update_checkout(root: Path, check: bool, as_json: bool) -> int:
    git = ("git", "-C", str(root))
    fetched = _asked([*git, "fetch", "--quiet"])
    if fetched.returncode != 0:
        raise OpenAgentError(
            "provider_error",
            f"git cannot fetch what is new for {root}: {clean(fetched.stderr.strip().splitlines()[-1])}",
            hint=f"Look at it with `git -C {root} fetch`.",
        )
    behind = _asked([*git, "log", "--format=%s", "HEAD..@{upstream}"])
    if behind.returncode != 0:
        raise OpenAgentError(
            "config_error",
            f"The checkout {root} is on a branch that follows no other.",
            hint=f"Choose one with `git -C {root} switch main`.",
        )
    new = behind.stdout.splitlines()
    if as_json and (check or not new):
        print_json({"installed": __version__, "newer": bool(new), "way": "checkout", "changes": "\n".join(new)})
    elif not new:
        say(f"The checkout {clean(str(root))} has everything its upstream has.")
    elif not as_json:
        say(f"{_plural(len(new), 'commit')} to come for the checkout {clean(str(root))}:")
        for subject in new[:_SHOWN_COMMITS]:
            say(f"  {clean(subject)}")
        if len(new) > _SHOWN_COMMITS:
            say(f"  … and {len(new) - _SHOWN_COMMITS} more")
    if check or not new:
        return 0
    _run([*git, "pull", "--ff-only", "--quiet"], as_json)
    if (root / ".venv").exists() and Path(sys.prefix).resolve() == (root / ".venv").resolve():
        _run(["make", "-C", str(root), "setup" if (root / ".venv/.setup-dev").exists() else "runtime"], as_json)
    return _become(["update", "--finish", __version__, *(["--json"] if as_json else [])])


def _plural(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _absolute(source: str) -> str:
    return source if not source or "://" in source else str(Path(source).expanduser().absolute())
