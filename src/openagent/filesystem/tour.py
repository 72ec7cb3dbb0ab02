"""The guided tour: a scripted model that repairs a bug in a sample project with real tools."""

import tempfile
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

PROMPT = "A test of this small library fails. Find out why, fix it, and prove that it is fixed."
MODEL = "demo/tour"
LABEL = "The guided tour. The model is scripted: what it says was written beforehand. The tools are real."


def project() -> list[Traversable]:
    """The sample project's files. Read as data: the provider that plays the tour lives in the daemon."""
    return [file for file in files("openagent").joinpath("providers", "demo_project").iterdir() if file.is_file()]


def put_project(folder: Path | None = None) -> Path:
    """Writes the sample project into a folder; without one, into a new temporary one."""
    target = folder or Path(tempfile.mkdtemp(prefix="openagent-demo-"))
    for file in project():
        (target / file.name).write_bytes(file.read_bytes())
    return target


def is_repaired(folder: Path) -> bool:
    """Whether the tour changed the sample project in this folder, which it does last and only with working tools."""
    return any((folder / file.name).read_bytes() != file.read_bytes() for file in project())
