"""Running git on the private store: no settings, hooks, filters, attributes or prompts of anybody else."""

import contextlib
import os
import shutil
import subprocess
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from openagent.protocol.errors import OpenAgentError

_CHUNK = 1 << 20
_PREFETCH = 500
"""That many names fit into a pipe, so that asking never blocks."""


def require_git() -> str:
    if program := shutil.which("git"):
        return program
    raise OpenAgentError(
        "config_error",
        "git is not installed, and checkpoints, diffs and copies of workspaces are kept with it.",
        hint="Install git (for example `apt install git`), then try again.",
    )


def private_environment(git_dir: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_DIR": str(git_dir),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        **(extra or {}),
    }


def run_git(
    git_dir: Path,
    arguments: Sequence[str | bytes],
    *,
    stdin: bytes = b"",
    extra: Mapping[str, str] | None = None,
    accept: Sequence[int] = (0,),
    timeout: float | None = None,
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [require_git(), *arguments],
        env=private_environment(git_dir, extra),
        cwd=git_dir,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=timeout,
    )
    if done.returncode not in accept:
        raise _failed(arguments, done.stderr)
    return done


def _failed(arguments: Sequence[str | bytes], stderr: bytes) -> OpenAgentError:
    words = [argument if isinstance(argument, str) else os.fsdecode(argument) for argument in arguments]
    verb = next((word for word in words if not word.startswith("-") and "=" not in word), "")
    said = stderr.decode("utf-8", "backslashreplace").strip()[:500]
    return OpenAgentError(
        "store_error",
        f"git {verb} failed on the store of checkpoints: {said or 'it said nothing'}.",
        hint="Check that the disk is not full and that the data folder is writable.",
    )


class BlobReader:
    """Reads objects: from their own files, or through one `git cat-file --batch` when they are packed."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()

    def read(self, name: str) -> bytes:
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        if (data := self._ready.get(name)) is not None:
            yield data
            return
        try:
            loose = open(self._git_dir / "objects" / name[:2] / name[2:], "rb")  # noqa: SIM115
        except FileNotFoundError:
            yield from self._packed(name)
            return
        with loose:
            yield from _inflated(loose)

    def prefetch(self, names: Sequence[str]) -> None:
        """Small objects that are read next: asked for together, because every answer waits for git to wake up."""
        self._ready.clear()
        names = names[:_PREFETCH]
        self._ask(names)
        self._ready = {name: b"".join(self._answer(name)) for name in names}

    def _packed(self, name: str) -> Iterator[bytes]:
        self._ask([name])
        yield from self._answer(name)

    def _ask(self, names: Sequence[str]) -> None:
        stdin, _ = self._pipes()
        stdin.write("".join(f"{name}\n" for name in names).encode())
        stdin.flush()

    def _answer(self, name: str) -> Iterator[bytes]:
        _, stdout = self._pipes()
        header = stdout.readline().split()
        if len(header) != 3:
            raise OpenAgentError(
                "not_found",
                f"The store of checkpoints does not hold {name}: it was collected, or its files are damaged.",
                hint="Choose another checkpoint.",
            )
        left = int(header[2])
        while left:
            chunk = stdout.read(min(left, _CHUNK))
            if not chunk:
                raise OpenAgentError("store_error", f"git stopped while reading {name}.", hint="Try again.")
            left -= len(chunk)
            yield chunk
        stdout.read(1)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            self._process = subprocess.Popen(
                [require_git(), "cat-file", "--batch"],
                env=private_environment(self._git_dir),
                cwd=self._git_dir,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise AssertionError("both pipes were asked for")
        return stdin, stdout


def _inflated(loose: IO[bytes]) -> Iterator[bytes]:
    """Without the header, which ends with the first zero byte."""
    inflate = zlib.decompressobj()
    header: bytes | None = b""
    while squeezed := inflate.unconsumed_tail or loose.read(_CHUNK):
        data = inflate.decompress(squeezed, _CHUNK)
        if header is not None:
            header, end, data = (header + data).partition(b"\0")
            if not end:
                continue
            header = None
        if data:
            yield data
    if rest := inflate.flush():
        yield rest
