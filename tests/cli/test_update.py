"""One line to update: by whatever installed it, from an index on this machine, and never unasked."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import openagent
from devtools.simulator import ThreadedSimulator
from openagent import __version__

from ..models.wheels import make_wheel
from .machine import MODEL, PATIENCE, Machine

NEWER = "9.9.9"
UV = Path(sys.executable).with_name("uv")
_SOURCES = Path(openagent.__file__).parent
_CHANGES = f"""# Changelog

## [{NEWER}] - 2030-01-01

### Added

- It makes coffee.

## [{__version__}] - 2026-01-01

- Nothing new.
"""


class _Quiet(SimpleHTTPRequestHandler):
    asked: list[str]

    def __init__(self, *arguments: object, asked: list[str], **named: object) -> None:
        self.asked = asked
        super().__init__(*arguments, **named)  # pyright: ignore[reportArgumentType]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        self.asked.append(self.path)


@dataclass
class Index:
    """A package index of our own."""

    folder: Path
    asked: list[str] = field(default_factory=list[str])
    url: str = ""

    def publish(self, version: str) -> Path:
        """The program as it is in this tree, under another version; it needs nothing that it would have to fetch."""
        place = self.folder / "simple" / "openagent"
        place.mkdir(parents=True, exist_ok=True)
        files: dict[str, str | bytes] = {
            f"openagent/{file.relative_to(_SOURCES)}": file.read_bytes()
            for file in _SOURCES.rglob("*")
            if file.is_file() and not {"__pycache__", "web_dist"} & set(file.parts)
        }
        files["openagent/__init__.py"] = f'__version__ = "{version}"\n'
        files["openagent/CHANGELOG.md"] = _CHANGES
        script = "[console_scripts]\nopenagent = openagent.__main__:main\n"
        files[f"openagent-{version}.dist-info/entry_points.txt"] = script
        make_wheel(place, "openagent", version, files)
        names = sorted(file.name for file in place.glob("*.whl"))
        (place / "index.html").write_text("".join(f'<a href="{name}">{name}</a>\n' for name in names))
        return place / f"openagent-{version}-py3-none-any.whl"


@pytest.fixture
def index(tmp_path: Path) -> Generator[Index, None, None]:
    index = Index(tmp_path / "index")
    index.publish(__version__)
    handler = partial(_Quiet, directory=str(index.folder), asked=index.asked)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    index.url = f"http://127.0.0.1:{server.server_port}/simple"
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield index
    server.shutdown()
    server.server_close()
    serving.join()


@dataclass
class Installed:
    """The installed program, not this tree's."""

    python: Path
    env: Mapping[str, str]
    workspace: Path

    def __call__(self, *arguments: str, expect: int = 0) -> str:
        ran = subprocess.run(
            [self.python, "-P", "-m", "openagent", *arguments],
            env=self.env,
            cwd=self.workspace,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        assert ran.returncode == expect, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr


def _libraries(folder: Path) -> Path:
    """What the program needs beside itself, as if it were installed with it."""
    folder.mkdir()
    for each in Path(pytest.__file__).parents[1].iterdir():
        if not each.name.startswith(("openagent", "_openagent", "pip")) and each.suffix != ".pth":
            (folder / each.name).symlink_to(each)
    return folder


@pytest.fixture(params=["uv", "pip"])
def installed(
    request: pytest.FixtureRequest, tmp_path: Path, index: Index, sim: ThreadedSimulator
) -> Generator[Installed, None, None]:
    machine = Machine(tmp_path / "machine", sim)
    env = {
        **machine.env,
        "PATH": f"{UV.parent}:{os.environ['PATH']}",
        "PIP_INDEX_URL": index.url,
        "PIP_CONFIG_FILE": os.devnull,
        "PYTHONPATH": str(_libraries(tmp_path / "libraries")),
        "UV_DEFAULT_INDEX": index.url,
        "UV_NO_CONFIG": "1",
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"),
    }
    if request.param == "uv":
        place = tmp_path / "tools" / "openagent"
        install = [[UV, "tool", "install", "--python", sys.executable, "openagent"]]
    else:
        place = tmp_path / "venv"
        install = [
            [sys.executable, "-m", "venv", "--without-pip", place],
            [UV, "pip", "install", "--python", place / "bin" / "python", "openagent"],
        ]
    for words in install:
        ran = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
    program = Installed(place / "bin" / "python", env, machine.workspace)
    yield program
    program("stop")


def test_an_update_is_found_when_asked_for_shown_installed_and_the_idle_daemon_starts_anew(
    installed: Installed, index: Index, sim: ThreadedSimulator
) -> None:
    sim.reset({"steps": [{"text": "Hello."}]})
    web = json.loads(installed("serve", "--daemon", "--web-socket", "0", "--json"))["web_url"]
    session = json.loads(installed("run", "--model", MODEL, "--output", "json", "Hi!"))["session"]
    index.asked.clear()
    installed("status")
    installed("--version")
    assert index.asked == [], "nobody asked"
    assert f"openagent {__version__} is the newest there is." in installed("update", "--check")
    assert index.asked

    index.publish(NEWER)
    told = installed("update", "--check")
    assert f"openagent {NEWER} is there; {__version__} is installed" in told
    assert "It makes coffee." in told
    assert "Nothing new." not in told, "that is installed already"
    assert installed("--version").strip() == f"openagent {__version__}", "it was only looked"

    told = installed("update")
    assert f"openagent {NEWER} is installed; it was {__version__}." in told
    assert "It makes coffee." in told
    assert "The daemon was idle and has been started anew; 1 session kept." in told
    now = json.loads(installed("status", "--json"))
    assert (now["version"], now["web_url"]) == (NEWER, web), "browsers find it where it was"
    assert session in installed("sessions", "list", "--json")
    assert json.loads(installed("update", "--check", "--json"))["newer"] is False


@pytest.mark.parametrize("installed", ["uv"], indirect=True)
def test_a_wheel_can_be_named_and_an_index_that_is_away_takes_a_sentence(installed: Installed, index: Index) -> None:
    wheel = index.publish(NEWER)
    away = Installed(
        installed.python,
        {**installed.env, "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"},
        installed.workspace,
    )
    assert "The package index cannot be reached" in away("update", expect=1)
    assert f"openagent {NEWER} is installed" in away("update", "--from", str(wheel))
    told = away("update", expect=1)
    assert "installed from file://" in told
    assert "openagent update --from FILE" in told


def test_a_daemon_that_works_is_left_alone(fresh: Machine, sim: ThreadedSimulator) -> None:
    sim.reset({"steps": [{"text": "Slowly.", "latency_ms": 20_000}]})
    with fresh.start("run", "--model", MODEL, "Take your time.") as running:
        while fresh.run("status").returncode or json.loads(fresh.run("status", "--json").stdout)["running"] == 0:
            assert running.poll() is None
        told = fresh.run("update", "--finish", "0.0.1").stdout
        assert "1 turn at work. When they have ended, `openagent stop` ends it" in told
        assert running.poll() is None
        running.kill()
