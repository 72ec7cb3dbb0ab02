"""Structs to rows and back."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from sqlalchemy import RowMapping

from openagent.plugins.store import UsageRecord
from openagent.protocol.display import as_far_as_it_fits
from openagent.protocol.messages import ImagePart, Message, Part, ToolResultPart
from openagent.protocol.origin import Origin
from openagent.protocol.sessions import PlanItem, SessionInfo, Settings
from openagent.protocol.usage import SessionUsage, Usage

IMAGE_TOKENS = 1_600
"""About what a provider counts for an image, however many bytes it has."""
_CHARACTERS_PER_TOKEN = 4

_encoder = msgspec.json.Encoder()
_parts = msgspec.json.Decoder(list[Part])
_settings = msgspec.json.Decoder(Settings)
_usage = msgspec.json.Decoder(SessionUsage)
_plan = msgspec.json.Decoder(list[PlanItem])
_origin = msgspec.json.Decoder(Origin | None)


def to_json(value: Any) -> str:
    return _encoder.encode(value).decode()


_NOT_KEPT = ("id", "model")
"""What a row is found by, and what is worked out anew for whoever asks."""
_SESSION_COLUMNS = tuple(field for field in SessionInfo.__struct_fields__ if field not in _NOT_KEPT)
_SESSION_JSON = frozenset(("usage", "settings", "origin"))


def session_row(info: SessionInfo, before: SessionInfo | None = None) -> dict[str, Any]:
    """Everything but the plan and the open turn, which a SessionInfo does not tell; or what of it is different from
    before. A column that is written costs its indexes, too."""
    row: dict[str, Any] = {}
    for name in _SESSION_COLUMNS:
        value = getattr(info, name)
        if before is None or ((was := getattr(before, name)) is not value and was != value):
            row[name] = to_json(value) if name in _SESSION_JSON else value
    return row


def session_info(row: RowMapping) -> SessionInfo:
    return SessionInfo(
        id=row["id"],
        name=row["name"],
        cwd=row["cwd"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        settings=_settings.decode(row["settings"]),
        status=row["status"],
        message_count=row["message_count"],
        turn_count=row["turn_count"],
        queued=row["queued"],
        held=row["held"],
        usage=_usage.decode(row["usage"]),
        parent=row["parent"],
        forked_from=row["forked_from"],
        template=row["template"],
        archived=row["archived"],
        origin=_origin.decode(row["origin"]) if row["origin"] else None,
        owner=row["owner"],
        team=row["team"],
        seq=row["seq"],
    )


def sum_of_usage(texts: Iterable[str]) -> SessionUsage:
    tokens, cost_usd, requests, unpriced = Usage(), 0.0, 0, 0
    for text in texts:
        usage = _usage.decode(text)
        tokens, cost_usd, requests = tokens + usage.tokens, cost_usd + usage.cost_usd, requests + usage.requests
        unpriced += usage.unpriced
    return SessionUsage(tokens, cost_usd, requests, unpriced=unpriced)


def plan_items(text: str) -> list[PlanItem]:
    return _plan.decode(text)


def message_row(session: str, message: Message) -> dict[str, Any]:
    usage = message.usage
    parts = to_json(message.parts)
    return {
        "session_id": session,
        "number": message.number,
        "size_tokens": _size_tokens(message, parts),
        "role": message.role,
        "turn": message.turn,
        "created_at": message.created_at,
        "model": message.model,
        **(_NO_TOKENS if usage is None else _token_columns(usage)),
        "cost_usd": message.cost_usd,
        "latency_ms": message.latency_ms,
        "stop_reason": message.stop_reason,
        "parts": parts,
    }


def message(row: RowMapping) -> Message:
    return Message(
        number=row["number"],
        role=row["role"],
        parts=_parts_of(row["parts"]),
        turn=row["turn"],
        created_at=row["created_at"],
        model=row["model"],
        usage=None if row["input_tokens"] is None else usage(row),
        cost_usd=row["cost_usd"],
        latency_ms=row["latency_ms"],
        stop_reason=row["stop_reason"],
    )


def _parts_of(text: str | None) -> list[Part]:
    if text is None:
        raise msgspec.DecodeError("an event tells of a message that is not there")
    try:
        return _parts.decode(text)
    except msgspec.ValidationError:
        # Displays had no type once, and held what their tools liked: a count in place of files, for one.
        parts: list[dict[str, Any]] = msgspec.json.decode(text)
        for part in parts:
            if "display" in part:
                part["display"] = msgspec.to_builtins(as_far_as_it_fits(part["display"]))
        return msgspec.convert(parts, list[Part])


def usage_row(session: str, record: UsageRecord) -> dict[str, Any]:
    return {
        "session_id": session,
        "message_number": record.message_number,
        "at": record.at,
        "model": record.model,
        "activity": record.activity,
        **_token_columns(record.usage),
        "cost_usd": record.cost_usd,
        "owner": record.owner,
    }


def usage_record(row: Mapping[Any, Any]) -> UsageRecord:
    return UsageRecord(
        row["message_number"],
        row["model"],
        usage(row),
        row["cost_usd"],
        row["activity"],
        row["at"],
        row["latency_ms"],
        row["owner"],
    )


def usage(row: Mapping[Any, Any]) -> Usage:
    return Usage(
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cached_tokens=row["cached_tokens"],
        cache_write_tokens=row["cache_write_tokens"],
        reasoning_tokens=row["reasoning_tokens"],
        estimated=row["estimated"],
    )


def _token_columns(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "estimated": usage.estimated,
    }


_NO_TOKENS: dict[str, Any] = dict.fromkeys(_token_columns(Usage()))


def _size_tokens(message: Message, parts: str) -> int:
    images = [part for part in message.parts if isinstance(part, ImagePart)]
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            images += part.images
    characters = len(parts) - sum(len(image.data) for image in images)
    return characters // _CHARACTERS_PER_TOKEN + len(images) * IMAGE_TOKENS
