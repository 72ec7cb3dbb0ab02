"""What the inside looks like, whichever engine made the walls."""

import subprocess
from collections.abc import Sequence

HOME = "/home/agent"
PIPES = "/run/openagent"
SHARED_MEMORY = 64 << 20


def agent_env() -> dict[str, str]:
    # A bare repository planted in the workspace would name programs that a harmless `git status` runs.
    git = [("safe.directory", "*"), ("safe.bareRepository", "explicit")]
    return {
        "HOME": HOME,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": str(len(git)),
        **{f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(git)},
        **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(git)},
    }


def settings_files(uid: int, gid: int, git_identity: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The user database, and what git goes by when nobody has set anything else: path to text."""
    agent, group = f"agent:x:{uid}:{gid}::{HOME}:/bin/bash\n", f"agent:x:{gid}:\n"
    root = "root:x:0:0::/:/bin/false\n"
    # A branch made from a remote one would have to be written into the repository's settings, which nobody can change.
    # What lists files for servers that know nothing of git is written where nobody can, either.
    git = [*git_identity, ("branch.autoSetupMerge", "false"), ("repack.updateServerInfo", "false")]
    return {
        "/etc/passwd": f"{agent if uid == 0 else root + agent}nobody:x:65534:65534::/:\n",
        "/etc/group": f"{group if gid == 0 else 'root:x:0:' + chr(10) + group}nogroup:x:65534:\n",
        "/etc/gitconfig": "".join(map(_git_setting, git)),
    }


_CONNECT = """\
exec 3<>/dev/tcp/127.0.0.1/{port} || exit 1
printf 'CONNECT %s:%s HTTP/1.1\\r\\n\\r\\n' "$1" "$2" >&3
IFS= read -r status <&3
while IFS= read -r line <&3 && [ "$line" != $'\\r' ]; do :; done
case $status in *' 200 '*) ;; *) cat <&3 >&2; exit 1 ;; esac
cat <&3 &
exec cat >&3
"""


def proxied_ssh(port: int) -> dict[str, str]:
    """ssh, and git over it, know no proxy by themselves: path to text."""
    return {
        "/etc/ssh/ssh_config": "Host *\n  ProxyCommand /bin/bash /etc/ssh/connect %h %p\n",
        "/etc/ssh/connect": _CONNECT.format(port=port),
    }


def _git_setting(setting: tuple[str, str]) -> str:
    key, value = setting
    section, _, name = key.partition(".")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'[{section}]\n\t{name} = "{escaped}"\n'


_PATIENCE_S = 30.0
"""On a machine that is busy with builds git takes seconds, and what it did not tell is missing from every commit."""


def read_git_identity() -> list[tuple[str, str]]:
    """Who commits; nothing else of the person's git configuration is let in."""
    try:
        answer = subprocess.run(
            ("git", "config", "--global", "--null", "--get-regexp", r"^user\.(name|email)$"),
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    entries = (entry.partition("\n") for entry in answer.stdout.split("\0") if entry)
    return [(key, value) for key, _, value in entries]
