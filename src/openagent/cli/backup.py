"""`openagent backup`"""

import json
import os
import subprocess
import sys
import time
from typing import Any

import click

from openagent.cli.command import as_json, ask_daemon, command, examples, group, plain, print_json, say, tell
from openagent.cli.terminal import table
from openagent.client.launch import DaemonDidNotStart, daemon_program
from openagent.client.text import size
from openagent.protocol import locations
from openagent.protocol.backups import BackupCreate, BackupInfo, BackupKey, BackupsList, BackupVerify
from openagent.protocol.errors import OpenAgentError

_KEY = "OPENAGENT_BACKUP_KEY"


@group(
    "backup",
    epilog=examples(
        "openagent backup create",
        "openagent backup list",
        "openagent backup verify openagent-20261118-031500.tar.gz",
        "openagent backup restore ~/openagent-20261118-031500.tar.gz --home ~/restored",
    ),
)
def backup() -> None:
    """Archives of sessions, keys, settings and templates. The daemon makes one a day by itself.

    `openagent help backup` says what is in one, and how to keep them elsewhere.
    """


@command(
    "create", "openagent backup create", "openagent backup create --checkpoints", "openagent backup create --due --json"
)
@click.option("--checkpoints", is_flag=True, help="Also what undo needs. `backup list` says how large that is.")
@click.option(
    "--due", is_flag=True, help="Only if the last daily one is a day old; take away those that had their time."
)
@as_json
def create(checkpoints: bool, due: bool, as_json: bool) -> None:
    """Make a backup now. Everybody works on meanwhile.

    It is unpacked and opened before it gets its name, so what is listed can be restored.
    """
    made = ask_daemon(BackupCreate(id="-", checkpoints=checkpoints, due=due))
    if as_json:
        print_json(plain(made))
        return
    for name in made.removed:
        say(f"Taken away: {name}")
    if made.backup is None:
        say("The last daily backup is less than a day old.")
        return
    say(made.backup.path)
    say(f"{_holds(made.backup)}, {size(made.backup.bytes)}, made and tried out in {made.seconds:g} s.")
    if made.backup.keys:
        say("Its keys are sealed: `openagent backup key` prints what opens them on another machine.")
    if made.backup.keys_left_out:
        say(f"Keys are not in it: {made.backup.keys_left_out}")


def _holds(found: BackupInfo) -> str:
    return _said(found.sessions, found.messages)


def _said(sessions: int, messages: int) -> str:
    return f"{_many(sessions, 'session')} with {_many(messages, 'message')}"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


@command("list", "openagent backup list", "openagent backup list --json | jq -r '.backups[0].path'")
@as_json
def list_backups(as_json: bool) -> None:
    """List the backups there are, the newest first."""
    found = ask_daemon(BackupsList(id="-"))
    if as_json:
        print_json(plain(found))
        return
    if found.backups:
        headers = ("MADE", "BY", "SIZE", "SESSIONS", "MESSAGES", "KEYS", "NAME")
        say(table(headers, [_row(each) for each in found.backups]))
    else:
        say("There are no backups yet. `openagent backup create` makes one.")
    daily = f"one a day, kept {found.keep_days} days" if found.daily else "none by itself (backup.daily is off)"
    say(f"\nIn {found.folder}. The daemon makes {daily}.")
    say(f"Checkpoints, which undo needs, take {size(found.checkpoint_bytes)} here; --checkpoints puts them in.")
    if found.problem:
        say(f"The last daily one was not made: {found.problem}")


def _row(found: BackupInfo) -> tuple[str, ...]:
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.created_at))
    if found.problem:
        return (made, "?", size(found.bytes), "–", "–", "–", f"{found.name} (of no use: torn, or of another version)")
    by = "daemon" if found.kind == "daily" else "hand"
    keys = "sealed" if found.keys else "–"
    return (made, by, size(found.bytes), f"{found.sessions:,}", f"{found.messages:,}", keys, found.name)


@command("verify", "openagent backup verify openagent-20261118-031500.tar.gz")
@click.argument("archive", metavar="ARCHIVE")
@as_json
def verify(archive: str, as_json: bool) -> None:
    """Unpack a backup into a place of its own, and open all of it."""
    tried = ask_daemon(BackupVerify(id="-", archive=_path(archive)))
    text = f"It can be restored: {tried.files} files as they were put in, {_holds(tried.backup)}"
    if tried.backup.keys and not tried.keys_open:
        text += "; its keys are sealed to another recovery key"
    tell(as_json, tried, f"{text}.")


def _path(archive: str) -> str:
    """A file here, or the name of one in the daemon's folder."""
    given = os.path.abspath(os.path.expanduser(archive))
    return given if os.path.exists(given) else archive


@command("key", "openagent backup key", "openagent backup key > /media/stick/openagent.key")
@as_json
def key(as_json: bool) -> None:
    """Print the recovery key, which opens the keys in backups on another machine.

    Keep it somewhere else than the backups: whoever has both has your keys.
    """
    found = ask_daemon(BackupKey(id="-"))
    tell(as_json, found, found.key)


@command(
    "restore",
    "openagent backup restore openagent-20261118-031500.tar.gz",
    "openagent backup restore /media/disk/openagent-20261118-031500.tar.gz --key-file ~/openagent.key",
    "openagent backup restore s3://backups/home/openagent-20261118-031500-3fa1c2.tar.gz --without-keys",
)
@click.argument("archive", metavar="ARCHIVE")
@click.option("--home", metavar="DIR", help="The data home to restore into. Default: the usual one.")
@click.option("--replace", is_flag=True, help="Put aside what is there already, and restore in its place.")
@click.option("--key-file", metavar="FILE", help=f"Where the recovery key is written.  [env: {_KEY} holds the key]")
@click.option("--without-keys", is_flag=True, help="Leave the keys and logins out.")
@as_json
def restore(
    *, archive: str, home: str | None, replace: bool, key_file: str | None, without_keys: bool, as_json: bool
) -> None:
    """Restore a backup into a home that no daemon works in.

    A torn backup, or one of another version, is refused before anything is changed. What was there is kept in a folder
    `before-restore-…` in the home.
    """
    env = {**os.environ, **({"OPENAGENT_HOME": os.path.abspath(os.path.expanduser(home))} if home else {})}
    wanted = {
        "archive": _in_folder(archive, env),
        "key": _given_key(key_file),
        "replace": replace,
        "without_keys": without_keys,
    }
    done = _restored(wanted, env)
    if as_json:
        print_json(done)
        return
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(done["made_at"]))
    say(f"Restored into {done['home']}: {_said(done['sessions'], done['messages'])}, as of {made}.")
    if done["keys"]:
        say(f"Keys and logins that work again: {done['keys']}.")
    for path in done["left"]:
        say(f"Left as it is, for it differs: {path}")
    if done["aside"]:
        say(f"What was there before: {done['aside']}")


def _in_folder(archive: str, env: dict[str, str]) -> str:
    if archive.startswith("s3://"):
        return archive
    given = os.path.abspath(os.path.expanduser(archive))
    usual = os.path.join(locations.data_home(env), "backups", archive)
    return usual if not os.path.exists(given) and os.path.exists(usual) else given


def _given_key(key_file: str | None) -> str:
    if key_file is None:
        return os.environ.get(_KEY, "")
    try:
        with open(os.path.expanduser(key_file), encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as problem:
        told = getattr(problem, "strerror", None) or "it is no text"
        raise OpenAgentError("invalid_argument", f"{key_file} cannot be read: {told}.") from None


def _restored(wanted: dict[str, Any], env: dict[str, str]) -> dict[str, Any]:
    try:
        program = daemon_program()
    except DaemonDidNotStart as problem:
        raise OpenAgentError("config_error", str(problem)) from None
    ran = subprocess.run(
        [*program, "serve", "--restore"],
        env={**env, **locations.wherever_we_are(env)},
        input=json.dumps(wanted).encode(),
        stdout=subprocess.PIPE,
        check=False,
    )
    try:
        answer: dict[str, Any] = json.loads(ran.stdout)
    except json.JSONDecodeError:
        sys.stderr.flush()
        raise OpenAgentError("store_error", "The restore ended without a word; nothing is known of it.") from None
    if error := answer.get("error"):
        raise OpenAgentError(error["code"], error["message"], hint=error.get("hint", ""))
    return answer["restored"]


for _command in (create, list_backups, restore, verify, key):
    backup.add_command(_command)
