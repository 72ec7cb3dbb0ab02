"""Shell text as tree-sitter's tree: the pipelines in it, and what its words stand for when they run."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import tree_sitter_bash
from msgspec import Struct
from msgspec.structs import replace
from tree_sitter import Language, Node, Parser

from openagent.bash import preparing
from openagent.bash.preparing import MAX_LENGTH, Document, NotUnderstood, Preparer
from openagent.bash.values import (
    FROM_NETWORK,
    MAX_FIELDS,
    Piece,
    State,
    Value,
    braces,
    calculated,
    decode_escapes,
    joined,
)  # fmt: skip

_EXPANSIONS = frozenset(
    ("simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion")
)
_QUOTES = frozenset(("string", "raw_string", "ansi_c_string"))
_CLAUSES = frozenset(("elif_clause", "else_clause", "do_group"))
_SEPARATORS = frozenset((";", "&", "\n", ";;", ";&", ";;&"))
_RESERVED = re.compile(r"!|[{}]|\[\[|\]\]|if|then|elif|else|fi|for|select|while|until|do|done|case|esac|in|function")
_CALCULATION = re.compile(r"[\w \t\n+\-*/%<>=!&|^~?:,()\[\]#;]*", re.ASCII)
_PARAMETER = re.compile(r"([A-Za-z_]\w*|[0-9]+|[@*?$!#-])(\[[^\]$`]*\])?(:?[-=?+]|##?|%%?|//?|\^\^?|,,?|:)?", re.ASCII)
_LENGTH = re.compile(r"#(?:[A-Za-z_]\w*|[0-9@*])(?:\[[^\]$`]*\])?", re.ASCII)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*(?:\[|\+?=)", re.ASCII)
_SUBSCRIPT = re.compile(r"\w+\[(?:[^\]$`'\"\\]|\$\w+|\$\{\w+\})*\]", re.ASCII)
_ELEMENT = re.compile(r"\[.*\]\+?=", re.DOTALL)
_BLANK = re.compile(r"[ \t\n]")
_PLAIN = re.compile(r"[\w./:=@%+,-]+")
_MARKS = re.compile("[\ue000-\ue0ff]")
_HIDDEN_MARKS = {mark: 0xE010 + mark for mark in range(3)}
"""What is not known (see `values`) stands in a text as a control character, which the grammar does not take."""
_SHOWN_MARKS = {hidden: mark for mark, hidden in _HIDDEN_MARKS.items()}
Word = list[Node]
"""Without a blank between them."""


class Stage(Struct, frozen=True):
    """One command of a pipeline."""

    text: "Text"
    node: Node | None
    redirects: tuple[Node, ...] = ()
    """Those that stand behind it."""


class Pipeline(Struct, frozen=True):
    stages: tuple[Stage, ...]
    conditional: bool = False
    """It follows `&&` or `||`."""
    background: bool = False


Script = list[Pipeline]


class Redirect(Struct, frozen=True):
    operator: str
    target: Word
    descriptor: str


class Compound(Struct, frozen=True):
    kind: str
    blocks: list[Script]
    values: list[Value] = []
    """What a `for` runs over, a `case` looks at and compares with, or `[[ ]]` tests."""
    variable: str = ""


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


class Text:
    """One text. Reading it raises `NotUnderstood` where it is not surely bash as we know it."""

    def __init__(
        self, text: str, state: State, substitute: Callable[[Script], tuple[str, bool]], around: "Text | None" = None
    ) -> None:
        """`substitute` looks at the commands of a substitution: their output, and whether it is known. `around`: this
        is a here-document of that text."""
        if len(text) > MAX_LENGTH:
            raise NotUnderstood("it is too long to be read")
        if _MARKS.search(text):
            raise NotUnderstood("it holds characters that stand for nothing")
        self._state, self._substitute = state, substitute
        self._documents: list[Document] = around._documents if around else []
        prepared = Preparer(text, self._documents).prepared(document=around is not None)
        prepared = f'"{prepared}"' if around else prepared
        self._marked = not prepared.isprintable()
        self._source = (prepared.translate(_HIDDEN_MARKS) if self._marked else prepared).encode(
            "utf-8", "surrogatepass"
        )
        self.root = _parser().parse(self._source).root_node
        if self.root.has_error:
            raise NotUnderstood("it is not bash as the grammar knows it")

    def of(self, node: Node) -> str:
        return self._text(node.start_byte, node.end_byte)

    def _text(self, start: int, end: int) -> str:
        text = self._source[start:end].decode("utf-8", "surrogatepass")
        return text.translate(_SHOWN_MARKS) if self._marked else text

    # lists and pipelines

    def script(self, nodes: list[Node]) -> Script:
        """Statements and what stands between them."""
        pipelines: Script = []
        end, separated = 0, True
        for node in self._whole(nodes):
            if node.is_named:
                if not (separated or b"\n" in self._source[end : node.start_byte]):
                    raise NotUnderstood("a command stands where another should end")
                pipelines.extend(self.statement(node))
            elif node.type == "&" and pipelines:
                pipelines[-1] = replace(pipelines[-1], background=True)
            end, separated = node.end_byte, not node.is_named
        return pipelines

    def _whole(self, nodes: list[Node], blanks: bytes = b" \t\n") -> list[Node]:
        """The tree must leave nothing out. A command ends with its line, and an array with its word."""
        for before, node in itertools.pairwise(nodes):
            gap = self._source[before.end_byte : node.start_byte]
            if gap.strip(blanks) or (not gap and before.type == "variable_assignment" and node.is_named):
                raise NotUnderstood("something stands where it is not expected")
        return nodes

    def statement(self, node: Node) -> Script:
        match node.type:
            case "list" | "pipeline":
                return self._joined(node)
            case "redirected_statement":
                return self._redirected(node)
            case "negated_command":
                return self.statement(node.children[-1])
            case _:
                return [Pipeline((Stage(self, node),))]

    def _joined(self, node: Node) -> Script:
        """Read in the order it is written: `|` binds closer than `&&` wherever the tree has it."""
        spine: list[Node] = []
        while node.type in ("list", "pipeline"):
            node, *others = self._whole(node.children)
            spine.extend(reversed(others))
        result = self.statement(node)
        operator = ""
        for each in reversed(spine):
            if not each.is_named:
                operator = each.type
            else:
                first, *rest = self.statement(each)
                if operator in ("|", "|&"):
                    result[-1] = replace(result[-1], stages=(*result[-1].stages, *first.stages))
                else:
                    result.append(replace(first, conditional=True))
                result.extend(rest)
        return result

    def _redirected(self, node: Node) -> Script:
        children = self._whole(node.children, b" \t")
        redirects = [child for child in children if child.type == "file_redirect"]
        body = [child for child in children if child.type != "file_redirect"]
        if len(body) > 1 or any(not child.is_named for child in body):
            raise NotUnderstood("a redirection stands where none is expected")
        pipelines = self.statement(body[0]) if body else [Pipeline((Stage(self, None),))]
        *before, last = pipelines[-1].stages
        last = replace(last, redirects=(*last.redirects, *redirects))
        pipelines[-1] = replace(pipelines[-1], stages=(*before, last))
        return pipelines

    # commands

    def simple(self, stage: Stage) -> tuple[list[Word], list[Node], list[Redirect]]:
        """The words, assignments and redirections of a simple command."""
        nodes = [stage.node] if stage.node else []
        if nodes and nodes[0].type not in ("variable_assignment", "file_redirect"):
            nodes = nodes[0].children
        words: list[Word] = []
        assignments: list[Node] = []
        redirects: list[Node] = []
        for child in self._whole(nodes, b" \t"):
            if child.type == "command_name" and _RESERVED.fullmatch(self.of(child)):
                raise NotUnderstood("a word of the grammar stands where a command should")
            if child.type == "variable_assignment" and _ASSIGNED.match(self.of(child)):
                assignments.append(child)
            elif child.type == "file_redirect":
                redirects.append(child)
            else:
                _add_adjacent(words, child)
        found, more = self.redirects(redirects)
        if more and words and redirects[-1].end_byte > words[0][0].start_byte:
            raise NotUnderstood("a redirection stands where none is expected")
        behind, rest = self.redirects(stage.redirects)
        if words and behind and words[-1][-1].end_byte == stage.redirects[0].start_byte:
            number = self._text(words[-1][0].start_byte, words[-1][-1].end_byte)
            if number.isdigit():  # `0<`, of which the grammar makes a word
                words = words[:-1]
                behind[0] = replace(behind[0], descriptor=number)
        return [*more, *words, *rest], assignments, [*found, *behind]

    def redirects(self, nodes: Iterable[Node]) -> tuple[list[Redirect], list[Word]]:
        """And the words of the command that stand behind them, which the grammar counts as theirs."""
        redirects: list[Redirect] = []
        words: list[Word] = []
        for node in nodes:
            operator, descriptor = "", ""
            targets: list[Word] = []
            for child in self._whole(node.children, b" \t"):
                if child.type == "file_descriptor":
                    descriptor = self.of(child)
                elif not child.is_named and not operator:
                    operator = child.type
                else:
                    _add_adjacent(targets, child)
            if words and words[-1][-1].end_byte == node.start_byte and not words[-1][0].child_count:
                descriptor = self.of(words.pop()[0])
            if targets:
                redirects.append(Redirect(operator, targets[0], descriptor))
            words.extend(targets[1:])
        return redirects, words

    def target(self, redirect: Redirect) -> tuple[str, Value]:
        """The operator, and what it is about; of a here-document its body."""
        value = self.single(redirect.target)
        mark, rest = value.text[:1], value.text[1:]
        if mark == preparing.DOCUMENT:
            document = self._documents[int(rest)]
            if document.literal or not re.search(r"[$`\\]", document.text):
                return "<<", Value(document.text)
            text = Text(document.text, self._state, self._substitute, self)
            return "<<", text.single([text.root])
        if mark and mark in preparing.HERE_STRING + preparing.READ_WRITE:
            return "<<<" if mark == preparing.HERE_STRING else "<>", replace(value, text=rest)
        return redirect.operator, value

    def assignment(self, node: Node) -> tuple[str, bool, Value, tuple[Value, ...] | None]:
        """Name, whether it adds to what is there, value, and of an array its elements."""
        name, operator, *value = node.children
        label = self.of(name).partition("[")[0]
        append = operator.type == "+=" or name.type == "subscript"
        if name.type == "subscript" and not _SUBSCRIPT.fullmatch(self.of(name)):
            raise NotUnderstood("a subscript can hold anything")
        if value and value[0].type == "array":
            if any(_ELEMENT.match(self.of(each)) for each in value[0].children[1:-1]):
                raise NotUnderstood("elements of an array have names")
            elements = _adjoined(self._whole(value[0].children)[1:-1])
            return label, append, Value("", known=False), tuple(self.fields(elements))
        return label, append, self.single(value), None

    def function(self, node: Node) -> tuple[str, Stage]:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None or any(child.type == "file_redirect" for child in node.children):
            raise NotUnderstood("a function is of a form that is not followed")
        return self.of(name), self.statement(body)[0].stages[0]

    def assigned(self, node: Node) -> Iterator[str]:
        """Names of the variables that are set beneath a node."""
        for child in node.children:
            name = child.child_by_field_name("name" if child.type == "variable_assignment" else "variable")
            if name is not None:
                yield self.of(name).partition("[")[0]
            yield from self.assigned(child)

    def compound(self, node: Node) -> Compound:
        match node.type:
            case "subshell" | "compound_statement" if node.children[0].type in ("(", "{"):
                return Compound("subshell" if node.type == "subshell" else "group", [self.script(node.children)])
            case "compound_statement" | "test_command":
                start, end = node.children[0].end_byte, node.children[-1].start_byte
                if node.type == "test_command" and not self._source[start : start + 1].isspace():
                    raise NotUnderstood("a test starts without a blank")
                arithmetic = node.children[0].type in ("((", "$((")
                pieces = self._calculated if arithmetic else self._pieces
                return Compound("arithmetic" if arithmetic else "test", [], [joined(pieces(node, start, end))])
            case "if_statement" | "while_statement":
                return Compound("if" if node.type == "if_statement" else "loop", self._blocks(node))
            case "for_statement":
                values = self.fields(_adjoined(node.children_by_field_name("value")))
                variable = node.child_by_field_name("variable")
                return Compound("for", self._bodies(node), values, self.of(variable) if variable else "")
            case "c_style_for_statement":
                head = node.children[2].start_byte, next(c.start_byte for c in node.children if c.type == "))")
                return Compound("for", self._bodies(node), [joined(self._calculated(node, *head))])
            case "case_statement":
                values = [self.single(node.children_by_field_name("value"))]
                blocks: list[Script] = []
                for item in (child for child in node.children if child.type == "case_item"):
                    close = next(index for index, child in enumerate(item.children) if child.type == ")")
                    values.extend(self.single([value]) for value in item.children_by_field_name("value"))
                    blocks.append(self.script(item.children[close + 1 :]))
                return Compound("case", blocks, values)
            case _:
                raise NotUnderstood(f"{node.type} is not followed")

    def _blocks(self, node: Node) -> list[Script]:
        blocks: list[list[Node]] = [[]]
        for child in _flattened(node):
            if child.is_named or child.type in _SEPARATORS:
                blocks[-1].append(child)
            else:
                blocks.append([])
        return [self.script(block) for block in blocks]

    def _bodies(self, node: Node) -> list[Script]:
        return [self.script(child.children) for child in node.children_by_field_name("body")]

    # words

    def fields(self, words: Iterable[Word]) -> list[Value]:
        values: list[Value] = []
        for word in words:
            text = self.of(word[0]) if len(word) == 1 and not word[0].child_count else ""
            if _PLAIN.fullmatch(text):
                values.append(Value(text))
            else:
                values.extend(field for pieces in braces(self._word(word)) for field in self._state.parted(pieces))
            if len(values) > MAX_FIELDS * 8:
                raise NotUnderstood("it has too many words")
        return values

    def single(self, word: Word) -> Value:
        """A word that is not split: of an assignment, a redirection or a here-document."""
        return joined(self._word(word))

    def _word(self, word: Word) -> list[Piece]:
        pieces = [piece for node in word for piece in self._parts(node, quoted=False)]
        if any(_BLANK.search(each.text) and not (each.quoted or each.splits or each.process) for each in pieces):
            raise NotUnderstood("a blank stands inside a word")
        return pieces or [Piece("")]

    def _parts(self, node: Node, *, quoted: bool) -> Iterator[Piece]:
        start, end = node.start_byte, node.end_byte
        match node.type:
            case "string":
                yield Piece("", quoted=True)
                yield from self._pieces(node, start + 1, end - 1, quoted=True)
            case "raw_string":
                yield Piece(self._text(start + 1, end - 1), quoted=True)
            case "ansi_c_string":
                yield Piece(decode_escapes(self._text(start + 2, end - 1)).partition("\0")[0], quoted=True)
            case "simple_expansion":
                yield self._state.expanded(self._text(start, end).strip()[1:], "", Value(""), quoted=quoted)
            case "expansion":
                yield self._braced(node, quoted=quoted)
            case "command_substitution":
                output, known = self._substitute(self.script(node.children))
                yield Piece(output.rstrip("\n"), known, quoted, splits=not quoted)
            case "process_substitution":
                output, _ = self._substitute(self.script(node.children))
                network = FROM_NETWORK if FROM_NETWORK in output else ""
                yield Piece("/dev/fd/63" + network, process=True)
            case "arithmetic_expansion":
                if node.children[0].type != "$((":
                    raise NotUnderstood("$[…] is an obsolete form")
                text = joined(self._calculated(node, node.children[0].end_byte, end - 2)).text
                yield calculated(text, self._state.variables)
            case _:
                yield from self._pieces(node, start, end, quoted=quoted)

    def _between(self, node: Node, start: int, end: int, *, quoted: bool) -> Iterator[str | Node]:
        """The expansions beneath a node, and the text between them."""
        for child in _special(node, quoted=quoted):
            if child.start_byte >= start and child.end_byte <= end:
                begin = child.start_byte  # which for some lies before the blanks in front of it
                while self._source[begin : begin + 1].isspace():
                    begin += 1
                yield self._text(start, begin)
                yield child
                start = child.end_byte
        yield self._text(start, end)

    def _pieces(self, node: Node, start: int, end: int, *, quoted: bool = False) -> Iterator[Piece]:
        for each in self._between(node, start, end, quoted=quoted):
            yield from _literal(each, quoted=quoted) if isinstance(each, str) else self._parts(each, quoted=quoted)

    def _calculated(self, node: Node, start: int, end: int) -> Iterator[Piece]:
        """What is no arithmetic bash may run as commands in a subshell."""
        between = self._between(node, start, end, quoted=True)
        if not all(_CALCULATION.fullmatch(each) for each in between if isinstance(each, str)):
            raise NotUnderstood("arithmetic holds something else")
        return self._pieces(node, start, end, quoted=True)

    def _braced(self, node: Node, *, quoted: bool) -> Piece:
        start, end = self._source.index(b"${", node.start_byte) + 2, node.end_byte - 1
        text = self._text(start, end)
        if _LENGTH.fullmatch(text):
            return Piece("0", known=False)
        parameter = _PARAMETER.match(text)
        if parameter is None or (parameter[0] != text and (parameter[1] == "!" or not parameter[3])):
            raise NotUnderstood("a ${…} is of a form that is not followed")
        argument = joined(self._pieces(node, start + len(parameter[0].encode()), end, quoted=quoted))
        return self._state.expanded(parameter[1], (parameter[2] or "") + (parameter[3] or ""), argument, quoted=quoted)


def _add_adjacent(words: list[Word], node: Node) -> None:
    if words and words[-1][-1].end_byte == node.start_byte:
        words[-1].append(node)
    else:
        words.append([node])


def _adjoined(nodes: Iterable[Node]) -> list[Word]:
    words: list[Word] = []
    for node in nodes:
        _add_adjacent(words, node)
    return words


def _flattened(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type in _CLAUSES:
            yield from _flattened(child)
        else:
            yield child


def _special(node: Node, *, quoted: bool) -> Iterator[Node]:
    """The expansions and quotes beneath a node that are beneath no other."""
    enclosed = node.type in _EXPANSIONS or node.type in _QUOTES
    pending = list(reversed(node.children[1:-1] if enclosed else node.children))
    while pending:
        child = pending.pop()
        if child.type in _EXPANSIONS or (child.type in _QUOTES and not (quoted and child.type == "raw_string")):
            yield child
        elif child.child_count:
            pending.extend(reversed(child.children))


def _literal(text: str, *, quoted: bool) -> Iterator[Piece]:
    text = text.replace(preparing.BRACE, "{")
    if quoted and text:
        yield Piece(re.sub(r'\\([$`"\\])', r"\1", text).replace(preparing.QUOTE, '"'), quoted=True)
        return
    for index, piece in enumerate(re.split(r"\\(.)", text, flags=re.DOTALL)):
        if piece:
            yield Piece(piece, quoted=index % 2 == 1)
