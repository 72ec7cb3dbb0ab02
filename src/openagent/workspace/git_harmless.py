"""Which settings of a repository name no program, no other place of settings, and nothing outside the work tree."""

import re

from msgspec import Struct

_HARMLESS = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol"
    r"|safecrlf|abbrev|quotepath|sparsecheckout|sparsecheckoutcone|untrackedcache|preloadindex|compression|longpaths"
    r"|commentchar|whitespace|checkstat|trustctime|sharedrepository|bigfilethreshold|protecthfs|protectntfs)"
    r"|user\.(?:name|email|useconfigonly)|author\.(?:name|email)|committer\.(?:name|email)"
    r"|branch\..*\.(?:remote|merge|rebase|pushremote|description|vscode-merge-base|gk-.*)"
    r"|branch\.(?:autosetupmerge|autosetuprebase|sort)"
    r"|remote\..*\.(?:url|pushurl|fetch|push|mirror|prune|prunetags|tagopt|skipdefaultupdate|skipfetchall|promisor"
    r"|partialclonefilter|gh-resolved|glab-resolved)|remote\.pushdefault"
    r"|submodule\..*\.(?:url|active|branch|ignore|shallow)|submodule\.(?:active|recurse|fetchjobs)"
    r"|extensions\.(?:objectformat|refstorage|partialclone|worktreeconfig|noop|preciousobjects)"
    r"|lfs\.repositoryformatversion|lfs\..*\.access|index\.(?:version|threads|sparse)|feature\..*"
    r"|(?:advice|color|column|status|log|diff\.color)\..*"
    r"|diff\.(?:algorithm|renames|renamelimit|mnemonicprefix|noprefix|context|colormoved|ignoresubmodules|submodule)"
    r"|merge\.(?:ff|conflictstyle|renames|log|stat|autostash)|pull\.(?:rebase|ff)|rebase\.(?:auto.*|updaterefs|stat)"
    r"|push\.(?:default|autosetupremote|followtags)|fetch\.(?:prune|prunetags|parallel|writecommitgraph)"
    r"|commit\.(?:gpgsign|verbose|cleanup)|tag\.(?:sort|gpgsign|forcesignannotated)|init\.defaultbranch"
    r"|gc\.(?:auto|autodetach|autopacklimit|pruneexpire|reflogexpire.*|packrefs)|maintenance\.(?:auto|strategy)"
    r"|rerere\.(?:enabled|autoupdate)|pack\.(?:threads|window.*|depth|compression)|repack\..*|stash\..*|apply\..*"
    r"|i18n\..*|help\.autocorrect|format\.pretty|worktree\.guessremote|checkout\.(?:defaultremote|guess|workers)",
    re.DOTALL,
)
_HEADING = re.compile(r'\[([A-Za-z0-9-]+)(?: "([^"\\\x00-\x1f\x7f]*)")?\]')
_ENTRY = re.compile(r'\t([A-Za-z][A-Za-z0-9-]*) = ((?:[^"\\#;\s\x00-\x1f\x7f]+(?: [^"\\#;\s\x00-\x1f\x7f]+)*)?)')
_RUNS_A_HELPER = re.compile(r"[^/:\s]+::.*|.*\s.*|-.*", re.DOTALL)
"""`ext::sh -c …` and its like."""


class Setting(Struct, frozen=True):
    key: str
    value: str | None
    """None where there is no `=`."""


def is_harmless(setting: Setting) -> bool:
    key = setting.key
    if not _HARMLESS.fullmatch(key):
        return False
    if key.startswith(("remote.", "submodule.")) and key.endswith(("url", ".promisor")):
        return not _RUNS_A_HELPER.fullmatch(setting.value or "")
    return True


def plainly(content: bytes) -> list[Setting] | None:
    """The settings of a file that has them as git itself writes them. None: only git can tell."""
    settings: list[Setting] = []
    section = ""
    for line in content.decode("utf-8", "surrogateescape").split("\n"):
        if heading := _HEADING.fullmatch(line):
            section = heading[1].lower() + ("" if heading[2] is None else f".{heading[2]}")
        elif section and (entry := _ENTRY.fullmatch(line)):
            settings.append(Setting(f"{section}.{entry[1].lower()}", entry[2]))
        elif line:
            return None
    return settings


def parsed(listing: bytes) -> list[Setting]:
    """What `git config --list --null` prints."""
    entries = listing.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [Setting(key, value if sign else None) for key, sign, value in (entry.partition("\n") for entry in entries)]


def written(settings: list[Setting]) -> bytes:
    lines: list[str] = []
    section = ""
    for setting in settings:
        head, _, name = setting.key.rpartition(".")
        outer, _, inner = head.partition(".")
        quoted = inner.replace("\\", "\\\\").replace('"', '\\"')
        heading = f'[{outer} "{quoted}"]' if inner else f"[{outer}]"
        if heading != section:
            lines.append(heading)
            section = heading
        lines.append(f"\t{name}" if setting.value is None else f'\t{name} = "{_escaped(setting.value)}"')
    return "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")


def _escaped(value: str) -> str:
    for plain, told in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\b", "\\b")):
        value = value.replace(plain, told)
    return value
