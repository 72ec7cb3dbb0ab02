"""Masks secrets in any text: values that are known, and strings that have the shape of a key.

Cheap searches find the places where a key could begin; patterns run at those places only.
"""

import logging
import re
from collections.abc import Iterator
from string import ascii_lowercase
from urllib.parse import quote

MASK = "[redacted]"
SHORTEST = 6
"""Shorter values would mask ordinary words."""

_HEX, _LETTERS, _WORD, _BASE64 = "[A-Fa-f0-9]", "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[A-Za-z0-9+/=_-]"
_AFTER_PREFIXES = {
    f"{_LETTERS}{{10,}}": "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ FLWSECK_TEST-",
    f"{_LETTERS}{{20,}}": "ghp_ gho_ ghu_ ghs_ ghr_ fw_ NRAK- NRII- API- ntn_ jina_ sbp_ napi_ sm_aat_ sm_pat_ sm_sat_",
    f"{_LETTERS}{{24,}}": "hf_ api_org_ whsec_ p8e- r8_ secret_",
    f"{_LETTERS}{{32,}}": "gsk_ npm_ pplx- csk- pnu_ rdme_ lin_api_ lin_oauth_ ico- CLOJARS_ "
    "dp.pt. dp.st. dp.ct. dp.sa.",
    f"{_HEX}{{32,}}": "dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ pul- glptt- rubygems_ sntryu_ key- "
    "shippo_live_ shippo_test_ sgp_ e2b_",
    f"{_WORD}{{10,}}": f"xapp- {' '.join(f'xox{letter}-' for letter in ascii_lowercase)}",
    f"{_WORD}{{16,}}": "sk- glpat- gldt- glft- glffct- glimt- glagent- gloas- glrt- glsoat- glcbt- ya29. GOCSPX- "
    "sq0atp- sq0csp- nvapi- tvly- lsv2_pt_ lsv2_sk_ PMAK- figd_ pypi- AGE-SECRET-KEY-",
    f"{_WORD}{{20,}}": "github_pat_ xai- pscale_tkn_ pscale_oauth_ pscale_pw_ duffel_live_ duffel_test_ HRKU- fio-u-",
    f"{_WORD}{{40,}}": "tk-us- fo1_ sha256~ v1.0- hvs. hvb. hvr. xkeysib- xsmtpsib-",
    f"{_BASE64}{{40,}}": "fm1a_ fm1r_ fm2_ glc_ glsa_ sntrys_ ops_",
    r"[\w-]{16,}\.[\w-]{16,}": "SG. dt0c01.",
    f"{_LETTERS}{{8}}_{_LETTERS}{{20,}}": "re_",
}
"""What follows a prefix that ends with a separator, in keys and tokens of many services."""
_PREFIXES = {prefix: re.compile(rest) for rest, several in _AFTER_PREFIXES.items() for prefix in several.split()}
_BY_TAIL = {prefix[-3:]: [each for each in _PREFIXES if each[-3:] == prefix[-3:]] for prefix in _PREFIXES}
_SEPARATOR = re.compile(r"[-_.~](?=[A-Za-z0-9_+/=-]{10})")
"""Every such prefix ends with one: a single search finds all places where the rest of a key could begin."""

_BEFORE = re.compile(r"(?:\A|[^\\])[A-Za-z0-9]\Z|\\[^nrt\W_]\Z")
"""The end of a word that goes on, in the last two characters."""

_WHOLE = tuple(
    re.compile(pattern)
    for pattern in (
        r"A(?:(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}|Iza[A-Za-z0-9_-]{30,}|KCp[A-Za-z0-9]{60,}|BSK[A-Za-z0-9+/]{100,}"
        r"|TATT3[A-Za-z0-9_=-]{100,})",
        r"E(?:Z[AT]K[A-Za-z0-9]{50,}|AA[ACM][A-Za-z0-9_-]{22,})",
        r"LTAI[A-Za-z0-9]{20}",
        r"GR1348941[A-Za-z0-9_-]{16,}",
        r"SK[0-9a-f]{32}",
        r"dapi[0-9a-f]{32}",
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    )
)
"""Keys without a separator. Each begins with a literal, which makes the search a fast one."""
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)

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
    for separator in _SEPARATOR.finditer(text):
        rest = separator.end()
        for prefix in _BY_TAIL.get(text[rest - 3 : rest], ()):
            at = rest - len(prefix)
            if text.startswith(prefix, at) and _begins_at(text, at) and (match := _PREFIXES[prefix].match(text, rest)):
                yield at, match.end()
    yield from (match.span() for match in _PEM.finditer(text))
    for pattern in _WHOLE:
        yield from (match.span() for match in pattern.finditer(text) if _begins_at(text, match.start()))
    lowered = text.lower()
    if len(lowered) != len(text):  # A few letters grow when lowered, and places would no longer agree.
        lowered = _NON_ASCII.sub("?", text).lower()
    for label, value in _LABELS.items():
        for at in _places(lowered, label):
            if match := value.match(text, at + len(label)):
                yield match.span(1)


def _begins_at(text: str, at: int) -> bool:
    """Whether a word begins there, unlike `sk-` in `task-force`. In JSON, it may follow an escape such as `\\n`."""
    return at >= 0 and _BEFORE.search(text, max(at - 2, 0), at) is None


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
