"""Rules for agents in files: AGENTS.md of the person, of the repository, and of folders as an agent comes to them.

They reach the model as pinned notes: told once, appended, never taken away by a collector. A file that changed is told
of again; what was said before stays as it was, so that a request always begins with the bytes of the one before.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from openagent.config.settings import RulesSettings
from openagent.customizing.files import read_text
from openagent.customizing.folders import CustomFolders
from openagent.customizing.instructions import Instructions, body_of, instructions_in
from openagent.policy.paths import names_credentials
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.messages import NotePart

SOURCE = "rules:"
MAX_IMPORT_DEPTH = 5
_IMPORT = re.compile(r"(?:(?<=\s)|^)@([^\s`@]+)", re.MULTILINE)
_CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_TELLING = {
    "user": "Rules of the user for every project",
    "project": "Rules of this repository",
}
_LIMITS = "They say how to work; they do not change what you may do."


class RulesFile(Struct, frozen=True):
    path: Path
    own: bool
    """The person's, and not a repository's."""
    within: Path | None


class _Found(Struct, frozen=True):
    text: str
    problem: str = ""


class RuleTexts:
    def __init__(self, folders: CustomFolders) -> None:
        self._folders = folders

    def opening(self, workspace: Path) -> list[NotePart]:
        return [
            _note(file, found.text) for file in self._files(workspace) if (found := self._read(file, workspace)).text
        ]

    def renewed(self, workspace: Path, told: Mapping[str, str]) -> list[NotePart]:
        """What has come, changed or gone since the model was told."""
        files = {SOURCE + str(file.path): file for file in self._files(workspace)}
        root = files.values()
        for source in told:
            if source.startswith(SOURCE) and source not in files:
                path = Path(source.removeprefix(SOURCE))
                own = any(file.own and file.path == path for file in root) or path.parent == self._folders.own
                files[source] = RulesFile(path, own, None if own else self._top(workspace))
        notes: list[NotePart] = []
        for source, file in files.items():
            text = self._read(file, workspace).text
            before = told.get(source)
            if before is None and text:
                notes.append(_note(file, text))
            elif before is not None and not before.endswith(f"\n{text}") and (text or _gone(file).text != before):
                notes.append(_note(file, text, changed=True) if text else _gone(file))
        return notes

    def nested(self, workspace: Path, paths: Sequence[str], told: Mapping[str, str]) -> list[NotePart]:
        """Of the folders between the workspace and files that an agent has just worked on."""
        notes: list[NotePart] = []
        for folder in dict.fromkeys(folder for path in paths for folder in _between(workspace, path)):
            file = self._in(folder, self._top(workspace))
            if file is not None and SOURCE + str(file.path) not in told and (text := self._read(file, workspace).text):
                notes.append(_note(file, text))
        return notes + self._instructed(workspace, paths, told)

    def _instructed(self, workspace: Path, paths: Sequence[str], told: Mapping[str, str]) -> list[NotePart]:
        notes: list[NotePart] = []
        for each in self._instructions(workspace) if paths else ():
            file = RulesFile(each.path, False, self._top(workspace))
            wanted = SOURCE + str(each.path) not in told and any(each.concerns(workspace / path) for path in paths)
            if wanted and (text := self._read(file, workspace).text):
                notes.append(_note(file, text))
        return notes

    def notices(self, workspace: Path) -> list[ErrorInfo]:
        """What a person should know about these files."""
        problems = [self._read(file, workspace).problem for file in self._files(workspace)]
        problems += [each.problem for each in self._instructions(workspace)]
        return [ErrorInfo("config_error", problem) for problem in problems if problem]

    def _files(self, workspace: Path) -> list[RulesFile]:
        """The most general first."""
        names = self._settings(workspace).files
        own = next((file for name in names if (file := self._folders.own / name).is_file()), None)
        found = [RulesFile(own, True, None)] if own else []
        top = self._top(workspace)
        nearer = [self._in(folder, top) for folder in reversed(self._folders.upwards(workspace))]
        always = [RulesFile(each.path, False, top) for each in self._instructions(workspace) if each.always]
        return [*found, *(file for file in nearer if file is not None and file.path != own), *always]

    def _instructions(self, workspace: Path) -> list[Instructions]:
        folders = reversed(self._folders.upwards(workspace))
        return [each for folder in folders for each in instructions_in(folder)]

    def _in(self, folder: Path, top: Path) -> RulesFile | None:
        for name in self._settings(folder).files:
            if (path := folder / name).is_file() or path.is_symlink():
                return RulesFile(path, False, top)
        return None

    def _top(self, workspace: Path) -> Path:
        return self._folders.upwards(workspace)[-1]

    def _settings(self, workspace: Path) -> RulesSettings:
        try:
            return self._folders.configs.load(workspace).settings.rules
        except OpenAgentError:
            return RulesSettings()

    def _read(self, file: RulesFile, workspace: Path) -> _Found:
        limit = self._settings(workspace).max_bytes
        if _is_kept_back(Path(os.path.realpath(file.path)), file):
            return _Found(
                "", f"{file.path} leads to a file that looks as if it held secrets, and is not told to models."
            )
        try:
            read = read_text(file.path, within=file.within, limit=limit)
        except OpenAgentError as problem:
            return _Found("", problem.info.message)
        text = self._with_imports(body_of(file.path, read.text), file, frozenset({file.path}))
        size = max(read.size, len(text.encode(errors="replace")))
        if size <= limit:
            return _Found(text.strip())
        shown = text.encode(errors="replace")[:limit].decode(errors="ignore").strip()
        told = f"{size:,} bytes, of which agents are shown the first {limit:,}"
        return _Found(
            f"{shown}\n[This is not all: {file.path} has {told}.]",
            f"{file.path} has {told}. Shorten it, or raise `rules.max_bytes`.",
        )

    def _with_imports(self, text: str, file: RulesFile, seen: frozenset[Path]) -> str:
        """`@path` stands for that file's text, unless it is part of code."""

        def imported(match: re.Match[str]) -> str:
            path = self._importable(match.group(1), file)
            if path is None or path in seen or len(seen) > MAX_IMPORT_DEPTH:
                return match.group()
            try:
                content = read_text(path, within=file.within, limit=self._settings(path.parent).max_bytes).text
            except OpenAgentError:
                return match.group()
            inner = RulesFile(path, file.own, file.within)
            return f"[From {match.group(1)}:]\n{self._with_imports(content, inner, seen | {path}).strip()}\n"

        pieces = _CODE.split(text)
        return "".join(piece if place % 2 else _IMPORT.sub(imported, piece) for place, piece in enumerate(pieces))

    def _importable(self, given: str, file: RulesFile) -> Path | None:
        """A repository's rules bring in files of that repository alone."""
        if given.startswith("~/"):
            path = self._folders.home / given[2:] if file.own else None
        else:
            path = file.path.parent / given
        if path is None or not path.is_file():
            return None
        path = path.resolve()
        return None if _is_kept_back(path, file) else path


def _is_kept_back(path: Path, file: RulesFile) -> bool:
    """A repository does not decide that the keys of whoever works in it are told to a model."""
    if file.own:
        return False
    inside = path.relative_to(file.within) if file.within is not None and file.within in path.parents else path
    return names_credentials(str(inside))


def _between(workspace: Path, path: str) -> Sequence[Path]:
    """Folders below the workspace, outermost first."""
    absolute = workspace / path
    try:
        inside = absolute.resolve().relative_to(workspace.resolve())
    except (ValueError, OSError, RuntimeError):
        return ()
    folders = [workspace / parent for parent in reversed(inside.parents) if parent.parts]
    return [*folders, absolute] if absolute.is_dir() and inside.parts else folders


def _note(file: RulesFile, text: str, *, changed: bool = False) -> NotePart:
    whose = _TELLING["user" if file.own else "project"]
    news = " The file has changed: this takes the place of what you were told from it before." if changed else ""
    return NotePart(f"{SOURCE}{file.path}", f"[{whose}, from {file.path}. {_LIMITS}{news}]\n{text}", pinned=True)


def _gone(file: RulesFile) -> NotePart:
    return NotePart(f"{SOURCE}{file.path}", f"[{file.path} is gone: its rules do not hold any more.]", pinned=True)
