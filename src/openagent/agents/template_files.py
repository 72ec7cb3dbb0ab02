"""Templates as Markdown with front matter, in a form that Claude Code's agent files have too."""

import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any

import msgspec

from openagent.plugins.front_matter import FrontMatter, parse_front_matter, split_list
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.known_tools import KNOWN
from openagent.protocol.sessions import MODES, Mode
from openagent.protocol.templates import Template

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MODEL = re.compile(r"(auto|[^/\s]+/\S+)?")
MAX_TEXT = 64 << 10
_MOST = 1_000_000
_ALIASES = {
    "system_prompt": "prompt",
    "mcps": "mcp_servers",
    "mcpServers": "mcp_servers",
    "maxTurns": "max_steps",
    "permissionMode": "mode",
}
_MODES = {"default": "ask", "acceptEdits": "edits", "bypassPermissions": "full", "dontAsk": "ask"}
_MODELS = {
    "inherit": "",
    "sonnet": "anthropic/claude-sonnet-5-5",
    "opus": "anthropic/claude-opus-4-5",
    "haiku": "anthropic/claude-haiku-4-5",
}
_TOOLS = {name: tool for tool, known in reversed(KNOWN.items()) for name in known.known_as}
"""Others' names to ours; where several of ours go by one, to the first."""
_KEYS = ("name", "description", "role", "model", "tools", "mcp_servers", "mode", "max_steps", "timeout", "budget_usd")


def read_template(text: str, file: str, *, unfinished: bool = False) -> Template:
    """Raises OpenAgentError('config_error') with one sentence that names file and line. One that is still being written
    may be `unfinished`: without a name, or with nothing to say."""
    if len(text) > MAX_TEXT:
        raise OpenAgentError("config_error", f"{file} is longer than {MAX_TEXT >> 10} KB.", hint="Shorten the prompt.")
    matter = parse_front_matter(text, file)
    values: dict[str, Any] = {"name": PurePath(file).stem}
    for key, entry in matter.entries.items():
        name = _ALIASES.get(key, key)
        if name in _READERS:
            values[name] = _READERS[name](entry.value, f"{file}:{entry.line}", name)
        elif near := get_close_matches(key, _KEYS, n=1, cutoff=0.75):
            raise _wrong(f"{file}:{entry.line}", f"there is no key `{key}`", f"Did you mean `{near[0]}`?")
    values.setdefault("prompt", matter.body)
    template = Template(**values)
    return template if unfinished else check_template(template, _place(matter, file))


def check_template(template: Template, place: str = "The template") -> Template:
    if not NAME.fullmatch(template.name):
        raise _wrong(
            place, f"{template.name!r} is no name for a template", "Use letters, digits, - and _ (64 at most)."
        )
    if not MODEL.fullmatch(template.model):
        raise _wrong(place, f"{template.model!r} is no model", "Write provider/model, `auto` or `inherit`.")
    if not template.prompt.strip() and not template.description:
        raise _wrong(place, "it says nothing", "Give it a description, and a prompt below the front matter.")
    for name in ("max_steps", "timeout", "budget_usd"):
        if (given := getattr(template, name)) is not None and not 0 < given < _MOST:
            raise _wrong(place, f"`{name}` must be more than 0 and less than {_MOST:,}", "Correct it, or leave it out.")
    return template


def write_template(template: Template) -> str:
    lines = ["---", f"name: {template.name}"]
    for key in _KEYS[1:]:
        value: Any = getattr(template, key)
        if isinstance(value, list):
            lines.append(f"{key}: [{', '.join(map(str, value))}]")  # pyright: ignore[reportUnknownArgumentType]
        elif value not in (None, ""):
            lines.append(f"{key}: {_scalar(value)}")
    return "\n".join([*lines, "---", "", template.prompt.strip(), ""])


def _scalar(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    risky = text != text.strip() or text[:1] in "\"'[|>#&*!%@`{" or " #" in text or "\n" in text
    return msgspec.json.encode(text).decode() if risky else text


def _place(matter: FrontMatter, file: str) -> str:
    return f"{file}:{matter.entries['name'].line}" if "name" in matter.entries else file


def _wrong(place: str, what: str, hint: str) -> OpenAgentError:
    return OpenAgentError("config_error", f"{place}: {what}.", hint=hint)


def _text(value: str | list[str], place: str, key: str) -> str:
    if isinstance(value, list):
        raise _wrong(place, f"`{key}` must be one value, not a list", "Correct that line.")
    return value


def _model(value: str | list[str], place: str, key: str) -> str:
    text = _text(value, place, key)
    model = _MODELS.get(text, text)
    if not MODEL.fullmatch(model):
        raise _wrong(place, f"{text!r} is no model", "Write provider/model, `auto` or `inherit`.")
    return model


def _mode(value: str | list[str], place: str, key: str) -> Mode:
    text = _text(value, place, key)
    mode = _MODES.get(text, text)
    for known in MODES:
        if mode == known:
            return known
    raise _wrong(place, f"{text!r} is no mode", f"Choose one of {', '.join(MODES)}.")


def _names(value: str | list[str], place: str, key: str) -> list[str] | None:
    if value == "*":
        return None
    listed = value if isinstance(value, list) else split_list(value)
    return list(dict.fromkeys(listed))


def _tools(value: str | list[str], place: str, key: str) -> list[str] | None:
    """`Bash(git:*)` is the shell: rules, not templates, say which commands."""
    names = _names(value, place, key)
    if names is None:
        return None
    plain = [re.sub(r"\(.*\)$", "", name) for name in names]
    return list(dict.fromkeys(_TOOLS.get(name, name) for name in plain if name != "NotebookEdit"))


def _number(kind: type[int] | type[float]) -> Callable[[str | list[str], str, str], float]:
    def read(value: str | list[str], place: str, key: str) -> float:
        try:
            number = kind(_text(value, place, key))
        except ValueError:
            raise _wrong(place, f"`{key}` must be a number, not {value!r}", "Correct that line.") from None
        if not 0 < number < _MOST:
            raise _wrong(place, f"`{key}` must be more than 0 and less than {_MOST:,}", "Correct it, or leave it out.")
        return number

    return read


_READERS: dict[str, Callable[[str | list[str], str, str], Any]] = {
    "name": _text,
    "description": _text,
    "role": _text,
    "prompt": _text,
    "model": _model,
    "tools": _tools,
    "mcp_servers": _names,
    "mode": _mode,
    "max_steps": _number(int),
    "timeout": _number(float),
    "budget_usd": _number(float),
}
