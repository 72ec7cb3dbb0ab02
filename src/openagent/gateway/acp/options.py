"""What a person can choose about a session in an editor: its mode, its model, how much it thinks."""

from collections.abc import Sequence
from typing import Any, get_args

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import Mode, SessionInfo, SettingsChange

_MODES = {
    "plan": ("Plan", "Reads and thinks; changes nothing."),
    "ask": ("Ask", "Asks before anything is changed; what only reads runs on read-only files."),
    "edits": ("Edits", "Changes files by itself; asks before other commands."),
    "auto": ("Auto", "Works by itself inside the jail; asks before anything leaves it."),
    "full": ("Full", "Works by itself; asks only where a rule says so."),
}
_AS_CONFIGURED = "default"
_THINKING = {
    _AS_CONFIGURED: "As the model does by itself",
    "off": "Off",
    "low": "Low",
    "medium": "Medium",
    "high": "High",
}


def session_state(info: SessionInfo, models: Sequence[str]) -> dict[str, Any]:
    return {
        "modes": {
            "currentModeId": info.settings.mode,
            "availableModes": [
                {"id": mode, "name": name, "description": text} for mode, (name, text) in _MODES.items()
            ],
        },
        "configOptions": config_options(info, models),
    }


def config_options(info: SessionInfo, models: Sequence[str]) -> list[dict[str, Any]]:
    modes = [{"value": mode, "name": name, "description": text} for mode, (name, text) in _MODES.items()]
    settings, model = info.settings, info.model or info.settings.model
    known = dict.fromkeys([model, *models])
    thinking = [{"value": value, "name": name} for value, name in _THINKING.items()]
    return [
        _select("mode", "Mode", "mode", settings.mode, modes),
        _select("model", "Model", "model", model, [{"value": name, "name": name} for name in known]),
        _select("thinking", "Thinking", "thought_level", settings.thinking or _AS_CONFIGURED, thinking),
    ]


def _select(option: str, name: str, category: str, current: str, options: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "id": option,
        "name": name,
        "category": category,
        "type": "select",
        "currentValue": current,
        "options": options,
    }


def change(option: str, value: str | bool) -> SettingsChange:
    match option, value:
        case "mode", "plan" | "ask" | "edits" | "auto" | "full":
            return SettingsChange(mode=value)
        case "mode", _:
            raise OpenAgentError("invalid_argument", f"There is no mode {value!r}.", hint=f"Modes: {_listed(Mode)}.")
        case "model", str():
            return SettingsChange(model=value)
        case "thinking", "default":
            return SettingsChange(thinking=None)
        case "thinking", "off" | "low" | "medium" | "high":
            return SettingsChange(thinking=value)
        case _:
            raise OpenAgentError("invalid_argument", f"There is no option {option!r} with the value {value!r}.")


def _listed(choice: Any) -> str:
    return ", ".join(get_args(choice))
