"""What is decided about tools that are no shell, mode by mode."""

from typing import Any

import pytest

from openagent.policy.decision import decide
from openagent.policy.facts import Decision, Effect
from openagent.policy.rules import RuleSet
from openagent.protocol.sessions import Mode
from openagent.tools.git import git
from tests.policy.labelled import WORKSPACE, facts_of

MODES: tuple[Mode, ...] = ("plan", "ask", "edits", "auto", "full")


def decided(tool: str, effect: Effect, subject: str, mode: Mode, arguments: dict[str, Any] | None = None) -> Decision:
    return decide(facts_of(tool, effect, subject, arguments=arguments), mode, RuleSet.builtin())


@pytest.mark.parametrize(
    ("tool", "effect", "subject", "expected"),
    [
        ("todo", "none", "", "allow allow allow allow allow"),
        ("read_file", "read", "src/a.py", "allow allow allow allow allow"),
        ("grep", "read", "TODO", "allow allow allow allow allow"),
        ("read_file", "read", ".env", "deny ask ask ask allow"),
        ("read_file", "read", "/home/me/.ssh/id_rsa", "deny ask ask ask allow"),
        ("write_file", "write", "src/a.py", "deny ask allow allow allow"),
        ("write_file", "write", f"{WORKSPACE}/a", "deny ask allow allow allow"),
        ("write_file", "write", "../a", "deny ask ask ask allow"),
        ("write_file", "write", "src/../../a", "deny ask ask ask allow"),
        ("write_file", "write", "~/notes", "deny ask ask ask allow"),
        ("write_file", "write", "/tmp/a", "deny ask ask ask allow"),
        ("write_file", "write", ".git/hooks/pre-commit", "deny ask ask ask allow"),
        ("write_file", "write", "sub/.git/config", "deny ask ask ask allow"),
        ("write_file", "write", ".openagent/policy.toml", "deny ask ask ask allow"),
        ("write_file", "write", ".github/workflows/ci.yml", "deny ask ask ask allow"),
        ("write_file", "write", ".husky/pre-commit", "deny ask ask ask allow"),
        ("write_file", "write", "lefthook-local.yml", "deny ask ask ask allow"),
        ("write_file", "write", ".pre-commit-config.yaml", "deny ask ask ask allow"),
        ("write_file", "write", ".env", "deny ask ask ask allow"),
        ("write_file", "write", "config/secrets.yml", "deny ask ask ask allow"),
        ("write_file", "write", "~/.bashrc", "deny ask ask ask allow"),
        ("write_file", "write", "/etc/passwd", "deny deny deny deny deny"),
        ("write_file", "write", "/usr/bin/x", "deny deny deny deny deny"),
        ("write_file", "write", "../../../etc/x", "deny deny deny deny deny"),
        ("web_fetch", "network", "https://example.com", "deny ask ask ask allow"),
        ("execute_code", "execute", "print(1)", "allow ask ask allow allow"),
        ("execute_code", "execute", "import os; os.system('rm -rf /')", "deny deny deny deny deny"),
        ("github__create_issue", "execute", "", "deny ask ask ask allow"),
        ("git", "execute", "git status", "allow allow allow allow allow"),
        ("git", "execute", "git push --force", "allow ask ask ask allow"),
        ("shell", "execute", "", "allow allow allow allow allow"),
    ],
)
def test_modes_decide_by_what_a_tool_does(tool: str, effect: Effect, subject: str, expected: str) -> None:
    assert " ".join(decided(tool, effect, subject, mode).kind for mode in MODES) == expected


def test_plan_mode_tells_the_model_why() -> None:
    assert "plan mode" in decided("write_file", "write", "a", "plan").reason


def test_every_file_of_a_patch_counts() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n+x\n*** Add File: .git/hooks/pre-commit\n+y\n*** End Patch"
    assert decided("apply_patch", "write", "src/a.py", "edits", {"patch": patch}).rule == "builtin:protected-file"
    unified = "--- a/src/a.py\n+++ b/../../../etc/passwd\n"
    assert decided("apply_patch", "write", "", "full", {"patch": unified}).kind == "deny"


def test_the_whole_command_counts_and_not_its_shortened_subject() -> None:
    assert decided("shell", "execute", "ls …", "full", {"command": "ls; rm -rf /"}).kind == "deny"
    assert decided("execute_code", "execute", "…", "full", {"language": "bash", "code": "rm -rf /"}).kind == "deny"


@pytest.mark.parametrize(
    ("subcommand", "args", "expected"),
    [
        ("push", ["--force", "origin"], "ask builtin:git-destroys"),
        ("log", ["-5"], "allow builtin:read-only"),
        ("log", ["$(rm -rf /)"], "allow builtin:read-only"),  # arguments are not shell text
    ],
)
def test_the_arguments_of_the_git_tool_make_a_git_command(subcommand: str, args: list[str], expected: str) -> None:
    given = {"subcommand": subcommand, "args": args}
    decision = decided("git", "execute", git.summarize(given), "ask", given)
    assert f"{decision.kind} {decision.rule}" == expected


def test_the_clouds_metadata_service_is_a_store_of_secrets() -> None:
    decision = decided("web_fetch", "network", "http://169.254.169.254/latest/meta-data", "ask")
    assert (decision.kind, decision.risk) == ("ask", "high")
