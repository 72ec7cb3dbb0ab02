"""The languages whose structure is known: their endings, their grammars, and what defines and what refers.

Grammars load when their first file comes.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from tree_sitter import Language, Parser, Query


class Grammar(NamedTuple):
    name: str
    module: str
    function: str
    query: str
    """Captures: @name of a definition, whose whole is captured as its kind; @ref for a name that is used."""


_C_FUNCTIONS = """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator
  declarator: (identifier) @name))) @function
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(type_definition declarator: (type_identifier) @name) @type
(preproc_function_def name: (identifier) @name) @macro
(call_expression function: [(identifier) @ref (field_expression field: (field_identifier) @ref)])
"""
_JAVASCRIPT = """
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name) @method
(lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)])) @function
(call_expression function: [(identifier) @ref (member_expression property: (property_identifier) @ref)])
(new_expression constructor: (identifier) @ref)
"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(type_alias_declaration name: (type_identifier) @name) @type
(type_annotation (type_identifier) @ref)
"""
)

_GRAMMARS = (
    Grammar(
        "python",
        "tree_sitter_python",
        "language",
        """
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(call function: [(identifier) @ref (attribute attribute: (identifier) @ref)])
(class_definition superclasses: (argument_list (identifier) @ref))
(type (identifier) @ref)
""",
    ),
    Grammar(
        "javascript",
        "tree_sitter_javascript",
        "language",
        _JAVASCRIPT + "(class_declaration name: (identifier) @name) @class",
    ),
    Grammar("typescript", "tree_sitter_typescript", "language_typescript", _TYPESCRIPT),
    Grammar("tsx", "tree_sitter_typescript", "language_tsx", _TYPESCRIPT),
    Grammar(
        "go",
        "tree_sitter_go",
        "language",
        """
(function_declaration name: (identifier) @name) @function
(method_declaration name: (field_identifier) @name) @method
(type_declaration (type_spec name: (type_identifier) @name)) @type
(call_expression function: [(identifier) @ref (selector_expression field: (field_identifier) @ref)])
(parameter_declaration type: (type_identifier) @ref)
""",
    ),
    Grammar(
        "rust",
        "tree_sitter_rust",
        "language",
        """
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @trait
(impl_item type: (type_identifier) @name) @impl
(impl_item type: (generic_type type: (type_identifier) @name)) @impl
(mod_item name: (identifier) @name body: (_)) @module
(macro_definition name: (identifier) @name) @macro
(call_expression function: [(identifier) @ref (field_expression field: (field_identifier) @ref)
  (scoped_identifier name: (identifier) @ref)])
(macro_invocation macro: (identifier) @ref)
(parameter type: (type_identifier) @ref)
""",
    ),
    Grammar(
        "java",
        "tree_sitter_java",
        "language",
        """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(record_declaration name: (identifier) @name) @class
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(method_invocation name: (identifier) @ref)
(object_creation_expression type: (type_identifier) @ref)
(superclass (type_identifier) @ref)
""",
    ),
    Grammar("c", "tree_sitter_c", "language", _C_FUNCTIONS),
    Grammar(
        "cpp",
        "tree_sitter_cpp",
        "language",
        _C_FUNCTIONS
        + """
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @method
(function_definition declarator: (function_declarator declarator: (qualified_identifier) @name)) @method
(class_specifier name: (type_identifier) @name body: (_)) @class
(namespace_definition name: (_) @name) @namespace
(call_expression function: (qualified_identifier name: (identifier) @ref))
""",
    ),
    Grammar(
        "ruby",
        "tree_sitter_ruby",
        "language",
        """
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(class name: (_) @name) @class
(module name: (_) @name) @module
(call method: (identifier) @ref)
(superclass (constant) @ref)
""",
    ),
    Grammar(
        "php",
        "tree_sitter_php",
        "language_php",
        """
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @trait
(enum_declaration name: (name) @name) @enum
(function_call_expression function: (name) @ref)
(member_call_expression name: (name) @ref)
(scoped_call_expression name: (name) @ref)
(object_creation_expression (name) @ref)
""",
    ),
    Grammar(
        "bash",
        "tree_sitter_bash",
        "language",
        """
(function_definition name: (word) @name) @function
(command name: (command_name (word) @ref))
""",
    ),
    Grammar(
        "markdown",
        "tree_sitter_markdown",
        "language",
        """
(section (atx_heading (inline) @name)) @section
(section (setext_heading (paragraph) @name)) @section
""",
    ),
)
_ENDINGS = {
    "python": "py pyi",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx hpp hh hxx",
    "ruby": "rb rake",
    "php": "php",
    "bash": "sh bash",
    "markdown": "md markdown",
}
_BY_ENDING = {ending: language for language, endings in _ENDINGS.items() for ending in endings.split()}
_BY_NAME = {grammar.name: grammar for grammar in _GRAMMARS}
_LATE = frozenset(("cpp", "php", "ruby"))
"""The extra `grammars`: 8 MB that few need."""
_SHELLS = (b"#!/bin/sh", b"#!/bin/bash", b"#!/usr/bin/env bash", b"#!/usr/bin/env sh")


def language_of(path: str, beginning: bytes) -> str:
    """Empty when its structure is not known."""
    name = path.rsplit("/", 1)[-1]
    if "." in name[1:]:
        return _BY_ENDING.get(name.rsplit(".", 1)[1].lower(), "")
    if beginning.startswith(_SHELLS):
        return "bash"
    return "python" if beginning.startswith(b"#!") and b"python" in beginning[:64].split(b"\n")[0] else ""


def grammar_comes_later(path: str) -> str:
    """The language of a file whose grammar is not installed with the rest; empty for all others."""
    language = _BY_ENDING.get(path.rsplit(".", 1)[-1].lower(), "")
    return language if language in _LATE else ""


def has_grammar(language: str) -> bool:
    return language not in _LATE or find_spec(_BY_NAME[language].module) is not None


@cache
def grammar(language: str) -> tuple[Parser, Query]:
    known = _BY_NAME[language]
    pointer: object = getattr(import_module(known.module), known.function)()
    loaded = Language(pointer)
    return Parser(loaded), Query(loaded, known.query)
