"""The terminal's bytes as keys: what each terminal sends for the same key is one key here."""

import os
import re
from collections.abc import Iterable

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import _character_to_key  # pyright: ignore[reportPrivateUsage]
from textual.message import Message

_SHIFT, _ALT, _CTRL = 1, 2, 4
_BEGINNINGS = "[O]P_^X"
"""What follows an escape in the beginning of something longer, and so is no key pressed with Alt."""
_FIXED = {
    "\x1b\r": "alt+enter",  # xterm, Apple Terminal and iTerm with Option as Meta; VS Code after a terminal setup
    "\x1b\n": "alt+enter",
    "\x1bO2M": "shift+enter",  # the keypad's
    "\x1bO3M": "alt+enter",
    "\x1b\x7f": "alt+backspace",
    "\x1b\x08": "alt+backspace",
    "\x1bOb": "ctrl+down",  # rxvt: these are wrong in Textual's table
    "\x1b[7^": "ctrl+home",
    "\x1b[8^": "ctrl+end",
}
_OTHER_KEYS = re.compile(r"\x1b\[27;(\d+);(\d+)~")
"""xterm's modifyOtherKeys, of tmux too: modifiers, then the character."""
_BARE_CSI_U = re.compile(r"\x1b\[(\d+);(\d+)u")
"""A key without the text it writes, as xterm and tmux send it; kitty adds the text."""
_ESCAPED_TWICE = (
    (re.compile(r"\x1b\x1b[\[O]([A-DHF])"), "\x1b[1;3\\1"),
    (re.compile(r"\x1b\x1b\[(\d+)~"), "\x1b[\\1;3~"),
)
"""iTerm and rxvt put an escape before the whole sequence for Alt. Taken apart, it would be Esc, and end a turn."""

_ANSWERS = re.compile(r"\x1b\]1[01];[^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[\?[0-9;]*c")
"""What a slow terminal says of its colours and itself when nobody waits for it any longer: no keys."""


class Parser(XTermParser):
    def feed(self, data: str) -> Iterable[Message]:
        if (rest := _ANSWERS.sub("", data)) != data:
            if not rest:
                return ()
            data = rest
        if data == "\\\r\n":  # what an older terminal setup binds to Shift+Enter: one new line, not two
            data = "\n"
        for pattern, plain in _ESCAPED_TWICE:
            data = pattern.sub(plain, data)
        return super().feed(data)

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if sequence in _FIXED:
            return [events.Key(_FIXED[sequence], None)]
        if len(sequence) == 2 and sequence[0] == "\x1b" and sequence[1].isprintable():
            return [] if sequence[1] in _BEGINNINGS else [_with_alt(sequence[1])]
        if match := _OTHER_KEYS.fullmatch(sequence):
            modifiers, code = map(int, match.groups())
            sequence = f"\x1b[{code};{modifiers}u"
        if (match := _BARE_CSI_U.fullmatch(sequence)) and (typed := _typed(*map(int, match.groups()))):
            return super()._sequence_to_key_events(typed)
        return super()._sequence_to_key_events(sequence, alt)


def _with_alt(character: str) -> events.Key:
    if character.isalpha() and character.isupper():
        return events.Key(f"alt+shift+{character.lower()}", None)
    return events.Key(f"alt+{_character_to_key(character)}", None)


def _typed(code: int, modifiers: int) -> str:
    """What a key writes that is pressed with nothing or Shift alone."""
    held = (modifiers - 1) & (_SHIFT | _ALT | _CTRL | 0b111000)
    character = chr(code)
    if held & ~_SHIFT or not character.isprintable() or 0xE000 <= code <= 0xF8FF:
        return ""
    return character.upper() if held else character


class Driver(LinuxDriver):
    """Asks xterm and tmux to tell Shift+Enter from Enter. Others do so by kitty's protocol, which Textual asks for."""

    def start_application_mode(self) -> None:
        super().start_application_mode()
        if _tells_other_keys():
            self.write("\x1b[>4;1m")
            self.flush()

    def stop_application_mode(self) -> None:
        if _tells_other_keys():
            self.write("\x1b[>4m")
        super().stop_application_mode()


def _tells_other_keys() -> bool:
    """Only where it is known: some terminals take the question for an underline."""
    return bool(os.environ.get("XTERM_VERSION") or os.environ.get("TMUX"))


def driver() -> type[Driver]:
    linux_driver.XTermParser = Parser  # pyright: ignore[reportPrivateImportUsage]
    return Driver
