"""The tools agents have, and running one as a person."""

from typing import Any

from msgspec import Struct

from openagent.protocol.display import NO_DISPLAY, Display
from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import GET, POST


class ToolInfo(Struct, frozen=True, omit_defaults=True):
    """A tool."""

    name: str
    """Its name."""
    description: str
    """What the model reads about it."""
    parameters: dict[str, Any]
    """Its arguments, as JSON Schema."""
    read_only: bool = False
    """It changes nothing."""
    source: str = "built-in"
    """Where it comes from: built in, a plugin, an MCP server."""
    enabled: bool = True
    """Agents have it."""


class ToolList(Struct, frozen=True):
    """Tools."""

    tools: list[ToolInfo]
    """Each tool."""


class ToolRan(Struct, frozen=True, omit_defaults=True):
    """What came of a tool that a person ran."""

    text: str
    """What a model would read."""
    is_error: bool = False
    """It did not do what was asked."""
    display: Display = NO_DISPLAY
    """What a person is shown in addition."""


class ToolsSwitch(
    Op[Done], tag="tools.switch", needs="admin", reach="whole unless named", routes=POST("/api/tools/{name}/switch")
):
    """Give agents a tool, or take it away: in one session from its next step on, or in all that start from now on."""

    name: str
    """The tool, by its name."""
    on: bool
    """False: it is taken away."""
    session: str = ""
    """Only in this session; empty: in all that start from now on."""


class ToolsList(
    ReadingOp[ToolList],
    tag="tools.list",
    needs="read",
    reach="open",
    waits=True,
    routes=(
        GET("/api/agents/{id=session}/tools", "The tools a session has."),
        GET("/api/tools", "The tools there are.", left_out=("session",)),
    ),
):
    """The tools a session has, or all there are."""

    session: str = ""
    """The session whose tools are meant; empty: all there are."""


class ToolRun(
    Op[ToolRan],
    tag="tool.run",
    needs="chat",
    acts=True,
    waits=True,
    tells=True,
    routes=POST("/api/agents/{id=session}/tools/{tool}"),
):
    """Run a tool as a person would: decided on, shown and audited like a model's call, but no part of the history."""

    session: str
    """The session, by its id or the beginning of it."""
    tool: str
    """The tool, by its name."""
    arguments: dict[str, Any] = {}
    """What the tool is given."""
    call: str = ""
    """What its events and what it asks for are to carry as `call_id`: something that was never used before. Empty: a
    new one is made up."""
    apart: bool = False
    """Whatever a command prints on stderr is shown as that, rather than as one with stdout in the order it came."""
