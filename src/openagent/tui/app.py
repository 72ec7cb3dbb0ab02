"""The program: tabs of sessions, and what is done with keys and commands."""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import cast

from textual import on
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Vertical
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Static

from openagent.client import Client
from openagent.client.text import clean
from openagent.protocol import ops
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import Mode, SessionInfo, SettingsChange
from openagent.tui import choices, keys
from openagent.tui.commands import COMMANDS, named
from openagent.tui.help import Help
from openagent.tui.link import Link
from openagent.tui.picker import Picker
from openagent.tui.prompt import Prompt
from openagent.tui.session_view import SessionView
from openagent.tui.tab_bar import Tab, TabBar
from openagent.tui.theme import DARK, LIGHT

NARROW, SMALLEST = 90, (40, 10)
_ACTIONS = {
    "cancel": "cancel",
    "exit": "exit",
    "scroll_up": "scroll('page_up')",
    "scroll_down": "scroll('page_down')",
    "scroll_top": "scroll('home')",
    "scroll_bottom": "scroll('end')",
    "toggle_plan": "panel('plan')",
    "toggle_tools": "panel('tools')",
    "cycle_agents": "panel('agents')",
    "yank": "yank",
    "view_full": "open_newest",
    "palette": "command_palette",
    "sessions": "sessions",
    "new_session": "new_session",
    "help": "help",
}


class OpenAgent(App[None]):
    CSS = """
    #tiny { display: none; color: $warning; }
    .tiny #house { display: none; }
    .tiny #tiny { display: block; }
    ContentSwitcher { height: 1fr; }
    .narrow StatusBar > .right { display: none; }
    .narrow TabBar > #place { display: none; }
    .narrow SidePanel { dock: right; background: $background; }
    """
    COMMAND_PALETTE_BINDING = "ctrl+k"
    BINDINGS = [
        *(
            Binding(keys.DEFAULTS[key_action], action, key_action, show=False, priority=True, id=key_action)
            for key_action, action in _ACTIONS.items()
        ),
        *(Binding(f"alt+{n}", f"tab({n})", f"tab {n}", show=False, priority=True) for n in range(1, 10)),
        *(Binding(str(n), f"tab({n})", f"tab {n}", show=False) for n in range(1, 10)),
        Binding("question_mark", "help", "keys", show=False),
    ]

    def __init__(self, link: Link, session: str, cwd: str, env: Mapping[str, str]) -> None:
        super().__init__()
        self.link = link
        self._first = session
        self._cwd = cwd
        self._env = env
        self._keys = keys.load(cwd, env)
        self._jail = ""
        self._views: list[SessionView] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="house"):
            yield TabBar(_place(self._cwd))
            yield ContentSwitcher()
        yield Static(markup=False, id="tiny")

    async def on_mount(self) -> None:
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = LIGHT.name if self._env.get("OPENAGENT_THEME") == "light" else DARK.name
        self._use_keys()
        client = self.link.client
        daemon = await client.request(ops.DaemonStatus(id=client.next_id()), ops.DaemonInfo)
        self._jail = daemon.jail
        await self.open_session(self._first)

    def _use_keys(self) -> None:
        self.set_keymap({action: self._keys.bound[action] for action in _ACTIONS})
        for view in self._views:
            view.use_keys(self._keys)
        for problem in self._keys.problems:
            self.notify(problem, severity="warning", markup=False)

    def on_resize(self, event: Resize) -> None:
        width, height = event.size
        screen = self.screen_stack[0]
        screen.set_class(width < NARROW, "narrow")
        tiny = width < SMALLEST[0] or height < SMALLEST[1]
        screen.set_class(tiny, "tiny")
        if tiny:
            text = f"OpenAgent needs {SMALLEST[0]}×{SMALLEST[1]}; this is {width}×{height}."
            screen.query_one("#tiny", Static).update(text)

    # Tabs

    @property
    def view(self) -> SessionView | None:
        current = self.screen_stack[0].query_one(ContentSwitcher).current
        return next((view for view in self._views if view.id == current), None)

    async def open_session(self, session: str) -> None:
        view = next((view for view in self._views if view.session == session), None)
        if view is None:
            view = SessionView(session, self.link, self._keys, self._jail)
            self._views.append(view)
            await self.screen_stack[0].query_one(ContentSwitcher).add_content(view)
        self._go_to(view)

    def _go_to(self, view: SessionView) -> None:
        self.screen_stack[0].query_one(ContentSwitcher).current = view.id
        view.prompt.focus()
        self._show_tabs()

    @on(SessionView.Changed)
    def _show_tabs(self) -> None:
        active = next((n for n, view in enumerate(self._views, 1) if view is self.view), 0)
        bar = self.screen_stack[0].query_one(TabBar)
        self.call_later(bar.show, [view.info for view in self._views], active)

    @on(Tab.Chosen)
    def _tab_chosen(self, event: Tab.Chosen) -> None:
        self.action_tab(event.number)

    def action_tab(self, number: int) -> None:
        if 0 < number <= len(self._views):
            self._go_to(self._views[number - 1])

    async def action_close_tab(self) -> None:
        view = self.view
        if view is None or len(self._views) == 1:
            self.exit()
            return
        at = self._views.index(view)
        self._views.remove(view)
        await view.remove()
        self._go_to(self._views[max(at - 1, 0)])

    async def action_new_session(self) -> None:
        try:
            info = await self.link.client.create_session(self._cwd)
        except OpenAgentError as problem:
            self.notify(str(problem), severity="error", markup=False)
            return
        await self.open_session(info.id)

    # Pickers

    def action_sessions(self) -> None:
        self._pick(
            Picker("Sessions", choices.sessions(self._client), empty="No session yet. /new starts one."),
            self.open_session,
        )

    def action_models(self) -> None:
        load = choices.models(self._client, self._cwd)
        self._pick(
            Picker("Model", load, empty="No provider offers a model. `openagent auth add` stores a key."),
            lambda name: self._change(SettingsChange(model=name)),
        )

    def action_modes(self) -> None:
        self._pick(
            Picker("Mode", choices.modes(), empty=""), lambda mode: self._change(SettingsChange(mode=cast(Mode, mode)))
        )

    def action_rewind(self) -> None:
        if view := self.view:
            picker = Picker(
                "Go back to before …",
                choices.turns(self._client, view.session),
                empty="Nothing was said yet.",
                preview=choices.changes(self._client, view.session),
            )
            self._pick(picker, partial(self._rewind, view))

    def _client(self) -> Client:
        return self.link.client

    def _pick(self, picker: Picker, then: Callable[[str], Awaitable[None]]) -> None:
        def chosen(id_: str | None) -> None:
            if id_ is not None:
                self.call_later(then, id_)

        self.push_screen(picker, chosen)

    async def _change(self, change: SettingsChange) -> None:
        if view := self.view:
            await view.ask(
                lambda client: ops.SessionUpdate(id=client.next_id(), session=view.session, settings=change),
                SessionInfo,
            )

    async def _rewind(self, view: SessionView, turn: str) -> None:
        done = await view.ask(
            lambda client: ops.SessionRewind(id=client.next_id(), session=view.session, turn=int(turn)), ops.Rewound
        )
        if done is not None:
            files = len(done.written) + len(done.removed)
            self.notify(clean(f"Back to before turn {turn}; {files} files restored."), markup=False)

    # Keys and commands

    @on(SessionView.CommandGiven)
    async def _command(self, event: SessionView.CommandGiven) -> None:
        name, _, rest = event.line.strip().partition(" ")
        if name == "rename" and rest and (view := self.view):
            await view.ask(
                lambda client: ops.SessionUpdate(id=client.next_id(), session=view.session, name=rest), SessionInfo
            )
        elif command := named(name):
            await self.run_action(command.action)
        else:
            self.notify(f"There is no command /{name}. / lists them.", severity="warning", markup=False)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for command in COMMANDS:
            yield SystemCommand(command.name, command.help, partial(self.run_action, command.action))

    async def action_cancel(self) -> None:
        view = self.view
        if len(self.screen_stack) > 1:
            self.pop_screen()
        elif view and view.prompt.text:
            view.prompt.text = ""
        elif view and view.running:
            await view.cancel()
        else:
            self.notify(f"Nothing is running. {self._keys.label('exit')} leaves.", markup=False)

    def action_exit(self) -> None:
        self.exit()

    def action_scroll(self, where: str) -> None:
        if view := self.view:
            view.chat.go(where)

    async def action_panel(self, panel: str) -> None:
        view = self.view
        if view and view.side.toggle(panel) and panel == "tools":
            found = await view.ask(
                lambda client: ops.ToolsList(id=client.next_id(), session=view.session), ops.ToolList
            )
            if found is not None:
                view.side.show_tools(found.tools)

    async def action_open_newest(self) -> None:
        if (view := self.view) and (call := view.chat.newest_call()):
            await call.action_fold()

    def action_yank(self) -> None:
        if (view := self.view) and (text := view.chat.newest_answer()):
            self.copy_to_clipboard(text)
            self.notify("The newest answer was copied.")

    def action_theme(self) -> None:
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name

    def action_reload_keys(self) -> None:
        self._keys = keys.load(self._cwd, self._env)
        self._use_keys()
        self.notify("The key files were read again.")

    @on(Prompt.HelpAsked)
    def action_help(self) -> None:
        if not isinstance(self.screen, Help):
            self.push_screen(Help(self._keys))


def _place(cwd: str) -> str:
    """The folder's name, and its branch if it has one."""
    name = os.path.basename(cwd) or cwd
    try:
        head = (Path(cwd) / ".git" / "HEAD").read_text().strip()
    except OSError:
        return name
    return f"{name} ({head.rpartition('refs/heads/')[2][:24]})"
