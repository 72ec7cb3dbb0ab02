"""Commands that write, move, delete or hand over files."""

import posixpath
import re
from collections.abc import Iterable

from openagent.policy import paths
from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Handler, InnerScript, Outcome, reads, writes
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.shell.values import Value


def _rm(call: Call) -> Iterable[Outcome]:
    targets = call.operands()
    recursive = call.has("rR", "recursive", "no-preserve-root") or call.name == "srm"
    return deletes(call, targets, recursive=recursive)


def deletes(call: Call, targets: Iterable[Value], *, recursive: bool) -> Iterable[Outcome]:
    found: list[Outcome] = []
    for target in targets:
        place = call.place(target)
        if call.is_critical(target) or place == "system":
            found.append(Finding(catalogue.DESTROYS_SYSTEM, target.text))
        elif recursive and paths.may_be_critical(target.text):
            found.append(Finding(catalogue.DYNAMIC_DANGER, target.text))
        elif recursive and _holds_history(call, target):
            found.append(Finding(catalogue.DELETES_REPOSITORY, target.text))
        elif place == "device":
            found.append(Finding(catalogue.WRITES_DEVICE, target.text))
        elif re.search(r"\.(?:bash|zsh|python)_history$", target.text):
            found.append(Finding(catalogue.HIDES_TRACKS, target.text))
        elif place in ("protected", "startup"):
            found.append(Finding(catalogue.PROTECTED_FILE, target.text))
        elif recursive:
            found.append(Finding(catalogue.RECURSIVE_DELETE, target.text))
        else:
            found.append(Finding(catalogue.DELETES, target.text))
    return found or [Finding(catalogue.RECURSIVE_DELETE if recursive else catalogue.DELETES)]


def _dd(call: Call) -> Iterable[Outcome]:
    found: list[Outcome] = []
    for value in call.values:
        key, _, target = value.text.partition("=")
        if key == "of":
            found.extend(writes(call, Value(target, value.known)))
        elif key == "if":
            found.extend(reads(call, [Value(target, value.known)]))
    return found


def _copies(call: Call) -> Iterable[Outcome]:
    """cp, mv, ln, install: sources, then where they go."""
    operands = call.operands("-t -S -m -o -g --target-directory --suffix --mode")
    target = call.option("t", "target-directory")
    destinations = [Value(target, call.known)] if target else operands[-1:]
    sources = operands if target else operands[:-1]
    if call.name == "ln" and len(operands) == 1:
        destinations, sources = [Value(".")], operands
    found: list[Outcome] = []
    for destination in destinations:
        found.extend(writes(call, destination))
        if call.place(destination) == "workspace":
            found.extend(_planted(call, sources, destination))
    if call.name == "mv":
        for source in sources:
            if call.is_critical(source) or call.place(source) == "system":
                found.append(Finding(catalogue.DESTROYS_SYSTEM, source.text))
            elif call.place(source) != "workspace":
                found.extend(writes(call, source))
    if call.name == "ln":
        found.extend(
            Finding(catalogue.WRITES_OUTSIDE, f"a link to {source.text}")
            for source in sources
            if call.place(source) not in ("workspace", "null")
        )
    found.extend(reads(call, [source for source in sources if paths.names_credentials(source.text, call.state.cwd)]))
    return found or [Finding(catalogue.WRITES_WORKSPACE)]


def _holds_history(call: Call, target: Value) -> bool:
    repository = posixpath.join(call.workspace, ".git")
    history = (repository, f"{repository}/*", f"{repository}/objects", f"{repository}/refs")
    folders = [call.workspace if folder is None else folder for folder in call.state.folders]
    return any(posixpath.normpath(posixpath.join(folder, target.text)) in history for folder in folders)


def _planted(call: Call, sources: Iterable[Value], destination: Value) -> Iterable[Outcome]:
    """A protected name that arrives inside a folder: `cp -r x/.git .`"""
    for source in sources:
        inside = f"{destination.text.rstrip('/')}/{source.text.rstrip('/').rsplit('/', 1)[-1]}"
        if call.place(Value(inside)) == "protected":
            yield Finding(catalogue.PROTECTED_FILE, inside)


def _writes_operands(with_value: str = "") -> Handler:
    def handle(call: Call) -> Iterable[Outcome]:
        found = [outcome for target in call.operands(with_value) for outcome in writes(call, target)]
        return found if found or call.name == "tee" else [Finding(catalogue.WRITES_WORKSPACE)]

    return handle


def _truncate(call: Call) -> Iterable[Outcome]:
    found = [outcome for target in call.operands("-s -r -n") for outcome in writes(call, target)]
    if call.name == "shred" and call.has("u", "remove"):
        found.append(Finding(catalogue.RECURSIVE_DELETE))
    return [*found, Finding(catalogue.DELETES)]


def _permissions(call: Call) -> Iterable[Outcome]:
    operands = call.operands("--reference --from")
    mode, targets = (operands[0].text if operands else ""), operands[1:]
    recursive = call.has("R", "recursive")
    for target in targets:
        if call.is_critical(target) or call.place(target) in ("system", "device"):
            return [Finding(catalogue.OPENS_SYSTEM, target.text)]
        if call.place(target) in ("protected", "startup"):
            return [Finding(catalogue.PROTECTED_FILE, target.text)]
    opens = bool(re.search(r"^[0-7]*[2367]$|^[2467][0-7]{3}$|[oa]?\+[rwxX]*w|o[=+]\S*w|\+s|=\S*s|\+t", mode))
    if call.name != "chmod" or opens or not all(target.known for target in targets):
        return [Finding(catalogue.OPENS_PERMISSIONS, mode)]
    outside = [target for target in targets if call.place(target) != "workspace"]
    if outside:
        return [Finding(catalogue.WRITES_OUTSIDE, outside[0].text)]
    return [Finding(catalogue.OPENS_PERMISSIONS if recursive else catalogue.WRITES_WORKSPACE, mode)]


def _tar(call: Call) -> Iterable[Outcome]:
    texts = call.texts
    if texts and not texts[0].startswith("-"):
        texts = ["-" + texts[0], *texts[1:]]
    letters = "".join(text[1:] for text in texts if re.fullmatch(r"-[A-Za-z]+", text))
    found: list[Outcome] = []
    for index, text in enumerate(texts):
        name, _, value = text.partition("=")
        following = value or (texts[index + 1] if index + 1 < len(texts) else "")
        if name in (
            "--to-command",
            "--use-compress-program",
            "-I",
            "--info-script",
            "--new-volume-script",
            "-F",
            "--rsh-command",
        ):
            found += [Finding(catalogue.RISKY_CODE, text), InnerScript(following)]
        elif name == "--checkpoint-action" and following.startswith("exec="):
            found += [Finding(catalogue.RISKY_CODE, text), InnerScript(following[5:])]
        elif name in ("-C", "--directory") and ("x" in letters or "--extract" in texts):
            found.extend(writes(call, Value(following, call.known)))
        elif name in ("--remove-files", "--absolute-names", "-P"):
            found.append(Finding(catalogue.RECURSIVE_DELETE if "remove" in name else catalogue.WRITES_OUTSIDE))
    if "t" in letters and not set("xcru") & set(letters) and not found:
        return ()
    if "c" in letters or "--create" in texts:
        archive = next((texts[i + 1] for i, text in enumerate(texts[:-1]) if re.fullmatch(r"-\w*f", text)), "")
        found.extend(writes(call, Value(archive, call.known)) if archive not in ("", "-") else [])
        found.extend(reads(call, [value for value in call.operands("-f -C") if paths.names_credentials(value.text)]))
    return [*found, Finding(catalogue.WRITES_WORKSPACE)]


def _archives(call: Call) -> Iterable[Outcome]:
    if call.name == "unzip" and call.has("lvtZ"):
        return ()
    if call.name == "zip" and call.has("TO", "unzip-command"):
        return [Finding(catalogue.RISKY_CODE)]
    found: list[Outcome] = [Finding(catalogue.WRITES_WORKSPACE)]
    if target := call.option("d", "directory"):
        found.extend(writes(call, Value(target, call.known)))
    found.extend(reads(call, [value for value in call.operands() if paths.names_credentials(value.text)]))
    return found


def _patch(call: Call) -> Iterable[Outcome]:
    found: list[Outcome] = [Finding(catalogue.WRITES_WORKSPACE)]
    for option in ("d", "o"):
        if target := call.option(option):
            found.extend(writes(call, Value(target, call.known)))
    return found


FILES: dict[str, Handler] = {
    "rm": _rm,
    "srm": _rm,
    "unlink": _rm,
    "rmdir": _rm,
    "trash": _rm,
    "gio": _rm,
    "dd": _dd,
    "cp": _copies,
    "mv": _copies,
    "ln": _copies,
    "link": _copies,
    "install": _copies,
    "tee": _writes_operands(),
    "sponge": _writes_operands(),
    "touch": _writes_operands("-d -r -t --date --reference"),
    "mkdir": _writes_operands("-m --mode"),
    "mkfifo": _writes_operands("-m --mode"),
    "mktemp": lambda call: [Finding(catalogue.WRITES_WORKSPACE)] if call.operands("-p") else (),
    "truncate": _truncate,
    "shred": _truncate,
    "split": _writes_operands("-n -l -b -a"),
    "csplit": _writes_operands("-f -b -n"),
    "chmod": _permissions,
    "chown": _permissions,
    "chgrp": _permissions,
    "chattr": _permissions,
    "setfacl": _permissions,
    "setcap": _permissions,
    "tar": _tar,
    "bsdtar": _tar,
    "unzip": _archives,
    "zip": _archives,
    "7z": _archives,
    "gzip": _writes_operands(),
    "gunzip": _writes_operands("-S"),
    "bzip2": _writes_operands(),
    "xz": _writes_operands(),
    "zstd": _writes_operands(),
    "patch": _patch,
    "cpio": lambda call: [Finding(catalogue.WRITES_WORKSPACE)],
}
