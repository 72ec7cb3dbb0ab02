"""What is decided about each of the labelled commands, in every mode."""

import pytest

from openagent.policy.analysis import analyse
from openagent.policy.builtin.catalogue import KINDS
from openagent.protocol.sessions import Mode
from tests.policy.labelled import WORKSPACE, Labelled, decided, labelled_commands

LABELLED = labelled_commands()
DANGEROUS = [labelled for labelled in LABELLED if labelled.expect != "allow"]
HARMLESS = [labelled for labelled in LABELLED if labelled.expect == "allow"]
NOTES = list(dict.fromkeys(labelled.note for labelled in DANGEROUS))


def noted(note: str) -> list[Labelled]:
    return [labelled for labelled in DANGEROUS if labelled.note == note]


def test_there_are_at_least_three_hundred_labelled_commands_without_doubles() -> None:
    assert len({labelled.command for labelled in LABELLED}) == len(LABELLED) >= 300


@pytest.mark.parametrize("note", NOTES)
@pytest.mark.parametrize("mode", ["ask", "edits"])
def test_no_dangerous_command_is_allowed(note: str, mode: Mode) -> None:
    wrong = [
        (labelled.command, decision)
        for labelled in noted(note)
        if (decision := decided(labelled.command, mode)).kind != labelled.expect
        or (labelled.risk and decision.risk != labelled.risk)
        or not decision.reason
    ]
    assert not wrong


@pytest.mark.parametrize("note", NOTES)
def test_full_mode_still_stops_what_is_never_allowed(note: str) -> None:
    assert not [
        (labelled.command, decision)
        for labelled in noted(note)
        if (decision := decided(labelled.command, "full")).kind != labelled.full
    ]


@pytest.mark.parametrize("note", NOTES)
def test_plan_mode_refuses_whatever_does_more_than_read(note: str) -> None:
    assert not [labelled.command for labelled in noted(note) if decided(labelled.command, "plan").kind != "deny"]


@pytest.mark.parametrize("mode", ["plan", "ask", "edits", "full"])
def test_harmless_everyday_commands_are_rarely_asked_about(mode: Mode) -> None:
    asked = [labelled.command for labelled in HARMLESS if decided(labelled.command, mode).kind != "allow"]
    print(f"{len(asked)} of {len(HARMLESS)} harmless commands are asked about in {mode} mode: {asked}")  # noqa: T201
    assert len(asked) < len(HARMLESS) * 0.02, asked


@pytest.mark.parametrize("command", ["make build >/dev/null 2>&1", "npm install &> /dev/null"])
def test_hiding_all_output_raises_the_risk_of_what_does_more_than_read(command: str) -> None:
    assert decided(command).risk == "high"


def test_a_command_is_judged_from_the_folder_it_starts_in() -> None:
    assert decided("rm -rf *").kind == "ask"
    assert decided("rm -rf *", cwd="/").kind == "deny"
    assert decided("cat id_custom", cwd="/home/me/.ssh").kind == "ask"


@pytest.mark.parametrize("workspace", ["/", "/home/me"])
def test_a_very_wide_workspace_does_not_open_the_system(workspace: str) -> None:
    for command in ("rm -rf /", "rm -rf /etc", "echo x > /etc/passwd", f"rm -rf {workspace}"):
        assert decided(command, "full", workspace=workspace).kind == "deny", command
    assert decided("echo x >> ~/.bashrc", "edits", workspace=workspace).rule == "builtin:protected-file"


def test_a_workspace_inside_a_system_folder_can_be_worked_in() -> None:
    for command in ("rm -rf build", "touch a", "rm -rf /usr/src/app/build"):
        assert decided(command, workspace="/usr/src/app").kind == "ask", command
    assert decided("rm -rf /usr/src", workspace="/usr/src/app").kind == "deny"


@pytest.mark.parametrize(
    ("command", "kind", "ways"),
    [
        ("ls -la src | head", "read", []),
        ('cat "$f"', "read", []),
        ("mkdir -p a && echo x > a/b && rm a/b", "write", []),
        ("sed -i s/a/b/ x; cp a b; mv b c; touch d; ls | tee e", "write", []),
        ("echo x > /tmp/a; cp a ~/b", "write", []),
        ("make test", "unknown", []),
        ("echo 'unfinished", "unknown", []),
        ("curl https://example.com", "leave", ["network"]),
        ("pip install x", "leave", ["network"]),
        ("docker run alpine", "leave", ["engine"]),
        ("git push origin main", "leave", ["publish"]),
        ("cat .env", "leave", ["credentials"]),
        ("cat ../other/x", "leave", ["outside"]),
        ("cp a /opt/b", "leave", ["outside"]),
        ("sudo ls", "leave", ["privilege"]),
        ("make && npm publish && docker ps -a && docker rm x", "leave", ["engine", "publish"]),
        ("rm -rf /", "never", []),
    ],
)
def test_a_command_reads_or_writes_or_leaves_or_is_unknown(command: str, kind: str, ways: list[str]) -> None:
    units = analyse(command, WORKSPACE)
    assert max((unit.kind for unit in units), key=KINDS.index) == kind
    assert sorted({way for unit in units for way in unit.leaves}) == ways
