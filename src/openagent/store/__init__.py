"""Tables, migrations and queries: a Store over SQLite or PostgreSQL.

Importing this takes a third of a second (SQLAlchemy): do it off the event loop, and never in a client.
"""

from openagent.store.sql_store import SqlStore, open_store

__all__ = ["SqlStore", "open_store"]
