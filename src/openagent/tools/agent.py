"""Handing work to sub-agents: one tool to start them, one to hear of those in the background."""

from collections.abc import Sequence
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta, Struct

from openagent.plugins.tool import FunctionTool, ToolContext, ToolOutcome, tool
from openagent.plugins.word_search import best_matches
from openagent.protocol.templates import TemplateInfo

LONGEST_DESCRIPTION = 150
MOST_LISTED = 20
MOST_FOUND = 10
MOST_TASKS = 16


class Assignment(Struct, frozen=True, forbid_unknown_fields=True):
    template: str
    task: str


class Team(Protocol):
    async def delegate(self, context: ToolContext, work: Sequence[Assignment], *, background: bool) -> ToolOutcome: ...

    async def result(self, context: ToolContext, agent: str, *, wait: float, cancel: bool) -> ToolOutcome: ...


def agent_tools(team: Team, templates: Sequence[TemplateInfo]) -> list[FunctionTool]:
    @tool(
        effect="none",
        kind="agent",
        words=("delegate to", "delegating to", "delegated to"),
        summary=lambda given: _summary(given.get("tasks")),
        known_as=("Task", "Agent"),
    )
    async def agent(
        context: ToolContext,
        tasks: Annotated[list[Assignment], Meta(min_length=1, max_length=MOST_TASKS)],
        background: Annotated[bool, "Do not wait: each answer arrives later as a message."] = False,
    ) -> ToolOutcome:
        """Hand tasks to sub-agents, which work side by side. A sub-agent sees nothing of this conversation: say all it
        needs, with paths and how to check. Those that write work in a copy; their edits are merged here. Templates:
        """
        return await team.delegate(context, tasks, background=background)

    @tool(effect="none", kind="agent", words=("look at agent", "looking at agent", "looked at agent"), summary="agent")
    async def agent_result(
        context: ToolContext,
        agent: Annotated[str, "The id that `agent` gave."],
        wait: Annotated[float, "Seconds to wait for the end.", Meta(ge=0, le=3600)] = 0,
        cancel: Annotated[bool, "End it now."] = False,
    ) -> ToolOutcome:
        """How far a background sub-agent is, or its answer."""
        return await team.result(context, agent, wait=wait, cancel=cancel)

    listed = "\n".join(_line(info) for info in templates[:MOST_LISTED])
    described = f"{' '.join(agent.schema.description.split())}\n{listed}"
    if (more := len(templates) - MOST_LISTED) > 0:
        described += f"\n{_more(more)}"
    agent.schema = msgspec.structs.replace(agent.schema, description=described)
    return [agent, agent_result]


def found_templates(words: str, templates: Sequence[TemplateInfo]) -> str:
    """What a caller is told that names no template."""
    by_name = {info.template.name: info for info in templates}
    found = best_matches(words, {name: _said(info) for name, info in by_name.items()}, MOST_FOUND)
    told = f"There is no template {words!r}, so nothing was started."
    if not found:
        return f"{told} No template fits these words. There are {len(by_name)}; try others."
    return "\n".join([f"{told} These fit the words:", *(_line(by_name[name]) for name in found)])


def _more(count: int) -> str:
    return f"[{count} more are not listed. Give some words as the template, and you are told which fit.]"


def _summary(tasks: object) -> str:
    """Arguments may not have been checked yet."""
    try:
        given = msgspec.convert(tasks, list[Assignment])
    except msgspec.ValidationError:
        return "sub-agents"
    return "; ".join(f"{each.template}: {' '.join(each.task.split())[:80]}" for each in given)


def _said(info: TemplateInfo) -> str:
    return info.template.description or info.template.role or info.template.prompt


def _line(info: TemplateInfo) -> str:
    plain = " ".join(_said(info).split())
    cut = plain if len(plain) <= LONGEST_DESCRIPTION else plain[: LONGEST_DESCRIPTION - 1] + "…"
    return f"- {info.template.name}: {cut}"
