"""What the names of OpenAI's models tell about the options they take."""

import re

from openagent.plugins.provider import ModelRequest

_REASONS = re.compile(r"(.*/)?(o\d|gpt-[5-9]|codex)(?!.*-chat)")
_NEVER_REASONS = re.compile(r"(.*/)?(gpt-[34]|chatgpt|gpt-.*-chat)")
_HAS_MINIMAL = re.compile(r"(.*/)?gpt-5(-mini|-nano)?(-\d{4}.*)?$")


def always_reasons(model: str) -> bool:
    """Such models take no temperature."""
    return bool(_REASONS.match(model))


def may_reason(model: str) -> bool:
    """True for names we do not know: other vendors serve these formats too."""
    return not _NEVER_REASONS.match(model)


def reasoning_effort(request: ModelRequest) -> str | None:
    if request.thinking is None or not may_reason(request.model):
        return None
    if request.thinking != "off":
        return request.thinking
    if not always_reasons(request.model):
        return None
    return "minimal" if _HAS_MINIMAL.match(request.model) else "none" if "gpt-" in request.model else "low"
