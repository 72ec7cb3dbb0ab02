"""What each test came to, read from what a test runner printed, under the names that SWE-bench has for tests."""

import re
from collections.abc import Callable, Mapping
from typing import Literal

Outcome = Literal["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL"]
Outcomes = dict[str, Outcome]
Parser = Callable[[str], Outcomes]

_OUTCOMES: Mapping[str, Outcome] = {name: name for name in ("PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL")}
_COUNT = re.compile(r"\[\d+\]")
_COLOURS = re.compile(r"\x1b\[[\d;]*m|\[\d+m")
_CONTROL = dict.fromkeys(range(1, 32))
_PARAMETERS = re.compile(r"(.*?)\[(.*)\]")


def _begins_with(line: str) -> Outcome | None:
    return next((outcome for name, outcome in _OUTCOMES.items() if line.startswith(name)), None)


def pytest(log: str) -> Outcomes:
    """The lines of `-rA`. A name ends at its first blank, as it does in the datasets."""
    found: Outcomes = {}
    for line in log.split("\n"):
        if (began := _begins_with(line)) is None:
            continue
        words = (line.replace(" - ", " ") if began == "FAILED" else line).split()
        if len(words) > 1 and words[0] in _OUTCOMES and not _is_skip_count(words):
            found[words[1]] = _OUTCOMES[words[0]]
    return found


def _is_skip_count(words: list[str]) -> bool:
    """`SKIPPED [3] path:line: why` names no test."""
    return words[0] == "SKIPPED" and _COUNT.fullmatch(words[1]) is not None


def pytest_short_paths(log: str) -> Outcomes:
    """As `pytest`; a parameter that is a path is called by its last part, which does not depend on the machine."""
    return {_short(name): outcome for name, outcome in pytest(log).items()}


def _short(name: str) -> str:
    if (found := _PARAMETERS.search(name)) is None:
        return name
    test, parameter = found.groups()
    if parameter.startswith("/") and not parameter.startswith("//") and "*" not in parameter:
        parameter = "/" + parameter.rsplit("/", 1)[-1]
    return f"{test}[{parameter}]"


def pytest_whole_names(log: str) -> Outcomes:
    """Names with their blanks, colours taken out; older versions of pytest print the outcome last."""
    found: Outcomes = {}
    for line in log.split("\n"):
        plain = _COLOURS.sub("", line).translate(_CONTROL)
        if (began := _begins_with(plain)) is not None:
            words = (plain.split(" - ", 1)[0] if began == "FAILED" else plain).split()
            if len(words) > 1 and words[0] in _OUTCOMES and not _is_skip_count(words):
                found[" ".join(words[1:])] = _OUTCOMES[words[0]]
        elif plain.endswith(tuple(_OUTCOMES)):
            words = plain.split()
            if len(words) > 1 and words[-1] in _OUTCOMES:
                found[" ".join(words[:-1])] = _OUTCOMES[words[-1]]
    return found


def pytest_mouse_buttons(log: str) -> Outcomes:
    """matplotlib's: Python versions print members of an enumeration differently."""
    return pytest(log.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3"))


def pytest_verbose(log: str) -> Outcomes:
    """seaborn's: `NAME PASSED` as well as `PASSED NAME`."""
    found: Outcomes = {}
    for words in (line.split() for line in log.split("\n")):
        if len(words) < 2:
            continue
        if words[0] in ("PASSED", "FAILED"):
            found[words[1]] = _OUTCOMES[words[0]]
        elif words[1] == "PASSED":
            found[words[0]] = "PASSED"
    return found


_DJANGO_ENDS: tuple[tuple[str, Outcome], ...] = (
    (" ... ok", "PASSED"),
    (" ... OK", "PASSED"),
    (" ...  OK", "PASSED"),
    (" ... FAIL", "FAILED"),
    (" ... ERROR", "ERROR"),
)
_INTERRUPTED = (
    r"^(.*?)\s\.\.\.\sTesting against Django installed in ((?s:.*?)) silenced\)\.\nok$",
    r"^(.*?)\s\.\.\.\sInternal Server Error: /(.*)/\nok$",
    r"^(.*?)\s\.\.\.\sSystem check identified no issues \(0 silenced\)\.?\nok$",
)
"""What Django prints between a test's name and its outcome."""
_VERSION_TEST = "--version is equivalent to version"
_MIGRATION_BEFORE = "Applying sites.0002_alter_domain_unique...test_no_migrations"


def django(log: str) -> Outcomes:
    """Django's own runner with `--verbosity 2`; a test may print between its name and how it ended."""
    found: Outcomes = {}
    waiting = ""
    for line in (line.strip() for line in log.split("\n")):
        if _VERSION_TEST in line:
            found[_VERSION_TEST] = "PASSED"
        if " ... " in line:
            waiting = line.split(" ... ")[0]
        for end, outcome in _DJANGO_ENDS:
            if line.endswith(end):
                named = line.split("...", 1)[1].strip() if line.startswith(_MIGRATION_BEFORE) else line
                found[named.rsplit(end, 1)[0]] = outcome
                break
        if " ... skipped" in line:
            found[line.split(" ... skipped")[0]] = "SKIPPED"
        for mark, outcome in (("FAIL:", "FAILED"), ("ERROR:", "ERROR")):
            if line.startswith(mark) and len(words := line.split()) > 1:
                found[words[1]] = _OUTCOMES[outcome]
        if line.startswith("ok") and waiting:
            found[waiting] = "PASSED"
    for pattern in _INTERRUPTED:
        found |= {match[1]: "PASSED" for match in re.finditer(pattern, log, re.MULTILINE)}
    return found


_SYMPY_FAILURE = re.compile(r"_+ (.*)\.py:(.*) _+")
_SYMPY_ENDS: Mapping[str, Outcome] = {"E": "ERROR", "F": "FAILED", "ok": "PASSED"}


def sympy(log: str) -> Outcomes:
    """`bin/test --verbose`: a line for each test, a headline for each failure."""
    found: Outcomes = {f"{file}.py:{test}": "FAILED" for file, test in _SYMPY_FAILURE.findall(log)}
    for words in (line.split() for line in log.split("\n")):
        if len(words) > 1 and words[0].startswith("test_") and words[-1] in _SYMPY_ENDS:
            found[words[0]] = _SYMPY_ENDS[words[-1]]
    return found


def _lines(pattern: str, outcomes: Mapping[str, Outcome]) -> Parser:
    """A runner that says everything of a test in one line: `name` and `outcome` are groups of the pattern."""
    compiled = re.compile(pattern, re.MULTILINE)

    def parse(log: str) -> Outcomes:
        plain = _COLOURS.sub("", log)
        return {found["name"].strip(): outcomes[found["outcome"]] for found in compiled.finditer(plain)}

    return parse


go = _lines(
    r"^\s*--- (?P<outcome>PASS|FAIL|SKIP): (?P<name>\S+)", {"PASS": "PASSED", "FAIL": "FAILED", "SKIP": "SKIPPED"}
)
cargo = _lines(
    r"^test (?P<name>\S+)(?: - should panic)? \.\.\. (?P<outcome>ok|FAILED|ignored)",
    {"ok": "PASSED", "FAILED": "FAILED", "ignored": "SKIPPED"},
)
jest = _lines(
    r"^\s*(?P<outcome>[✓✔✕×○]) (?P<name>.+?)(?:\s\([\d.,]+\s*m?s\))?$",
    {"✓": "PASSED", "✔": "PASSED", "✕": "FAILED", "×": "FAILED", "○": "SKIPPED"},
)
tap = _lines(r"^\s*(?P<outcome>not ok|ok) \d+ (?:- )?(?P<name>[^#\n]+)", {"ok": "PASSED", "not ok": "FAILED"})

PARSERS: Mapping[str, Parser] = {
    "pytest": pytest,
    "pytest-short-paths": pytest_short_paths,
    "pytest-whole-names": pytest_whole_names,
    "pytest-mouse-buttons": pytest_mouse_buttons,
    "pytest-verbose": pytest_verbose,
    "django": django,
    "sympy": sympy,
    "go": go,
    "cargo": cargo,
    "jest": jest,
    "tap": tap,
}
