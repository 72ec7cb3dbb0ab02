"""Where an instance's tests run: its tree, and a virtual environment with the packages of its day. Built once, in the
jail and with the network; what is kept is never written to again, and each use gets a copy of the tree."""

import asyncio
import contextlib
import hashlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.evals.instances import Instance
from openagent.evals.interpreters import Interpreter, find_interpreter
from openagent.evals.jailed import Confines, run_jailed
from openagent.evals.needs import Need
from openagent.evals.repositories import commit, lay_out
from openagent.filesystem import locks
from openagent.protocol.errors import OpenAgentError

_FORMAT = "4"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_YOUNGER = {"pip": "2023-07-01", "setuptools": "2023-07-01", "wheel": "2023-07-01", "atomicwrites": "2022-07-31"}
"""Young enough to install a tree in place, old enough to know what older trees ask of them. Of atomicwrites, all that
was older was taken back."""
_FIRST_DAYS = {
    "3.6": "2017-06-30",
    "3.7": "2018-10-31",
    "3.8": "2020-01-31",
    "3.9": "2021-01-31",
    "3.10": "2022-01-31",
    "3.11": "2023-01-31",
    "3.12": "2024-01-31",
    "3.13": "2025-01-31",
}
"""When packages had come to know an interpreter: those of an earlier day do not run on it."""
_BUILDING = Confines(seconds=3600.0, memory=8 << 30, processes=2048)
_WAIT_FOR_ANOTHER = 7200.0


class MissingInterpreter(OpenAgentError):
    """What the tests are run by is not on this machine, and nothing else is taken for it."""


def _missing_python(version: str) -> MissingInterpreter:
    return MissingInterpreter(
        "not_found",
        f"This machine has no Python {version}.",
        hint=f"`pyenv install {version}` or `uv python install {version}` brings it.",
    )


class Environment(Struct, frozen=True):
    """Lies in one folder. Programs in `venv` find the installed tree at `tree`, wherever a copy of it came from."""

    folder: Path
    need: Need
    interpreter: Interpreter | None

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def kept(self) -> Path:
        return self.folder / "kept"

    @property
    def venv(self) -> Path:
        return self.folder / "venv"

    @property
    def readable(self) -> tuple[Path, ...]:
        return (self.venv, self.interpreter.prefix) if self.interpreter else ()

    def variables(self) -> dict[str, str]:
        if self.interpreter is None:
            return dict(self.need.env)
        path = f"{self.venv}/bin:/usr/local/bin:/usr/bin:/bin"
        return {"PATH": path, "VIRTUAL_ENV": str(self.venv), "PYTHONDONTWRITEBYTECODE": "1", **self.need.env}

    def renew_tree(self) -> None:
        shutil.rmtree(self.tree, ignore_errors=True)
        _copy(self.kept, self.tree)

    def drop_tree(self) -> None:
        shutil.rmtree(self.tree, ignore_errors=True)


class Environments:
    def __init__(self, folder: Path, repositories: Path) -> None:
        self._folder = folder
        self._repositories = repositories

    @asynccontextmanager
    async def of(self, instance: Instance, need: Need) -> AsyncGenerator[Environment]:
        """Nobody else has it meanwhile. Raises OpenAgentError, MissingInterpreter among them, when it cannot
        be made."""
        interpreter = find_interpreter(need.python) if need.python else None
        if need.python and interpreter is None:
            raise _missing_python(need.python)
        if missing := [program for program in need.programs if shutil.which(program) is None]:
            raise MissingInterpreter("not_found", f"This machine has no {', '.join(missing)}.")
        environment = Environment(self._folder / self._name(instance, need), need, interpreter)
        environment.folder.mkdir(parents=True, exist_ok=True)
        lock = await asyncio.to_thread(locks.take, environment.folder / "lock", seconds=_WAIT_FOR_ANOTHER)
        try:
            if not (environment.folder / "ready").exists():
                await self._build(environment, instance)
            yield environment
        finally:
            await asyncio.to_thread(environment.drop_tree)
            os.close(lock)

    def _name(self, instance: Instance, need: Need) -> str:
        about = msgspec.json.encode((_FORMAT, instance.base_commit, instance.created_at, need), order="deterministic")
        return f"{instance.instance_id}-{hashlib.sha256(about).hexdigest()[:12]}"

    async def _build(self, environment: Environment, instance: Instance) -> None:
        for part in (environment.tree, environment.kept, environment.venv):
            await asyncio.to_thread(shutil.rmtree, part, ignore_errors=True)
        await asyncio.to_thread(lay_out, instance, self._repositories, environment.tree)
        if preparation := _preparation(environment):
            await self._run(environment, instance, preparation)
            await asyncio.to_thread(commit, environment.tree)
        if installation := _installation(environment, instance):
            await self._run(environment, instance, installation)
        await asyncio.to_thread(environment.tree.rename, environment.kept)
        (environment.folder / "ready").write_text(instance.instance_id)

    async def _run(self, environment: Environment, instance: Instance, script: str) -> None:
        store = self._folder / "packages"
        store.mkdir(parents=True, exist_ok=True)
        uv = _uv()
        ended = await run_jailed(
            script,
            environment.folder,
            _BUILDING,
            network=True,
            env={
                "PATH": f"{environment.venv}/bin:{uv.parent}:/usr/local/bin:/usr/bin:/bin",
                "UV_CACHE_DIR": str(store),
                "UV_LINK_MODE": "copy",
                "UV_PYTHON_DOWNLOADS": "never",
                "SETUPTOOLS_SCM_PRETEND_VERSION": _release(instance.version),
                **{name: value for name, value in os.environ.items() if name.startswith("UV_")},
                **environment.need.env,
            },
            readable=(uv.parent, *((environment.interpreter.prefix,) if environment.interpreter else ())),
            own=store,
        )
        with (environment.folder / "build.log").open("a") as log:
            log.write(ended.output)
        if ended.exit_code or ended.timed_out:
            why = "took too long" if ended.timed_out else _last_words(ended.output)
            raise OpenAgentError(
                "internal",
                f"The environment of {instance.instance_id} could not be built: {why}",
                hint=f"All of it is in {environment.folder / 'build.log'}.",
            )


def _preparation(environment: Environment) -> str:
    return "\n".join(["set -e", "cd tree", *environment.need.prepare]) if environment.need.prepare else ""


def _installation(environment: Environment, instance: Instance) -> str:
    need, interpreter = environment.need, environment.interpreter
    if interpreter is None:
        return ""
    install = f"uv pip install --quiet --python {environment.venv}/bin/python {_dates(need, instance)}"
    isolation = "" if need.isolated else "--no-build-isolation"
    packages = " ".join(map(shlex.quote, need.packages))
    what = shlex.quote(need.install)
    lines = [
        "set -e",
        f"uv venv --quiet --relocatable --python {shlex.quote(str(interpreter.program))} {environment.venv}",
        "cd tree",
        f"{install} pip setuptools wheel",
    ]
    for file in map(shlex.quote, need.requirements):
        lines += [
            f"if [ -f {file} ]; then {install} -r {file} ||"
            f" sed 's/[[:space:]]#.*//' {file} | grep -v '^[[:space:]]*\\(#\\|-\\|$\\)' |"
            f' while IFS= read -r line; do {install} "$line" || echo "left out: $line"; done; fi'
        ]
    # Where nothing is compiled each import warns anew, and some tests take warnings for errors.
    compiled = f"python -m compileall -q {environment.venv}/lib >/dev/null || true"
    if not need.install:
        return "\n".join([*lines, f"{install} {packages}" if packages else "", compiled])
    if packages and not need.isolated:
        lines.append(f"{install} {packages}")
    # What builds on the day may be too old to install a tree in place by anything but `develop`.
    in_two_steps = (
        f"{install} {isolation} {what} {packages} && name=$(python setup.py --name | tail -1) &&"
        f' uv pip uninstall --quiet --python {environment.venv}/bin/python "$name" &&'
        " python setup.py --quiet develop --no-deps"
    )
    # Programs that look for a tree on sys.path themselves, as pylint does, find it there only in this way.
    in_place = "--config-setting editable_mode=compat"
    lines.append(f"{install} {isolation} {in_place} -e {what} {packages} || {{ {in_two_steps}; }}")
    return "\n".join([*lines, compiled])


def _dates(need: Need, instance: Instance) -> str:
    found = _DAY.search(need.as_of or instance.created_at)
    if found is None:
        return ""
    day = found[0] if need.as_of else max(found[0], _FIRST_DAYS.get(need.python, ""))
    younger = {name: since for name, since in {**_YOUNGER, **need.newer}.items() if since > day}
    named = [f"--exclude-newer-package {name}={since}T23:59:59Z" for name, since in younger.items()]
    return " ".join([f"--exclude-newer {day}T23:59:59Z", *named])


def _release(version: str) -> str:
    """A tree without history cannot tell its own version."""
    number = ".".join(re.findall(r"\d+", version)) or "0"
    return f"{number}.0"


def _last_words(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"\b(error|cause|not found|No solution)\b", line, re.IGNORECASE)]
    return (telling or lines or ["it said nothing"])[-1][:300]


def _uv() -> Path:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise OpenAgentError(
            "not_found", "There is no uv on this machine, which makes environments.", hint="`pip install uv`."
        )
    return Path(found)


def _copy(source: Path, target: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(target)
    shutil.copytree(source, target, symlinks=True)
