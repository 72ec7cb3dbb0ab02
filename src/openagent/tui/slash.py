"""What the slash commands do that are more than a key: each is given what was typed after its name."""

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, cast, get_args

from msgspec.structs import asdict
from textual.app import SuspendNotSupported

from openagent.client import agents_file
from openagent.client.ignored import apart, in_one_line
from openagent.client.text import clean, cost, one_line, outside
from openagent.client.turns import newest_turn_with_changes
from openagent.protocol.context import ContextCollect
from openagent.protocol.sessions import MODES, SessionFork, SettingsChange
from openagent.protocol.undo import ChangedFile, SessionChanges
from openagent.tui.figures import spent
from openagent.tui.pager import Pager
from openagent.tui.session_view import Draft

if TYPE_CHECKING:
    from openagent.tui.app import OpenAgent

Thinking = Literal["off", "low", "medium", "high"]
_A_NOTE = 100
"""Characters that are read at a glance."""
_KEPT_BY_CLEAR = ("model", "mode", "thinking", "budget_usd", "disabled_tools", "disabled_mcp_servers")


async def clear(app: "OpenAgent", _: str) -> None:
    """A new conversation in the place of this one, with what was chosen for it."""
    old = app.view
    if old.info is None:
        return
    chosen = asdict(old.info.settings)
    kept = {name: chosen[name] for name in _KEPT_BY_CLEAR if chosen[name] not in (None, "", [])}
    draft = Draft(
        old.info.cwd,
        old.info.model,
        old.info.settings.mode,
        SettingsChange(**kept),
        old.info.template,
        cap_usd=old.info.cap_usd,
        today=old.info.today,
    )
    before = len(app.views)
    await app.start_session(like=draft)
    if len(app.views) == before:
        return
    new = app.view
    app.action_tab(app.views.index(old) + 1)
    await app.action_close_tab()
    app.action_tab(app.views.index(new) + 1)
    where = f" /resume finds the old one ({old.session[:8]})." if old.session else ""
    app.notify(f"A new session.{where}", markup=False)


async def model(app: "OpenAgent", name: str) -> None:
    await _change(app, SettingsChange(model=name))


async def mode(app: "OpenAgent", name: str) -> None:
    if name not in MODES:
        _warn(app, f"There is no mode {name}. There are {', '.join(MODES)}.")
    else:
        await _change(app, SettingsChange(mode=name))


async def thinking(app: "OpenAgent", level: str) -> None:
    levels = get_args(Thinking)
    if level not in (*levels, "default"):
        _warn(app, f"There is no level {level}. There are {', '.join(levels)} and default.")
        return
    chosen = None if level == "default" else cast("Thinking", level)
    if await _change(app, SettingsChange(thinking=chosen)):
        app.notify(f"Thinking: {level}, from the next step on.", markup=False)


async def budget(app: "OpenAgent", given: str) -> None:
    info = app.view.info
    if not given:
        limit = info.cap_usd if info else None
        so_far = f"{cost(*spent(info))} spent" if info else "Nothing spent"
        of = f" of ${limit:g}" if limit is not None else ", with no limit of its own"
        if info and info.today and info.today.cap_usd is not None:
            of += f"; today {cost(info.today.spent_usd, 0)} of ${info.today.cap_usd:g} in all sessions"
        app.notify(f"{so_far}{of}. /budget DOLLARS sets one, /budget none takes it away.", markup=False)
        return
    try:
        dollars = None if given == "none" else float(given.lstrip("$"))
    except ValueError:
        _warn(app, f"{given} is no amount. Write dollars, such as /budget 2.50, or none.")
        return
    if await _change(app, SettingsChange(budget_usd=dollars)):
        app.notify("No limit." if dollars is None else f"It may spend ${dollars:g} in all.", markup=False)


async def _change(app: "OpenAgent", change: SettingsChange) -> bool:
    return await app.view.change(change)


async def persona(app: "OpenAgent", name: str) -> None:
    """Its prompt, model and tools; mode and limits stay."""
    info = app.view.info
    if not name or not app.view.session:
        now = f"It works as {info.template}." if info and info.template else "It has no persona."
        app.notify(f"{now} /persona TEMPLATE changes it, /persona none ends it.", markup=False)
    elif await app.view.take_on("" if name == "none" else name):
        app.notify("No persona, from the next step on." if name == "none" else f"Now as {name}.", markup=False)


async def rename(app: "OpenAgent", name: str) -> None:
    if not name:
        app.notify("Write the name after it: /rename The parser", markup=False)
    else:
        await app.view.rename(name)


async def diff(app: "OpenAgent", turn: str) -> None:
    view = app.view
    if turn and not turn.isdigit():
        _warn(app, f"{turn} is no turn. Write a number, or nothing for the whole session.")
        return
    number = int(turn) if turn else None
    changed = await view.ask(lambda client: SessionChanges(id=client.next_id(), session=view.session, turn=number))
    if changed is None:
        return
    if not changed.files:
        app.notify(f"{'This turn' if turn else 'This session'} changed no file.", markup=False)
        return
    files, ignored = apart(changed.files)
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    title = f"Changed: {len(files)} file{'s' * (len(files) != 1)} +{added} −{removed}"
    text, folded = ("\n".join(_marked(file) for file in some) for some in (files, ignored))
    app.push_screen(Pager(title, text, app.keys, folded=(in_one_line(ignored) if ignored else "", folded)))


def _marked(file: ChangedFile) -> str:
    """With its mark between its name and its first lines."""
    text = file.patch.rstrip("\n")
    head, hunk, rest = (text if "\n@@" in text else _without_lines(file)).partition("\n@@")
    mark = f"\n! {outside(file.runs_outside)}" if file.runs_outside else ""
    return f"{head}{mark}{hunk}{rest}"


def _without_lines(file: ChangedFile) -> str:
    """Named as the others are: of these git writes no such header."""
    old = "/dev/null" if file.status == "A" else f"a/{file.old_path or file.path}"
    new = "/dev/null" if file.status == "D" else f"b/{file.path}"
    if file.binary:
        note = "binary"
    elif file.cut:
        note = "too much to be shown here"
    elif file.status == "R":
        note = f"renamed from {file.old_path}"
    else:
        note = "only its rights changed" if file.status == "M" else "empty"
    return f"--- {old}\n+++ {new}\n{note}"


async def undo(app: "OpenAgent", given: str) -> None:
    """The files of the last turn that changed some, or only those that are named. The conversation stays."""
    view = app.view
    if view.is_draft:
        view.say_that_nothing_was_said()
        return
    try:
        paths = shlex.split(given)
    except ValueError:
        _warn(app, f"A quotation mark is missing in: {given}")
        return
    turn = await newest_turn_with_changes(app.link.client, view.session)
    if not turn:
        app.notify("There are no changes to files left to undo.", markup=False)
    else:
        await app.undo(view, turn, paths=paths)


async def fork(app: "OpenAgent", name: str) -> None:
    view = app.view
    made = await view.ask(lambda client: SessionFork(id=client.next_id(), session=view.session, name=name))
    if made is not None:
        await app.open_session(made.id)
        app.notify("This is the copy; the other session stays as it is.", markup=False)


async def compact(app: "OpenAgent", collector: str) -> None:
    view = app.view
    if not view.is_draft:
        app.notify("Compacting …", timeout=2, markup=False)
    done = await view.ask(lambda client: ContextCollect(id=client.next_id(), session=view.session, collector=collector))
    if done is not None and not done.hidden and not done.shortened:
        app.notify(f"There is nothing to leave out yet: {done.tokens_before:,} tokens.", markup=False)


async def copy(app: "OpenAgent", sources: str) -> None:
    app.action_yank(sources)


async def theme(app: "OpenAgent", name: str) -> None:
    app.action_theme(name)


async def keybindings(app: "OpenAgent", given: str) -> None:
    if given == "reload":
        app.action_reload_keys()
    else:
        app.action_help()


async def init(app: "OpenAgent", given: str) -> None:
    """The agent looks through the folder and writes AGENTS.md; without a model, it gets headings to fill in."""
    view, path = app.view, os.path.join(_folder(app), agents_file.FILE)
    if given != "again" and not app.link.remote and await asyncio.to_thread(os.path.exists, path):
        app.notify(f"There is an {agents_file.FILE} already. /init again lets the agent revise it.", markup=False)
    elif app.link.remote or (view.info is not None and view.info.model):
        view.say(agents_file.PROMPT)
    else:
        await shell(app, "init --scaffold --force", agents_file.FILE)


# What the command line does, shown here


async def usage(app: "OpenAgent", words: str) -> None:
    info = app.view.info
    own = ""
    if info is not None:
        used = info.usage.tokens
        own = f"This session: {used.input_tokens:,} tokens in, {used.output_tokens:,} out, "
        own += f"{cost(*spent(info))} with its agents\n\n"
    await shell(app, f"usage {words}", "Usage", above=own)


async def config(app: "OpenAgent", words: str) -> None:
    if words.split()[:1] == ["edit"]:
        await _outside(app, "config", *shlex.split(words))
    else:
        await shell(app, f"config {words or 'show'}", "Settings")


async def search(app: "OpenAgent", words: str) -> None:
    if not words:
        app.notify("Write what to look for after it: /search token refresh", markup=False)
    else:
        await shell(app, f"sessions search {words}", f"Found: {words}")


async def queue(app: "OpenAgent", words: str) -> None:
    if app.view.is_draft:
        app.view.say_that_nothing_was_said()
    else:
        await shell(app, f"sessions queue {app.view.session} {words}", "Waiting messages")


async def help_(app: "OpenAgent", topic: str) -> None:
    await shell(app, f"help {topic}", "Handbook")


async def export(app: "OpenAgent", file: str) -> None:
    view = app.view
    if view.is_draft:
        view.say_that_nothing_was_said()
        return
    path = _place(app.cwd, file or f"session-{view.session[:8]}.md")
    form = {".json": "json", ".html": "html"}.get(os.path.splitext(path)[1].lower(), "markdown")
    said = await _run(app, ["sessions", "export", view.session, "--format", form, "--output", path])
    app.notify(clean(f"Written to {path}." if said.code == 0 else said.text), markup=False)


def _place(folder: str, file: str) -> str:
    return os.path.abspath(os.path.join(folder, os.path.expanduser(file)))


async def login(app: "OpenAgent", provider: str) -> None:
    await _outside(app, "login", *provider.split())


async def logout(app: "OpenAgent", provider: str) -> None:
    if not provider:
        app.notify("Whom to forget? /logout PROVIDER", markup=False)
        return
    said = await _run(app, ["logout", *provider.split()])
    app.notify(one_line(said.text), markup=False)


async def shell(app: "OpenAgent", line: str, title: str, *, above: str = "") -> None:
    """What a command of the command line prints, in the full view; a single line as a note that goes away."""
    try:
        words = shlex.split(line)
    except ValueError as problem:
        _warn(app, f"This cannot be read: {problem}.")
        return
    said = await _run(app, words)
    text = above + said.text
    if "\n" not in text and len(text) < _A_NOTE:
        app.notify(clean(text), severity="information" if said.code == 0 else "warning", markup=False)
    else:
        app.push_screen(Pager(title, text, app.keys))


class _Said:
    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.text = text.strip("\n").removeprefix("openagent: ")


async def _run(app: "OpenAgent", words: list[str]) -> _Said:
    process = await asyncio.create_subprocess_exec(
        *_program(),
        *words,
        env=dict(app.env),
        cwd=_folder(app),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    return _Said(process.returncode or 0, out.decode(errors="replace"))


async def _outside(app: "OpenAgent", *words: str) -> None:
    """A command that needs the terminal for itself has it; the program comes back when it ends."""
    try:
        with app.suspend():
            code = subprocess.call([*_program(), *words], env=dict(app.env), cwd=_folder(app))  # noqa: ASYNC221
    except SuspendNotSupported:
        _warn(app, f"This terminal cannot be given away. Run `openagent {' '.join(words)}` in another one.")
        return
    app.refresh()
    app.notify("Done." if code == 0 else f"openagent {words[0]} ended with {code}.", markup=False)


def _program() -> list[str]:
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-P", "-m", "openagent"]


def _folder(app: "OpenAgent") -> str:
    info = app.view.info
    return info.cwd if info is not None and not app.link.remote and os.path.isdir(info.cwd) else app.cwd


def _warn(app: "OpenAgent", text: str) -> None:
    app.notify(clean(text), severity="warning", markup=False)


_ALL: tuple[Callable[["OpenAgent", str], Awaitable[None]], ...] = (
    clear, model, mode, thinking, budget, persona, rename, diff, undo, fork, compact, copy, theme, keybindings, init,
    usage, config, search, queue, help_, export, login, logout,
)  # fmt: skip
BY_NAME = {each.__name__: each for each in _ALL}
