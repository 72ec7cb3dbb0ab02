"""Tasks as they were last seen, for when no daemon can be asked."""

import hashlib
import os
import time
from contextlib import suppress

import msgspec
from msgspec import Struct

from openagent.filesystem.atomic_files import replace_file
from openagent.protocol import locations
from openagent.protocol.tasks import TaskInfo


class SeenTasks(Struct, frozen=True):
    at: float
    tasks: list[TaskInfo]


def seen_tasks(url: str) -> SeenTasks | None:
    try:
        with open(_place(url), "rb") as file:
            return msgspec.json.decode(file.read(), type=SeenTasks)
    except (OSError, msgspec.DecodeError):
        return None


def remember_tasks(url: str, tasks: list[TaskInfo]) -> None:
    """Best effort: whoever may not write here still sees the tasks."""
    place = _place(url)
    with suppress(OSError):
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        replace_file(place, msgspec.json.encode(SeenTasks(time.time(), tasks)), flush=False)


def _place(url: str) -> str:
    """One file for each daemon: that behind an address, or the one at home."""
    name = hashlib.sha256(url.encode()).hexdigest()[:16] if url else "home"
    return os.path.join(locations.data_home(os.environ), "seen", f"tasks-{name}.json")
