"""The tools, prompts and resources that the official suite demands, on the server of `openagent mcp serve`.

The suite judges how they are offered, called and told about; what they do stands in its own pages.
"""

import asyncio
import base64
import json
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    AudioContent,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

from openagent.gateway.mcp.server import SessionServer

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFAAH/q842iQAAAABJRU5ErkJggg=="
SILENCE = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0"
).decode()
BETWEEN = 0.05
"""Seconds the suite wants between two messages of one call."""
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
AnyContext = Context[Any, Any]


def furnish(server: SessionServer) -> SessionServer:
    _contents(server)
    _conversations(server)
    _forms(server)
    _resources(server)
    _prompts(server)
    return server


def _said(*parts: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=part) if isinstance(part, str) else part for part in parts])


def _image() -> ImageContent:
    return ImageContent(data=PIXEL, mime_type="image/png")


def _embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))


def _contents(server: SessionServer) -> None:
    @server.tool()
    def test_simple_text() -> CallToolResult:
        """Text."""
        return _said("This is a simple text response for testing.")

    @server.tool()
    def test_image_content() -> CallToolResult:
        """A picture."""
        return _said(_image())

    @server.tool()
    def test_audio_content() -> CallToolResult:
        """A sound."""
        return _said(AudioContent(data=SILENCE, mime_type="audio/wav"))

    @server.tool()
    def test_embedded_resource() -> CallToolResult:
        """A resource."""
        return _said(_embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))

    @server.tool()
    def test_multiple_content_types() -> CallToolResult:
        """All of them."""
        data = _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
        return _said("Multiple content types test:", _image(), data)

    @server.tool()
    def test_error_handling() -> CallToolResult:
        """Always an error."""
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool()
    def json_schema_2020_12_tool(name: str = "", address: dict[str, str] | None = None) -> CallToolResult:
        """Tool with JSON Schema 2020-12 features"""
        return _said(f"{name} {address}")

    tool = server._tool_manager.get_tool("json_schema_2020_12_tool")  # pyright: ignore[reportPrivateUsage]
    assert tool is not None
    tool.parameters = SCHEMA_2020


def _conversations(server: SessionServer) -> None:
    @server.tool()
    async def test_tool_with_logging(ctx: AnyContext) -> CallToolResult:
        """Three log messages."""
        for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await server.watching.log(ctx.session, "info", said, ctx.request_id)
            await asyncio.sleep(BETWEEN)
        return _said("Logged.")

    @server.tool()
    async def test_tool_with_progress(ctx: AnyContext) -> CallToolResult:
        """Progress, three times."""
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100)
            await asyncio.sleep(BETWEEN)
        return _said("Done.")

    @server.tool()
    async def test_reconnection(ctx: AnyContext) -> CallToolResult:
        """Ends the connection, and answers when the client is back."""
        await ctx.close_sse_stream()
        await asyncio.sleep(BETWEEN)
        return _said("Reconnection test completed successfully.")

    @server.tool()
    async def test_sampling(prompt: str, ctx: AnyContext) -> CallToolResult:
        """Asks the client's model."""
        asked = SamplingMessage(role="user", content=TextContent(text=prompt))
        request = CreateMessageRequest(params=CreateMessageRequestParams(messages=[asked], max_tokens=100))
        reply = await ctx.session.send_request(request, CreateMessageResult)
        text = reply.content.text if isinstance(reply.content, TextContent) else ""
        return _said(f"LLM response: {text}")


def _forms(server: SessionServer) -> None:
    async def ask(ctx: AnyContext, message: str, fields: dict[str, Any]) -> ElicitResult:
        schema: dict[str, Any] = {"type": "object", "properties": fields}
        return await ctx.session.elicit_form(message, schema, ctx.request_id)

    def told(reply: ElicitResult, begin: str) -> CallToolResult:
        return _said(f"{begin}: action={reply.action}, content={json.dumps(reply.content)}")

    @server.tool()
    async def test_elicitation(message: str, ctx: AnyContext) -> CallToolResult:
        """Asks for a name and an address."""
        fields = {"username": "User's response", "email": "User's email address"}
        reply = await ask(ctx, message, {k: {"type": "string", "description": v} for k, v in fields.items()})
        return told(reply, "User response")

    @server.tool()
    async def test_elicitation_sep1034_defaults(ctx: AnyContext) -> CallToolResult:
        """A form with defaults."""
        fields: dict[str, Any] = {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        }
        return told(await ask(ctx, "Who?", fields), "Elicitation completed")

    @server.tool()
    async def test_elicitation_sep1330_enums(ctx: AnyContext) -> CallToolResult:
        """A form with choices of every kind."""
        plain = ["option1", "option2", "option3"]
        titled = [{"const": f"value{i}", "title": f"{word} Option"} for i, word in enumerate(("First", "Second"), 1)]
        fields: dict[str, Any] = {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }
        return told(await ask(ctx, "Which?", fields), "Elicitation completed")


def _resources(server: SessionServer) -> None:
    @server.resource("test://static-text", description="Text.", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", description="A picture.", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PIXEL)

    @server.resource("test://template/{id}/data", description="By its id.", mime_type="application/json")
    def by_id(id: str) -> str:  # noqa: A002
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def _prompts(server: SessionServer) -> None:
    @server.prompt(description="Text.")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="With arguments.")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="With a resource.")
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
        embedded = _embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
        return [UserMessage(embedded), UserMessage("Please process the embedded resource above.")]

    @server.prompt(description="With a picture.")
    def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(_image()), UserMessage("Please analyze the image above.")]
