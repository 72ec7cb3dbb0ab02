"""What a server asks of a person, in the session whose call is running."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import uuid4

from openagent.plugins.tool import ToolContext
from openagent.protocol.sessions import Question
from openagent.tools.mcp.words import visible

MAX_QUESTION = 2000
MAX_FIELDS = 10
MAX_CHOICES = 20
DECLINE = "Decline"
DONE = "Done"


async def ask_form(context: ToolContext, server: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """One question for each field; None: declined, as it is where nobody can answer. An empty answer means the field's
    default, or nothing."""
    answers: dict[str, Any] = {}
    required: list[Any] = schema.get("required") or []
    properties: dict[str, dict[str, Any]] = schema.get("properties") or {}
    for name, wanted in list(properties.items())[:MAX_FIELDS]:
        label = str(wanted.get("title") or name)
        about = f": {wanted['description']}" if wanted.get("description") else ""
        default = wanted.get("default")
        usual = f" (default: {default})" if default is not None else ""
        said = f"The MCP server {server} asks: {visible(message, MAX_QUESTION)}\n{visible(label + about + usual, 300)}"
        choices = [str(choice) for choice in _choices(wanted)][:MAX_CHOICES]
        answer = await context.ask_if_there(_question(context, said, [*choices, DECLINE]))
        if answer is None or answer == DECLINE:
            return None
        if not answer.strip() and (default is not None or name not in required):
            if default is not None:
                answers[name] = default
            continue
        value = _converted(answer, str(wanted.get("type", "string")))
        if value is None:
            return None
        answers[name] = value
    return answers


async def ask_to_visit(context: ToolContext, server: str, message: str, url: str) -> bool:
    """Whether a person says that they went there."""
    said = f"The MCP server {server} asks you to open a page: {visible(message, MAX_QUESTION)}\n{visible(url, 1000)}"
    return await context.ask_if_there(_question(context, said, [DONE, DECLINE])) == DONE


def _question(context: ToolContext, text: str, choices: list[str]) -> Question:
    return Question(id=uuid4().hex[:12], text=text, choices=choices, call_id=context.call_id, unattended=DECLINE)


def _choices(wanted: Mapping[str, Any]) -> list[Any]:
    if wanted.get("type") == "boolean":
        return ["yes", "no"]
    if wanted.get("type") == "array":
        return []
    if isinstance(listed := wanted.get("enum"), list):
        return cast(list[Any], listed)
    titled: list[dict[str, Any]] = wanted.get("oneOf") or []
    return [option["const"] for option in titled if "const" in option]


def _converted(answer: str, kind: str) -> Any:
    try:
        match kind:
            case "boolean":
                return answer.strip().lower() in ("yes", "y", "true", "1")
            case "integer":
                return int(answer)
            case "number":
                return float(answer)
            case "array":
                return [item.strip() for item in answer.split(",")]
            case _:
                return answer
    except ValueError:
        return None
