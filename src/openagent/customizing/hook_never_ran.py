"""Exit code 2 is a hook's "no". Programs that start hooks end with it, too, when they could not start one."""

import re

_UV = re.compile(r"(?:^|[\s/;&|(])uvx?\s")
_UV_FAILED = re.compile(
    r"error: (?:Failed to |No (?:interpreter|solution|`\S+`|virtual environment|matching)|Request failed|Could not |"
    r"Unable to |Querying Python|Project virtual environment|TOML parse error|unexpected argument|unrecognized |"
    r"The requested interpreter|Permission denied|Broken )"
)
_UV_CAUSE = re.compile(r"\s+(?:cause|Caused by|\d+):")
_UV_PROGRESS = re.compile(
    r"(?:Using |Creating |Downloading |Downloaded |Resolved |Prepared |Installed |Uninstalled |"
    r"Audited |Building |Built |Reading |warning: | [+~-] )"
)
_PYTHON = re.compile(r"\S*python[\d.]*: (?:can't open file|can't find '__main__')")
_SHELL = re.compile(r"(?:\S*/)?(?:ba|da|z)?sh: (?:-c: )?(?:line )?\d+: (?:[Ss]yntax error|cannot open|Can't open)")


def why_it_never_ran(command: str, stdout: str, stderr: str) -> str:
    """What its launcher says of itself; empty where the hook may have been heard. One that has printed has run."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    if stdout.strip() or not lines:
        return ""
    if _PYTHON.match(lines[0]) or _SHELL.match(lines[0]):
        return lines[0].strip()
    return _uv_failed(lines) if _UV.search(command) else ""


def _uv_failed(lines: list[str]) -> str:
    """uv says what it does, then its error and the causes: a hook's own words begin a line otherwise."""
    while lines and _UV_PROGRESS.match(lines[0]):
        lines = lines[1:]
    if not lines or not lines[0].startswith("error: "):
        return ""
    cause = next((line.strip().partition(":")[2].strip() for line in lines[1:2] if _UV_CAUSE.match(line)), "")
    if not cause and not _UV_FAILED.match(lines[0]):
        return ""
    said = lines[0].removeprefix("error: ").strip()
    return f"uv: {said}: {cause}" if cause else f"uv: {said}"
