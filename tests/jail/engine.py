"""A Docker engine of the tests' own, where one can be started, with an image made of this machine's programs."""

import contextlib
import http.client
import io
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

from openagent.jail.docker import DEFAULT_IMAGE

WITHOUT_BASH = "openagent-test-bare:1"
_PROGRAMS = """
    bash sh cat ls touch ln rm mkdir mv cp chmod head tail wc grep sed tr sort seq id env kill sleep true false mount
    umount unshare nsenter mknod su git nohup setsid stat dd yes find python3 prlimit readlink basename
    diff mkfifo
"""
_NOT_OF_PYTHON = ("test", "tests", "idlelib", "lib2to3", "ensurepip", "dist-packages", "pydoc_data", "tkinter")
_UP_WITHIN_S = 15


class NoEngineError(Exception):
    """What refused."""


class TestEngine(NamedTuple):
    __test__ = False
    socket: str

    def docker(self, *arguments: str, stdin: bytes | None = None) -> str:
        done = subprocess.run(
            ("docker", "-H", f"unix://{self.socket}", *arguments), input=stdin, capture_output=True, check=True
        )
        return done.stdout.decode()

    def containers(self) -> list[str]:
        return self.docker("ps", "--all", "--quiet", "--no-trunc").split()


@contextlib.contextmanager
def running_engine() -> Generator[TestEngine]:
    if os.geteuid() != 0:
        raise NoEngineError("only root can start a Docker engine of the tests' own")
    for program in ("dockerd", "docker", "runc"):
        if shutil.which(program) is None:
            raise NoEngineError(f"{program} is not installed")
    if not os.path.exists("/usr/bin/python3"):
        raise NoEngineError("there is no /usr/bin/python3 to make an image of")
    root = Path(tempfile.mkdtemp(prefix="openagent-engine-"))
    root.chmod(0o755)  # an ordinary user's tests use the socket
    with (root / "log").open("wb") as log:
        process = subprocess.Popen(_command(root), stdout=log, stderr=log, start_new_session=True)
    try:
        engine = TestEngine(str(root / "docker.sock"))
        _wait_until_up(engine, process, root / "log")
        os.chmod(engine.socket, 0o666)
        try:
            engine.docker("import", "-", DEFAULT_IMAGE, stdin=_image())
            engine.docker("import", "-", WITHOUT_BASH, stdin=_archive({"etc/nothing": b""}))
            engine.docker("run", "--rm", "--network", "none", DEFAULT_IMAGE, "true")
        except subprocess.CalledProcessError as refusal:
            raise NoEngineError(f"dockerd runs no containers here: {refusal.stderr.decode().strip()}") from refusal
        yield engine
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _unmount_below(root)
        shutil.rmtree(root, ignore_errors=True)


def _command(root: Path) -> list[str]:
    with_us = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
    places = ["--data-root", f"{root}/data", "--exec-root", f"{root}/exec", "--pidfile", f"{root}/pid"]
    nothing_of_the_hosts = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--userland-proxy=false"]
    return [*with_us, "dockerd", *places, "-H", f"unix://{root}/docker.sock", *nothing_of_the_hosts]


def _wait_until_up(engine: TestEngine, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _UP_WITHIN_S
    while not _answers(engine.socket):
        if process.poll() is not None or time.monotonic() > deadline:
            last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
            raise NoEngineError(f"dockerd does not start here: {last[0]}")
        time.sleep(0.05)


def _answers(path: str) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(path)
            connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False


def _unmount_below(root: Path) -> None:
    for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
        place = line.split()[1]
        if place.startswith(f"{root}/"):
            subprocess.run(("umount", "-l", place), check=False)


# --- the image -----------------------------------------------------------------------------------------------------


def _image() -> bytes:
    programs = [
        path for name in _PROGRAMS.split() if (path := shutil.which(name, path="/usr/bin:/usr/sbin:/bin:/sbin"))
    ]
    python = Path("/usr/lib") / Path(os.path.realpath("/usr/bin/python3")).name
    modules = [str(path) for path in (python / "lib-dynload").glob("*.so")]
    files = {f"usr/bin/{os.path.basename(path)}": Path(path).read_bytes() for path in programs}
    for library in _libraries([*programs, *modules]):
        folder, name = os.path.split(library)
        files[f"{os.path.realpath(folder).lstrip('/')}/{name}"] = Path(library).read_bytes()
    for path in python.rglob("*"):
        if path.is_file() and not set(_NOT_OF_PYTHON) & set(path.relative_to(python).parts):
            files[str(path).lstrip("/")] = path.read_bytes()
    files["etc/shadow"] = b"root:*:1:0:99999:7:::\n"
    return _archive(files, links={"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"})


def _libraries(binaries: list[str]) -> set[str]:
    listed = subprocess.run(("ldd", *binaries), capture_output=True, text=True, check=False).stdout
    words = (line.partition("=>")[2] or line for line in listed.splitlines() if not line.endswith(":"))
    return {path for word in words if (path := (word.split() or [""])[0]).startswith("/")}


def _archive(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, target in (links or {}).items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for name, content in files.items():
            file = tarfile.TarInfo(name)
            file.size, file.mode = len(content), 0o755
            archive.addfile(file, io.BytesIO(content))
    return data.getvalue()
