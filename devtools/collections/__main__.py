"""`python -m devtools.collections FOLDER…`: each folder of agents, skills and commands below is put where a person
would keep theirs, and a real daemon is asked what it finds there."""

import asyncio
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from msgspec import Struct, field

from openagent.app import ConfigCache, running
from openagent.client import Client, connect
from openagent.protocol.customizing import CommandsList, HooksList, PluginsList, SkillsList
from openagent.protocol.templates import TemplatesList

_AGENTS = ("agents", "agent", "chatmodes", "subagents", "categories")
_SKILLS = ("skills", "skill")
_COMMANDS = ("commands", "command", "prompts", "tools", "workflows")
_NO_AGENT = ("readme.md", "agents.md", "claude.md")
_PLACE = re.compile(r"^\S+?(?::\d+)?: ")
_QUOTED = re.compile(r"'[^']*'|`[^`]*`|\"[^\"]*\"|\d+")


class Tally(Struct):
    files: int = 0
    loaded: int = 0
    noted: int = 0
    kinds: Counter[str] = field(default_factory=Counter[str])

    def add(self, files: int, loaded: int, notices: Iterable[str]) -> None:
        notices = list(notices)
        self.files += files
        self.loaded += loaded
        self.noted += len({notice.partition(": ")[0].partition(":")[0] for notice in notices})
        self.kinds.update(_kind(notice) for notice in notices)


def _kind(notice: str) -> str:
    """Keys are told apart, values are not."""
    said = _PLACE.sub("", notice)
    return said if " not used" in said else _QUOTED.sub("…", said)


def agent_files(folder: Path) -> list[Path]:
    found = [*folder.rglob("*.md"), *folder.rglob("*.toml")]
    return [file for file in found if file.name.lower() not in _NO_AGENT and _visible(file, folder)]


def skill_files(folder: Path) -> list[Path]:
    """What lies inside another skill belongs to that."""
    found = [file for file in folder.rglob("SKILL.md") if _visible(file, folder)]
    return [file for file in found if not any((above / "SKILL.md") in found for above in file.parent.parents)]


def command_files(folder: Path) -> list[Path]:
    return [file for file in [*folder.rglob("*.md"), *folder.rglob("*.toml")] if _visible(file, folder)]


def _visible(file: Path, folder: Path) -> bool:
    return not any(part.startswith(".") for part in file.relative_to(folder).parts)


def holding(root: Path, names: tuple[str, ...], files: Callable[[Path], list[Path]]) -> list[Path]:
    """The outermost folders of that kind."""
    found: list[Path] = []
    for folder in sorted(path for path in root.rglob("*") if path.is_dir() and path.name in names):
        inside = any(folder.is_relative_to(other) for other in found)
        if not inside and ".git" not in folder.parts and files(folder):
            found.append(folder)
    return found


async def look(root: Path, home: Path, client: Client) -> dict[str, Tally]:
    kinds = {"agents": Tally(), "skills": Tally(), "commands": Tally()}
    place = home / ".claude"
    place.mkdir(exist_ok=True)
    for kind, names, files in (
        ("agents", _AGENTS, agent_files),
        ("skills", _SKILLS, skill_files),
        ("commands", _COMMANDS, command_files),
    ):
        for folder in holding(root, names, files):
            link = place / kind
            link.symlink_to(folder)
            try:
                kinds[kind].add(len(files(folder)), *await _asked(kind, client))
            finally:
                link.unlink()
    kinds["plugins"], kinds["hooks of plugins"] = await _plugins(root, home / "data" / "plugins", client)
    return kinds


def plugin_roots(root: Path) -> list[Path]:
    manifests = sorted([*root.rglob(".claude-plugin/plugin.json"), *root.rglob("gemini-extension.json")])
    named = [file.parent.parent if file.parent.name == ".claude-plugin" else file.parent for file in manifests]
    return list(dict.fromkeys(named))


async def _plugins(root: Path, place: Path, client: Client) -> tuple[Tally, Tally]:
    """Each alone, as if it were the only one installed."""
    plugins, hooks = Tally(), Tally()
    for folder in plugin_roots(root):
        link = place / "it"
        link.symlink_to(folder)
        try:
            told = await client.request(PluginsList(id=client.next_id()))
            unused = [f"{link}: {what} not used" for each in told.bundles for what in each.unused]
            plugins.add(1, len(told.bundles), [*told.notices, *unused])
            written = folder / "hooks" / "hooks.json"
            if written.is_file():
                found = await client.request(HooksList(id=client.next_id(), cwd=str(folder)))
                count = written.read_text(errors="replace").count('"type"')
                hooks.add(count, len(found.hooks), found.notices)
        finally:
            link.unlink()
    return plugins, hooks


async def _asked(kind: str, client: Client) -> tuple[int, list[str]]:
    match kind:
        case "agents":
            told = await client.request(TemplatesList(id=client.next_id()))
            own = [info for info in told.templates if info.source == "user"]
            return sum(1 + info.hides.count("user") for info in own), told.notices
        case "skills":
            skills = await client.request(SkillsList(id=client.next_id()))
            return len(skills.skills), skills.notices
        case _:
            commands = await client.request(CommandsList(id=client.next_id()))
            return len(commands.commands), commands.notices


async def main(roots: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        data = home / "data"
        (data / "plugins").mkdir(parents=True)
        env = {"HOME": made, "OPENAGENT_HOME": str(data), "OPENAGENT_CONFIG": str(data / "config.toml")}
        (data / "config.toml").write_text("")
        async with running(data / "daemon.sock", data, ConfigCache(env)):
            client = await connect(socket=str(data / "daemon.sock"), name="collections", auto_start=False, env={})
            for root in roots:
                click.echo(f"## {root.name}")
                for kind, tally in (await look(root, home, client)).items():
                    if not tally.files:
                        continue
                    click.echo(f"{kind}: {tally.loaded} of {tally.files} loaded, {tally.noted} with something to say")
                    for told, count in tally.kinds.most_common(12):
                        click.echo(f"    {count} × {told[:150]}")
            await client.close()


if __name__ == "__main__":
    asyncio.run(main([Path(name).resolve() for name in sys.argv[1:]]))
