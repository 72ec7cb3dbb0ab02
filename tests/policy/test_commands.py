"""What is decided about each of the labelled commands, in every mode."""

import pytest

from openagent.policy.analysis import analyse
from openagent.policy.builtin.catalogue import KINDS
from openagent.policy.rules import Rule, RuleSet
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
        if ((decision := decided(labelled.command, mode)).kind != labelled.expect and decision.rule != "mode:edits")
        or (labelled.risk and decision.risk != labelled.risk)
        or not decision.reason
    ]
    assert not wrong


@pytest.mark.parametrize("note", NOTES)
def test_full_mode_stops_what_is_never_allowed_and_asks_in_a_jail_only_about_what_it_cannot_read(note: str) -> None:
    assert not [
        (labelled.command, decision)
        for labelled in noted(note)
        if (decision := decided(labelled.command, "full")).kind
        != ("deny" if labelled.expect == "deny" else "ask" if labelled.unread else "allow")
    ]


@pytest.mark.parametrize("note", NOTES)
def test_auto_asks_about_what_it_cannot_read(note: str) -> None:
    assert not [each for each in noted(note) if each.unread and decided(each.command, "auto").kind != "ask"]


@pytest.mark.parametrize("note", NOTES)
def test_full_mode_without_a_jail_still_asks_about_the_worst(note: str) -> None:
    assert not [
        (labelled.command, decision)
        for labelled in noted(note)
        if (decision := decided(labelled.command, "full", walled=False)).kind != labelled.full
    ]


@pytest.mark.parametrize("note", NOTES)
def test_plan_mode_runs_commands_behind_the_read_only_wall_and_none_without_a_jail(note: str) -> None:
    for labelled in noted(note):
        decision = decided(labelled.command, "plan")
        assert decision.wall == "read", labelled
        assert decision.kind == ("deny" if labelled.expect == "deny" else "allow"), labelled
        assert decided(labelled.command, "plan", walled=False).kind == "deny", labelled


@pytest.mark.parametrize("note", NOTES)
def test_without_a_jail_no_command_runs_unasked_below_full(note: str) -> None:
    modes: tuple[Mode, ...] = ("ask", "edits", "auto")
    for mode in modes:
        assert not [each for each in noted(note) if decided(each.command, mode, walled=False).kind == "allow"]
        assert not [each for each in HARMLESS if decided(each.command, mode, walled=False).kind == "allow"]


def test_what_runs_unasked_in_ask_runs_where_nothing_can_be_written() -> None:
    assert not [
        each for each in HARMLESS if decided(each.command).kind == "allow" and decided(each.command).wall != "read"
    ]
    assert (
        decided("ls; make", rules=RuleSet.merge([Rule(decision="allow", command="make")], [], trusted=False)).wall
        == "write"
    )


@pytest.mark.parametrize(
    "command",
    ["cat > notes.md <<'END'\nhello\nEND", "mkdir -p a/b && touch a/b/c", "sed -i s/a/b/ x.py", "cp a b && ls"],
)
def test_edits_lets_plain_changes_of_the_workspace_run_from_the_shell_too(command: str) -> None:
    assert decided(command).kind == "ask"
    decision = decided(command, "edits")
    assert (decision.kind, decision.wall) == ("allow", "write")
    assert decided(f"make; {command}", "edits").kind == "ask"
    assert decided(f"cp a ../b; {command}", "edits").kind == "ask"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("make test && npm install && python x.py | tee log", ""),
        ("curl https://example.com -o x", ""),
        ("rm -rf build", ""),
        ("git reset --hard && git commit -m x", ""),
        ("echo x > /tmp/a; cp a ~/b", ""),
        ("echo 'unfinished", "builtin:not-understood"),
        ("docker compose up -d", "builtin:containers"),
        ("git push", "builtin:git-pushes"),
        ("npm publish", "builtin:publishes"),
        ("/usr/lib/git-core/git-push -f", "builtin:git-pushes"),
        ("git-push origin main", "builtin:git-pushes"),
        ("git send-pack x main", "builtin:git-pushes"),
        ("git subtree push --prefix x origin main", "builtin:git-pushes"),
        ("git lfs push origin main", "builtin:git-pushes"),
        ("git svn dcommit", "builtin:git-pushes"),
        ("git p4 submit", "builtin:git-pushes"),
        ("jj -R x git push", "builtin:git-pushes"),
        ("hub push", "builtin:git-pushes"),
        ("git push https://example.com/x.git main", "builtin:publishes"),
        ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p", "builtin:hidden-code"),
        ("git subtree split --prefix x && git lfs ls-files && jj log && gh pr list", ""),
        ("setarch x86_64 make; tmux ls; tmux kill-session -t x; tmux send-keys -t x C-c", ""),
        ("sqlite3 x.db '.tables' 'select 1 | 2' < a.sql; direnv status; rsync -e 'ssh -p 2' a b", ""),
        ('export LESSOPEN="|$PWD/x %s"; exec 3< a; cat <&3; exec < a; read x', ""),
        ("cat ~/.ssh/id_rsa", "builtin:reads-credentials"),
        ("sudo make install", "builtin:privilege"),
        ("cp a ../other/b", "builtin:writes-outside"),
        ("rm -rf .git", "builtin:deletes-repository"),
    ],
)
def test_auto_asks_only_about_what_leaves_the_jail_or_cannot_be_read(command: str, rule: str) -> None:
    decision = decided(command, "auto")
    assert (decision.kind, decision.wall) == ("ask" if rule else "allow", "write")
    assert not rule or decision.rule == rule


@pytest.mark.parametrize("mode", ["plan", "ask", "edits", "auto", "full"])
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
