"""What is pasted: long text and images stand in the input as a chip, and are sent in full."""

import base64
import binascii
import os

from openagent.client.text import one_line
from openagent.protocol.messages import ImagePart

LONG_LINES, LONG_CHARACTERS = 8, 1200
LARGEST_IMAGE = 5_000_000
_MAGIC = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_CLIPBOARDS = (
    ("wl-paste", "--no-newline", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("pngpaste", "-"),
)
"""Programs that give the image of the desktop's clipboard, where there is one."""


class TooLarge(ValueError):
    pass


class Pasted:
    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._images: dict[str, ImagePart] = {}

    def take(self, text: str) -> str:
        """What to put into the input for what was pasted. Raises TooLarge."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if images := _images_named(text):
            return " ".join(self.take_image(data, name) for name, data in images)
        lines = text.count("\n") + 1
        if lines < LONG_LINES and len(text) < LONG_CHARACTERS:
            return text
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        chip = self._unused(f"pasted {size}", self._texts)
        self._texts[chip] = text
        return chip

    def take_image(self, data: bytes, name: str = "pasted") -> str:
        media_type = image_type(data)
        if len(data) > LARGEST_IMAGE or not media_type:
            raise TooLarge(f"The image has {len(data) / 1e6:.1f} MB; {LARGEST_IMAGE / 1e6:.0f} MB is the most.")
        chip = self._unused(f"image {one_line(name, 40)}", self._images)
        self._images[chip] = ImagePart(media_type, base64.b64encode(data).decode())
        return chip

    def expand(self, text: str) -> tuple[str, list[ImagePart]]:
        """The message as it is sent. A chip that was deleted sends nothing."""
        images = [image for chip, image in self._images.items() if chip in text]
        for chip, whole in self._texts.items():
            text = text.replace(chip, whole)
        return text, images

    def chips(self) -> list[str]:
        return [*self._texts, *self._images]

    def clear(self) -> None:
        self._texts.clear()
        self._images.clear()

    @staticmethod
    def _unused(label: str, taken: dict[str, str] | dict[str, ImagePart]) -> str:
        chip, number = f"[{label}]", 1
        while chip in taken:
            number += 1
            chip = f"[{label} #{number}]"
        return chip


def image_type(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), "")


def clipboard_image() -> bytes:
    """The desktop's clipboard, as far as a program for it is installed; empty when it holds no image."""
    import subprocess

    for command in _CLIPBOARDS:
        try:
            ran = subprocess.run(command, capture_output=True, timeout=2, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if ran.returncode == 0 and image_type(ran.stdout):
            return ran.stdout
    return b""


def _images_named(text: str) -> list[tuple[str, bytes]]:
    """Images given by their paths, as terminals paste what is dropped on them, or as a data URL."""
    text = text.strip()
    if text.startswith("data:image/") and ";base64," in text[:64]:
        try:
            data = base64.b64decode(text.partition(";base64,")[2], validate=True)
        except binascii.Error:
            return []
        return [("pasted", data)] if image_type(data) else []
    if not text or len(text) > 4096 or "\n" in text:
        return []
    import shlex

    try:
        paths = [_path(word) for word in shlex.split(text)]
    except ValueError:
        return []
    found = [(os.path.basename(path), _image_at(path)) for path in paths]
    return found if all(data for _, data in found) else []


def _path(word: str) -> str:
    from urllib.parse import unquote, urlparse

    return unquote(urlparse(word).path) if word.startswith("file://") else os.path.expanduser(word)


def _image_at(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST_IMAGE + 1) if image_type(file.read(16)) and not file.seek(0) else b""
    except (OSError, ValueError):
        return b""
