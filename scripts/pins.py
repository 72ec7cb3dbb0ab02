"""Writes the hashes of all pins: of requirements/, of what is fetched later, of what tests use. `--check` looks only.

To add or change a pin by hand, write `name==version` into the file and run this. Each pin gets the hashes of all files
that the package index has of that version, wheels of every platform and the source, so that every Python that may
install it can. The files name no index: it is asked wherever PIP_INDEX_URL, or else PyPI, is.
"""

import os
import re
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "requirements", ROOT / "src/openagent/plugins/pins", ROOT / "tests/mcp_host/servers")
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\#]+)(?P<marker>\s*;[^\\#]*)?")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


class Pin:
    def __init__(self, line: str) -> None:
        """Without its hashes."""
        found = _PIN.match(line)
        if found is None:
            raise SystemExit(f"pins: {line!r} is no pin: write name==version")
        self.name, self.version = found["name"], found["version"]
        self.text = found[0].strip()


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [unescape(value) for name, value in attrs if tag == "a" and name == "href" and value]


def main() -> int:
    files = sorted(file for folder in FOLDERS for file in folder.glob("*.txt"))
    if sys.argv[1:] == ["--check"]:
        return _check(files)
    pins = {(pin.name, pin.version): pin for file in files for pin in _pins(file)}
    with ThreadPoolExecutor(8) as workers:
        hashes = dict(zip(pins, workers.map(_hashes, pins.values()), strict=True))
    for file in files:
        file.write_text("".join(_written(pin, hashes[pin.name, pin.version]) for pin in _pins(file)))
    print(f"pins: {len(pins)} pins, {sum(map(len, hashes.values()))} hashes")
    return 0


def _check(files: list[Path]) -> int:
    without = [
        f"{file.relative_to(ROOT)}: {line}"
        for file in files
        for line in file.read_text().replace("\\\n", " ").splitlines()
        if line.strip() and not line.lstrip().startswith("#") and not _HASH.search(line)
    ]
    for line in without:
        print(f"pins: no hash: {line}", file=sys.stderr)
    if without:
        print("pins: `.venv/bin/python scripts/pins.py` writes them", file=sys.stderr)
    return int(bool(without))


def _pins(file: Path) -> list[Pin]:
    lines = (line.strip() for line in file.read_text().splitlines())
    return [Pin(line) for line in lines if line and not line.startswith(("#", "--hash"))]


def _written(pin: Pin, hashes: list[str]) -> str:
    return " \\\n    ".join([pin.text, *(f"--hash=sha256:{each}" for each in hashes)]) + "\n"


def _hashes(pin: Pin) -> list[str]:
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
    request = urllib.request.Request(f"{index}/{canonicalize_name(pin.name)}/", headers={"Accept": "text/html"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 -- an index may be a folder
        links = _Links()
        links.feed(answer.read().decode())
    found: set[str] = set()
    for link in links.found:
        place, _, fragment = link.partition("#sha256=")
        if fragment and _version_of(place.rpartition("/")[2]) == Version(pin.version):
            found.add(fragment[:64])
    if not found:
        raise SystemExit(f"pins: the index has no file of {pin.text}")
    return sorted(found)


def _version_of(file: str) -> Version | None:
    try:
        if file.endswith(".whl"):
            return parse_wheel_filename(file)[1]
        return parse_sdist_filename(file)[1]
    except ValueError:  # what is neither, or an old form
        return None


if __name__ == "__main__":
    sys.exit(main())
