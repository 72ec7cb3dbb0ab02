"""`openagent doctor` and `openagent demo`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from .machine import MODEL, Machine, is_running


def checks(machine: Machine, code: int = 0) -> dict[str, dict[str, str]]:
    ran = machine.run("doctor", "--json")
    assert ran.returncode == code, ran.stderr
    report = json.loads(ran.stdout)
    assert report["ok"] is (code == 0)
    return {check["name"]: check for check in report["checks"]}


def test_everything_is_looked_at_and_a_daemon_started_for_it_is_stopped_again(fresh: Machine) -> None:
    found = checks(fresh)
    assert {"python", "bash", "bwrap", "git", "rg", "tmux", "docker", "data home", "daemon", "configuration"} <= set(
        found
    )
    assert found["configuration"]["state"] == "ok"
    assert MODEL in found["model"]["detail"]
    assert found["keys"]["detail"] == "OPENAI_API_KEY"
    assert "key-of-the-test" not in fresh.run("doctor").stdout
    assert fresh.daemon_pid() is None


def test_a_running_daemon_is_left_alone(machine: Machine) -> None:
    machine.turn("start", script=[{"text": "a"}])
    pid = machine.daemon_pid()
    assert pid is not None
    assert f"pid {pid}" in checks(machine)["daemon"]["detail"]
    assert is_running(pid)


def test_a_broken_configuration_is_told_in_the_daemons_own_words(fresh: Machine) -> None:
    config = fresh.root / ".config" / "openagent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[budget]\nday_usd = 'much'\n")
    broken = checks(fresh, 1)["configuration"]
    assert broken["state"] == "broken"
    assert f"{config}:2" in broken["detail"]
    config.unlink()


def test_what_a_folder_brings_for_agents_is_named_until_it_is_trusted(fresh: Machine) -> None:
    assert "trust" not in checks(fresh)
    (fresh.workspace / ".openagent").mkdir()
    (fresh.workspace / ".openagent" / "hooks.json").write_text('{"hooks": {}}')
    (fresh.workspace / ".mcp.json").write_text('{"mcpServers": {"time": {"command": "mcp-server-time"}}}')
    told = checks(fresh)["trust"]
    assert told["state"] == "missing"
    assert told["detail"] == (
        f"{fresh.workspace} is not trusted, so these files can only make things stricter: "
        ".mcp.json, .openagent/hooks.json"
    )
    assert fresh.run("trust").returncode == 0
    assert checks(fresh)["trust"]["state"] == "ok"


def test_a_jail_without_its_engine_is_something_required_that_is_missing(fresh: Machine) -> None:
    config = fresh.root / ".config" / "openagent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[jail]\nkind = "docker"\n')
    alone = replace(fresh, extra={"DOCKER_HOST": f"unix://{fresh.root}/nobody.sock"})
    broken = checks(alone, 1)["jail"]
    assert broken["state"] == "broken"
    assert "No container engine answers" in broken["detail"]
    assert "Something required is missing." in alone.run("doctor").stdout


def test_a_missing_program_comes_with_the_way_to_get_it(fresh: Machine, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "bash").symlink_to("/bin/bash")
    poor = replace(fresh, extra={"PATH": str(programs)})
    found = checks(poor)
    assert found["git"]["state"] == "missing"
    assert "git" in found["git"]["advice"]
    assert found["bash"]["state"] == "ok"
    (programs / "bash").unlink()
    assert checks(poor, 1)["bash"]["advice"] == "Install the package bash."
    text = poor.run("doctor").stdout
    assert "– rg" in text
    assert "→ Install the package ripgrep." in text


def _without_sandbox(machine: Machine, folder: Path) -> Machine:
    """The same machine, where the kernel refuses user namespaces."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "bash").symlink_to("/bin/bash")
    fake = programs / "bwrap"
    fake.write_text("#!/bin/bash\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    return replace(machine, extra={"PATH": str(programs)})


def test_a_jail_that_cannot_be_made_is_told(fresh: Machine, tmp_path: Path) -> None:
    poor = _without_sandbox(fresh, tmp_path)
    jail = checks(poor)["bwrap"]
    assert (jail["state"], "No permissions" in jail["detail"]) == ("broken", True)
    assert "user namespaces" in jail["advice"]
    assert "It runs, but this does not work: bwrap." in poor.run("doctor").stdout


def test_the_demo_repairs_a_bug_and_says_how_to_go_on(machine: Machine) -> None:
    target = machine.root / "tour"
    ran = machine.run("demo", "--cwd", str(target))
    assert ran.returncode == 0, ran.stderr
    assert "The model is scripted" in ran.stdout
    assert "✓ edited pages.py +1 −1" in ran.stderr
    assert "// per_page" in (target / "pages.py").read_text()
    assert str(target) in ran.stdout
    show = next(line for line in ran.stdout.splitlines() if "openagent sessions show" in line)
    session = show.split()[-1]
    assert f"openagent attach {session}" in ran.stdout
    assert "openagent stop" in ran.stdout
    assert "[scripted]" in machine.run("sessions", "show", session).stdout
    again = machine.run("demo", "--cwd", str(target))
    assert again.returncode == 1
    assert "already holds" in again.stderr


def test_a_tour_whose_tools_cannot_run_ends_with_an_error(fresh: Machine, tmp_path: Path) -> None:
    ran = _without_sandbox(fresh, tmp_path).run("demo", "--cwd", str(fresh.root / "tour"))
    assert ran.returncode == 1, ran.stdout
    assert "The tour could not finish because a tool failed" in ran.stderr


@pytest.mark.parametrize("arguments", [("--nonsense",), ("extra",)])
def test_a_wrong_command_line_is_exit_code_2(machine: Machine, arguments: tuple[str, ...]) -> None:
    assert machine.run("doctor", *arguments).returncode == 2


def test_a_stored_key_is_among_the_keys_and_none_at_all_is_said(fresh: Machine) -> None:
    bare = replace(fresh, extra={"OPENAI_API_KEY": "", "OPENAGENT_MODEL": ""})
    assert checks(bare)["keys"]["state"] == "missing"
    assert "the vault" in checks(bare)["keys"]["detail"]
    added = bare.run("auth", "add", "anthropic", "--no-test", given="sk-ant-of-the-test-0123456789")
    assert added.returncode == 0, added.stderr
    keys = checks(bare)["keys"]
    assert (keys["state"], keys["detail"]) == ("ok", "Anthropic (stored)")
