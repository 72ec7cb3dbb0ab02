"""Queries over templates."""

import time
from typing import Any

import msgspec
from sqlalchemy import Connection, RowMapping, delete, insert, select

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.templates import Template
from openagent.store import rows
from openagent.store.tables import agent_templates as table

_names = msgspec.json.Decoder(list[str])


def every(connection: Connection) -> list[Template]:
    return [_template(row) for row in connection.execute(select(table).order_by(table.c.name)).mappings()]


def save(connection: Connection, template: Template, replace: bool) -> None:
    removed = connection.execute(delete(table).where(table.c.name == template.name)).rowcount
    if removed and not replace:
        raise OpenAgentError(
            "conflict",
            f"There is already a template {template.name!r} in the database.",
            hint="Choose another name, or replace it.",
        )
    connection.execute(insert(table), _row(template))


def remove(connection: Connection, name: str) -> None:
    if connection.execute(delete(table).where(table.c.name == name)).rowcount == 0:
        raise OpenAgentError("not_found", f"There is no template {name!r} in the database.")


def _row(template: Template) -> dict[str, Any]:
    provider, slash, model = template.model.partition("/")
    if not slash:  # `auto`, or none
        provider, model = "", template.model
    return {
        "name": template.name,
        "role": template.role,
        "description": template.description,
        "system_prompt": template.prompt,
        "preferred_provider": provider,
        "preferred_model": model,
        "tools": None if template.tools is None else rows.to_json(template.tools),
        "disabled_tools": rows.to_json(template.disabled_tools) if template.disabled_tools else None,
        "mcps": None if template.mcp_servers is None else rows.to_json(template.mcp_servers),
        "mode": template.mode,
        "max_steps": template.max_steps,
        "timeout": template.timeout,
        "budget_usd": template.budget_usd,
        "replace_prompt": template.replace_prompt,
        "label": template.label,
        "updated_at": time.time(),
    }


def _template(row: RowMapping) -> Template:
    provider, model = row["preferred_provider"], row["preferred_model"]
    return Template(
        name=row["name"],
        description=row["description"],
        role=row["role"],
        prompt=row["system_prompt"],
        model=f"{provider}/{model}" if provider else model,
        tools=None if row["tools"] is None else _names.decode(row["tools"]),
        disabled_tools=_names.decode(row["disabled_tools"] or "[]"),
        mcp_servers=None if row["mcps"] is None else _names.decode(row["mcps"]),
        mode=row["mode"],
        max_steps=row["max_steps"],
        timeout=row["timeout"],
        budget_usd=row["budget_usd"],
        replace_prompt=row["replace_prompt"],
        label=row["label"],
    )
