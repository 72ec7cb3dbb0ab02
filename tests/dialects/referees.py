"""The official SDKs as referees: what was sent is what their types say, and nothing that these do not know."""

from typing import Any

import anthropic.types
import openai.types.responses
from google.genai import types as google_types
from pydantic import TypeAdapter

_ANTHROPIC_TOOL: Any = TypeAdapter(anthropic.types.ToolUnionParam)
_ANTHROPIC_BLOCK: Any = TypeAdapter(anthropic.types.ContentBlockParam)
_OPENAI_TOOL: Any = TypeAdapter(openai.types.responses.ToolParam)
_OPENAI_ITEM: Any = TypeAdapter(openai.types.responses.ResponseInputItemParam)


def accept_anthropic(body: dict[str, Any]) -> None:
    for tool in body["tools"]:
        assert _ANTHROPIC_TOOL.validate_python(tool) == tool
    for message in body["messages"]:
        for block in message["content"]:
            _ANTHROPIC_BLOCK.validate_python(block)


def accept_responses(body: dict[str, Any]) -> None:
    for tool in body["tools"]:
        assert _OPENAI_TOOL.validate_python(tool) == tool
    for item in body["input"]:
        if "call_id" in item:  # of what was said, its types want ids that only stored answers have
            assert _OPENAI_ITEM.validate_python(item) == item


def accept_gemini(body: dict[str, Any]) -> None:
    """These types forbid what they do not know."""
    for tool in body["tools"]:
        google_types.Tool.model_validate(tool)
    for content in body["contents"]:
        google_types.Content.model_validate(content)
