"""What is wrong with a configuration, all of it at once."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from openagent.config.source import Source
from openagent.protocol.errors import OpenAgentError


class Problem(Struct, frozen=True):
    source: Source
    message: str
    """A sentence without its full stop."""
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.source}:{self.column}" if self.column else str(self.source)
        return f"{place}: {self.message}" + ("" if self.message.endswith("?") else ".")


class ConfigError(OpenAgentError):
    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        if len(self.problems) == 1:
            message = f"The configuration has a problem: {self.problems[0]}"
        else:
            listed = "\n".join(f"  {problem}" for problem in self.problems)
            message = f"The configuration has {len(self.problems)} problems:\n{listed}"
        super().__init__(
            "config_error", message, hint="Correct it and try again; `openagent help configuration` lists every key."
        )


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest known word, or an empty text when none is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=3)
    swapped_letters = [candidate for candidate in near if sorted(candidate) == sorted(word)]
    return next(iter(swapped_letters + near), "")
