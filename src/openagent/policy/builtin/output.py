"""What a command prints, where that can be told without running it."""

import base64
import binascii
import re

from openagent.policy.builtin.calls import Call
from openagent.policy.shell.values import UNKNOWN
from openagent.policy.shell.words import decode_escapes

_GIT_CONSTANTS: dict[tuple[str, ...], str] = {
    ("rev-parse", "HEAD"): "HEAD",
    ("rev-parse", "--short", "HEAD"): "HEAD",
    ("rev-parse", "--abbrev-ref", "HEAD"): "HEAD",
    ("rev-parse", "--show-toplevel"): ".",
    ("branch", "--show-current"): "HEAD",
}
"""What git prints here is a revision or the workspace: neither an option nor a path elsewhere."""

_FILTERS = frozenset(("grep", "head", "tail", "sort", "uniq", "egrep", "fgrep"))


def static_output(call: Call) -> str | None:
    texts = call.texts
    if not call.known:
        return None
    match call.name:
        case "echo":
            return _echo(texts)
        case "printf":
            return _printf(texts)
        case "pwd":
            return call.state.cwd
        case "nproc":
            return "1"
        case "true" | "false" | ":" | "cd" | "export" | "set" | "test" | "[":
            return ""
        case "cat" if not call.operands() and call.input.given:
            return call.input.text
        case "base64" | "base32" | "xxd" | "rev" | "tr" if call.input.given and call.input.text is not None:
            return _decoded(call, call.input.text)
        case "git":
            if texts[:1] == ["merge-base"] and len(texts) == 3:
                return "HEAD"
            return _GIT_CONSTANTS.get(tuple(texts))
        case _:
            return None


def _echo(texts: list[str]) -> str:
    escapes = False
    newline = "\n"
    while texts and re.fullmatch(r"-[neE]+", texts[0]):
        escapes = escapes or "e" in texts[0]
        newline = "" if "n" in texts[0] else newline
        texts = texts[1:]
    line = " ".join(texts)
    return (decode_escapes(line) if escapes else line) + newline


def _printf(texts: list[str]) -> str | None:
    if not texts or texts[0].startswith("-"):
        return None
    template, arguments = decode_escapes(texts[0]), texts[1:]
    pieces = re.split(r"(%[sbdq%])", template)
    if any("%" in piece for piece in pieces[::2]):
        return None
    printed: list[str] = []
    remaining = list(arguments)
    for _ in range(max(1, len(arguments))):
        for piece in pieces:
            if piece == "%%":
                printed.append("%")
            elif piece[:1] == "%" and len(piece) == 2:
                argument = remaining.pop(0) if remaining else ""
                printed.append(decode_escapes(argument) if piece == "%b" else argument)
            else:
                printed.append(piece)
        if not remaining or len(pieces) == 1:
            break
    return "".join(printed)


def _decoded(call: Call, given: str) -> str | None:
    if UNKNOWN in given:
        return None
    texts = call.texts
    try:
        if call.name == "base64" and call.has("dD", "decode"):
            return base64.b64decode(given, validate=False).decode("utf-8", "replace")
        if call.name == "base32" and call.has("dD", "decode"):
            return base64.b32decode(given.strip()).decode("utf-8", "replace")
        if call.name == "xxd" and call.has("r") and call.has("p"):
            return bytes.fromhex(re.sub(r"\s", "", given)).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None
    if call.name == "rev" and not texts:
        return "\n".join(line[::-1] for line in given.split("\n"))
    if call.name == "tr" and len(texts) == 2 and texts[0] == "-d":
        return given.translate(str.maketrans("", "", texts[1]))
    if call.name == "tr" and len(texts) == 2 and not texts[0].startswith("-"):
        return _translated(given, texts[0], texts[1])
    return None


def _translated(given: str, old: str, new: str) -> str | None:
    def spread(characters: str) -> str:
        return re.sub(r"(.)-(.)", lambda r: "".join(map(chr, range(ord(r[1]), ord(r[2]) + 1)))[:256], characters)

    source, target = spread(old), spread(new)
    if not target or len(source) > 512:
        return None
    target = target + target[-1] * (len(source) - len(target))
    return given.translate({ord(a): b for a, b in reversed(list(zip(source, target, strict=False)))})


_LISTERS = frozenset(("find", "fd", "fdfind", "ls", "rg", "grep", "egrep", "ag", "git"))


def lists_workspace_files(call: Call) -> bool:
    """Each line it prints names a file inside the workspace."""
    name = call.name
    if call.input.workspace_files:
        return name in _FILTERS and len(call.operands("-n -c -e -k -t -m")) <= 1
    if name not in _LISTERS or not call.known:
        return False
    texts = call.texts
    if name == "git":
        lists = texts[:1] == ["ls-files"] or (texts[:1] == ["diff"] and "--name-only" in texts)
    elif name == "ls":
        lists = not call.has("l")
    else:
        lists = name in ("find", "fd", "fdfind") or call.has("lL", "files", "files-with-matches")
    return lists and all(text[:1] not in ("/", "~") and ".." not in text and "-printf" not in text for text in texts)
