"""The settings there are, and where each came from."""

from typing import Any

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST


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


class ConfigChanged(Struct, frozen=True):
    """A setting that was written, or taken out."""

    key: str
    """The setting, as the configuration names it."""
    file: str
    """The file that was changed."""
    value: Any = None
    """What stands there now; null when it was taken out."""


class ConfigSet(Op[ConfigChanged], tag="config.set", needs="admin", reach="whole", routes=POST("/api/config")):
    """Write one setting into a file, or take it out. Everything else in the file stays as it is.

    The file is checked first: what would not be read is not written. Secrets are refused; the vault keeps those.
    """

    key: str
    """The setting, as the configuration names it: `budget.day_usd`."""
    value: str | None = None
    """As it would stand in the file, or a bare word, or words with commas for a list. Null: taken out."""
    cwd: str = ""
    """The project whose own file is meant; empty: the person's."""
