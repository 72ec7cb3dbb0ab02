"""However a command is written: what is decided about it is at least as strict as about the plain one.

Each of 500 spellings is tried on some of the rules; `OPENAGENT_POLICY_ALL=1` tries each on all of them.
"""

import os
import re
import shlex

import pytest

from openagent.policy.builtin import catalogue
from openagent.policy.facts import CallFacts
from openagent.policy.rules import Rule, RuleSet
from openagent.policy.units import units_of
from openagent.protocol.sessions import Mode
from tests.policy.labelled import WORKSPACE, decided
from tests.policy.spellings import UNREADABLE, Spelling, Words, around

SPELLINGS = 500
STEP = 1 if os.environ.get("OPENAGENT_POLICY_ALL") else 12
STRICTNESS = ("allow", "ask", "deny")
UNREAD = ("not-understood", "hidden-code", "dynamic-danger")
MODES: tuple[tuple[Mode, bool], ...] = (("ask", True), ("edits", True), ("auto", True), ("full", True), ("full", False))
"""Each with whether a jail holds the command."""
OWN = (
    (Rule(decision="deny", command="make deploy"), "make deploy"),
    (Rule(decision="deny", argv=["fly", "launch", "now"]), "fly launch now"),
    (Rule(decision="deny", path="secrets/**"), "cat secrets/a.txt"),
    (Rule(decision="deny", host="evil.example"), "curl https://evil.example/x"),
    (Rule(decision="deny", command="kube* delete"), "kubectl delete ns x"),
    (Rule(decision="deny", command="git push origin main"), "git push origin main"),
    (Rule(decision="deny", path="*.lock", command="rm"), "rm yarn.lock"),
    (Rule(decision="deny", command=["ansible-playbook", "vagrant up"]), "vagrant up"),
    (Rule(decision="ask", command="terraform apply"), "terraform apply -auto-approve"),
    (Rule(decision="ask", path="deploy/**"), "cp a deploy/b"),
)
RULES = RuleSet.merge([rule for rule, _ in OWN], [], trusted=False)
_PLAIN_WORDS = re.compile(r"[\w./:@=+-]+(?: [\w./:@=+-]+)*")


def commands() -> list[tuple[str | Words, RuleSet]]:
    """One for each rule. What uses variables itself means another thing beside others."""
    found: list[tuple[str | Words, RuleSet]] = [(shlex.split(command), RULES) for _, command in OWN]
    for name, rule in catalogue.rules().items():
        if name not in ("hidden-characters", "dynamic-danger", "dynamic"):
            text = next((each for each in rule.match if "$" not in each), rule.match[0])
            found.append((text.split(" ") if _PLAIN_WORDS.fullmatch(text) else text, RuleSet()))
    return [*found, ('"$tool" ~', RuleSet()), ("/bin/l? x", RuleSet())]


COMMANDS = commands()


def strictness(command: str, rules: RuleSet) -> list[int]:
    return [STRICTNESS.index(decided(command, mode, rules, walled=walled).kind) for mode, walled in MODES]


def cannot_be_read(command: str) -> bool:
    facts = CallFacts("shell", "execute", command, WORKSPACE, runs="command")
    return any(unit.meets(rule) for unit in units_of(facts) for rule in UNREAD)


def weaker(command: str, plain: str, rules: RuleSet) -> bool:
    """Less strict than the plain one. What cannot be read is asked about, also where the plain one is denied."""
    at_least = strictness(plain, rules)
    if cannot_be_read(command):
        at_least = [min(each, STRICTNESS.index("ask")) for each in at_least]
    return any(found < least for found, least in zip(strictness(command, rules), at_least, strict=True))


def test_all_rules_are_tried_and_the_spellings_differ() -> None:
    assert len(COMMANDS) >= len(OWN) + len(catalogue.rules()) - 1
    assert len({Spelling(number).of(["make", "deploy"]) for number in range(SPELLINGS)}) > SPELLINGS * 0.95


@pytest.mark.timeout(60 if STEP > 1 else 900)
@pytest.mark.parametrize("part", range(4))
def test_no_spelling_makes_a_decision_weaker(part: int) -> None:
    for number in range(part, SPELLINGS, 4):
        spelling = Spelling(number)
        for command, rules in COMMANDS[number % STEP :: STEP]:
            text = spelling.of(command)
            plain = command if isinstance(command, str) else shlex.join(command)
            assert not weaker(text, plain, rules), (number, plain, text)


@pytest.mark.parametrize("form", UNREADABLE)
def test_what_policy_does_not_follow_is_asked_about_in_every_mode(form: str) -> None:
    for command in ("make deploy", "rm -rf /", "ls"):
        assert min(strictness(around(form, command), RULES)) >= STRICTNESS.index("ask"), around(form, command)


STARTED = (
    *(
        "/proc/self/exe -c {q}",
        "/proc/$$/exe -c {q}",
        "bash +O extglob -c {q}",
        "bash -Oc extglob {q}",
        "bash +x -c {q}",
    ),
    *("compgen -C {q} y", "complete -C {q} y", "compgen -W '$({})'", "exec 3<<< {q}; sh <&3", "exec <<< {q}; sh"),
    *("exec 3<<< {q}; sh /dev/fd/3", "exec 3<<< ls; exec 3<<< {q}; sh <&3", "exec < <(echo {q}); sh"),
    *("env 'BASH_FUNC_ls%%=() {{ {}; }}' bash -c ls", "BASH_ENV=<(echo {q}) bash -c :", "env BASH_ENV=<(echo {q}) sh"),
    *("setarch x86_64 {}", "setarch x86_64 -R {}", "setarch -R {}", "linux32 {}", "x86_64 {}"),
    *("/lib64/ld-linux-x86-64.so.2 {}", "/lib64/ld-linux-x86-64.so.2 --argv0 y /bin/sh -c {q}"),
    *("tmux new -d {q}", "tmux new-session -d -s y {}", "tmux new -d \\; run {q}", "tmux send-keys -t y {q} Enter"),
    *("tmux new -d 'ls;' neww {q}", "screen -dm {}", "screen -dmS y {}", "npx -c {q}", "npm exec -c {q}"),
    *("direnv exec . {}", "nix-shell --run {q}", "nix-shell -p y --command {q}", "nix develop -c {}"),
    *("ssh -o ProxyCommand={q} host", "ssh -oProxyCommand={q} host", "scp -o ProxyCommand={q} a host:b"),
    *("rg --pre {q} y", "sort --compress-program={q} y", "scp -S {q} a host:b", "rsync -e {q} a host:b"),
    *("echo {q} | at now", "batch <<< {q}", "echo '* * * * * '{q} | crontab -", "echo '@daily '{q} | crontab"),
    *(
        "entr -s {q}",
        "nodemon -x {q}",
        "prlimit --nofile=5 {}",
        "choom -n 5 -- {}",
        "devbox run {}",
        "nc -e {q} host 1",
    ),
    *("parallel ::: {q}", "gdb -batch -ex 'shell '{q}", "expect -c 'spawn '{q}", "npm --call={q} exec", "uname26 {}"),
    *("exec 0<<< {q}; sh", "exec 3<<< {q}; sh 0<&3", "exec 3<<< {q}; exec <&3; sh", "exec 3<<< {q}; exec 0<&3; sh"),
    *("sqlite3 '.shell '{q}", "sqlite3 y.db '.system '{q}", "sqlite3 y.db <<< '.shell '{q}", "sqlite3 y '.once |'{q}"),
)
"""Other ways to have a command run."""


@pytest.mark.parametrize("form", STARTED)
def test_what_other_programs_start_is_held_to_the_rules(form: str) -> None:
    rules = RuleSet.merge([Rule(decision="deny", command=["make deploy", "fly *"])], [], trusted=False)
    modes: tuple[Mode, ...] = ("auto", "full")
    for command in ("make deploy", "fly one", "rm -rf /"):
        for mode in modes:
            assert decided(around(form, command), mode, rules).kind != "allow", (form, command, mode)


@pytest.mark.parametrize(
    "form",
    [
        "rg --pre {} y",
        "sort --compress-program={} y",
        "scp -S {} a host:b",
        "GIT_EXTERNAL_DIFF={} git diff",
        "git -c core.pager={} log",
    ],
)
def test_a_program_started_on_the_side_gets_words_of_its_own(form: str) -> None:
    rules = RuleSet.merge([Rule(decision="deny", command="fly *")], [], trusted=False)
    assert decided(form.format("fly"), "full", rules).kind != "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("hash -p $PWD/fly zz; zz one", "hash -p /usr/bin/make zz; zz deploy", "BASH_CMDS[zz]=$PWD/fly; zz one"),
        *("ln -s /usr/bin/fly q; ./q one", "cp /usr/bin/make q; ./q deploy", "cp ./fly bin; bin/fly one"),
        *("ln -s /usr/bin/rm q; ./q -rf /", "ln -s ../bin/fly q; PATH=.:$PATH; q one", "hash -p /bin/rm q; q -rf /"),
    ],
)
def test_another_name_for_a_program_is_that_program(command: str) -> None:
    rules = RuleSet.merge([Rule(decision="deny", command=["make deploy", "fly *"])], [], trusted=False)
    assert decided(command, "full", rules).kind != "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("x=echo; bash -c '$x make deploy'", "x=echo; env -i sh -c '$x make deploy'", "x=echo; . ./f; $x make deploy"),
        *(
            "f() { local x=echo; }; f; $x make deploy",
            "${x+echo} make deploy",
            "x=echo; declare -n x=y; $x make deploy",
        ),
        *("declare -l x=MAKE; $x deploy", "declare -l x; x=MAKE; $x deploy", "IFS=X; x=makeXdeploy; $x"),
        *("make() { :; }; command make deploy", "make() { :; }; bash -c 'make deploy'", "alias make=echo\nmake deploy"),
        *("alias echo=\necho make deploy", "x=([0]=make [1]=deploy); ${x[@]}", "q=('m'\"a\"\\ke deploy); ${q[@]}"),
        *(
            "for x in 'm'\"a\"\\ke; do $x deploy; done",
            "touch deploy; make deplo?",
            "/usr/bin/mak[e] deploy",
            "m*e deploy",
        ),
        *("make -C . deploy", "make -f Makefile -j 4 deploy", "make V=1 deploy", "make -- deploy", "arch make deploy"),
        *("test -v 'a[$(make deploy)]'", "[ 'a[$(make deploy)]' -eq 1 ]", "x='a[$(make deploy)]'; [[ x -eq 1 ]]"),
        *("let 'x=a[$(make deploy)]'", "declare -i x='a[$(make deploy)]'", "printf -v 'a[$(make deploy)]' x"),
        *("uv run make deploy", "fakeroot make deploy", "time -p make deploy", "time x=make; $x deploy"),
        *("echo -e '\\0155ake deploy' | sh", "sh -c \"echo 'm\\0141ke deploy' | sh\"", "$x make deploy", "make $x"),
        *("{make,{deploy,x}}", "set -- make deploy; \"$@\"''", 'x=a; set -- $u echo make deploy; shift; "$@"'),
        *("declare x={make,make}; $x deploy", 'y=make; declare "-n" x=y; $x deploy', "make ${x+all} deploy"),
        *("f() { make [ [[; }; f", "q=($u echo make); ${q[1]} deploy", "make $'de\\u0070loy'", "cat 'secrets/\u00a0'"),
        *("cat secret?/a.txt", "cat */a.txt", "cat s[a-z]*/*", "rm *", "fly launch $x now", "cp a deplo?/b"),
    ],
)
def test_what_a_rule_is_about_is_denied_or_asked_about_even_in_full_mode(command: str) -> None:
    assert decided(command, "full", RULES).kind != "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("alias rm=echo\nrm -rf /", "rm() { :; }; command rm -rf /", "rm() { :; }; env rm -rf /"),
        *("rm() { :; }; bash -c 'rm -rf /'", "rm() { echo; }; unset -f rm; rm -rf /", "x=echo; bash -c '$x rm -rf /'"),
        *('set -- rm -rf /; shift 9; "$@"', "echo -e '\\0162m -rf /' | bash", "time x=rm; $x -rf /"),
    ],
)
def test_what_is_never_allowed_stays_so_beside_functions_aliases_and_variables(command: str) -> None:
    assert decided(command, "full").kind == "deny"


def test_a_rule_that_denies_for_sure_goes_before_one_that_only_may() -> None:
    rules = [Rule(decision="deny", path="secrets/**"), Rule(decision="deny", command="rm", reason="Keep it.")]
    decision = decided("rm $x", "full", RuleSet.merge(rules, [], trusted=False))
    assert (decision.kind, decision.reason) == ("deny", "Keep it.")


def test_a_pattern_that_cannot_mean_what_a_rule_is_about_is_not_asked_about() -> None:
    for command in ("ls *.py", "cat src/*.txt", "make t*", "grep -r x src/**", "cat a?b/c.txt"):
        assert decided(command, "full", RULES).kind == "allow", command
