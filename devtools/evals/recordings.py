"""What other agents left on disk, as calls that our tools understand.

Claude Code writes JSONL in two ways: `--output-format stream-json --verbose`, and `~/.claude/projects/…/ID.jsonl`.
codex writes `~/.codex/sessions/…/rollout-….jsonl`. Calls of one answer belong together: they were made side by side.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import Struct

from openagent.dialects.families import DIALECTS
from openagent.protocol.errors import OpenAgentError

LONGEST_COMMAND = 20.0
"""Seconds. What a recorded command waited for (a server, a container) is mostly not there."""
_TIMEOUTS = {"timeout": 1000, "timeout_ms": 1000}
"""Arguments of theirs that say how long a command may take, and how many of them are a second."""
GO = "Go on."
"""What a person is taken to have said where the recording does not tell."""


class Call(Struct, frozen=True):
    tool: str
    """Ours."""
    arguments: dict[str, Any]
    theirs: str = ""
    given: dict[str, Any] = {}
    """Its arguments as they were recorded."""
    failed: bool | None = None
    """There; None when the recording ends before."""
    result: str = ""


class Step(Struct, frozen=True):
    calls: list[Call]


class Turn(Struct, frozen=True):
    prompt: str
    steps: list[Step] = []
    answer: str = ""


class Recording(Struct, frozen=True):
    name: str
    turns: list[Turn]
    below: dict[str, list[Step]] = {}
    """What sub-agents did, by the words of their task."""
    root: str = ""
    """The folder it was recorded in."""
    began: str = ""
    """When, as the recording writes it."""
    left_out: dict[str, int] = {}
    """Calls of tools that have no counterpart here."""

    @property
    def calls(self) -> int:
        return sum(len(step.calls) for turn in self.turns for step in turn.steps)


class _Use(NamedTuple):
    id: str
    name: str
    given: dict[str, Any]


class _Heard(NamedTuple):
    """One thing a recording tells, whoever wrote it."""

    said: str = ""
    """By a person."""
    answered: str = ""
    """By the model, in words."""
    use: _Use | None = None
    message: str = ""
    """Calls with the same one belong to one step."""
    below: str = ""
    """The call that started the sub-agent this is about."""


class _Outcome(NamedTuple):
    text: str
    failed: bool


def read(path: Path, known: Iterable[str] = ()) -> Recording:
    """`known` are our tools: a call of one is taken as it is. Raises OpenAgentError for what is no recording."""
    lines = list(_lines(path))
    if any(line.get("type") == "session_meta" for line in lines):
        parsed = _Codex(lines)
    elif any(line.get("type") in ("assistant", "user") and "message" in line for line in lines):
        parsed = _Claude(lines)
    else:
        raise OpenAgentError(
            "invalid_argument",
            f"{path} is no recording that can be replayed.",
            hint="It takes JSONL of Claude Code (stream-json, or ~/.claude/projects) and of codex (~/.codex/sessions).",
        )
    return _put_together(path, parsed, frozenset(known))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            try:
                value = msgspec.json.decode(line)
            except msgspec.DecodeError:  # the last line of a session that was cut off
                continue
            if isinstance(value, dict):
                yield cast("dict[str, Any]", value)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [_object(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def _put_together(path: Path, parsed: "_Claude | _Codex", known: frozenset[str]) -> Recording:
    left_out: dict[str, int] = {}

    def call(use: _Use) -> Call | None:
        found = _ours(use.name, use.given, known)
        if found is None:
            left_out[use.name] = left_out.get(use.name, 0) + 1
            return None
        outcome = parsed.outcomes.get(use.id)
        failed, text = (outcome.failed, outcome.text) if outcome else (None, "")
        return Call(*found, use.name, _in_time(use, found[0]), failed, text)

    turns: list[Turn] = []
    for prompt, heard in _split(entry for entry in parsed.heard if not entry.below):
        answers = [entry.answered for entry in heard if entry.answered]
        turns.append(Turn(prompt or GO, _steps(heard, call), answers[-1] if answers else "Done."))
    below: dict[str, list[Step]] = {}
    for task, parent in parsed.tasks.items():
        below[task] = _steps([entry for entry in parsed.heard if entry.below == parent], call)
    turns = [turn for turn in turns if turn.steps or turn.answer]
    return Recording(str(path), turns, below, parsed.root, parsed.began, left_out)


def _ours(name: str, given: Mapping[str, Any], known: Collection[str]) -> tuple[str, dict[str, Any]] | None:
    """The call as one of ours; None when nothing here does the like."""
    for dialect in DIALECTS.values():
        if made := dialect.understood(name, given):
            tool, arguments = made
            if tool == "shell":
                arguments["timeout"] = min(arguments.get("timeout") or LONGEST_COMMAND, LONGEST_COMMAND)
            return tool, {} if tool == "shell_output" else arguments  # what was in the background has another name here
    return (name, dict(given)) if name in known else None


def _in_time(use: _Use, tool: str) -> dict[str, Any]:
    """As it was recorded, but for how long a command may take."""
    if tool != "shell":
        return use.given
    of_codex = "cmd" in use.given or not isinstance(use.given.get("command"), str)
    key = next((key for key in _TIMEOUTS if key in use.given), "timeout_ms" if of_codex else "timeout")
    longest = LONGEST_COMMAND * _TIMEOUTS[key]
    return {**use.given, key: min(use.given.get(key) or longest, longest)}


def _split(heard: Iterable[_Heard]) -> list[tuple[str, list[_Heard]]]:
    turns: list[tuple[str, list[_Heard]]] = []
    for entry in heard:
        if entry.said:
            turns.append((entry.said, []))
        elif not turns:
            turns.append(("", [entry]))
        else:
            turns[-1][1].append(entry)
    return [turn for turn in turns if turn[1]]


def _steps(heard: Iterable[_Heard], call: Callable[[_Use], Call | None]) -> list[Step]:
    steps: dict[str, list[Call]] = {}
    for entry in heard:
        if entry.use is not None and (made := call(entry.use)) is not None:
            steps.setdefault(entry.message, []).append(made)
    return [Step(calls) for calls in steps.values()]


class _Claude:
    def __init__(self, lines: Iterable[Mapping[str, Any]]) -> None:
        self.heard: list[_Heard] = []
        self.outcomes: dict[str, _Outcome] = {}
        self.tasks: dict[str, str] = {}
        """What a sub-agent was told, to the call that told it."""
        self.root = self.began = ""
        side = ""
        for line in lines:
            self.root = self.root or str(line.get("cwd") or "")
            self.began = self.began or str(line.get("timestamp") or "")
            message = _object(line.get("message"))
            if line.get("type") not in ("assistant", "user"):
                continue
            below = str(line.get("parent_tool_use_id") or "")
            if line.get("isSidechain"):
                # Such a line does not tell whose it is, but it begins with the words of the task.
                side = below = self.tasks.get(str(message.get("content")), side) or "somebody's"
            self._take(line, message, below)

    def _take(self, line: Mapping[str, Any], message: Mapping[str, Any], below: str) -> None:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _objects(content)
        for block in blocks:
            match block.get("type"):
                case "text" if line["type"] == "user" and not line.get("isMeta"):
                    self.heard.append(_Heard(said=str(block["text"]), below=below))
                case "text" if line["type"] == "assistant":
                    self.heard.append(_Heard(answered=str(block["text"]), below=below))
                case "tool_use":
                    use = _Use(str(block["id"]), str(block["name"]), _object(block.get("input")))
                    if use.name in ("Task", "Agent") and (task := use.given.get("prompt")):
                        self.tasks.setdefault(str(task), use.id)
                    self.heard.append(_Heard(use=use, message=str(message.get("id") or use.id), below=below))
                case "tool_result":
                    text = _text_of(block.get("content"))
                    self.outcomes[str(block["tool_use_id"])] = _Outcome(text, bool(block.get("is_error")))
                case _:
                    pass


class _Codex:
    def __init__(self, lines: Iterable[Mapping[str, Any]]) -> None:
        self.heard: list[_Heard] = []
        self.outcomes: dict[str, _Outcome] = {}
        self.tasks: dict[str, str] = {}
        self.root = self.began = ""
        self._step = 0
        for line in lines:
            payload = _object(line.get("payload"))
            if line.get("type") == "session_meta":
                self.root = str(payload.get("cwd") or "")
                self.began = str(payload.get("timestamp") or line.get("timestamp") or "")
            elif line.get("type") == "response_item":
                self._take(payload)

    def _take(self, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "message" if item.get("role") == "user":
                text = _text_of(item.get("content"))
                if not text.lstrip().startswith("<"):  # what the program tells of itself, in a person's name
                    self.heard.append(_Heard(said=text))
            case "message" if item.get("role") == "assistant":
                self.heard.append(_Heard(answered=_text_of(item.get("content"))))
            case "function_call" | "custom_tool_call" | "local_shell_call":
                self.heard.append(_Heard(use=_codex_use(item), message=str(self._step)))
            case "function_call_output" | "custom_tool_call_output":
                self._step += 1
                self.outcomes[str(item.get("call_id"))] = _codex_outcome(item.get("output"))
            case _:
                pass


def _codex_use(item: Mapping[str, Any]) -> _Use:
    call = str(item.get("call_id") or item.get("id"))
    if item["type"] == "local_shell_call":
        action = _object(item.get("action"))
        return _Use(call, "shell", {name: action[name] for name in ("command", "timeout_ms") if action.get(name)})
    if item["type"] == "custom_tool_call":
        return _Use(call, str(item["name"]), {"input": item.get("input")})
    try:
        given = _object(msgspec.json.decode(str(item.get("arguments") or "{}")))
    except msgspec.DecodeError:
        given = {}
    return _Use(call, str(item["name"]), given)


_EXITED = "Process exited with code "


def _codex_outcome(output: object) -> _Outcome:
    text = _text_of(output)
    try:
        told = msgspec.json.decode(text)
    except msgspec.DecodeError:
        _, exited, rest = text.partition(_EXITED)
        code = rest.split(maxsplit=1)[0] if exited else "0"
        return _Outcome(text, code != "0" or text.startswith("apply_patch verification failed"))
    if metadata := _object(_object(told).get("metadata")):
        return _Outcome(str(_object(told).get("output", "")), metadata.get("exit_code") not in (0, None))
    return _Outcome(text, failed=False)


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if inner := _object(content).get("content"):
        return _text_of(inner)
    return "".join(str(block.get("text", "")) for block in _objects(content))
