"""What may be written after `openagent`, and what becomes of it."""

import json
import os
import subprocess
from base64 import b64decode

import pytest

from .machine import MODEL, PATIENCE, Machine
from .pseudo_terminal import Terminal

ECHO = {"loop": True, "steps": [{"text": "You said: {last_user}"}]}
PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


@pytest.fixture(autouse=True)
def echoing(machine: Machine) -> None:
    machine.sim.reset(ECHO)


@pytest.mark.parametrize(
    "arguments",
    [
        ("say hi there",),
        ("-p", "say hi there"),
        ("--print", "say hi there"),
        ("--prompt", "say hi there"),
        ("say", "hi", "there"),
        ("-m", MODEL, "say hi there"),
        (f"-m{MODEL}", "say hi there"),
        ("--", "say hi there"),
        ("run", "-p", "say hi there"),
        ("run", "say", "hi", "there"),
        ("run", "--", "say hi there"),
    ],
)
def test_what_is_no_command_is_a_prompt(machine: Machine, arguments: tuple[str, ...]) -> None:
    ran = machine.run(*arguments)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "You said: say hi there\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sesions",), "There is no command 'sesions'. Did you mean sessions?"),
        (("sesions", "list"), "There is no command 'sesions'. Did you mean sessions?"),
        (("sesions", "--help"), "There is no command 'sesions'. Did you mean sessions?"),
        (("hi",), "There is no command 'hi'. To send it as a prompt: `openagent run \"hi\"`."),
        (("-m", MODEL, "hi"), "There is no command 'hi'."),
        (("-c", "hi"), "There is no command 'hi'."),
        (("/review",), "There is no command '/review'."),
        (("cost",), "OpenAgent has no command 'cost': use `openagent usage`."),
        (("ps", "--plain"), "use `openagent agents list`."),
        (("chat",), "use `openagent`."),
        (("new",), "use `openagent --new`."),
        (("fork",), "use `openagent sessions fork`."),
        (("fork", "--help"), "use `openagent sessions fork`."),
        (("fork", "06gx", "--at", "3"), "use `openagent sessions fork`."),
        (("exec", "hi"), 'use `openagent run`. To send it as a prompt: `openagent run "exec hi"`.'),
        (("-C", ".", "exec", "fix the tests"), "use `openagent run`."),
        (("Exec", "$(hi)"), "To send it as a prompt: `openagent run 'Exec $(hi)'`."),
        (("budget",), "use `openagent config set budget.day_usd`."),
        (("plan", "a", "feature"), "use `openagent --mode plan`."),
        (("list",), "use `openagent sessions list`."),
        (("-m", "x/y", "status"), "status is a command: write it first, or -- before it if it is the prompt."),
        (("run", "-x", "hi"), "There is no option -x. Write -- before a prompt that begins with a dash."),
        (("-x", "hi"), "There is no option -x."),
        (("--hlep",), "There is no option --hlep. Did you mean --help?"),
        (("run", "--modle", "x/y", "hi"), "There is no option --modle. Did you mean --model?"),
        (("--modle", "x/y", "hi"), "There is no option --modle. Did you mean --model?"),
        (("run", "--contniue", "hi"), "There is no option --contniue. Did you mean --continue?"),
        (("run", "--foo is broken, why?"), "There is no option --foo. Write -- before a prompt"),
        (("run", "-m", "--continue", "hi"), "-m needs a value (PROVIDER/MODEL)."),
        (("run", "--new=yes", "hi"), "--new takes no value."),
        (("run", "-i", "nowhere.png", "hi"), "The image nowhere.png cannot be read: No such file or directory."),
        (("tui", "--foo"), "There is no option --foo."),
        (("sessions", "list", "--lmit", "3"), "No such option"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_costs_nothing(
    machine: Machine, arguments: tuple[str, ...], said: str
) -> None:
    ran = machine.run(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert machine.sim.requests == []


@pytest.mark.parametrize(
    "arguments", [("exec hi",), ("fork this repository",), ("cost of it?", "src/a.py"), ("列出文件",)]
)
def test_one_argument_that_holds_a_sentence_is_a_prompt(machine: Machine, arguments: tuple[str, ...]) -> None:
    """Also when it begins with a command, and where a script puts no spaces between words."""
    assert machine.run(*arguments).stdout == f"You said: {' '.join(arguments)}\n"


@pytest.mark.parametrize("arguments", [("-p", "cost"), ("--", "cost"), ("cost", "-p"), ("run", "cost")])
def test_a_word_is_a_prompt_where_it_is_said_to_be_one(machine: Machine, arguments: tuple[str, ...]) -> None:
    assert machine.run(*arguments).stdout == "You said: cost\n"


def test_a_guessed_command_is_refused_in_json_where_json_is_wanted(machine: Machine) -> None:
    for arguments in (("cost", "--json"), ("--json", "cost")):
        ran = machine.run(*arguments)
        assert ran.returncode == 2
        assert "`openagent usage`" in json.loads(ran.stdout)["error"]["message"]
    assert machine.sim.requests == []


@pytest.mark.parametrize("arguments", [("-m", MODEL, "--help"), ("say hi there", "--help"), ("say", "hi", "-h")])
def test_help_is_shown_wherever_it_is_asked_for(machine: Machine, arguments: tuple[str, ...]) -> None:
    ran = machine.run(*arguments)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Usage: openagent")


def test_a_prompt_may_begin_with_a_dash_where_no_option_could_be_meant(machine: Machine) -> None:
    assert machine.run("run", "- one\n- two").stdout == "You said: - one\n- two\n"
    assert machine.run("run", "--", "-m", "is", "what?").stdout == "You said: -m is what?\n"


def test_short_options_stand_together_and_mean_what_they_mean_elsewhere(machine: Machine) -> None:
    first = json.loads(machine.run("-p", "--json", "one").stdout)["session"]
    went_on = json.loads(machine.run("run", "-cm", MODEL, "--json", "two").stdout)["session"]
    assert went_on == first
    other = machine.root / "other"
    other.mkdir(exist_ok=True)
    ran = machine.run("-C", "../other", "-p", "--json", "elsewhere")
    assert machine.json("sessions", "show", json.loads(ran.stdout)["session"])["session"]["cwd"] == str(other)
    resumed = machine.run("-p", "-r", first, "--json", "three")
    assert json.loads(resumed.stdout)["session"] == first


def test_an_image_is_shown_to_the_model(machine: Machine) -> None:
    (machine.workspace / "dot.png").write_bytes(PIXEL)
    assert machine.run("run", "-i", "dot.png", "what is it?").returncode == 0
    content = machine.sim.requests[-1].json()["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]
    (machine.workspace / "dot.txt").write_text("no image")
    assert "is no image" in machine.run("run", "-i", "dot.txt", "what is it?").stderr


def test_what_is_led_in_is_joined_to_the_prompt(machine: Machine) -> None:
    for arguments in (("run", "review"), ("review", "--print"), ("-p", "review")):
        assert machine.run(*arguments, given="the diff\n").stdout == "You said: review\n\nthe diff\n", arguments
    for arguments in (("run",), (), ("-p",), ("run", "-")):
        assert machine.run(*arguments, given="the diff\n").stdout == "You said: the diff\n", arguments
    assert machine.run("run", "review", given="").stdout == "You said: review\n"
    with (machine.workspace / "given.txt").open("w+") as file:
        file.write("from a file")
        file.seek(0)
        with machine.start("run", "read", stdin=file.fileno()) as process:
            assert process.communicate(timeout=PATIENCE)[0] == b"You said: read\n\nfrom a file\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"\x7fELF\x00\x01\x02", "What came on stdin is not text. Name the file in the prompt instead"),
        (bytes(range(128, 256)) * 20, "What came on stdin is not text."),
        (PIXEL, "What came on stdin is an image, not text. `-i FILE` shows a model an image."),
        (b"y\n" * 3_000_000, "What came on stdin is longer than 4 MB"),
    ],
)
def test_what_no_model_could_read_is_refused_in_one_sentence(machine: Machine, given: bytes, said: str) -> None:
    with machine.start("run", "what is this?", stdin=subprocess.PIPE) as process:
        out, err = process.communicate(given, timeout=PATIENCE)
    assert (process.returncode, out) == (2, b"")
    assert said in err.decode()
    assert len(err.splitlines()) == 1
    assert machine.sim.requests == []


def test_text_of_other_encodings_is_read(machine: Machine) -> None:
    assert machine.run("run", given="gr\u00fc\u00df dich".encode("utf-16")).stdout == "You said: gr\u00fc\u00df dich\n"
    assert machine.run("run", given=b"a caf\xe9 in a line that is otherwise plain").returncode == 0


def test_on_a_terminal_a_prompt_opens_the_interface_and_is_said(machine: Machine) -> None:
    with Terminal(machine, "-m", MODEL, "say hi there") as terminal:
        terminal.until("You said: say hi there")
    with Terminal(machine, "-p", "say hi there") as terminal:
        assert terminal.exit_code() == 0
        assert terminal.seen == "You said: say hi there\n"


def test_a_terminal_without_a_full_screen_is_not_given_one(machine: Machine) -> None:
    dumb = Machine(machine.root, machine.sim, {"TERM": "dumb"})
    with Terminal(dumb) as terminal:
        assert terminal.exit_code() == 1
        assert "TERM=dumb shows no full screen." in terminal.seen
    with Terminal(dumb, "say hi there") as terminal:
        assert terminal.exit_code() == 0
        assert terminal.seen == "You said: say hi there\n"


def test_a_run_whose_reader_left_is_stopped_and_asks_no_more(machine: Machine) -> None:
    machine.sim.reset([{"text": "never", "fault": "hang"}])
    with machine.start("run", "--json", "go") as process:
        machine.sim.until(lambda: len(machine.sim.requests) == 1, PATIENCE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(PATIENCE) == 141
        assert process.stderr.read() == b""
    newest = machine.json("sessions", "list")["sessions"][0]
    assert newest["status"] == "idle"


def test_errors_for_programs_are_json_on_stdout(machine: Machine) -> None:
    for arguments, code, exit_code in (
        (("run", "--json", "--modle", "x", "hi"), "usage", 2),
        (("run", "--json"), "usage", 2),
        (("run", "--json", "-r", "nope", "hi"), "not_found", 1),
        (("run", "--events", "-r", "nope", "hi"), "not_found", 1),
        (("-p", "--json", "--output=nonsense", "hi"), "usage", 2),
    ):
        ran = machine.run(*arguments)
        assert (ran.returncode, ran.stderr) == (exit_code, ""), arguments
        error = json.loads(ran.stdout.splitlines()[-1])["error"]
        assert (error["code"], sorted(error)) == (code, ["code", "hint", "message"])


@pytest.mark.parametrize("form", ["{path}", "unix://{path}", "unix:{path}", "{relative}"])
def test_a_daemon_is_named_by_its_socket_as_people_write_it(machine: Machine, form: str) -> None:
    machine.json("sessions")
    path = machine.json("status")["socket"]
    away = Machine(machine.root / "away", machine.sim)
    there = form.format(path=path, relative=os.path.relpath(path, away.workspace))
    assert away.json("--connect", there, "status")["pid"] == machine.daemon_pid()
    assert away.run("run", "--connect", there, "hi").stdout == "You said: hi\n"
    assert away.daemon_pid() is None


@pytest.mark.parametrize("words", [("sessions",), ("run", "hi")])
def test_a_socket_that_nobody_listens_on_is_said_and_nothing_is_started(
    machine: Machine, words: tuple[str, ...]
) -> None:
    ran = machine.run(*words, "--connect", "/nowhere/d.sock")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("openagent: No daemon answers at /nowhere/d.sock: no daemon listens there.")
    told = json.loads(machine.run(*words, "--json", "--connect", "unix:///nowhere/d.sock").stdout)
    assert told["error"]["code"] == "not_found"


def test_folders_are_named_from_where_one_is_and_missing_ones_are_said(machine: Machine) -> None:
    (machine.workspace / "a file").write_text("")
    for given, said in (("none", "There is no folder"), ("a file", "is a file, not a folder.")):
        ran = machine.run("run", "-C", given, "hi")
        assert ran.returncode == 1
        assert said in ran.stderr
        assert str(machine.workspace / given) in ran.stderr
        assert said in machine.run("config", "show", "--cwd", given).stderr


def test_a_config_named_by_a_relative_path_counts_here_while_a_daemon_runs(machine: Machine) -> None:
    machine.json("sessions")
    (machine.workspace / "own.toml").write_text("[limits]\nmax_steps = 7\n")
    own = Machine(machine.root, machine.sim, {"OPENAGENT_CONFIG": "own.toml"})
    shown = {each["key"]: each for each in own.json("config", "show")["values"]}
    assert shown["limits.max_steps"]["value"] == 7
    (machine.workspace / "broken.toml").write_text("modle = 1\n")
    broken = Machine(machine.root, machine.sim, {"OPENAGENT_CONFIG": "broken.toml"})
    ran = broken.run("run", "hi")
    assert ran.returncode == 1
    assert f"{machine.workspace}/broken.toml:1: `modle` is not a setting" in ran.stderr
