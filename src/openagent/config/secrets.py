"""Which settings are secret, and how they are shown."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

_SECRET_KEYS = frozenset({"api_key", "client_secret", "secret_key"})
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password|credential", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"(?P<before>://[^/@\s]*:)[^/@\s]+(?=@)")
_TELLING_LENGTH = 16
"""Of a secret at least this long, the last four characters may be shown."""


def is_secret(key: tuple[str, ...]) -> bool:
    if key[-1] in _SECRET_KEYS:
        return True
    return len(key) > 1 and key[-2] == "headers" and bool(_SECRET_HEADER.search(key[-1]))


def secrets_of(settings: Any) -> Iterator[str]:
    """Every secret there is in a tree of settings."""

    def walk(value: Any, path: tuple[str, ...]) -> Iterator[str]:
        if isinstance(value, dict):
            for key, item in cast("dict[str, Any]", value).items():
                yield from walk(item, (*path, key))
        elif isinstance(value, str) and value and path and is_secret(path):
            yield value

    yield from walk(msgspec.to_builtins(settings), ())


def masked(key: tuple[str, ...], value: Any) -> Any:
    """The value as people may see it."""
    if isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        return {name: masked((*key, name), item) for name, item in table.items()}
    if not isinstance(value, str) or not value:
        return value
    if is_secret(key):
        return f"…{value[-4:]}" if len(value) >= _TELLING_LENGTH else "set"
    return _PASSWORD_IN_URL.sub(r"\g<before>…", value)
