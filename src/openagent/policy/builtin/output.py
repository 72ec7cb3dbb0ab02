"""What a command prints, where that can be told without running it."""

import base64
import re
from collections.abc import Callable

from openagent.bash import UNKNOWN
from openagent.bash.values import decode_escapes, decode_printed
from openagent.policy.builtin.calls import Call

_ESCAPE = re.compile(r"\\[0-7abcefnrtvxuU\\]")
_DECODING = frozenset(("-d", "-D", "--decode", "-r", "-rp", "-pr"))


def static_output(call: Call) -> str | None:
    printer, decoder, given = _PRINTERS.get(call.name), DECODERS.get(call.name), call.input.text
    if printer and call.known:
        return printer(call)
    if decoder is None or given is None or UNKNOWN in given or not call.known:
        return None
    try:
        return decoder(given, call.texts)
    except ValueError:
        return None


def _echo(call: Call) -> str | None:
    texts, escapes, newline = call.texts, False, "\n"
    while texts and re.fullmatch(r"-[neE]+", texts[0]):
        escapes = escapes or "e" in texts[0]
        newline = "" if "n" in texts[0] else newline
        texts = texts[1:]
    line = " ".join(texts)
    if not escapes and _ESCAPE.search(line):  # which the echo of some shells decodes by itself
        return None
    return (decode_printed(line) if escapes else line) + newline


def _printf(call: Call) -> str | None:
    if not call.values or call.texts[0].startswith("-"):
        return None
    pieces = re.split(r"(%[sbdq%])", decode_escapes(call.texts[0]))
    if any("%" in piece for piece in pieces[::2]):
        return None
    printed: list[str] = []
    remaining = call.texts[1:]
    for _ in range(max(1, len(remaining))):
        for piece in pieces:
            if piece[:1] == "%" and piece != "%%":
                argument = remaining.pop(0) if remaining else ""
                printed.append(decode_printed(argument) if piece == "%b" else argument)
            else:
                printed.append("%" if piece == "%%" else piece)
        if not remaining or len(pieces) == 1:
            break
    return "".join(printed)


def _passed_on(call: Call) -> str | None:
    """`cat` and `tee` of what comes in."""
    files = call.name == "cat" and any(not text.startswith("-") for text in call.texts)
    return call.input.text if call.input.given and not files else None


def _listed(call: Call) -> str | None:
    """`ls -d`, as far as it is there."""
    options = [text for text in call.texts if text.startswith("-")]
    if options not in (["-d"], ["-1d"], ["-d1"]) or any(value.glob for value in call.values):
        return None
    return "".join(f"{text}\n" for text in call.texts if text not in options)


def _repository(call: Call) -> str | None:
    match call.texts:
        case ["rev-parse", "--git-dir" | "--absolute-git-dir" | "--git-common-dir"]:
            return call.workspace.rstrip("/") + "/.git\n"
        case _:
            return None


def _bytes(decode: Callable[[str], bytes]) -> Callable[[str, list[str]], str | None]:
    def decoder(given: str, options: list[str]) -> str | None:
        return None if _DECODING.isdisjoint(options) else decode("".join(given.split())).decode("utf-8", "replace")

    return decoder


def _rev(given: str, options: list[str]) -> str | None:
    return None if options else "\n".join(line[::-1] for line in given.split("\n"))


def _tr(given: str, texts: list[str]) -> str | None:
    if len(texts) != 2 or (texts[0].startswith("-") and texts[0] != "-d"):
        return None
    if texts[0] == "-d":
        return given.translate(str.maketrans("", "", texts[1]))
    source, target = (re.sub(r"(.)-(.)", _spread, text) for text in texts)
    target += target[-1:] * (len(source) - len(target))
    return given.translate({ord(a): b for a, b in reversed(list(zip(source, target, strict=False)))})


def _spread(ends: re.Match[str]) -> str:
    return "".join(map(chr, range(ord(ends[1]), ord(ends[2]) + 1)))[:256]


_PRINTERS: dict[str, Callable[[Call], str | None]] = {
    "echo": _echo,
    "printf": _printf,
    "pwd": lambda call: call.state.cwd,
    **dict.fromkeys(("true", "false", ":", "cd", "export", "set", "test"), lambda call: ""),
    "cat": _passed_on,
    "tee": _passed_on,
    "git": _repository,
    "ls": _listed,
}
GUESSED = frozenset(("git", "ls"))
"""What is told of these depends on what is there when they run."""
DECODERS: dict[str, Callable[[str, list[str]], str | None]] = {
    "rev": _rev,
    "tr": _tr,
    "base64": _bytes(base64.b64decode),
    "base32": _bytes(base64.b32decode),
    "xxd": _bytes(bytes.fromhex),
}
