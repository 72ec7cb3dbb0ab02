"""`openagent login` and `openagent run` where nothing is set up yet: one sentence, and on a terminal a choice."""

import json
import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.client.sources import server_at

from ..models.ollama import ollama
from .machine import Bare
from .pseudo_terminal import CTRL_C, Terminal

GOOD, WRONG = "sk-ant-good-0123456789abcdef", "sk-ant-wrong-0123456789abcdef"
NO_MODEL = "No model is set up. Run `openagent login` and choose one, or set a key such as ANTHROPIC_API_KEY."


@pytest.fixture
def bare(tmp_path: Path) -> Generator[Bare, None, None]:
    with ThreadedSimulator([{"text": "Hello, newcomer."}], require_key=GOOD) as sim:
        machine = Bare(tmp_path, sim)
        yield machine
        assert machine.run("stop").returncode == 0


def test_run_without_a_model_says_in_a_sentence_what_to_do(bare: Bare) -> None:
    ran = bare.run("run", "hi")
    assert (ran.returncode, ran.stdout) == (5, "")
    assert ran.stderr.startswith(f"openagent: {NO_MODEL} Retry: `openagent retry ")
    told = json.loads(bare.run("run", "--json", "hi").stdout)
    assert told["error"]["code"] == "model_not_found"


def test_run_on_a_terminal_offers_the_choice_and_then_answers(bare: Bare) -> None:
    with Terminal(bare, "run", "hi") as terminal:
        terminal.until("No model is set up.")
        terminal.until("What should answer?")
        terminal.until("1  Paste an API key")
        terminal.until("Number [1]:")
        terminal.enter("\n")
        terminal.until("API key:")
        terminal.enter(f"{WRONG}\n")
        terminal.until("Anthropic refused the key: invalid x-api-key.")
        terminal.until("Number [1]:")
        terminal.enter("\n")
        terminal.until("API key:")
        terminal.enter(f"{GOOD}\n")
        terminal.until("answers from now on.")
        terminal.until("Hello, newcomer.")
        assert terminal.exit_code() == 0
        assert GOOD not in terminal.seen
    ran = bare.run("run", "again")
    assert (ran.returncode, ran.stdout) == (0, "Hello, newcomer.\n"), ran.stderr


def test_whoever_gives_up_choosing_has_changed_nothing(bare: Bare) -> None:
    with Terminal(bare, "run", "hi") as terminal:
        terminal.until("Number [1]:")
        assert terminal.press_until_it_ends(CTRL_C) == 5
    assert not bare.config.exists()


def test_login_without_a_name_chooses_among_what_is_here(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "Hello."}]) as sim, ollama(sim) as port:
        machine = Bare(tmp_path, sim, {"OPENAGENT_LOCAL_SERVERS": f"ollama:{port}"})
        with Terminal(machine, "login") as terminal:
            terminal.until("1  Ollama")
            terminal.enter("1\n")
            terminal.until("llama3.2:latest")
            terminal.until("Number [1]:")
            terminal.enter("2\n")
            terminal.until("ollama/llama3.2:latest answers from now on.")
            assert terminal.exit_code() == 0
        assert tomllib.loads(machine.config.read_text())["model"] == "ollama/llama3.2:latest"
        found = {check["name"]: check for check in machine.json("doctor")["checks"]}
        assert found["server"]["detail"].startswith("Ollama at http://127.0.0.1:")
        assert found["model"]["detail"].startswith("ollama/llama3.2:latest answers")
        assert machine.run("stop").returncode == 0


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_login_takes_the_address_of_a_model_server(tmp_path: Path, path: str) -> None:
    with ThreadedSimulator({"models": ["served-model"], "steps": [{"text": "Hello."}]}) as sim:
        machine = Bare(tmp_path, sim)
        said = machine.run("login", sim.base_url + path)
        port = sim.base_url.rpartition(":")[2]
        assert said.returncode == 0, said.stderr
        assert f"localhost-{port}/served-model answers from now on." in said.stdout + said.stderr
        assert machine.run("run", "hi").stdout == "Hello.\n"
        assert machine.run("stop").returncode == 0


def test_two_servers_never_share_a_name() -> None:
    addresses = ["10.0.0.1:8000", "10.0.0.2:8000", "http://gpu.office:8000/v1", "gpu.home:8000", "gpu.home", "[::1]:80"]
    names = [server_at(address)[0] for address in addresses]
    assert names == ["10-0-0-1-8000", "10-0-0-2-8000", "gpu-office-8000", "gpu-home-8000", "gpu-home", "localhost-80"]


def test_an_address_where_nothing_answers_is_named_whole(bare: Bare) -> None:
    said = bare.run("login", "http://127.0.0.1:1/v1")
    assert said.returncode != 0
    assert "http://127.0.0.1:1/v1" in said.stderr


def test_login_without_a_name_and_a_terminal_wants_one(bare: Bare) -> None:
    ran = bare.run("login", given="")
    assert ran.returncode == 2
    assert "Which provider?" in ran.stderr
