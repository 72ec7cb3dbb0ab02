"""Attempts to get out of a jail, or at a secret, each as a command that prints the word when it succeeds.

Run as a program, it tries them all and prints what came of each as JSON. Started by root with `--uid`, it becomes that
user first.
"""

import argparse
import asyncio
import importlib
import json
import os
import platform
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from openagent.jail.bwrap import BwrapJail
from openagent.jail.docker import DockerJail
from openagent.jail.host import HostJail
from openagent.jail.limits import Limits
from openagent.plugins.jail import Jail

SUCCESS = "ESCAPED"
SECRET = "hunter2-secret"
_SYSCALL = (
    "import ctypes; result=ctypes.CDLL(None,use_errno=True).syscall({call}); "
    "print('ESC'+'APED' if result>=0 or ctypes.get_errno()!=1 else 'refused')"
)
_YOUNG = "a system call younger than the filter"
_CALLING = "import ctypes; {before}; ctypes.CDLL(None).syscall({call})"
_UNKNOWN_CALL = (
    "import ctypes; ctypes.CDLL(None,use_errno=True).syscall(NUMBER,-1,0,0,0,0); "
    "print('ESC'+'APED' if ctypes.get_errno()!=38 else 'not there')"
)
_NAMED_LATER = (
    "import ctypes,os; fd=os.open('.',0o20200002,0o4755); "
    "ctypes.CDLL(None).linkat(-100,b'/proc/self/fd/%d'%fd,-100,b's',0x400)"
)
_FORK_BOMB = """
import os, time
children = []
try:
    while len(children) < 300:
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
        children.append(pid)
except OSError:
    pass
for pid in children:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
print("ESC" + "APED" if len(children) >= 200 else len(children))
"""


class Attempt(NamedTuple):
    name: str
    command: str
    """`{home}`, `{port}`, `{socket}`, `{abstract}`, `{victim}` and `{workspace}` are filled in."""
    works_unjailed: bool = False
    """As root, outside a jail: shows that the attempt is a real one."""


def _python(code: str) -> str:
    return f"python3 -c {shlex.quote(code)}"


def _syscall(call: str) -> str:
    return _python(_SYSCALL.format(call=call))


def _calling(before: str, call: str) -> str:
    return _python(_CALLING.format(before=before or "pass", call=call))


def _say(command: str) -> str:
    return f"{command} && echo ESC''APED"


_ALL = [
    Attempt("read ~/.ssh", "cat {home}/.ssh/id_rsa", True),
    Attempt("read ~/.ssh through a symbolic link", "ln -sf {home}/.ssh leak; cat leak/id_rsa; rm -f leak", True),
    Attempt("read ~/.ssh through a hard link", "ln {home}/.ssh/id_rsa hard; cat hard; rm -f hard"),
    Attempt("read ~/.ssh through /proc", "cat /proc/*/root{home}/.ssh/id_rsa; cat /proc/*/cwd{home}/.ssh/id_rsa", True),
    Attempt("list the home directory", "ls -A {home} | grep -q . " + "&& echo ESC''APED", True),
    Attempt("read /etc/shadow", _say("grep -q root /etc/shadow"), True),
    Attempt("write /etc", _say("touch /etc/openagent-was-here")),
    Attempt("write /usr", _say("touch /usr/openagent-was-here")),
    Attempt("write /", _say("touch /openagent-was-here")),
    Attempt("write /dev", _say("touch /dev/openagent-was-here")),
    Attempt("write the pipes of the shell", _say("touch /run/openagent/x")),
    Attempt("signal a host process", _say("kill -0 {victim}"), True),
    Attempt("read a host process", _say("head -c1 /proc/{victim}/cmdline | grep -q ."), True),
    Attempt(
        "trace a host process",
        _python("import ctypes; print('ESC'+'APED' if ctypes.CDLL(None).ptrace(16,{victim},0,0)==0 else '')"),
        True,
    ),
    Attempt("mount", _say("mount -t tmpfs none /tmp")),
    Attempt("mount by system call", _syscall("165,b'none',b'/tmp',b'tmpfs',0,0"), False),
    Attempt("cgroup release_agent", _say("mkdir -p /tmp/cg; mount -t cgroup -o rdma cgroup /tmp/cg")),
    Attempt("see control groups", _say("ls /sys/fs/cgroup/* >/dev/null 2>&1"), True),
    Attempt("nested user namespace", _say("unshare -U true"), True),
    Attempt("nested mount namespace", _say("unshare -m true"), True),
    Attempt("nested user namespace by clone", _syscall("56,0x10000011,0,0,0,0")),
    Attempt("enter a host namespace", _say("nsenter -t 1 -m true")),
    Attempt(
        "a service on 127.0.0.1",
        _python("import socket; socket.create_connection(('127.0.0.1',{port}),2); print('ESC'+'APED')"),
        True,
    ),
    Attempt(
        "a unix socket",
        _python("import socket; s=socket.socket(1); s.connect('{socket}'); print('ESC'+'APED')"),
        True,
    ),
    Attempt(
        "an abstract unix socket",
        _python("import socket; s=socket.socket(1); s.connect(chr(0)+'{abstract}'); print('ESC'+'APED')"),
        True,
    ),
    Attempt("a vsock", _python("import socket; socket.socket(40,1); print('ESC'+'APED')"), True),
    Attempt(
        "the outside network",
        _python("import socket; s=socket.socket(2,2); s.connect(('192.0.2.1',9)); print('ESC'+'APED')"),
    ),
    Attempt(
        "write /proc/sys",
        _say('v=$(cat /proc/sys/kernel/core_pattern); echo "$v" > /proc/sys/kernel/core_pattern'),
        True,
    ),
    Attempt("open sysrq-trigger", _python("open('/proc/sysrq-trigger','r+b'); print('ESC'+'APED')")),
    Attempt("the launcher's secret in the environment", "env; set; cat /proc/self/environ"),
    Attempt(
        "the launcher's secret in /proc/1/environ",
        "cat /proc/1/environ /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a ^OPENAGENT_TEST_KEY",
        True,
    ),
    Attempt("the launcher's secret in any command line", "cat /proc/*/cmdline"),
    Attempt(
        "TIOCSTI",
        _python(
            "import pty,fcntl,termios; m,s=pty.openpty(); fcntl.ioctl(s,termios.TIOCSTI,b'x'); print('ESC'+'APED')"
        ),
    ),
    Attempt("a controlling terminal", _say("(: >/dev/tty) 2>/dev/null")),
    Attempt("mknod", _say("mknod disk b 8 0; [ -b disk ]") + "; rm -f disk", True),
    Attempt("raw disks", _say("ls /dev/[vs]da /dev/nvme* /dev/mem /dev/kmsg 2>/dev/null | grep -q .")),
    Attempt("setuid su", "echo | su root -c 'echo ESC''APED' </dev/null"),
    *(
        Attempt(
            f"a setuid file by {name}",
            f"{command}; {_say('find . -maxdepth 1 -type f -perm /6000 | grep -q .')}; rm -f s",
            True,
        )
        for name, command in (
            ("chmod", "cp /usr/bin/id s; chmod u+s s"),
            ("chmod for the group", "cp /usr/bin/id s; chmod 2755 s"),
            ("fchmod", _python("import os; os.fchmod(os.open('s',0o102,0o700),0o4755)")),
            ("fchmodat", _python("import os; d=os.open('.',0); open('s','w'); os.chmod('s',0o4755,dir_fd=d)")),
            ("fchmodat2", _calling("open('s','w')", "452,-100,b's',0o4755,0")),
            ("opening a new file", _python("import os; os.open('s',0o102,0o4755)")),
            ("the older open", _calling("", "2,b's',0o102,0o2755")),
            ("creat", _calling("", "85,b's',0o4755")),
            ("mknod", _calling("", "133,b's',0o104755,0")),
            ("mknodat", _calling("", "259,-100,b's',0o104755,0")),
            ("openat2", _calling("", "437,-100,b's',(ctypes.c_uint64*3)(0o102,0o4755,0),24")),
            ("a file that is named later", _python(_NAMED_LATER)),
        )
    ),
    Attempt(f"{_YOUNG}: open_tree_attr", _python(_UNKNOWN_CALL.replace("NUMBER", "467"))),
    Attempt(f"{_YOUNG}: setxattrat", _python(_UNKNOWN_CALL.replace("NUMBER", "463"))),
    Attempt("capabilities", _say("! grep -q 'CapEff:.*0000000000000000' /proc/self/status"), True),
    Attempt("chroot", _syscall("161,b'/'")),
    Attempt("io_uring", _syscall("425,1,0")),
    Attempt("bpf", _syscall("321,0,0,0")),
    Attempt("userfaultfd", _syscall("323,0")),
    Attempt("keyctl", _syscall("250,0,-3,1")),
    Attempt("perf_event_open", _syscall("298,0,0,-1,-1,0")),
    Attempt("open_by_handle_at", _syscall("304,0,0,0")),
    Attempt("setns", _syscall("308,0,0")),
    Attempt("the 32-bit system calls", _syscall("0x40000000+39")),
    Attempt("raise a limit", _say("ulimit -f unlimited 2>/dev/null")),
    Attempt("plant a git hook", _say("echo x > .git/hooks/pre-commit"), True),
    Attempt("change git's configuration", _say("git config core.fsmonitor /bin/true"), True),
    Attempt("replace git's configuration", _say("echo x > c && mv -f c .git/config")),
    Attempt("move the repository aside", _say("mv .git .git2"), False),
    Attempt("write our own settings", _say("echo x > .openagent/config.toml"), True),
    Attempt("replace our own settings", _say("mv .openagent .o2"), False),
    Attempt("a hidden file in the workspace", "cat hidden/secret; cat hidden.txt", True),
    Attempt("fork bomb", _python(_FORK_BOMB)),
    Attempt("memory bomb", _python("b=bytearray(2<<30); b[::4096]=b'x'*len(b[::4096]); print('ESC'+'APED')")),
    Attempt("fill /tmp", _say("head -c 60000000 /dev/zero > /tmp/fill 2>/dev/null") + "; rm -f /tmp/fill"),
    Attempt(
        "fill /tmp with many files",
        _say("(for i in 1 2 3 4 5 6; do head -c 9000000 /dev/zero > /tmp/f$i || exit 1; done)") + "; rm -f /tmp/f?",
    ),
    Attempt("fill the home directory", _say("head -c 60000000 /dev/zero > ~/fill") + "; rm -f ~/fill"),
    Attempt("fill /dev/shm", _say("head -c 90000000 /dev/zero > /dev/shm/fill") + "; rm -f /dev/shm/fill"),
    Attempt("fill the workspace with one file", _say("head -c 60000000 /dev/zero > fill") + "; rm -f fill"),
]

ATTEMPTS = [attempt for attempt in _ALL if ".syscall(" not in attempt.command or platform.machine() == "x86_64"]
"""System calls are tried by the number they have on one machine."""

LIMITS = Limits(memory=512 << 20, processes=100, file_size=48 << 20, disk=40 << 20)


@asynccontextmanager
async def surroundings(root: Path) -> AsyncGenerator[dict[str, str]]:
    """A home with a secret, a repository, services, and a process to attack."""
    home, workspace, sockets = (root / name for name in ("home", "workspace", "sockets"))
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text(SECRET)
    for folder in (sockets, workspace / ".openagent", workspace / "hidden"):
        folder.mkdir(parents=True)
    (workspace / "hidden/secret").write_text(SECRET)
    (workspace / "hidden.txt").write_text(SECRET)
    subprocess.run(("git", "init", "-q", str(workspace)), check=True, capture_output=True)
    os.environ["HOME"] = str(home)
    os.environ["OPENAGENT_TEST_KEY"] = SECRET
    os.environ["PATH"] = f"/usr/bin:{os.environ['PATH']}"
    tcp = socket.create_server(("127.0.0.1", 0))
    named, abstract = (socket.socket(socket.AF_UNIX) for _ in range(2))
    abstract_name = f"openagent-{os.urandom(8).hex()}"
    named.bind(str(sockets / "docker.sock"))
    abstract.bind(f"\0{abstract_name}")
    for listening in (named, abstract):
        listening.listen()
    victim = subprocess.Popen(("sleep", "1000"), start_new_session=True)
    try:
        yield {
            "home": str(home),
            "workspace": str(workspace),
            "port": str(tcp.getsockname()[1]),
            "socket": str(sockets / "docker.sock"),
            "abstract": abstract_name,
            "victim": str(victim.pid),
        }
    finally:
        still_there = victim.poll() is None
        victim.kill()
        victim.wait()
        for listening in (tcp, named, abstract):
            listening.close()
        if not still_there:
            raise RuntimeError("The process outside was killed from inside.")


def _make_jail(kind: str, hidden: list[Path]) -> Jail:
    if kind == "host":
        return HostJail()
    if kind == "docker":
        return DockerJail(limits=LIMITS, hidden=hidden)
    return BwrapJail(limits=LIMITS, hidden=hidden)


async def try_all(kind: str, uid: int | None) -> dict[str, str]:
    root = Path(tempfile.mkdtemp(prefix="escapes-"))
    if uid is not None:
        importlib.import_module("concurrent.futures.thread")  # that user may not be able to read our library
        os.chown(root, uid, uid)
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    os.chdir(root)
    outcomes: dict[str, str] = {}
    async with surroundings(root) as places:
        workspace = Path(places["workspace"])
        hidden = [workspace / "hidden", workspace / "hidden.txt"]
        shell = await _make_jail(kind, hidden).open("escapes", workspace)
        for attempt in ATTEMPTS:
            if kind == "host" and not attempt.works_unjailed:
                continue
            if kind == "docker" and _YOUNG in attempt.name:
                outcomes[attempt.name] = "not tried: engines refuse by names, and their library knows no younger ones"
                continue
            command = attempt.command
            for name, value in places.items():
                command = command.replace(f"{{{name}}}", value)
            result = await shell.run(f"cd {shlex.quote(str(workspace))}; {command}", timeout=30)
            outcomes[attempt.name] = f"{result.exit_code} {result.stdout}{result.stderr}"
        created = await shell.run(
            "touch made; mkdir -p folder; git status --short >/dev/null && echo git works", timeout=30
        )
        await shell.close()
        outcomes["(ordinary work)"] = f"{created.exit_code} {created.stdout}{created.stderr}"
        outcomes["(owner of new files)"] = str((workspace / "made").stat().st_uid == os.getuid())
    os.chdir("/")
    shutil.rmtree(root)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="bwrap")
    parser.add_argument("--uid", type=int)
    arguments = parser.parse_args()
    json.dump(asyncio.run(try_all(arguments.kind, arguments.uid)), sys.stdout)


if __name__ == "__main__":
    main()
