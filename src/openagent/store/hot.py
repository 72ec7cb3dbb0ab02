"""The statements that every step runs, at the price of the driver alone."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Delete, Insert, Update

Row = Mapping[str, Any]
Written = tuple[str, Callable[[Row], Any]]
"""SQL, and how the driver wants a row: as it is, or as a list in the order of the SQL's parameters."""


class HotStatement:
    """SQLAlchemy writes the SQL, once for each database and set of columns; the driver's own cursor runs it in the
    connection's transaction. Values reach the driver as they are, and its errors come as they are."""

    def __init__(self, statement: Insert | Update | Delete) -> None:
        # Inline: nobody asks for the keys that the database gives to new rows.
        self._statement = statement.inline() if isinstance(statement, Insert) else statement
        self._written: dict[tuple[str, ...], Written] = {}

    def run(self, connection: Connection, rows: Sequence[Row]) -> int:
        """All rows have the same columns. Returns how many were changed."""
        variant = (connection.dialect.name, *rows[0])
        sql, arranged = self._written.get(variant) or self._write(connection, variant)
        cursor = connection.connection.cursor()
        if len(rows) == 1:
            cursor.execute(sql, arranged(rows[0]))
        else:
            cursor.executemany(sql, [arranged(row) for row in rows])
        changed = cursor.rowcount
        cursor.close()
        return changed

    def _write(self, connection: Connection, variant: tuple[str, ...]) -> Written:
        compiled = self._statement.compile(dialect=connection.dialect, column_keys=list(variant[1:]))
        order: Sequence[str] | None = getattr(compiled, "positiontup", None)

        def arranged(row: Row) -> Any:
            return row if order is None else [row[name] for name in order]

        self._written[variant] = str(compiled), arranged
        return self._written[variant]
