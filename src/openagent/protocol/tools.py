"""The tools agents have, and running one as a person."""

from typing import Any

from msgspec import Struct

from openagent.protocol.display import NO_DISPLAY, Display
from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import GET, POST


class ToolInfo(Struct, frozen=True, omit_defaults=True):
    name: str
    description: str
    parameters: dict[str, Any]
    read_only: bool = False
    source: str = "built-in"
    enabled: bool = True


class ToolList(Struct, frozen=True):
    tools: list[ToolInfo]


class ToolRan(Struct, frozen=True, omit_defaults=True):
    text: str
    is_error: bool = False
    display: Display = NO_DISPLAY


class ToolsSwitch(
    Op[Done], tag="tools.switch", needs="admin", reach="whole unless named", routes=POST("/api/tools/{name}/switch")
):
    """Give agents a tool, or take it away: in one session from its next step on, or in all that start from now on."""

    name: str
    on: bool
    session: str = ""


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
    tool: str
    arguments: dict[str, Any] = {}
