"""Which tools agents have."""

from openagent.protocol.op import Op


class ToolsSwitch(Op, frozen=True, kw_only=True, tag="tools.switch"):
    """Give agents a tool, or take it away: in one session from its next step on, or in all that start from now on."""

    name: str
    on: bool
    session: str = ""
