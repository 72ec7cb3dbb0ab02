"""Commands that talk to other machines."""

import re
from collections.abc import Iterable

from openagent.policy import paths
from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Handler, InnerScript, Outcome, reads, writes
from openagent.policy.builtin.catalogue import Finding
from openagent.policy.names import names
from openagent.policy.shell.values import SENSITIVE, Value

_HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:[^@/\s]*@)?(\[[0-9a-fA-F:]+\]|[A-Za-z0-9_.-]+)(?::\d+)?(?:[/?#].*)?")
_NAMES_HOST = re.compile(
    r"[a-z][a-z0-9+.-]*://|^[\w.-]+\.[a-z]{2,}(?:[:/]|$)|^localhost\b|^\d+\.\d+\.\d+\.\d+|^[\w.-]+@[\w.-]+:"
)

FETCHING = names(
    "curl wget http https aria2c fetch lynx w3m links nc ncat netcat socat ssh scp sftp ftp telnet rsync gh aws"
)
DECODING = names(
    "base64 base32 xxd openssl gunzip zcat bzcat xzcat gzip rev tr uudecode od awk sed perl python python3 printf"
)


def host_of(text: str) -> str:
    """The host a URL or an scp-like address names; empty when it names none."""
    if not _NAMES_HOST.search(text):
        return ""
    found = _HOST.fullmatch(text) or re.match(r"(?:[^@/\s]*@)([\w.-]+):", text)
    return found[1].lower() if found else ""


def exfiltrates(call: Call) -> list[Outcome]:
    """What is sent holds keys, tokens or the environment."""
    if call.input.sensitive or any(SENSITIVE in text for text in call.texts):
        return [Finding(catalogue.SENDS_CREDENTIALS)]
    return []


_CURL_DATA = (
    "data",
    "data-binary",
    "data-ascii",
    "data-urlencode",
    "data-raw",
    "json",
    "form",
    "form-string",
    "upload-file",
    "url-query",
)
_CURL_VALUES = (
    "-X -H -A -e -u -b -m -w --connect-timeout --max-time --request --heade"
    "r --user-agent --retry --user --proxy -x --cacert"
)


def _curl(call: Call) -> Iterable[Outcome]:
    found = exfiltrates(call)
    texts = call.texts
    if texts in (["--version"], ["-V"], ["--help"]):
        return ()
    found.extend(outcome for value, is_file in _curl_data(texts) for outcome in _sent(value, uploads_file=is_file))
    if output := call.option("o", "output", "output-dir"):
        found.extend(writes(call, Value(output, call.known)))
    elif call.has("OJ", "remote-name", "remote-name-all"):
        found.append(Finding(catalogue.WRITES_WORKSPACE))
    if call.has("Kc", "config", "cookie-jar"):
        found.append(Finding(catalogue.UPLOADS, "it reads options from a file"))
    for value in call.operands(_CURL_VALUES):
        if value.text.startswith("file:"):
            found.extend(reads(call, [Value(value.text[7:])]))
    if any("169.254.169.254" in text or "metadata.google" in text for text in texts):
        found.append(Finding(catalogue.SECRET_STORE, "the cloud's metadata service"))
    return [*found, Finding(catalogue.USES_NETWORK)]


def _curl_data(texts: list[str]) -> Iterable[tuple[str, bool]]:
    """What is sent, and whether it is surely a file."""
    for index, text in enumerate(texts):
        following = texts[index + 1] if index + 1 < len(texts) else ""
        if text.startswith("--"):
            name, _, attached = text[2:].partition("=")
            if name in _CURL_DATA:
                yield attached or following, name == "upload-file"
        elif letter := re.match(r"-[A-Za-z#0]*?([dFT])", text):
            yield text[letter.end() :] or following, letter[1] == "T"


def _sent(value: str, *, uploads_file: bool) -> list[Outcome]:
    sent = value.partition("=")[2] if re.match(r"[\w.-]+=[@<]", value) else value
    if not uploads_file and not sent.startswith(("@", "<")):
        return [Finding(catalogue.UPLOADS)] if sent.startswith("\0") else []
    if paths.names_credentials(sent.lstrip("@<").partition(";")[0]):
        return [Finding(catalogue.SENDS_CREDENTIALS, sent)]
    return [Finding(catalogue.UPLOADS, sent)]


def _wget(call: Call) -> Iterable[Outcome]:
    found = exfiltrates(call)
    if call.texts in (["--version"], ["-V"], ["--help"]):
        return ()
    if file := call.option("", "post-file", "body-file"):
        found.extend(_sent("@" + file, uploads_file=True))
    if call.has("", "use-askpass") or re.search(r"use_askpass", " ".join(call.texts)):
        found.append(Finding(catalogue.RISKY_CODE))
    target = call.option("O", "output-document")
    if target is None:
        found.append(Finding(catalogue.WRITES_WORKSPACE))
    elif target != "-":
        found.extend(writes(call, Value(target, call.known)))
    if folder := call.option("P", "directory-prefix"):
        found.extend(writes(call, Value(folder, call.known)))
    return [*found, Finding(catalogue.USES_NETWORK)]


def _ssh(call: Call) -> Iterable[Outcome]:
    if call.texts == ["-V"]:
        return ()
    found: list[Outcome] = [*exfiltrates(call), Finding(catalogue.REMOTE_SHELL)]
    proxied = (re.match(r"(?:-o)?\s*(?:ProxyCommand|LocalCommand)[= ](.*)", text) for text in call.texts)
    found.extend(InnerScript(command[1]) for command in proxied if command)
    operands = call.operands("-p -i -l -o -F -L -R -D -J -b -c -E -e -I -m -O -Q -S -W -w")
    command = " ".join(value.text for value in operands[1:])
    return [*found, InnerScript(command)] if command else found


def _transfer(call: Call) -> Iterable[Outcome]:
    """scp, sftp, rsync: the last operand is where things go."""
    operands = call.operands("-P -i -o -F -S -e --rsh --exclude --include --files-from -f --filter -l -c -J")
    found: list[Outcome] = exfiltrates(call)
    if program := call.option("eS" if call.name == "rsync" else "S", "rsh", "rsync-path"):
        found.append(InnerScript(program))
    remote = any(re.match(r"(?:[\w.-]+@)?[\w.-]+:|rsync://", value.text) for value in operands) or call.name == "sftp"
    credentials = any(paths.names_credentials(value.text) for value in operands[:-1])
    if credentials and remote:
        found.append(Finding(catalogue.SENDS_CREDENTIALS))
    if remote:
        return [*found, Finding(catalogue.UPLOADS)]
    for target in operands[-1:]:
        found.extend(writes(call, target))
    if call.has("", "delete", "delete-after", "delete-before", "remove-source-files", "del"):
        found.append(Finding(catalogue.RECURSIVE_DELETE))
        found.extend(Finding(catalogue.DESTROYS_SYSTEM, target.text) for target in operands if call.is_critical(target))
    return found


def _sockets(call: Call) -> Iterable[Outcome]:
    found: list[Outcome] = [*exfiltrates(call), Finding(catalogue.REMOTE_SHELL)]
    started = (re.match(r"(?:EXEC|SYSTEM|exec|system):(.*)", text) for text in call.texts)
    return [*found, *(InnerScript(run[1].strip("'\"")) for run in started if run)]


def _network(call: Call) -> Iterable[Outcome]:
    if call.texts in (["--version"], ["version"], ["--help"], ["help"]):
        return ()
    return [*exfiltrates(call), Finding(catalogue.USES_NETWORK)]


def _mail(call: Call) -> Iterable[Outcome]:
    return [*exfiltrates(call), Finding(catalogue.UPLOADS)]


_GH_READS = re.compile(r"(?:pr|issue|run|repo|release|workflow|label|gist) (?:list|view|status|diff|checks)\b")


def _gh(call: Call) -> Iterable[Outcome]:
    line = " ".join(call.texts)
    if re.match(r"auth token|auth status.*-t|secret |ssh-key |gpg-key ", line):
        return [Finding(catalogue.SECRET_STORE, line)]
    if re.match(r"(?:release|gist) create|repo (?:delete|create|edit|archive)|pr merge", line):
        return [*exfiltrates(call), Finding(catalogue.PUBLISHES, line)]
    if _GH_READS.match(line) or line in ("--version", "auth status"):
        return [*exfiltrates(call), Finding(catalogue.USES_NETWORK)]
    if line.startswith(("alias", "extension")):
        return [Finding(catalogue.STEERS_SHELL)]
    return [*exfiltrates(call), Finding(catalogue.USES_NETWORK)]


def _cloud(call: Call) -> Iterable[Outcome]:
    line = " ".join(call.texts)
    if call.texts in (["--version"], ["help"]):
        return ()
    if re.search(r"\b(?:delete|destroy|terminate|rm|rb|remove|purge|drop)\b|apply .*auto-approve", line):
        return [Finding(catalogue.PUBLISHES, "it removes things in the cloud"), *exfiltrates(call)]
    if re.search(r"\bsecrets?\b|get-secret|print-access-token|get-credentials|ssm get-parameter|login", line):
        return [Finding(catalogue.SECRET_STORE), *exfiltrates(call)]
    return [*exfiltrates(call), Finding(catalogue.USES_NETWORK)]


def _table() -> dict[str, Handler]:
    groups: dict[str, Handler] = {
        "curl": _curl,
        "wget": _wget,
        "ssh mosh autossh sshpass ssh-copy-id": _ssh,
        "scp sftp rsync rclone": _transfer,
        "nc ncat netcat socat telnet rlogin ngrok cloudflared chisel": _sockets,
        "http https httpie xh aria2c ftp lftp tftp lynx w3m links fetch ping ping6 dig nslookup host "
        "traceroute mtr whois nmap tcpdump "
        "arp-scan websocat grpcurl redis-cli psql mysql mongo mongosh sqlcmd": _network,
        "mail mailx sendmail mutt swaks": _mail,
        "gh hub glab": _gh,
        "aws gcloud az gsutil doctl heroku flyctl fly vercel netlify terraform tofu pulumi ansible "
        "ansible-playbook kubectl helm oc "
        "wrangler firebase supabase": _cloud,
    }
    return {name: handler for listed, handler in groups.items() for name in listed.split()}


NETWORK = _table()
