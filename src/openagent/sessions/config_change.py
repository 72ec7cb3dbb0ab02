"""One setting written into a file, or taken out of it, after it was checked: `config.set`; what there is to set."""

import asyncio
import re
import shutil
import tomllib
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from openagent.config.cache import ConfigCache
from openagent.config.describe import tables
from openagent.config.edit import Value, set_value, unset_value
from openagent.config.load import load
from openagent.config.problems import ConfigError
from openagent.config.secrets import is_secret
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.protocol import locations
from openagent.protocol.configuration import ConfigChanged, ConfigDescribe, ConfigSet, SettingTables
from openagent.protocol.errors import OpenAgentError

_PART = re.compile(r'[A-Za-z0-9_-]+|"[^"\\\x00-\x1f\x7f]+"')
_KEY = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")


class ConfigChange:
    def __init__(self, configs: ConfigCache) -> None:
        self._configs = configs
        self._writing = asyncio.Lock()

    def handlers(self) -> list[Handler]:
        return [ConfigSet.handled_by(self._set), ConfigDescribe.handled_by(self._describe)]

    async def _describe(self, connection: Connection, op: ConfigDescribe) -> SettingTables:
        return SettingTables(await asyncio.to_thread(tables))

    async def _set(self, connection: Connection, op: ConfigSet) -> ConfigChanged:
        async with self._writing:
            try:
                return await asyncio.to_thread(self._change, op)
            except (OSError, ValueError) as problem:
                raise OpenAgentError("config_error", f"The settings cannot be written: {problem}.") from None

    def _change(self, op: ConfigSet) -> ConfigChanged:
        path = _path(op.key)
        file = self._file(op.cwd)
        waits = self._configs.waits_for_a_start(op.key)
        if op.value is None:
            unset_value(file, path)
            self._configs.forget()
            return ConfigChanged(op.key, str(file), at_start=waits)
        if is_secret(path) and "${" not in op.value:
            raise OpenAgentError(
                "invalid_argument",
                f"{op.key} is a secret, and the file can be read by other programs.",
                hint="`openagent login PROVIDER` keeps it encrypted; or write ${NAME} to take it from the environment.",
            )
        value = self._fitting(file, path, op.value)
        set_value(file, path, value)
        self._configs.forget()
        return ConfigChanged(op.key, str(file), value, at_start=waits)

    def _file(self, cwd: str) -> Path:
        if cwd:
            if not Path(cwd).is_absolute() or not Path(cwd).is_dir():
                raise OpenAgentError("invalid_argument", f"{cwd} is no folder here.")
            return Path(cwd) / ".openagent" / "config.toml"
        return Path(locations.config_file(self._configs.environment({})))

    def _fitting(self, file: Path, path: tuple[str, ...], given: str) -> Value:
        """The first way to read it that the whole file is right with."""
        refused: ConfigError | None = None
        for value in _readings(given):
            try:
                self._try(file, path, value)
            except ConfigError as problem:
                refused = refused or problem
            else:
                return value
        assert refused is not None
        raise refused

    def _try(self, file: Path, path: tuple[str, ...], value: Value) -> None:
        with TemporaryDirectory(prefix="openagent-config-") as folder:
            copy = Path(folder) / "config.toml"
            if file.exists():
                shutil.copyfile(file, copy)
            set_value(copy, path, value)
            try:
                load({**self._configs.environment({}), "OPENAGENT_CONFIG": str(copy)})
            except ConfigError as problem:
                raise ConfigError(
                    [
                        type(each)(type(each.source)(str(file), each.source.line, each.source.variable), each.message)
                        if each.source.file == str(copy)
                        else each
                        for each in problem.problems
                    ]
                ) from None


def _path(key: str) -> tuple[str, ...]:
    """`prices."openai/gpt-5".input` as its parts."""
    if not _KEY.fullmatch(key):
        raise OpenAgentError(
            "invalid_argument", f"{key!r} is no name of a setting.", hint="`openagent config show` lists them."
        )
    return tuple(part.strip('"') for part in _PART.findall(key))


def _readings(given: str) -> Iterator[Value]:
    try:
        document: dict[str, Any] = tomllib.loads(f"value = {given}")
    except (tomllib.TOMLDecodeError, RecursionError):
        document = {}
    read = document["value"] if len(document) == 1 else None
    if isinstance(read, str | bool | int) or (isinstance(read, float) and isfinite(read)):
        yield read
    elif isinstance(read, list):
        yield [str(each) for each in read]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    yield given
    yield [part.strip() for part in given.split(",") if part.strip()]
