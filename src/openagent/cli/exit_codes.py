"""What the exit code of a command says: the one list of them.

Imports nothing: `openagent run` lives on this too.
"""

DONE, FAILED, USAGE, NEEDS_ANSWER, LIMIT, NO_MODEL = range(6)
CANCELLED, READER_LEFT = 130, 141

MEANINGS = {
    DONE: "done",
    FAILED: "failed",
    USAGE: "the command line was wrong; nothing was done",
    NEEDS_ANSWER: "stopped at a question that nobody was there to answer",
    LIMIT: "a limit was hit: steps, time, budget, quota",
    NO_MODEL: "no model is set up, or its key or login does not work",
    CANCELLED: "interrupted, with Ctrl+C or from another client",
    READER_LEFT: "whoever read the output left, as `head` does; a turn that ran was stopped",
}
_BY_ERROR = {
    "auth_failed": NO_MODEL,
    "model_not_found": NO_MODEL,
    "budget_exceeded": LIMIT,
    "quota_exhausted": LIMIT,
    "rate_limited": LIMIT,
    "usage": USAGE,
}
LIMITS = ("step_limit", "time_limit", "budget", "loop", "max_tokens")
"""Reasons for which a turn ended."""


def of_error(code: str) -> int:
    return _BY_ERROR.get(code, FAILED)


def listed() -> str:
    """For the end of a help text."""
    return "\n".join(f"  {code:<4} {meaning}" for code, meaning in MEANINGS.items())
