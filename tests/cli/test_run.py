"""`openagent run`: exit codes, outputs, where the prompt comes from and which session it goes to."""

import json
import signal
import subprocess
import sys

import pytest

from .machine import MODEL, PATIENCE, Machine, shell

HEAVY = ("asyncio", "click", "json", "msgspec", "re", "socket", "typing", "sqlalchemy", "httpx2")


def test_an_answer_is_printed_alone_on_stdout_and_what_was_done_on_stderr(machine: Machine) -> None:
    machine.sim.reset([{"text": "Let me see.", **shell("echo hi")}, {"text": "It says hi."}])
    ran = machine.run("run", "--mode", "full", "what does it say?")
    assert (ran.returncode, ran.stdout) == (0, "It says hi.\n")
    assert ran.stderr.startswith("✓ ran echo hi · ")


def test_json_output_is_one_object_with_what_came_of_the_turn(machine: Machine) -> None:
    machine.sim.reset([{"text": "Hello.", "usage": {"input": 10, "output": 2}}])
    ran = machine.run("run", "--output", "json", "hi")
    result = json.loads(ran.stdout)
    assert (result["reason"], result["text"], result["steps"]) == ("done", "Hello.", 1)
    assert result["usage"] == {"input_tokens": 10, "output_tokens": 2}
    assert result["session"]


def test_stream_json_output_is_every_event_in_order(machine: Machine) -> None:
    machine.sim.reset([shell("echo hi"), {"text": "Done."}])
    ran = machine.run("run", "--mode", "full", "--output", "stream-json", "hi")
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds[-1] == "turn.completed"
    assert kinds.index("turn.started") < kinds.index("tool.started") < kinds.index("tool.finished")
    assert "".join(event["text"] for event in events if event["type"] == "text.delta") == "Done."
    durable = [event["seq"] for event in events if not event["type"].endswith((".delta", ".output", ".shown"))]
    assert durable == sorted(set(durable))


def test_a_command_that_prints_much_and_fast_ends_in_an_answer(machine: Machine) -> None:
    machine.sim.reset([shell("head -c 20000000 /dev/urandom"), {"text": "Noise."}])
    ran = machine.run("run", "--mode", "full", "make noise")
    assert (ran.returncode, ran.stdout) == (0, "Noise.\n"), ran.stderr


def test_a_run_that_did_not_keep_up_is_attached_again_and_hears_the_end(machine: Machine) -> None:
    machine.sim.reset([{"text": "x" * 12_000_000, "chunk_chars": 50_000}])
    with machine.start("run", "--output", "stream-json", "say much") as process:
        machine.sim.until(lambda: machine.sim.requests and machine.sim.requests[-1].finished_at, timeout=PATIENCE)
        while machine.json("sessions", "list")["sessions"][0]["status"] != "idle":
            pass  # nobody reads what the command prints until the turn is over
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")
    *_, last = out.splitlines()
    assert json.loads(last)["type"] == "turn.completed"
    streamed = sum(len(json.loads(line)["text"]) for line in out.splitlines() if b'"text.delta"' in line[:30])
    assert streamed < 12_000_000, "it was cut off"


def test_the_prompt_may_come_from_stdin(machine: Machine) -> None:
    machine.sim.reset([{"text": "You said: {last_user}"}])
    assert machine.run("run", given="from a pipe\n").stdout == "You said: from a pipe\n"
    both = machine.run("run", "explain this:", "-", given="the diff")
    assert both.stdout == "You said: explain this:\n\nthe diff\n"


def test_continue_goes_on_with_the_newest_session_of_the_directory(machine: Machine) -> None:
    first = machine.turn("one", script=[{"text": "a"}, {"text": "b"}, {"text": "c"}])
    assert machine.turn("two", "--continue") == first
    elsewhere = machine.root / "elsewhere"
    elsewhere.mkdir()
    machine.turn("other", "--cwd", str(elsewhere))
    assert machine.turn("three", "--continue") == first
    assert machine.json("sessions", "show", first)["session"]["message_count"] == 6


def test_continue_without_a_session_says_so(machine: Machine) -> None:
    empty = machine.root / "empty"
    empty.mkdir()
    ran = machine.run("run", "--cwd", str(empty), "--continue", "go on")
    assert ran.returncode == 2
    assert f"There is no session in {empty} to continue." in ran.stderr


def test_a_named_session_goes_on_and_takes_new_settings(machine: Machine) -> None:
    session = machine.turn("one", script=[{"text": "a"}, {"text": "b"}])
    assert machine.turn("two", "--session", session[:-1], "--max-steps", "7") == session
    shown = machine.json("sessions", "show", session)["session"]
    assert (shown["turn_count"], shown["settings"]["max_steps"]) == (2, 7)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--nonsense", "x"),
        ("--mode", "wild", "x"),
        ("--output", "xml", "x"),
        ("--max-steps", "0", "x"),
        ("--timeout", "soon", "x"),
        ("--model",),
    ],
)
def test_a_wrong_command_line_is_exit_code_2_and_one_sentence(machine: Machine, arguments: tuple[str, ...]) -> None:
    ran = machine.run("run", *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("openagent: ")
    assert ran.stderr.endswith("See `openagent run --help`.\n")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "nobody/x"), "There is no provider named 'nobody'."),
        (("--session", "nope"), "There is no session 'nope'."),
        (("--cwd", "/does/not/exist"), "There is no folder '/does/not/exist'."),
    ],
)
def test_what_cannot_be_done_is_exit_code_1_and_says_why(machine: Machine, options: tuple[str, ...], said: str) -> None:
    ran = machine.run("run", *options, "hi")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert said in ran.stderr


def test_a_provider_that_refuses_the_key_is_exit_code_5_and_says_why(machine: Machine) -> None:
    machine.sim.reset([{"text": "", "fault": {"name": "401", "message": "the key has expired"}}])
    ran = machine.run("run", "--output", "json", "hi")
    assert ran.returncode == 5
    assert json.loads(ran.stdout)["reason"] == "error"
    assert ran.stderr.startswith("openagent: ")


def test_what_nobody_can_approve_is_refused_to_the_model_and_the_run_goes_on(machine: Machine) -> None:
    machine.sim.reset([shell("touch made"), shell("ls"), {"text": "I would need to make a file."}, {"text": "on"}])
    ran = machine.run("run", "--mode", "ask", "make it")
    assert (ran.returncode, ran.stdout) == (0, "I would need to make a file.\n")
    assert "nobody is here to approve it: run touch made" in ran.stderr
    assert not (machine.workspace / "made").exists()
    told = [part["content"] for part in machine.sim.requests[-1].json()["messages"] if part["role"] == "tool"]
    assert told[0].startswith("Denied: ")
    assert "needs a person's approval, and nobody is here" in told[0]
    assert machine.run("run", "--continue", "and?").returncode == 0
    assert "ancelled" not in str(machine.sim.requests[-1].json())


def test_a_run_that_is_to_stop_at_a_question_is_exit_code_3(machine: Machine) -> None:
    machine.sim.reset([shell("touch made"), {"text": "x"}])
    ran = machine.run("run", "--mode", "ask", "--if-asked", "stop", "make it")
    assert ran.returncode == 3
    assert "needs approval: run touch made" in ran.stderr
    assert "nobody here can allow it to run touch made" in ran.stderr
    assert '--mode edits "go on"` lets it, and so does a rule in policy.toml.' in ran.stderr
    assert "attach" not in ran.stderr  # the turn is over, and nothing waits there
    assert not (machine.workspace / "made").exists()


def test_programs_learn_which_answer_was_missing_and_which_mode_would_do(machine: Machine) -> None:
    machine.sim.reset([shell("touch made"), {"text": "x"}])
    ran = machine.run("run", "--mode", "ask", "--if-asked", "stop", "--json", "make it")
    told = json.loads(ran.stdout)
    assert (ran.returncode, told["reason"], told["error"]["code"]) == (3, "needs_approval", "needs_approval")
    assert f'`openagent run -r {told["session"]} --mode edits "go on"`' in told["error"]["hint"]
    machine.sim.reset([shell("touch made"), {"text": "I could not."}])
    told = json.loads(machine.run("run", "--mode", "ask", "--json", "make it").stdout)
    assert [(each["tool"], each["summary"], each["enough_mode"]) for each in told["refused"]] == [
        ("shell", "touch made", "edits")
    ]


@pytest.mark.parametrize("mode", ["plan", "ask", "full"])
@pytest.mark.parametrize("text", ["echo 'oops", "fi", "ls )", "shopt -s extglob; ls !(*.*)", "touch made\necho $("])
def test_text_that_bash_refuses_comes_back_as_its_syntax_error(machine: Machine, mode: str, text: str) -> None:
    machine.sim.reset([shell(text), {"text": "{last_result}"}])
    ran = machine.run("run", "--mode", mode, "go")
    assert ran.returncode == 0
    assert ran.stdout.startswith("bash: -c: line ")
    assert ran.stdout.endswith("[exit code 2: nothing was run]\n")
    assert not (machine.workspace / "made").exists()


@pytest.mark.parametrize("text", ["sudo -n true", "printf '\x1b[0m'", "shopt -s extglob\nls !(*.*)"])
def test_a_question_that_nobody_can_answer_ends_no_run(machine: Machine, text: str) -> None:
    machine.sim.reset([shell(text), {"text": "{last_result}"}])
    ran = machine.run("run", "--mode", "edits", "go")
    assert (ran.returncode, ran.stdout.partition(":")[0]) == (0, "Denied")


def test_a_step_limit_is_exit_code_4(machine: Machine) -> None:
    machine.sim.reset({"loop": True, "steps": [shell("date +%N")]})
    ran = machine.run("run", "--mode", "full", "--max-steps", "2", "go")
    assert ran.returncode == 4
    assert "limit of steps" in ran.stderr


def test_a_time_limit_is_exit_code_4(machine: Machine) -> None:
    machine.sim.reset([shell("sleep 60")])
    ran = machine.run("run", "--mode", "full", "--timeout", "0.3", "go")
    assert ran.returncode == 4
    assert "time was up" in ran.stderr


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_interrupted_or_ended_stops_its_turn(machine: Machine, sent: signal.Signals) -> None:
    machine.sim.reset([{"text": "never", "fault": "hang"}])
    with machine.start("run", "--output", "json", "go") as process:
        machine.sim.until(lambda: len(machine.sim.requests) == 1, PATIENCE)
        process.send_signal(sent)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    result = json.loads(out)
    assert result["reason"] == "cancelled"
    assert b"Traceback" not in err
    assert machine.json("sessions", "show", result["session"])["session"]["status"] == "idle"


def test_what_had_come_of_a_stopped_answer_is_in_its_end(machine: Machine) -> None:
    stalled = {"chunks": ["Once", " upon", " a time."], "fault": {"name": "stall", "after": 2, "times": 1}}
    machine.sim.reset([stalled])
    with machine.start("run", "--output", "stream-json", "go") as process:
        assert process.stdout is not None
        said = ""
        while said != "Once upon":
            event = json.loads(process.stdout.readline())
            said += event["text"] if event["type"] == "text.delta" else ""
        process.send_signal(signal.SIGINT)
        *_, last = [json.loads(line) for line in process.stdout if b"turn.completed" in line]
    assert process.wait(PATIENCE) == 130
    assert (last["reason"], last["text"]) == ("cancelled", "Once upon")


def test_a_cost_that_is_not_known_is_null_in_json(machine: Machine) -> None:
    machine.sim.reset([{"text": "ok"}])
    result = json.loads(machine.run("run", "--json", "go").stdout)
    assert (result["cost_usd"], result["unpriced"]) == (None, 1)


def test_a_reader_that_leaves_early_gets_no_traceback(machine: Machine) -> None:
    machine.sim.reset([{"text": "word " * 50_000}])
    with machine.start("run", "--output", "stream-json", "go") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 141


def test_a_cold_start_answers_and_leaves_the_daemon_running(fresh: Machine) -> None:
    fresh.sim.reset([{"text": "Hello."}])
    assert fresh.run("status").returncode == 1
    ran = fresh.run("run", "hi")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "Hello.\n", "")
    assert fresh.run("status").returncode == 0


def test_a_daemon_that_cannot_start_says_why_through_its_client(fresh: Machine) -> None:
    config = fresh.root / ".config" / "openagent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('mode = "ask"\nmodle = "x/y"\n')
    ran = fresh.run("run", "hi")
    assert ran.returncode == 1
    assert f"{config}:2: `modle` is not a setting; did you mean `model`?" in ran.stderr
    config.write_text("")


def test_on_a_warm_daemon_nothing_heavy_is_imported(machine: Machine) -> None:
    machine.turn("warm up", script=[{"text": "a"}, {"text": "b"}])
    ran = subprocess.run(
        [sys.executable, "-S", "-X", "importtime", "-m", "openagent", "run", "--model", MODEL, "hi"],
        env={**machine.env, "PYTHONPATH": ":".join(sys.path)},
        cwd=machine.workspace,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    imported = {line.rsplit("|", 1)[1].strip() for line in ran.stderr.splitlines() if "|" in line}
    assert "openagent.cli.run" in imported
    assert imported.isdisjoint(HEAVY)


@pytest.mark.parametrize("command", ["run hi", "tasks list", "rpc"])
def test_a_folder_that_was_deleted_is_told_in_a_sentence(machine: Machine, command: str) -> None:
    program = f"mkdir gone && cd gone && rmdir ../gone && exec {sys.executable} -m openagent {command}"
    ran = subprocess.run(
        ["sh", "-c", program], env=machine.env, cwd=machine.workspace, capture_output=True, text=True, check=False
    )
    told = "openagent: The folder you are in does not exist any more. Go to one that does, with `cd`.\n"
    assert (ran.returncode, ran.stderr) == (2, told)


def test_help_lists_every_option(machine: Machine) -> None:
    ran = machine.run("run", "--help")
    assert ran.returncode == 0
    for option in ("--model", "--session", "--continue", "--cwd", "--mode", "--output", "--max-steps", "--timeout"):
        assert option in ran.stdout


def test_a_host_that_nobody_can_be_asked_about_is_refused_at_once_and_the_model_told(machine: Machine) -> None:
    fetch = shell("curl -sS --max-time 25 http://far.test/")
    machine.sim.reset([fetch, {"text": "I could not."}])
    ran = machine.run("run", "--mode", "full", "fetch it")
    assert (ran.returncode, ran.stdout) == (0, "I could not.\n")
    assert "! refused, for nobody is here to approve it: connect to far.test:80" in ran.stderr
    told = json.dumps(machine.sim.requests[-1].json()["messages"])
    assert "far.test:80 was not reached, because it needs a person's approval, and nobody is here" in told
    machine.sim.reset([fetch, {"text": "never"}])
    ran = machine.run("run", "--mode", "full", "--if-asked", "stop", "fetch it")
    assert ran.returncode == 3
    assert "nobody here can allow it to connect to far.test:80" in ran.stderr
    assert "--mode" not in ran.stderr  # no mode would let it
