"""Templates as files: Markdown with front matter, in a form that the agent files of Claude Code, opencode, gemini-cli
and Copilot have too, and codex's TOML."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from openagent.agents.peer_tools import ours, whole_server
from openagent.config.peers import model_called
from openagent.plugins.front_matter import Entry, Slip, Value, parse_front_matter, split_list
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import MODES
from openagent.protocol.templates import Template

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
LABEL = re.compile(r"[A-Za-z0-9_.-]{0,63}")
MODEL = re.compile(r"(auto|[^/\s]+/\S+)?")
SUFFIXES = (".md", ".toml")
MAX_TEXT = 64 << 10
_MOST = 1_000_000
_ALIASES = {
    "system_prompt": "prompt",
    "developer_instructions": "prompt",
    "mcps": "mcp_servers",
    "mcpServers": "mcp_servers",
    "mcp-servers": "mcp_servers",
    "maxTurns": "max_steps",
    "max_turns": "max_steps",
    "maxSteps": "max_steps",
    "steps": "max_steps",
    "permissionMode": "mode",
    "sandbox_mode": "mode",
    "disallowedTools": "disabled_tools",
}
_MODES = {
    "default": "ask",
    "acceptEdits": "edits",
    "bypassPermissions": "full",
    "dontAsk": "ask",
    "read-only": "plan",
    "workspace-write": "edits",
    "danger-full-access": "full",
}
_KINDS_OF_AGENT = ("primary", "subagent", "all")
"""What `mode` means to opencode."""
_KEYS = (
    "name",
    "description",
    "role",
    "replace_prompt",
    "model",
    "tools",
    "disabled_tools",
    "mcp_servers",
    "mode",
    "max_steps",
    "timeout",
    "budget_usd",
    "label",
)
_SILENT = frozenset({"color", "icon", "version", "license", "metadata", "author", "tags", "category", "title"})
"""What changes nothing for whoever works with the agent."""


class ReadTemplate(NamedTuple):
    template: Template
    slips: list[Slip]
    """Mistakes, each of which costs its line."""
    unused: list[str]
    """What the file says and means nothing here."""
    place: str
    """Where it says what it is."""

    def notes(self, file: str) -> list[str]:
        unused = [f"{file}: {', '.join(self.unused)} {'is' if len(self.unused) == 1 else 'are'} not used here."]
        return [*map(str, self.slips), *(unused if self.unused else ())]


def read_template(text: str, file: str, *, unfinished: bool = False) -> Template:
    """Of somebody who is writing it and can correct it: raises OpenAgentError('config_error') with one sentence that
    names file and line. It may be `unfinished`: without a name, or with nothing to say."""
    read = _read(text, file)
    if read.slips:
        raise read.slips[0].error()
    return read.template if unfinished else check_template(read.template, read.place)


def template_in(text: str, file: str) -> ReadTemplate:
    """Of whoever wrote it, for whatever program: what is understood counts, and the rest is told. Raises
    OpenAgentError('config_error') where nothing is left."""
    return _fitting(_read(text, file))


def _fitting(read: ReadTemplate) -> ReadTemplate:
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", read.template.name).strip("-_")[:64]
    read = read._replace(template=msgspec.structs.replace(read.template, name=name))
    check_template(read.template, read.place)
    return read


def template_of(given: Mapping[str, Any], name: str, file: str) -> ReadTemplate:
    """Of what opencode's configuration says of an agent."""
    entries = {key: Entry(_as_written(value), 1) for key, value in given.items()}
    return _fitting(_made(entries, "", [], f"{file}: {name}", name))


def _read(text: str, file: str) -> ReadTemplate:
    if len(text) > MAX_TEXT:
        raise OpenAgentError("config_error", f"{file} is longer than {MAX_TEXT >> 10} KB.", hint="Shorten the prompt.")
    entries, body, slips = _toml(text, file) if file.endswith(".toml") else parse_front_matter(text, file)
    return _made(entries, body, slips, file, _file_name(file))


def _made(entries: Mapping[str, Entry], body: str, slips: Sequence[Slip], file: str, name: str) -> ReadTemplate:
    reader = _Reader(file, [*slips])
    for key, entry in entries.items():
        reader.take(key, entry)
    values = reader.values
    values.setdefault("name", name)
    values.setdefault("prompt", body)
    place = f"{file}:{entries['name'].line}" if "name" in entries else file
    return ReadTemplate(Template(**values), reader.slips, reader.unused, place)


def _file_name(file: str) -> str:
    """Without the endings that say what the file is."""
    name = PurePath(file).name
    for ending in (*SUFFIXES, ".agent", ".chatmode"):
        name = name.removesuffix(ending)
    return name


def _toml(text: str, file: str) -> tuple[dict[str, Entry], str, list[Slip]]:
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise Slip(file, f"it is no TOML: {problem}", "Correct it.").error() from None
    return {key: Entry(_as_written(value), 1) for key, value in given.items()}, "", []


def _as_written(value: object) -> Value:
    match value:
        case list():
            return [str(each) for each in msgspec.convert(value, list[Any])]
        case dict():
            return {str(key): str(each) for key, each in msgspec.convert(value, dict[str, Any]).items()}
        case _:
            return str(value)


class _Reader:
    """One file's keys, one after the other."""

    def __init__(self, file: str, slips: list[Slip]) -> None:
        self._file = file
        self.slips = slips
        self.values: dict[str, Any] = {}
        self.unused: list[str] = []

    def take(self, key: str, entry: Entry) -> None:
        name, place = _ALIASES.get(key, key), f"{self._file}:{entry.line}"
        try:
            if special := _SPECIAL.get(key):
                special(self, entry.value)
            elif name in _READERS:
                self.values[name] = _READERS[name](entry.value, name)
            elif near := get_close_matches(key, _KEYS, n=1, cutoff=0.75):
                self.slips.append(Slip(place, f"there is no key `{key}`", f"Did you mean `{near[0]}`?"))
            elif key not in _SILENT:
                self.unused.append(f"`{key}`")
        except _WrongValue as problem:
            self.slips.append(Slip(place, problem.what, problem.hint))
        except _NotUsed:
            self.unused.append(f"`{key}`")

    def mode(self, value: Value) -> None:
        if value not in _KINDS_OF_AGENT:
            self.values["mode"] = _mode(value, "mode")

    def deny(self, tools: Mapping[str, str]) -> None:
        """opencode's `tools: {bash: false}`, and what its permissions deny."""
        denied = [tool for name, said in tools.items() if said.lower() in ("false", "deny") for tool in ours(name)]
        self.values["disabled_tools"] = list(dict.fromkeys([*self.values.get("disabled_tools", ()), *denied]))

    def tools(self, value: Value) -> None:
        if isinstance(value, dict):
            self.deny(value)
            return
        names = _names(value)
        if names is None:
            return
        servers = [server for name in names if (server := whole_server(name))]
        if servers:
            self.values["mcp_servers"] = list(dict.fromkeys([*(self.values.get("mcp_servers") or ()), *servers]))
        found = [tool for name in names if not whole_server(name) for tool in ours(name)]
        self.values["tools"] = list(dict.fromkeys(found))

    def permission(self, value: Value) -> None:
        if not isinstance(value, dict):
            raise _NotUsed
        self.deny(value)
        if value.get("edit") == "ask" and "mode" not in self.values:
            self.values["mode"] = "ask"
        if any("\n" in said or ":" in said for said in value.values()):
            self.unused.append("`permission` of single commands")

    def minutes(self, value: Value) -> None:
        self.values["timeout"] = 60 * _number(float)(value, "timeout_mins")

    def switched_off(self, value: Value) -> None:
        if str(value).lower() == "true":
            raise OpenAgentError("config_error", f"{self._file}: it says that it is switched off.")

    def kind(self, value: Value) -> None:
        if value == "remote":
            raise OpenAgentError("config_error", f"{self._file}: it works elsewhere (`kind: remote`), and not here.")


class _WrongValue(Exception):
    def __init__(self, what: str, hint: str = "Correct that line.") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class _NotUsed(Exception):
    """It may mean something, and not here."""


def check_template(template: Template, place: str = "The template") -> Template:
    if not NAME.fullmatch(template.name):
        raise _wrong(
            place, f"{template.name!r} is no name for a template", "Use letters, digits, - and _ (64 at most)."
        )
    if not MODEL.fullmatch(template.model):
        raise _wrong(place, f"{template.model!r} is no model", "Write provider/model, `auto` or `inherit`.")
    if not LABEL.fullmatch(template.label):
        raise _wrong(
            place, f"{template.label!r} is no label of workers", "Use letters, digits, -, _ and . (63 at most)."
        )
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
            if value or key != "disabled_tools":
                lines.append(f"{key}: [{', '.join(map(str, value))}]")  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, bool):
            lines += [f"{key}: true"] if value else []
        elif value not in (None, ""):
            lines.append(f"{key}: {_scalar(value)}")
    return "\n".join([*lines, "---", "", template.prompt.strip(), ""])


def _scalar(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    risky = text != text.strip() or text[:1] in "\"'[|>#&*!%@`{" or " #" in text or "\n" in text
    return msgspec.json.encode(text).decode() if risky else text


def _wrong(place: str, what: str, hint: str) -> OpenAgentError:
    return Slip(place, what, hint).error()


def _text(value: Value, key: str) -> str:
    if not isinstance(value, str):
        raise _WrongValue(f"`{key}` must be one value, not a list")
    return value


def _model(value: Value, key: str) -> str:
    """Of several that would do, the first."""
    text = value[0] if isinstance(value, list) and value else _text(value, key)
    model = model_called(text)
    if not MODEL.fullmatch(model):
        raise _WrongValue(f"{text!r} is no model", "Write provider/model, `auto` or `inherit`.")
    return model


def _mode(value: Value, key: str) -> str:
    text = _text(value, key)
    mode = _MODES.get(text, text)
    if mode not in MODES:
        raise _WrongValue(f"{text!r} is no mode", f"Choose one of {', '.join(MODES)}.")
    return mode


def _names(value: Value, key: str = "") -> list[str] | None:
    if value in ("*", "all", ["*"], ["all"]):
        return None
    listed = split_list(value) if isinstance(value, str) else list(value)
    return list(dict.fromkeys(listed))


def _servers(value: Value, key: str) -> list[str] | None:
    """Those that are named: one that stands there whole is not set up by an agent's file."""
    if isinstance(value, dict) or any(":" in each for each in value if isinstance(value, list)):
        raise _NotUsed
    return _names(value)


def _denied(value: Value, key: str) -> list[str]:
    return list(dict.fromkeys(tool for name in _names(value) or () for tool in ours(name)))


def _yes(value: Value, key: str) -> bool:
    said = _text(value, key).lower()
    if said not in ("true", "false", "yes", "no"):
        raise _WrongValue(f"`{key}` must be true or false, not {value!r}")
    return said in ("true", "yes")


def _number(kind: type[int] | type[float]) -> Callable[[Value, str], float]:
    def read(value: Value, key: str) -> float:
        try:
            number = kind(_text(value, key))
        except ValueError:
            raise _WrongValue(f"`{key}` must be a number, not {value!r}") from None
        if not 0 < number < _MOST:
            raise _WrongValue(f"`{key}` must be more than 0 and less than {_MOST:,}", "Correct it, or leave it out.")
        return number

    return read


_READERS: dict[str, Callable[[Value, str], Any]] = {
    "name": _text,
    "description": _text,
    "role": _text,
    "prompt": _text,
    "replace_prompt": _yes,
    "model": _model,
    "disabled_tools": _denied,
    "mcp_servers": _servers,
    "mode": _mode,
    "max_steps": _number(int),
    "timeout": _number(float),
    "budget_usd": _number(float),
    "label": _text,
}
_SPECIAL: dict[str, Callable[[_Reader, Value], None]] = {
    "tools": _Reader.tools,
    "mode": _Reader.mode,
    "permission": _Reader.permission,
    "timeout_mins": _Reader.minutes,
    "disable": _Reader.switched_off,
    "kind": _Reader.kind,
}
