"""One of our tools as a dialect has it: its name there, and its arguments there and back.

A call that would not come back the same is not translated: `Term.spoken` says so with None, and the call is said in our
own words, which every model is understood in too.
"""

from collections.abc import Callable, Mapping, Set
from functools import cached_property
from typing import Any

from msgspec import Struct

from openagent.protocol.messages import ToolResultPart

Given = Mapping[str, Any]
Arguments = dict[str, Any]
_NO_SUCH_CALL = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What taking apart arguments of the wrong shape may raise."""


class Key(Struct, frozen=True):
    """An argument of theirs."""

    name: str
    ours: str = ""
    """Empty: the same name."""
    needed: bool = False
    description: str | None = None
    """In place of ours."""
    schema: Mapping[str, Any] | None = None
    """In place of ours, where the values differ."""
    read: Callable[[Any], Any] | None = None
    """Their value to ours."""
    say: Callable[[Any], Any] | None = None
    """Our value to theirs."""

    @property
    def tool_key(self) -> str:
        return self.ours or self.name


class Term(Struct, frozen=True, kw_only=True, dict=True):
    name: str
    """Theirs."""
    tool: str
    """Ours."""
    keys: tuple[Key, ...] = ()
    """Offered in this order. Arguments of ours that are not among them are not offered."""
    also: tuple[Key, ...] = ()
    """Understood, though not offered."""
    ignored: tuple[str, ...] = ()
    """Arguments of theirs that have no meaning here, and do no harm when they are dropped."""
    fixed: Mapping[str, str] = {}
    """What tells this tool of ours from another with the same name there: `command = "view"`."""
    read: Callable[[Arguments], Arguments] | None = None
    """After the keys were read, for what takes more than one of them."""
    say: Callable[[Arguments], Arguments] | None = None
    """Before the keys are said: the other way round."""
    usual: Mapping[str, Any] = {}
    """Values of ours that go without saying."""
    told: Callable[[ToolResultPart], str] | None = None
    """A result as that family knows it; None: as it is."""
    offered: bool = True
    """False: an older name, or one that is only understood."""
    description: str = ""
    """In place of ours."""
    grammar: str = ""
    """Where the wire has tools that take plain text: what the text is like. Its only key holds the text."""
    vendor_type: str = ""
    """The vendor's own type for it, where the wire has such."""

    def understood(self, given: Given) -> Arguments | None:
        """The arguments as ours; None when this is no call of it."""
        if not self._fits(given):
            return None
        try:
            return self._read(given)
        except _NO_SUCH_CALL:
            return None

    def roughly(self, given: Given) -> Arguments:
        """What can be made of a call that does not fit, so that the tool can say what is wrong with it."""
        keys = self._theirs
        return {
            keys[name].tool_key if name in keys else name: value
            for name, value in given.items()
            if name not in self.fixed
        }

    def spoken(self, arguments: Given) -> Arguments | None:
        """Arguments of ours as theirs; None where they would not come back the same."""
        try:
            said = self._say(arguments)
        except _NO_SUCH_CALL:
            return None
        if said is None or (heard := self.understood(said)) is None:
            return None
        return said if self._full(heard) == self._full(arguments) else None

    def _fits(self, given: Given) -> bool:
        return (
            given.keys() <= self._known
            and self._needed <= given.keys()
            and all(given.get(name) == value for name, value in self.fixed.items())
        )

    @cached_property
    def _theirs(self) -> Mapping[str, Key]:
        return {key.name: key for key in (*self.keys, *self.also)}

    @cached_property
    def _ours(self) -> Mapping[str, Key]:
        return {key.tool_key: key for key in self.keys}

    @cached_property
    def _known(self) -> Set[str]:
        return {*self._theirs, *self.ignored, *self.fixed}

    @cached_property
    def _needed(self) -> Set[str]:
        return {key.name for key in self._theirs.values() if key.needed}

    def _read(self, given: Given) -> Arguments:
        arguments: Arguments = {}
        for name, value in given.items():
            if key := self._theirs.get(name):
                arguments[key.tool_key] = key.read(value) if key.read else value
        return self.read(arguments) if self.read else arguments

    def _say(self, arguments: Given) -> Arguments | None:
        said: Arguments = dict(self.fixed)
        for name, value in (self.say(dict(arguments)) if self.say else arguments).items():
            if key := self._ours.get(name):
                said[key.name] = key.say(value) if key.say else value
            elif value:
                return None
        return said

    def _full(self, arguments: Given) -> Arguments:
        """Without what says nothing: an empty list, an empty text, a flag that is off."""
        return {
            name: value
            for name, value in arguments.items()
            if value not in (None, "", False) and value != [] and (name not in self.usual or value != self.usual[name])
        }
