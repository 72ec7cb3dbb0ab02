"""Skills: folders with a SKILL.md. Names and descriptions are told at the start, the rest when the model asks."""

import asyncio
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from openagent.customizing.files import read_text
from openagent.customizing.folders import CustomFolder, CustomFolders
from openagent.plugins.front_matter import parse_front_matter
from openagent.plugins.tool import FunctionTool, Tool, ToolContext, ToolOutcome, tool
from openagent.plugins.word_search import best_matches
from openagent.protocol.customizing import Skill, SkillContent
from openagent.protocol.display import Display
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import NotePart

SOURCE = "skills"
MAX_BODY = 64 * 1024
MAX_SKILLS = 1000
MAX_REMEMBERED = 4000
MAX_DEPTH = 4
MOST_FOUND = 10
MAX_LISTED = 8 * 1024
"""Characters of all names and descriptions: about 2,000 tokens."""
MAX_DESCRIPTION = 400
MAX_COPIED_FILES = 200
MAX_COPIED_BYTES = 8 << 20
_NAME = re.compile(r"[\w][\w.:-]{0,63}")


class FoundSkills(Struct, frozen=True):
    skills: dict[str, Skill]
    problems: list[str]


class _Known(Struct, frozen=True):
    """A SKILL.md as it was read, and when that was."""

    stamp: tuple[int, int]
    skill: Skill
    problems: Sequence[str]


class SkillFiles:
    def __init__(self, folders: CustomFolders) -> None:
        self._folders = folders
        self._known: dict[Path, _Known] = {}

    def find(self, workspace: Path | None) -> FoundSkills:
        skills: dict[str, Skill] = {}
        problems: list[str] = []
        for custom in self._folders.holding(workspace, SOURCE):
            for folder in _skill_folders(custom.folder):
                try:
                    known = self._read(folder, custom)
                except (OpenAgentError, OSError) as problem:
                    problems.append(_named(folder, problem))
                    continue
                problems += known.problems
                if len(skills) < MAX_SKILLS:
                    skills.setdefault(known.skill.name, known.skill)
        return FoundSkills(skills, problems)

    def _read(self, folder: Path, custom: CustomFolder) -> _Known:
        """Only what has changed is read again: this is looked at in every turn."""
        file = folder / "SKILL.md"
        status = file.stat()
        stamp = status.st_mtime_ns, status.st_size
        known = self._known.get(file)
        if known is None or known.stamp != stamp or known.skill.origin != custom.origin:
            known = _Known(stamp, *self._skill(folder, custom))
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            self._known[file] = known
        return known

    def _skill(self, folder: Path, custom: CustomFolder) -> tuple[Skill, Sequence[str]]:
        file = folder / "SKILL.md"
        header = parse_front_matter(read_text(file, within=custom.within, limit=MAX_BODY).text, str(file))
        name = header.text("name") or folder.name
        if not _NAME.fullmatch(name):
            name = re.sub(r"[^\w.:-]+", "-", name).strip("-.:")[:64]
            if not _NAME.fullmatch(name) or not header.text("description"):
                raise OpenAgentError("config_error", f"{header.text('name')[:80]!r} is no name for a skill.")
        description = " ".join(header.text("description").split())
        return Skill(custom.named(name), description, custom.origin, str(folder)), [*map(str, header.slips)]

    def show(self, name: str, workspace: Path | None) -> SkillContent:
        skills = self.find(workspace).skills
        skill = skills.get(name)
        if skill is None:
            raise OpenAgentError("not_found", f"There is no skill {name!r}.", hint=_near(name, skills))
        folder = Path(skill.folder)
        within = None if skill.origin == "user" else folder.parent
        read = read_text(folder / "SKILL.md", within=within, limit=MAX_BODY)
        body = parse_front_matter(read.text, str(folder / "SKILL.md")).body
        if read.cut:
            body += f"\n[This is not all: SKILL.md has {read.size:,} bytes, of which {MAX_BODY:,} are shown.]"
        return SkillContent(skill, body, _files(folder))

    def opening(self, workspace: Path) -> list[NotePart]:
        skills = self.find(workspace).skills.values()
        return [NotePart(SOURCE, _listing(skills), pinned=True)] if skills else []

    def renewed(self, workspace: Path, told: Mapping[str, str]) -> list[NotePart]:
        skills = self.find(workspace).skills.values()
        listing = _listing(skills) if skills else "[There are no skills any more.]"
        if told.get(SOURCE, "" if skills else listing) == listing:
            return []
        return [NotePart(SOURCE, listing, pinned=True)]

    def tools(self, workspace: Path) -> Sequence[Tool]:
        """No tool where there are no skills."""
        return [skill_tool(self)] if self.find(workspace).skills else []

    def load(self, context: ToolContext, name: str) -> ToolOutcome:
        skills = self.find(context.workspace).skills
        if name not in skills:
            return ToolOutcome(f"There is no skill {name!r}. {_near(name, skills)}", is_error=True)
        content = self.show(name, context.workspace)
        folder = Path(content.skill.folder)
        if content.files and content.skill.origin == "user":
            folder = _copied(folder, context.scratch / "skills" / name, content.files)
        listed = ", ".join(content.files[:50])
        files = f"\n\n[Its files are in {folder}, readable with the shell: {listed}]" if content.files else ""
        return ToolOutcome(content.body + files, display=Display(summary=name))


def skill_tool(custom: SkillFiles) -> FunctionTool:
    @tool(
        effect="none",
        kind="read",
        words=("load the skill", "loading the skill", "loaded the skill"),
        summary="name",
        known_as=("Skill",),
    )
    async def skill(
        context: ToolContext, name: Annotated[str, "As listed, or some words to search by."]
    ) -> ToolOutcome:
        """Load the instructions of a skill that you were told of, before doing what it is for."""
        return await asyncio.to_thread(custom.load, context, name)

    return skill


def _listing(skills: Iterable[Skill]) -> str:
    lines = ["[Skills: instructions for certain tasks. Load one with the skill tool when a task calls for it.]"]
    room = MAX_LISTED
    listed = list(skills)
    for skill in listed:
        line = _line(skill)
        room -= len(line)
        if room < 0:
            more = len(listed) - len(lines) + 1
            lines.append(f"[{more} more are not listed: give the skill tool some words, and it tells which fit.]")
            break
        lines.append(line)
    return "\n".join(lines)


def _near(words: str, skills: Mapping[str, Skill]) -> str:
    found = best_matches(words, {name: skill.description for name, skill in skills.items()}, MOST_FOUND)
    if found:
        return "\n".join(["These fit the words:", *(_line(skills[name]) for name in found)])
    few = ", ".join([*skills][:MOST_FOUND])
    return f"There are: {few}." if len(skills) <= MOST_FOUND else f"There are {len(skills)}: {few}, …"


def _line(skill: Skill) -> str:
    return f"- {skill.name}: {skill.description[:MAX_DESCRIPTION]}".rstrip(": ")


def _skill_folders(folder: Path) -> Iterator[Path]:
    """In order, also further below: people sort them. What lies inside a skill is its own."""
    for here, folders, names in os.walk(folder):
        place = Path(here)
        if "SKILL.md" in names and place != folder:
            yield place
            folders.clear()
            continue
        deep = len(place.relative_to(folder).parts) >= MAX_DEPTH
        linked = [name for name in folders if (place / name).is_symlink() and (place / name / "SKILL.md").exists()]
        folders[:] = [] if deep else sorted(name for name in folders if not name.startswith(".") and name not in linked)
        yield from (place / name for name in sorted(linked))


def _files(folder: Path) -> list[str]:
    found: list[str] = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [str(Path(here, name).relative_to(folder)) for name in sorted(names) if Path(here, name).is_file()]
        if len(found) > MAX_COPIED_FILES:
            break
    return [name for name in found[:MAX_COPIED_FILES] if name != "SKILL.md"]


def _copied(folder: Path, target: Path, files: Sequence[str]) -> Path:
    """A person's skill lies outside the jail's reach: its files are copied to where the session can read them."""
    room = MAX_COPIED_BYTES
    for name in files:
        source = folder / name
        room -= source.stat().st_size
        if room < 0:
            break
        place = target / name
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(source, place)
    return target


def _named(folder: Path, problem: OpenAgentError | OSError) -> str:
    message = problem.info.message if isinstance(problem, OpenAgentError) else problem.strerror or str(problem)
    return message if str(folder) in message else f"{folder / 'SKILL.md'}: {message}"
