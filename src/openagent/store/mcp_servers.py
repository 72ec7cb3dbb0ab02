"""Queries over the MCP servers that were added."""

import msgspec
from sqlalchemy import Connection, delete, insert, select

from openagent.plugins.store import McpServerRecord
from openagent.protocol.mcp import McpServerEntry
from openagent.store import rows
from openagent.store.tables import mcp_servers

_decoder = msgspec.json.Decoder(McpServerEntry)


def every(connection: Connection) -> list[McpServerRecord]:
    found = connection.execute(select(mcp_servers).order_by(mcp_servers.c.name)).mappings()
    return [
        McpServerRecord(
            name=row["name"],
            server=msgspec.structs.replace(
                _decoder.decode(row["entry"]), url=row["url"], description=row["description"]
            ),
            enabled=row["is_enabled"],
            updated_at=row["updated_at"],
        )
        for row in found
    ]


def put(connection: Connection, record: McpServerRecord) -> None:
    entry = msgspec.structs.replace(record.server, url="", description="", disabled=False)
    if connection.dialect.name == "sqlite":  # what it takes the place of may have held keys
        connection.exec_driver_sql("PRAGMA secure_delete=ON")
    connection.execute(delete(mcp_servers).where(mcp_servers.c.name == record.name))
    connection.execute(
        insert(mcp_servers),
        {
            "name": record.name,
            "url": record.server.url,
            "is_enabled": record.enabled,
            "updated_at": record.updated_at,
            "description": record.server.description,
            "entry": rows.to_json(entry),
        },
    )


def remove(connection: Connection, name: str) -> bool:
    return connection.execute(delete(mcp_servers).where(mcp_servers.c.name == name)).rowcount > 0
