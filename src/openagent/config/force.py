"""What stands in the files, and does not hold in the daemon that runs."""

from collections.abc import Iterator

from openagent.config.load import Config
from openagent.config.settings import AT_START, ONE_FOR_ALL


def not_in_force(shown: Config, daemons: Config, at_start: Config) -> list[str]:
    """In sentences. `shown` are the settings of a workspace, `daemons` those that all sessions share as they stand now,
    and `at_start` the same as the daemon read them when it started."""
    now, then = _values(daemons), _values(at_start)
    return list(_notes(shown, now, then))


def is_one_of(key: str, names: frozenset[str]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in names)


def _notes(shown: Config, now: dict[str, object], then: dict[str, object]) -> Iterator[str]:
    for key, value in _values(shown).items():
        waits = is_one_of(key, AT_START)
        holds = (then if waits else now).get(key)
        if value == holds:
            continue
        source = shown.sources[key]
        if value == now.get(key):
            yield (
                f"`{key}` ({source}) is not in force yet: the daemon reads it when it starts. "
                "`openagent stop`, and the next command starts it anew."
            )
        else:
            yield (
                f"`{key}` ({source}) is not in force: all sessions share one, from your own file or the environment of "
                "the daemon."
            )


def _values(config: Config) -> dict[str, object]:
    return {each.key: each.value for each in config.values() if is_one_of(each.key, ONE_FOR_ALL)}
