"""The grammar: lists, pipelines, compound commands, redirections and here-documents."""

import re

from msgspec import Struct
from msgspec.structs import replace

from openagent.policy.shell.syntax import (
    Assignment,
    Command,
    Compound,
    Function,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Text,
    Word,
)
from openagent.policy.shell.words import MAX_DEPTH, NotUnderstood, WordReader

MAX_LENGTH = 256 * 1024

_BROKEN_TOKEN = re.compile(r"\$\\\n|[&|<>;(]\\\n[&|<>;(]")
_BLANKS = re.compile(r"(?:[ \t]+|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|for|select|while|until|do|done|case|esac|function|time|coproc|in|\{|\}|!|\[\[)(?=[\s;&|()<>]|$)"
)
_REDIRECT = re.compile(r"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\()|&>>|&>)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[(?:[^\]$`]|\$\w+|\$\{\w+\})*\])?(\+?)=")
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[")
_FUNCTION_NAME = re.compile(r"[^\s'\"\\$`|&;()<>{}=]+")
_FUNCTION_PARENTHESES = re.compile(r"[ \t]*\([ \t]*\)")
_DECLARING = tuple((Text(name),) for name in ("export", "declare", "local", "readonly", "typeset"))
_CASE_ENDS = (";;", ";&")
_COMMAND_END = "\n;|&)"


class _HereDocument(Struct):
    redirect: Redirect
    delimiter: str
    literal: bool
    strip_tabs: bool


def parse(text: str) -> Script:
    """The commands of a text. Raises `NotUnderstood`."""
    if len(text) > MAX_LENGTH:
        raise NotUnderstood("it is too long to be read")
    if "\\\n" in text and _BROKEN_TOKEN.search(text):
        raise NotUnderstood("a line is broken in the middle of an operator")
    return GrammarReader(text).whole_script()


class GrammarReader(WordReader):
    def __init__(self, text: str, depth: int = 0) -> None:
        super().__init__(text, depth)
        self._pending: list[_HereDocument] = []

    def whole_script(self) -> Script:
        script = self._script(())
        if self.position < self.end:
            raise NotUnderstood(f"{self.text[self.position]!r} stands where no command can end")
        return script

    def substituted_script(self) -> Script:
        script = self._script((")",))
        self.position += 1
        return script

    # lists and pipelines

    def _script(self, stops: tuple[str, ...]) -> Script:
        """Pipelines up to a stop, which is left in place."""
        pipelines: list[Pipeline] = []
        conditional = False
        while True:
            self._lines()
            if self.position >= self.end:
                if stops or conditional:
                    raise NotUnderstood(f"{stops[0] if stops else 'a command'} is missing at the end")
                return tuple(pipelines)
            if self._at(stops):
                if conditional:
                    raise NotUnderstood("a command is missing after && or ||")
                return tuple(pipelines)
            stages = self._pipeline()
            self._blanks()
            after = self.text[self.position : self.position + 2]
            background = after[:1] == "&" and after != "&&"
            pipelines.append(Pipeline(stages, conditional=conditional, background=background))
            conditional = after in ("&&", "||")
            if conditional:
                self.position += 2
            elif background or (after[:1] == ";" and after not in _CASE_ENDS):
                self.position += 1
            elif after[:1] not in ("", "\n") and not (stops and (after[:1] == ")" or after in _CASE_ENDS)):
                raise NotUnderstood(f"{after[:1]!r} stands where a command should end")

    def _at(self, stops: tuple[str, ...]) -> bool:
        for stop in stops:
            if stop in (")", ";;", ";&"):
                if self.text.startswith(stop, self.position):
                    return True
            elif self._reserved() == stop:
                return True
        return False

    def _reserved(self) -> str:
        found = _RESERVED.match(self.text, self.position)
        return found[0] if found else ""

    def _expect(self, word: str) -> None:
        self._lines()
        if self._reserved() != word:
            raise NotUnderstood(f"{word!r} is missing")
        self.position += len(word)

    def _pipeline(self) -> tuple[Command, ...]:
        stages: list[Command] = []
        while (reserved := self._reserved()) in ("!", "time"):
            self.position += len(reserved)
            self._blanks()
            if reserved == "time" and re.match(r"-p(?=\s)", self.text[self.position : self.position + 3]):
                self.position += 2
                self._blanks()
        while True:
            stages.append(self._command())
            self._blanks()
            if not self.text.startswith("|", self.position) or self.text.startswith("||", self.position):
                return tuple(stages)
            self.position += 2 if self.text.startswith("|&", self.position) else 1
            self._lines()

    # blanks, newlines and here-documents

    def _blanks(self) -> None:
        if blanks := _BLANKS.match(self.text, self.position):
            self.position = blanks.end()
        if self.position < self.end and self.text[self.position] == "#" and self._starts_word():
            self.position = _COMMENT.match(self.text, self.position).end()  # pyright: ignore[reportOptionalMemberAccess]

    def _starts_word(self) -> bool:
        return self.position == 0 or self.text[self.position - 1] in " \t\n;|&()"

    def _lines(self) -> None:
        self._blanks()
        while self.position < self.end and self.text[self.position] == "\n":
            self.position += 1
            if self._pending:
                self._here_documents()
            self._blanks()

    def _here_documents(self) -> None:
        for pending in self._pending:
            lines: list[str] = []
            while self.position < self.end:
                newline = self.text.find("\n", self.position)
                stop = self.end if newline < 0 else newline
                line = self.text[self.position : stop]
                self.position = min(stop + 1, self.end)
                if pending.strip_tabs:
                    line = line.lstrip("\t")
                if line == pending.delimiter:
                    break
                lines.append(line)
            body = "\n".join(lines) + ("\n" if lines else "")
            parts = (Text(body, quoted=True),) if pending.literal else self.parts_of(body)
            pending.redirect.target = Word(parts)
        self._pending.clear()

    # commands

    def _command(self) -> Command:
        if self.depth >= MAX_DEPTH:
            raise NotUnderstood("it is nested too deeply")
        self.depth += 1
        command = self._compound_or_simple()
        self.depth -= 1
        return command

    def _compound_or_simple(self) -> Command:
        if self.text.startswith("((", self.position):
            inside = self.arithmetic_text(self.position + 2)
            if inside is not None:
                return self._redirected(Compound("arithmetic", words=(Word(self.arithmetic_parts(inside)),)))
        if self.text.startswith("(", self.position):
            self.position += 1
            return self._redirected(Compound("subshell", (self.substituted_script(),)))
        reserved = self._reserved()
        if not reserved:
            return self._simple()
        self.position += len(reserved)
        match reserved:
            case "{":
                compound = Compound("group", (self._block("}"),))
            case "[[":
                compound = self._test()
            case "if":
                compound = self._if()
            case "while" | "until":
                compound = Compound("loop", (self._block("do"), self._block("done")))
            case "for" | "select":
                compound = self._for()
            case "case":
                compound = self._case()
            case "function" | "coproc":
                return self._function_keyword() if reserved == "function" else self._coproc()
            case _:
                raise NotUnderstood(f"{reserved!r} stands where a command should start")
        return self._redirected(compound)

    def _redirected(self, compound: Compound) -> Compound:
        redirects: list[Redirect] = []
        self._blanks()
        while self._redirect(redirects):
            self._blanks()
        return replace(compound, redirects=tuple(redirects)) if redirects else compound

    def _block(self, stop: str) -> Script:
        script = self._script((stop,))
        if not script:
            raise NotUnderstood(f"there is nothing before {stop!r}")
        self._expect(stop)
        return script

    def _if(self) -> Compound:
        blocks: list[Script] = [self._block("then")]
        while True:
            blocks.append(self._script(("elif", "else", "fi")))
            reserved = self._reserved()
            self.position += len(reserved)
            if reserved == "elif":
                blocks.append(self._block("then"))
            elif reserved == "else":
                blocks.append(self._block("fi"))
                break
            else:
                break
        return Compound("if", tuple(blocks))

    def _for(self) -> Compound:
        self._blanks()
        variable, words = "", ()
        if self.text.startswith("((", self.position):
            inside = self.arithmetic_text(self.position + 2)
            if inside is None:
                raise NotUnderstood("the head of a for loop is not closed")
            words = (Word(self.arithmetic_parts(inside.replace(";", " "))),)
        else:
            name = re.compile(r"[A-Za-z_]\w*(?=[\s;])").match(self.text, self.position)
            if name is None:
                raise NotUnderstood("a for loop names no variable")
            variable = name[0]
            self.position = name.end()
            self._lines()
            if self._reserved() == "in":
                self.position += 2
                words = tuple(self._words())
        self._blanks()
        if self.text.startswith(";", self.position):
            self.position += 1
        self._expect("do")
        return Compound("for", (self._block("done"),), words=words, variable=variable)

    def _words(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self._blanks()
            if self.position >= self.end or self.text[self.position] in "\n;)":
                return words
            words.append(self.word())

    def _case(self) -> Compound:
        self._blanks()
        words = [self.word()]
        self._expect("in")
        blocks: list[Script] = []
        while True:
            self._lines()
            if self._reserved() == "esac":
                self.position += 4
                return Compound("case", tuple(blocks), words=tuple(words))
            if self.text.startswith("(", self.position):
                self.position += 1
            while True:
                self._blanks()
                words.append(self.word())
                self._blanks()
                separator = self.text[self.position : self.position + 1]
                self.position += 1
                if separator == ")":
                    break
                if separator != "|":
                    raise NotUnderstood("a pattern of a case is not closed")
            blocks.append(self._script((";;", ";&", "esac")))
            if ending := re.compile(r";;&|;;|;&").match(self.text, self.position):
                self.position = ending.end()

    def _test(self) -> Compound:
        words: list[Word] = []
        while True:
            self._lines()
            if self.position >= self.end:
                raise NotUnderstood("]] is missing")
            if re.compile(r"\]\](?=[\s;&|()<>]|$)").match(self.text, self.position):
                self.position += 2
                return Compound("test", words=tuple(words))
            if self.text[self.position] in "()<>|&;" and not re.compile(r"[<>]\(").match(self.text, self.position):
                self.position += 1
            else:
                words.append(self.word())

    def _function_keyword(self) -> Function:
        self._blanks()
        name = _FUNCTION_NAME.match(self.text, self.position)
        if name is None:
            raise NotUnderstood("a function has no plain name")
        self.position = name.end()
        return self._function(name[0])

    def _function(self, name: str) -> Function:
        if parentheses := _FUNCTION_PARENTHESES.match(self.text, self.position):
            self.position = parentheses.end()
        self._lines()
        return Function(name, self._command())

    def _coproc(self) -> Command:
        self._blanks()
        if name := re.compile(r"[A-Za-z_]\w*[ \t]+(?=[({])").match(self.text, self.position):
            self.position = name.end()
        return self._command()

    def _simple(self) -> Command:
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        declaring = False
        while True:
            self._blanks()
            if self.position >= self.end:
                break
            character = self.text[self.position]
            if self._redirect(redirects):
                continue
            if character in _COMMAND_END:
                break
            if character == "(":
                if len(words) == 1 and not assignments and not redirects:
                    return self._named_function(words[0])
                raise NotUnderstood("a parenthesis stands where none is expected")
            if (not words or declaring) and (assignment := self._assignment()):
                assignments.append(assignment)
                continue
            words.append(self.word())
            if len(words) == 1:
                declaring = words[0].parts in _DECLARING
        if not words and not assignments and not redirects:
            raise NotUnderstood("a command is missing")
        return Simple(tuple(words), tuple(assignments), tuple(redirects))

    def _named_function(self, word: Word) -> Function:
        first = word.parts[0]
        if len(word.parts) != 1 or not isinstance(first, Text) or first.quoted:
            raise NotUnderstood("a function has no plain name")
        if _FUNCTION_PARENTHESES.match(self.text, self.position) is None:
            raise NotUnderstood("a parenthesis stands where none is expected")
        return self._function(first.text)

    def _assignment(self) -> Assignment | None:
        head = _ASSIGNMENT.match(self.text, self.position)
        if head is None:
            if _SUBSCRIPT.match(self.text, self.position):
                raise NotUnderstood("a subscript can hold anything, blanks too")
            return None
        self.position = head.end()
        append = bool(head[3] or head[2])
        if self.text.startswith("(", self.position):
            self.position += 1
            elements: list[Word] = []
            while True:
                self._lines()
                if self.text.startswith(")", self.position):
                    self.position += 1
                    return Assignment(head[1], None, append, tuple(elements))
                elements.append(self.word())
        empty = re.compile(r"[ \t\n;|&)]|[<>](?!\()|$").match(self.text, self.position)
        if empty:
            return Assignment(head[1], Word((Text(""),)), append)
        return Assignment(head[1], self.word(), append)

    def _redirect(self, redirects: list[Redirect]) -> bool:
        found = _REDIRECT.match(self.text, self.position)
        if found is None:
            return False
        self.position = found.end()
        self._blanks()
        operator = found[2]
        redirect = Redirect(operator, self.word(), found[1] or "")
        redirects.append(redirect)
        if operator in ("<<", "<<-"):
            redirect.operator = "<<"
            texts = [part for part in redirect.target.parts if isinstance(part, Text)]
            if len(texts) != len(redirect.target.parts):
                raise NotUnderstood("the end mark of a here-document is not plain text")
            delimiter = "".join(text.text for text in texts)
            literal = any(text.quoted for text in texts)
            self._pending.append(_HereDocument(redirect, delimiter, literal, operator == "<<-"))
            redirect.target = Word((Text("", quoted=True),))
        return True
