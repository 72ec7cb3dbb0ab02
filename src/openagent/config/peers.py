"""Where other agents keep what people wrote for them: Claude Code, codex, opencode, gemini-cli, GitHub Copilot."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from openagent.config import opencode

Kind = Literal["agents", "skills", "commands"]
_IN_PROJECTS: Mapping[Kind, tuple[str, ...]] = {
    "agents": (
        ".claude/agents",
        ".opencode/agent",
        ".opencode/agents",
        ".gemini/agents",
        ".codex/agents",
        ".github/agents",
        ".github/chatmodes",
    ),
    "skills": (
        ".agents/skills",
        ".claude/skills",
        ".opencode/skill",
        ".opencode/skills",
        ".gemini/skills",
        ".codex/skills",
        ".github/skills",
    ),
    "commands": (
        ".claude/commands",
        ".opencode/command",
        ".opencode/commands",
        ".gemini/commands",
        ".codex/prompts",
        ".github/prompts",
    ),
}
_AT_HOME: Mapping[Kind, tuple[str, ...]] = {
    "agents": (".claude/agents", ".gemini/agents", ".codex/agents", ".copilot/agents"),
    "skills": (".agents/skills", ".claude/skills", ".gemini/skills", ".codex/skills", ".copilot/skills"),
    "commands": (".claude/commands", ".gemini/commands", ".codex/prompts"),
}
_OPENCODE: Mapping[Kind, tuple[str, ...]] = {
    "agents": ("agent", "agents"),
    "skills": ("skill", "skills"),
    "commands": ("command", "commands"),
}
STEERING = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".gemini/settings.json",
    ".codex/hooks.json",
    ".github/hooks",
    *opencode.IN_PROJECTS,
    *_IN_PROJECTS["agents"],
    *_IN_PROJECTS["commands"],
)
"""What of theirs steers an agent in a project, and so counts only while it is trusted: skills are text alone."""

_MODELS = {
    "inherit": "",
    "default": "",
    "sonnet": "anthropic/claude-sonnet-5-5",
    "opus": "anthropic/claude-opus-4-5",
    "haiku": "anthropic/claude-haiku-4-5",
}
_FAMILIES = {
    "anthropic": re.compile(r"claude-"),
    "openai": re.compile(r"(gpt|o\d|codex)-"),
    "gemini": re.compile(r"gemini-"),
}
"""Whose model a name without a provider is."""


def model_called(name: str) -> str:
    """`sonnet`, `gpt-5` and the like with their provider; what nobody goes by stays as it is."""
    model = _MODELS.get(name, name)
    if "/" in model:
        return model
    return next((f"{family}/{model}" for family, begins in _FAMILIES.items() if begins.match(model)), model)


def in_project(folder: Path, kind: Kind) -> Iterator[Path]:
    for name in _IN_PROJECTS[kind]:
        if (place := folder / name).is_dir():
            yield place


def at_home(env: Mapping[str, str], kind: Kind) -> Iterator[Path]:
    home = Path(env.get("HOME") or os.path.expanduser("~"))
    opencode = Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"
    for place in (*(home / name for name in _AT_HOME[kind]), *(opencode / name for name in _OPENCODE[kind])):
        if place.is_dir():
            yield place
