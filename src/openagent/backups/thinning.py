"""Which of the daily backups have had their time."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from openagent.protocol.backups import BackupInfo

_ALL_KEPT = timedelta(days=7)


def outlived(backups: Sequence[BackupInfo], now: datetime, *, keep_days: int, max_bytes: int) -> list[BackupInfo]:
    """Those made by hand, and those that cannot be read, are nobody's to take away. The newest daily one stays."""
    daily = sorted((each for each in backups if each.kind == "daily" and not each.problem), key=_age, reverse=True)
    gone: list[BackupInfo] = []
    kept: list[BackupInfo] = []
    days: set[str] = set()
    for each in daily:
        day = _made(each).date().isoformat()
        too_old = now - _made(each) > timedelta(days=keep_days)
        (gone if kept and (too_old or day in days) else kept).append(each)
        days.add(day)
    for each in (*_between_weeks(kept, now), *reversed(kept[1:])):
        if sum(left.bytes for left in kept) <= max_bytes:
            break
        if each in kept:
            kept.remove(each)
            gone.append(each)
    return gone


def _between_weeks(kept: Sequence[BackupInfo], now: datetime) -> list[BackupInfo]:
    """Oldest first: those older than a week that are not the newest of theirs."""
    weeks: set[tuple[int, int]] = set()
    found: list[BackupInfo] = []
    for each in kept:
        if now - _made(each) <= _ALL_KEPT:
            continue
        week = _made(each).isocalendar()[:2]
        if week in weeks:
            found.append(each)
        weeks.add(week)
    return found[::-1]


def _age(backup: BackupInfo) -> float:
    return backup.created_at


def _made(backup: BackupInfo) -> datetime:
    return datetime.fromtimestamp(backup.created_at)
