"""Which Pythons this machine has. What is missing is said, and no other is taken for it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_PATIENCE = 30.0


class Interpreter(NamedTuple):
    program: Path
    prefix: Path
    """All of it lies below."""


def find_interpreter(version: str) -> Interpreter | None:
    """`version` is major and minor: 3.9."""
    for program in _candidates(version):
        if (found := _looked_at(program, version)) is not None:
            return found
    return None


def _candidates(version: str) -> Iterator[Path]:
    """pyenv's first: of what it puts on PATH, only one version answers."""
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    fetched = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv/python")
    for pattern in (f"{version}.*", version):
        yield from sorted(pyenv.glob(f"versions/{pattern}/bin/python{version}"), reverse=True)
    yield from sorted(fetched.glob(f"*/bin/python{version}"), reverse=True)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder and (program := Path(folder) / f"python{version}").is_file():
            yield program


def _looked_at(program: Path, version: str) -> Interpreter | None:
    asked = "import sys; print('%d.%d' % sys.version_info[:2]); print(sys.base_prefix); print(sys.executable)"
    try:
        answer = subprocess.run(
            (str(program), "-Ic", asked), capture_output=True, text=True, timeout=_PATIENCE, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match answer.stdout.splitlines():
        case [found, prefix, real] if found == version and answer.returncode == 0:
            return Interpreter(Path(real), Path(prefix))
        case _:
            return None
