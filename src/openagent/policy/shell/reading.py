"""Shell text to syntax: tree-sitter's tree, as far as policy needs it."""

import itertools
import re
from collections.abc import Iterator
from functools import cache

import tree_sitter_bash
from msgspec.structs import replace
from tree_sitter import Language, Node, Parser

from openagent.policy.shell import preparing
from openagent.policy.shell.preparing import MAX_DEPTH, MAX_LENGTH, Document, NotUnderstood, Preparer
from openagent.policy.shell.syntax import (
    Assignment,
    Command,
    Compound,
    Function,
    Part,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Word,
    plain,
)  # fmt: skip

_EXPANSIONS = frozenset(
    ("simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion")
)
_QUOTES = frozenset(("string", "raw_string", "ansi_c_string"))
_CLAUSES = frozenset(("elif_clause", "else_clause", "do_group"))
_SEPARATORS = frozenset((";", "&", "\n", ";;", ";&", ";;&"))
_RESERVED = re.compile(r"!|[{}]|\[\[|\]\]|if|then|elif|else|fi|for|select|while|until|do|done|case|esac|in|function")
_CALCULATION = re.compile(r"[\w \t\n+\-*/%<>=!&|^~?:,()\[\]#]*")
_PARAMETER = re.compile(r"([A-Za-z_]\w*|[0-9]+|[@*?$!#-])(\[[^\]$`]*\])?(:?[-=?+]|##?|%%?|//?|\^\^?|,,?|:)?")
_LENGTH = re.compile(r"#(?:[A-Za-z_]\w*|[0-9@*])(?:\[[^\]$`]*\])?")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*(?:\[|\+?=)")
_SUBSCRIPT = re.compile(r"\w+\[(?:[^\]$`'\"\\]|\$\w+|\$\{\w+\})*\]")
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_SIMPLE = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_PLAIN = re.compile(r"[\w./:=@%+,-]+")
_MARKS = re.compile("[\ue000-\ue0ff]")
_HIDDEN_MARKS = {mark: 0xE010 + mark for mark in range(3)}
"""What is not known (see `values`) stands in a text as a control character, which the grammar does not take."""
_SHOWN_MARKS = {hidden: mark for mark, hidden in _HIDDEN_MARKS.items()}


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse(text: str) -> Script:
    """The commands of a text. Raises `NotUnderstood`."""
    if len(text) > MAX_LENGTH:
        raise NotUnderstood("it is too long to be read")
    if _MARKS.search(text):
        raise NotUnderstood("it holds characters that stand for nothing")
    documents: list[Document] = []
    return _Reader(Preparer(text, documents).prepared(), documents).script()


class _Reader:
    def __init__(self, text: str, documents: list[Document], depth: int = 0) -> None:
        self._marked = not text.isprintable()
        self._source = (text.translate(_HIDDEN_MARKS) if self._marked else text).encode("utf-8", "surrogatepass")
        self._documents = documents
        self._depth = depth

    def script(self) -> Script:
        return self._sequence(self._tree().children)

    def quoted_parts(self) -> tuple[Part, ...]:
        """The text as if double quotes stood around it."""
        self._source = b'"' + self._source + b'"'
        return tuple(self._parts(self._tree(), quoted=False))

    def _tree(self) -> Node:
        root = _parser().parse(self._source).root_node
        if root.has_error:
            raise NotUnderstood("it is not bash as the grammar knows it")
        return root

    def _of(self, node: Node) -> str:
        return self._text(node.start_byte, node.end_byte)

    def _text(self, start: int, end: int) -> str:
        text = self._source[start:end].decode("utf-8", "surrogatepass")
        return text.translate(_SHOWN_MARKS) if self._marked else text

    def _deeper(self) -> int:
        if self._depth >= MAX_DEPTH:
            raise NotUnderstood("it is nested too deeply")
        return self._depth + 1

    # lists and pipelines

    def _sequence(self, nodes: list[Node]) -> Script:
        """Statements and what stands between them."""
        pipelines: list[Pipeline] = []
        end, separated = 0, True
        for node in self._whole(nodes):
            if node.is_named:
                if not (separated or b"\n" in self._source[end : node.start_byte]):
                    raise NotUnderstood("a command stands where another should end")
                pipelines.extend(self._statement(node))
            elif node.type == "&" and pipelines:
                pipelines[-1] = replace(pipelines[-1], background=True)
            end, separated = node.end_byte, not node.is_named
        return tuple(pipelines)

    def _whole(self, nodes: list[Node], blanks: bytes = b" \t\n") -> list[Node]:
        """The tree must leave nothing out. A command ends with its line, and an array with its word."""
        for before, node in itertools.pairwise(nodes):
            gap = self._source[before.end_byte : node.start_byte]
            if gap.strip(blanks) or (not gap and before.type == "variable_assignment" and node.is_named):
                raise NotUnderstood("something stands where it is not expected")
        return nodes

    def _statement(self, node: Node) -> list[Pipeline]:
        self._depth, outer = self._deeper(), self._depth
        try:
            return self._joined(node) if node.type in ("list", "pipeline") else self._one(node)
        finally:
            self._depth = outer

    def _joined(self, node: Node) -> list[Pipeline]:
        """Read in the order it is written: `|` binds closer than `&&` wherever the tree has it."""
        spine: list[Node] = []
        while node.type in ("list", "pipeline"):
            node, *others = self._whole(node.children)
            spine.extend(reversed(others))
        result = self._statement(node)
        operator = ""
        for each in reversed(spine):
            if not each.is_named:
                operator = each.type
            else:
                first, *rest = self._statement(each)
                if operator in ("|", "|&"):
                    result[-1] = replace(result[-1], stages=(*result[-1].stages, *first.stages))
                else:
                    result.append(replace(first, conditional=True))
                result.extend(rest)
        return result

    def _one(self, node: Node) -> list[Pipeline]:
        match node.type:
            case "redirected_statement":
                return self._redirected(node)
            case "negated_command":
                return self._statement(node.children[-1])
            case "command" | "variable_assignment" | "variable_assignments" | "declaration_command" | "unset_command":
                command: Command = self._simple([node] if node.type == "variable_assignment" else node.children)
            case "file_redirect":
                command = self._simple([node])
            case "function_definition":
                command = self._function(node)
            case _:
                command = self._compound(node)
        return [Pipeline((command,))]

    def _redirected(self, node: Node) -> list[Pipeline]:
        children = self._whole(node.children, b" \t")
        redirects, words = self._redirects([child for child in children if child.type == "file_redirect"])
        body = [child for child in children if child.type != "file_redirect"]
        if len(body) > 1 or any(not child.is_named for child in body):
            raise NotUnderstood("a redirection stands where none is expected")
        pipelines = self._statement(body[0]) if body else [Pipeline((Simple(()),))]
        *before, last = pipelines[-1].stages
        if isinstance(last, Function):
            raise NotUnderstood("a redirection of a function's definition")
        if isinstance(last, Simple):
            last = replace(last, words=(*last.words, *words), redirects=(*last.redirects, *redirects))
        elif words:
            raise NotUnderstood("words stand behind a compound command")
        else:
            last = replace(last, redirects=(*last.redirects, *redirects))
        pipelines[-1] = replace(pipelines[-1], stages=(*before, last))
        return pipelines

    def _redirects(self, nodes: list[Node]) -> tuple[list[Redirect], list[Word]]:
        """And the words of the command that stand behind them, which the grammar counts as theirs."""
        redirects: list[Redirect] = []
        words: list[tuple[int, Word]] = []
        for node in nodes:
            operator, descriptor = "", ""
            targets: list[list[Node]] = []
            for child in self._whole(node.children, b" \t"):
                if child.type == "file_descriptor":
                    descriptor = self._of(child)
                elif not child.is_named and not operator:
                    operator = child.type
                else:
                    _add_adjacent(targets, child)
            if words and words[-1][0] == node.start_byte and words[-1][1][0].kind == "text":
                descriptor = words.pop()[1][0].text
            if targets:
                redirects.append(self._redirect(operator, self._word(targets[0]), descriptor))
            words.extend((target[-1].end_byte, self._word(target)) for target in targets[1:])
        return redirects, [word for _, word in words]

    def _redirect(self, operator: str, target: Word, descriptor: str) -> Redirect:
        first = target[0]
        mark = first.text[:1] if first.kind == "text" and not first.quoted else ""
        if mark == preparing.DOCUMENT:
            return Redirect("<<", self._document(self._documents[int(first.text[1:])]), descriptor)
        if mark and mark in (preparing.HERE_STRING, preparing.READ_WRITE):
            rest = (plain(first.text[1:]), *target[1:])
            return Redirect("<<<" if mark == preparing.HERE_STRING else "<>", rest, descriptor)
        return Redirect(operator, target, descriptor)

    def _document(self, document: Document) -> tuple[Part, ...]:
        if document.literal or not re.search(r"[$`\\]", document.text):
            return (plain(document.text, quoted=True),)
        text = Preparer(document.text, self._documents).prepared(document=True)
        return _Reader(text, self._documents, self._deeper()).quoted_parts()

    # commands

    def _simple(self, nodes: list[Node]) -> Simple:
        words: list[list[Node]] = []
        assignments: list[Assignment] = []
        redirects: list[Node] = []
        for node in self._whole(nodes, b" \t"):
            if node.type == "command_name" and _RESERVED.fullmatch(self._of(node)):
                raise NotUnderstood("a word of the grammar stands where a command should")
            if node.type == "variable_assignment" and _ASSIGNED.match(self._of(node)):
                assignments.append(self._assignment(node))
            elif node.type == "file_redirect":
                redirects.append(node)
            else:
                _add_adjacent(words, node)
        found, more = self._redirects(redirects)
        if more and words and redirects[-1].end_byte > words[0][0].start_byte:
            raise NotUnderstood("a redirection stands where none is expected")
        return Simple((*more, *map(self._word, words)), tuple(assignments), tuple(found))

    def _assignment(self, node: Node) -> Assignment:
        name, operator, *value = node.children
        label = self._of(name).partition("[")[0]
        append = operator.type == "+=" or name.type == "subscript"
        if name.type == "subscript" and not _SUBSCRIPT.fullmatch(self._of(name)):
            raise NotUnderstood("a subscript can hold anything")
        if value and value[0].type == "array":
            elements = tuple(self._word([each]) for each in value[0].children[1:-1])
            return Assignment(label, None, append, elements)
        return Assignment(label, self._word(value) if value else (plain(""),), append)

    def _function(self, node: Node) -> Function:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None or any(child.type == "file_redirect" for child in node.children):
            raise NotUnderstood("a function is of a form that is not followed")
        return Function(self._of(name), self._statement(body)[0].stages[0])

    def _compound(self, node: Node) -> Compound:
        match node.type:
            case "subshell" | "compound_statement" if node.children[0].type in ("(", "{"):
                return Compound("subshell" if node.type == "subshell" else "group", (self._sequence(node.children),))
            case "compound_statement" | "test_command":
                return self._test(node)
            case "if_statement" | "while_statement":
                blocks = tuple(block for block in self._blocks(node) if block)
                return Compound("if" if node.type == "if_statement" else "loop", blocks)
            case "for_statement":
                variable = node.child_by_field_name("variable")
                words = tuple(self._word([value]) for value in node.children_by_field_name("value"))
                name = self._of(variable) if variable else ""
                return Compound("for", self._bodies(node), words=words, variable=name)
            case "c_style_for_statement":
                head = node.children[2].start_byte, next(c.start_byte for c in node.children if c.type == "))")
                words = (tuple(self._calculated(node, *head)),)
                return Compound("for", self._bodies(node), words=words)
            case "case_statement":
                return self._case(node)
            case _:
                raise NotUnderstood(f"{node.type} is not followed")

    def _test(self, node: Node) -> Compound:
        start, end = node.children[0].end_byte, node.children[-1].start_byte
        if node.type == "test_command" and not self._source[start : start + 1].isspace():
            raise NotUnderstood("a test starts without a blank")
        if node.children[0].type in ("((", "$(("):
            return Compound("arithmetic", words=(tuple(self._calculated(node, start, end)),))
        return Compound("test", words=(tuple(self._pieces(node, start, end, quoted=False)),))

    def _blocks(self, node: Node) -> list[Script]:
        blocks: list[list[Node]] = [[]]
        for child in _flattened(node):
            if child.is_named or child.type in _SEPARATORS:
                blocks[-1].append(child)
            else:
                blocks.append([])
        return [self._sequence(block) for block in blocks]

    def _bodies(self, node: Node) -> tuple[Script, ...]:
        return tuple(self._sequence(child.children) for child in node.children_by_field_name("body"))

    def _case(self, node: Node) -> Compound:
        words = [self._word(node.children_by_field_name("value"))]
        blocks: list[Script] = []
        for item in node.children:
            if item.type == "case_item":
                close = next(index for index, child in enumerate(item.children) if child.type == ")")
                words.extend(self._word([value]) for value in item.children_by_field_name("value"))
                blocks.append(self._sequence(item.children[close + 1 :]))
        return Compound("case", tuple(blocks), words=tuple(words))

    # words

    def _word(self, nodes: list[Node]) -> Word:
        if len(nodes) == 1 and not nodes[0].child_count:
            text = self._of(nodes[0])
            if _PLAIN.fullmatch(text):
                return (plain(text),)
        return tuple(part for node in nodes for part in self._parts(node, quoted=False)) or (plain(""),)

    def _parts(self, node: Node, *, quoted: bool) -> Iterator[Part]:
        start, end = node.start_byte, node.end_byte
        match node.type:
            case "string":
                yield plain("", quoted=True)
                yield from self._pieces(node, start + 1, end - 1, quoted=True)
            case "raw_string":
                yield plain(self._text(start + 1, end - 1), quoted=True)
            case "ansi_c_string":
                yield plain(decode_escapes(self._text(start + 2, end - 1)), quoted=True)
            case "simple_expansion":
                yield Part("variable", self._text(start, end).strip()[1:], quoted)
            case "expansion":
                yield self._braced(node, quoted)
            case "command_substitution":
                yield Part("command", quoted=quoted, script=self._nested(node))
            case "process_substitution":
                yield Part("process", script=self._nested(node))
            case "arithmetic_expansion":
                if node.children[0].type != "$((":
                    raise NotUnderstood("$[…] is an obsolete form")
                yield Part("arithmetic", parts=tuple(self._calculated(node, node.children[0].end_byte, end - 2)))
            case _:
                yield from self._pieces(node, start, end, quoted=quoted)

    def _pieces(self, node: Node, start: int, end: int, *, quoted: bool) -> Iterator[Part]:
        """The expansions beneath a node, and the text between them."""
        position = start
        for child in _special(node, quoted):
            if child.start_byte >= start and child.end_byte <= end:
                begin = child.start_byte  # which for some lies before the blanks in front of it
                while self._source[begin : begin + 1].isspace():
                    begin += 1
                yield from _literal(self._text(position, begin), quoted)
                yield from self._parts(child, quoted=quoted)
                position = child.end_byte
        yield from _literal(self._text(position, end), quoted)

    def _calculated(self, node: Node, start: int, end: int) -> Iterator[Part]:
        """What is no arithmetic bash may run as commands in a subshell."""
        for part in self._pieces(node, start, end, quoted=True):
            if part.kind == "text" and not _CALCULATION.fullmatch(part.text.replace(";", "")):
                raise NotUnderstood("arithmetic holds something else")
            yield part

    def _braced(self, node: Node, quoted: bool) -> Part:
        start, end = self._source.index(b"${", node.start_byte) + 2, node.end_byte - 1
        text = self._text(start, end)
        if _LENGTH.fullmatch(text):
            return Part("arithmetic")
        parameter = _PARAMETER.match(text)
        if parameter is None or (parameter[1] == "!" and parameter[0] != text):
            raise NotUnderstood("a ${…} is of a form that is not followed")
        if not parameter[3] and parameter[0] != text:
            raise NotUnderstood("a ${…} is of a form that is not followed")
        argument = tuple(self._pieces(node, start + len(parameter[0].encode()), end, quoted=quoted))
        return Part("variable", parameter[1], quoted, (parameter[2] or "") + (parameter[3] or ""), argument)

    def _nested(self, node: Node) -> Script:
        self._depth, outer = self._deeper(), self._depth
        script = self._sequence(node.children)
        self._depth = outer
        return script


def _add_adjacent(words: list[list[Node]], node: Node) -> None:
    """Nodes without a blank between them are one word."""
    if words and words[-1][-1].end_byte == node.start_byte:
        words[-1].append(node)
    else:
        words.append([node])


def _flattened(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type in _CLAUSES:
            yield from _flattened(child)
        else:
            yield child


def _special(node: Node, quoted: bool) -> Iterator[Node]:
    """The expansions and quotes beneath a node that are beneath no other."""
    enclosed = node.type in _EXPANSIONS or node.type in _QUOTES
    pending = list(reversed(node.children[1:-1] if enclosed else node.children))
    while pending:
        child = pending.pop()
        if child.type in _EXPANSIONS or (child.type in _QUOTES and not (quoted and child.type == "raw_string")):
            yield child
        elif child.child_count:
            pending.extend(reversed(child.children))


def _literal(text: str, quoted: bool) -> Iterator[Part]:
    if not text:
        return
    if quoted:
        yield plain(
            re.sub(r'\\([$`"\\])', r"\1", text).replace(preparing.QUOTE, '"').replace(preparing.BRACE, "{"), quoted=True
        )
        return
    for index, piece in enumerate(re.split(r"\\(.)", text, flags=re.DOTALL)):
        if piece:
            yield plain(piece.replace(preparing.BRACE, "{"), quoted=index % 2 == 1)


def decode_escapes(text: str) -> str:
    """Backslash escapes, as in `$'…'`."""
    return _ANSI_ESCAPE.sub(_decoded, text)


def _decoded(escape: re.Match[str]) -> str:
    hexadecimal = escape[1] or escape[2] or escape[3]
    if hexadecimal:
        number = int(hexadecimal, 16)
        return chr(number) if number <= 0x10FFFF else ""
    if escape[4]:
        return chr(int(escape[4], 8) & 0xFF)
    if escape[5]:
        return chr(ord(escape[5].upper()) & 0x1F)
    return _ANSI_SIMPLE.get(escape[6], escape[6] if escape[6] in "\\'\"?" else "\\" + escape[6])
