"""Hosts, as commands and tools name them."""

import re

_HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:[^@/\s]*@)?(\[[0-9a-fA-F:]+\]|[A-Za-z0-9_.-]+)(?::\d+)?(?:[/?#].*)?")
_NAMES_HOST = re.compile(
    r"[a-z][a-z0-9+.-]*://|^[\w.-]+\.[a-z]{2,}(?:[:/]|$)|^localhost\b|^\d+\.\d+\.\d+\.\d+|^[\w.-]+@[\w.-]+:"
)


def host_of(text: str) -> str:
    """The host a URL or an scp-like address names; empty when it names none."""
    if not _NAMES_HOST.search(text):
        return ""
    found = _HOST.fullmatch(text) or re.match(r"(?:[^@/\s]*@)([\w.-]+):", text)
    return found[1].lower() if found else ""
