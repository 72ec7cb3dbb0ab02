"""`openagent auth`, `usage` and `models`, as a person types them."""

import asyncio
import json
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator

from ..cli.machine import PATIENCE, Machine
from ..providers_oauth.authorization_server import AuthorizationServer
from .browser import visit
from .test_auth import granted
from .test_bad_input import oauth
from .wheels import make_index, package_with_pins

SCRIPT = {"steps": [{"text": "Hello.", "usage": {"input": 1000, "output": 10}}], "loop": True, "models": ["scripted"]}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Generator[Machine, None, None]:
    root = tmp_path_factory.mktemp("machine")
    index = make_index(root / "index")
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_CONFIG_FILE": "/dev/null"}
    with ThreadedSimulator(SCRIPT) as sim:
        machine = Machine(root, sim, {**pip, "PYTHONPATH": str(package_with_pins(index))})
        yield machine
        assert machine.run("stop").returncode == 0


@pytest.fixture
def unused(tmp_path: Path, machine: Machine) -> Generator[Machine, None, None]:
    """Its ledger is empty."""
    fresh = Machine(tmp_path, machine.sim)
    yield fresh
    assert fresh.run("stop").returncode == 0


def test_usage_tells_nothing_then_everything(unused: Machine) -> None:
    machine = unused
    assert machine.run("usage").stdout == "Nothing was used yet.\n"
    machine.turn("hello")
    printed = machine.run("usage", "--by", "activity").stdout
    assert "conversation" in printed
    assert "1,000" in printed
    assert "without a known price" in printed
    told = machine.run("usage", "cost").stdout
    assert [line.split()[-1] for line in told.splitlines()[1:5]] == ["$?"] * 4, "no price is not no cost"
    assert machine.run("sessions", "list").stdout.splitlines()[1].count("$?") == 1
    report = machine.json("usage", "--by", "session", "--days", "1")
    assert report["total"]["usage"]["input_tokens"] == 1000
    assert machine.run("usage", "--by", "colour").returncode == 2


def test_a_key_is_added_from_stdin_listed_and_removed(machine: Machine) -> None:
    assert machine.run("auth", "add", "anthropic", "--no-test", given="sk-ant-secret-key-of-mine\n").returncode == 0
    again = machine.run("auth", "add", "anthropic", "--no-test", given="other\n")
    assert again.returncode == 1
    assert "already has an entry" in again.stderr
    listed = machine.run("auth", "list").stdout
    assert "anthropic" in listed
    assert "vault" in listed
    assert "environment" in listed
    assert "sk-ant" not in listed
    assert machine.run("auth", "remove", "anthropic").returncode == 0
    missing = machine.run("auth", "remove", "anthropic")
    assert missing.returncode == 1
    assert "no entry named 'anthropic'" in missing.stderr
    nowhere = machine.run("auth", "login", "anthropic")
    assert "[providers.anthropic.oauth]" in nowhere.stderr


def test_models_are_listed_and_tested(machine: Machine) -> None:
    assert "compatible/scripted" in machine.run("models", "list").stdout
    tested = machine.run("models", "test", "compatible")
    assert tested.returncode == 0
    assert "compatible/scripted answered in" in tested.stdout
    failed = machine.run("models", "test", "compatible/other")
    assert failed.returncode == 1
    assert "has no model named 'other'" in failed.stdout
    nobody = machine.run("models", "list", "nobody")
    assert nobody.returncode == 1
    assert "There is no provider named 'nobody'" in nobody.stderr


def test_the_offline_model_is_pulled_with_its_stages_and_then_answers(machine: Machine) -> None:
    pulled = machine.run("models", "pull", "smollm2")
    assert pulled.returncode == 0, pulled.stderr
    assert "looking for the packages" in pulled.stderr
    assert "cannot use tools" in pulled.stdout
    # Neither rules nor files come along: the scripted engine repeats all that it is shown of a message.
    (machine.workspace / "AGENTS.md").write_text("Answer in rhymes.\n")
    (machine.workspace / "calc.py").write_text("def hello():\n    return 1\n")
    asked = machine.run("run", "--model", "local/smollm2", "hello")
    assert asked.stdout.strip() == "hello! hello! hello!"
    assert "it cannot use tools" in asked.stderr
    assert json.loads(machine.run("models", "list", "local", "--json").stdout)["models"][0]["context_window"] == 4096


@pytest.mark.anyio
@pytest.mark.parametrize("way", ["browser", "paste"])
async def test_a_login_ends_with_the_browser_or_with_what_it_showed(tmp_path: Path, way: str) -> None:
    async with AuthorizationServer() as server:
        with ThreadedSimulator(SCRIPT) as sim:
            config = tmp_path / "config.toml"
            config.write_text(oauth(server, sim))
            machine = Machine(tmp_path, sim, {"OPENAGENT_CONFIG": str(config)})
            process = machine.start("auth", "login", "mine", stdin=subprocess.PIPE)
            try:
                assert process.stderr is not None
                lines = iter(process.stderr.readline, b"")
                url = await asyncio.to_thread(lambda: next(line.decode().strip() for line in lines if b"http" in line))
                if way == "browser":
                    await visit(url)
                pasted = None if way == "browser" else f"nonsense\n{granted(server, url)}\n".encode()
                out, _ = await asyncio.to_thread(process.communicate, pasted, PATIENCE)
            finally:
                process.kill()
            assert process.returncode == 0
            assert out == b"You are logged in to mine.\n"
            assert "login" in await asyncio.to_thread(lambda: machine.run("auth", "list").stdout)
            assert await asyncio.to_thread(lambda: machine.run("stop").returncode) == 0
