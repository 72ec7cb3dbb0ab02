"""The house of the program: its connection, its tabs, its keys."""

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingsMap
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Static

from openagent.client.text import clean
from openagent.protocol import ops
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionInfo
from openagent.tui import keys, preferences
from openagent.tui.bare import Rows, Sheets
from openagent.tui.link import Link
from openagent.tui.place import place
from openagent.tui.session_view import SessionView
from openagent.tui.tab_bar import Tab, TabBar
from openagent.tui.theme import DARK, LIGHT

WIDE, NARROW, SMALLEST = 116, 90, (40, 10)
_ACTIONS = {
    "cancel": "cancel",
    "exit": "exit",
    "scroll_up": "scroll('page_up')",
    "scroll_down": "scroll('page_down')",
    "scroll_top": "scroll('home')",
    "scroll_bottom": "scroll('end')",
    "toggle_plan": "panel('plan')",
    "toggle_tools": "panel('tools')",
    "cycle_agents": "cycle_agents",
    "toggle_files": "files",
    "yank": "yank",
    "view_full": "view_full",
    "open": "open_newest",
    "paste_image": "paste_image",
    "palette": "command_palette",
    "sessions": "sessions",
    "new_session": "new_session",
    "help": "help",
}


class Wanted(NamedTuple):
    """Which session to begin with: the one named, a new one, or the newest of the folder."""

    session: str = ""
    new: bool = False


class House(Screen[None]):
    """What streams below a dialog is not drawn meanwhile: nobody reads it, and the dialog would be slow."""

    BLANK = True

    def on_screen_suspend(self) -> None:
        for view in self.query(SessionView):
            view.chat.sleep()

    async def on_screen_resume(self) -> None:
        for view in self.query(SessionView):
            if view.display:
                await view.chat.wake()


class Tabs(App[None]):
    CSS = """
    #tiny { display: none; color: $warning; }
    .tiny #house { display: none; }
    .tiny #tiny { display: block; }
    Sheets { height: 1fr; }
    StatusBar > .right { display: none; }
    .wide StatusBar > .right { display: block; }
    .narrow TabBar > #place { display: none; }
    .narrow SidePanel { dock: right; background: $background; }
    .narrow FilePanel { dock: left; layer: above; }
    """
    COMMAND_PALETTE_BINDING: ClassVar[str] = "ctrl+k"

    def __init__(self, link: Link, wanted: Wanted, cwd: str, env: Mapping[str, str]) -> None:
        super().__init__()
        self.link = link
        self.cwd = cwd
        self.env = env
        self.failure: OpenAgentError | OSError | None = None
        """Why there was nothing to show."""
        self.when_drawn: Callable[[], None] = lambda: None
        """Called when the first picture is on the screen."""
        self._wanted = wanted
        self.keys = keys.load(cwd, env)
        self.liked = preferences.load(env)
        self.jail = ""
        self.views = [SessionView(link, self.keys, vim=self.liked.vim)]
        self._bar = TabBar(clean(link.remote) or place(cwd))
        self._switcher = Sheets(self.views[0], initial=self.views[0].id)
        self._tiny = Static(markup=False, id="tiny")
        # Before anything is drawn: a theme set later would make every style anew.
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = LIGHT.name if self.liked.theme == "light" else DARK.name
        self._bind()

    def get_default_screen(self) -> Screen[None]:
        return House(id="_default")

    def compose(self) -> ComposeResult:
        with Rows(id="house"):
            yield self._bar
            yield self._switcher
        yield self._tiny

    def on_mount(self) -> None:
        self.views[0].prompt.focus()
        self._show_tabs()
        self._complain_of_keys()
        self.call_after_refresh(self._first_picture_drawn)
        self.run_worker(self._begin(), group="begin")

    def _first_picture_drawn(self) -> None:
        self.when_drawn()
        self.run_worker(asyncio.to_thread(_load_the_rest), group="load")

    async def _begin(self) -> None:
        try:
            client = await self.link.open()
            session = self._wanted.session or await self._choose()
            daemon = await client.request(ops.DaemonStatus(id=client.next_id()), ops.DaemonInfo)
        except (OpenAgentError, OSError) as problem:
            self.failure = problem
            self.exit(return_code=1)
            return
        self.jail = self.views[0].jail = daemon.jail
        self.views[0].show_session(session)

    async def _choose(self) -> str:
        """The newest session of the folder, or one made for it. From afar: the newest of all."""
        client = self.link.client
        folder = "" if self.link.remote else self.cwd
        newest = ops.SessionList(id=client.next_id(), cwd=folder, limit=1)
        page = await client.request(newest, ops.SessionPage)
        if page.sessions and not self._wanted.new:
            return page.sessions[0].id
        # A folder of another machine is known only from its sessions.
        there = page.sessions[0].cwd if self.link.remote and page.sessions else self.cwd
        return (await client.create_session(there)).id

    # Keys

    def _bind(self) -> None:
        """Keys that write something count only where nothing is written; all others count everywhere."""
        bindings = [
            Binding(key, action, name, show=False, priority=not keys.is_typed(key))
            for name, action in _ACTIONS.items()
            for key in self.keys.bound[name].split(",")
        ]
        bindings += [Binding(f"alt+{n}", f"tab({n})", show=False, priority=True) for n in range(1, 10)]
        bindings += [Binding(str(n), f"tab({n})", show=False) for n in range(1, 10)]
        self._bindings = BindingsMap([*reversed(bindings), Binding("question_mark", "help", show=False)])

    def _complain_of_keys(self) -> None:
        for problem in self.keys.problems:
            self.notify(clean(problem), severity="warning", markup=False)

    def action_reload_keys(self) -> None:
        self.keys = keys.load(self.cwd, self.env)
        self._bind()
        for view in self.views:
            view.use_keys(self.keys)
        self._complain_of_keys()
        self.notify("The key files were read again.")

    def on_resize(self, event: Resize) -> None:
        width, height = event.size
        screen = self.screen_stack[0]
        screen.set_class(width < NARROW, "narrow")
        screen.set_class(width >= WIDE, "wide")
        tiny = width < SMALLEST[0] or height < SMALLEST[1]
        screen.set_class(tiny, "tiny")
        if tiny:
            text = f"OpenAgent needs {SMALLEST[0]}×{SMALLEST[1]}; this is {width}×{height}."
            self._tiny.update(text)
        elif screen.focused is None:
            # What is hidden loses the keys; with room again, the input has them.
            self.call_after_refresh(self.view.take_keys)

    # Tabs

    @property
    def view(self) -> SessionView:
        current = self._switcher.current
        return next((view for view in self.views if view.id == current), self.views[0])

    async def open_session(self, session: str) -> None:
        view = next((view for view in self.views if view.session == session), None)
        if view is None:
            view = SessionView(self.link, self.keys, session=session, vim=self.liked.vim)
            view.jail = self.jail
            self.views.append(view)
            await self._switcher.add_content(view)
        self._go_to(view)

    async def action_open_agent(self, session: str) -> None:
        await self.open_session(session)

    def _go_to(self, view: SessionView) -> None:
        self._switcher.current = view.id
        view.take_keys()
        self._show_tabs()

    @on(SessionView.Changed)
    def _show_tabs(self) -> None:
        active = self.views.index(self.view) + 1
        self.call_later(self._bar.show, [view.info for view in self.views], active)

    @on(Tab.Chosen)
    def _tab_chosen(self, event: Tab.Chosen) -> None:
        self.action_tab(event.number)

    def action_tab(self, number: int) -> None:
        if 0 < number <= len(self.views):
            self._go_to(self.views[number - 1])

    async def action_close_tab(self) -> None:
        if len(self.views) == 1:
            self.exit()
            return
        view = self.view
        at = self.views.index(view)
        self.views.remove(view)
        await view.remove()
        self._go_to(self.views[max(at - 1, 0)])

    async def action_new_session(self) -> None:
        await self.start_session()

    async def start_session(self, template: str = "") -> None:
        folder = self.view.info.cwd if self.link.remote and self.view.info else self.cwd
        info = await self.view.ask(
            lambda client: ops.SessionCreate(id=client.next_id(), cwd=folder, template=template), SessionInfo
        )
        if info is not None:
            await self.open_session(info.id)


def _load_the_rest() -> None:
    """What the first picture does without, before somebody wants it."""
    for module in ("answer", "choices", "help", "pager", "picker"):
        import_module(f"openagent.tui.{module}")
