"""The settings there are, and where each came from."""

from typing import Any

from msgspec import Struct

from openagent.protocol.op import ReadingOp
from openagent.protocol.routes import GET


class ConfigValue(Struct, frozen=True):
    """A setting."""

    key: str
    """The setting, as the configuration names it."""
    value: Any
    """What it is set to."""
    source: str
    """default, a file with its line, or an environment variable. Secrets are masked."""


class ConfigList(Struct, frozen=True):
    """The settings."""

    values: list[ConfigValue]
    """Every setting there is."""
    files: list[str] = []
    """The files that were looked at and exist."""
    notes: list[str] = []
    """What is no error and still good to know, such as what of an untrusted project's file was left out."""


class ConfigShow(ReadingOp[ConfigList], tag="config.show", needs="admin", reach="whole", routes=GET("/api/config")):
    """The settings, and where each came from."""

    cwd: str = ""
    """The project whose settings count too; empty: none."""
