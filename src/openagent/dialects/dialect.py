"""A dialect: our tools as one family of models knows them. The files beside this one hold one each."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from openagent.dialects.term import Arguments, Given, Term
from openagent.plugins.provider import ToolSchema
from openagent.protocol.messages import ToolCallPart, ToolResultPart

_COMPLAINTS = ("There is no tool named ", "The arguments of ")
"""How the daemon begins to say what is wrong with a call itself."""


class OfferedTool(ToolSchema, frozen=True):
    """A tool that some wires take in another form than as a function."""

    grammar: str = ""
    """Of the text that it takes in place of arguments."""
    vendor_type: str = ""


class Dialect:
    def __init__(
        self,
        name: str,
        terms: Sequence[Term],
        *,
        covered: Mapping[str, Sequence[str]] | None = None,
        descriptions: Mapping[str, str] | None = None,
    ) -> None:
        """`covered` are tools of ours that this family does not miss where those are offered: they can be called all
        the same. `descriptions` are of names that stand for several tools of ours."""
        self.name = name
        self.terms = terms
        self.covered = covered or {}
        self._descriptions = descriptions or {}
        self._by_name: dict[str, list[Term]] = {}
        self._by_tool: dict[str, list[Term]] = {}
        for term in terms:
            self._by_name.setdefault(term.name, []).append(term)
            self._by_tool.setdefault(term.tool, []).append(term)
        names = {tool: said for tool in self._by_tool if (said := self.name_of(tool)) != tool}
        self._renamed = {**names, **{tool: self.name_of(by[0]) for tool, by in self.covered.items()}}

    @cached_property
    def _quoted(self) -> re.Pattern[str]:
        return re.compile(f"`({_any_of(self._renamed)})`")

    @cached_property
    def _named(self) -> re.Pattern[str]:
        """Without quotes, only names that are no words of their own."""
        return re.compile(rf"\b({_any_of(name for name in self._renamed if '_' in name)})\b")

    @cached_property
    def _pointed_at(self) -> re.Pattern[str]:
        return re.compile(rf"\b({_any_of(self._renamed)})(?= output:)")

    def name_of(self, tool: str) -> str:
        """What one of our tools is offered as."""
        return next((term.name for term in self._by_tool.get(tool, ()) if term.offered), tool)

    def offered(self, tools: Sequence[ToolSchema]) -> list[ToolSchema]:
        schemas = {schema.name: schema for schema in tools}
        offered: dict[str, ToolSchema] = {}
        for schema in tools:
            if schema.name in self.covered and all(other in schemas for other in self.covered[schema.name]):
                continue
            name = self.name_of(schema.name)
            if schema.name not in self._by_tool or (name != schema.name and name in schemas):
                offered[schema.name] = schema  # of somebody else's, or somebody else's has that name
            elif name == schema.name and not self._offers(schema.name):
                offered[schema.name] = schema
            elif name not in offered:
                offered[name] = self._offer(name, schemas)
        return list(offered.values())

    def _offers(self, tool: str) -> bool:
        return any(term.offered for term in self._by_tool[tool])

    def _offer(self, name: str, schemas: Mapping[str, ToolSchema]) -> ToolSchema:
        every = [term for term in self._by_name[name] if term.offered]
        terms = [term for term in every if term.tool in schemas]
        first = terms[0]
        described = self._descriptions.get(name) or first.description or schemas[first.tool].description
        return OfferedTool(
            name=name,
            description=self._in_words(described),
            parameters=_parameters(terms, schemas),
            grammar=first.grammar,
            vendor_type=first.vendor_type if terms == every else "",
        )

    def understood(self, name: str, given: Given) -> tuple[str, Arguments] | None:
        """A call of theirs as one of ours; None when it is none."""
        for term in self._by_name.get(name, ()):
            if (arguments := term.understood(given)) is not None:
                return term.tool, arguments
        return None

    def roughly(self, name: str, given: Given) -> tuple[str, Arguments] | None:
        """The same of a call that does not fit."""
        terms = self._by_name.get(name, ())
        likely = [term for term in terms if all(given.get(key) == value for key, value in term.fixed.items())]
        term = next(iter(likely or terms), None)
        return (term.tool, term.roughly(given)) if term else None

    def tool_named(self, name: str) -> str:
        """Ours, as far as the name alone tells; empty when it is no name of theirs."""
        return next((term.tool for term in self._by_name.get(name, ())), "")

    def spoken(self, call: ToolCallPart) -> ToolCallPart:
        """A call of ours as theirs, or as it is where they have no word for it."""
        for term in self._by_tool.get(call.name, ()) if call.invalid_arguments is None else ():
            if (said := term.spoken(call.arguments)) is not None:
                return msgspec.structs.replace(call, name=term.name, arguments=said)
        return call

    def told(self, call: ToolCallPart, said: ToolCallPart, result: ToolResultPart) -> ToolResultPart:
        """What came of a call, in their words. `said` is the call as they know it."""
        text = result.text
        if said is not call:
            term = next(term for term in self._by_name[said.name] if term.tool == call.name)
            text = term.told(result) if term.told else text
        if result.is_error and text.startswith(_COMPLAINTS):
            text = self._complaint(text, call.name)
        elif result.is_error and result.display.exit_code is None:
            text = self._in_words(text)
        text = self._pointed_at.sub(self._word, text)
        if text == result.text and said.name == result.name:
            return result
        return msgspec.structs.replace(result, name=said.name, text=text)

    def prompt(self, text: str) -> str:
        """With the tools that it names in backticks named in this dialect."""
        return self._quoted.sub(lambda found: f"`{self._word(found)}`", text)

    def _in_words(self, text: str) -> str:
        return self._named.sub(self._word, text)

    def _word(self, found: re.Match[str]) -> str:
        return self._renamed[found[1]]

    def _complaint(self, text: str, tool: str) -> str:
        term = next((term for term in self._by_tool.get(tool, ()) if term.offered), None)
        if term and text.startswith("The arguments of "):
            keys = {key.tool_key: key.name for key in term.keys if key.name != key.tool_key}
            if keys:
                text = re.sub(rf"\b({'|'.join(keys)})\b", lambda found: keys[found[1]], text)
        return self._in_words(text)


def _parameters(terms: Sequence[Term], schemas: Mapping[str, ToolSchema]) -> dict[str, Any]:
    """Of one tool of theirs; where it stands for several of ours, all that these take."""
    properties: dict[str, Any] = {}
    for name in dict.fromkeys(name for term in terms for name in term.fixed):
        properties[name] = {"type": "string", "enum": [term.fixed[name] for term in terms if name in term.fixed]}
    required: list[set[str]] = []
    closed = False
    for term in terms:
        ours = schemas[term.tool].parameters
        known: Mapping[str, Any] = ours.get("properties", {})
        needed = {*term.fixed}
        for key in term.keys:
            if key.schema is None and key.tool_key not in known:
                continue
            must = key.needed or key.tool_key in ours.get("required", ())
            properties.setdefault(key.name, _property(key.schema or known[key.tool_key], key.description, must=must))
            if must:
                needed.add(key.name)
        required.append(needed)
        closed = closed or ours.get("additionalProperties") is False
    always = set[str].intersection(*required)
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if always:
        parameters["required"] = [name for name in properties if name in always]
    return {**parameters, "additionalProperties": False} if closed else parameters


def _property(schema: Mapping[str, Any], description: str | None, *, must: bool) -> dict[str, Any]:
    said = {**schema} if description is None else {**schema, "description": description}
    if must:
        said.pop("default", None)
    return said


def _any_of(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or r"(?!)"


def covering(tools: Iterable[str], *by: str) -> dict[str, tuple[str, ...]]:
    """Tools that are not offered where those are."""
    return dict.fromkeys(tools, by)
