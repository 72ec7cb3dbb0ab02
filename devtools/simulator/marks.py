"""Marks: what the simulator writes into ids and signatures to recognise its own words when they come back.

An id ends in `<serial>s<position>c<index>`, with a `t` when thinking came along. A signature holds the position
and a digest of what was signed. Both let the simulator stay without memory of its clients.
"""

import base64
import hashlib
import re
from typing import NamedTuple

_ID_MARK = re.compile(r"([0-9a-f]{8})s(\d+)c\d+(t?)$")
_SIGNATURE_MARK = re.compile(r"sim1\|(\d+)\|([0-9a-f]{32})\|")
_STANDARD_ALPHABET = str.maketrans("-_", "+/")


class IdMark(NamedTuple):
    serial: str
    position: int
    thought: bool


def id_tail(serial: int, position: int, index: int, *, thought: bool) -> str:
    return f"{serial:08x}s{position}c{index}{'t' if thought else ''}"


def read_id(identifier: str) -> IdMark | None:
    found = _ID_MARK.search(identifier)
    return IdMark(found[1], int(found[2]), bool(found[3])) if found else None


def sign(position: int, content: str) -> str:
    digest = hashlib.sha256(content.encode()).hexdigest()
    return base64.b64encode(f"sim1|{position}|{digest[:32]}|{digest}".encode()).decode()


class SignatureMark(NamedTuple):
    position: int
    digest: str

    def signs(self, content: str) -> bool:
        return hashlib.sha256(content.encode()).hexdigest().startswith(self.digest)


def read_signature(signature: str) -> SignatureMark | None:
    try:
        # Clients that hold signatures as bytes may send them back in the URL-safe alphabet.
        plain = base64.b64decode(signature.translate(_STANDARD_ALPHABET), validate=True).decode("ascii")
    except ValueError:
        return None
    found = _SIGNATURE_MARK.match(plain)
    return SignatureMark(int(found[1]), found[2]) if found else None
