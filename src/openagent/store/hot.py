"""The statements that every step runs, at the price of the driver alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Delete, Insert, Update

Row = Mapping[str, Any]
Written = tuple[str, Callable[[Row], Any]]
"""SQL, and how the driver wants a row: as it is, or as a list in the order of the SQL's parameters."""

_ROWS_IN_ONE = 32


class HotStatement:
    """SQLAlchemy writes the SQL, once for each database and set of columns; the driver's own cursor runs it in the
    connection's transaction. Values reach the driver as they are, and its errors come as they are."""

    def __init__(self, statement: Insert | Update | Delete) -> None:
        # Inline: nobody asks for the keys that the database gives to new rows.
        self._statement = statement.inline() if isinstance(statement, Insert) else statement
        self._written: dict[tuple[str, ...], Written] = {}

    def run(self, connection: "Connection | Gathering", rows: Sequence[Row]) -> int:
        """All rows have the same columns. Returns how many were changed."""
        if isinstance(connection, Gathering):
            return connection.add(self, rows)
        dialect = connection.dialect.name
        variant = (dialect, *rows[0])
        sql, arranged = self._written.get(variant) or self._write(connection, variant)
        cursor = connection.connection.cursor()
        if len(rows) == 1:
            cursor.execute(sql, arranged(rows[0]))
            changed = cursor.rowcount
        elif dialect == "sqlite" and isinstance(self._statement, Insert):
            changed = 0
            for joined, values in _many_at_once(sql, [arranged(row) for row in rows]):
                cursor.execute(joined, values)
                changed += cursor.rowcount
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


def _many_at_once(insert: str, rows: Sequence[list[Any]]) -> Iterator[tuple[str, list[Any]]]:
    """The driver lets go of the interpreter for every row that it is given one by one, and a busy event loop is slow to
    give it back."""
    begin, _, values = insert.rpartition("VALUES ")
    for start in range(0, len(rows), _ROWS_IN_ONE):
        some = rows[start : start + _ROWS_IN_ONE]
        yield f"{begin}VALUES {', '.join([values] * len(some))}", [value for row in some for value in row]


class NotAllChanged(Exception):
    """By a statement for several sessions."""


class Gathering:
    """Takes rows for the same statements from several sessions, to run each statement once for all of them."""

    def __init__(self) -> None:
        self._gathered: dict[tuple[HotStatement, tuple[str, ...]], list[Row]] = {}

    def add(self, statement: HotStatement, rows: Sequence[Row]) -> int:
        self._gathered.setdefault((statement, tuple(rows[0])), []).extend(rows)
        return len(rows)

    def run(self, connection: Connection) -> None:
        for (statement, _), rows in self._gathered.items():
            if statement.run(connection, rows) != len(rows):
                raise NotAllChanged
