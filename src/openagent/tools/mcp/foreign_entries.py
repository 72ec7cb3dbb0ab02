"""A server's entry as another program writes it, with the meaning that it has there."""

import re
import shlex
from collections.abc import Callable
from typing import Any, cast

import msgspec

from openagent.protocol.mcp import McpOAuth, McpServerEntry
from openagent.tools.mcp.foreign_files import Manner

_KINDS = {
    "local": "stdio",
    "remote": "http",
    "streamable_http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamableHTTP": "http",
    "http-stream": "http",
}
_MILLISECONDS: frozenset[Manner] = frozenset({"gemini", "opencode", "copilot"})
_SURELY_MILLISECONDS = 1000.0
"""Nobody means a quarter of an hour and more by a call's `timeout` where both are usual."""
_SILENT = frozenset(
    (
        "$schema",
        "gallery",
        "icon",
        "id",
        "logoUrl",
        "name",
        "provider",
        "providerUrl",
        "required",
        "source",
        "tags",
        "version",
    )
)
"""Means nothing to us."""
_APPROVALS = ("alwaysAllow", "autoApprove", "trust", "always_allow")
_REFERENCES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\$\{env:(\w+)\}"), r"${\1}"),
    (re.compile(r"(?<!\$)\{env:(\w+)\}"), r"${\1}"),
    (re.compile(r"\$\{workspace(?:Folder|Root|Path)\}"), "${workspaceFolder}"),
    (re.compile(r"\$\{(?:CLAUDE_PROJECT_DIR|PWD)(?::-[^}]*)?\}"), "${workspaceFolder}"),
    (re.compile(r"\$\{userHome\}"), "${HOME}"),
    (re.compile(r"\$\{(?:pathSeparator|/)\}"), "/"),
)
_INPUT = re.compile(r"\$\{(?:input|command):([^}]+)\}")
_BARE_VARIABLE = re.compile(r"(?<![\w$\\])\$(\w+)")


class ForeignEntry:
    """Reads one entry. What has no meaning here is told in `notes`."""

    def __init__(self, raw: dict[str, Any], manner: Manner) -> None:
        self._raw = dict(raw)
        self._manner: Manner = manner
        self.notes: list[str] = []

    def read(self) -> McpServerEntry:
        """Raises msgspec.ValidationError for values of the wrong kind."""
        command, args = self._command()
        url, kind = self._address()
        read: dict[str, Any] = {
            "type": "" if command and kind == "http" and not url else kind,
            "command": command,
            "args": args,
            "env": self._env(),
            "url": url,
            "headers": self._headers(),
            "cwd": self._text("cwd", "workingDirectory"),
            "disabled": self._is_off(),
            "description": self._text("description"),
            "tools": self._list("tools", "includeTools", "enabled_tools", "enabledTools"),
            "without_tools": self._list("without_tools", "excludeTools", "disabled_tools", "disabledTools"),
            "network": self._raw.pop("network", ""),
            "folders": self._list("folders"),
            "oauth": self._oauth(),
            **self._times(),
        }
        if read["tools"] == ["*"]:
            read["tools"] = []
        self._tell_of_the_rest()
        return msgspec.convert(read, McpServerEntry)

    # What it is

    def _command(self) -> tuple[str, list[str]]:
        given = self._raw.pop("command", self._raw.pop("cmd", ""))
        args = [self._filled(_plain(each)) for each in _listed(self._raw.pop("args", []))]
        if isinstance(given, dict):  # Zed's older form
            inner = cast("dict[str, Any]", given)
            self._raw.setdefault("env", inner.get("env") or {})
            return self._filled(str(inner.get("path", ""))), [
                self._filled(_plain(each)) for each in _listed(inner.get("args"))
            ]
        if isinstance(given, list):
            words = [self._filled(_plain(each)) for each in cast("list[Any]", given)]
            return (words[0], [*words[1:], *args]) if words else ("", args)
        command = self._filled(str(given))
        if not args and " " in command and "/" not in command.partition(" ")[0]:
            first, *args = _split(command)
            return first, args
        return command, args

    def _address(self) -> tuple[str, str]:
        kind = str(self._raw.pop("type", "") or self._raw.pop("transport", "") or "")
        self._raw.pop("transport", None)
        kind = _KINDS.get(kind, kind)
        streamed = self._text("httpUrl")
        url = streamed or self._text("url", "serverUrl", "uri")
        if url and kind in ("", "http") and not streamed:
            by_form = "sse" if url.partition("?")[0].rstrip("/").endswith("/sse") else "http"
            # Gemini's `url` is the older form, its `httpUrl` the newer.
            kind = "sse" if self._manner == "gemini" and not kind else kind or by_form
        return url, kind or ("http" if url else "")

    def _is_off(self) -> bool:
        off = bool(self._raw.pop("disabled", False))
        on = [self._raw.pop(key) for key in ("enabled", "isActive") if key in self._raw]
        return off or any(each is False for each in on)

    # What it is given

    def _env(self) -> dict[str, str]:
        env = self._pairs("env", "environment", "envs")
        for each in _listed(self._raw.pop("env_vars", [])) + _listed(self._raw.pop("env_keys", [])):
            name = str(cast("dict[str, Any]", each).get("name", "")) if isinstance(each, dict) else str(each)
            env.setdefault(name, f"${{{name}}}")
        return env

    def _headers(self) -> dict[str, str]:
        init = self._raw.pop("requestInit", None)
        if isinstance(init, dict):
            self._raw.setdefault("headers", cast("dict[str, Any]", init).get("headers") or {})
        headers = self._pairs("headers", "http_headers")
        for header, variable in self._pairs("env_http_headers").items():
            headers[header] = f"${{{variable}}}"
        if token := self._text("bearer_token_env_var"):
            headers["Authorization"] = f"Bearer ${{{token}}}"
        return headers

    def _oauth(self) -> dict[str, Any]:
        given = self._raw.pop("oauth", None)
        scopes = _listed(self._raw.pop("scopes", []))
        if isinstance(given, McpOAuth):
            return cast("dict[str, Any]", msgspec.to_builtins(given))
        said: dict[str, Any] = dict(cast("dict[str, Any]", given)) if isinstance(given, dict) else {}
        named = said.get("scopes", said.get("scope", scopes))
        read: dict[str, Any] = {
            "client_id": self._filled(str(said.get("client_id") or said.get("clientId") or "")),
            "client_secret": self._filled(str(said.get("client_secret") or said.get("clientSecret") or "")),
            "scopes": named.split() if isinstance(named, str) else [str(each) for each in _listed(named)],
        }
        own = set(McpOAuth.__struct_fields__) - set(read)
        return {**read, **{key: value for key, value in said.items() if key in own}}

    def _times(self) -> dict[str, float]:
        """Ours are seconds, whatever theirs are."""
        times: dict[str, float] = {}
        if (seconds := self._number("tool_timeout_sec")) is not None:
            times["timeout"] = seconds
        for key, factor in (("start_timeout", 1.0), ("startup_timeout_sec", 1.0), ("startup_timeout_ms", 0.001)):
            if (given := self._number(key)) is not None:
                times["start_timeout"] = given * factor
        if (given := self._number("timeout")) is not None:
            in_milliseconds = self._manner in _MILLISECONDS or (
                self._manner not in ("own", "cline", "codex") and given >= _SURELY_MILLISECONDS
            )
            # opencode's is for the greeting and the list of tools.
            which = "start_timeout" if self._manner == "opencode" else "timeout"
            times[which] = given / 1000 if in_milliseconds else given
        return times

    # Small things

    def _text(self, *keys: str) -> str:
        given = [self._raw.pop(key) for key in keys if key in self._raw]
        return self._filled(next((str(each) for each in given if each), ""))

    def _list(self, *keys: str) -> list[str]:
        given = [self._raw.pop(key) for key in keys if key in self._raw]
        named = [_listed(each) for each in given if each]
        return [str(each) for each in named[0]] if named else []

    def _pairs(self, *keys: str) -> dict[str, str]:
        given = [self._raw.pop(key) for key in keys if key in self._raw]
        found: Any = next((each for each in given if each), cast("dict[str, Any]", {}))
        if not isinstance(found, dict):
            raise msgspec.ValidationError(f"`{keys[0]}` is no object")
        return {str(key): self._filled(_plain(value)) for key, value in cast("dict[str, Any]", found).items()}

    def _number(self, key: str) -> float | None:
        given = self._raw.pop(key, None)
        if given is None:
            return None
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise msgspec.ValidationError(f"`{key}` is no number")
        return float(given)

    def _filled(self, text: str) -> str:
        """With references as we write them."""
        if self._manner == "own" or ("$" not in text and "{" not in text):
            return text
        for pattern, ours in _REFERENCES:
            text = pattern.sub(ours, text)
        text = _INPUT.sub(self._asked_for, text)
        return _BARE_VARIABLE.sub(r"${\1}", text) if self._manner == "gemini" else text

    def _asked_for(self, found: re.Match[str]) -> str:
        variable = re.sub(r"\W+", "_", found[1]).strip("_").upper()
        self.notes.append(f"`{found[1]}` is asked for there; here the variable {variable} is to be set.")
        return f"${{{variable}}}"

    def _tell_of_the_rest(self) -> None:
        allowed = [self._raw.pop(key, None) for key in _APPROVALS]
        if any(allowed):
            self.notes.append("what it allows unasked is not taken over: your rules here decide.")
        unknown = [key for key in self._raw if key not in _SILENT and not key.startswith(("x-", "//", "_"))]
        if unknown:
            self.notes.append(f"{', '.join(f'`{key}`' for key in unknown)} means nothing here and is left out.")


def _listed(given: Any) -> list[Any]:
    return cast("list[Any]", given) if isinstance(given, list) else [] if given in (None, "") else [given]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return "" if value is None else str(value)


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def entry_from(raw: dict[str, Any], manner: Manner, note: Callable[[str], None]) -> McpServerEntry:
    foreign = ForeignEntry(raw, manner)
    entry = foreign.read()
    for each in foreign.notes:
        note(each)
    return entry
