"""The settings there are, and where each came from."""

from typing import Any, Literal

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


SettingKind = Literal["text", "number", "whole", "switch", "choice", "list", "table", "other"]


class SettingInfo(Struct, frozen=True, omit_defaults=True):
    """What there is to know of a setting before it is set."""

    name: str
    """In its table."""
    about: str
    """What it is for."""
    wanted: str
    """What it must be, in words."""
    kind: SettingKind
    """Which sort of field fits it. table: names of one's own, each with a text. other: nothing but a file does."""
    choices: list[str] = []
    """The words it may be."""
    lists: bool = False
    """In place of one of the words, a list."""
    least: float | None = None
    """Of a number: no less."""
    most: float | None = None
    """Of a number: no more."""
    default: Any = None
    """What it is where nobody sets it; null: nothing."""
    required: bool = False
    """Its table cannot do without it."""
    secret: bool = False
    """It is not written into files: the vault keeps it, or a variable."""
    at_start: bool = False
    """It counts from the daemon's next start on."""


class SettingTable(Struct, frozen=True, omit_defaults=True):
    """Settings that stand together."""

    name: str
    """As the file has it, such as `jail` or `providers.NAME`; empty: the top of the file."""
    about: str
    """What they are for."""
    settings: list[SettingInfo]
    """Each, in the order of the documentation."""
    names: str = ""
    """There may be many, each under a name of one's own: what stands for that name in `name`."""
    listed: bool = False
    """There may be many, one after another."""


class SettingTables(Struct, frozen=True):
    """What can be set."""

    tables: list[SettingTable]
    """Each table."""


class ConfigDescribe(
    ReadingOp[SettingTables],
    tag="config.describe",
    needs="read",
    reach="open",
    waits=True,
    routes=GET("/api/config/describe"),
):
    """What can be set: what each setting is for, what it must be, and its default."""


class ConfigChanged(Struct, frozen=True):
    """A setting that was written, or taken out."""

    key: str
    """The setting, as the configuration names it."""
    file: str
    """The file that was changed."""
    value: Any = None
    """What stands there now; null when it was taken out."""
    at_start: bool = False
    """It counts from the daemon's next start on."""


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
