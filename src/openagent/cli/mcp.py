"""`openagent mcp`"""

import asyncio
import os
import re
import shutil
import sys
import time
from collections.abc import Container

import click
from msgspec import structs

from openagent.cli.auth import browser_or_paste
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
from openagent.cli.mcp_prompt import prompt
from openagent.cli.terminal import GREEN, RED, YELLOW, columns, paint, table, use_colour
from openagent.client.text import clean, one_line
from openagent.protocol.mcp import (
    McpAdd,
    McpCatalog,
    McpCatalogueEntry,
    McpImport,
    McpList,
    McpLogin,
    McpLoginFinish,
    McpLogout,
    McpPrompt,
    McpPrompts,
    McpRemove,
    McpResourceRead,
    McpResources,
    McpServerEntry,
    McpServerInfo,
    McpServers,
    McpShow,
    McpSwitch,
    McpTest,
)

_ERASED = "\r\x1b[2K"
_MARKS = {"up": ("✓", GREEN), "disabled": ("–", YELLOW), "idle": ("–", YELLOW)}


@group(
    "mcp",
    epilog=examples(
        "openagent mcp catalog",
        "openagent mcp add github",
        "openagent mcp add docs --url https://example.com/mcp",
        "openagent mcp list",
        "openagent mcp test time",
    ),
)
def mcp() -> None:
    """The MCP servers whose tools agents may call, and sessions as tools for other agents."""


_in_session = click.option("--session", default="", metavar="SESSION", help="Of this session alone.")


@command("list", "openagent mcp list", "openagent mcp list --session 0198c0de", "openagent mcp list --json")
@_in_session
@as_json
def list_servers(session: str, as_json: bool) -> None:
    """List the servers that count in this folder, or for a session."""
    found = ask_daemon(McpList(id="-", cwd=os.getcwd(), session=session))
    if as_json:
        print_json(plain(found))
        return
    if found.servers:
        say(table(("SERVER", "KIND", "STATUS", "TOOLS", "FROM", "KEPT IN"), [_row(server) for server in found.servers]))
    else:
        say("There are no MCP servers. `openagent mcp catalog` lists known ones, `openagent mcp add` adds one.")
    _complain(found.notices)


def _row(server: McpServerInfo) -> tuple[str, ...]:
    tools = str(len(server.tools)) if server.status == "up" else "–"
    status = server.status if server.in_session or server.status == "disabled" else "off here"
    return server.name, server.transport, status, tools, clean(server.target), clean(server.source)


@command("test", "openagent mcp test", "openagent mcp test time")
@click.argument("name", default="")
@as_json
def test(name: str, as_json: bool) -> int:
    """Start a server, or all of them, and tell what they offer or what went wrong."""
    found = complete(_tried(McpTest(id="-", name=name, cwd=os.getcwd())))
    if as_json:
        print_json(plain(found))
    else:
        for server in found.servers:
            mark, colour = _MARKS.get(server.status, ("✗", RED))
            said = f"{len(server.tools)} tools: {', '.join(server.tools)}" if server.status == "up" else server.detail
            say(f"{paint(mark, colour)} {server.name} is {server.status}. {clean(said)}")
            _complain([f"{server.name}: {warning}" for warning in server.warnings])
        _complain(found.notices)
    return int(any(server.status not in ("up", "disabled") for server in found.servers))


async def _tried(op: McpTest) -> McpServers:
    """With a line that counts the seconds, on a terminal."""
    async with daemon() as client:
        asked = asyncio.ensure_future(client.request(op))
        began, living = time.monotonic(), use_colour(sys.stderr)
        while not (await asyncio.wait([asked], timeout=1.0))[0]:
            waited = time.monotonic() - began
            if living or waited < 2:
                what = f"the MCP server {op.name}" if op.name else "MCP servers"
                line = f"Starting {what}: {waited:.0f} s (at most 60 s, 300 s with a download)"
                click.echo(f"{_ERASED if living else ''}{one_line(line, columns())}", err=True, nl=not living)
        if living:
            click.echo(_ERASED, err=True, nl=False)
        return await asked


def _complain(notices: list[str]) -> None:
    for notice in notices:
        click.echo(paint(f"! {clean(notice)}", YELLOW, sys.stderr), err=True)


@command("catalog", "openagent mcp catalog", "openagent mcp catalog github", "openagent mcp catalog --json")
@click.argument("name", default="")
@as_json
def catalog(name: str, as_json: bool) -> None:
    """List servers that are known, or tell all about one. `openagent mcp add NAME` adds it."""
    answer = ask_daemon(McpCatalog(id="-", name=name))
    entries = answer.entries
    if as_json:
        print_json(answer)
    elif name:
        _describe(entries[0])
    else:
        say(table(("SERVER", "NEEDS", "WHAT IT DOES"), [_known(entry) for entry in entries]))


def _known(entry: McpCatalogueEntry) -> tuple[str, ...]:
    return entry.name, ", ".join(need.name for need in entry.needs if need.required) or "–", entry.about


def _describe(entry: McpCatalogueEntry) -> None:
    server = entry.server
    say(f"{entry.name}: {entry.about}")
    say(f"Runs:     {' '.join([server.command, *server.args])}" if server.command else f"Address:  {server.url}")
    if server.network:
        say("Network:  it may reach the network from the jail")
    if entry.install:
        say(f"Install:  {entry.install}")
    _tell_needs(entry)
    say(f"More:     {entry.page}")


def _tell_needs(entry: McpCatalogueEntry, given: Container[str] = ()) -> None:
    for need in entry.needs:
        state = "set" if need.is_set or need.name in given else "not set" if need.required else "not set, optional"
        say(f"Needs:    {need.name} ({state}): {need.about}")


@command(
    "add",
    "openagent mcp add github",
    "openagent mcp add time mcp-server-time",
    "openagent mcp add github --env GITHUB_TOKEN='${GITHUB_TOKEN}' --network api.github.com -- github-mcp-server stdio",
    "openagent mcp add docs --url https://example.com/mcp --header 'Authorization: Bearer ${DOCS_TOKEN}'",
)
@click.argument("name")
@click.argument("argv", metavar="[COMMAND [ARGS]...]", nargs=-1)
@click.option("--url", default="", help="A server that is reached by HTTP instead of a command.")
@click.option("--sse", is_flag=True, help="The address speaks the older SSE form.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="For the command.")
@click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="For the address.")
@click.option("--network", default="", metavar="on|HOST,…", help="What the command may reach from the jail.")
@click.option("--folder", "folders", multiple=True, metavar="PATH[:rw]", help="The command finds it in the jail, too.")
@click.option("--cwd", default="", metavar="PATH", help="Where the command starts; left out: the workspace.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds a call may take.")
@click.option("--replace", is_flag=True, help="Also where there is one of this name.")
@as_json
def add(  # noqa: PLR0917
    name: str,
    argv: tuple[str, ...],
    url: str,
    sse: bool,
    variables: tuple[str, ...],
    headers: tuple[str, ...],
    network: str,
    folders: tuple[str, ...],
    cwd: str,
    timeout: float,
    replace: bool,
    as_json: bool,
) -> None:
    """Add a server: a command, which runs in the jail, an address, or a name of the catalogue.

    ${VARIABLES} are filled in when it starts, so that keys need not be kept with it.
    """
    if argv and url:
        raise click.UsageError("Give either a command or --url.")
    if not argv and not url:
        _add_known(name, _pairs(variables, "=", "--env"), replace, as_json)
        return
    entry = McpServerEntry(
        kind="sse" if sse else "http" if url else "",
        command=argv[0] if argv else "",
        args=list(argv[1:]),
        env=_pairs(variables, "=", "--env"),
        url=url,
        headers=_pairs(headers, ":", "--header"),
        folders=[_whole(folder) for folder in folders],
        cwd=_whole(cwd) if cwd else "",
        timeout=timeout,
        network=network if network in ("", "on", "off") else network.split(","),
    )
    ask_daemon(McpAdd(id="-", name=name, server=entry, replace=replace))
    tell(as_json, {"added": name}, f"Added {clean(name)}. `openagent mcp test {clean(name)}` tries it.")


def _add_known(name: str, variables: dict[str, str], replace: bool, as_json: bool) -> None:
    """A value that is given stands in the place of the variable, wherever the entry names it."""
    (entry,) = ask_daemon(McpCatalog(id="-", name=name)).entries
    server = entry.server

    def filled(text: str) -> str:
        return re.sub(r"\$\{(\w+)(?::-[^}]*)?\}", lambda found: variables.get(found[1], found[0]), text)

    given = structs.replace(
        server,
        args=[filled(argument) for argument in server.args],
        env={**{key: filled(value) for key, value in server.env.items()}, **variables} if server.command else {},
        url=filled(server.url),
        headers={key: filled(value) for key, value in server.headers.items()},
        description=entry.about,
    )
    ask_daemon(McpAdd(id="-", name=name, server=given, replace=replace))
    tell(as_json, {"added": name}, f"Added {name} from the catalogue. `openagent mcp test {name}` tries it.")
    if as_json:
        return
    if entry.install and shutil.which(server.command) is None:
        say(f"Install:  {entry.install}")
    _tell_needs(entry, variables)
    if any(need.required and not need.is_set and need.name not in variables for need in entry.needs):
        say(f"Set them for the daemon, or give them: openagent mcp add {name} --replace --env NAME=VALUE")


def _pairs(given: tuple[str, ...], separator: str, option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for each in given:
        name, found, value = each.partition(separator)
        if not found or not name:
            raise click.UsageError(f"{option} wants NAME{separator}VALUE.")
        pairs[name.strip()] = value.strip()
    return pairs


def _whole(folder: str) -> str:
    return folder if folder.startswith("${") else os.path.abspath(os.path.expanduser(folder))


@command("allow", "openagent mcp allow notes ~/notes", "openagent mcp allow notes ~/notes --write")
@click.argument("name")
@click.argument("folder")
@click.option("--write", is_flag=True, help="It may change what is in it, too.")
@as_json
def allow(name: str, folder: str, write: bool, as_json: bool) -> None:
    """Let a command find a folder in the jail that is outside the workspace."""
    kept = ask_daemon(McpShow(id="-", name=name)).server
    given = _whole(folder)
    others = [each for each in kept.folders if each.removesuffix(":rw") != given]
    entry = structs.replace(kept, folders=[*others, f"{given}:rw" if write else given])
    ask_daemon(McpAdd(id="-", name=name, server=entry, replace=True))
    told = f"{clean(name)} finds {clean(given)} in the jail from its next start on, to {'write' if write else 'read'}."
    tell(as_json, {"server": name, "folder": given, "write": write}, told)


@command("remove", "openagent mcp remove time")
@click.argument("name")
@as_json
def remove(name: str, as_json: bool) -> None:
    """Forget a server you added, or take it out of your own file."""
    ask_daemon(McpRemove(id="-", name=name))
    tell(as_json, {"removed": name}, f"Removed {clean(name)}.")


@command("enable", "openagent mcp enable time", "openagent mcp enable time --session 0198c0de")
@click.argument("name")
@_in_session
@as_json
def enable(name: str, session: str, as_json: bool) -> None:
    """Use a server again that was disabled."""
    _switch(name, session, on=True, as_json=as_json)


@command("disable", "openagent mcp disable time", "openagent mcp disable time --session 0198c0de")
@click.argument("name")
@_in_session
@as_json
def disable(name: str, session: str, as_json: bool) -> None:
    """Leave a server alone, wherever it is kept; with --session, from that session's next turn on."""
    _switch(name, session, on=False, as_json=as_json)


def _switch(name: str, session: str, *, on: bool, as_json: bool) -> None:
    ask_daemon(McpSwitch(id="-", name=name, on=on, cwd=os.getcwd(), session=session))
    told = f"{'Enabled' if on else 'Disabled'} {clean(name)}{' for this session' if session else ''}."
    tell(as_json, {"server": name, "enabled": on, "session": session}, told)


@command("import", "openagent mcp import ~/.cursor/mcp.json", "openagent mcp import ~/.codex/config.toml")
@click.argument("file")
@as_json
def import_servers(file: str, as_json: bool) -> int:
    """Copy the servers of another program's file: Claude, Cursor, VS Code, Gemini, codex, opencode, Copilot, Zed."""
    imported = ask_daemon(McpImport(id="-", path=os.path.abspath(os.path.expanduser(file))))
    if as_json:
        print_json(plain(imported))
    else:
        say(f"Added: {clean(', '.join(imported.added)) or 'none'}.")
        if imported.kept:
            say(f"Kept as they were: {clean(', '.join(imported.kept))}.")
        _complain([*imported.notes, *imported.problems])
    return int(bool(imported.problems))


@command("login", "openagent mcp login sentry")
@click.argument("name")
@as_json
def login(name: str, as_json: bool) -> None:
    """Log in to a server with a browser. On another machine's browser, paste the address it ends at."""
    complete(_login(name))
    tell(as_json, {"server": name, "logged_in": True}, f"You are logged in to {clean(name)}.")


async def _login(name: str) -> None:
    async with daemon() as client:
        started = await client.request(McpLogin(id=client.next_id(), name=name, cwd=os.getcwd()))
        await browser_or_paste(
            started,
            lambda answer: client.request(McpLoginFinish(id=client.next_id(), login=started.login, answer=answer)),
        )


@command("logout", "openagent mcp logout sentry")
@click.argument("name")
@as_json
def logout(name: str, as_json: bool) -> None:
    """Forget a login."""
    ask_daemon(McpLogout(id="-", name=name))
    tell(as_json, {"server": name, "logged_in": False}, f"You are no longer logged in to {clean(name)}.")


@command("prompts", "openagent mcp prompts", "openagent mcp prompts github", "openagent mcp prompts --json")
@click.argument("server", default="")
@as_json
def prompts(server: str, as_json: bool) -> None:
    """List the prompts of the servers, or of one: in a session, `/SERVER:PROMPT words…` sends one."""
    found = ask_daemon(McpPrompts(id="-", cwd=os.getcwd(), server=server))
    if as_json:
        print_json(plain(found))
    elif found.prompts:
        rows = [
            (f"/{clean(each.server)}:{clean(each.name)}", _arguments(each), clean(each.description))
            for each in found.prompts
        ]
        say(table(("PROMPT", "ARGUMENTS", "WHAT IT IS FOR"), rows))
    else:
        say("No MCP server that is up offers a prompt. `openagent mcp test` tells which are up.")


def _arguments(prompt: McpPrompt) -> str:
    named = [clean(each.name) if each.required else f"[{clean(each.name)}]" for each in prompt.arguments]
    return " ".join(named) or "–"


@command(
    "resources",
    "openagent mcp resources",
    "openagent mcp resources docs",
    "openagent mcp resources docs docs://readme",
    "openagent mcp resources --json",
)
@click.argument("server", default="")
@click.argument("uri", default="")
@as_json
def resources(server: str, uri: str, as_json: bool) -> None:
    """List what the servers, or one, let agents read; with URI, print it."""
    if uri:
        contents = ask_daemon(McpResourceRead(id="-", cwd=os.getcwd(), server=server, uri=uri))
        if as_json:
            print_json(plain(contents))
            return
        for content in contents.contents:
            say(clean(content.text) if not content.data else f"{clean(content.uri)}: no text ({content.media_type})")
        return
    found = ask_daemon(McpResources(id="-", cwd=os.getcwd(), server=server))
    if as_json:
        print_json(plain(found))
    elif found.resources:
        rows = [
            (clean(each.server), clean(each.uri), clean(each.name), clean(each.description)) for each in found.resources
        ]
        say(table(("SERVER", "URI", "NAME", "WHAT IT IS"), rows))
    else:
        say("No MCP server that is up offers a resource. `openagent mcp test` tells which are up.")


@command(
    "serve",
    "openagent mcp serve",
    "claude mcp add openagent -- openagent mcp serve",
    "openagent mcp serve --http 7373",
)
@click.option("--http", metavar="[HOST:]PORT", help="Over HTTP, on this machine's loopback; needs the token it prints.")
def serve(http: str | None) -> None:
    """Offer sessions to other agents as MCP tools, on stdin and stdout, or over HTTP.

    \b
    Who comes over HTTP shows the token that is printed, or the one in OPENAGENT_MCP_TOKEN.

    \b
    Tools:      start_session  send_message  read_session  list_sessions
                cancel_turn  answer_permission  answer_question
    Resources:  openagent://sessions/SESSION/transcript
    """


for _command in (
    list_servers,
    test,
    catalog,
    add,
    allow,
    remove,
    enable,
    disable,
    import_servers,
    prompt,
    prompts,
    resources,
    serve,
    login,
    logout,
):
    mcp.add_command(_command)
