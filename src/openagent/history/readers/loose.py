"""JSON of other programs, of which nothing is certain: what is not as expected counts as not there."""

import json
from typing import Any, cast

import msgspec

Fields = dict[str, Any]


def fields(raw: "str | bytes | msgspec.Raw | None") -> Fields:
    """The object that is written there; an empty one for anything else."""
    if not raw:
        return {}
    try:
        return as_dict(msgspec.json.decode(raw))
    except msgspec.DecodeError:
        pass
    try:  # half of a character is what other languages write, and this decoder refuses
        text = raw if isinstance(raw, str) else bytes(raw).decode(errors="replace")
        whole = json.dumps(json.loads(text), ensure_ascii=False).encode(errors="replace")
        return as_dict(json.loads(whole))
    except (ValueError, RecursionError):
        return {}


def as_dict(value: Any) -> Fields:
    return cast("Fields", value) if isinstance(value, dict) else {}


def as_dicts(value: Any) -> list[Fields]:
    if not isinstance(value, list):
        return []
    return [cast("Fields", each) for each in cast("list[Any]", value) if isinstance(each, dict)]


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def texts(content: Any) -> list[str]:
    """Of a string, or of blocks with a `text`."""
    if isinstance(content, str):
        return [content]
    return [text for block in as_dicts(content) if (text := as_text(block.get("text")))]
