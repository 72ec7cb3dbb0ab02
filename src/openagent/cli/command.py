"""What the commands have in common: `--json`, examples in `--help`, a connection to the daemon."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import click
import msgspec
from msgspec import Struct

from openagent.client import Client, ConnectionLost, connect, elsewhere, thin
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Op

R = TypeVar("R", bound=Struct)
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

PATIENCE = 5.0
"""Seconds a running daemon has to greet us."""
START_PATIENCE = 60.0
"""Seconds one that is started has for that, on the slowest machine."""

_JSON = "openagent.json"


def _wanted_before() -> bool:
    """Whether `--json` stood before the command: `openagent sessions --json list`."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_JSON))


def _remember(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:
    if value:
        context.meta[_JSON] = True
    return value


as_json = click.option(
    "--json",
    "as_json",
    is_flag=True,
    default=_wanted_before,
    callback=_remember,
    help="Print one JSON object instead of text.",
)
"""For every command: what it answers is one object, lists in it have names, and so has an error."""


as_events = click.option(
    "--events",
    "--json",
    "as_json",
    is_flag=True,
    default=_wanted_before,
    callback=_remember,
    help="Print every event as it happens, a line of JSON each.",
)
"""For the few commands that go on until somebody ends them."""


class Group(click.Group):
    """Takes `--json` for the commands in it. Alone with it, where it does nothing by itself, it lists them."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        if not any(parameter.name == "as_json" for parameter in self.params):
            self.params.append(
                click.Option(
                    ["--json", "as_json"], is_flag=True, expose_value=False, callback=_remember, help="Print JSON."
                )
            )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args == ["--json"] and not self.invoke_without_command:
            found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
            listed = [{"name": name, "about": each.get_short_help_str(200)} for name, each in found if each]
            print_json({"command": ctx.command_path, "about": self.get_short_help_str(200), "commands": listed})
            ctx.exit()
        return super().parse_args(ctx, args)


def group(name: str, **settings: Any) -> Callable[[Callable[..., Any]], Group]:
    return click.group(name, **{"cls": Group, **settings})


def examples(*lines: str) -> str:
    """For `epilog=`."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def command(name: str, *lines: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with examples at the end of its help."""
    return click.command(name, epilog=examples(*lines))


def complete(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(_interruptible(coroutine))


async def _interruptible(coroutine: Coroutine[Any, Any, T]) -> T:
    """Ctrl-C wakes the loop up. By itself `asyncio.run` only notes it: one that comes just before the loop begins to
    wait would be heard with the next event, which may be never."""
    loop, running = asyncio.get_running_loop(), asyncio.current_task()
    assert running is not None
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        running.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        return await coroutine
    except asyncio.CancelledError:
        if interrupted:
            raise KeyboardInterrupt from None
        raise


@asynccontextmanager
async def daemon(
    *, auto_start: bool = True, socket: str = "", interactive: bool = False
) -> AsyncGenerator[Client, None]:
    url = "" if socket else elsewhere.wanted(os.environ)
    try:
        async with asyncio.timeout(START_PATIENCE if auto_start and not url else PATIENCE):
            client = await connect(name="cli", auto_start=auto_start, socket=socket, interactive=interactive)
    except TimeoutError:
        if url:
            raise OpenAgentError("busy", f"The daemon at {url} does not answer.", hint="Check the address.") from None
        raise OpenAgentError(
            "busy", "The daemon does not answer.", hint="End it with `openagent stop`; the next command starts another."
        ) from None
    except ConnectionLost:
        if url or socket or not thin.still_listens():
            raise
        reason, hint = thin.HUNG_UP
        raise OpenAgentError("busy", f"{reason[0].upper()}{reason[1:]}.", hint=hint) from None
    except PermissionError as problem:
        raise OpenAgentError(
            "unauthorized", f"The daemon's socket {problem.filename or socket} belongs to another user."
        ) from None
    async with client:
        yield client


def ask_daemon(op: Op[R]) -> R:
    """The answer to one op, over a connection of its own: its id can be any."""

    async def ask() -> R:
        async with daemon() as client:
            return await client.request(op)

    return complete(ask())


def plain(value: Any) -> Any:
    """A struct as JSON data with every field, those at their defaults too, so that scripts need not know them."""
    if isinstance(value, Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return msgspec.to_builtins(value)


def print_json(answer: Struct | dict[str, Any]) -> None:
    """Plain ASCII, so that nothing in it can move a terminal's cursor."""
    json.dump(plain(answer), sys.stdout, indent=2)
    sys.stdout.write("\n")


def print_line(answer: Struct | dict[str, Any]) -> None:
    """One of many answers, as it comes."""
    sys.stdout.write(json.dumps(msgspec.to_builtins(answer)) + "\n")
    sys.stdout.flush()


def tell(as_json: bool, answer: Struct | dict[str, Any], text: str) -> None:
    """One answer, for programs or for people."""
    if as_json:
        print_json(answer)
    else:
        say(text)


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")
