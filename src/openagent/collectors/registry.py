"""The collectors that come with the program: every file of this room with a `collector` in it."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules

from openagent import collectors as room
from openagent.plugins.collector import Collector


def built_in_collectors(redact: Callable[[str], str] = str) -> Mapping[str, Collector]:
    """Summaries go through `redact` before they are kept."""
    files = (import_module(f"{room.__name__}.{each.name}") for each in iter_modules(room.__path__))
    made: list[Collector] = [file.collector(redact) for file in files if hasattr(file, "collector")]
    return {each.name: each for each in made}
