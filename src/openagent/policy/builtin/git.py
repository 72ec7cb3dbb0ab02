"""git: what reads, what changes, what loses work, and the many ways it runs other programs."""

import re
from collections.abc import Iterable

from openagent.policy import paths
from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Handler, Inner, InnerScript, Outcome, reads, writes
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.builtin.network import exfiltrates
from openagent.policy.names import names
from openagent.policy.shell.values import UNKNOWN, Value

_READING = names(
    "status log diff show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree cat-file grep "
    "for-each-ref show-ref name-rev merge-base count-objects version help whatchanged cherry diff-tree diff- "
    "index diff-files check-ignore check-attr check-mailmap check-ref-format verify-commit verify-tag var "
    "fsck show-branch range-diff merge-tree get-tar-commit-id patch-id stripspace column"
)
_CHANGING = names(
    "add commit merge rebase cherry-pick revert am apply mv init stash tag branch checkout switch restore "
    "reset notes worktree bisect sparse-checkout rerere gc repack pack-refs prune maintenance update-index "
    "write-tree commit-tree mktag hash-object submodule format-patch bundle archive config remote symbolic- "
    "ref update-ref read-tree checkout-index clone"
)
_NETWORK = names("fetch pull clone ls-remote remote-update fetch-pack send-pack archive-remote svn p4 cvsimport lfs")
_HARMLESS_KEYS = re.compile(
    r"color\.|user\.(?:name|email)$|core\.(?:quotepath|autocrlf|abbrev|commentchar|ignorecase|filemode|eol|safecrlf)$|advice\.|log\.|commit\.(?:gpgsign|verbose|cleanup)$"
    r"|diff\.(?:algorithm|renames|noprefix|mnemonicprefix|colormoved|context|submodule|wserrorhighlight)$|tag\.(?:gpgsign|sort)$|gc\.auto$|safe\.directory$|http\.version$"
    r"|merge\.conflictstyle$|pull\.(?:rebase|ff)$|push\.(?:default|autosetupremote)$|column\.|status\.|format\.pretty$|i18n\.|versionsort\.|branch\.sort$|init\.defaultbranch$|rebase\.auto",
    re.IGNORECASE,
)
_GLOBAL_WITH_VALUE = frozenset(
    ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix")
)


def git(call: Call) -> Iterable[Outcome]:
    found: list[Outcome] = []
    values = list(call.values)
    while values and values[0].text.startswith("-"):
        option = values.pop(0)
        name, _, attached = option.text.partition("=")
        if name in _GLOBAL_WITH_VALUE:
            value = Value(attached, option.known) if attached else (values.pop(0) if values else Value(""))
            found.extend(_global_option(call, name, value))
        elif option.text in ("--version", "--help", "-v", "-h"):
            return found
        elif not option.known:
            return [Finding(catalogue.DYNAMIC, option.text)]
    if not values:
        return found
    verb, *arguments = values
    if not verb.known or verb.text.startswith(UNKNOWN):
        return [*found, Finding(catalogue.DYNAMIC, "a git command")]
    inner = Call(verb.text, tuple(arguments), call.input, call.state, call.workspace)
    return [*found, *_verb(inner)]


def _global_option(call: Call, name: str, value: Value) -> Iterable[Outcome]:
    if name == "-c":
        key, _, setting = value.text.partition("=")
        yield from _setting(key, Value(setting, value.known))
    elif name in ("--exec-path", "--config-env") or call.place(value) != "workspace":
        # Another repository's configuration names programs that git runs.
        yield Finding(catalogue.STEERS_SHELL, f"{name} {value.text}")


def _setting(key: str, value: Value) -> Iterable[Outcome]:
    if value.known and _HARMLESS_KEYS.match(key):
        return
    if key.lower().endswith("pager") and value.text in ("cat", "less", ""):
        return
    yield Finding(catalogue.STEERS_SHELL, key)
    text = value.text.removeprefix("!")
    if key.lower().startswith("alias.") and not value.text.startswith("!"):
        text = "git " + text
    if text:
        yield InnerScript(text)


def _verb(call: Call) -> Iterable[Outcome]:
    verb = call.name
    runs = list(_programs(call))
    if handler := _SPECIAL.get(verb):
        return [*runs, *handler(call)]
    if verb in _READING:
        return [*runs, *_reads(call)]
    if verb in _NETWORK:
        return [*runs, *exfiltrates(call), Finding(catalogue.USES_NETWORK), *_transports(call)]
    if verb in _CHANGING:
        return [*runs, Finding(catalogue.GIT_CHANGES, verb)]
    if verb in ("filter-branch", "filter-repo", "reflog-expire", "replace"):
        return [*runs, Finding(catalogue.GIT_DESTROYS, verb)]
    return [*runs, Finding(catalogue.UNKNOWN_COMMAND, f"git {verb}")]


_PROGRAM_OPTIONS = re.compile(r"--(?:upload-pack|receive-pack|exec|extcmd|open-files-in-pager|[a-z]+-filter|run)$")


def _programs(call: Call) -> Iterable[Outcome]:
    """Options by which git starts a program."""
    texts = call.texts
    for index, text in enumerate(texts):
        name, _, attached = text.partition("=")
        following = attached or (texts[index + 1] if index + 1 < len(texts) else "")
        short = (call.name, name) in (("rebase", "-x"), ("difftool", "-x"), ("clone", "-u"))
        if _PROGRAM_OPTIONS.match(name) or short:
            yield Finding(catalogue.RISKY_CODE, text)
            yield InnerScript(following)
        elif call.name == "grep" and text.startswith("-O"):
            yield Finding(catalogue.RISKY_CODE, text)
            yield InnerScript(text[2:])
        elif name == "--ext-diff" or (
            call.name in ("difftool", "mergetool", "send-email", "instaweb", "daemon", "hook") and index == 0
        ):
            yield Finding(catalogue.RUNS_CODE, text)
        elif name in ("--config", "-c") and call.name == "clone":
            key, _, setting = following.partition("=")
            yield from _setting(key, Value(setting))


def _reads(call: Call) -> Iterable[Outcome]:
    found: list[Outcome] = []
    for value in call.values:
        text = value.text
        if text.startswith("--output=") or text == "--output":
            found.extend(writes(call, Value(text.partition("=")[2] or ".", value.known)))
        elif not value.known and text.startswith(UNKNOWN):
            found.append(Finding(catalogue.READS_UNKNOWN, "git " + call.name))
        elif paths.names_credentials(text.rpartition(":")[2]):
            found.extend(reads(call, [Value(text.rpartition(":")[2])]))
    return found


def _transports(call: Call) -> Iterable[Outcome]:
    for text in call.texts:
        if text.startswith(("ext::", "fd::")):
            yield Finding(catalogue.RISKY_CODE, text)
            yield InnerScript(text[5:])
    if (
        call.name == "clone"
        and len(operands := call.operands("-b -o -u -c -j --depth --branch --origin --config --template")) > 1
    ):
        yield from writes(call, operands[1])


def _push(call: Call) -> Iterable[Outcome]:
    found: list[Outcome] = [*exfiltrates(call), Finding(catalogue.GIT_PUSHES)]
    targets = call.operands("-o --push-option --repo")
    forced = call.has("fd", "force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune")
    if forced or any(target.text.startswith(("+", ":")) for target in targets) or not call.known:
        found.append(Finding(catalogue.GIT_DESTROYS, "git push " + " ".join(call.texts)))
    return [*found, *_transports(call)]


def _when(option: str, *long: str, otherwise: catalogue.BuiltinRule = catalogue.GIT_CHANGES):
    def handle(call: Call) -> Iterable[Outcome]:
        destroys = call.has(option, *long)
        return [Finding(catalogue.GIT_DESTROYS if destroys else otherwise, f"git {call.name} " + " ".join(call.texts))]

    return handle


def _checkout(call: Call) -> Iterable[Outcome]:
    texts = call.texts
    loses = (
        "--" in texts
        or "." in texts
        or call.has("f", "force", "discard-changes", "ours", "theirs")
        or any("*" in t for t in texts)
    )
    loses = loses or (len(call.operands("-b -B -c -C --orphan")) > 1 and not call.has("bBcC", "orphan"))
    return [Finding(catalogue.GIT_DESTROYS if loses else catalogue.GIT_CHANGES, f"git {call.name} " + " ".join(texts))]


def _restore(call: Call) -> Iterable[Outcome]:
    only_index = call.has("S", "staged") and not call.has("W", "worktree")
    return [Finding(catalogue.GIT_CHANGES if only_index else catalogue.GIT_DESTROYS, "git restore")]


def _clean(call: Call) -> Iterable[Outcome]:
    return (
        ()
        if call.has("n", "dry-run") and not call.has("f", "force")
        else [Finding(catalogue.GIT_DESTROYS, "git clean")]
    )


def _branch(call: Call) -> Iterable[Outcome]:
    if call.has("DMC", "force") or (call.has("df", "delete") and call.has("f", "force")):
        return [Finding(catalogue.GIT_DESTROYS, "git branch " + " ".join(call.texts))]
    listing = call.has(
        "arlv",
        "all",
        "remotes",
        "list",
        "show-current",
        "contains",
        "merged",
        "no-merged",
        "points-at",
        "format",
        "sort",
    )
    changing = call.has(
        "dmcuft", "delete", "move", "copy", "set-upstream-to", "unset-upstream", "edit-description", "track"
    )
    if (not call.operands() or listing) and not changing:
        return ()
    return [Finding(catalogue.GIT_CHANGES, "git branch")]


def _tag(call: Call) -> Iterable[Outcome]:
    if call.has("df", "delete", "force"):
        return [Finding(catalogue.GIT_DESTROYS, "git tag")]
    listing = call.has("ln", "list", "contains", "points-at", "sort", "merged") and not call.has(
        "asmF", "annotate", "sign", "message", "file"
    )
    return () if not call.values or listing else [Finding(catalogue.GIT_CHANGES, "git tag")]


def _stash(call: Call) -> Iterable[Outcome]:
    verb = call.texts[0] if call.values else "push"
    if verb in ("list", "show"):
        return ()
    return [
        Finding(catalogue.GIT_DESTROYS if verb in ("drop", "clear") else catalogue.GIT_CHANGES, f"git stash {verb}")
    ]


def _reflog(call: Call) -> Iterable[Outcome]:
    return (
        [Finding(catalogue.GIT_DESTROYS, "git reflog")] if call.texts[:1] in (["expire"], ["delete"], ["drop"]) else ()
    )


def _remote(call: Call) -> Iterable[Outcome]:
    verb = call.operands()[0].text if call.operands() else ""
    if verb in ("", "get-url"):
        return ()
    return [
        Finding(
            catalogue.USES_NETWORK if verb in ("show", "update", "prune") else catalogue.PROTECTED_FILE,
            f"git remote {verb}",
        )
    ]


def _config(call: Call) -> Iterable[Outcome]:
    if call.has("l", "list", "get", "get-all", "get-regexp", "show-origin", "get-urlmatch", "name-only"):
        return ()
    operands = call.operands("-f --file --type --blob --default")
    if operands and operands[0].text in ("list", "get"):
        return ()
    if operands and operands[0].text == "set":
        operands = operands[1:]
    if len(operands) == 1 and not call.has(
        "e", "unset", "unset-all", "edit", "add", "replace-all", "rename-section", "remove-section"
    ):
        return ()
    found: list[Outcome] = [Finding(catalogue.PROTECTED_FILE, "git config " + " ".join(call.texts))]
    if len(operands) > 1:
        found.extend(_setting(operands[0].text, operands[1]))
    return found


def _worktree(call: Call) -> Iterable[Outcome]:
    verb = call.texts[:1]
    if verb == ["list"]:
        return ()
    return [Finding(catalogue.GIT_DESTROYS if verb == ["remove"] else catalogue.GIT_CHANGES, "git worktree")]


def _submodule(call: Call) -> Iterable[Outcome]:
    operands = call.operands("-b --depth --reference")
    verb = operands[0].text if operands else "status"
    if verb in ("status", "summary"):
        return ()
    if verb == "foreach":
        return [Finding(catalogue.RUNS_CODE), InnerScript(" ".join(value.text for value in operands[1:]))]
    return [Finding(catalogue.USES_NETWORK, f"git submodule {verb}")]


def _bisect(call: Call) -> Iterable[Outcome]:
    if call.texts[:1] == ["run"]:
        return [Finding(catalogue.RUNS_CODE), Inner(call.values[1:])]
    return () if call.texts[:1] in (["log"], ["view"]) else [Finding(catalogue.GIT_CHANGES)]


def _notes(call: Call) -> Iterable[Outcome]:
    return () if call.texts[:1] in ([], ["list"], ["show"]) else [Finding(catalogue.GIT_CHANGES)]


def _archive(call: Call) -> Iterable[Outcome]:
    target = call.option("o", "output")
    found: list[Outcome] = writes(call, Value(target)) if target else []
    return [*found, Finding(catalogue.USES_NETWORK)] if call.has("", "remote") else found


def _rm(call: Call) -> Iterable[Outcome]:
    return [Finding(catalogue.GIT_CHANGES if call.has("", "cached") else catalogue.DELETES, "git rm")]


_SPECIAL: dict[str, Handler] = {
    "push": _push,
    "reset": _when("", "hard", "merge", "keep"),
    "gc": _when("", "prune", "aggressive"),
    "update-ref": _when("d", "stdin", "delete"),
    "prune": lambda call: [Finding(catalogue.GIT_DESTROYS, "git prune")],
    "checkout-index": _when("f", "force"),
    "checkout": _checkout,
    "switch": _checkout,
    "restore": _restore,
    "clean": _clean,
    "branch": _branch,
    "tag": _tag,
    "stash": _stash,
    "reflog": _reflog,
    "remote": _remote,
    "config": _config,
    "worktree": _worktree,
    "submodule": _submodule,
    "bisect": _bisect,
    "notes": _notes,
    "archive": _archive,
    "rm": _rm,
}
