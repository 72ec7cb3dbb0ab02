"""Answers with everything in them."""

from typing import Any, cast

import msgspec
from msgspec import UNSET, Struct


def encode_full(value: object) -> bytes:
    return msgspec.json.encode(in_full(value))


def in_full(value: Any) -> Any:
    """With the fields that are as they are by default, which the protocol leaves out: whoever reads an answer over HTTP
    need not know the defaults."""
    if isinstance(value, Struct):
        config = value.__struct_config__
        told = {} if config.tag is None else {config.tag_field: config.tag}
        fields = ((field.encode_name, getattr(value, field.name)) for field in msgspec.structs.fields(value))
        return told | {name: in_full(each) for name, each in fields if each is not UNSET}
    if isinstance(value, dict):
        return {name: in_full(each) for name, each in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [in_full(each) for each in cast("list[Any]", value)]
    return value
