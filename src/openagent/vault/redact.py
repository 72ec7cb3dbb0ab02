"""Masks secrets in any text: values that are known, and strings that have the shape of a key.

Literal searches find the places where a key could begin; patterns run at those places only.
"""

import logging
import re
from collections.abc import Iterator
from urllib.parse import quote

MASK = "[redacted]"
SHORTEST = 6
"""Shorter values would mask ordinary words."""

_KEY_BEGINNINGS = (
    *("sk-", "AIza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox", "AKIA", "ASIA", "ya29."),
    *("glpat-", "hf_", "eyJ", "-----BEGIN"),
)
_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{16,}"
    r"|AIza[A-Za-z0-9_-]{30,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}"
    r"|ya29\.[A-Za-z0-9_-]{16,}"
    r"|glpat-[A-Za-z0-9_-]{16,}"
    r"|hf_[A-Za-z0-9]{24,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r")"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)

_AFTER_SCHEME = re.compile(r"\s+([A-Za-z0-9._~+/=-]{8,})")
_AFTER_LABEL = re.compile(r"[\"']?\s*[:=]\s*[\"']?([^\s\"'&,;]{6,})")
_IN_URL = re.compile(r"[^\s/:@]*:([^\s/@]+)@")
_LABELS = {
    **dict.fromkeys(("bearer", "basic"), _AFTER_SCHEME),
    **dict.fromkeys(("api_key", "api-key", "apikey", "password"), _AFTER_LABEL),
    **dict.fromkeys(("_token", "-token", "client_secret", "client-secret", "code_verifier"), _AFTER_LABEL),
    "://": _IN_URL,
}
_NON_ASCII = re.compile(r"[^\x00-\x7f]")


class Redactor:
    def __init__(self) -> None:
        self._known: set[str] = set()

    def register(self, value: str) -> None:
        """From now on `value` is masked, also where a URL has quoted it."""
        if len(value) >= SHORTEST:
            self._known |= {value, quote(value, safe="")}

    def redact(self, text: str) -> str:
        spans = [*self._known_spans(text), *_shaped_spans(text)]
        return _masked(text, spans) if spans else text

    def _known_spans(self, text: str) -> Iterator[tuple[int, int]]:
        for value in self._known:
            for at in _places(text, value):
                yield at, at + len(value)


def _shaped_spans(text: str) -> Iterator[tuple[int, int]]:
    for beginning in _KEY_BEGINNINGS:
        for at in _places(text, beginning):
            if match := _KEY.match(text, at):
                yield match.span()
    lowered = text.lower()
    if len(lowered) != len(text):  # A few letters grow when lowered, and places would no longer agree.
        lowered = _NON_ASCII.sub("?", text).lower()
    for label, value in _LABELS.items():
        for at in _places(lowered, label):
            if match := value.match(text, at + len(label)):
                yield match.span(1)


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    """Overlapping spans become one, so that no rest of a secret is left between two masks."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            pieces += [text[done:start], MASK]
        done = max(done, end)
    return "".join([*pieces, text[done:]])


class RedactingFilter(logging.Filter):
    """On a handler: what reaches it, tracebacks and extra fields included, is redacted."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = record.getMessage(), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        for name, value in vars(record).items():
            if isinstance(value, str):
                setattr(record, name, self._redactor.redact(value))
            elif isinstance(value, BaseException):
                setattr(record, name, self._redactor.redact(str(value)))
        return True
