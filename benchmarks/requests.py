"""What goes over the wire: how large the part is that every request begins with, and how much of it stays the same."""

import itertools

import msgspec

from benchmarks.effort import Effort
from benchmarks.model import usual_script
from benchmarks.rows import Row, row
from benchmarks.stage import stage_with
from openagent.telemetry.counting import exact_tokens

_CLOSING = "]}"
"""Ends the list of messages and the request: the only bytes after a request's last message."""


def fixed_part(effort: Effort) -> list[Row]:
    del effort
    with stage_with(usual_script()) as (stage, model):
        stage.run("T1")
        body = model.requests()[0].json()
    system = body["messages"][0]["content"]
    tools = msgspec.json.encode(body["tools"]).decode()
    parts = f"{len(system.encode())} system prompt, {len(tools.encode())} schemas of {len(body['tools'])} tools"
    return [
        row("first request's fixed part, tokens", exact_tokens(system) + exact_tokens(tools), "tokens", at_most=3_999),
        row("first request's fixed part, bytes", len((system + tools).encode()), "bytes", note=parts),
    ]


def reused_prefix(effort: Effort) -> list[Row]:
    del effort
    with stage_with(usual_script()) as (stage, model):
        stage.run("T3")
        bodies = [request.body for request in model.requests()]
    shares = [share_reused(before, after) for before, after in itertools.pairwise(bodies)]
    return [
        row("request prefix reused, least of all steps", 100 * min(shares), "%", at_least=100),
        row("requests compared", len(bodies), ""),
    ]


def share_reused(before: str, after: str) -> float:
    """Of a request's bytes up to the end of its last message, how many the next request begins with, unchanged."""
    assert before.endswith(_CLOSING)
    kept = before.removesuffix(_CLOSING)
    if after.startswith(kept):
        return 1.0
    return next(place for place, pair in enumerate(zip(kept, after, strict=False)) if pair[0] != pair[1]) / len(kept)
