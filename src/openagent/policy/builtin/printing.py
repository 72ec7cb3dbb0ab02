"""What `echo` and `printf` print."""

import re

from openagent.policy.shell.words import decode_escapes


def echoed(texts: list[str]) -> str:
    escapes = False
    newline = "\n"
    while texts and re.fullmatch(r"-[neE]+", texts[0]):
        escapes = escapes or "e" in texts[0]
        newline = "" if "n" in texts[0] else newline
        texts = texts[1:]
    line = " ".join(texts)
    return (decode_escapes(line) if escapes else line) + newline


def printed(texts: list[str]) -> str | None:
    if not texts or texts[0].startswith("-"):
        return None
    template, arguments = decode_escapes(texts[0]), texts[1:]
    pieces = re.split(r"(%[sbdq%])", template)
    if any("%" in piece for piece in pieces[::2]):
        return None
    pieces_printed: list[str] = []
    remaining = list(arguments)
    for _ in range(max(1, len(arguments))):
        for piece in pieces:
            if piece == "%%":
                pieces_printed.append("%")
            elif piece[:1] == "%" and len(piece) == 2:
                argument = remaining.pop(0) if remaining else ""
                pieces_printed.append(decode_escapes(argument) if piece == "%b" else argument)
            else:
                pieces_printed.append(piece)
        if not remaining or len(pieces) == 1:
            break
    return "".join(pieces_printed)
