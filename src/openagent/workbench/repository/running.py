"""Running git, and the forge's program, as the person and outside of any jail.

The person's own settings hold, so that name, signing key and credentials are theirs. The repository's do not run
anything: hooks are off, and where its settings name a program that could run, nothing is done at all.
"""

import asyncio
import os
import re
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from openagent.protocol.errors import OpenAgentError
from openagent.workspace.git import require_git
from openagent.workspace.git_harmless import Setting, is_harmless

PATIENCE_S = 120.0
"""For what goes over a network."""
_SETTINGS = (
    *(("core.hooksPath", "/dev/null"), ("core.fsmonitor", "false"), ("core.pager", "cat"), ("core.editor", "false")),
    *(
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("submodule.recurse", "false"),
        ("fetch.recurseSubmodules", "no"),
    ),
    *(("push.recurseSubmodules", "no"), ("protocol.ext.allow", "never"), ("safe.bareRepository", "explicit")),
    *(("diff.external", ""), ("color.ui", "false"), ("commit.template", ""), ("core.quotePath", "false")),
)
_OFF = re.compile(
    r"core\.(?:hookspath|fsmonitor|pager|editor)|(?:alias|pager|difftool|mergetool|gui|browser|instaweb|man)\..*"
    r"|sequence\.editor|interactive\..*|diff\.external|diff\..*\.(?:command|textconv|cachetextconv|xfuncname|binary)"
    r"|merge\..*\.(?:driver|name|recursive)|merge\.tool|diff\.tool|trailer\..*|sendemail\..*|commit\.template"
    r"|gc\..*|maintenance\..*|submodule\..*\.update|blame\..*|rebase\..*|credential\.(?:.*\.)?username",
    re.DOTALL,
)
"""What is overruled above, or belongs to commands that are not run here."""
_KEPT = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|LANG|TZ|SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_TTY|DBUS_SESSION_BUS_ADDRESS"
    r"|XDG_.*|SSL_CERT_.*|(?:HTTPS?|NO|ALL)_PROXY|(?:https?|no|all)_proxy|GH_.*|GITHUB_.*|GLAB_.*|GITLAB_.*"
    r"|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL)|GIT_SSH|GIT_SSH_COMMAND|GIT_CONFIG_(?:GLOBAL|SYSTEM)"
)
_SECRET_IN_ADDRESS = re.compile(r"(\w+://)[^/@\s]+@")


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """For people: without what a program calls its own lines, and without what an address may hold."""
        lines = [line.strip() for line in (self.err.strip() or self.out.strip()).splitlines()]
        told = [re.sub(r"^(?:fatal|error|warning|hint|remote): ?", "", line) for line in lines]
        return _SECRET_IN_ADDRESS.sub(r"\1", " ".join(line for line in told if line))[:400]


class Git:
    """One repository. Nothing but `checked` makes one, so that nothing runs before its settings were looked at."""

    def __init__(self, folder: Path, top: Path, prefix: str) -> None:
        self.folder = folder
        self.top = top
        self.prefix = prefix
        """From the repository's top to the workspace: empty, or ending with a slash."""

    @classmethod
    async def checked(cls, folder: Path) -> "Git":
        asked = await run_as_person([require_git(), "rev-parse", "--show-toplevel", "--show-prefix"], folder)
        if asked.code:
            raise OpenAgentError(
                "not_found", "The workspace is not a git repository.", hint="`git init` makes it one, in a terminal."
            )
        top, _, prefix = asked.out.removesuffix("\n").partition("\n")
        git = cls(folder, Path(top), prefix)
        if named := await git._programs_named():
            raise OpenAgentError(
                "conflict",
                f"The repository's own settings name what git would run or follow ({named}): it is not touched here.",
                hint="Use git in your own terminal, or move the setting into your own ~/.gitconfig.",
            )
        return git

    async def _programs_named(self) -> str:
        listed = await self.run("config", "--list", "--includes", "--show-scope", "--null")
        fields = listed.out.split("\0")[:-1]
        for scope, entry in zip(fields[::2], fields[1::2], strict=False):
            key, sign, value = entry.partition("\n")
            setting = Setting(key, value if sign else None)
            if scope in ("local", "worktree") and not is_harmless(setting) and not _OFF.fullmatch(key):
                return key
        return ""

    async def run(self, *arguments: str, stdin: str | None = None) -> Ran:
        return await run_as_person([require_git(), *arguments], self.folder, stdin=stdin)

    async def asked(self, *arguments: str) -> str:
        """What it answers; empty when it fails, as it does where there is nothing of what is asked for."""
        ran = await self.run(*arguments)
        return ran.out.strip() if ran.code == 0 else ""

    async def done(self, what: str, *arguments: str, stdin: str | None = None) -> str:
        ran = await self.run(*arguments, stdin=stdin)
        if ran.code:
            raise OpenAgentError("conflict", f"{what}: {ran.said or 'git said nothing.'}")
        return ran.out

    async def lies_within(self, remote: str) -> bool:
        """Whether it is a folder of the workspace or the repository: git would run that repository's hooks."""
        addresses = (await self.asked("remote", "get-url", "--push", "--all", remote)).splitlines()
        places = [(self.top / path).resolve() for path in map(local_path, addresses) if path]
        inside = (self.top.resolve(), self.folder.resolve())
        return any(place.is_relative_to(folder) for place in places for folder in inside)

    async def forge(self, program: str, *arguments: str) -> Ran:
        found = which(program, self.top)
        if found is None:
            raise OpenAgentError("not_found", f"{program} is not installed where the daemon runs.")
        return await run_as_person([found, *arguments], self.folder)


def which(program: str, top: Path) -> str | None:
    """Never one that lies in the repository: whoever wrote that could have been anybody."""
    found = shutil.which(program)
    return found if found and not Path(found).resolve().is_relative_to(top.resolve()) else None


def local_path(address: str) -> str:
    """Empty: it is on another machine."""
    if address.lower().startswith("file://"):
        return unquote(urlsplit(address).path)
    return "" if ":" in address.partition("/")[0] else address


def _environment() -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name) or name.startswith("LC_")}
    settings = {f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(_SETTINGS)}
    settings |= {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(_SETTINGS)}
    return {
        **kept,
        **settings,
        "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "GH_PROMPT_DISABLED": "1",
        "GH_NO_UPDATE_NOTIFIER": "1",
        "NO_PROMPT": "1",
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
    }


async def run_as_person(
    command: list[str], folder: Path, *, stdin: str | None = None, more: Mapping[str, str] | None = None
) -> Ran:
    """`more`: what else its environment holds."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**_environment(), **(more or {})},
        stdin=DEVNULL if stdin is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,  # without a terminal, ssh and gpg ask nobody
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            out, err = await process.communicate(None if stdin is None else stdin.encode())
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()  # git takes its locks away then
        await process.wait()
        raise
    except TimeoutError:
        process.kill()
        await process.wait()
        name = Path(command[0]).name
        raise OpenAgentError(
            "tool_error",
            f"{name} {command[1]} did not come to an end within {PATIENCE_S:.0f} seconds.",
            hint="It may be waiting for a passphrase: try it in your own terminal.",
        ) from None
    return Ran(process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace"))
