"""`python -m benchmarks.installing`: what one line to install costs, in seconds and on the disk.

Builds the wheel, then installs it as a person would, with uv and with pipx, each into an empty folder with an empty
cache, and again with a filled one. Needs the package index; uv comes with the development packages, pipx is fetched.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.machine import Machine, look

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
MOST_MB, MOST_SECONDS = 120.0, 30.0
_UV = Path(sys.executable).with_name("uv")
_SHOWN = 15


class Installed(Struct, frozen=True):
    way: str
    seconds: float
    """With an empty cache: most of it is the package index's."""
    cached_seconds: float
    """With everything downloaded before."""
    mb: float
    """What lies on the disk then, in millions of bytes, blocks counted whole."""
    used_mb: float
    """The same after the guided tour: Python keeps what it compiled."""
    distributions: dict[str, float]


class Report(Struct, frozen=True):
    machine: Machine
    wheel_mb: float
    installed: list[Installed]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.installing", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--wheel", type=Path, help="one that is built already")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="openagent-installing-") as folder:
        place = Path(folder)
        wheel: Path = given.wheel or _wheel(place)
        pipx = _pipx(place)
        size = round(wheel.stat().st_size / 1e6, 1)
        installed = [
            _measure(way, wheel.resolve(), place / f"way{number}", pipx) for number, way in enumerate(given.only)
        ]
    report = Report(look(), size, installed)
    text = _table(report)
    print(text)
    given.results.mkdir(exist_ok=True)
    (given.results / "installing.json").write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    (given.results / "installing.md").write_text(text)
    return 0


def _wheel(place: Path) -> Path:
    _run([_UV, "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", place, ROOT])
    return next(place.glob("*.whl"))


def _pipx(place: Path) -> Path:
    _run([sys.executable, "-m", "venv", place / "pipx"])
    _run([place / "pipx/bin/pip", "install", "--quiet", "pipx"])
    return place / "pipx/bin/pipx"


def _measure(way: str, wheel: Path, place: Path, pipx: Path) -> Installed:
    place.mkdir()
    line, environment = WAYS[way]
    env = {
        **os.environ,
        "HOME": str(place),
        "XDG_CONFIG_HOME": os.environ.get("XDG_CONFIG_HOME", os.path.expanduser("~/.config")),
        "UV_CACHE_DIR": str(place / "cache"),
        "PIP_CACHE_DIR": str(place / "cache"),
        "UV_TOOL_DIR": str(place / "tools"),
        "UV_TOOL_BIN_DIR": str(place / "bin"),
        "PIPX_HOME": str(place / "pipx"),
        "PIPX_BIN_DIR": str(place / "bin"),
        "UV_LINK_MODE": "copy",
        "OPENAGENT_HOME": str(place / "home"),
        "PATH": f"{_UV.parent}:{os.environ['PATH']}",
    }
    for name in ("VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"):
        env.pop(name, None)
    words = {"wheel": str(wheel), "place": str(place), "python": sys.executable, "uv": str(_UV), "pipx": str(pipx)}
    seconds: list[float] = []
    tool = place / environment
    for _ in range(2):
        shutil.rmtree(tool, ignore_errors=True)
        began = time.perf_counter()
        _run([word.format(**words) for word in line.split()], env)
        seconds.append(round(time.perf_counter() - began, 1))
    program = tool / "bin" / "openagent"
    mb, each = _size(tool), _by_distribution(tool)
    _run([program, "demo"], env)
    _run([program, "stop"], env)
    return Installed(way, seconds[0], seconds[1], mb, _size(tool), each)


WAYS: Mapping[str, tuple[str, str]] = {
    "uv tool": ("{uv} tool install --force --python {python} {wheel}", "tools/openagent"),
    "pipx, by uv": ("{pipx} install --force --backend uv --python {python} {wheel}", "pipx/venvs/openagent"),
    "pipx, by pip": ("{pipx} install --force --backend pip --python {python} {wheel}", "pipx/venvs/openagent"),
}
"""What a person types, and where it goes."""


def _run(command: Sequence[object], env: Mapping[str, str] | None = None) -> None:
    ran = subprocess.run([str(word) for word in command], env=env, capture_output=True, check=False, cwd="/")
    if ran.returncode != 0:
        raise SystemExit(f"{command}: {ran.stderr.decode(errors='replace')[-2000:]}{ran.stdout.decode()[-500:]}")


def _size(folder: Path) -> float:
    return round(sum(file.lstat().st_blocks * 512 for file in folder.rglob("*")) / 1e6, 1)


def _by_distribution(tool: Path) -> dict[str, float]:
    found = distributions(path=[str(next((tool / "lib").glob("python3*")) / "site-packages")])
    sizes = {each.name.lower(): _of(each) for each in found}
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def _of(distribution: Distribution) -> float:
    places = {Path(str(distribution.locate_file(file))) for file in distribution.files or []}
    compiled = {
        file
        for folder in {place.parent for place in places}
        if folder.name != "site-packages"
        for file in (folder / "__pycache__").glob("*.pyc")
    }
    return round(sum(file.lstat().st_blocks * 512 for file in places | compiled if file.exists()) / 1e6, 2)


def _table(report: Report) -> str:
    machine, first = report.machine, report.installed[0]
    lines = [
        f"Measured {machine.at} at {machine.commit}, Python {machine.python}, load {machine.load:.1f} on "
        f"{machine.cpus} CPUs. The wheel has {report.wheel_mb:g} MB; bounds: {MOST_MB:g} MB, {MOST_SECONDS:g} s.",
        "",
        "| way | MB | after the tour | s, empty cache | s, filled cache |",
        "|---|---|---|---|---|",
        *(
            f"| {each.way} | {each.mb:g} | {each.used_mb:g} | {each.seconds:g} | {each.cached_seconds:g} |"
            for each in report.installed
        ),
        "",
        f"The {_SHOWN} largest of {len(first.distributions)} distributions ({first.way}), in MB: "
        + ", ".join(f"{name} {mb:g}" for name, mb in list(first.distributions.items())[:_SHOWN])
        + ".",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
