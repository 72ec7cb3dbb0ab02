"""Commands that only read, and the options that make them do more."""

import re
from collections.abc import Iterable

from openagent.policy import paths
from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Handler, InnerScript, Outcome, reads, writes
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.builtin.network import FETCHING
from openagent.policy.builtin.printing import printed
from openagent.policy.shell.values import FROM_NETWORK, UNKNOWN, Value


def harmless(call: Call) -> Iterable[Outcome]:
    """Whatever its arguments are."""
    return ()


def reader(with_value: str = "", writing: str = "", running: str = "", first_is_text: bool = False) -> Handler:
    """A command that shows files. `writing` and `running`: options that write a file or start a program, as
    `-o --output`. `first_is_text`: the first operand is a pattern, not a file."""
    write_short, write_long = _options(writing)
    run_short, run_long = _options(running)
    taking = frozenset(with_value.split())

    def handle(call: Call) -> Iterable[Outcome]:
        if running and (program := call.option(run_short, *run_long)) is not None:
            return [Finding(catalogue.RUNS_CODE, program), InnerScript(program)]
        if writing and (target := call.option(write_short, *write_long)) is not None:
            return writes(call, Value(target, call.known))
        operands = call.operands(taking)
        if first_is_text and not call.has("ef", "regexp", "file"):
            pattern, operands = operands[:1], operands[1:]
        else:
            pattern = []
        # Keys are looked for everywhere: an option may take a file, or take none where it was thought to.
        named = [value for value in _files(call) if value not in pattern and paths.names_credentials(value.text)]
        return reads(call, named or operands)

    return handle


def _files(call: Call) -> Iterable[Value]:
    """Every word that may name a file, the values of `--option=value` among them."""
    for value in call.values:
        yield Value(value.text.partition("=")[2], value.known) if value.text.startswith("-") else value


def _options(text: str) -> tuple[str, tuple[str, ...]]:
    words = text.split()
    short = "".join(word[1:] for word in words if not word.startswith("--"))
    return short, tuple(word[2:] for word in words if word.startswith("--"))


def only_without(forbidden: str, rule: catalogue.BuiltinRule) -> Handler:
    """Harmless as long as none of the options is given."""
    short, long = _options(forbidden)

    def handle(call: Call) -> Iterable[Outcome]:
        if call.has(short, *long) or not call.known:
            return [Finding(rule, " ".join(call.texts))]
        return ()

    return handle


def _second_is_written(with_value: str) -> Handler:
    """`uniq IN OUT`."""

    def handle(call: Call) -> Iterable[Outcome]:
        operands = call.operands(with_value)
        return writes(call, operands[1]) if len(operands) > 1 else reads(call, operands)

    return handle


def _hostname(call: Call) -> Iterable[Outcome]:
    if call.operands() or call.has("Fb", "file", "boot"):
        return [Finding(catalogue.STEERS_SYSTEM)]
    return ()


def _printenv(call: Call) -> Iterable[Outcome]:
    names = call.operands()
    if not names:
        return [Finding(catalogue.DUMPS_ENVIRONMENT)]
    if any(
        re.search(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", name.text, re.IGNORECASE) or not name.known
        for name in names
    ):
        return [Finding(catalogue.READS_CREDENTIALS, " ".join(call.texts))]
    return ()


def _history(call: Call) -> Iterable[Outcome]:
    return [Finding(catalogue.HIDES_TRACKS)] if call.has("cdwr") else ()


_SED_BRACKET = r"\[\^?\]?(?:\[[:.=][^\]\n]*[:.=]\]|[^\]\n\[])*\]"
_SED_REGEX = rf"/(?:\\.|{_SED_BRACKET}|[^/\\\n\[])*/I?"
_SED_COMMAND = re.compile(
    rf"""[ \t;\n{{}}]*
    (?:(?:\d+~\d+|\d+|\$|{_SED_REGEX})(?:,[ ]*(?:\+?\d+|\$|~\d+|{_SED_REGEX}))?[ ]*!?[ ]*)?
    (?:
        [pdqQ=NPDGHhgxnzl{{}}]\d*
        | s([/|,\#:@!%_~])(?:\\.|{_SED_BRACKET}|(?!\1)[^\\\n\[])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiI0-9]*
        | y/[^/\\\n]*/[^/\\\n]*/
        | [:btT][ ]*\w*
    )?
    (?=[ \t;\n{{}}]|$)[ \t;\n{{}}]*""",
    re.VERBOSE,
)
"""The sed commands that neither write a file nor start a program. A bracket may hold the delimiter."""

_SED_EXECUTES = re.compile(
    r"(?:^|[;{\n\d$/!])\s*e(?:\s+([^\n]*))?$|s(.)(?:\\.|(?!\2).)*\2((?:\\.|(?!\2).)*)\2\w*e\w*", re.MULTILINE
)


def _is_plain_sed(script: str) -> bool:
    position = 0
    while position < len(script):
        found = _SED_COMMAND.match(script, position)
        if found is None or found.end() == position:
            return False
        position = found.end()
    return True


def sed(call: Call) -> Iterable[Outcome]:
    """Its own little language can write files (`w`) and run commands (`e`)."""
    found: list[Outcome] = []
    scripts: list[Value] = []
    files = call.operands("-e -f -l --expression --file --line-length")
    values = iter(call.values)
    for value in values:
        if value.text in ("-e", "--expression") or (re.fullmatch(r"-[nErsuz]+e", value.text)):
            scripts.append(next(values, Value("")))
        elif value.text.startswith(("-e", "--expression=")):
            scripts.append(Value(value.text[2:] if value.text.startswith("-e") else value.text[13:], value.known))
    if call.has("f", "file"):
        return [Finding(catalogue.RUNS_CODE, "a sed script from a file")]
    if not scripts:
        scripts, files = files[:1], files[1:]
    for script in scripts:
        if not script.known:
            found.append(Finding(catalogue.DYNAMIC, script.text))
        elif not _is_plain_sed(script.text):
            found.extend(_sed_commands(script.text))
    if call.has("i", "in-place"):
        for file in files:
            found.extend(writes(call, file))
        return found or [Finding(catalogue.WRITES_WORKSPACE)]
    return [*found, *reads(call, files)]


def _sed_commands(script: str) -> Iterable[Outcome]:
    yield Finding(catalogue.RUNS_CODE, script)
    for executed in _SED_EXECUTES.finditer(script):
        yield Finding(catalogue.RISKY_CODE, script)
        yield InnerScript(executed[1] or executed[3] or "")
    for written in re.finditer(r"\bw\s+(\S+)", script):
        if written[1].startswith(("/etc", "/usr", "/boot", "/dev/sd")):
            yield Finding(catalogue.WRITES_SYSTEM, written[1])


_AWK_REGEX = re.compile(r"(^|[~(,!&|;{}\n])(\s*)/(?:\\.|[^/\\\n])+/")
_AWK_ACTS = re.compile(r"\bsystem\b|\bgetline\b|@load|@include|\bprintf?\b[^;}\n]*>|(?<!\|)\|(?!\|)|@\w+\(")
_AWK_TEXT = re.compile(r'"((?:\\.|[^"\\])*)"')


def awk(call: Call) -> Iterable[Outcome]:
    if call.has("fiEle", "file", "include", "exec", "load", "source"):
        return [Finding(catalogue.RUNS_CODE, "an awk program from a file")]
    operands = call.operands("-F -v --assign --field-separator")
    if not operands:
        return ()
    program, files = operands[0], operands[1:]
    if not program.known:
        return [Finding(catalogue.DYNAMIC, program.text)]
    found: list[Outcome] = list(reads(call, [file for file in files if "=" not in file.text]))
    if "ENVIRON" in program.text:
        found.append(Finding(catalogue.DUMPS_ENVIRONMENT))
    if _AWK_ACTS.search(_AWK_REGEX.sub(r"\1\2//", program.text)) or "system" in program.text:
        found.append(Finding(catalogue.RISKY_CODE, program.text))
        found.extend(InnerScript(text, speculative=True) for text in _AWK_TEXT.findall(program.text) if " " in text)
        given = (call.option("v", "assign") or "").partition("=")[2]
        found.append(InnerScript(given, speculative=True))
        texts = [given, *_AWK_TEXT.findall(program.text)]
        found.extend(
            Finding(catalogue.WRITES_SYSTEM, text) for text in texts if text.startswith(("/etc/", "/usr/", "/boot/"))
        )
    return found


def _jq(call: Call) -> Iterable[Outcome]:
    program, *files = call.operands("--arg --argjson --slurpfile --rawfile --indent -L") or [Value("")]
    named = [value for value in _files(call) if paths.names_credentials(value.text)]
    if re.search(r"(?<!\.)\benv\b|\$ENV\b", program.text) and not named:
        return [Finding(catalogue.DUMPS_ENVIRONMENT)]
    return reads(call, named or files)


def _ps(call: Call) -> Iterable[Outcome]:
    """`ps auxe` shows every process's environment."""
    shows = any("e" in text and not text.startswith("-") and text.isalpha() for text in call.texts[:1])
    return [Finding(catalogue.DUMPS_ENVIRONMENT)] if shows else ()


def _yq(call: Call) -> Iterable[Outcome]:
    if call.has("is", "inplace", "split-exp"):
        return [Finding(catalogue.WRITES_WORKSPACE)]
    return _jq(call)


def _tree(call: Call) -> Iterable[Outcome]:
    return writes(call, Value(target)) if (target := call.option("o")) is not None else ()


def _read_builtin(call: Call) -> Iterable[Outcome]:
    names = call.operands("-p -d -n -N -t -u -i")
    if call.name == "read" and len(names) == 1 and call.input.text is not None and names[0].known:
        call.state.assign(names[0].text, call.input.text.partition("\n")[0].strip())
        return ()
    origin = FROM_NETWORK if FETCHING & set(call.input.producers) else ""
    for operand in names:
        if operand.text.startswith(UNKNOWN):
            return [Finding(catalogue.DYNAMIC)]
        call.state.assign(operand.text, UNKNOWN + origin, known=False)
    for name in ("REPLY", "MAPFILE"):
        call.state.forget(name)
    return ()


def _printf(call: Call) -> Iterable[Outcome]:
    texts = call.texts
    if texts[:1] == ["-v"] and len(texts) > 1:
        if not call.values[1].known:
            return [Finding(catalogue.DYNAMIC)]
        text = printed(texts[2:])
        call.state.assign(texts[1], text or "", known=call.known and text is not None)
    return ()


def _unset(call: Call) -> Iterable[Outcome]:
    for operand in call.operands():
        call.state.forget(operand.text)
        if operand.text.startswith("HIST"):
            return [Finding(catalogue.HIDES_TRACKS, operand.text)]
        if not operand.known:
            return [Finding(catalogue.DYNAMIC)]
    return ()


_SHELL_OPTION = re.compile(r"[-+][euxfnvCo]+|pipefail|errexit|nounset|xtrace|noglob|noclobber")


def _set(call: Call) -> Iterable[Outcome]:
    texts = call.texts
    if not texts:
        return [Finding(catalogue.DUMPS_ENVIRONMENT)]
    if texts[0] == "--":
        sure = not call.state.conditional
        call.state.positional = tuple(Value(value.text, value.known and sure) for value in call.values[1:])
    elif not all(map(_SHELL_OPTION.fullmatch, texts)):
        return [Finding(catalogue.DYNAMIC, "set " + " ".join(texts))]
    return ()


def _ruff(call: Call) -> Iterable[Outcome]:
    texts = call.texts
    reading = texts[:1] == ["check"] and not call.has(
        "", "fix", "fix-only", "unsafe-fixes", "add-noqa", "output-file", "watch"
    )
    reading = reading or (texts[:1] == ["format"] and call.has("", "check", "diff"))
    return (
        () if reading or texts[:1] in (["--version"], ["rule"], ["version"]) else [Finding(catalogue.WRITES_WORKSPACE)]
    )


_ALWAYS = (
    "true false : pwd ls dir vdir wc basename dirname realpath readlink stat which whereis type "
    "whoami id groups uname uptime df du free "
    "nproc arch cal seq sleep test [ expr pgrep tty locale getconf lscpu lsblk lsusb lspci lsof vmstat iostat "
    "cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum sum echo tput clear wait jobs "
    "hash times return break "
    "continue exit cmp factor numfmt who w last logname users dircolors infocmp nm objdump "
    "readelf size lsb_release sw_vers"
)
_READERS = {
    "cat tac rev nl strings expand unexpand fmt pr comm tr zcat bzcat xzcat colrm look tsort paste join": reader(),
    "bat batcat": reader("-l -r -H", running="--pager"),
    "head tail": reader("-n -c --lines --bytes"),
    "od hexdump": reader("-A -t -j -N -n -s -e"),
    "fold": reader("-w"),
    "column": reader("-s -o -c"),
    "cut": reader("-d -f -b -c"),
    "iconv": reader("-f -t", "-o --output"),
    "grep egrep fgrep zgrep zegrep pcregrep": reader("-e -f -m -A -B -C", first_is_text=True),
    "ag": reader("-A -B -C -m -G", running="--pager", first_is_text=True),
    "rg": reader("-e -f -g -t -T -m -A -B -C -r -j -M", running="--pre --hostname-bin", first_is_text=True),
    "sort": reader("-k -t -S -T", "-o --output", "--compress-program"),
    "diff": reader("-U -C -I -x -W -L"),
    "file": reader("-m -F -P", "-C --compile"),
    "shuf": reader("-n -i", "-o --output"),
    "base64 base32": reader("-w --wrap"),
    "man": reader("-S -s", running="-P -H --pager --html --preprocessor"),
    "info help apropos whatis": harmless,
}


def _table() -> dict[str, Handler]:
    table: dict[str, Handler] = dict.fromkeys(_ALWAYS.split(), harmless)
    for names, handler in _READERS.items():
        table.update(dict.fromkeys(names.split(), handler))
    table.update(
        {
            "date": only_without("-s -f --set --file", catalogue.STEERS_SYSTEM),
            "hostname": _hostname,
            "ps": _ps,
            "uniq": _second_is_written("-f -s -w --skip-fields --skip-chars --check-chars"),
            "xxd": _second_is_written("-c -g -l -o -s -cols -len -seek -offset -groupsize"),
            "printenv": _printenv,
            "history": _history,
            "sed": sed,
            "gsed": sed,
            "awk": awk,
            "gawk": awk,
            "mawk": awk,
            "nawk": awk,
            "jq": _jq,
            "gojq": _jq,
            "yq": _yq,
            "tree": _tree,
            "read": _read_builtin,
            "mapfile": _read_builtin,
            "readarray": _read_builtin,
            "printf": _printf,
            "unset": _unset,
            "set": _set,
            "shopt": only_without("-s", catalogue.STEERS_SHELL),
            "umask": harmless,
            "ruff": _ruff,
            "ss": only_without("-K --kill", catalogue.STEERS_SYSTEM),
            "netstat": harmless,
            "ip": lambda call: (
                () if set(call.texts[1:2]) <= {"", "show", "list"} else [Finding(catalogue.STEERS_SYSTEM)]
            ),
        }
    )
    return table


READ_ONLY = _table()
