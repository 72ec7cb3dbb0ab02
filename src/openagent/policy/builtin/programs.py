"""Programs in other languages than the shell's: sed, awk, jq, and code given inline to an interpreter."""

import re
from collections.abc import Iterable

from openagent.bash.values import FROM_NETWORK, Value
from openagent.policy.builtin.calls import Call, Inner, InnerScript, Outcome
from openagent.policy.builtin.catalogue import hit

_BRACKET = r"\[\^?\]?(?:\[[:.=][^\]\n]*[:.=]\]|[^\]\n\[])*\]"
_REGEX = rf"/(?:\\.|{_BRACKET}|[^/\\\n\[])*/I?"
_SED_COMMAND = re.compile(
    rf"""[ \t;\n{{}}]*
    (?:(?:\d+~\d+|\d+|\$|{_REGEX})(?:,[ ]*(?:\+?\d+|\$|~\d+|{_REGEX}))?[ ]*!?[ ]*)?
    (?:
        [pdqQ=NPDGHhgxnzl{{}}]\d*
        | s([/|,\#:@!%_~])(?:\\.|{_BRACKET}|(?!\1)[^\\\n\[])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiI0-9]*
        | y/[^/\\\n]*/[^/\\\n]*/
        | [:btT][ ]*\w*
        | [aic]\\?[ \t\n][^\n]*
    )?
    (?=[ \t;\n{{}}]|$)[ \t;\n{{}}]*""",
    re.VERBOSE,
)
"""The sed commands that neither write a file nor start a program. A bracket may hold the delimiter."""
_SED_EXECUTES = re.compile(
    r"(?:^|[;{\n\d$/!])\s*e(?:\s+([^\n]*))?$|s(.)(?:\\.|(?!\2).)*\2((?:\\.|(?!\2).)*)\2\w*e\w*", re.MULTILINE
)
_AWK_REGEX = re.compile(r"(^|[~(,!&|;{}\n])(\s*)/(?:\\.|[^/\\\n])+/")
_AWK_ACTS = re.compile(r"\bsystem\b|\bgetline\b|@load|@include|\bprintf?\b[^;}\n]*>|(?<!\|)\|(?!\|)|@\w+\(|system")
_AWK_TEXT = re.compile(r'"((?:\\.|[^"\\])*)"')
_RISKY = re.compile(
    r"\b(?:system|popen|exec[lv]?[pe]?|execSync|spawn|spawnSync|fork|subprocess|child_process|Popen|check_output|eval|"
    r"check_call|os\.exec|shell_exec|passthru|proc_open|exec|compile|__import__|rmtree|unlink|unlinkSync|rmSync|rmdir|"
    r"remove|removedirs|rename|chmod|chown|kill|socket|urllib|urlopen|requests|httpx|aiohttp|http\.client|fetch|net\.|"
    r"https?\.(?:get|request)|XMLHttpRequest|ftplib|smtplib|paramiko|telnetlib|ctypes|pty|environ|getenv|process\.env|"
    r"ENV|b64decode|fromCharCode|atob|Buffer\.from|codecs|marshal|pickle|writeFile|writeFileSync|write_text|write_bytes|"
    r"IO\.popen|Kernel|File\.(?:delete|write|open)|FileUtils|LWP|Socket|Deno\.(?:run|remove|Command)|Bun\.spawn)\b"
    r"|open\s*\([^)]*['\"][waxr]?[wax+]|`[^`]+`|%x[\[{(]|qx[\[{(/]",
)
_CREDENTIALS = re.compile(
    r"\.ssh|\.aws|\.env\b|id_rsa|/etc/shadow|\.netrc|\.gnupg|\.npmrc|/proc/[^/]+/environ|\.envrc|\.dev\.vars|\.htpasswd|"
    r"\bkubeconfig\b|\bsecrets\.(?:ya?ml|json|toml)|\.tfvars|\b(?:server|master)\.key\b|\bconfig\.local\."
)
_TEXT = re.compile(r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:\\.|[^'\\\n])*)'|\"((?:\\.|[^\"\\\n])*)\"|`([^`]*)`", re.DOTALL)
_LIST = re.compile(r"[\[(]\s*((?:['\"][^'\"]*['\"]\s*,?\s*){2,})[\])]?")
_REMOVES_TREE = re.compile(
    r"(?:rmtree|rmSync|rm_rf|rm_r|remove_dir_all|removedirs|remove_tree|rmdirSync|rm)"
    r"\s*\(\s*(?:os\.path\.expanduser\(|Path\()?\s*['\"]([^'\"]+)['\"]"
)
_SYSTEM_FILE = ("/etc", "/usr", "/boot", "/dev/sd")


def sed_findings(script: Value) -> Iterable[Outcome]:
    """Its own little language can write files (`w`) and run commands (`e`)."""
    if not script.known:
        yield hit("dynamic", script.text)
    elif not _is_plain_sed(script.text):
        yield hit("runs-code", script.text)
        for executed in _SED_EXECUTES.finditer(script.text):
            yield hit("risky-code", script.text)
            yield InnerScript(executed[1] or executed[3] or "")
        yield from _system_files(re.findall(r"\bw\s+(\S+)", script.text))


def _is_plain_sed(script: str) -> bool:
    position = 0
    while position < len(script):
        found = _SED_COMMAND.match(script, position)
        if found is None or found.end() == position:
            return False
        position = found.end()
    return True


def _system_files(texts: Iterable[str]) -> list[Outcome]:
    return [hit("writes-system", text) for text in texts if text.startswith(_SYSTEM_FILE)]


def awk_findings(program: Value, assigned: list[str]) -> Iterable[Outcome]:
    if not program.known:
        yield hit("dynamic", program.text)
    if "ENVIRON" in program.text:
        yield hit("dumps-environment")
    if _AWK_ACTS.search(_AWK_REGEX.sub(r"\1\2//", program.text)):
        yield hit("risky-code", program.text)
        texts = [*_AWK_TEXT.findall(program.text), *assigned]
        yield from (InnerScript(text, speculative=True) for text in texts if " " in text)
        yield from _system_files(texts)


def code_findings(call: Call, code: str) -> list[Outcome]:
    """What to say about a text in some programming language."""
    found: list[Outcome] = [hit("risky-code" if _RISKY.search(code) else "runs-code", code[:80])]
    if FROM_NETWORK in code:
        found.append(hit("remote-code"))
    if _CREDENTIALS.search(code):
        found.append(hit("reads-credentials"))
    removed = _REMOVES_TREE.findall(code)
    found.extend(hit("destroys-system", tree) for tree in removed if call.is_critical(Value(tree)))
    for texts in _TEXT.findall(code)[:64]:
        text = next((text for text in texts if text), "")
        if " " in text and len(text) > 3:
            found.append(InnerScript(text, speculative=True))
    for listed in _LIST.findall(code)[:32]:
        words = re.findall(r"'([^']*)'|\"([^\"]*)\"", listed)
        found.append(Inner(tuple(Value(single or double) for single, double in words), speculative=True))
    return found
