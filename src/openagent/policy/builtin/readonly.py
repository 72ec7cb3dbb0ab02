"""Commands that only read, and the options that make them do more."""

import re
from collections.abc import Iterable

from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Handler, InnerScript, Outcome, reads, writes
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.shell.values import UNKNOWN, Value


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
        files = call.operands(taking)
        if first_is_text and not call.has("ef", "regexp", "file"):
            files = files[1:]
        for value in call.values:
            if value.text.startswith("--") and "=" in value.text and "." in value.text:
                files.append(Value(value.text.partition("=")[2]))
        return reads(call, files)

    return handle


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


def _one_file_read(call: Call) -> Iterable[Outcome]:
    """`uniq` and `xxd`: a second operand is written."""
    operands = call.operands("-f -s -w -l -c -g -o")
    if len(operands) > 1:
        return writes(call, operands[1])
    return reads(call, operands)


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


_SED_COMMAND = re.compile(
    r"""[ \t;\n{}]*
    (?:(?:\d+|\$|/(?:\\.|[^/\\\n])*/I?|\d+~\d+)(?:,[ ]*(?:\+?\d+|\$|~\d+|/(?:\\.|[^/\\\n])*/I?))?[ ]*!?[ ]*)?
    (?:[pdqQ=NPDGHhgxnzl{}]\d*|s([/|,\#:@!%_~])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiI0-9]*|y/[^/\n]*/[^/\n]*/|[aic]\\?[ ]?[^\n]*|[:btT][ ]*\w*)?
    [ \t;\n{}]*""",
    re.VERBOSE,
)
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
    files = call.operands("-e -f -l -E --expression --file")
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
    if call.has("fiEl", "file", "include", "exec", "load", "source"):
        return [Finding(catalogue.RUNS_CODE, "an awk program from a file")]
    operands = call.operands("-F -v --assign --field-separator")
    if not operands:
        return ()
    program, files = operands[0], operands[1:]
    if not program.known:
        return [Finding(catalogue.DYNAMIC, program.text)]
    found: list[Outcome] = list(reads(call, [file for file in files if "=" not in file.text]))
    if _AWK_ACTS.search(_AWK_REGEX.sub(r"\1\2//", program.text)) or "system" in program.text:
        found.append(Finding(catalogue.RISKY_CODE, program.text))
        found.extend(InnerScript(text, speculative=True) for text in _AWK_TEXT.findall(program.text) if " " in text)
        texts = [call.option("v", "assign") or "", *_AWK_TEXT.findall(program.text)]
        found.extend(
            Finding(catalogue.WRITES_SYSTEM, text) for text in texts if text.startswith(("/etc/", "/usr/", "/boot/"))
        )
    return found


def _jq(call: Call) -> Iterable[Outcome]:
    files = call.operands("--arg --argjson --slurpfile --rawfile --indent -L")[1:]
    return reads(call, files)


def _yq(call: Call) -> Iterable[Outcome]:
    if call.has("is", "inplace", "split-exp"):
        return [Finding(catalogue.WRITES_WORKSPACE)]
    return _jq(call)


def _tree(call: Call) -> Iterable[Outcome]:
    return writes(call, Value(target)) if (target := call.option("o")) is not None else ()


def _read_builtin(call: Call) -> Iterable[Outcome]:
    for operand in call.operands("-p -d -n -N -t -u -i"):
        if operand.text.startswith(UNKNOWN):
            return [Finding(catalogue.DYNAMIC)]
        call.state.forget(operand.text)
    for name in ("REPLY", "MAPFILE"):
        call.state.forget(name)
    return ()


def _printf(call: Call) -> Iterable[Outcome]:
    texts = call.texts
    if texts[:1] == ["-v"] and len(texts) > 1:
        if not call.values[1].known:
            return [Finding(catalogue.DYNAMIC)]
        call.state.forget(texts[1])
    return ()


def _unset(call: Call) -> Iterable[Outcome]:
    for operand in call.operands():
        call.state.forget(operand.text)
        if operand.text.startswith("HIST"):
            return [Finding(catalogue.HIDES_TRACKS, operand.text)]
        if not operand.known:
            return [Finding(catalogue.DYNAMIC)]
    return ()


def _set(call: Call) -> Iterable[Outcome]:
    if not call.values:
        return [Finding(catalogue.DUMPS_ENVIRONMENT)]
    if any(
        not re.fullmatch(r"[-+][euxfnvCo]+|pipefail|errexit|nounset|xtrace|noglob|noclobber", text)
        for text in call.texts
    ):
        return [Finding(catalogue.DYNAMIC, "set " + " ".join(call.texts))]
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
    "true false : pwd ls dir vdir wc basename dirname realpath readlink stat which whereis type whoami id groups uname uptime df du free "
    "nproc arch cal seq sleep test [ expr ps pgrep tty locale getconf lscpu lsblk lsusb lspci lsof vmstat iostat "
    "cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum sum echo tput clear wait jobs hash times shift return break "
    "continue exit cmp factor numfmt who w last logname users dircolors infocmp ldd nm objdump readelf size tokei cloc scc lsb_release sw_vers"
)
_READERS = {
    "cat bat batcat head tail tac rev nl od hexdump strings fold expand unexpand fmt pr column paste join comm cut tr zcat bzcat xzcat "
    "zless iconv colrm look tsort delta": reader("-n -c -d -f -s -w -b -t -A -j -N -F -m -M"),
    "grep egrep fgrep zgrep zegrep ag pcregrep": reader(
        "-e -f -m -A -B -C --include --exclude --exclude-dir", first_is_text=True
    ),
    "rg": reader("-e -f -g -t -T -m -A -B -C -r -j -M --glob --type", "", "--pre --hostname-bin", first_is_text=True),
    "sort": reader("-k -t -S -T", "-o --output", "--compress-program"),
    "diff": reader("-U -C -I -x -W -L"),
    "file": reader("-m -F -P", "-C --compile"),
    "shuf": reader("-n -i", "-o --output"),
    "base64 base32": reader("-w --wrap"),
    "jp": reader(),
    "man info help apropos whatis": harmless,
}


def _table() -> dict[str, Handler]:
    table: dict[str, Handler] = dict.fromkeys(_ALWAYS.split(), harmless)
    for names, handler in _READERS.items():
        table.update(dict.fromkeys(names.split(), handler))
    table.update(
        {
            "date": only_without("-s --set", catalogue.STEERS_SYSTEM),
            "hostname": _hostname,
            "uniq": _one_file_read,
            "xxd": _one_file_read,
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
