"""What a command prints, where that can be told without running it."""

import base64
import binascii
import re
from collections.abc import Callable

from openagent.policy.builtin.calls import Call
from openagent.policy.builtin.printing import echoed, printed
from openagent.policy.paths import names_credentials
from openagent.policy.shell.values import UNKNOWN

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
    printer = _PRINTERS.get(call.name)
    return printer(call) if printer and call.known else None


def _silent(call: Call) -> str | None:
    return ""


def _passed_on(call: Call) -> str | None:
    """`cat` and `tee` of what comes in."""
    files = call.name == "cat" and any(value.text != "-" for value in call.operands())
    return call.input.text if call.input.given and not files else None


def _git(call: Call) -> str | None:
    texts = call.texts
    return "HEAD" if texts[:1] == ["merge-base"] and len(texts) == 3 else _GIT_CONSTANTS.get(tuple(texts))


def _base64(call: Call) -> str | None:
    return _bytes(call, base64.b64decode) if call.has("dD", "decode") else None


def _base32(call: Call) -> str | None:
    return _bytes(call, base64.b32decode) if call.has("dD", "decode") else None


def _xxd(call: Call) -> str | None:
    return _bytes(call, bytes.fromhex) if call.has("r") and call.has("p") else None


def _bytes(call: Call, decode: Callable[[str], bytes]) -> str | None:
    if call.input.text is None or UNKNOWN in call.input.text:
        return None
    try:
        return decode("".join(call.input.text.split())).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None


def _rev(call: Call) -> str | None:
    given = call.input.text
    return "\n".join(line[::-1] for line in given.split("\n")) if given is not None and not call.values else None


def _tr(call: Call) -> str | None:
    texts, given = call.texts, call.input.text
    if given is None or len(texts) != 2:
        return None
    if texts[0] == "-d":
        return given.translate(str.maketrans("", "", texts[1]))
    return _translated(given, texts[0], texts[1]) if not texts[0].startswith("-") else None


_PRINTERS: dict[str, Callable[[Call], str | None]] = {
    "echo": lambda call: echoed(call.texts),
    "printf": lambda call: printed(call.texts),
    "pwd": lambda call: call.state.cwd,
    "nproc": lambda call: "1",
    **dict.fromkeys(("true", "false", ":", "cd", "export", "set", "test", "["), _silent),
    "cat": _passed_on,
    "tee": _passed_on,
    "base64": _base64,
    "base32": _base32,
    "xxd": _xxd,
    "rev": _rev,
    "tr": _tr,
    "git": _git,
}


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
    return lists and all(
        text[:1] not in ("/", "~") and ".." not in text and "-printf" not in text and not names_credentials(text)
        for text in texts
    )
