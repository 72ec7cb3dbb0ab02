"""Changes of files, as a terminal shows them."""

import sys
from collections.abc import Sequence

from openagent.cli.command import say
from openagent.cli.diff import look_of, painted
from openagent.cli.terminal import BOLD, paint
from openagent.client.ignored import apart, in_one_line
from openagent.client.text import clean, one_line, outside
from openagent.protocol.undo import ChangedFile


def show_changes(
    files: Sequence[ChangedFile], *, nothing: str, only_names: bool = False, ignored_too: bool = False
) -> None:
    if not files:
        say(nothing)
        return
    others, ignored = apart(files)
    for file in (*others, *(ignored if ignored_too else ())):
        say(paint(_heading(file), BOLD))
        if not only_names and not file.binary:
            _show_patch(file)
    if others:
        added, removed = sum(file.added for file in others), sum(file.removed for file in others)
        say(f"{len(others)} {'file' if len(others) == 1 else 'files'} changed, +{added} −{removed}")
    if ignored:
        say(f"{in_one_line(ignored)}{'' if ignored_too else '  (--ignored shows them)'}")


def _heading(file: ChangedFile) -> str:
    moved = f"{one_line(file.old_path)} → " if file.old_path else ""
    counts = "binary" if file.binary else f"+{file.added} −{file.removed}"
    notes = ["others have changed it since"] if file.others else []
    notes += [f"not surely this session's: {one_line(file.shared)}"] if file.shared else []
    notes += [outside(file.runs_outside)] if file.runs_outside else []
    notes += ["ignored by git"] if file.ignored else []
    note = f"  ({'; '.join(notes)})" if notes else ""
    return f"{file.status} {moved}{one_line(file.path)}  {counts}{note}"


def _show_patch(file: ChangedFile) -> None:
    if sys.stdout.isatty():
        lines = painted(file.patch, look_of(sys.stdout), path=file.path, headed=False)
    else:
        lines = clean(file.patch).splitlines()
        lines = lines[next((place for place, line in enumerate(lines) if line.startswith("@@")), len(lines)) :]
    for line in lines:
        say(line)
    if file.cut:
        say("… cut here")
