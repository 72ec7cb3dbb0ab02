"""Which dialect a model is spoken to in, by its name.

Only where a vendor's own agent was seen to offer its models these tools: everybody else gets our own, which are the
shortest. docs/decisions/0038 has the reasons.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from openagent.dialects.anthropic import ANTHROPIC
from openagent.dialects.claude_code import CLAUDE_CODE
from openagent.dialects.codex import CODEX
from openagent.dialects.dialect import Dialect
from openagent.dialects.gemini import GEMINI
from openagent.dialects.opencode import OPENCODE

OWN = Dialect("own", ())
DIALECTS: Mapping[str, Dialect] = {each.name: each for each in (OWN, CLAUDE_CODE, CODEX, GEMINI, OPENCODE, ANTHROPIC)}
"""In the order in which a call is looked up that is none of the dialect spoken."""
TRANSLATED = frozenset(term.tool for dialect in DIALECTS.values() for term in dialect.terms)
"""The tools of ours that some dialect has another name for."""
_BEFORE = r"(?:.*[/.@:])?"
_FAMILIES = (
    (re.compile(_BEFORE + r"claude-"), CLAUDE_CODE),
    (re.compile(_BEFORE + r"(?:gpt-(?:4\.1|[5-9]|\d\d|oss)|o[3-9](?:-|$)|codex-)"), CODEX),
    (re.compile(_BEFORE + r"gemini-"), GEMINI),
)
_TAKES_TEXT = re.compile(_BEFORE + r"(?:gpt-(?:[5-9]|\d\d)|codex-)(?!.*-chat)")
_HAS_VENDOR_TOOLS = re.compile(_BEFORE + r"claude-(?!3|2|instant)")


def dialect_of(model: str, chosen: str | None, by_model: Mapping[str, str]) -> Dialect:
    """What the settings say of the model, or of its provider; else what its family is known to know."""
    for pattern, name in by_model.items():
        if fnmatchcase(model, pattern):
            return DIALECTS[name]
    if chosen is not None:
        return DIALECTS[chosen]
    return next((dialect for family, dialect in _FAMILIES if family.match(model)), OWN)


def takes_text(model: str) -> bool:
    """Whether it calls tools that take plain text, where its wire has such."""
    return bool(_TAKES_TEXT.match(model))


def has_vendor_tools(model: str) -> bool:
    """Whether it knows the tools that Anthropic's API defines itself."""
    return bool(_HAS_VENDOR_TOOLS.match(model))
