"""Which sessions are a tenant's, as a condition of a query. `plugins/tenant.py` says the same of what is in memory."""

import time
from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, func, or_, select

from openagent.plugins.tenant import Tenant
from openagent.store.tables import session_guests, sessions


def of_tenant(tenant: Tenant) -> ColumnElement[bool]:
    there = _in_folders(tenant.folders)
    if not tenant.person:
        return or_(there, sessions.c.team.in_(tenant.teams)) if tenant.teams else there
    invited = select(session_guests.c.session_id).where(
        session_guests.c.person == tenant.person, session_guests.c.expires_at > time.time()
    )
    own = and_(there, sessions.c.owner == tenant.person)
    return or_(own, sessions.c.team.in_(tenant.teams), sessions.c.id.in_(invited))


def _in_folders(folders: Sequence[str]) -> ColumnElement[bool]:
    # Not `like`, for which SQLite takes small letters for large ones.
    begins = [func.substr(sessions.c.cwd, 1, len(folder) + 1) == f"{folder}/" for folder in map(_bare, folders)]
    return or_(sessions.c.cwd.in_(list(folders)), *begins)


def _bare(folder: str) -> str:
    return folder.rstrip("/")
