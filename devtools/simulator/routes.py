"""Which wire format a request speaks, told by its path and headers."""

import re
from typing import Literal, NamedTuple

from devtools.simulator.formats.anthropic import AnthropicMessages
from devtools.simulator.formats.chat import ChatCompletions
from devtools.simulator.formats.gemini import Gemini
from devtools.simulator.formats.responses import Responses
from devtools.simulator.problems import Problem
from devtools.simulator.wire import WireFormat

Action = Literal["generate", "count", "models", "model"]

_MODEL_PATH = re.compile(r"/models(?:/(?P<model>.+))?$")


class Route(NamedTuple):
    format: WireFormat
    action: Action
    model: str = ""
    """Where a model list's path names one."""
    problem: Problem | None = None
    """There is no such place; the format says so in its own words."""


class Routes:
    def __init__(self) -> None:
        self._anthropic = AnthropicMessages()
        self._chat = ChatCompletions()
        self._gemini = Gemini()
        responses = Responses()
        self._posts: list[tuple[re.Pattern[str], WireFormat, Action]] = [
            (re.compile(r"/messages$"), self._anthropic, "generate"),
            (re.compile(r"/messages/count_tokens$"), self._anthropic, "count"),
            (re.compile(r"/chat/completions$"), self._chat, "generate"),
            (re.compile(r"/responses$"), responses, "generate"),
            (re.compile(r"/responses/input_tokens$"), responses, "count"),
            (re.compile(r"/models/[^/:]+:(generate|streamGenerate)Content$"), self._gemini, "generate"),
            (re.compile(r"/models/[^/:]+:countTokens$"), self._gemini, "count"),
        ]

    def find(self, method: str, path: str, headers: dict[str, str]) -> Route:
        for pattern, wire_format, action in self._posts:
            if pattern.search(path):
                wrong = Problem("method_not_allowed") if method != "POST" else None
                return Route(wire_format, action, problem=wrong)
        vendor = self._vendor(path, headers)
        listed = _MODEL_PATH.search(path)
        if listed and method == "GET":
            name = listed["model"]
            return Route(vendor, "model", name) if name else Route(vendor, "models")
        return Route(vendor, "generate", problem=Problem("not_found", f"Invalid URL ({method} {path})"))

    def _vendor(self, path: str, headers: dict[str, str]) -> WireFormat:
        """Whose API a path belongs to that several vendors share."""
        if "anthropic-version" in headers:
            return self._anthropic
        if "x-goog-api-key" in headers or "/v1beta" in path or "/publishers/" in path:
            return self._gemini
        return self._chat
