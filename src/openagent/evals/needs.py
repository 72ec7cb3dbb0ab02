"""What an instance's tests need: interpreter, packages, command. From `needs.toml` and from a person's own file."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from openagent.evals.instances import Instance
from openagent.evals.logs_of_tests import PARSERS
from openagent.protocol.errors import OpenAgentError

_NEEDS = Path(__file__).parent / "needs.toml"
_NOT_TESTS = (".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")
_PIP_INSTALL = re.compile(r"pip\d? install\s+(?:-[-\w]+\s+)*(?:-e\s+)?['\"]?(?P<what>\.(?:\[[^\]]*\])?)")

_TOX = "tox --current-env "


class Need(Struct, frozen=True, forbid_unknown_fields=True):
    python: str = ""
    """The interpreter; empty when the tests are not Python's."""
    programs: tuple[str, ...] = ()
    """That must be on PATH."""
    install: str = "."
    """What of the tree is installed in place; empty for nothing."""
    packages: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    """Files of the tree that list packages. Those of them that cannot be had are left out: many are optional."""
    as_of: str = ""
    """The day whose packages are taken; that of the instance when empty."""
    newer: Mapping[str, str] = {}
    isolated: bool = True
    """Whether a build gets an environment of its own, rather than the packages above."""
    prepare: tuple[str, ...] = ()
    """Lines of bash, in the tree, before anything is built. They may use the network."""
    rebuild: str = ""
    """Builds again, in place, what a patch may have changed that is not Python."""
    test: str = "pytest -rA"
    whole: bool = False
    """The command names its tests itself."""
    parser: str = "pytest"
    names: Literal["files", "modules"] = "files"
    env: Mapping[str, str] = {}

    def command(self, instance: Instance) -> str:
        return self.test if self.whole else " ".join([self.test, *self._named(instance)])

    def _named(self, instance: Instance) -> list[str]:
        files = [after for _, after in instance.tested_files() if not after.endswith(_NOT_TESTS)]
        if self.names == "files":
            return files
        return [file.removesuffix(".py").removeprefix("tests/").replace("/", ".") for file in files]


def need_of(instance: Instance, own: Mapping[str, Mapping[str, Any]]) -> Need:
    """`own` is what a person says of instances, repositories or all (`*`), and counts before what we know."""
    fields: dict[str, Any] = {}
    for table in tomllib.loads(_NEEDS.read_text())["need"]:
        repo, since = table.pop("repo"), table.pop("from", "")
        if repo == instance.repo and _number(since) <= _number(instance.version):
            fields |= table
    known = bool(fields)
    for key in ("*", instance.repo, instance.instance_id):
        if key in own:
            known = True
            fields |= _as_ours(own[key])
    if not known:
        raise OpenAgentError(
            "not_found",
            f"Nothing is known of what the tests of {instance.repo} {instance.version} need.",
            hint="Say it in a JSON file given with `--needs`: python, install, packages, test, parser.",
        )
    try:
        need = msgspec.convert(fields, Need)
    except msgspec.ValidationError as problem:
        raise OpenAgentError(
            "invalid_argument", f"What {instance.instance_id} needs cannot be read: {problem}."
        ) from None
    if need.parser not in PARSERS:
        raise OpenAgentError(
            "invalid_argument", f"There is no parser {need.parser!r}.", hint=f"Known: {', '.join(PARSERS)}."
        )
    return need


def read_own(file: Path | None) -> dict[str, dict[str, Any]]:
    if file is None:
        return {}
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError) as problem:
        raise OpenAgentError("invalid_argument", f"{file} cannot be read: {problem}.") from None


def _as_ours(given: Mapping[str, Any]) -> dict[str, Any]:
    """A file may also say it as records of the official harness do: install lines, and the whole command."""
    fields = dict(given)
    if str(fields.get("test", "")).startswith(_TOX):
        # tox in the current environment does not find a virtual one's packages; the same tests follow from the patch.
        del fields["test"]
    if isinstance(lines := fields.get("install"), list):
        written = cast("list[str]", lines)
        found = [match["what"] for line in written if (match := _PIP_INSTALL.search(line))]
        fields["install"] = found[0] if found else ""
        fields.setdefault("whole", "test" in fields)
    if (more := fields.pop("environment", None)) is not None and more:
        fields["packages"] = more
    return fields


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
