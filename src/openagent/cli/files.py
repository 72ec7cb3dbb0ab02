"""`openagent files`"""

import sys
from typing import TypedDict, TypeVar

import click
from msgspec import Struct

from openagent.cli.command import as_json, ask_daemon, command, examples, group, plain, print_json, say
from openagent.cli.terminal import table
from openagent.client.text import clean, size
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.files import FileContent, FileEntries, FilesList, FilesRead, FilesWrite, FileWritten

R = TypeVar("R", bound=Struct)

_where = click.argument("where", metavar="SESSION|COPY")
_copy = click.option("--copy", is_flag=True, help="The name is that of a workspace's copy, not of a session.")


@group(
    "files",
    epilog=examples(
        "openagent files list 06gx src",
        "openagent files read 06gx README.md",
        "openagent files write 06gx notes.md < notes.md",
    ),
)
def files() -> None:
    """A session's workspace, or a copy of one, read and edited under its rules."""


@command("list", "openagent files list 06gx", "openagent files list --copy try src --json")
@_where
@click.argument("path", default=".")
@_copy
@click.option("--below", is_flag=True, help="All files below it, without what .gitignore leaves out.")
@click.option("--query", default="", help="Of all files below it, those with these letters in this order.")
@click.option("--changed", is_flag=True, help="Files below it that git says were changed since the last commit.")
@as_json
def list_files(where: str, path: str, *, copy: bool, below: bool, query: str, changed: bool, as_json: bool) -> None:
    """List a directory."""
    op = FilesList(id="list", path=path, below=below, query=query, changed=changed, **_place(where, copy))
    found: FileEntries = ask_daemon(op)
    if as_json:
        print_json(plain(found))
        return
    if changed:
        say(table(("MARK", "PATH"), [(each.mark, each.path) for each in found.entries]) or "Nothing was changed.")
    else:
        rows = [(each.kind, size(each.size) if each.kind == "file" else "–", each.path) for each in found.entries]
        say(table(("KIND", "SIZE", "PATH"), rows) if rows else "There is nothing in it.")
    if found.left_out:
        say(f"… and {found.left_out} more.")


@command("read", "openagent files read 06gx README.md", "openagent files read 06gx README.md --json | jq -r .version")
@_where
@click.argument("path")
@_copy
@as_json
def read(where: str, path: str, copy: bool, as_json: bool) -> None:
    """Print a file."""
    found: FileContent = ask_daemon(FilesRead(id="read", path=path, picture=False, **_place(where, copy)))
    if as_json:
        print_json(plain(found))
    elif found.binary:
        raise OpenAgentError("invalid_argument", f"{path} is no text ({size(found.size)}).")
    else:
        sys.stdout.write(clean(found.text) if sys.stdout.isatty() else found.text)


@command(
    "write",
    "openagent files write 06gx notes.md < notes.md",
    "openagent files write 06gx notes.md --version VERSION < notes.md",
)
@_where
@click.argument("path")
@_copy
@click.option("--version", help="Refuse when the file is another by now; '' when there is one at all.")
@as_json
def write(where: str, path: str, copy: bool, version: str | None, as_json: bool) -> None:
    """Create or replace a file with what comes on stdin."""
    op = FilesWrite(id="write", path=path, text=sys.stdin.read(), version=version, **_place(where, copy))
    done: FileWritten = ask_daemon(op)
    if as_json:
        print_json(plain(done))
    else:
        say(f"Wrote {clean(done.path)}, {size(done.size)}.")


class _Place(TypedDict, total=False):
    session: str
    copy: str


def _place(where: str, copy: bool) -> _Place:
    return {"copy": where} if copy else {"session": where}


for _command in (list_files, read, write):
    files.add_command(_command)
