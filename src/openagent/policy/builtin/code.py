"""Programs that run code: interpreters, editors, and code given to tools directly."""

import re
from collections.abc import Iterable

from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Handler, Inner, InnerScript, Outcome, reads
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.builtin.network import FETCHING
from openagent.policy.builtin.packages import only_asks_version
from openagent.policy.shell.values import FROM_NETWORK, Value

_RISKY = re.compile(
    r"\b(?:system|popen|exec[lv]?[pe]?|execSync|spawn|spawnSync|fork|subprocess|child_process|Popen|check_output|check_call|os\.exec|shell_exec|"
    r"passthru|proc_open|eval|exec|compile|__import__|rmtree|unlink|unlinkSync|rmSync|rmdir|remove|removedirs|rename|chmod|chown|kill|"
    r"socket|urllib|urlopen|requests|httpx|aiohttp|http\.client|https?\.(?:get|request)|fetch|XMLHttpRequest|net\.|ftplib|smtplib|paramiko|telnetlib|"
    r"ctypes|pty|environ|getenv|process\.env|ENV|b64decode|fromCharCode|atob|Buffer\.from|codecs|marshal|pickle|writeFile|writeFileSync|"
    r"write_text|write_bytes|IO\.popen|Kernel|File\.(?:delete|write|open)|FileUtils|LWP|Socket|Deno\.(?:run|remove|Command)|Bun\.spawn)\b"
    r"|open\s*\([^)]*['\"][waxr]?[wax+]|`[^`]+`|%x[\[{(]|qx[\[{(/]",
)
_CREDENTIALS = re.compile(r"\.ssh|\.aws|\.env\b|id_rsa|/etc/shadow|\.netrc|\.gnupg|\.npmrc|/proc/[^/]+/environ")
_TEXT = re.compile(r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:\\.|[^'\\\n])*)'|\"((?:\\.|[^\"\\\n])*)\"|`([^`]*)`", re.DOTALL)
_LIST = re.compile(r"[\[(]\s*((?:['\"][^'\"]*['\"]\s*,?\s*){2,})[\])]?")
_REMOVES_TREE = re.compile(
    r"(?:rmtree|rmSync|rm_rf|rm_r|remove_dir_all|removedirs|remove_tree|rmdirSync|rm)\s*\(\s*(?:os\.path\.expanduser\(|Path\()?\s*['\"]([^'\"]+)['\"]"
)


def code_findings(call: Call, code: str) -> list[Outcome]:
    """What to say about a text in some programming language."""
    found: list[Outcome] = [Finding(catalogue.RISKY_CODE if _RISKY.search(code) else catalogue.RUNS_CODE, code[:80])]
    if FROM_NETWORK in code:
        found.append(Finding(catalogue.REMOTE_CODE))
    if _CREDENTIALS.search(code):
        found.append(Finding(catalogue.READS_CREDENTIALS))
    removed = _REMOVES_TREE.findall(code)
    found.extend(Finding(catalogue.DESTROYS_SYSTEM, tree) for tree in removed if call.is_critical(Value(tree)))
    for texts in _TEXT.findall(code)[:64]:
        text = next((text for text in texts if text), "")
        if " " in text and len(text) > 3:
            found.append(InnerScript(text, speculative=True))
    for listed in _LIST.findall(code)[:32]:
        words = re.findall(r"'([^']*)'|\"([^\"]*)\"", listed)
        found.append(Inner(tuple(Value(single or double) for single, double in words), speculative=True))
    return found


_VERSION_OPTIONS = {
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3", "ipython"), ("-V", "-VV")),
    **dict.fromkeys(("node", "nodejs", "perl", "ruby", "lua", "luajit", "php", "julia"), ("-v",)),
    "bun": ("-v",),
    "deno": ("-V",),
}


def _interpreter(code_options: str, module_option: str = "") -> Handler:
    options = code_options.split()

    def handle(call: Call) -> Iterable[Outcome]:
        if only_asks_version(call, *_VERSION_OPTIONS.get(call.name, ())):
            return ()
        texts = call.texts
        for index, text in enumerate(texts):
            if text in ("-", "--") or not text.startswith("-"):
                break
            if module_option and text == module_option:
                return _module(call, index + 1)
            for option in options:
                clustered = len(option) == 2 and re.fullmatch(rf"-[a-zA-Z]*{option[1]}(.*)", text, re.DOTALL)
                if text == option or text.startswith(option + "=") or (clustered and not text.startswith("--")):
                    attached = text.partition("=")[2] if text.startswith("--") else (clustered[1] if clustered else "")
                    return code_findings(call, "\n".join([attached, *texts[index + 1 :]]))
        operands = call.operands()
        if not operands or operands[0].text in ("-", "/dev/stdin"):
            return _from_input(call)
        if operands[0].scripts:
            return [Finding(catalogue.HIDDEN_CODE)]
        return [Finding(catalogue.RUNS_CODE, operands[0].text), *reads(call, operands[:1])]

    return handle


def _module(call: Call, index: int) -> Iterable[Outcome]:
    module, arguments = call.values[index : index + 1], call.values[index + 1 :]
    if not module:
        return [Finding(catalogue.RUNS_CODE)]
    if module[0].text in ("pip", "twine", "build", "uv", "poetry", "ruff", "coverage", "pytest", "mypy", "black"):
        return [Inner((module[0], *arguments))]
    if module[0].text in ("json.tool", "tokenize", "platform", "sysconfig", "this") and len(arguments) < 2:
        return reads(call, arguments)
    return [Finding(catalogue.RUNS_CODE, "module " + module[0].text)]


def _from_input(call: Call) -> Iterable[Outcome]:
    given = call.input
    if not given.given:
        return [Finding(catalogue.RUNS_CODE, "interactive")]
    if given.text is not None:
        return code_findings(call, given.text)
    if FETCHING & set(given.producers):
        return [Finding(catalogue.REMOTE_CODE)]
    return [Finding(catalogue.HIDDEN_CODE)]


_EDITOR_COMMAND = re.compile(r"!\s*(.+)|system\(['\"](.*?)['\"]\)", re.DOTALL)


def _editor(call: Call) -> Iterable[Outcome]:
    if only_asks_version(call):
        return ()
    found: list[Outcome] = [Finding(catalogue.RUNS_CODE, call.name)]
    texts = [*call.texts, call.input.text or ""]
    for text in texts:
        for line in text.splitlines():
            if command := _EDITOR_COMMAND.search(line):
                found += [
                    Finding(catalogue.RISKY_CODE, line),
                    InnerScript(command[1] or command[2] or "", speculative=True),
                ]
            if written := re.match(r"(?:\+|:)?\s*(?:w|wq|saveas|r)!?\s+(/\S+)", line):
                found.append(
                    Finding(catalogue.WRITES_SYSTEM, written[1])
                    if written[1].startswith(("/etc", "/usr", "/boot"))
                    else found[0]
                )
    return found


def _pager(call: Call) -> Iterable[Outcome]:
    """`less +!cmd`, `-o file`, `-k keys`."""
    if any(re.match(r"\+|-[oOkT]|--(?:log|LOG|lesskey)", text) for text in call.texts):
        return _editor(call)
    return reads(call, call.operands("-p -P -x -b -h -j -y"))


CODE: dict[str, Handler] = {
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3", "ipython"), _interpreter("-c", "-m")),
    **dict.fromkeys(("node", "nodejs", "bun", "deno", "ts-node", "tsx"), _interpreter("-e -p --eval --print eval")),
    **dict.fromkeys(
        ("perl", "ruby", "lua", "luajit", "julia", "osascript", "guile", "Rscript", "groovy"),
        _interpreter("-e -E --eval"),
    ),
    "php": _interpreter("-r -R -B -E --run"),
    **dict.fromkeys(
        (
            "vim",
            "vi",
            "nvim",
            "view",
            "ex",
            "ed",
            "emacs",
            "nano",
            "pico",
            "gvim",
            "vimdiff",
            "micro",
            "code",
            "sqlite3",
        ),
        _editor,
    ),
    **dict.fromkeys(("less", "more", "most"), _pager),
}
