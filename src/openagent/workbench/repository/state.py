"""How a repository stands: branch, remote, what is not committed."""

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal, NamedTuple

from openagent.plugins.runs_outside import all_running_outside, runs_outside
from openagent.protocol.repository import ForgeProgram, RepositoryFile, RepositoryState
from openagent.workbench.repository.running import Git, which

MOST_FILES = 2000
_UNFINISHED = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
}
_LONGEST_SUBJECT = 72
_HOST = re.compile(r"(?:://(?:[^/@]*@)?|^[^/@:]+@)([^/:]+)")


class _Branch(NamedTuple):
    name: str = ""
    head: str = ""
    upstream: str = ""
    ahead: int = 0
    behind: int = 0


async def state_of(git: Git, own: Collection[str], name: str) -> RepositoryState:
    listed = await git.done(
        "The repository cannot be read",
        *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"),
        "--ignore-submodules=dirty",  # looking into one obeys that repository's settings, which nobody has checked
    )
    branch, files = parsed(listed, git.prefix, own)
    remote = await remote_of(git, branch.name)
    base = await base_of(git, remote) if remote else ""
    directory = Path(await git.asked("rev-parse", "--absolute-git-dir"))
    return RepositoryState(
        branch=branch.name,
        head=branch.head,
        base=base,
        remote=remote,
        upstream=branch.upstream,
        ahead=branch.ahead if branch.upstream else await _not_pushed(git, remote),
        behind=branch.behind,
        doing=next((doing for file, doing in _UNFINISHED.items() if (directory / file).exists()), ""),
        forge=await forge_of(git, remote),
        files=files[:MOST_FILES],
        hooks=await _hooks(git),
        runs_outside=await committed_running_outside(git, f"{remote}/{base}" if base else ""),
        message=offered(name, [file for file in files if file.own]),
    )


async def committed_running_outside(git: Git, base: str) -> dict[str, str]:
    """Of what the branch has that its base has not."""
    if not base:
        return {}
    fork = await git.asked("merge-base", base, "HEAD")
    named = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d", fork, "HEAD")
    return all_running_outside((await git.asked(*named)).split("\0")) if fork else {}


def parsed(listed: str, prefix: str, own: Collection[str]) -> tuple[_Branch, list[RepositoryFile]]:
    branch: dict[str, str] = {}
    files: list[RepositoryFile] = []
    fields = iter(listed.split("\0")[:-1])
    for field in fields:
        if field.startswith("# branch."):
            key, _, value = field.removeprefix("# branch.").partition(" ")
            branch[key] = value
            continue
        was = next(fields) if field.startswith("2 ") else ""
        if (file := _file(field, was, prefix, own)) is not None:
            files.append(file)
    ahead, behind = re.findall(r"\d+", branch.get("ab", "+0 -0"))
    head, oid = branch.get("head", ""), branch.get("oid", "")
    return _Branch(
        "" if head == "(detached)" else head,
        "" if oid == "(initial)" else oid[:9],
        branch.get("upstream", "") if "ab" in branch else "",
        int(ahead),
        int(behind),
    ), files


def _file(field: str, was: str, prefix: str, own: Collection[str]) -> RepositoryFile | None:
    """One line of `git status --porcelain=v2`: paths from the repository's top."""
    kind = field[:1]
    path = field.split(" ", {"1": 8, "2": 9, "u": 10}.get(kind, 1))[-1]
    if not path.startswith(prefix):
        return None
    index, tree = field[2:4] if kind in "12u" else "??"
    status: Literal["A", "M", "D", "R", "U"] = "M"
    if kind == "u":
        status = "U"
    elif kind == "?" or index == "A":
        status = "A"
    elif kind == "2":
        status = "R"
    elif "D" in (index, tree):
        status = "D"
    name, old = path[len(prefix) :], was.removeprefix(prefix)
    outside = runs_outside(name) if status != "D" else ""
    return RepositoryFile(name, status, name in own or old in own, kind in "12" and index != ".", old, outside)


async def remote_of(git: Git, branch: str) -> str:
    names = (await git.asked("remote")).split()
    told = await git.asked("config", f"branch.{branch}.remote") if branch else ""
    preferred = (told, await git.asked("config", "remote.pushDefault"), "origin", *names)
    return next((name for name in preferred if name in names), "")


async def base_of(git: Git, remote: str) -> str:
    head = await git.asked("symbolic-ref", "--short", f"refs/remotes/{remote}/HEAD")
    if head:
        return head.removeprefix(f"{remote}/")
    for name in ("main", "master"):
        if await git.asked("rev-parse", "--verify", "--quiet", f"refs/remotes/{remote}/{name}"):
            return name
    return ""


async def _not_pushed(git: Git, remote: str) -> int:
    count = await git.asked("rev-list", "--count", "HEAD", *(["--not", f"--remotes={remote}"] if remote else []))
    return int(count or 0)


async def forge_of(git: Git, remote: str) -> ForgeProgram:
    asked = (("config", f"remote.{remote}.url"), ("remote", "get-url", remote)) if remote else ()
    addresses = [
        await git.asked(*words) for words in asked
    ]  # as it is written, and as the person's settings rewrite it
    is_gitlab = any("gitlab" in address or _is_known_to_glab(address) for address in addresses)
    programs: tuple[ForgeProgram, ...] = ("glab", "gh") if is_gitlab else ("gh", "glab")
    for program in programs:
        if which(program, git.top):
            return program
    return ""


def _is_known_to_glab(address: str) -> bool:
    """A company's GitLab is called as it likes: whoever uses it by `glab` has told `glab` of it."""
    host = _HOST.search(address)
    if host is None:
        return False
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    folder = os.environ.get("GLAB_CONFIG_DIR") or f"{settings}/glab-cli"
    try:
        told = Path(folder, "config.yml").read_text(errors="replace")
    except OSError:
        told = ""
    named = re.search(rf"^\s+[\"']?{re.escape(host[1])}(:\d+)?[\"']?:\s*$", told, re.MULTILINE)
    return named is not None or host[1] in os.environ.get("GITLAB_HOST", "")


async def _hooks(git: Git) -> list[str]:
    """As they are where git looks for them when nobody tells it otherwise, and where the repository says."""
    common = Path(await git.asked("rev-parse", "--path-format=absolute", "--git-common-dir"))
    said = await git.asked("config", "--local", "core.hooksPath")
    folder = git.top / said if said else common / "hooks"
    if not folder.is_dir():
        return []
    told = {"pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "pre-push", "post-checkout"}
    return sorted(path.name for path in folder.iterdir() if path.name in told and path.stat().st_mode & 0o111)


def offered(name: str, files: list[RepositoryFile]) -> str:
    """What the session is called says what it was for; otherwise the files do."""
    subject = " ".join(name.split())
    if not subject and files:
        names = [file.path.rpartition("/")[2] for file in files]
        verb = "Add" if all(file.status == "A" for file in files) else "Change"
        subject = f"{verb} {names[0]}" if len(names) == 1 else f"{verb} {names[0]} and {len(names) - 1} more"
    subject = subject[:1].upper() + subject[1:]
    return subject if len(subject) <= _LONGEST_SUBJECT else subject[: _LONGEST_SUBJECT - 1].rstrip() + "…"
