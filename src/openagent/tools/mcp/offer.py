"""What a server offers, within bounds: tools, resources, prompts."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from openagent.protocol.mcp import McpPromptArgument
from openagent.tools.mcp.words import is_usable, suspicions, texts_in, visible

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client

MAX_ITEMS = 300
"""Tools, resources or prompts of one server. The rest is left out."""
MAX_PAGES = 20
MAX_WARNINGS = 20
MAX_TEXT = 400

T = TypeVar("T")


class OfferedTool(Struct, frozen=True):
    name: str
    description: str
    schema: dict[str, Any]
    as_task: bool = False
    """It may, or must, be carried out as a task."""


class OfferedResource(Struct, frozen=True):
    uri: str
    """Of a template: with {parameters}."""
    name: str
    description: str = ""
    media_type: str = ""
    is_template: bool = False


class OfferedPrompt(Struct, frozen=True):
    name: str
    description: str = ""
    arguments: list[McpPromptArgument] = []


class Offer(Struct, frozen=True):
    tools: Sequence[OfferedTool] = ()
    resources: Sequence[OfferedResource] = ()
    prompts: Sequence[OfferedPrompt] = ()

    def warnings(self) -> list[str]:
        """What a person should know about it."""
        found: list[str] = []
        for tool in self.tools:
            said = "\n".join([tool.description, *texts_in(tool.schema)])
            found += [f"{visible(tool.name, 64)}: {suspicion}" for suspicion in suspicions(said)]
            if not is_usable(tool.schema):
                found.append(f"{visible(tool.name, 64)}: its schema is unusable, so that any arguments go through.")
        return found[:MAX_WARNINGS]


async def ask_offer(client: "Client") -> Offer:
    has = client.server_capabilities
    return Offer(
        tools=await _tools(client) if has.tools else (),
        resources=await _resources(client) if has.resources else (),
        prompts=await _prompts(client) if has.prompts else (),
    )


async def _tools(client: "Client") -> list[OfferedTool]:
    async def page(cursor: str | None) -> tuple[list[OfferedTool], str | None]:
        found = await client.list_tools(cursor=cursor)
        return [_offered(each) for each in found.tools], found.next_cursor

    return await _all_pages(page, lambda tool: tool.name)


def _offered(tool: "types.Tool") -> OfferedTool:
    support = tool.execution.task_support if tool.execution else None
    return OfferedTool(tool.name, tool.description or "", tool.input_schema, support in ("optional", "required"))


async def _resources(client: "Client") -> list[OfferedResource]:
    from mcp import MCPError

    async def page(cursor: str | None) -> tuple[list[OfferedResource], str | None]:
        found = await client.list_resources(cursor=cursor)
        return [
            OfferedResource(
                str(each.uri), visible(each.name, 100), visible(each.description or "", MAX_TEXT), each.mime_type or ""
            )
            for each in found.resources
        ], found.next_cursor

    async def template_page(cursor: str | None) -> tuple[list[OfferedResource], str | None]:
        found = await client.list_resource_templates(cursor=cursor)
        return [
            OfferedResource(
                each.uri_template,
                visible(each.name, 100),
                visible(each.description or "", MAX_TEXT),
                each.mime_type or "",
                is_template=True,
            )
            for each in found.resource_templates
        ], found.next_cursor

    plain = await _all_pages(page, lambda each: each.uri)
    try:
        templates = await _all_pages(template_page, lambda each: each.uri)
    except MCPError:  # many servers have none and do not know the question
        templates = []
    return [*plain, *templates]


async def _prompts(client: "Client") -> list[OfferedPrompt]:
    async def page(cursor: str | None) -> tuple[list[OfferedPrompt], str | None]:
        found = await client.list_prompts(cursor=cursor)
        return [
            OfferedPrompt(
                each.name,
                visible(each.description or "", MAX_TEXT),
                [
                    McpPromptArgument(given.name, visible(given.description or "", MAX_TEXT), bool(given.required))
                    for given in each.arguments or []
                ],
            )
            for each in found.prompts
        ], found.next_cursor

    return await _all_pages(page, lambda prompt: prompt.name)


async def _all_pages(
    ask: Callable[[str | None], Awaitable[tuple[list[T], str | None]]], name: Callable[[T], str]
) -> list[T]:
    """The first of each name, as far as the bounds allow."""
    found: dict[str, T] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page, cursor = await ask(cursor)
        for each in page:
            if len(found) < MAX_ITEMS:
                found.setdefault(name(each), each)
        if not cursor or len(found) >= MAX_ITEMS:
            break
    return list(found.values())
