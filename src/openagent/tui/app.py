"""The program: its connection, its tabs, its keys, and what is done with keys, commands and clicks."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec.structs import replace
from textual import on
from textual.actions import SkipAction
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingsMap
from textual.content import Content
from textual.events import Event, InputEvent, Key, Paste, Resize
from textual.screen import Screen
from textual.widgets import Input, Static, TextArea

from openagent.client import Client
from openagent.client.reconnect import Link, Trouble
from openagent.client.terminal_colours import Ground, depth, ground_told
from openagent.client.text import clean, one_line, outside
from openagent.protocol import locations
from openagent.protocol.context import ContextShow
from openagent.protocol.daemon import DaemonStatus
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.grants import GrantsRevoke
from openagent.protocol.mcp import McpSwitch
from openagent.protocol.messages import ImagePart
from openagent.protocol.safety import TrustAdd, TrustDecline
from openagent.protocol.sessions import (
    Mode,
    SessionGet,
    SessionInfo,
    SessionList,
    SessionUpdate,
    SettingsChange,
)
from openagent.protocol.setup import FolderTrust, SetupShow
from openagent.protocol.tools import ToolsList
from openagent.protocol.undo import LeftAlone, SessionChanges, SessionRedo, SessionUndo
from openagent.tui import keys, preferences
from openagent.tui.attention import Attention, Shown
from openagent.tui.banner import Banner
from openagent.tui.bare import Rows, Sheets
from openagent.tui.commands import Command, named, nearest
from openagent.tui.diff import can_tint
from openagent.tui.history import History
from openagent.tui.keyboard import Keyboard, wants
from openagent.tui.open_tabs import TabKeeper
from openagent.tui.permission import PermissionPanel
from openagent.tui.place import place
from openagent.tui.prompt import Prompt
from openagent.tui.session_view import Draft, SessionView
from openagent.tui.tab_bar import Tab, TabBar
from openagent.tui.theme import PALETTES
from openagent.tui.tool_call import ToolCall

if TYPE_CHECKING:
    from openagent.tui.first_run import Threshold
    from openagent.tui.picker import Picker
    from openagent.tui.terminal import Driver

SOURCES = ("model", "user", "tool")
TWICE = 2.0
"""Seconds in which pressing it again leaves."""
CYCLED: tuple[Mode, ...] = ("plan", "ask", "edits", "auto")
TOUR = "tour"
"""What the first screen is left with when somebody wants to look around."""
WIDE, NARROW, SMALLEST = 116, 90, (40, 10)
_ACTIONS = {
    "cancel": "cancel",
    "exit": "exit",
    "retry": "retry",
    "scroll_up": "scroll('page_up')",
    "scroll_down": "scroll('page_down')",
    "scroll_top": "scroll('home')",
    "scroll_bottom": "scroll('end')",
    "line_up": "scroll('line_up')",
    "line_down": "scroll('line_down')",
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
    "find": "find",
    "close_tab": "close_tab",
    "next_tab": "turn_tabs(1)",
    "previous_tab": "turn_tabs(-1)",
    "models": "models",
    "redraw": "redraw",
    "editor": "editor",
    "cycle_mode": "cycle_mode",
    "help": "help",
}
_OF_THE_HOUSE = {
    *("scroll", "panel", "files", "cycle_agents", "open_newest", "paste_image", "tab", "turn_tabs", "sessions"),
    *("new_session", "close_tab", "models", "yank", "view_full", "find", "editor", "cycle_mode", "retry"),
    *("ask_again", "let_go"),
}


class Wanted(NamedTuple):
    """Which session to begin with: a new one, unless another is named or asked for."""

    session: str = ""
    new: bool = False
    go_on: bool = False
    """The newest of the folder, whoever began it, beside those that were open here."""
    choose: bool = False
    """The person chooses one from the list."""
    prompt: str = ""
    """Said as soon as the session is there."""
    images: Sequence[ImagePart] = ()
    settings: Mapping[str, Any] = {}
    template: str = ""


class House(Screen[None]):
    """What streams below a dialog is not drawn meanwhile: nobody reads it, and the dialog would be slow."""

    BLANK = True
    BINDINGS = [Binding("tab,escape", "to_input", "back to the input", show=False)]

    def action_to_input(self) -> None:
        for view in self.query(SessionView):
            if view.display:
                view.prompt.focus()

    def on_screen_suspend(self) -> None:
        for view in self.query(SessionView):
            view.chat.sleep()

    async def on_screen_resume(self) -> None:
        for view in self.query(SessionView):
            if view.display:
                await view.chat.wake()


_MOST_NOTES = 3


class OpenAgent(App[None]):
    CSS = """
    #tiny { display: none; color: $warning; }
    .tiny #house { display: none; }
    .tiny #tiny { display: block; }
    Sheets { height: 1fr; }
    ToastRack { dock: top; align: right top; margin: 1 0 0 0; }
    StatusBar > .right { display: none; }
    .wide StatusBar > .right { display: block; }
    .narrow TabBar > #place { display: none; }
    .narrow SidePanel { dock: right; background: $background; }
    .narrow FilePanel { dock: left; layer: above; }
    """

    def __init__(
        self, link: Link, wanted: Wanted, cwd: str, env: Mapping[str, str], *, ground: Ground | None = None
    ) -> None:
        super().__init__()
        self.link = link
        self.cwd = cwd
        self.env = env
        self.failure: OpenAgentError | OSError | None = None
        """Why there was nothing to show."""
        self.when_drawn: Callable[[], None] = lambda: None
        """Called when the first picture is on the screen."""
        self.typed = ""
        """What a person typed before that."""
        self._wanted = wanted
        self._tabs = TabKeeper(env, cwd, link.remote)
        self._last_time = self._tabs.last()
        """The sessions that were open here when somebody left."""
        self._attention = Attention(env, self._to_terminal, clean(link.remote) or place(cwd))
        self._began = False
        """It is known which sessions are shown."""
        self._usual = Draft(cwd)
        self.keys = keys.load(cwd, env)
        self.liked = preferences.load(env)
        self._attention.alerts = self.liked.alerts
        self.jail = ""
        self._at_door = False
        """Something is asked before the work begins."""
        self._place = clean(link.remote) or place(cwd)
        self.history = History(locations.data_home(env))
        self._cancelled_at = -TWICE
        self._keyboard = Keyboard(self._do, self._whisper)
        self.views = [SessionView(link, self.keys, self.history, vim=self.liked.vim)]
        self._bar = TabBar(self._place)
        self._switcher = Sheets(self.views[0], initial=self.views[0].id)
        self._banner = Banner()
        self._tiny = Static(markup=False, id="tiny")
        # Before anything is drawn: a theme set later would make every style anew.
        for palette in PALETTES.values():
            self.register_theme(palette)
        self._ground = ground or ground_told(env) or "dark"
        self._depth = depth(env)
        self.theme = self._palette()
        self._bind()

    def get_default_screen(self) -> Screen[None]:
        return House(id="_default")

    def compose(self) -> ComposeResult:
        with Rows(id="house"):
            yield self._bar
            yield self._banner
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
        if self.typed:
            from openagent.tui.terminal import Parser

            for event in Parser().feed(self.typed):
                self.post_message(event)
        self.run_worker(asyncio.to_thread(_load_the_rest), group="load")
        self.run_worker(asyncio.to_thread(self.history.load), group="load")

    async def _begin(self) -> None:
        try:
            sessions, active = await self.link.begin(self._arrive)
        except (OpenAgentError, OSError) as problem:
            self.failure = problem
            self.exit(return_code=1)
            return
        self.link.on_trouble = self._connection_changed
        self.run_worker(self._mend(), group="mend")
        self.run_worker(self.link.watch(), group="watch")
        self._began = True
        self.views[0].jail = self.jail
        if sessions:
            self.views[0].show_session(sessions[0])
        else:
            settings = msgspec.convert(dict(self._wanted.settings), SettingsChange)
            await self.views[0].show_draft(self._usual._replace(settings=settings, template=self._wanted.template))
        for session in sessions[1:]:
            await self.open_session(session)
        self.action_tab(active + 1)
        if self._wanted.prompt or self._wanted.images:
            self.view.say(self._wanted.prompt, self._wanted.images)
        elif self.view.is_draft and not self._wanted.choose:
            self.run_worker(self._offer_last_time(), group="offer")
        if self._wanted.choose:
            self.action_sessions()

    async def _arrive(self, client: Client) -> tuple[list[str], int]:
        sessions, active = await self._sessions_to_open(client)
        if self._wanted.settings and sessions:
            change = msgspec.convert(dict(self._wanted.settings), SettingsChange)
            await client.request(SessionUpdate(id=client.next_id(), session=sessions[active], settings=change))
        await self._know_the_place(client)
        return sessions, active

    async def _begin_anew(self) -> str:
        """What a newcomer, or a new folder, is asked first. The tour's session, if that is what they chose."""
        client, folder = self.link.client, "" if self.link.remote else self.cwd
        try:
            state = await client.request(SetupShow(id=client.next_id(), cwd=folder))
        except OpenAgentError:
            return ""  # somebody else's daemon, whose owner chooses
        named = bool(self._wanted.settings.get("model"))
        if not named and (not state.model or (not state.chosen and not await self._was_used())):
            answer = await self._choose_model()
            if answer == TOUR:
                return await self._tour()
            if not answer and not state.model:
                self.notify("There is no model yet: /login brings one.", severity="warning", timeout=10)
        if state.folder is not None and state.folder.files and not (state.folder.trusted or state.folder.declined):
            await self._ask_trust(state.folder)
        return ""

    async def _was_used(self) -> bool:
        client = self.link.client
        return bool((await client.request(SessionList(id=client.next_id(), limit=1))).sessions)

    async def _choose_model(self) -> str:
        from openagent.tui.first_run import FirstRun

        folder = "" if self.link.remote else self.cwd
        screen = FirstRun(lambda: self.link.client, folder, self._place, far=bool(self.link.remote))
        return await self._at_the_door(screen)

    async def _ask_trust(self, folder: FolderTrust) -> None:
        from openagent.tui.trust import DECLINE, TRUST, TrustQuestion

        client = self.link.client
        match await self._at_the_door(TrustQuestion(folder, self._place)):
            case str(answer) if answer == TRUST:
                await client.request(TrustAdd(id=client.next_id(), cwd=self.cwd))
            case str(answer) if answer == DECLINE:
                await client.request(TrustDecline(id=client.next_id(), cwd=self.cwd))
            case _:
                pass

    async def _at_the_door(self, screen: "Threshold") -> str:
        """Until it is answered, keys do nothing else but leave."""
        self._at_door = True
        try:
            await self.push_screen(screen)
            return await screen.answer
        finally:
            self._at_door = False

    async def _tour(self) -> str:
        from openagent.filesystem import tour

        client = self.link.client
        folder = await asyncio.to_thread(tour.put_project)
        info = await client.create_session(str(folder), name="guided tour", model=tour.MODEL, mode="full")
        await client.send(info.id, tour.PROMPT)
        self.notify(tour.LABEL, timeout=10, markup=False)
        return info.id

    @on(SessionView.ModelWanted)
    async def action_connect(self) -> None:
        """Choose what answers, as at the first start."""
        self.run_worker(self._connect(), group="connect", exclusive=True)

    async def _connect(self) -> None:
        answer = await self._choose_model()
        if answer == TOUR:
            await self.open_session(await self._tour())
        elif answer:
            await self.view.change(SettingsChange(model=answer))

    async def _sessions_to_open(self, client: Client) -> tuple[list[str], int]:
        """And which of them is in front. None: nothing was said yet."""
        wanted = self._wanted
        if wanted.session:
            return [wanted.session], 0
        if begun := await self._begin_anew():
            return [begun], 0
        if not wanted.go_on:
            return [], 0
        folder = "" if self.link.remote else self.cwd
        page = await client.request(SessionList(id=client.next_id(), cwd=folder, limit=1, archived=False))
        newest = [info.id for info in page.sessions]
        sessions = [info.id for info in await self._open_last_time(client)]
        sessions += [each for each in newest if each not in sessions]
        return sessions, sessions.index(newest[0]) if newest else 0

    async def _open_last_time(self, client: Client) -> list[SessionInfo]:
        there: list[SessionInfo] = []
        for session in self._last_time:
            with suppress(OpenAgentError):  # deleted since
                there.append(await client.request(SessionGet(id=client.next_id(), session=session)))
        return there

    async def _offer_last_time(self) -> None:
        view = self.view
        try:
            there = await self._open_last_time(self.link.client)
        except OSError:
            return
        view.offer([info.name or "a session without a name" for info in there])

    async def action_reopen(self) -> None:
        try:
            there = await self._open_last_time(self.link.client)
        except OSError:
            return  # the banner says that the connection is lost
        for info in there:
            await self.open_session(info.id)
        if not there:
            self.notify("No sessions were open in this folder. /resume lists all sessions.", markup=False)

    async def _know_the_place(self, client: Client) -> None:
        """The jail there is, and what a session begins with."""
        folder = self.cwd
        if self.link.remote:
            # A folder of another machine is known only from its sessions.
            page = await client.request(SessionList(id=client.next_id(), limit=1))
            folder = page.sessions[0].cwd if page.sessions else folder
        daemon = await client.request(DaemonStatus(id=client.next_id(), cwd=folder))
        self.jail = daemon.jail
        self._usual = Draft(folder, daemon.model, daemon.mode, cap_usd=daemon.cap_usd, today=daemon.today)

    async def _mend(self) -> None:
        """Whatever is shown: somebody who only writes hears of a loss too."""
        while True:
            client = self.link.client
            await client.ended()
            await self.link.mend(client)

    def _connection_changed(self, trouble: Trouble | None) -> None:
        self._banner.show(trouble)
        for view in self.views:
            view.status.offline(trouble is not None and not trouble.silent_since)

    # Keys

    def _bind(self) -> None:
        """Keys that write something count only where nothing is written; all others count everywhere.

        Two keys after one another are the keyboard's."""
        bindings = [
            Binding(key, action, name, show=False, priority=not keys.is_typed(key))
            for name, action in _ACTIONS.items()
            for key in sorted(self.keys.keys_of(name))
            if " " not in key
        ]
        bindings += [Binding(f"alt+{n}", f"tab({n})", show=False, priority=True) for n in range(1, 10)]
        self._bindings = BindingsMap([*reversed(bindings)])
        self._bound = {binding.key for binding in bindings}

    def get_driver_class(self) -> "type[Driver]":
        from openagent.tui.terminal import driver

        return driver()

    async def on_event(self, event: Event) -> None:
        """What is written reaches the input, whatever has the focus; a dialog keeps its keys."""
        if isinstance(event, InputEvent):
            self._attention.used()
        if isinstance(event, Key | Paste) and not event.is_forwarded and isinstance(self.screen, House):
            if isinstance(event, Key) and await self._keyboard.takes_chord(event, self.keys, self.size.width - 4):
                return
            if isinstance(event, Key) and self.view.goes_elsewhere(event.key):
                return
            if not wants(self.focused, event, self._bound, drafting=bool(self.view.prompt.text)):
                self.screen.set_focus(self.view.prompt)  # now: `focus()` would come after this very key
        await super().on_event(event)

    def _whisper(self, what: Content | str) -> None:
        self.view.aside.say(what)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Below a dialog nothing moves: its keys are its own."""
        if self._at_door:
            return action in ("cancel", "exit")
        return isinstance(self.screen, House) or action not in _OF_THE_HOUSE

    async def _do(self, action: str) -> None:
        await self.run_action(f"tab({action})" if action.isdigit() else _ACTIONS[action])

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

    # Who is not looking

    def _to_terminal(self, sequence: str) -> None:
        if self._driver is not None:
            self._driver.write(sequence)

    def watch_app_focus(self, focus: bool) -> None:
        self._attention.looked_at = focus

    def action_alerts(self) -> None:
        self._prefer(alerts=not self.liked.alerts)
        self._attention.alerts = self.liked.alerts
        when = "when something waits or ends while you look elsewhere"
        self.notify(f"A bell and a note of the desktop {when}: {'on' if self.liked.alerts else 'off'}.")

    # Tabs

    def farewell(self) -> str:
        """For the terminal, when the program has gone: what was shown last, and the way back to it."""
        said = [view for view in self.views if view.session and view.info]
        if not said:
            return ""
        last = self.view if self.view in said else said[-1]
        name = f" ({one_line(last.info.name, 40)})" if last.info and last.info.name else ""
        working = f"\nIt is still at work: `openagent attach {last.session}` follows it." if last.running else ""
        others = f"\nand with {len(said) - 1} more: openagent -c, in this folder" if len(said) > 1 else ""
        # On a line of its own, so that it can be copied from a narrow terminal.
        return clean(f"Session {last.session}{name}: go on with\n  openagent resume {last.session}{others}{working}")

    @property
    def view(self) -> SessionView:
        current = self._switcher.current
        return next((view for view in self.views if view.id == current), self.views[0])

    async def open_session(self, session: str) -> None:
        view = next((view for view in self.views if view.session == session), None)
        if view is None and self.view.is_untouched:
            view = self.view
            view.show_session(session)
        if view is None:
            view = SessionView(self.link, self.keys, self.history, session=session, vim=self.liked.vim)
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
        if self._began:
            self._tabs.keep([view.session for view in self.views if view.session])
        self.call_later(self._bar.show, [view.info for view in self.views], active)
        self._attention.follow([Shown(view.id or "", view.info) for view in self.views if view.info], self.view.info)

    @on(Tab.Chosen)
    def _tab_chosen(self, event: Tab.Chosen) -> None:
        self.action_tab(event.number)

    def action_tab(self, number: int) -> None:
        if 0 < number <= len(self.views):
            self._go_to(self.views[number - 1])

    def action_turn_tabs(self, step: int) -> None:
        self._go_to(self.views[(self.views.index(self.view) + step) % len(self.views)])

    def action_redraw(self) -> None:
        self.refresh(layout=True)

    def _refresh_notifications(self) -> None:
        """The newest alone: more than fit on the screen would never be drawn away again, and would cover the input."""
        for old in [*self._notifications][:-_MOST_NOTES]:
            del self._notifications[old]
        super()._refresh_notifications()

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

    async def start_session(self, template: str = "", like: Draft | None = None) -> None:
        """In a tab of its own; the session is made when something is said in it."""
        try:
            await self._know_the_place(self.link.client)
        except OpenAgentError as problem:  # not connected yet, or no more
            self.notify(clean(str(problem)), severity="warning", markup=False)
            return
        view = SessionView(self.link, self.keys, self.history, vim=self.liked.vim)
        view.jail = self.jail
        self.views.append(view)
        await self._switcher.add_content(view)
        await view.show_draft(like or self._usual._replace(template=template))
        self._go_to(view)

    # Commands

    @on(SessionView.CommandGiven)
    async def _command(self, event: SessionView.CommandGiven) -> None:
        name, _, rest = event.line.strip().partition(" ")
        known = self.view.completion.commands
        if command := named(name):
            self.run_worker(self.perform(command, rest.strip()), group="command")
        elif named(name, known):
            self.view.say(f"/{event.line}")
        else:
            near = nearest(name, known)
            guess = f"Did you mean /{near}?" if near else "/ lists them."
            self.notify(clean(f"There is no command /{name}. {guess}"), severity="warning", markup=False)

    async def perform(self, command: Command, rest: str = "") -> None:
        if command.does and (rest or not command.action):
            from openagent.tui import slash

            await self.view.attached()
            await slash.BY_NAME[command.does](self, rest)
        elif command.line:
            from openagent.tui import slash

            await self.view.attached()
            await slash.shell(self, f"{command.line} {rest}", command.help)
        else:
            await self.run_action(command.action)

    def action_command_palette(self) -> None:
        from openagent.tui import choices, picker

        shortcuts = {action: self.keys.label(name) for name, action in _ACTIONS.items()}
        load = choices.commands(self.view.completion.commands, shortcuts)
        self._pick(picker.Picker("Everything, by name", load, empty=""), self._perform_named)

    async def _perform_named(self, name: str) -> None:
        self.view.post_message(SessionView.CommandGiven(name))

    def action_cancel(self) -> None:
        (self.focused or self).call_later(self._cancel)

    async def _cancel(self) -> None:
        view = self.view
        if (selected := self.screen.get_selected_text()) is not None:
            self.copy_to_clipboard(clean(selected))
            self.screen.clear_selection()
            self.notify("What was selected was copied.")
        elif len(self.screen_stack) > 1:
            self.pop_screen()
        elif monotonic() - self._cancelled_at < TWICE:
            self.exit()
        else:
            self._cancelled_at = monotonic()
            again = f"{self.keys.label('cancel')} again leaves; sessions go on."
            if view.running:
                view.aside.say(f"Stopped. {again}", lasts=TWICE)
                await view.cancel()
            elif view.prompt.text:
                view.prompt.put_away()
                view.aside.say(f"Put away; the up key brings it back. {again}", lasts=TWICE)
            else:
                view.aside.say(again, lasts=TWICE)

    async def action_retry(self) -> None:
        await self.view.retry()

    async def action_ask_again(self) -> None:
        await self.view.ask_again()

    async def action_let_go(self) -> None:
        await self.view.ask_again(drop=True)

    async def action_cycle_mode(self) -> None:
        """`full` is none of them: it is chosen by name."""
        from openagent.tui.choices import MODES

        if self.view.info is None:
            return
        now = self.view.info.settings.mode
        mode = CYCLED[(CYCLED.index(now) + 1) % len(CYCLED)] if now in CYCLED else CYCLED[0]
        await self.view.change(SettingsChange(mode=mode))
        self.view.aside.say(f"Mode {mode}: {MODES[mode]}. {self.keys.label('cycle_mode')} goes on.")

    @on(Prompt.SearchAsked)
    def _search_history(self) -> None:
        from openagent.tui.history_search import HistorySearch

        prompt = self.view.prompt
        past = [*reversed(prompt.typed_before())]

        def chosen(place: str | None) -> None:
            if place is not None:
                prompt.write_anew(past[int(place)])

        self.push_screen(HistorySearch(past, "" if "\n" in prompt.text else prompt.text), chosen)

    async def action_editor(self) -> None:
        from openagent.tui import outside_editor

        prompt = self.view.prompt
        before = after = prompt.pasted.expand(prompt.text)[0]
        problem = ""
        # Nothing is drawn meanwhile, the terminal is the editor's; what comes from the daemon is taken all the same.
        with self.batch_update(), self.suspend():
            try:
                program = outside_editor.command(self.env)
                after = await asyncio.to_thread(outside_editor.edit, before, program, self.env)
            except outside_editor.NoEditor as told:  # here: without a resume, the terminal would stay the editor's
                problem = str(told)
        if problem:
            self.notify(clean(problem), severity="warning", markup=False)
        if after != before:
            prompt.write_anew(after)

    def action_exit(self) -> None:
        # After what was typed before it: that may still be on its way.
        (self.focused or self).call_later(self._exit_or_delete)

    def _exit_or_delete(self) -> None:
        """In something that is written, the key deletes to the right, as in a shell."""
        match self.focused:
            case TextArea(text=text) as written if text:
                written.action_delete_right()
            case Input(value=text) as written if text:
                written.action_delete_right()
            case _:
                self.exit()

    async def action_find(self) -> None:
        await self.view.find()

    def action_scroll(self, where: str) -> None:
        if not isinstance(self.screen, House):
            raise SkipAction  # a dialog has pages of its own
        if not (isinstance(self.focused, PermissionPanel) and self.focused.go(where)):
            self.view.chat.go(where)

    def action_theme(self, wanted: str = "") -> None:
        """dark, light or auto: as the terminal's ground. Without a word: the other one."""
        if wanted not in ("", "auto", *preferences.THEMES):
            self.notify(clean(f"There is no theme {wanted}. There are dark, light and auto."), severity="warning")
            return
        self._prefer(theme=wanted or ("light" if self.current_theme.dark else "dark"))
        self.theme = self._palette()

    def _palette(self) -> str:
        wanted = self.liked.theme if self.liked.theme in preferences.THEMES else self._ground
        return PALETTES[wanted, self._depth].name

    def action_vim(self) -> None:
        self._prefer(vim=not self.liked.vim)
        for view in self.views:
            view.prompt.use_vim(self.liked.vim)
        self.notify(f"Vim keys are {'on; Esc leaves insert mode' if self.liked.vim else 'off'}.")

    def _prefer(self, **changes: object) -> None:
        self.liked = replace(self.liked, **changes)
        preferences.save(self.env, self.liked)

    @on(Prompt.BackAsked)
    def _ask_how_far_back(self) -> None:
        if self.view.chat.newest:
            self.action_rewind()

    @on(Prompt.HelpAsked)
    def action_help(self) -> None:
        self._show_help(commands_first=False)

    def action_help_with_commands(self) -> None:
        self._show_help(commands_first=True)

    def _show_help(self, *, commands_first: bool) -> None:
        from openagent.tui.help import Help

        if not isinstance(self.screen, Help):
            self.push_screen(Help(self.keys, self.view.completion.commands, commands_first=commands_first))

    # Looking closer

    def action_open_newest(self) -> None:
        if isinstance(self.focused, PermissionPanel):
            self.focused.action_whole()
        elif call := self.view.chat.newest_call():
            self.call_later(self._open, call)

    async def _open(self, call: ToolCall) -> None:
        await call.action_fold()
        if call.opened:
            self.call_after_refresh(self.view.chat.bring_into_sight, call)

    def action_view_full(self) -> None:
        from openagent.tui.pager import Pager

        call = self.focused if isinstance(self.focused, ToolCall) else self.view.chat.newest_call()
        if call is None:
            self.notify("No tool was called yet.")
        elif not isinstance(self.screen, Pager):
            self.push_screen(Pager(call.title, call.whole, self.keys))

    def action_yank(self, sources: str = "") -> None:
        """Over OSC 52, so that it works through SSH. Which sources, is a word of the environment or of `/copy`."""
        wanted = sources or self.env.get("OPENAGENT_COPY_SOURCES", "") or "model"
        chosen = SOURCES if wanted == "all" else tuple(word.strip() for word in wanted.replace(",", "&").split("&"))
        if unknown := [clean(word) for word in chosen if word not in SOURCES]:
            self.notify(f"{', '.join(unknown)}: no source. There are model, user, tool and all.", markup=False)
        elif text := self.view.chat.newest_from(chosen):
            self.copy_to_clipboard(text)
            what = "The newest answer" if chosen == ("model",) else f"The turn ({', '.join(chosen)})"
            self.notify(f"{what} was copied.", markup=False)
        else:
            self.notify("There is nothing to copy yet.")

    async def action_paste_image(self) -> None:
        from openagent.tui.paste import clipboard_image

        data = await asyncio.to_thread(clipboard_image)
        if data:
            self.view.prompt.put(self.view.prompt.pasted.take_image(data, "from the clipboard"))
        elif self.clipboard:
            self.view.prompt.put(self.view.prompt.pasted.take(self.clipboard))
        else:
            self.notify("The clipboard holds no image that this terminal can reach. Paste a file's path instead.")

    # Panels

    async def action_panel(self, panel: str) -> None:
        view = self.view
        if view.side.toggle(panel) and panel == "tools":
            found = await view.ask(lambda client: ToolsList(id=client.next_id(), session=view.session))
            if found is not None:
                view.side.show_tools(found.tools)

    async def action_context(self) -> None:
        from openagent.tui.context import told
        from openagent.tui.pager import Pager

        view = self.view
        report = await view.ask(lambda client: ContextShow(id=client.next_id(), session=view.session))
        if report is not None:
            self.push_screen(Pager("What the model is shown", told(report), self.keys))

    async def action_cycle_agents(self) -> None:
        """The panel first; then from agent to agent, each with its own tab, and back."""
        view = self.view
        around = next((own for own in self.views if self._is_among(view.session, own)), view)
        agents = [around.session, *(agent.session for _, agent in around.agents.everyone())]
        if len(agents) == 1 or not around.side.shows("agents"):
            await self.action_panel("agents")
            return
        await self.open_session(agents[(agents.index(view.session) + 1) % len(agents)])

    @staticmethod
    def _is_among(session: str, view: SessionView) -> bool:
        return any(agent.session == session for _, agent in view.agents.everyone())

    async def action_files(self) -> None:
        from openagent.tui.file_panel import FilePanel

        view = self.view
        panel = next(iter(view.query(FilePanel)), None)
        if panel is None:
            panel = FilePanel(view.info.cwd if view.info else self.cwd, view.list_files)
            await view.query_one("#body").mount(panel, before=0)
        panel.toggle_class("shown")
        if not panel.has_class("shown"):
            view.prompt.focus()
            return
        changed = await view.ask(lambda client: SessionChanges(id=client.next_id(), session=view.session))
        await panel.read_again({file.path: file.status for file in changed.files} if changed else {})
        panel.focus()

    # Pickers

    def action_sessions(self) -> None:
        from openagent.tui import choices, picker

        found = picker.Picker(
            "Sessions: by name, folder, or what was said in them",
            choices.sessions(self._client),
            empty="No session yet. /new starts one.",
            search=choices.said(self._client),
        )
        self._pick(found, self._open_found)

    async def _open_found(self, chosen: str) -> None:
        """A session, at the message that was found if one was; or those put away or brought, to choose from."""
        from openagent.tui import choices, picker

        if chosen == choices.ARCHIVED:
            found = picker.Picker(
                "Archived sessions: something said in one brings it back",
                choices.archived(self._client),
                empty="No session is archived.",
            )
            self._pick(found, self._open_found)
            return
        if chosen == choices.BROUGHT:
            found = picker.Picker(
                "Sessions of other agents: a message goes on with one, with your model",
                choices.brought(self._client),
                empty="None was brought. `openagent import` does that.",
                search=choices.said(self._client),
            )
            self._pick(found, self._open_found)
            return
        session, _, number = chosen.partition(" ")
        await self.open_session(session)
        if number:
            self.run_worker(self.view.show_when_there(int(number)), group="found", exclusive=True)

    def action_models(self) -> None:
        from openagent.tui import choices, picker

        load = choices.models(self._client, self.view.info.cwd if self.view.info else self.cwd)
        empty = "No provider offers a model. /login brings one."
        self._pick(picker.Picker("Model", load, empty=empty), lambda name: self._change(SettingsChange(model=name)))

    def action_templates(self) -> None:
        from openagent.tui import choices, picker

        load = choices.templates(self._client, self.view.info.cwd if self.view.info else self.cwd)
        empty = "No template yet. A Markdown file in .openagent/agents is one."
        self._pick(picker.Picker("Start a session from …", load, empty=empty), self.start_session)

    def action_modes(self) -> None:
        from openagent.tui import choices, picker

        self._pick(
            picker.Picker("Mode", choices.modes(), empty=""),
            lambda mode: self._change(SettingsChange(mode=cast(Mode, mode))),
        )

    def action_thinking(self) -> None:
        from openagent.tui import choices, picker, slash

        self._pick(
            picker.Picker("How long the model thinks", choices.thinking(), empty=""), partial(slash.thinking, self)
        )

    def action_grants(self) -> None:
        from openagent.tui import choices, picker

        load = choices.grants(self._client, self.view.session)
        empty = "Nothing is allowed here beyond what the mode and the rules allow."
        self._pick(picker.Picker("Allowed without asking: Enter revokes", load, empty=empty), self._revoke)

    async def _revoke(self, grant: str) -> None:
        done = await self.view.ask(lambda client: GrantsRevoke(id=client.next_id(), grant=grant))
        if done is not None:
            self.notify("Revoked: the agent asks for it again from now on.", markup=False)

    def action_mcp(self) -> None:
        from openagent.tui import choices, picker

        cwd = self.view.info.cwd if self.view.info else self.cwd
        empty = "No MCP server is configured. `openagent mcp add` adds one."
        self._pick(
            picker.Picker("MCP servers: Enter switches", choices.mcp_servers(self._client, cwd), empty=empty),
            partial(self._switch_mcp, cwd),
        )

    async def _switch_mcp(self, cwd: str, chosen: str) -> None:
        on_or_off, _, name = chosen.partition(" ")
        view = self.view
        if view.is_draft and view.info is not None:
            others = [each for each in view.info.settings.disabled_mcp_servers if each != name]
            off = others if on_or_off == "on" else [*others, name]
            done = await view.change(SettingsChange(disabled_mcp_servers=off))
        else:
            done = await view.ask(
                lambda client: McpSwitch(
                    id=client.next_id(), name=name, on=on_or_off == "on", cwd=cwd, session=view.session
                ),
            )
        if done:
            self.notify(clean(f"{name} is {on_or_off}, from the next turn on."), markup=False)

    def action_rewind(self) -> None:
        from openagent.tui import choices, picker

        view = self.view
        if view.is_draft:
            view.say_that_nothing_was_said()
            return
        self._pick(
            picker.Picker(
                "Go back to before …",
                choices.turns(self._client, view.session),
                empty="Nothing was said yet.",
                preview=choices.changes(
                    self._client, view.session, min(self.size.width, 100) - 12, tinted=can_tint(self)
                ),
            ),
            partial(self.rewind, view),
        )

    def _client(self) -> Client:
        return self.link.client

    def _pick(self, picker: "Picker", then: Callable[[str], Awaitable[None]]) -> None:
        def chosen(id_: str | None) -> None:
            if id_ is not None:
                self.call_later(then, id_)

        self.push_screen(picker, chosen)

    async def _change(self, change: SettingsChange) -> None:
        await self.view.change(change)

    async def rewind(self, view: SessionView, turn: str) -> None:
        from openagent.tui import choices, picker

        title = f"Back to before turn {turn}: undo …"
        self._pick(picker.Picker(title, choices.what_goes_back(), empty=""), partial(self._rewind, view, int(turn)))

    async def _rewind(self, view: SessionView, turn: int, what: str) -> None:
        await self.undo(view, turn, files="files" in what, conversation="conversation" in what)

    async def undo(
        self, view: SessionView, turn: int, *, files: bool = True, conversation: bool = False, paths: Sequence[str] = ()
    ) -> None:
        done = await view.ask(
            lambda client: SessionUndo(
                id=client.next_id(),
                session=view.session,
                turn=turn,
                files=files,
                conversation=conversation,
                paths=list(paths),
            )
        )
        if done is not None:
            changed = len(done.written) + len(done.removed)
            self.notify(clean(f"Back to before turn {turn}; {changed} files restored."), markup=False)
            for path, reason in done.runs_outside.items():
                self.notify(f"{one_line(path)} {outside(reason)}", severity="warning", markup=False)
            if done.others:
                self._offer_others(view, turn, done.others)

    def _offer_others(self, view: SessionView, turn: int, others: Sequence[LeftAlone]) -> None:
        from openagent.tui import choices, picker

        title = "Others changed these since: they stay, unless you choose"
        every = [left.path for left in others]
        self._pick(
            picker.Picker(title, choices.left_alone(others), empty=""), partial(self._overwrite, view, turn, every)
        )

    async def _overwrite(self, view: SessionView, turn: int, every: list[str], chosen: str) -> None:
        """`chosen` is a path, or empty for all."""
        await view.ask(
            lambda client: SessionUndo(
                id=client.next_id(),
                session=view.session,
                turn=turn,
                others="overwrite",
                paths=[chosen] if chosen else every,
            ),
        )

    async def action_unrewind(self) -> None:
        view = self.view
        if view.is_draft:
            view.say_that_nothing_was_said()
            return
        if await view.ask(lambda client: SessionRedo(id=client.next_id(), session=view.session)) is not None:
            self.notify("Redone.", markup=False)


def _load_the_rest() -> None:
    """What the first picture does without, before somebody wants it."""
    for module in ("answer", "choices", "help", "pager", "picker"):
        import_module(f"openagent.tui.{module}")
