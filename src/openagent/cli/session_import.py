"""`openagent sessions import`"""

import json
import os
import sys
from typing import Any

import click
import msgspec

from openagent.cli.command import as_json, ask_daemon, command, plain, print_json, say
from openagent.cli.exported import VERSION, Exported, not_ours
from openagent.cli.session_lines import are_lines, read_lines
from openagent.client.text import one_line
from openagent.protocol.codec import MAX_FRAME
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import (
    ImportedSession,
    SessionImport,
    SessionInfo,
    Settings,
    SettingsChange,
)

_TAKEN_ALONG = (
    *("max_steps", "turn_timeout", "max_output_tokens", "temperature", "thinking", "instructions"),
    *("disabled_tools", "tools"),
)
"""Not what an agent may do unasked, nor what it may spend: that is for this machine's owner to say."""


@command(
    "import",
    "openagent sessions import session.json",
    "openagent sessions import session.json --cwd ~/project",
    "ssh desk openagent sessions export 06gx | openagent sessions import -",
    "openagent sessions import all.jsonl",
)
@click.argument("file", metavar="FILE")
@click.option("--cwd", metavar="DIR", help="Where it goes on. Default: its own folder if that is here, or this one.")
@click.option("--again", is_flag=True, help="Make another session when the file was imported before.")
@as_json
def import_session(file: str, cwd: str | None, again: bool, as_json: bool) -> None:
    """Bring what `sessions export` wrote, as JSON or JSONL; - reads standard input.

    It becomes a new session with all that was said, the dates and the costs of then, and goes on with any model.
    """
    raw, name = _read(file), "Standard input" if file == "-" else file
    if not are_lines(raw):
        _tell_one(_bring(_exported(raw, name), name, cwd, again), as_json)
        return
    brought = [_bring(exported, name, cwd, again) for exported in list(read_lines(raw, name)) if exported.messages]
    if as_json:
        print_json({"sessions": [{"session": plain(each.info), "was_here": each.was_here} for each in brought]})
        return
    for each in brought:
        say(f"{each.info.id}  {one_line(each.info.name) or 'unnamed'}" + ("  (here already)" if each.was_here else ""))
    say(f"{sum(not each.was_here for each in brought)} sessions were imported.")


def _bring(exported: Exported, name: str, cwd: str | None, again: bool) -> ImportedSession:
    info = exported.session
    op = SessionImport(
        id="-",
        cwd=_folder(cwd, info.cwd),
        messages=exported.messages,
        origin=info.id,
        name=info.name,
        created_at=info.created_at,
        turns=exported.turns,
        rewound=exported.rewound,
        usage=info.usage,
        settings=_settings(info),
        again=again,
    )
    if (size := len(msgspec.json.encode(op))) > MAX_FRAME:
        told = f"{name} holds {size >> 20} MB of conversation; {MAX_FRAME >> 20} MB can be imported."
        raise OpenAgentError("invalid_argument", told)
    return ask_daemon(op)


def _tell_one(imported: ImportedSession, as_json: bool) -> None:
    here = imported.info
    if as_json:
        print_json({"session": plain(here), "was_here": imported.was_here})
    elif imported.was_here:
        say(f"{here.id}\nIt is here already: {one_line(here.name) or 'unnamed'}. `--again` makes another.")
    else:
        say(f'{here.id}\nGo on with `openagent run --session {here.id} "…"`.')


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as problem:
        raise OpenAgentError("invalid_argument", f"{file} cannot be read: {problem.strerror}.") from None


def _exported(raw: bytes, name: str) -> Exported:
    try:
        found: Any = json.loads(raw)
    except json.JSONDecodeError as problem:
        told = f"{name} is broken JSON in line {problem.lineno}: {problem.msg}."
        raise OpenAgentError("invalid_argument", told, hint="Export the session again.") from None
    except (UnicodeDecodeError, RecursionError):
        raise not_ours(name) from None
    if not isinstance(found, dict) or not {"session", "messages"} <= found.keys():
        raise not_ours(name)
    version: object = found.get("version", VERSION)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if isinstance(version, int) and version > VERSION:
        told = f"{name} was written by a newer OpenAgent: version {version}, and this one reads {VERSION}."
        raise OpenAgentError("invalid_argument", told, hint="`openagent update` brings the newest.")
    try:
        return msgspec.convert(found, Exported)
    except msgspec.ValidationError as problem:
        raise not_ours(name, f": {problem}") from None


def _folder(given: str | None, exported: str) -> str:
    if given is None and os.path.isabs(exported) and os.path.isdir(exported):
        return exported
    return os.path.abspath(os.path.expanduser(given or "."))


def _settings(info: SessionInfo) -> SettingsChange:
    usual = Settings()
    chosen = {name: getattr(info.settings, name) for name in _TAKEN_ALONG}
    changed: dict[str, Any] = {name: value for name, value in chosen.items() if value != getattr(usual, name)}
    if model := info.settings.model or info.model:
        changed["model"] = model
    return SettingsChange(**changed)
