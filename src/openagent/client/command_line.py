"""The command line that carries a prompt: of `openagent "…"`, `openagent run` and `openagent tui`.

Imports nothing that is not loaded anyway: `openagent run` lives on this.
"""

from __future__ import annotations

import os
import sys

from openagent.client.text import clean
from openagent.client.thin import to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from openagent.client.thin import Event

MODES = ("plan", "ask", "edits", "auto", "full")
IF_ASKED = ("refuse", "stop", "wait")
OUTPUTS = ("text", "json", "stream-json")
MOST_STDIN = 4_000_000
"""Bytes: about what the largest models can be shown at once."""
LARGEST_IMAGE = 5_000_000
_PATIENCE_WITH_STDIN = 2.0
"""Seconds until a person is told what is waited for."""
_WAITING = "openagent: reads stdin to its end before it begins; `< /dev/null` says that nothing comes\n"
_IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}

OPTIONS: dict[str, str] = {
    "--print": "print the answer and leave, also on a terminal",
    "--model": "PROVIDER/MODEL  what answers; the configured model when left out",
    "--continue": "go on with the newest session of this directory",
    "--session": "ID  go on with this session; --resume is the same",
    "--new": "begin a new session; so does every prompt without -c or -r",
    "--cwd": "DIR  the workspace; this directory when left out",
    "--image": "FILE  show the model this image; may be given again",
    "--template": "NAME  start from a template; `openagent templates list` shows them",
    "--mode": "plan|ask|edits|auto|full  what the agent may do unasked",
    "--if-asked": "refuse|stop|wait  without a terminal, if the agent asks: refuse (default), stop, or wait for others",
    "--json": "print one JSON object at the end",
    "--events": "print every event as it happens, a line of JSON each",
    "--output": "text|json|stream-json  the same as nothing, --json, --events",
    "--plain": "print the answer as it was written, also on a terminal: no colours, no layout",
    "--max-steps": "N  model requests the turn may take",
    "--timeout": "S  seconds the turn may take",
}
SHORT = {
    "-p": "--print",
    "-m": "--model",
    "-c": "--continue",
    "-r": "--session",
    "-C": "--cwd",
    "-i": "--image",
}
SYNONYMS = {"--resume": "--session", "--output-format": "--output", "--cd": "--cwd", "--prompt": "--print"}
HELP_OPTIONS = frozenset(("--help", "-h"))
FLAGS = ("--print", "--continue", "--new", "--json", "--events", "--plain")
OF_THE_TERMINAL = {"--token": "TOKEN  of the daemon elsewhere; other people of this machine can see it"}
"""What only the terminal interface takes besides."""


class WrongUse(Exception):
    """The command line cannot be meant; its text is one sentence on why."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.hint = hint
        """What to do; when empty, the help says it."""


class Arguments:
    def __init__(self) -> None:
        self.words: list[str] = []
        self.prompt = ""
        self.session = ""
        self.pick = False
        """A session is to be chosen from the list."""
        self.go_on = self.new = self.printed = self.plain = False
        self.ask_again = False
        """Nothing is said but that what nobody answered in time is to be asked again."""
        self.retry = False
        """Nothing is said: the newest turn continues, or asks its provider again now."""
        self.elsewhere = bool(os.environ.get("OPENAGENT_CONNECT"))
        self.cwd = "" if self.elsewhere else os.getcwd()
        self.output = ""
        self.if_asked = "refuse"
        self.template = ""
        self.token = ""
        self.settings: dict[str, Any] = {}
        self.images: list[dict[str, str]] = []


def before_dashes(words: Sequence[str]) -> Sequence[str]:
    """Where options may stand."""
    return words[: words.index("--")] if "--" in words else words


def wants_json(words: Sequence[str]) -> bool:
    """Whether whoever wrote this reads JSON, also where the rest of it cannot be understood."""
    earlier = ""
    for word in before_dashes(words):
        name, _, value = word.partition("=")
        if name in ("--json", "--events"):
            return True
        if name in ("--output", "--output-format") and value in OUTPUTS[1:]:
            return True
        if earlier in ("--output", "--output-format") and word in OUTPUTS[1:]:
            return True
        earlier = word
    return False


def wrong_use(problem: WrongUse, words: Sequence[str], program: str) -> int:
    """Say it, to a person or to a program; the exit code."""
    hint = problem.hint or f"See `{program} --help`."
    if wants_json(words):
        return json_problem({"code": "usage", "message": str(problem), "hint": hint}, 2)
    sys.stderr.write(f"openagent: {clean(f'{problem} {hint}')}\n")
    return 2


def json_problem(error: Event, code: int) -> int:
    """The one shape of an error for programs, on stdout, where they look for an answer."""
    known = {name: error.get(name, "") for name in ("code", "message", "hint")}
    sys.stdout.write(to_json({"error": known}) + "\n")
    sys.stdout.flush()
    return code


def read(words: Sequence[str], *, interactive: bool = False) -> Arguments:
    """Raises WrongUse. `interactive`: the program is the terminal interface, which can ask for what is missing."""
    parsed = Arguments()
    waiting = iter(words)
    for word in waiting:
        if word == "--":
            parsed.words.extend(waiting)
        elif _is_prose(word):
            parsed.words.append(word)
        elif word.startswith("--"):
            _long(parsed, word, waiting, interactive)
        else:
            _short(parsed, word, waiting, interactive)
    parsed.prompt = " ".join(word for word in parsed.words if word != "-")
    return parsed


def _is_prose(word: str) -> bool:
    """`-` is stdin, and `- a list` or `--- a rule` nothing anybody would take for an option."""
    return not word.startswith("-") or not word.lstrip("-")[:1].isalnum() or word.startswith("---")


def _long(parsed: Arguments, word: str, waiting: Iterator[str], interactive: bool) -> None:
    name, has_value, value = word.partition("=")
    known = SYNONYMS.get(name, name)
    if known not in OPTIONS and not (interactive and known in OF_THE_TERMINAL):
        raise WrongUse(f"There is no option {_shortened(name)}.{_nearest(name, interactive)}")
    if known in FLAGS:
        if has_value and name == "--prompt":
            parsed.words.append(value)
        elif has_value:
            raise WrongUse(f"{name} takes no value.")
    elif not has_value:
        value = _value(name, known, waiting, interactive)
    _take(parsed, known, value)


def _short(parsed: Arguments, word: str, waiting: Iterator[str], interactive: bool) -> None:
    """`-m x`, `-mx`, `-m=x`; flags may stand together: `-pc`."""
    letters = word[1:]
    while letters:
        letter, letters = f"-{letters[0]}", letters[1:]
        known = SHORT.get(letter, "")
        if not known:
            raise WrongUse(f"There is no option {_shortened(letter)}.{_nearest(word, interactive)}")
        value = ""
        if known not in FLAGS:
            value = letters.removeprefix("=") or _value(letter, known, waiting, interactive)
            letters = ""
        _take(parsed, known, value)


def _value(name: str, known: str, waiting: Iterator[str], interactive: bool) -> str:
    value = next(waiting, None)
    if value is None and known == "--session" and interactive:
        return ""
    if value is None or value in SHORT or value.partition("=")[0] in (*OPTIONS, *SYNONYMS):
        raise WrongUse(f"{name} needs a value ({OPTIONS.get(known, OF_THE_TERMINAL.get(known, '')).split('  ')[0]}).")
    return value


def _nearest(name: str, interactive: bool) -> str:
    if any(character.isspace() for character in name) or not name.startswith("--"):
        return " Write -- before a prompt that begins with a dash."
    from difflib import get_close_matches

    known = [
        *OPTIONS,
        *SYNONYMS,
        "--help",
        "--version",
        "--connect",
        "--token-file",
        *(OF_THE_TERMINAL if interactive else ()),
    ]
    near = get_close_matches(name, known)
    near.sort(key=lambda other: sorted(other) != sorted(name))  # two letters in the wrong order are the likeliest slip
    return f" Did you mean {near[0]}?" if near else " Write -- before a prompt that begins with a dash."


def _shortened(name: str) -> str:
    first = name.split(maxsplit=1)[0]
    return first if len(first) <= 40 else first[:39] + "…"


def _take(parsed: Arguments, name: str, value: str) -> None:
    match name:
        case "--print":
            parsed.printed = True
        case "--continue":
            parsed.go_on = True
        case "--new":
            parsed.new = True
        case "--json":
            parsed.output = "json"
        case "--events":
            parsed.output = "stream-json"
        case "--plain":
            parsed.plain = True
        case "--template":
            parsed.template = value
        case "--token":
            parsed.token = value
        case "--session":
            parsed.session, parsed.pick = value, not value
        case "--cwd":
            parsed.cwd = value if parsed.elsewhere else os.path.abspath(os.path.expanduser(value))
        case "--image":
            parsed.images.append(_image(value))
        case "--output" if value in OUTPUTS:
            parsed.output = value
        case "--if-asked" if value in IF_ASKED:
            parsed.if_asked = value
        case "--mode" if value in MODES:
            parsed.settings["mode"] = value
        case "--model":
            parsed.settings["model"] = value
        case "--max-steps" if value.isdigit() and int(value) > 0:
            parsed.settings["max_steps"] = int(value)
        case "--timeout" if value.replace(".", "", 1).isdigit() and float(value) > 0:
            parsed.settings["turn_timeout"] = float(value)
        case _:
            raise WrongUse(f"{value!r} is not a value for {name} ({OPTIONS[name].split('  ')[0]}).")


def _image(path: str) -> dict[str, str]:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            data = file.read(LARGEST_IMAGE + 1)
    except OSError as problem:
        raise WrongUse(f"The image {path} cannot be read: {problem.strerror}.") from None
    media_type = image_type(data)
    if not media_type:
        raise WrongUse(f"{path} is no image that models know: PNG, JPEG, GIF or WebP.")
    if len(data) > LARGEST_IMAGE:
        raise WrongUse(f"The image {path} is too large: {LARGEST_IMAGE // 1_000_000} MB is the most.")
    from binascii import b2a_base64

    return {"type": "image", "media_type": media_type, "data": b2a_base64(data, newline=False).decode()}


def image_type(data: bytes) -> str:
    """Empty for what is none."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _IMAGES.items() if data.startswith(magic)), "")


def stdin_is_given() -> bool:
    """Somebody leads something into this command: a pipe or a file, rather than a terminal or nothing at all."""
    from stat import S_ISFIFO, S_ISREG, S_ISSOCK

    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return S_ISFIFO(mode) or S_ISREG(mode) or S_ISSOCK(mode)


def join_stdin(parsed: Arguments) -> None:
    """What is led into the command follows the prompt, or is the prompt. Raises WrongUse."""
    wanted = "-" in parsed.words
    if not (wanted or stdin_is_given()):
        return
    if wanted and os.isatty(0):
        sys.stderr.write("openagent: reads until Ctrl+D\n")
    text = _as_text(_read_stdin())
    if parsed.prompt and text:
        parsed.prompt = f"{parsed.prompt}\n\n{text}"
    else:
        parsed.prompt = parsed.prompt or text.strip()


def _read_stdin() -> bytes:
    import select

    if not os.isatty(0):
        poll = select.poll()
        poll.register(0, select.POLLIN)
        if not poll.poll(_PATIENCE_WITH_STDIN * 1000):
            sys.stderr.write(_WAITING)
    read = bytearray()
    while chunk := os.read(0, 1 << 16):
        read += chunk
        if len(read) > MOST_STDIN:
            raise WrongUse(
                f"What came on stdin is longer than {MOST_STDIN // 1_000_000} MB, more than a model can be shown.",
                "Name the file in the prompt instead: the agent reads of it what it needs.",
            )
    return bytes(read)


def _as_text(data: bytes) -> str:
    if image_type(data):
        raise WrongUse("What came on stdin is an image, not text.", "`-i FILE` shows a model an image.")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    text = data.decode("utf-8-sig", errors="replace")
    if "\0" in text or text.count("\ufffd") * 10 > len(text):
        raise WrongUse(
            "What came on stdin is not text.",
            "Name the file in the prompt instead: the agent has tools to look into it.",
        )
    return text
