"""A shell command to the simple commands that would run, each with what the built-in rules say about it."""

import re
import shlex
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext

from msgspec.structs import replace
from tree_sitter import Node

from openagent.bash import UNKNOWN, preparing
from openagent.bash.preparing import MAX_DEPTH, NotUnderstood
from openagent.bash.reading import Pipeline, Redirect, Script, Stage, Text
from openagent.bash.values import FROM_NETWORK, SENSITIVE, State, Value
from openagent.policy import paths
from openagent.policy.builtin.calls import Call, Flow, Inner, InnerScript, Outcome, reads, writes
from openagent.policy.builtin.catalogue import Finding, Level, hit
from openagent.policy.builtin.describing import COMMANDS, outcomes
from openagent.policy.builtin.output import DECODERS, GUESSED, static_output
from openagent.policy.builtin.programs import code_findings
from openagent.policy.builtin.roles import CONVERTING
from openagent.policy.builtin.steering import steering_option
from openagent.policy.builtin.variables import assigns, is_plain
from openagent.policy.hidden import hides, readings
from openagent.policy.units import Unit

READER_FAILED = "reading it failed"
_MAX_UNITS = 400
_MAX_TURNS = 400
"""Of all loops together: inside each other, they multiply."""
_SIMPLE = frozenset(
    ("command", "variable_assignment", "variable_assignments", "declaration_command", "unset_command", "file_redirect")
)
_EVALUATING = frozenset(
    ("test", "printf", "read", "unset", "let", "declare", "typeset", "local", "export", "readonly", "mapfile", "wait")
)
_PAST_FUNCTIONS = frozenset(("command", "builtin", "exec"))
_SAME_SHELL = _PAST_FUNCTIONS | {"trap"}
_MAX_LOOP_VALUES = 6
_OWN_PROGRAM = re.compile(r"/proc/.+/exe")
_NOT_KNOWN = UNKNOWN + FROM_NETWORK + SENSITIVE
_BRACES = re.compile(f"[{{{preparing.BRACE}][^}}]*(?:,|\\.\\.)")
_STANDARD_FOLDERS = ("", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
_SENSITIVE = frozenset(("reads-credentials", "dumps-environment", "secret-store"))


def analyse(command: str, workspace: str, cwd: str = "") -> list[Unit]:
    """Never raises: what cannot be read is a unit that says so. What hides something is read with it and without."""
    if not hides(command):
        return _read(command, workspace, cwd)
    hidden = Unit((command,), known=False, findings=(hit("hidden-characters"),), cwd=cwd or workspace)
    return [hidden, *(unit for text in readings(command) for unit in _read(text, workspace, cwd))]


def _read(command: str, workspace: str, cwd: str) -> list[Unit]:
    analyser = _Analyser(workspace, cwd or workspace)
    try:
        analyser.text(command)
    except Exception as problem:  # a boundary: a reader that trips over a text has not read it
        failed = hit("not-understood", f"{READER_FAILED}: {type(problem).__name__}")
        analyser.add((command,), [failed], known=False)
    return analyser.units


def analyse_code(tool: str, code: str, workspace: str) -> list[Unit]:
    """A program in another language than the shell's, or the call of a tool that is not known."""
    analyser = _Analyser(workspace, workspace)
    analyser.code(tool, code)
    return analyser.units


_CERTAINLY = nullcontext()
_NOTHING = Flow("", given=True)
_SOMETHING = Flow(given=True)


class _Analyser:
    def __init__(self, workspace: str, cwd: str) -> None:
        self.units: list[Unit] = []
        self._workspace = workspace.rstrip("/") or "/"
        self._state = State(cwd)
        self._depth = 0
        self._turns = 0
        self._defining = 0
        self._functions: dict[str, tuple[Stage, int]] = {}
        """Each with how unsure it was, where it was defined, that this is reached."""
        self._unset: set[str] = set()
        """Functions that may be gone."""
        self._variables: set[str] = set()
        """Of what runs now: those that are set for it, or were exported, and that nobody thinks nothing of."""
        self._elsewhere = 0
        """Greater than 0 where functions and aliases are none: in what other programs start, another shell among it."""
        self._running: list[Stage] = []
        self._opened: dict[str, Flow] = {}
        """What `exec` has opened to read, by its number."""

    def add(
        self, argv: tuple[str, ...], findings: list[Finding], *, known: bool = True, redirection: bool = False
    ) -> None:
        if not redirection and (own := sorted(self._variables)):
            findings = [*findings, hit("own-variables", " ".join(own))]
        self.units.append(Unit(argv, known, tuple(findings), self._state.cwd, redirection))

    @contextmanager
    def _deeper(self) -> Generator[None]:
        """Into a script, or into a command that a command starts."""
        if self._depth >= MAX_DEPTH:
            raise NotUnderstood("commands inside commands go too deep")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def _aside(self, *, stays: bool = False) -> Generator[None]:
        """For what may not run, or not in this very shell. `stays`: it does not move those after it."""
        cwd = self._state.cwd
        self._state.conditional += 1
        try:
            yield
        finally:
            self._state.conditional -= 1
            if stays:
                self._state.cwd = cwd

    # scripts

    def text(self, text: str, given: Flow | None = None) -> Flow:
        try:
            read = Text(text, self._state, self._substitute)
            return self._script(read.script(read.root.children), given or Flow())
        except NotUnderstood as problem:
            self.add((text,), [hit("not-understood", str(problem))], known=False)
            return _SOMETHING

    def code(self, tool: str, code: str) -> None:
        found = code_findings(self._make_call(tool, (), Flow()), code)
        self.add((tool, code), _findings(found))
        try:
            self._follow(found)
        except NotUnderstood as problem:
            self.add((tool, code), [hit("not-understood", str(problem))], known=False)

    def _script(self, script: Script, given: Flow) -> Flow:
        outputs: list[Flow] = []
        moved_when_sure = self._state.cwd
        with self._deeper():
            for pipeline in script:
                if not pipeline.conditional and self._state.cwd != moved_when_sure:
                    self._state.lose_way(moved_when_sure)
                with self._aside() if pipeline.conditional or pipeline.background else _CERTAINLY:
                    outputs.append(self._pipeline(pipeline, given))
                if not pipeline.conditional:
                    moved_when_sure = self._state.cwd
        return _together(outputs)

    def _pipeline(self, pipeline: Pipeline, given: Flow) -> Flow:
        if len(pipeline.stages) == 1:
            return self._stage(pipeline.stages[0], given)
        for stage in pipeline.stages:
            with self._aside(stays=True):
                given = self._stage(stage, given)
        return given

    def _stage(self, stage: Stage, given: Flow) -> Flow:
        node = stage.node
        if node is None or node.type in _SIMPLE:
            return self._simple(stage, given)
        if node.type == "function_definition":
            self._define(stage, node)
            return _NOTHING
        return self._compound(stage, node, given)

    def _define(self, stage: Stage, node: Node) -> None:
        name, body = stage.text.function(node)
        if stage.redirects:
            raise NotUnderstood("a redirection of a function's definition")
        itself = rf"[;|&{{(\n]\s*{re.escape(name)}\s*"
        if body.node and re.search(rf"{itself}(?:&(?!&)|(?=\|){itself})", body.text.of(body.node)):
            self.add((name,), [hit("fork-bomb", name)])
            return
        if name in COMMANDS:
            self.add((name,), [hit("steers-shell", f"a function named {name}")])
        self._functions[name] = body, self._state.conditional
        self._defining += 1  # with what arguments it is called stands elsewhere
        with self._aside(stays=True):
            self._call_function(body, None)
        self._defining -= 1

    def _call_function(self, body: Stage, arguments: tuple[Value, ...] | None) -> Flow:
        if any(body is running for running in self._running):
            return _SOMETHING
        outer, self._state.positional = self._state.positional, arguments
        self._running.append(body)
        with self._aside():
            output = self._stage(body, Flow())
        self._running.pop()
        self._state.positional = outer
        return output

    def _compound(self, stage: Stage, node: Node, given: Flow) -> Flow:
        redirects, words = stage.text.redirects(stage.redirects)
        if words:
            raise NotUnderstood("words stand behind a compound command")
        given = self._redirects(stage.text, redirects, given)
        compound = stage.text.compound(node)
        state, variable, cwd = self._state, compound.variable, self._state.cwd
        if compound.kind == "group":
            return self._script(compound.blocks[0], given)
        if compound.kind in ("loop", "for"):
            for name in stage.text.assigned(node):
                state.forget(name)
        if variable:
            if steered := _findings(assigns(variable, Value("", known=False))):
                self.add((compound.kind, variable), steered)
        elif found := list(_subscript_code(compound.values)):
            self.add((compound.kind,), _findings(found))
            self._follow(found)
        outputs: list[Flow] = []
        with self._aside():
            for value in _loop_values(compound.values) if variable else [Value("")]:
                if variable:
                    self._turns += 1
                    if self._turns > _MAX_TURNS:
                        raise NotUnderstood("its loops turn too often")
                    state.forget(variable)
                    if value.known:
                        state.uncertain.discard(variable)
                        state.variables[variable] = value.text
                for block in compound.blocks:
                    outputs.append(self._script(block, given))
                    if compound.kind == "subshell":
                        state.cwd = cwd
        if variable:
            state.forget(variable)
        if state.cwd != cwd:
            state.lose_way(cwd)
        output = _together(outputs)
        return output if compound.kind == "subshell" else replace(output, text=None, sensitive=False)

    # simple commands

    def _simple(self, stage: Stage, given: Flow) -> Flow:
        text = stage.text
        words, assignments, redirects = text.simple(stage)
        values = text.fields(words)
        given = self._redirects(text, redirects, given if given.given else self._opened.get("0", given))
        if [value.text for value in values] == ["exec"]:
            for each in redirects:
                if each.operator[0] == "<":
                    number = each.descriptor or "0"
                    sure = len(redirects) == 1 and number not in self._opened and not self._state.conditional
                    self._opened[number] = given if sure else _SOMETHING
        declares = bool(values) and values[0].text in ("export", "declare", "typeset", "local", "readonly")
        findings: list[Finding] = []
        if declares and any(not value.known or CONVERTING.match(value.text) for value in values[1:]):
            names = (text.assignment(each)[0] for each in assignments)
            self._state.converted.update(names, (value.text for value in values[1:]))
        if declares and any(_BRACES.search(text.of(each)) for each in assignments):
            raise NotUnderstood("braces in a declaration make several of it")
        for assignment in assignments:
            findings.extend(self._assignment(*text.assignment(assignment), persist=declares or not values))
        while self._state.set_on_the_way:
            findings.extend(_findings(assigns(self._state.set_on_the_way.pop(), Value("", known=False))))
        if findings:
            self.add(tuple(text.of(each).partition("=")[0] + "=" for each in assignments), findings)
        if not values:  # `$(<file)`, or nothing but assignments
            return replace(given, given=True) if redirects else _NOTHING
        if declares and assignments and len(values) == 1:
            values = [*values, Value("-g")]
        names = {text.of(each).partition("=")[0].partition("[")[0].rstrip("+") for each in assignments}
        if declares and (values[0].text == "export" or any(re.match(r"-\w*x", value.text) for value in values)):
            self._variables.update(filter(_matters, (*names, *(value.text for value in values[1:]))))
        with self._set_for(() if declares else names):
            output = self._run(tuple(values), given)
        diverted = any(each.operator[0] in ">&" and each.descriptor in ("", "1") for each in redirects)
        return replace(output, text=None) if diverted else output

    def _assignment(
        self, name: str, append: bool, value: Value, elements: tuple[Value, ...] | None, *, persist: bool
    ) -> Iterator[Finding]:
        if steering := assigns(name, value):
            yield from [*_findings(steering), *self._follow(steering)]
        if paths.names_credentials(value.text):
            yield hit("reads-credentials", value.text)
        if value.known and (code := re.search(r"\$\((.*)\)|`(.*)`|\$\(", value.text, re.DOTALL)):
            yield hit("dynamic", "code kept in a variable")  # which arithmetic and prompts run
            yield from self._follow([InnerScript(code[1] or code[2] or "")])
        if persist:
            self._state.assign(name, value.text, known=value.known and not append)
            if elements is not None and not append:
                self._state.arrays[name] = elements

    def _run(self, values: tuple[Value, ...], given: Flow) -> Flow:
        if len(self.units) > _MAX_UNITS:
            raise NotUnderstood("it runs too many commands")
        first, arguments, argv = values[0], values[1:], tuple(map(_word, values))
        known = all(value.known for value in values)
        folder, slash, name = first.text.rpartition("/")
        if slash and _OWN_PROGRAM.fullmatch(paths.resolve(first.text, self._state.cwd)):
            self.add(argv, [hit("hidden-code", first.text)], known=known)  # the shell itself, as far as can be told
            return self._run((Value("bash"), *arguments), given)
        if not first.known or first.glob or UNKNOWN in first.text:
            return self._dynamic(values, argv)
        if name[:4] == "git-" and f"git {name[4:]}" in COMMANDS:
            self.add(argv, [hit("unknown-command", first.text)], known=known)
            return self._run((Value("git"), Value(name[4:]), *arguments), given)
        if (copied := self._state.copies.get(paths.resolve(first.text, self._state.cwd))) and self._depth < MAX_DEPTH:
            self._run_too((Value(copied), *arguments))
        output = self._named_here(first.text, arguments, argv, given, known=known)
        if output is not None and not self._may_be_a_program(first.text):
            return output
        call = self._make_call(name, arguments, given)
        found = outcomes(call)
        if found is None or (slash and folder not in _STANDARD_FOLDERS):
            aims = slash and found is None and any(call.is_critical(value) for value in arguments)
            rule = "dynamic-danger" if aims else "unknown-command"
            found = [*(found or ()), hit(rule, first.text)]
        if option := steering_option(name, call.texts):
            found.append(hit("steers-program", option))
        if name in _EVALUATING:
            found.extend(_subscript_code(values))
        self.add(argv, _findings(found), known=known)
        told = {finding.rule.name for finding in (*_findings(found), *self._follow(found, name))}
        self._unset.update(value.text for value in arguments if name == "unset")
        if not known and (guess := _guessed(values)) != values:
            self._run_too(guess)
        return output or Flow(
            static_output(call),
            given=True,
            sensitive=given.sensitive or not _SENSITIVE.isdisjoint(told),
            fetched=given.fetched or (name in COMMANDS and COMMANDS[name].told.sends),
            decoded=given.decoded or name in DECODERS,
            guessed=given.guessed or name in GUESSED,
        )

    @contextmanager
    def _set_for(self, names: Iterable[str]) -> Generator[None]:
        """Variables that one command alone has."""
        before = self._variables
        self._variables = before.union(filter(_matters, names))
        try:
            yield
        finally:
            self._variables = before | (self._variables - before.union(names))

    def _named_here(
        self, name: str, arguments: tuple[Value, ...], argv: tuple[str, ...], given: Flow, *, known: bool
    ) -> Flow | None:
        """What it does by a name that this shell knows; None: it knows none."""
        if name in self._functions:
            self.add(argv, [], known=known)
            return self._call_function(self._functions[name][0], arguments)
        alias = self._state.aliases.pop(name, None)
        if alias is not None:
            with self._aside():
                output = self.text(f"{alias} {shlex.join(value.text for value in arguments)}", given)
            self._state.aliases[name] = alias
            return output
        return None

    def _may_be_a_program(self, name: str) -> bool:
        """Though a function or an alias is called the same. A shell that asks nobody expands no aliases."""
        if self._elsewhere or name in COMMANDS or name not in self._functions:
            return True
        return name in self._unset or UNKNOWN in self._unset or self._functions[name][1] > self._state.conditional

    def _run_too(self, values: tuple[Value, ...]) -> None:
        with self._deeper(), self._aside(stays=True):
            self._run(values, Flow())

    def _make_call(self, name: str, arguments: tuple[Value, ...], given: Flow) -> Call:
        return Call(name, arguments, given, self._state, self._workspace)

    def _dynamic(self, values: tuple[Value, ...], argv: tuple[str, ...]) -> Flow:
        call = self._make_call("", values[1:], Flow())
        rule = "dynamic"
        if FROM_NETWORK in argv[0]:
            rule = "remote-code"
        elif any(call.is_critical(value) or call.place(value) in ("device", "system") for value in values[1:]):
            rule = "dynamic-danger"
        elif not self._defining and not any(word.strip(_NOT_KNOWN) for word in argv):
            rule = "hidden-code"
        self.add(argv, [hit(rule, argv[0])], known=False)
        # It may be what it was guessed to be, or be empty.
        for likely in (_guessed(values), values[1:]):
            if likely and UNKNOWN not in likely[0].text and not likely[0].glob:
                self._run_too(likely)
        return _SOMETHING

    def _follow(self, found: Iterable[Outcome], name: str = "") -> list[Finding]:
        """Runs what a command runs; says what was found, for what flows out of it. `name`: the command's."""
        start = len(self.units)
        for outcome in found:
            if isinstance(outcome, Finding):
                continue
            before = len(self.units)
            aside = isinstance(outcome, InnerScript) and outcome.positional is not None
            same = name in _SAME_SHELL or (isinstance(outcome, InnerScript) and not aside)
            self._elsewhere += name in _PAST_FUNCTIONS
            with self._deeper(), self._aside(stays=outcome.speculative or aside), _CERTAINLY if same else self._out():
                if isinstance(outcome, Inner):
                    if outcome.values:
                        with self._set_for(outcome.variables):
                            self._run(outcome.values, outcome.input)
                elif outcome.text.strip():
                    outer = self._state.positional
                    self._state.positional = outer if outcome.positional is None else outcome.positional
                    self.text(outcome.text)
                    self._state.positional = outer
            self._elsewhere -= name in _PAST_FUNCTIONS
            if outcome.speculative:
                self.units[before:] = [unit for unit in self.units[before:] if unit.level is Level.DENY]
        return [finding for unit in self.units[start:] for finding in unit.findings]

    @contextmanager
    def _out(self) -> Generator[None]:
        """Into another program, which has of the variables only those that are exported."""
        kept = self._state.left()
        self._elsewhere += 1
        try:
            yield
        finally:
            self._elsewhere -= 1
            self._state.come_back(kept)

    # redirections and substitutions

    def _redirects(self, text: Text, redirects: Iterable[Redirect], given: Flow) -> Flow:
        for redirect in redirects:
            operator, target = text.target(redirect)
            if operator in ("<<", "<<<"):
                told = target.text if operator == "<<" else target.text + "\n"
                given = Flow(told, given=True, sensitive=SENSITIVE in told)
                continue
            if operator in (">&", "<&") and re.fullmatch(r"\d*-?", target.text):
                if operator == "<&" and redirect.descriptor in ("", "0") and target.text not in ("0", "-"):
                    given = self._opened.get(target.text.rstrip("-"), _SOMETHING)
                continue
            call = self._make_call("", (), given)
            found: list[Outcome] = []
            if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
                found.append(hit("remote-shell", target.text))
            elif operator[0] == "<" and not target.process:
                found.extend(reads(call, [target]))
            if operator not in ("<", "<&") and not found:
                found.extend(writes(call, target))
            findings = _findings(found)
            if operator[0] == "<":
                sensitive = any(finding.rule.name == "reads-credentials" for finding in findings)
                given = Flow(given=True, sensitive=sensitive, fetched=FROM_NETWORK in target.text)
            self.add((operator, target.text), findings, known=target.known, redirection=True)
        return given

    def _substitute(self, script: Script) -> tuple[str, bool]:
        with self._aside(stays=True):
            output = self._script(script, Flow())
        if output.text is not None and UNKNOWN not in output.text:
            return output.text, not output.guessed
        marks = (FROM_NETWORK if output.fetched else "") + (SENSITIVE if output.sensitive else "")
        return UNKNOWN + marks, False


def _matters(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]\w*", name) is not None and not is_plain(name)


def _findings(found: Iterable[Outcome]) -> list[Finding]:
    return [outcome for outcome in found if isinstance(outcome, Finding)]


def _loop_values(values: list[Value]) -> list[Value]:
    """What a loop's variable is, turn by turn; of many, those that matter, and any."""
    if 0 < len(values) <= _MAX_LOOP_VALUES:
        return values
    telling = [value for value in values if value.text[:1] in ("/", "~", "-", ".")]
    return [*telling[:_MAX_LOOP_VALUES], Value("", known=False)]


def _subscript_code(values: Iterable[Value]) -> Iterator[Outcome]:
    """`[ -v 'a[$(rm x)]' ]`: these commands evaluate array subscripts found in their words."""
    for value in values:
        if value.known and (code := re.search(r"\[.*(?:\$\((.*)\)|`(.*)`)", value.text, re.DOTALL)):
            yield hit("dynamic", value.text)
            yield InnerScript(code[1] or code[2] or "")


def _word(value: Value) -> str:
    """As rules see it: a guess may be another word, or none."""
    return value.text if value.known or UNKNOWN in value.text else value.text + UNKNOWN


def _guessed(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """As what they are guessed to be."""
    return tuple(replace(value, known=True) if UNKNOWN not in value.text else value for value in values)


def _together(outputs: list[Flow]) -> Flow:
    if len(outputs) == 1:
        return outputs[0]
    texts = [output.text for output in outputs if output.text is not None]
    return Flow(
        "".join(texts) if len(texts) == len(outputs) else None,
        given=True,
        sensitive=any(output.sensitive for output in outputs),
        fetched=any(output.fetched for output in outputs),
        decoded=any(output.decoded for output in outputs),
        guessed=any(output.guessed for output in outputs),
    )
