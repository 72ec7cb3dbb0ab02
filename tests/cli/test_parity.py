"""Everything the daemon can do has a command."""

import ast
from pathlib import Path

import openagent.cli
from openagent.client import command_line
from openagent.protocol.ops import ALL_OPS
from openagent.protocol.sessions import MODES

REASONS = {
    "Hello": "every command greets",
    "SessionAttach": "`openagent attach` and `run`, through the client",
    "SessionDetach": "leaving `openagent attach`",
    "MetricsSubscribe": "figures for charts that stay open; `openagent usage agents` tells them once",
    "McpSessionServers": "an editor passes its own servers along; people use `openagent mcp add`",
    "TemplatesRead": "the web app's editor shows a template as fields and as text; people at a terminal edit the file",
    "TemplatesWrite": "as above",
    "GitStatus": "a click in the web app; people at a terminal have git itself, and gh or glab",
    "GitCommit": "as above",
    "GitBranch": "as above",
    "GitPush": "as above",
    "GitPullRequest": "as above",
    "TrustDecline": "the no to a question that the terminal asks; who does not ask has not trusted anything",
    "ConfigDescribe": "`openagent help configuration` prints the same",
    "FoldersList": "a folder picker for who has no shell there; people at a terminal have `cd`",
    "HistoryFind": "`openagent import --dry-run` tells the same, and what of it is new",
    "SetupTour": "`openagent demo` lays the sample project itself",
    "ProvidersRemove": "as above, with `openagent config edit`",
    "PeopleMe": "`openagent whoami`, by the HTTP API and without the protocol's classes",
    "TerminalOpen": "a terminal inside the web app; people at a terminal have `openagent tools run ID shell`",
    "TerminalInput": "as above",
    "TerminalResize": "as above",
    "TerminalClose": "as above",
}


def asked_by_commands() -> set[str]:
    called: set[str] = set()
    for file in Path(openagent.cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                called.add(node.func.id if isinstance(node.func, ast.Name) else node.func.attr)
    return called


def test_every_op_has_a_command_or_a_reason_to_have_none() -> None:
    every = {op.__name__ for op in ALL_OPS}
    without = every - asked_by_commands()
    assert without - set(REASONS) == set(), "ops that no command sends: add a command, or a reason here"
    assert set(REASONS) - without == set(), "reasons for ops that do have a command, or are gone"


def test_the_command_that_starts_fast_knows_the_modes_without_loading_them() -> None:
    assert command_line.MODES == MODES
