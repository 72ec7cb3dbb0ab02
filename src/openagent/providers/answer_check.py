"""What no provider can mean: numbers of tokens that are none, and answers that say nothing."""

import logging

import msgspec

from openagent.plugins.provider import Answer, EmptyAnswer
from openagent.protocol.messages import TextPart, ToolCallPart
from openagent.protocol.usage import Usage

_log = logging.getLogger(__name__)

Count = int | float | None
"""As servers send it."""
MOST_TOKENS = 1_000_000_000
"""No request has more, by far."""
_IMPOSSIBLE = -1


def tokens(count: Count) -> int:
    """A whole number; `_IMPOSSIBLE` when it cannot be one of tokens."""
    if count is None:
        return 0
    return int(count) if 0 <= count <= MOST_TOKENS else _IMPOSSIBLE


def total(*counts: int) -> int:
    return _IMPOSSIBLE if _IMPOSSIBLE in counts else sum(counts)


def sound(answer: Answer, provider: str, *, after_results: bool = False) -> Answer:
    """The answer with a usage that can be booked. Raises `EmptyAnswer` for one that neither says nor asks anything,
    unless it says why, or comes after the results of calls: models end their work without a word, and asked once more
    they do it again."""
    usage = _bookable(answer.usage, provider)
    is_the_end = after_results and answer.stop_reason == "end"
    if answer.stop_reason in ("end", "tool_calls") and not is_the_end and not _says_something(answer):
        raise EmptyAnswer(
            f"{provider} sent a complete answer with nothing in it.",
            hint="What was done before is kept: send a message to go on, or choose another model.",
            usage=usage,
        )
    return answer if usage is answer.usage else msgspec.structs.replace(answer, usage=usage)


def _says_something(answer: Answer) -> bool:
    return any(
        isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and part.text.strip()) for part in answer.parts
    )


def _bookable(usage: Usage, provider: str) -> Usage:
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )
    of_input = usage.cached_tokens + usage.cache_write_tokens
    if all(0 <= count <= MOST_TOKENS for count in counts) and of_input <= usage.input_tokens:
        return usage
    _log.warning("%s reported impossible token counts, counting here instead", provider)
    return Usage(estimated=True)
