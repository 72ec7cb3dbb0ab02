"""`openagent templates`"""

import os
import sys
from pathlib import Path
from typing import TextIO

import click
import msgspec

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
    tell,
)
from openagent.cli.terminal import DIM, YELLOW, paint, table
from openagent.client.text import clean, one_line
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import MODES
from openagent.protocol.templates import (
    Template,
    TemplateInfo,
    TemplatesExport,
    TemplatesGet,
    TemplatesImport,
    TemplatesList,
    TemplatesRemove,
    TemplatesSave,
    TemplateText,
)

_MODES = click.Choice(MODES)


@group(
    "templates",
    epilog=examples(
        "openagent templates list",
        "openagent templates show reviewer",
        'openagent templates add poet --description "Writes release notes" --prompt "You write release notes."',
        "openagent templates import ~/.claude/agents/*.md",
        'openagent run --template reviewer "Review the last commit"',
    ),
)
def templates() -> None:
    """Personas for agents: a prompt, a model, tools, a mode.

    A session can start from one (`openagent run --template NAME`), and an agent can call any of them as a sub-agent.
    Of one name, the project's (.openagent/agents/NAME.md) counts before yours (agents/NAME.md beside your config.toml),
    yours before the database's, and that before those that come with the program.
    """


@command("list", "openagent templates list", "openagent templates list --json")
@as_json
def list_templates(as_json: bool) -> None:
    """List the templates that count in this folder."""
    found = ask_daemon(TemplatesList(id="-", cwd=os.getcwd()))
    if as_json:
        print_json(plain(found))
        return
    say(table(("TEMPLATE", "FROM", "MODE", "MODEL", "WHAT IT IS FOR"), [_row(info) for info in found.templates]))
    for notice in found.notices:
        click.echo(paint(f"! {clean(notice)}", YELLOW, sys.stderr), err=True)


def _row(info: TemplateInfo) -> tuple[str, ...]:
    given = info.template
    what = one_line(given.description or given.role or given.prompt, 70)
    return given.name, info.source, given.mode or "caller's", given.model or "caller's", what


@command("show", "openagent templates show reviewer", "openagent templates show reviewer --json")
@click.argument("name")
@as_json
def show(name: str, as_json: bool) -> None:
    """Print a template and where it comes from."""
    info, text = complete(_show(name))
    if as_json:
        print_json(plain(info))
        return
    where = {"starter": "comes with the program", "database": "in the database"}.get(info.source, info.file)
    hidden = f"; hides the one from: {', '.join(info.hides)}" if info.hides else ""
    works = "works in a copy that is merged back" if info.writes else "only reads"
    say(paint(clean(f"# {where}{hidden}. As a sub-agent it {works}."), DIM))
    for notice in info.notices:
        say(paint(clean(f"# {notice}"), DIM))
    say(clean(text.text).rstrip())


async def _show(name: str) -> tuple[TemplateInfo, TemplateText]:
    async with daemon() as client:
        info = await client.request(TemplatesGet(id=client.next_id(), name=name, cwd=os.getcwd()))
        op = TemplatesExport(id=client.next_id(), name=name, cwd=os.getcwd())
        return info, await client.request(op)


@command(
    "add",
    'openagent templates add poet --description "Writes release notes" --prompt "You write release notes."',
    "openagent templates add auditor --prompt-file auditor.txt --mode plan --tools read_file,grep,glob",
    "openagent templates add cheap --model openai/gpt-5-mini --prompt 'Be quick.' --budget 0.10",
)
@click.argument("name")
@click.option("--description", default="", help="When to call it: what other agents read to choose.")
@click.option("--role", default="", help="One word for people.")
@click.option("--prompt", default="", help="Added to the system prompt.")
@click.option("--replace-prompt", is_flag=True, help="The prompt is the whole system prompt, not added to it.")
@click.option("--prompt-file", type=click.File(encoding="utf-8"), help="Read the prompt from there; - is stdin.")
@click.option("--model", default="", metavar="PROVIDER/MODEL", help="The caller's, or the configured one, if left out.")
@click.option("--tools", metavar="NAME,…", help="The only tools it has.")
@click.option("--mcp", metavar="SERVER,…", help="The only MCP servers it has.")
@click.option("--mode", type=_MODES, help="What it may do unasked; never more than its caller.")
@click.option("--max-steps", type=click.IntRange(min=1))
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds a turn may take.")
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), help="Dollars it may spend.")
@click.option("--label", default="", help="In a team: the only workers that its sessions run on.")
@click.option("--replace", is_flag=True, help="Also where there is one of this name.")
@as_json
def add(  # noqa: PLR0917
    name: str,
    description: str,
    role: str,
    prompt: str,
    replace_prompt: bool,
    prompt_file: TextIO | None,
    model: str,
    tools: str | None,
    mcp: str | None,
    mode: str | None,
    max_steps: int | None,
    timeout: float | None,
    budget: float | None,
    label: str,
    replace: bool,
    as_json: bool,
) -> None:
    """Save a template in the database."""
    given = {
        "name": name,
        "description": description,
        "role": role,
        "prompt": prompt_file.read() if prompt_file else prompt,
        "replace_prompt": replace_prompt,
        "model": model,
        "tools": _names(tools),
        "mcp_servers": _names(mcp),
        "mode": mode,
        "max_steps": max_steps,
        "timeout": timeout,
        "budget_usd": budget,
        "label": label,
    }
    saved = ask_daemon(TemplatesSave(id="-", template=msgspec.convert(given, Template), replace=replace))
    _told(saved, "Saved", as_json)


def _names(given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def _told(info: TemplateInfo, done: str, as_json: bool) -> None:
    if as_json:
        print_json(plain(info))
    else:
        say(f'{done} {info.template.name}. `openagent run --template {info.template.name} "…"` starts with it.')


@command("edit", "openagent templates edit reviewer", "EDITOR=nano openagent templates edit reviewer")
@click.argument("name")
@as_json
def edit(name: str, as_json: bool) -> int:
    """Change a template in your editor. One that comes with the program is saved as your own."""
    info, text = complete(_show(name))
    if info.file:
        click.edit(filename=info.file)
        info, _ = complete(_show(name))
        tell(as_json, info, f"{clean(info.file)} is as you left it.")
        return 0
    changed = click.edit(text.text, extension=".md")
    if changed is None or changed == text.text:
        tell(as_json, info, "Nothing was changed.")
        return 0
    saved = ask_daemon(TemplatesImport(id="-", text=changed, file=f"{name}.md", replace=True))
    _told(saved, "Saved", as_json)
    return 0


@command("remove", "openagent templates remove poet")
@click.argument("name")
@as_json
def remove(name: str, as_json: bool) -> None:
    """Take a template out of the database."""
    ask_daemon(TemplatesRemove(id="-", name=name, cwd=os.getcwd()))
    if as_json:
        print_json({"removed": name})
    else:
        say(f"Removed {clean(name)}.")


@command("import", "openagent templates import reviewer.md", "openagent templates import ~/.claude/agents/*.md")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--replace", is_flag=True, help="Also where there is one of this name.")
@as_json
def import_templates(files: tuple[str, ...], replace: bool, as_json: bool) -> int:
    """Save Markdown files with front matter in the database; Claude Code's agent files will do."""
    saved: list[TemplateInfo] = []
    problems: list[str] = []
    for file in files:
        try:
            text = Path(file).read_text(encoding="utf-8")
            saved.append(ask_daemon(TemplatesImport(id="-", text=text, file=file, replace=replace)))
        except OpenAgentError as problem:
            problems.append(str(problem))
        except (OSError, UnicodeDecodeError) as problem:
            problems.append(f"{file} cannot be read: {problem}.")
    if as_json:
        print_json({"saved": plain(saved), "problems": problems})
    else:
        for info in saved:
            _told(info, "Saved", as_json=False)
        for problem in problems:
            click.echo(paint(f"! {clean(problem)}", YELLOW, sys.stderr), err=True)
    return int(bool(problems))


@command(
    "export",
    "openagent templates export reviewer > reviewer.md",
    "openagent templates export coder --output .openagent/agents/coder.md",
)
@click.argument("name")
@click.option("--output", metavar="FILE", help="Write there instead of to the terminal.")
@as_json
def export(name: str, output: str | None, as_json: bool) -> None:
    """Print a template as a Markdown file with front matter."""
    _, text = complete(_show(name))
    if as_json:
        print_json(plain(text))
    elif output:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        Path(output).write_text(text.text, encoding="utf-8")
        say(f"Wrote {clean(output)}.")
    else:
        sys.stdout.write(clean(text.text))


for _command in (list_templates, show, add, edit, remove, import_templates, export):
    templates.add_command(_command)
