"""grep: ripgrep inside the jail where there is one, else our own search. Both print the same."""

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec

from openagent.filesystem.handles import HANDLE
from openagent.filesystem.patterns import Glob
from openagent.plugins.jail import KeepsSecrets, Shell
from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display
from openagent.protocol.errors import OpenAgentError
from openagent.tools.beneath import root_of
from openagent.tools.child import run_child
from openagent.tools.files import explained
from openagent.tools.scratch import INLINE_BYTES, OUTPUT, open_output
from openagent.tools.search_files import MAX_COLUMNS, MAX_PRINTED, GrepMode, Search

MAX_LINES = 250
MAX_AROUND = 20
TIMEOUT = 60.0
_NO_RIPGREP = 97
_NOISE = re.compile(r"^(?:.*: )?(?:WARNING: stopped searching binary file|binary file matches)", re.IGNORECASE)
_NUMBERED = re.compile(r"\d+([:-])")
_CLIPPED = re.compile(r" \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$")


@tool(
    effect="read",
    kind="search",
    words=("search for", "searching for", "searched for"),
    summary="pattern",
    paths=("path",),
    known_as=("Grep",),
)
async def grep(
    context: ToolContext,
    pattern: Annotated[str, "Regular expression."],
    *,
    path: Annotated[str, "File or directory, or output:ID."] = ".",
    glob: Annotated[str, "Only files like this, such as *.py"] = "",
    ignore_case: bool = False,
    around: Annotated[int, "Lines of context."] = 0,
    mode: GrepMode = "lines",
) -> ToolOutcome:
    """Search in files: matching lines, just the files, or counts. Leaves out what .gitignore says."""
    search = Search(pattern, "", glob, ignore_case, min(max(around, 0), MAX_AROUND), mode)
    printed = None
    may_read, unsearched = context.may_read, set[str]()
    if path.startswith(OUTPUT):
        os.close(open_output(context, path))
        root, search = context.scratch / "outputs", msgspec.structs.replace(search, path=path.removeprefix(OUTPUT))
        may_read = _anything
    else:
        root, found = _located(context, path)
        search = msgspec.structs.replace(search, path=found)
        if may_read(search.path) and root == context.workspace:
            printed = await _ripgrep(context, search)
            unsearched = await _unsearched(context, search) if printed is not None else set[str]()
        elif not may_read(search.path):  # it was named, and allowed; the shell may be kept from it all the same
            may_read = _anything
    if printed is None:
        printed = await _own_search(root, search)
    cut = len(printed.encode()) >= MAX_PRINTED
    shown, kept_back = _shown(printed, search.mode, may_read)
    if shown and root != context.workspace and not path.startswith(OUTPUT):
        shown = f"[below {root}]\n{shown}"
    return _outcome(shown, len(kept_back | unsearched), cut=cut)


def _anything(_path: str) -> bool:
    return True


def _shown(printed: str, mode: GrepMode, may_read: Callable[[str], bool]) -> tuple[str, set[str]]:
    """Without what rules keep from being read unasked, and which files that were. A path ends with a zero byte."""
    lines: list[str] = []
    kept_back: set[str] = set()
    for line in printed.splitlines():
        path, end, rest = line.partition("\0")
        if not end and mode != "files":
            if line != "--" or (lines and lines[-1] != "--"):
                lines.append(line)
        elif not may_read(path.removeprefix("./")):
            kept_back.add(path.removeprefix("./"))
        elif end:
            told = _NUMBERED.match(rest)
            lines.append(f"{path}{told[1] if told else ':'}{rest}")
        else:
            lines.append(line)
    while lines and lines[-1] == "--":
        lines.pop()
    return "\n".join(lines), kept_back


async def _unsearched(context: ToolContext, search: Search) -> set[str]:
    """What the shell cannot read of all that was to be searched."""
    shell = await context.shell()
    kept = shell.secrets() if isinstance(shell, KeepsSecrets) else ()
    inside = "" if search.path == "." else f"{search.path}/"
    paths = [str(path.relative_to(context.workspace)) for path in kept if path.is_relative_to(context.workspace)]
    wanted = Glob(search.glob) if search.glob else None
    return {path for path in paths if path.startswith(inside) and (wanted is None or wanted.matches(path))}


def _located(context: ToolContext, path: str) -> tuple[Path, str]:
    """The folder to search from, and the path from there with no symbolic link in it."""
    with root_of(context, path) as root:
        try:
            fd = root.open(path, HANDLE)
        except OSError as problem:
            raise explained(path, problem) from None
        try:
            return root.directory, root.beneath(fd)
        finally:
            os.close(fd)


async def _ripgrep(context: ToolContext, search: Search) -> str | None:
    """None where there is none, or no shell that keeps a search from writing."""
    command = (
        f"(command -v rg >/dev/null || exit {_NO_RIPGREP}; set -o pipefail; "
        f"command rg {shlex.join(_options(search))} | head -c {MAX_PRINTED})"
    )
    try:
        shell: Shell = await context.shell()
        result = await shell.run(command, timeout=TIMEOUT, cwd=str(context.workspace))
    except OpenAgentError:
        return None
    if result.timed_out or result.background:
        raise OpenAgentError("tool_error", "The search took too long.", hint="Search in fewer files.")
    if result.exit_code in (0, 1, 141) or result.stdout:
        return result.stdout
    if result.exit_code == 2 and "regex parse error" in result.stderr:
        raise OpenAgentError("tool_error", f"The pattern is not a regular expression. {result.stderr.strip()}")
    return None


def _options(search: Search) -> list[str]:
    options = ["--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--sort=path"]
    options += ["--hidden", "--no-require-git", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global"]
    options += [f"--max-columns={MAX_COLUMNS}", "--max-columns-preview", "--glob=!.git"]
    options += {"lines": ["--line-number"], "files": ["--files-with-matches"], "count": ["--count"]}[search.mode]
    if search.mode != "files":
        options.append("--null")
    if search.ignore_case:
        options.append("--ignore-case")
    if search.around and search.mode == "lines":
        options.append(f"--context={search.around}")
    if search.glob:
        options.append(f"--glob={search.glob}")
    return [*options, f"--regexp={search.pattern}", "--", "./" if search.path == "." else f"./{search.path}"]


async def _own_search(root: Path, search: Search) -> str:
    try:
        result = await run_child(
            "openagent.tools.search_files", str(root), msgspec.json.encode(search), timeout=TIMEOUT
        )
    except TimeoutError:
        raise OpenAgentError(
            "tool_error", "The search took too long.", hint="Search in fewer files, or with a simpler pattern."
        ) from None
    if result.complaint:
        raise OpenAgentError("tool_error", result.complaint)
    return result.output.decode(errors="replace")


def _outcome(printed: str, kept_back: int, *, cut: bool) -> ToolOutcome:
    lines = [_tidied(line) for line in printed.splitlines() if not _NOISE.match(line)]
    shown: list[str] = []
    room = INLINE_BYTES
    for line in lines[:MAX_LINES]:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        shown.append(line)
    text = "\n".join(shown)
    if cut or len(shown) < len(lines):
        text += f"\n[the first {len(shown)} lines; there is more: narrow the search]"
    if kept_back:
        files = "file that looks" if kept_back == 1 else "files that look"
        text += f"\n[{kept_back} {files} like secrets left out: name one with read_file to ask for it]"
    summary = f"{len(shown)} lines" if lines else "nothing found"
    return ToolOutcome(text.strip() or "Nothing matches.", display=Display(summary=summary))


def _tidied(line: str) -> str:
    return _CLIPPED.sub("…", line.removeprefix("./"))
