"""Where a path leads, told from its text alone."""

import os.path
import re
from typing import Literal

from openagent.policy.names import names
from openagent.policy.shell.values import UNKNOWN

Place = Literal[
    "null", "workspace", "protected", "temporary", "outside", "home", "startup", "system", "device", "unknown"
]
"""`protected`: in the workspace, yet it steers tools (.git, .openagent). `startup`: what a shell or a login runs."""

SEVERITY: tuple[Place, ...] = (
    "null",
    "temporary",
    "workspace",
    "outside",
    "home",
    "unknown",
    "protected",
    "startup",
    "system",
    "device",
)
"""From the least to the most delicate."""

_NULL = re.compile(r"/dev/(?:null|stdin|stdout|stderr|tty|zero|u?random|full|fd/\d+|pts/\d+)")
_DEVICE = re.compile(r"/dev/(?!shm/).+|/proc/kcore|/dev/mem")
_SYSTEM = re.compile(
    r"/(?:etc|usr|bin|sbin|lib|lib32|lib64|libx32|boot|sys|proc|dev|root/\.\.|System|Library|Windows)(?:/.*)?"
)
_TOP_GLOB = re.compile(r"/[^/]*[*?\[]")
_HOME = re.compile(r"(?:~[^/]*|/root|/home/[^/]+|/Users/[^/]+)(?=/|$)")
_STARTUP = re.compile(
    r"\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|inputrc|xinitrc|xprofile|"
    r"gitconfig|npmrc|pypirc|netrc|pam_environment|vimrc|tmux\.conf|curlrc|wgetrc)"
    r"|\.ssh(?:/.*)?|\.config/(?:autostart|systemd|fish|git|openagent)(?:/.*)?|\.git-templates(?:/.*)?|\.local/bin(?:/.*)?"
)
_PROTECTED = re.compile(
    r"(?:.*/)?\.git(?:/.*)?|(?:.*/)?\.openagent(?:/.*)?|(?:.*/)?\.(?:gitmodules|envrc|mcp\.json)"
    r"|(?:.*/)?\.(?:vscode|idea|devcontainer)(?:/.*)?|(?:.*/)?\.github/workflows(?:/.*)?",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(r"(?:.*/)?[^/]*(?:secret|credential|password|private[_-]?key)[^/]*(?:/.*)?", re.IGNORECASE)
_ENV_FILE = re.compile(r"(?:.*/)?\.env(?:\.(?!example$|sample$|template$|dist$|test$)[^/]+)?")
_CREDENTIALS = re.compile(
    r"(?:.*/)?(?:"
    r"\.ssh(?:/.*)?|\.aws(?:/.*)?|\.gnupg(?:/.*)?|\.azure(?:/.*)?|\.kube(?:/.*)?|\.docker/config\.json|\.config/(?:gcloud|gh|hub|op|openagent)(?:/.*)?"
    r"|\.netrc|\.pgpass|\.my\.cnf|\.npmrc|\.pypirc|\.git-credentials|\.vault-token|\.password-store(?:/.*)?|\.local/share/keyrings(?:/.*)?"
    r"|\.mozilla(?:/.*)?|\.config/(?:google-chrome|chromium)(?:/.*)?|Library/Keychains(?:/.*)?|\.(?:bash|zsh|python|psql|mysql)_history"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)|[^/]+\.(?:pem|p12|pfx|kdbx|keystore|jks)|credentials\.json|service-account[^/]*\.json"
    r")"
    r"|/etc/(?:shadow|gshadow|sudoers|ssh/ssh_host_.*key|master\.passwd)(?:[-.].*)?|/proc/[^/]+/(?:environ|mem|maps)|/run/secrets(?:/.*)?|/dev/(?:sd|hd|vd|nvme|mem|kmem|mapper).*"
    r"|/var/run/secrets(?:/.*)?"
)
_CREDENTIAL_SAMPLES = names(
    ".ssh .aws .gnupg .azure .kube .env .env.local .netrc .pgpass .npmrc .pypirc .git-credentials id_rsa "
    "id_ed25519 id_ecdsa id_dsa shadow gshadow sudoers environ .bash_history .zsh_history .vault-token "
    ".password-store keyrings credentials.json"
)
_SECRET_STARTS = ("id_", "credentials", "service-account")
_SECRET_ENDS = (".pem", ".p12", ".pfx", ".kdbx", ".keystore", ".jks")
_PUBLIC_KEY = re.compile(r".*\.pub|(?:.*/)?known_hosts|.*/certs?/.*\.pem|.*/cacert\.pem")
_CRITICAL = re.compile(
    r"/|/[^/]+|(?:~[^/]*|/root|/home/[^/]+|/Users/[^/]+|/home|/Users)|/var/(?:lib|log|db)|/usr/[^/]+|/etc/.*|/boot/.*|/(?:s?bin|lib\d*)/.*"
)


def resolve(path: str, cwd: str | None) -> str:
    """An absolute or `~` path; UNKNOWN inside where it cannot be told."""
    if path.startswith("file://"):
        path = path[7:]
    if path[:1] in ("/", "~"):
        resolved = os.path.normpath(path)
    elif cwd is None:
        resolved = UNKNOWN + "/" + path
    else:
        resolved = os.path.normpath(os.path.join(cwd, path))
    return resolved[1:] if resolved.startswith("//") else resolved


def is_inside(resolved: str, root: str) -> bool:
    root = root.rstrip("/") or "/"
    return resolved == root or resolved.startswith(root if root == "/" else root + "/")


def locate(path: str, cwd: str | None, workspace: str) -> Place:
    """Where something written to `path` would land."""
    resolved = resolve(path, cwd)
    if _NULL.fullmatch(resolved):
        return "null"
    broad = workspace == "/" or bool(_HOME.fullmatch(workspace))
    if is_inside(resolved, workspace) and not (broad and _is_delicate(resolved)):
        inside = resolved[len(workspace.rstrip("/")) :].lstrip("/")
        if UNKNOWN in inside and "/../" in f"/{path}/":
            return "unknown"
        return "protected" if _PROTECTED.fullmatch(inside) else "workspace"
    return _outside(resolved)


def _outside(resolved: str) -> Place:
    home = _HOME.match(resolved)
    if resolved.startswith(("/tmp/", "/var/tmp/", "/dev/shm/")) and UNKNOWN not in resolved:  # noqa: S108
        place: Place = "temporary"
    elif _DEVICE.fullmatch(resolved):
        place = "device"
    elif _SYSTEM.fullmatch(resolved) or resolved == "/" or _TOP_GLOB.match(resolved):
        place = "system"
    elif home:
        place = "startup" if _STARTUP.fullmatch(resolved[home.end() :].lstrip("/")) else "home"
    else:
        place = "unknown" if UNKNOWN in resolved else "outside"
    return place


def _is_delicate(resolved: str) -> bool:
    """Inside a workspace as wide as a home directory or the whole disk, yet no project's own file."""
    home = _HOME.match(resolved)
    startup = home is not None and bool(_STARTUP.fullmatch(resolved[home.end() :].lstrip("/")))
    return startup or resolved == "/" or bool(_DEVICE.fullmatch(resolved) or _SYSTEM.fullmatch(resolved))


def is_critical(path: str, cwd: str | None, workspace: str) -> bool:
    """Deleting or handing over all of it would ruin the machine or a home directory."""
    resolved = resolve(path, cwd)
    if UNKNOWN in resolved:
        return False
    stripped = re.sub(r"(?:/(?:\.?\*+|\.\[[^/]*|\{?\*[^/]*))+$", "", resolved) or "/"
    if re.search(r"[*?\[]", stripped):
        stripped = re.sub(r"/[^/]*[*?\[].*$", "", stripped) or "/"
        return stripped in ("/", "/home", "/Users", "/usr", "/etc") or bool(
            _HOME.fullmatch(stripped) and resolved != path
        )
    if stripped in ("/tmp", "/var/tmp"):  # noqa: S108
        return False
    critical = bool(_CRITICAL.fullmatch(stripped))
    if workspace == "/" or _HOME.fullmatch(workspace):
        return critical and not (is_inside(stripped, workspace) and workspace not in (stripped, "/"))
    return critical and not is_inside(stripped, workspace)


def may_be_critical(path: str) -> bool:
    """`/$x`: critical should the unknown part be empty."""
    return bool(re.match(rf"(?:/|~/?|/home/?|/etc/?|/usr/?)[*./]*{UNKNOWN}", path))


def names_credentials(path: str, cwd: str | None = "") -> bool:
    """The path is one where keys, tokens or passwords are kept."""
    if path.startswith("@"):
        path = path[1:]
    normal = os.path.normpath(path) if path else path
    if _PUBLIC_KEY.fullmatch(normal):
        return False
    if _CREDENTIALS.fullmatch(normal) or _ENV_FILE.fullmatch(normal):
        return True
    if cwd and _CREDENTIALS.fullmatch(resolve(path, cwd)):
        return True
    return bool(re.search(r"[*?\[]", path)) and any(map(_may_name_credentials, normal.split("/")))


def _may_name_credentials(component: str) -> bool:
    if not re.search(r"[*?\[]", component) or component[0] == "*":
        return component in _CREDENTIAL_SAMPLES
    pattern = glob_pattern(component)
    return any(pattern.fullmatch(sample) for sample in _CREDENTIAL_SAMPLES)


def is_secret_file(path: str) -> bool:
    """The same of a file's path, without patterns; quick about the many that are none."""
    name = path.rpartition("/")[2]
    telling = name.startswith(_SECRET_STARTS) or name.endswith(_SECRET_ENDS)
    return (telling or path[0] == "." or "/." in path) and names_credentials(path)


def looks_secret(path: str) -> bool:
    """By its name, something sensitive is inside."""
    return names_credentials(path) or bool(_SECRET_NAME.fullmatch(path))


def glob_pattern(glob: str) -> re.Pattern[str]:
    """`*` stays inside a folder, `**` does not."""
    pieces: list[str] = []
    position = 0
    while position < len(glob):
        if glob.startswith("**/", position):
            pieces.append("(?:.*/)?")
            position += 3
        elif glob.startswith("**", position):
            pieces.append(".*")
            position += 2
        elif glob[position] == "*":
            pieces.append("[^/]*")
            position += 1
        elif glob[position] == "?":
            pieces.append("[^/]")
            position += 1
        elif glob[position] == "[" and (close := glob.find("]", position + 2)) > 0:
            negated = glob[position + 1] in "!^"
            inside = re.sub(r"([\[\\&~|^])", r"\\\1", glob[position + 1 + negated : close])
            pieces.append(("[^" if negated else "[") + inside + "]")
            position = close + 1
        else:
            pieces.append(re.escape(glob[position]))
            position += 1
    try:
        return re.compile("".join(pieces), re.DOTALL)
    except re.error:
        return re.compile(re.escape(glob))


def glob_escape(text: str) -> str:
    """A glob that matches just this text."""
    return re.sub(r"([*?\[])", r"[\1]", text)
