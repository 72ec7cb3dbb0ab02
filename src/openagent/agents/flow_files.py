"""A flow as a TOML file: steps of templates, in order, side by side, or again until a command passes."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.flows import FlowAgentInfo, FlowInfo, FlowStepInfo
from openagent.protocol.sessions import Mode

MAX_TEXT = 64 << 10
LONGEST_VALUE = 8_000
"""Characters of an input or of a step's answer that later tasks are given."""
CHECK = "check"
"""What the check said, in the tasks of a step that is repeated until it passes."""
_PLACE = re.compile(r"\{\{|\}\}|\{([A-Za-z_][\w-]*)\}")
Name = Annotated[str, Meta(pattern=r"^[A-Za-z_][\w-]{0,40}$")]


class FlowInput(Struct, frozen=True, forbid_unknown_fields=True):
    description: str = ""
    default: str | None = None


class FlowAgent(Struct, frozen=True, forbid_unknown_fields=True):
    template: str
    task: str


class FlowStepEntry(Struct, frozen=True, forbid_unknown_fields=True):
    name: Name
    template: str = ""
    task: str = ""
    parallel: list[FlowAgent] = []
    until: str = ""
    """A command. Before each round it is run in the workspace; when it succeeds, the step is done."""
    max_rounds: Annotated[int, Meta(ge=1, le=50)] = 3

    @property
    def agents(self) -> list[FlowAgent]:
        return [FlowAgent(self.template, self.task), *self.parallel] if self.template else list(self.parallel)

    def described(self) -> str:
        who = " + ".join(agent.template for agent in self.agents)
        if not self.until:
            return f"{self.name}: {who}"
        return f"{self.name}: {f'{who}, {self.max_rounds} times at most, ' if who else ''}until `{self.until}` passes"


class Flow(Struct, frozen=True, forbid_unknown_fields=True):
    step: Annotated[list[FlowStepEntry], Meta(min_length=1, max_length=50)]
    name: str = ""
    description: str = ""
    mode: Mode | None = None
    """No wider than the configured one."""
    budget_usd: Annotated[float, Meta(gt=0)] | None = None
    inputs: dict[Name, str | FlowInput] = {}

    def input(self, name: str) -> FlowInput:
        given = self.inputs[name]
        return given if isinstance(given, FlowInput) else FlowInput(given)


def read_flow(text: str, file: str) -> Flow:
    """Raises OpenAgentError('config_error') that names the file and the place."""
    if len(text) > MAX_TEXT:
        raise OpenAgentError("config_error", f"{file} is longer than {MAX_TEXT >> 10} KB.", hint="Split the flow.")
    try:
        flow = msgspec.convert(tomllib.loads(text), Flow)
    except tomllib.TOMLDecodeError as problem:
        raise OpenAgentError("config_error", f"{file}: {problem}.", hint="Correct the TOML.") from None
    except msgspec.ValidationError as problem:
        raise OpenAgentError(
            "config_error", f"{file}: {problem}.", hint="`openagent help agents` shows a whole flow."
        ) from None
    flow = msgspec.structs.replace(flow, name=flow.name or PurePath(file).stem)
    if problems := list(_problems(flow)):
        raise OpenAgentError(
            "config_error", f"{file}: {problems[0]}.", hint="`openagent help agents` shows a whole flow."
        )
    return flow


def _problems(flow: Flow) -> Iterable[str]:
    known = set(flow.inputs)
    for step in flow.step:
        if step.name in known or step.name == CHECK:
            yield f"the name {step.name!r} is taken by an input, an earlier step or the program"
        if step.task and not step.template:
            yield f"the step {step.name!r} has a task and no template"
        if not step.agents and not step.until:
            yield f"the step {step.name!r} does nothing: give it a template and a task, `parallel` or `until`"
        if step.template and not step.task.strip():
            yield f"the step {step.name!r} has no task"
        here = known | ({CHECK} if step.until else set[str]())
        for agent in step.agents:
            for found in _PLACE.finditer(agent.task):
                if (name := found[1]) and name not in here:
                    yield f"the step {step.name!r} names {{{name}}}, which is no input and no earlier step"
        known.add(step.name)


def filled(task: str, values: Mapping[str, str]) -> str:
    def fill(found: "re.Match[str]") -> str:
        return values[found[1]] if found[1] else found[0][0]

    return _PLACE.sub(fill, task)


def cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "\n[…]"


def given_inputs(flow: Flow, given: Mapping[str, str]) -> dict[str, str]:
    if unknown := [name for name in given if name not in flow.inputs]:
        wanted = ", ".join(flow.inputs) or "none"
        raise OpenAgentError(
            "invalid_argument", f"The flow {flow.name!r} has no input {unknown[0]!r}.", hint=f"It wants: {wanted}."
        )
    values: dict[str, str] = {}
    for name in flow.inputs:
        value = given.get(name, flow.input(name).default)
        if value is None:
            what = flow.input(name).description
            raise OpenAgentError(
                "invalid_argument",
                f"The flow {flow.name!r} wants the input {name!r}{f' ({what})' if what else ''}.",
                hint=f"Give it with `--input {name}=…`.",
            )
        values[name] = cut(value)
    return values


def described(flow: Flow, file: str, problems: list[str], text: str = "") -> FlowInfo:
    given = {name: flow.input(name) for name in flow.inputs}
    return FlowInfo(
        name=flow.name,
        description=flow.description,
        file=file,
        inputs={name: each.description for name, each in given.items()},
        defaults={name: each.default for name, each in given.items() if each.default is not None},
        steps=[step.described() for step in flow.step],
        problems=problems,
        text=text,
        plan=[_drawn(step) for step in flow.step],
    )


def _drawn(step: FlowStepEntry) -> FlowStepInfo:
    named = [found[1] for agent in step.agents for found in _PLACE.finditer(agent.task) if found[1]]
    return FlowStepInfo(
        name=step.name,
        agents=[FlowAgentInfo(agent.template, agent.task) for agent in step.agents],
        until=step.until,
        max_rounds=step.max_rounds if step.until else 1,
        takes=[name for name in dict.fromkeys(named) if name != CHECK],
    )
