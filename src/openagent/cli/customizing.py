"""`openagent slash`, `openagent skills`, `openagent hooks`, `openagent plugins`"""

import os
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from openagent.cli.command import (
    as_json,
    ask_daemon,
    command,
    complete,
    daemon,
    examples,
    group,
    plain,
    print_json,
    say,
)
from openagent.cli.plugin_install import install_plugin, remove_plugin
from openagent.cli.terminal import DIM, GREEN, RED, YELLOW, paint, table
from openagent.client.text import clean, one_line
from openagent.protocol import customizing as c
from openagent.protocol.templates import TemplateList, TemplatesList

_STYLES = {"done": GREEN, "blocked": YELLOW, "failed": RED, "timeout": RED}
in_workspace = click.option("--cwd", default=".", metavar="DIR", help="The workspace; this directory.")


def _directory(cwd: str) -> str:
    return os.path.abspath(os.path.expanduser(cwd))


def _notices(notices: list[str]) -> None:
    for notice in notices:
        say(paint(clean(f"! {notice}"), YELLOW))


@group("slash", epilog=examples("openagent slash list", 'openagent run "/review src/app.py"'))
def slash() -> None:
    """Slash commands: Markdown files whose text is sent when you write /name.

    Yours are in commands/ beside your config.toml, a project's in .openagent/commands/ or .claude/commands/.
    """


@command("list", "openagent slash list", "openagent slash list --json | jq -r '.commands[].name'")
@in_workspace
@as_json
def commands_list(cwd: str, as_json: bool) -> None:
    """Show the slash commands of a workspace."""

    found = ask_daemon(c.CommandsList(id="-", cwd=_directory(cwd)))
    if as_json:
        print_json(plain(found))
        return
    if found.commands:
        rows = [
            (f"/{each.name} {each.arguments}".strip(), each.origin, one_line(each.description))
            for each in found.commands
        ]
        say(table(("COMMAND", "FROM", "WHAT IT DOES"), rows))
    else:
        say("There are no slash commands here. A file .openagent/commands/NAME.md makes one.")
    _notices(found.notices)


@group("skills", epilog=examples("openagent skills list", "openagent skills show release"))
def skills() -> None:
    """Skills: folders with a SKILL.md that an agent loads when a task calls for it.

    Yours are in skills/ beside your config.toml, a project's in .openagent/skills/ or .claude/skills/.
    """


@command("list", "openagent skills list", "openagent skills list --cwd ~/project")
@in_workspace
@as_json
def skills_list(cwd: str, as_json: bool) -> None:
    """Show the skills of a workspace."""

    found = ask_daemon(c.SkillsList(id="-", cwd=_directory(cwd)))
    if as_json:
        print_json(plain(found))
        return
    if found.skills:
        say(table(("SKILL", "FROM", "FOR"), [(s.name, s.origin, one_line(s.description)) for s in found.skills]))
    else:
        say("There are no skills here. A folder .openagent/skills/NAME with a SKILL.md makes one.")
    _notices(found.notices)


@command("show", "openagent skills show release")
@click.argument("name")
@in_workspace
@as_json
def skills_show(name: str, cwd: str, as_json: bool) -> None:
    """Show what an agent reads when it loads a skill."""

    found = ask_daemon(c.SkillShow(id="-", name=name, cwd=_directory(cwd)))
    if as_json:
        print_json(plain(found))
        return
    say(paint(clean(f"{found.skill.name}  ·  {found.skill.origin}  ·  {found.skill.folder}"), DIM))
    say(clean(found.body))
    for file in found.files:
        say(paint(clean(f"  {file}"), DIM))


@group("hooks", epilog=examples("openagent hooks list", "openagent hooks test PreToolUse --tool Bash"))
def hooks() -> None:
    """Hooks: commands of yours that run when something happens in a session, and may hold it up.

    Yours are in hooks.json beside your config.toml, a project's in .openagent/hooks.json (trusted folders only).
    """


@command("list", "openagent hooks list", "openagent hooks list --json")
@in_workspace
@as_json
def hooks_list(cwd: str, as_json: bool) -> None:
    """Show the hooks that run in a workspace."""

    found = ask_daemon(c.HooksList(id="-", cwd=_directory(cwd)))
    if as_json:
        print_json(plain(found))
        return
    if found.hooks:
        rows = [
            (h.event, h.only_if or h.matcher or "*", f"{h.timeout:g} s", h.origin, one_line(h.command))
            for h in found.hooks
        ]
        say(table(("EVENT", "MATCHER", "TIMEOUT", "FROM", "COMMAND"), rows))
    else:
        say("There are no hooks here. `openagent help customizing` shows how to write one.")
    _notices(found.notices)


@command(
    "test",
    'openagent hooks test PreToolUse --tool Bash --input \'{"command": "rm -rf build"}\'',
    'openagent hooks test UserPromptSubmit --input \'{"prompt": "hello"}\'',
)
@click.argument("event")
@click.option("--tool", default="", help="The tool of the call, by its name here or in Claude Code.")
@click.option("--input", "given", default="{}", metavar="JSON", help="The call's arguments, or the event's fields.")
@in_workspace
@as_json
def hooks_test(event: str, tool: str, given: str, cwd: str, as_json: bool) -> int:
    """Run the hooks of an event now and show what they say. Exit code 1 when one fails."""
    try:
        fields = msgspec.json.decode(given.encode(), type=dict[str, Any])
    except msgspec.DecodeError as problem:
        raise click.UsageError(f"--input is no JSON object: {problem}.") from None

    found = ask_daemon(c.HooksTest(id="-", event=event, cwd=_directory(cwd), tool=tool, input=fields))
    failed = any(tried.outcome in ("failed", "timeout") for tried in found.tried)
    if as_json:
        print_json(plain(found))
        return int(failed)
    if not found.tried:
        say(f"No hook runs on {clean(event)}{f' for {clean(tool)}' if tool else ''}.")
    for tried in found.tried:
        outcome = paint(tried.outcome, _STYLES[tried.outcome])
        say(f"{outcome}  {clean(one_line(tried.hook.command))}  ({tried.duration_ms:.0f} ms)")
        if tried.detail:
            say(paint(clean(f"  {tried.detail}"), DIM))
    _notices(found.notices)
    return int(failed)


@group("plugins", epilog=examples("openagent plugins list", "openagent plugins install ~/src/my-plugin"))
def plugins() -> None:
    """Plugins: Python packages that add tools, providers, collectors, jails or commands, and folders of agents, skills,
    commands and hooks that were made for Claude Code or gemini-cli.
    """


@command("list", "openagent plugins list", "openagent plugins list --json")
@as_json
def plugins_list(as_json: bool) -> int:
    """Show the plugins there are, and which are broken. Exit code 1 when one is."""

    found = ask_daemon(c.PluginsList(id="-"))
    broken = any(plugin.error for plugin in found.plugins)
    if as_json:
        print_json(found)
        return int(broken)
    if found.bundles:
        say(table(("PLUGIN", "VERSION", "OF", "BRINGS", "NOT USED"), [_bundle(each) for each in found.bundles]))
    _notices(found.notices)
    if not found.plugins and not found.bundles:
        say("There are no plugins. `openagent help plugins` shows how to make one.")
        return 0
    if not found.plugins:
        return 0
    rows = [
        (
            plugin.kind,
            plugin.name,
            f"{plugin.distribution} {plugin.version}".strip(),
            one_line(plugin.error or ", ".join(plugin.offers) or "ok"),
        )
        for plugin in found.plugins
    ]
    say(table(("KIND", "NAME", "PACKAGE", "OFFERS OR PROBLEM"), rows))
    return int(broken)


def _bundle(bundle: c.PluginBundle) -> tuple[str, ...]:
    brings, unused = ", ".join(bundle.brings) or "nothing", one_line(", ".join(bundle.unused), 60)
    return bundle.name, bundle.version, bundle.form, brings, unused


@command(
    "install",
    "openagent plugins install ~/src/my-plugin",
    "openagent plugins install ~/src/marketplace --plugin reviewer",
)
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--plugin", "wanted", default="", help="Which plugin of a marketplace.")
@click.option("--replace", is_flag=True, help="Also where there is one of this name.")
@as_json
def plugins_install(folder: str, wanted: str, replace: bool, as_json: bool) -> None:
    """Copy a plugin of Claude Code or an extension of gemini-cli beside your config.toml. Nothing of it is run."""
    name = install_plugin(Path(folder).resolve(), wanted, replace=replace)
    (bundle,) = [each for each in ask_daemon(c.PluginsList(id="-")).bundles if each.name == name]
    if as_json:
        print_json(plain(bundle))
        return
    say(clean(f"{name} is installed: {', '.join(bundle.brings) or 'nothing of it is used here'}."))
    if bundle.unused:
        say(paint(clean(f"! Not used here: {', '.join(bundle.unused)}."), YELLOW))
    if any(each.endswith("hooks") for each in bundle.brings):
        say(paint("! Its hooks run as you, outside the jail: `openagent hooks list` shows them.", YELLOW))


@command("remove", "openagent plugins remove my-plugin")
@click.argument("name")
@as_json
def plugins_remove(name: str, as_json: bool) -> None:
    """Remove a plugin that `plugins install` copied."""
    remove_plugin(name)
    if as_json:
        print_json({"removed": name})
    else:
        say(clean(f"{name} is removed."))


@command("customizing", "openagent customizing", "openagent customizing --cwd ~/project --json")
@in_workspace
@as_json
def found(cwd: str, as_json: bool) -> None:
    """Show the agents, skills, slash commands and hooks found for a workspace, folder by folder, and what of them is
    not used."""
    told = complete(_everything(_directory(cwd)))
    if as_json:
        print_json(plain(told))
        return
    rows = [
        (kind, str(folder), str(len(names)), one_line(", ".join(names), 60)) for kind, folder, names in _by_folder(told)
    ]
    say(table(("WHAT", "FOLDER OR FILE", "COUNT", "NAMES"), rows) if rows else "Nothing is found here.")
    for part in (told.agents, told.skills, told.commands, told.hooks, told.plugins):
        _notices(part.notices)


class _Everything(Struct, frozen=True):
    agents: TemplateList
    skills: c.Skills
    commands: c.SlashCommands
    hooks: c.Hooks
    plugins: c.Plugins


async def _everything(cwd: str) -> _Everything:
    async with daemon() as client:
        return _Everything(
            await client.request(TemplatesList(id=client.next_id(), cwd=cwd)),
            await client.request(c.SkillsList(id=client.next_id(), cwd=cwd)),
            await client.request(c.CommandsList(id=client.next_id(), cwd=cwd)),
            await client.request(c.HooksList(id=client.next_id(), cwd=cwd)),
            await client.request(c.PluginsList(id=client.next_id())),
        )


def _by_folder(told: _Everything) -> list[tuple[str, str, list[str]]]:
    where: dict[tuple[str, str], list[str]] = {}
    for info in told.agents.templates:
        place = str(Path(info.file).parent) if info.file else info.source
        where.setdefault(("agents", place), []).append(info.template.name)
    for skill in told.skills.skills:
        where.setdefault(("skills", str(Path(skill.folder).parent)), []).append(skill.name)
    for each in told.commands.commands:
        place = each.source if each.origin == "mcp" else str(Path(each.source).parent)
        where.setdefault(("commands", place), []).append(f"/{each.name}")
    for hook in told.hooks.hooks:
        where.setdefault(("hooks", hook.source), []).append(hook.told_as or hook.event)
    return [(kind, place, names) for (kind, place), names in where.items()]


for family, listed in (
    (slash, [commands_list]),
    (skills, [skills_list, skills_show]),
    (plugins, [plugins_list, plugins_install, plugins_remove]),
):
    for each in listed:
        family.add_command(each)
hooks.add_command(hooks_list)
hooks.add_command(hooks_test)
