"""Something a model may call.

Most tools are one async function: `@tool` reads its name, description, JSON Schema and argument types from the
signature and the docstring.

    @tool(effect="read", kind="read", words=("read", "reading", "read"), summary="path", paths=("path",))
    async def read_file(context: ToolContext, path: Annotated[str, "Relative to the workspace."]) -> ToolOutcome:
        '''Read a text file.'''

What is said there of its calls is all that policy, hooks and every client know of them.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Protocol,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import msgspec
from msgspec import Struct

from openagent.plugins.files_read import FilesRead
from openagent.plugins.jail import Shell
from openagent.plugins.provider import ToolSchema
from openagent.protocol.about import About, filled_in
from openagent.protocol.display import NO_DISPLAY, Display
from openagent.protocol.messages import ImagePart
from openagent.protocol.sessions import PlanItem, Question, Settings

if TYPE_CHECKING:
    from openagent.protocol.about import Runs, ToolKind

ToolEffect = Literal["read", "write", "execute", "network", "none"]
"""What a call does to the world: what policy decides on, and what may run side by side."""


class ToolOutcome(Struct, frozen=True):
    """What came of a call. A failure is a value too: the model reads it and goes on."""

    text: str
    is_error: bool = False
    images: list[ImagePart] = []
    display: Display = NO_DISPLAY
    """For people."""
    waiting: bool = False
    """The call looked at something that is still going on: to make it again and see the same is no loop."""

    def __post_init__(self) -> None:
        # Tools of plugins are not always type-checked, and what reads a display stands outside the tool's boundary.
        if not isinstance(self.display, Display):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the display of an outcome must be a Display, not {type(self.display).__name__}")


class Touched(Struct, frozen=True):
    """What one call names in the world: policy judges it by this."""

    paths: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    runs: Literal["", "command", "bash", "code"] = ""
    """In the session's jail."""
    text: str = ""
    """All of what runs, or of what others are told to run: what a person is shown may be shortened."""


class ToolContext(Protocol):
    """What a running call may use."""

    session: str
    call_id: str
    workspace: Path
    scratch: Path
    """The session's private directory, outside the workspace: long output, backups. It may not exist yet."""
    folders: Sequence[Path]
    """Outside the workspace, and let in for this call, because it names files there: with no symbolic link in them."""
    files_read: FilesRead
    """What this session last saw of each file, for refusing edits of a changed file."""
    apart: bool
    """Who hears the call wants to know stderr from stdout, rather than both in the order they came."""

    async def shell(self) -> Shell:
        """The session's shell, started on first use."""
        ...

    def output(self, stream: Literal["stdout", "stderr", "progress"], text: str) -> None:
        """Show output to people while the call runs."""
        ...

    def may_read(self, path: str) -> bool:
        """For a tool that comes across files nobody named: whether rules let the model see this one unasked."""
        ...

    def wrote(self, path: str) -> None:
        """For a tool that writes files itself: a path in the workspace that it has written, replaced or removed, with
        no symbolic link in it."""
        ...

    async def ask(self, question: Question, *, patience: float | None = None) -> str:
        """Wait for a person's answer. Raises TimeoutError after so many seconds."""
        ...

    async def ask_if_there(self, question: Question) -> str | None:
        """The same, for what can do without: None as soon as nobody is there who could answer."""
        ...

    async def set_plan(self, plan: list[PlanItem]) -> None: ...


class Tool(Protocol):
    name: str
    schema: ToolSchema
    effect: ToolEffect
    """The most a call may do."""
    source: str
    """`built-in`, or the plugin or MCP server it comes from."""
    about: About
    """Its kind, its words, and what its arguments name."""

    @property
    def read_only(self) -> bool:
        """Read-only calls of one step may run side by side."""
        ...

    def effect_of(self, arguments: Mapping[str, Any]) -> ToolEffect:
        """What this call does: `effect`, or less."""
        ...

    def touches(self, arguments: Mapping[str, Any]) -> Touched:
        """What this call names. Arguments may not have been checked yet."""
        ...

    def summarize(self, arguments: Mapping[str, Any]) -> str:
        """The call on one line: the command, or the path."""
        ...

    def check(self, arguments: Mapping[str, Any]) -> str | None:
        """What is wrong with the arguments, in a sentence for the model; None when nothing is."""
        ...

    async def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolOutcome: ...


@runtime_checkable
class PreviewingTool(Protocol):
    """A tool that can tell what it would change, so that a person sees it before allowing it."""

    async def preview(self, context: ToolContext, arguments: Mapping[str, Any]) -> str:
        """A unified diff; empty when it changes no files. Changes nothing, and raises what running it would raise."""
        ...


def has_tool(settings: Settings, tool: Tool) -> bool:
    """Whether a session with these settings may call it."""
    if tool.name in settings.disabled_tools:
        return False
    server = tool.source.removeprefix("mcp:")
    if server != tool.source and settings.mcp_servers is not None:
        return server in settings.mcp_servers
    return settings.tools is None or tool.name in settings.tools


ToolFunction = Callable[..., Awaitable[ToolOutcome]]
Summary = str | Callable[[Mapping[str, Any]], str]
"""What stands for the whole call on one line: an argument's name, a template (`git {subcommand}`), or what makes it."""
EffectOf = Callable[[Mapping[str, Any]], ToolEffect]
Touches = Callable[[Mapping[str, Any]], Touched]
Preview = Callable[..., str]
"""Takes what the function takes."""
_PATHS = ("path", "file_path", "file", "filename", "directory")
_URLS = ("url", "uri", "address")
_TEXTS = ("command", "code", "script")


def touched(arguments: Mapping[str, Any], about: About) -> Touched:
    """What the arguments name, as the tool says; where it says nothing, as their names let one guess."""
    guess = not about.paths and not about.urls
    text = next((text for name in _TEXTS if isinstance(text := arguments.get(name), str)), "")
    return Touched(
        paths=_named(arguments, _PATHS if guess else about.paths)[: 1 if guess else None],
        urls=_named(arguments, _URLS if guess else about.urls),
        runs=about.runs,
        text=text,
    )


def _named(arguments: Mapping[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    return tuple(value for name in names if isinstance(value := arguments.get(name), str) and value)


class FunctionTool:
    """A tool made from one async function."""

    def __init__(
        self,
        function: ToolFunction,
        effect: ToolEffect,
        summary: Summary = "",
        *,
        source: str = "built-in",
        effect_of: EffectOf | None = None,
        about: About | None = None,
        touches: Touches | None = None,
        preview: Preview | None = None,
    ) -> None:
        self._touches = touches
        self._preview = preview
        self._function = function
        self._summary = summary
        self._effect_of = effect_of
        self.name = function.__name__
        self.about = about or About(subject="" if callable(summary) else summary)
        self.effect: ToolEffect = effect
        self.source = source
        self._arguments, parameters = _arguments_of(function)
        self.schema = ToolSchema(
            name=self.name, description=inspect.cleandoc(function.__doc__ or ""), parameters=parameters
        )

    @property
    def read_only(self) -> bool:
        return self.effect in ("read", "none")

    def effect_of(self, arguments: Mapping[str, Any]) -> ToolEffect:
        return self._effect_of(arguments) if self._effect_of is not None else self.effect

    def touches(self, arguments: Mapping[str, Any]) -> Touched:
        return self._touches(arguments) if self._touches is not None else touched(arguments, self.about)

    def summarize(self, arguments: Mapping[str, Any]) -> str:
        if callable(self._summary):
            return self._summary(arguments)
        return filled_in(self._summary, arguments) if self._summary else self.name

    def check(self, arguments: Mapping[str, Any]) -> str | None:
        try:
            msgspec.convert(arguments, self._arguments)
        except msgspec.ValidationError as problem:
            return f"{problem}.{_names_told(arguments, self._arguments.__struct_fields__)}"
        return None

    async def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolOutcome:
        values = msgspec.convert(arguments, self._arguments)
        return await self._function(context, **{name: getattr(values, name) for name in values.__struct_fields__})

    async def preview(self, context: ToolContext, arguments: Mapping[str, Any]) -> str:
        if self._preview is None:
            return ""
        values = msgspec.convert(arguments, self._arguments)
        return self._preview(context, **{name: getattr(values, name) for name in values.__struct_fields__})


def _names_told(given: Iterable[str], known: Sequence[str]) -> str:
    """Models know other programs' tools, whose arguments have other names: `old_str`, `file_path`, `cmd`."""
    unknown = [name for name in given if name not in known]
    if not unknown:
        return ""
    meant = [f"{nearest} for {name}" for name in unknown[:_MOST_TOLD] if (nearest := _nearest(name, known))]
    perhaps = f" Perhaps you mean {', '.join(meant)}." if meant else ""
    return f" It takes {', '.join(known) or 'none'}, and does not know {', '.join(unknown[:_MOST_TOLD])}.{perhaps}"


def _nearest(name: str, known: Sequence[str]) -> str:
    words = set(name.lower().split("_"))
    shared = [each for each in known if words & set(each.split("_"))]
    return next(iter(shared or get_close_matches(name.lower(), known, 1)), "")


def tool(
    *,
    effect: ToolEffect,
    summary: Summary = "",
    effect_of: EffectOf | None = None,
    kind: "ToolKind" = "other",
    words: tuple[str, str, str] = ("", "", ""),
    subject: str = "",
    paths: tuple[str, ...] = (),
    urls: tuple[str, ...] = (),
    runs: "Runs" = "",
    known_as: tuple[str, ...] = (),
    keys: Mapping[str, str] | None = None,
    touches: Touches | None = None,
    preview: Preview | None = None,
) -> Callable[[ToolFunction], FunctionTool]:
    """`effect` is the most a call may do, `effect_of` what one call does. `touches` is for a tool whose arguments do
    not simply name what it is about. Arguments may not have been checked yet. `preview` tells, as a unified diff, what
    a call would change. `subject` is a template that comes near a `summary` that only code can make. The rest:
    `About`."""
    written = subject or ("" if callable(summary) else summary)
    about = About(kind, words, written, paths=paths, urls=urls, runs=runs, known_as=known_as, keys=keys)

    def wrap(function: ToolFunction) -> FunctionTool:
        return FunctionTool(
            function, effect, summary, effect_of=effect_of, about=about, touches=touches, preview=preview
        )

    return wrap


_known: dict[object, tuple[type[Struct], dict[str, Any]]] = {}
_MOST_KNOWN = 512
_MOST_TOLD = 8


def _arguments_of(function: ToolFunction) -> tuple[type[Struct], dict[str, Any]]:
    """What checks its arguments, and their schema. Functions made anew for every turn from the same lines share them:
    making a type takes a millisecond, and 20 kB until garbage is collected."""
    own: Any = function
    try:
        key = (own.__code__, own.__defaults__, tuple(own.__annotations__.items()))
        if key not in _known:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            arguments = _arguments_struct(function)
            _known[key] = arguments, _parameters_schema(arguments)
        return _known[key]
    except (AttributeError, TypeError):  # no plain function, or something of it cannot be looked up
        arguments = _arguments_struct(function)
        return arguments, _parameters_schema(arguments)


def _arguments_struct(function: ToolFunction) -> type[Struct]:
    hints = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        annotation = _described(hints[name])
        if parameter.default is inspect.Parameter.empty:
            fields.append((name, annotation))
        else:
            fields.append((name, annotation, parameter.default))
    return msgspec.defstruct(f"{function.__name__}_arguments", fields, forbid_unknown_fields=True, kw_only=True)


def _described(annotation: Any) -> Any:
    """`Annotated[str, "text"]` becomes msgspec's form of a description."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *notes = get_args(annotation)
    for note in notes:
        kind = Annotated[kind, msgspec.Meta(description=note) if isinstance(note, str) else note]
    return kind


def _parameters_schema(arguments: type[Struct]) -> dict[str, Any]:
    """A plain inline schema: several providers refuse `$ref`."""
    (reference,), definitions = msgspec.json.schema_components([arguments])
    schema = _inline(reference, definitions)
    schema.pop("title", None)
    return {key: schema[key] for key in ("type", "properties", "required", "additionalProperties") if key in schema}


def _inline(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inline(item, definitions) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    known: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
    if reference := known.get("$ref"):
        return _inline(definitions[reference.rsplit("/", 1)[1]], definitions)
    return {
        key: value if key in ("enum", "default", "required") else _inline(value, definitions)
        for key, value in known.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and value is None)
    }
