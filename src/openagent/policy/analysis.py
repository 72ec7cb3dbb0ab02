"""A shell command to the simple commands that would run, each with what the built-in rules say about it."""

import re
import shlex
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from openagent.policy import paths
from openagent.policy.builtin import catalogue
from openagent.policy.builtin.calls import Call, Inner, InnerScript, Input, Outcome, reads, writes
from openagent.policy.builtin.catalogue import Finding, Level
from openagent.policy.builtin.describing import COMMANDS
from openagent.policy.builtin.handlers import outcomes
from openagent.policy.builtin.network import FETCHING
from openagent.policy.builtin.output import static_output
from openagent.policy.builtin.programs import code_findings
from openagent.policy.builtin.variables import assigns
from openagent.policy.shell.preparing import NotUnderstood
from openagent.policy.shell.reading import parse
from openagent.policy.shell.syntax import Assignment, Command, Compound, Function, Pipeline, Redirect, Script, Simple
from openagent.policy.shell.values import FROM_NETWORK, SENSITIVE, UNKNOWN, Expander, State, Value
from openagent.policy.shell.walk import assigned_names, calls_itself_twice, command_names
from openagent.policy.units import Unit

_MAX_UNITS = 400
_EVALUATING = frozenset(
    ("test", "printf", "read", "unset", "let", "declare", "typeset", "local", "export", "readonly", "mapfile", "wait")
)
_MAX_DEPTH = 12
_MAX_LOOP_VALUES = 6
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufeff\ufff9-\ufffb\ue000-\uf8ff]|[\U000e0000-\U000e0fff]"
)
_STANDARD_FOLDERS = ("", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")


def analyse(command: str, workspace: str, cwd: str = "") -> list[Unit]:
    """Never raises: what cannot be read is a unit that says so."""
    if _HIDDEN.search(command):
        return [Unit((command,), known=False, findings=(Finding(catalogue.HIDDEN_CHARACTERS),))]
    analyser = _Analyser(workspace, cwd or workspace)
    try:
        analyser.script(parse(command))
    except NotUnderstood as problem:
        analyser.units.append(
            Unit((command,), known=False, findings=(Finding(catalogue.NOT_UNDERSTOOD, str(problem)),))
        )
    return analyser.units


def analyse_code(tool: str, code: str, workspace: str) -> list[Unit]:
    """A program in another language than the shell's, or the call of a tool that is not known."""
    analyser = _Analyser(workspace, workspace)
    try:
        analyser.code(tool, code)
    except NotUnderstood as problem:
        analyser.units.append(
            Unit((tool, code), known=False, findings=(Finding(catalogue.NOT_UNDERSTOOD, str(problem)),))
        )
    return analyser.units


class _Output(Struct, frozen=True):
    text: str | None = None
    producers: tuple[str, ...] = ()
    sensitive: bool = False

    def as_input(self) -> Input:
        return Input(self.text, self.producers, True, self.sensitive)


_NOTHING = _Output(text="")


class _Analyser:
    def __init__(self, workspace: str, cwd: str) -> None:
        self.units: list[Unit] = []
        self._workspace = workspace.rstrip("/") or "/"
        self._state = State(cwd)
        self._expander = Expander(self._state, self._substitute)
        self._depth = 0
        self._running: list[Command] = []

    # scripts

    def code(self, tool: str, code: str) -> None:
        found = code_findings(self._make_call(tool, (), Input()), code)
        self._add((tool, code), [outcome for outcome in found if isinstance(outcome, Finding)])
        for outcome in found:
            list(self._inner(outcome))

    def script(self, script: Script, given: Input | None = None) -> _Output:
        outputs: list[_Output] = []
        moved_when_sure = self._state.cwd
        for pipeline in script:
            if not pipeline.conditional and self._state.cwd != moved_when_sure:
                self._state.lose_way(moved_when_sure)
            self._state.conditional += pipeline.conditional or pipeline.background
            outputs.append(self._pipeline(pipeline, given or Input()))
            self._state.conditional -= pipeline.conditional or pipeline.background
            if not pipeline.conditional:
                moved_when_sure = self._state.cwd
        return _together(outputs)

    def _pipeline(self, pipeline: Pipeline, given: Input) -> _Output:
        if len(pipeline.stages) == 1:
            return self._command(pipeline.stages[0], given)
        cwd = self._state.cwd
        self._state.conditional += 1
        output = _NOTHING
        for stage in pipeline.stages:
            output = self._command(stage, given)
            self._state.cwd = cwd
            given = output.as_input()
        self._state.conditional -= 1
        return output

    def _command(self, command: Command, given: Input) -> _Output:
        if isinstance(command, Simple):
            return self._simple(command, given)
        if isinstance(command, Function):
            self._define(command)
            return _NOTHING
        return self._compound(command, given)

    def _define(self, function: Function) -> None:
        if calls_itself_twice(function):
            self._add((function.name,), [Finding(catalogue.FORK_BOMB, function.name)])
            return
        if function.name in COMMANDS:
            self._add((function.name,), [Finding(catalogue.STEERS_SHELL, f"a function named {function.name}")])
        self._state.functions[function.name] = function.body
        cwd = self._state.cwd
        self._call_function(function.body, None)
        self._state.cwd = cwd

    def _call_function(self, body: Command, arguments: tuple[Value, ...] | None) -> _Output:
        if any(body is running for running in self._running) or self._depth > _MAX_DEPTH:
            return _Output()
        outer = self._state.positional
        self._state.positional = arguments
        self._state.conditional += 1
        self._running.append(body)
        output = self._command(body, Input())
        self._running.pop()
        self._state.conditional -= 1
        self._state.positional = outer
        return output

    def _compound(self, compound: Compound, given: Input) -> _Output:
        redirected = self._redirects(compound.redirects, given)
        state = self._state
        cwd = state.cwd
        if compound.kind == "group":
            return self.script(compound.blocks[0], redirected)
        if compound.kind in ("loop", "for"):
            for name in assigned_names(compound.blocks):
                state.forget(name)
        values = self._expander.fields(compound.words) if compound.kind == "for" and compound.variable else []
        if compound.kind != "for" or not compound.variable:
            tested = [self._expander.single(word) for word in compound.words]
            outcomes = list(_subscript_code(tested))
            if outcomes:
                self._add((compound.kind,), [outcome for outcome in outcomes if isinstance(outcome, Finding)])
                for outcome in outcomes:
                    list(self._inner(outcome))
        if compound.variable and (steered := self._steered(compound.variable)):
            self._add((compound.kind, compound.variable), steered)
        state.conditional += 1
        outputs: list[_Output] = []
        for value in self._loop_values(compound, values):
            if compound.variable:
                state.uncertain.discard(compound.variable)
                state.variables.pop(compound.variable, None)
                if value is not None and value.known:
                    state.variables[compound.variable] = value.text
                else:
                    state.forget(compound.variable)
            for block in compound.blocks:
                outputs.append(self.script(block, redirected))
                if compound.kind == "subshell":
                    state.cwd = cwd
        state.conditional -= 1
        if compound.variable:
            state.forget(compound.variable)
        if state.cwd != cwd:
            state.lose_way(cwd)
        return _together(outputs) if compound.kind == "subshell" else _Output(producers=_together(outputs).producers)

    def _steered(self, name: str) -> list[Finding]:
        """By a variable that gets some value."""
        return [outcome for outcome in assigns(name, Value("", known=False)) if isinstance(outcome, Finding)]

    def _loop_values(self, compound: Compound, values: list[Value]) -> list[Value | None]:
        if compound.kind != "for" or not compound.variable:
            return [None]
        if not compound.words or not values:
            return [None]
        if len(values) > _MAX_LOOP_VALUES:
            interesting = [v for v in values if v.text[:1] in ("/", "~", "-", ".") or not v.known]
            return [
                *interesting[:_MAX_LOOP_VALUES],
                values[0],
                None if len(interesting) > _MAX_LOOP_VALUES else values[-1],
            ]
        return list(values)

    # simple commands

    def _simple(self, simple: Simple, given: Input) -> _Output:
        values = self._expander.fields(simple.words) if simple.words else []
        redirected = self._redirects(simple.redirects, given)
        declares = bool(values)
        findings = self._assignments(simple.assignments, persist=not values, declared=declares)
        while self._state.set_on_the_way:
            findings.extend(self._steered(self._state.set_on_the_way.pop()))
        if findings:
            self._add(tuple(assignment.name + "=" for assignment in simple.assignments), findings)
        if not values:
            return _reading_output(simple, redirected)
        if simple.assignments and values[0].text in ("export", "declare", "typeset", "local", "readonly"):
            self._assignments(simple.assignments, persist=True, declared=False)
            values = [*values, Value("-g")] if len(values) == 1 else values
        output = self._run(values, redirected)
        return replace(output, text=None) if _diverts_output(simple.redirects) else output

    def _assignments(self, assignments: Iterable[Assignment], *, persist: bool, declared: bool) -> list[Finding]:
        found: list[Finding] = []
        for assignment in assignments:
            value = self._expander.single(assignment.value) if assignment.value else Value("", known=False)
            elements = tuple(self._expander.fields(assignment.elements))
            for outcome in assigns(assignment.name, value):
                found.extend([outcome] if isinstance(outcome, Finding) else self._inner(outcome))
            if paths.names_credentials(value.text):
                found.append(Finding(catalogue.READS_CREDENTIALS, value.text))
            if re.search(r"\$\(|`", value.text) and value.known:
                found.append(Finding(catalogue.DYNAMIC, "code kept in a variable"))
            if persist:
                self._state.assign(assignment.name, value.text, known=value.known and not assignment.append)
                if assignment.value is None and not assignment.append:
                    self._state.arrays[assignment.name] = elements
        return found

    def _run(self, values: list[Value] | tuple[Value, ...], given: Input) -> _Output:
        if len(self.units) > _MAX_UNITS:
            raise NotUnderstood("it runs too many commands")
        first, arguments = values[0], tuple(values[1:])
        folder, slash, name = first.text.rpartition("/")
        if not first.known or first.glob or UNKNOWN in first.text:
            return self._dynamic(values)
        if first.text in self._state.functions:
            self._add(tuple(v.text for v in values), [], known=all(v.known for v in values))
            return self._call_function(self._state.functions[first.text], arguments)
        if first.text in self._state.aliases:
            return self._run_alias(first.text, arguments, given)
        call = self._make_call(name, arguments, given)
        found = outcomes(call)
        if found is None or (slash and folder not in _STANDARD_FOLDERS):
            aims = slash and found is None and any(call.is_critical(value) for value in arguments)
            rule = catalogue.DYNAMIC_DANGER if aims else catalogue.UNKNOWN_COMMAND
            found = [*(found or ()), Finding(rule, first.text)]
        if name in _EVALUATING:
            found.extend(_subscript_code(values))
        findings = [outcome for outcome in found if isinstance(outcome, Finding)]
        self._add(tuple(v.text for v in values), findings, known=all(v.known for v in values))
        inner_findings = [finding for outcome in found for finding in self._inner(outcome)]
        return self._output(call, given, [*findings, *inner_findings])

    def _make_call(self, name: str, arguments: tuple[Value, ...], given: Input) -> Call:
        return Call(name, arguments, given, self._state, self._workspace)

    def _dynamic(self, values: list[Value] | tuple[Value, ...]) -> _Output:
        call = self._make_call("", tuple(values[1:]), Input())
        text = values[0].text
        rule = catalogue.DYNAMIC
        if FROM_NETWORK in text:
            rule = catalogue.REMOTE_CODE
        elif any(call.is_critical(value) or call.place(value) in ("device", "system") for value in values[1:]):
            rule = catalogue.DYNAMIC_DANGER
        self._add(tuple(v.text for v in values), [Finding(rule, text)], known=False)
        # It may be empty, or be what it was guessed to be: what is never allowed stays so.
        likely = [Value(text), *values[1:]] if text and UNKNOWN not in text else list(values[1:])
        if likely and self._depth < _MAX_DEPTH:
            list(self._inner(Inner(tuple(likely), speculative=True)))
        return _Output()

    def _run_alias(self, name: str, arguments: tuple[Value, ...], given: Input) -> _Output:
        text = self._state.aliases.pop(name)
        output = self._nested(text + " " + " ".join(shlex.quote(value.text) for value in arguments), given)
        self._state.aliases[name] = text
        return output

    def _inner(self, outcome: Outcome) -> Iterator[Finding]:
        """Runs what a command runs; says what was found, for what flows out of it."""
        before = len(self.units)
        cwd = self._state.cwd
        if isinstance(outcome, Inner) and outcome.values:
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise NotUnderstood("commands inside commands go too deep")
            self._state.conditional += 1
            self._run(outcome.values, outcome.input)
            self._state.conditional -= 1
            self._depth -= 1
        elif isinstance(outcome, InnerScript) and outcome.text.strip():
            outer = self._state.positional
            if outcome.positional is not None:
                self._state.positional = outcome.positional
            self._nested(outcome.text, Input())
            self._state.positional = outer
            if not outcome.same_shell:
                self._state.cwd = cwd
        if isinstance(outcome, Inner | InnerScript) and outcome.speculative:
            self._state.cwd = cwd
            self.units[before:] = [unit for unit in self.units[before:] if unit.level is Level.DENY]
        for unit in self.units[before:]:
            yield from unit.findings

    def _nested(self, text: str, given: Input) -> _Output:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise NotUnderstood("commands inside commands go too deep")
        self._state.conditional += 1
        try:
            output = self.script(parse(text), given)
        except NotUnderstood as problem:
            self._add((text,), [Finding(catalogue.NOT_UNDERSTOOD, str(problem))], known=False)
            output = _Output()
        self._state.conditional -= 1
        self._depth -= 1
        return output

    # redirections, substitutions and what flows out

    def _redirects(self, redirects: Iterable[Redirect], given: Input) -> Input:
        for redirect in redirects:
            target = self._expander.single(redirect.target)
            if redirect.operator in ("<<", "<<<"):
                text = target.text if redirect.operator == "<<" else target.text + "\n"
                given = Input(text, (), True, SENSITIVE in text)
                continue
            if redirect.operator in (">&", "<&") and re.fullmatch(r"\d*-?", target.text):
                continue
            call = self._make_call("", (), given)
            findings: list[Outcome] = []
            if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
                findings.append(Finding(catalogue.REMOTE_SHELL, target.text))
            elif redirect.operator in ("<", "<&", "<>"):
                findings.extend(reads(call, [target]) if not target.scripts else [])
            if redirect.operator not in ("<", "<&") and not findings:
                findings.extend(writes(call, target))
            if redirect.operator in ("<", "<&", "<>"):
                sensitive = any(isinstance(f, Finding) and f.rule is catalogue.READS_CREDENTIALS for f in findings)
                producers = tuple(name for script in target.scripts for name in command_names(script))
                given = Input(None, producers, True, sensitive)
            kept = [finding for finding in findings if isinstance(finding, Finding)]
            self._add((redirect.operator, target.text), kept, known=target.known, redirection=True)
        return given

    def _substitute(self, script: Script) -> tuple[str, bool]:
        self._depth += 1
        if self._depth > _MAX_DEPTH * 3:
            raise NotUnderstood("commands inside commands go too deep")
        cwd = self._state.cwd
        self._state.conditional += 1
        output = self.script(script)
        self._state.conditional -= 1
        self._state.cwd = cwd
        self._depth -= 1
        if output.text is not None and UNKNOWN not in output.text:
            return output.text, True
        marks = (FROM_NETWORK if FETCHING & set(output.producers) else "") + (SENSITIVE if output.sensitive else "")
        return UNKNOWN + marks, False

    def _output(self, call: Call, given: Input, findings: list[Finding]) -> _Output:
        sensitive = given.sensitive or any(
            finding.rule in (catalogue.READS_CREDENTIALS, catalogue.DUMPS_ENVIRONMENT, catalogue.SECRET_STORE)
            for finding in findings
        )
        return _Output(
            text=static_output(call),
            producers=(*given.producers, call.name),
            sensitive=sensitive,
        )

    def _add(
        self, argv: tuple[str, ...], findings: list[Finding], *, known: bool = True, redirection: bool = False
    ) -> None:
        self.units.append(Unit(argv, known, tuple(findings), self._state.cwd, redirection))


def _subscript_code(values: Iterable[Value]) -> Iterator[Outcome]:
    """`[ -v 'a[$(rm x)]' ]`: these commands evaluate array subscripts found in their words."""
    for value in values:
        if value.known and (code := re.search(r"\[.*(?:\$\((.*)\)|`(.*)`)", value.text, re.DOTALL)):
            yield Finding(catalogue.DYNAMIC, value.text)
            yield InnerScript(code[1] or code[2] or "", speculative=True)


def _together(outputs: list[_Output]) -> _Output:
    if len(outputs) == 1:
        return outputs[0]
    texts = [output.text for output in outputs if output.text is not None]
    return _Output(
        text="".join(texts) if len(texts) == len(outputs) else None,
        producers=tuple(name for output in outputs for name in output.producers),
        sensitive=any(output.sensitive for output in outputs),
    )


def _reading_output(simple: Simple, given: Input) -> _Output:
    """`$(<file)`, or nothing but assignments."""
    if not simple.redirects:
        return _NOTHING
    return _Output(text=given.text, producers=given.producers, sensitive=given.sensitive)


def _diverts_output(redirects: Iterable[Redirect]) -> bool:
    return any(redirect.operator[0] in ">&" and redirect.descriptor in ("", "1") for redirect in redirects)
