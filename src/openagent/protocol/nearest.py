"""What somebody meant whose data do not fit: the nearest right word."""

import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

_WRONG_WORD = re.compile(r"^Invalid enum value '(?P<word>.*)' - at `\$(?P<path>[.\w]*)`$", re.DOTALL)
_NO_SUCH_FIELD = re.compile(
    r"^Object contains unknown field `(?P<word>[^`]*)`(?: - at `\$(?P<path>[.\w]*)`)?$", re.DOTALL
)


def nearest(problem: Exception, kind: Any) -> str:
    """` Did you mean 'full'?`, or nothing. `problem` is msgspec's, of data that should have been of this kind."""
    text = str(problem)
    if found := _WRONG_WORD.match(text):
        words = [word for word in _words(_at(kind, found["path"])) if isinstance(word, str)]
    elif found := _NO_SUCH_FIELD.match(text):
        words = [name for option in _options(_at(kind, found["path"])) for name in _fields(option)]
    else:
        return ""
    from difflib import get_close_matches  # only for those who err

    near = get_close_matches(found["word"], words, n=1)
    if near:
        return f" Did you mean {near[0]!r}?"
    return f" There are: {', '.join(words)}." if words else ""


def _at(kind: Any, path: str | None) -> Any:
    for name in (path or "").split(".")[1:]:
        kind = next((hints[name] for each in _options(kind) if name in (hints := _fields(each))), None)
    return kind


def _options(kind: Any) -> list[Any]:
    return [each for option in get_args(kind) for each in _options(option)] if get_args(kind) else [kind]


def _fields(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind) if hasattr(kind, "__struct_fields__") else {}


def _words(kind: Any) -> list[Any]:
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    return [word for option in get_args(kind) for word in _words(option)]
