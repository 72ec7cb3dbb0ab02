"""Real MCP servers from npm and PyPI, installed the way people do, used by a session with the jail on.

`python -m tests.lived.mcp_servers [--catalogue] [NAME…]` fetches them from the registries, so `make test` does not run
it. Each is declared by `openagent mcp add`, started in the jail, its network asked for host by host, and a tool of it
called by a scripted model. Prints the table of docs/mcp.md, and with `--write` puts it there.
"""

import argparse
import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from devtools.simulator import Simulator
from openagent.client import Attachment, Client
from openagent.plugins.addresses import is_public
from openagent.protocol import events as e
from openagent.protocol.mcp import McpTest

from ..interaction.doing import answer, ask, call, results_of
from ..interaction.house import MODEL, House, house_over

Way = Literal["npx", "uvx", "global", "project"]
REGISTRIES = ("registry.npmjs.org", "pypi.org", "files.pythonhosted.org")
INSTALL_PATIENCE = 600.0
TURN_PATIENCE = 180.0
RETRIES = 6
ROOT = Path(__file__).parents[2]
CHROMIUM = "/usr/lib/chromium/chromium"
"""Debian's. Its script in /usr/bin reads settings from /etc, which the jail has none of."""


class Server(Struct, frozen=True):
    package: str
    program: str
    way: Way
    tool: str
    arguments: dict[str, Any] = {}
    args: list[str] = []
    env: dict[str, str] = {}
    expects: str = ""
    """What the tool says; left out: anything, also an error of the server's own."""
    pypi: bool = False
    also: str = ""
    """What it was written for and no longer asks for itself."""
    fails_here: bool = False
    """It says so without an error where its service cannot be reached."""
    known: str = ""
    """Its name in the catalogue: then `openagent mcp add` is told no command."""

    @property
    def name(self) -> str:
        return self.known or self.package.removeprefix("@").replace("/", "-").replace(".", "-")[:40]


_MODEL_CONTEXT = "@modelcontextprotocol"
SERVERS = (
    # npx
    Server(f"{_MODEL_CONTEXT}/server-everything", "mcp-server-everything", "npx", "get-sum", {"a": 2, "b": 40},
           expects="42"),
    Server(f"{_MODEL_CONTEXT}/server-sequential-thinking", "", "npx", "sequentialthinking",
           {"thought": "One.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
           expects="thoughtNumber"),
    Server("@upstash/context7-mcp", "", "npx", "resolve-library-id", {"query": "routing", "libraryName": "react"},
           fails_here=True),
    Server("@playwright/mcp", "", "npx", "browser_tabs", {"action": "list"},
           ["--headless", "--isolated", "--executable-path", CHROMIUM, "--no-sandbox"], expects="about:blank"),
    Server("mcp-mermaid", "", "npx", "generate_mermaid_diagram",
           {"mermaid": "graph TD; A-->B", "outputType": "mermaid"},
           env={"npm_config_ignore_scripts": "true"}),
    Server("@antv/mcp-server-chart", "", "npx", "generate_pie_chart", {"data": [{"category": "a", "value": 1}]}),
    Server("chrome-devtools-mcp", "", "npx", "list_pages", {},
           ["--headless", "--isolated", "--executablePath", CHROMIUM, "--chromeArg=--no-sandbox"],
           expects="about:blank"),
    # npm install -g
    Server(f"{_MODEL_CONTEXT}/server-memory", "mcp-server-memory", "global", "create_entities",
           {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]},
           env={"MEMORY_FILE_PATH": "${workspaceFolder}/memory.jsonl"}, expects="Ada"),
    Server("@cyanheads/git-mcp-server", "git-mcp-server", "global", "git_status", {"path": "${workspace}"},
           expects="currentBranch"),
    Server("tavily-mcp", "tavily-mcp", "global", "tavily_search", {"query": "tides"},
           env={"TAVILY_API_KEY": "tvly-none"}),
    Server("mongodb-mcp-server", "mongodb-mcp-server", "global", "list-connections", expects="no active"),
    Server(f"{_MODEL_CONTEXT}/server-postgres", "mcp-server-postgres", "global", "query", {"sql": "select 1"},
           ["postgresql://127.0.0.1:1/none"]),
    Server("@notionhq/notion-mcp-server", "notion-mcp-server", "global", "API-get-self", {},
           env={"NOTION_TOKEN": "ntn_none"}, fails_here=True),
    # npm install, in the project
    Server(f"{_MODEL_CONTEXT}/server-filesystem", "mcp-server-filesystem", "project", "list_directory", {"path": "."},
           ["."], expects="node_modules"),
    Server("@eslint/mcp", "node_modules/.bin/mcp", "project", "lint-files", {"filePaths": ["${workspace}/a.js"]},
           expects="results of running ESLint"),
    Server("@mui/mcp", "node_modules/.bin/mcp", "project", "fetchDocs",
           {"urls": ["https://mui.com/material-ui/llms.txt"]}, fails_here=True),
    Server("mcp-server-kubernetes", "mcp-server-kubernetes", "project", "kubectl_context", {"operation": "list"},
           expects="contexts"),
    # uvx
    Server("mcp-server-time", "", "uvx", "get_current_time", {"timezone": "UTC"}, expects="UTC", pypi=True),
    Server("mcp-server-fetch", "", "uvx", "fetch", {"url": "https://example.com"}, pypi=True),
    Server("mcp-server-calculator", "", "uvx", "calculate", {"expression": "6*7"}, expects="42", pypi=True),
    Server("markitdown-mcp", "", "uvx", "convert_to_markdown", {"uri": "data:text/html,<h1>Tides</h1>"},
           expects="Tides", pypi=True),
    Server("duckduckgo-mcp-server", "", "uvx", "search", {"query": "tides"}, pypi=True, fails_here=True),
    Server("awslabs.aws-documentation-mcp-server", "", "uvx", "search_documentation", {"search_phrase": "s3"},
           pypi=True, fails_here=True),
    Server("excel-mcp-server", "", "uvx", "create_workbook", {"path": "${workspace}/a.xlsx"}, ["stdio"],
           expects="a.xlsx", pypi=True),
    # uv tool install
    Server("mcp-server-sqlite", "mcp-server-sqlite", "global", "read_query", {"query": "select 6*7 as answer"},
           ["--db-path", "${workspaceFolder}/a.db"], expects="42", pypi=True, also="mcp<2"),
    Server("mcp-text-editor", "mcp-text-editor", "global", "get_text_file_contents",
           {"files": [{"file_path": "${workspace}/a.js", "ranges": [{"start": 1}]}]},
           expects="answer", pypi=True, also="mcp<2"),
    # a virtual environment in the project
    Server("mcp-server-git", "mcp-server-git", "project", "git_status", {"repo_path": "."}, expects="branch",
           pypi=True),
    Server("wikipedia-mcp", "wikipedia-mcp", "project", "search_wikipedia", {"query": "tide"}, pypi=True,
           fails_here=True),
    Server("office-word-mcp-server", "word_mcp_server", "project", "create_document", {"filename": "a.docx"},
           expects="created", pypi=True),
)  # fmt: skip


CATALOGUE = (
    Server("mcp-server-fetch", "", "global", "fetch", {"url": "https://example.com"}, pypi=True, known="fetch"),
    Server(f"{_MODEL_CONTEXT}/server-filesystem", "", "global", "list_directory", {"path": "."}, expects="a.js",
           known="filesystem"),
    Server("mcp-server-git", "", "global", "git_status", {"repo_path": "."}, expects="branch", pypi=True, known="git"),
    Server(f"{_MODEL_CONTEXT}/server-memory", "", "global", "create_entities",
           {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}, expects="Ada",
           known="memory"),
    Server("@playwright/mcp", "", "global", "browser_navigate", {"url": "data:text/html,<h1>Tides</h1>"},
           env={"PLAYWRIGHT_MCP_EXECUTABLE_PATH": CHROMIUM}, expects="data:text",
           known="playwright"),
    Server(f"{_MODEL_CONTEXT}/server-postgres", "", "global", "query", {"sql": "select 1"},
           env={"POSTGRES_URL": "postgresql://127.0.0.1:1/none"}, known="postgres"),
    Server(f"{_MODEL_CONTEXT}/server-slack", "", "global", "slack_get_users", {},
           env={"SLACK_BOT_TOKEN": "xoxb-none", "SLACK_TEAM_ID": "T0"}, known="slack"),
    Server("mcp-server-sqlite", "", "global", "read_query", {"query": "select 6*7 as answer"},
           env={"SQLITE_PATH": "a.db"}, expects="42", pypi=True, also="mcp<2", known="sqlite"),
    Server("mcp-server-time", "", "global", "get_current_time", {"timezone": "UTC"}, expects="UTC", pypi=True,
           known="time"),
)  # fmt: skip
"""Those of its entries that are commands; the others are reached over the network, most of them after a login."""


class Tried(Struct):
    server: Server
    version: str = ""
    started: bool = False
    called: bool = False
    answered: bool = False
    """The tool did what it is for; otherwise the server refused with an error of its own."""
    seconds: float = 0.0
    hosts: list[str] = []
    said: str = ""

    @property
    def row(self) -> str:
        words = " ".join(self.said.split()).replace("|", "\\|").replace("<", "&lt;")[:100]
        result = f"`{self.server.tool}` " if self.started else ""
        result += "answered" if self.answered else "refused" if self.called else "was not called"
        said = "" if self.answered and self.server.expects else f": {words}"
        return (
            f"| `{self.server.package}` | {self.version} | {installed_by(self.server)} | {_YES[self.started]} | "
            f"{result}{said} |"
        )


_YES = ("**no**", "yes")
HEAD = "| server | version | installed by | started | tool called |\n|---|---|---|---|---|\n"
MARKS = ("<!-- sweep of real servers: made by tests/lived/mcp_servers.py -->\n", "<!-- end of the sweep -->\n")


def installed_by(server: Server) -> str:
    match server.way:
        case "global":
            named = "uv tool" if server.pypi else "npm -g"
        case "project":
            named = "pip, project" if server.pypi else "npm, project"
        case way:
            named = way
    return f"{named}, with `{server.also}`" if server.also else named


def told(results: list[Tried]) -> str:
    started, called = sum(each.started for each in results), sum(each.called for each in results)
    answered = sum(each.answered for each in results)
    today = datetime.now(UTC).strftime("%d %B %Y").lstrip("0")
    rows = "".join(f"{each.row}\n" for each in results)
    return (
        f"{HEAD}{rows}\n{today}: {len(results)} tried, {started} started, a tool of {called} called; {answered} "
        f"answered, {called - answered} refused.\n"
    )


def write_down(results: list[Tried]) -> None:
    page = ROOT / "docs/mcp.md"
    before, _, rest = page.read_text().partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    page.write_text(f"{before}{MARKS[0]}{told(results)}{MARKS[1]}{after}")


# Installing


def command_of(server: Server, person: Path, workspace: Path) -> list[str]:
    """What somebody would write after `openagent mcp add NAME --`, once it is installed. Packages' own scripts run
    nowhere but in the jail: one was seen to install packages of the system."""
    match server.way:
        case "npx":
            return ["npx", "-y", server.package, *server.args]
        case "uvx":
            return ["uvx", *(("--with", server.also) if server.also else ()), server.package, *server.args]
        case "global" if server.pypi:
            _run(
                ["uv", "tool", "install", *(("--with", server.also) if server.also else ()), server.package], workspace
            )
        case "global":
            prefix = ("-g", "--prefix", str(person / ".npm-global"))
            _run(["npm", "install", "--ignore-scripts", *prefix, server.package], workspace)
        case "project" if server.pypi:
            _run(["uv", "venv", "-q", ".venv"], workspace)
            _run(["uv", "pip", "install", "-q", "--python", ".venv/bin/python", server.package], workspace)
        case "project":
            _run(["npm", "install", "--ignore-scripts", server.package], workspace)
    return [server.program, *server.args]


def version_of(server: Server, workspace: Path) -> str:
    """What the registry gives today."""
    if not server.pypi:
        return _run(["npm", "view", server.package, "version"], workspace).strip()
    (workspace / "wanted.in").write_text(f"{server.package}\n")
    found = _run(["uv", "pip", "compile", "-q", "--no-deps", "--no-annotate", "--no-header", "wanted.in"], workspace)
    return found.strip().partition("==")[2]


def _run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=INSTALL_PATIENCE, check=False)
    if done.returncode:
        raise RuntimeError(f"`{' '.join(command[:3])}` failed: {(done.stderr or done.stdout)[-600:]}")
    return done.stdout


@contextmanager
def a_persons_machine(root: Path) -> Generator[Path]:
    """A home directory of its own, with what is installed below it."""
    person = root / "person"
    programs = person / ".local/bin"
    programs.mkdir(parents=True)
    before = dict(os.environ)
    os.environ.update(
        HOME=str(person),
        PATH=os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]),
        UV_LINK_MODE="copy",
    )
    try:
        yield person
    finally:
        os.environ.clear()
        os.environ.update(before)


def names_of_registries() -> str:
    """For `[jail] names`: where a machine's registries are in its own network."""
    found = {host: socket.gethostbyname(host) for host in REGISTRIES}
    inside = {host: address for host, address in found.items() if not is_public(ip_address(address))}
    return "".join(f'"{host}" = "{address}"\n' for host, address in inside.items())


# Using


async def try_server(h: House, client: Client, server: Server, person: Path, workspace: Path) -> Tried:
    tried = Tried(server, hosts=[])
    began = time.monotonic()
    workspace.mkdir()
    (workspace / "a.js").write_text("export const answer = 42\n")
    (workspace / "eslint.config.mjs").write_text("export default [{ rules: { semi: 'error' } }]\n")
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    try:
        tried.version = await asyncio.to_thread(version_of, server, workspace)
        command = await asyncio.to_thread(command_of, server, person, workspace)
        variables = [each for key, value in server.env.items() for each in ("--env", f"{key}={value}")]
        what = () if server.known else ("--", *command)
        await asyncio.to_thread(_openagent, h, "mcp", "add", server.name, *variables, *what)
        await _use(h, client, server, workspace, tried)
        await asyncio.to_thread(_openagent, h, "mcp", "remove", server.name)
    except (RuntimeError, TimeoutError, subprocess.TimeoutExpired) as problem:
        tried.said = str(problem) or type(problem).__name__
    tried.seconds = time.monotonic() - began
    return tried


def _openagent(h: House, *words: str) -> None:
    env = {**os.environ, "OPENAGENT_HOME": str(h.home), "OPENAGENT_CONFIG": str(h.home / "config.toml")}
    done = subprocess.run(
        [sys.executable, "-m", "openagent", *words], env=env, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"`openagent {' '.join(words[:3])}` failed: {done.stderr[-600:]}")


async def _use(h: House, client: Client, server: Server, workspace: Path, tried: Tried) -> None:
    session = (await client.create_session(str(workspace), model=MODEL, mode="full")).id
    attachment = await client.attach(session)
    watcher = await h.client(interactive=True)
    allowing = asyncio.create_task(_allow(watcher, await watcher.attach(session), tried))
    try:
        async with asyncio.timeout(INSTALL_PATIENCE):
            (info,) = (await ask(client, McpTest, name=server.name, cwd=str(workspace))).servers
            for _ in range(RETRIES):  # a busy machine: it is started again by itself
                if info.status == "up":
                    break
                await asyncio.sleep(20)
                (info,) = (await ask(client, McpTest, name=server.name, cwd=str(workspace))).servers
        tried.started, tried.said = info.status == "up", info.detail
        sys.stderr.write(f"{server.name} offers {', '.join(info.tools)[:600]}\n")
        if tried.started:
            await _call(client, attachment, server, tried)
    finally:
        allowing.cancel()
        await asyncio.wait([allowing])
        await watcher.close()


async def _allow(client: Client, attachment: Attachment, tried: Tried) -> None:
    """Whatever it wants to reach, as a person would who reads the question."""
    async for event in attachment.events():
        if isinstance(event, e.PermissionRequested):
            tried.hosts.append(event.ask.summary)
            await answer(client, event, decision="allow", scope="session")


async def _call(client: Client, attachment: Attachment, server: Server, tried: Tried) -> None:
    async with asyncio.timeout(TURN_PATIENCE):
        await client.send(attachment.session, f"use {server.name}")
        await attachment.until_turn_ends()
    (result,) = await results_of(client, attachment.session)
    tried.said = result.text
    by_server = "answered with an error" in result.text
    theirs = by_server or not any(
        ours in result.text for ours in ("The MCP server ", "There is no tool", "Nothing was run")
    )
    tried.called = theirs and server.expects in result.text and not (server.expects and result.is_error)
    tried.answered = tried.called and not result.is_error and not server.fails_here


def conversations(servers: list[Server], root: Path) -> dict[str, Any]:
    def filled(value: Any, workspace: str) -> Any:
        if isinstance(value, str):
            return value.replace("${workspace}", workspace)
        if isinstance(value, list):
            return [filled(each, workspace) for each in value]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, dict):
            return {key: filled(each, workspace) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
        return value

    return {
        "conversations": [
            {
                "match": {"user": f"use {each.name}"},
                "steps": [call(each.tool, **filled(each.arguments, str(root / each.name))), {"text": "ok"}],
            }
            for each in servers
        ]
    }


async def main(wanted: list[str], catalogue: bool, write: bool) -> int:
    servers = [
        each
        for each in (CATALOGUE if catalogue else SERVERS)
        if not wanted or any(word in each.package for word in wanted)
    ]
    with tempfile.TemporaryDirectory(prefix="mcp-servers-", dir="/var/tmp") as folder:
        root = Path(folder)
        results: list[Tried] = []
        with a_persons_machine(root) as person:
            names = names_of_registries()
            config = f"[jail.names]\n{names}" if names else ""
            for server in servers:  # one daemon each: none outlives its patience
                place = root / f"daemon-{server.name}"
                place.mkdir()
                async with (
                    Simulator(conversations([server], root)) as sim,
                    house_over(place, sim, config=config, patience=INSTALL_PATIENCE) as h,
                    await h.client() as client,
                ):
                    results.append(await try_server(h, client, server, person, root / server.name))
                tried = results[-1]
                sys.stderr.write(f"{tried.seconds:5.0f} s {tried.hosts} {tried.row}\n")
                shutil.rmtree(root / server.name, ignore_errors=True)
    sys.stdout.write(told(results))
    if write:
        write_down(results)
    return int(not all(each.called for each in results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="Only servers with one of these in their package's name.")
    parser.add_argument("--catalogue", action="store_true", help="The servers that `openagent mcp add NAME` knows.")
    parser.add_argument("--write", action="store_true", help="Into docs/mcp.md.")
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.names, given.catalogue, given.write)))
