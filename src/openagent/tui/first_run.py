"""What answers? The screen that a newcomer sees first: what was found on this machine, one step away each."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from openagent.client import Client
from openagent.client.history import what_was_found
from openagent.client.sources import QUESTION, found, offered, server_at, url_to_keep, vendors, whose
from openagent.client.text import clean, one_line, size
from openagent.protocol.auth import AuthLogin, AuthLoginFinish, LoginStarted
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import HistoryProgress, PullProgress
from openagent.protocol.history import FoundHistory, HistoryFind, HistoryImport, UsageAll
from openagent.protocol.models import ModelsPull
from openagent.protocol.op import Op
from openagent.protocol.setup import (
    FoundKey,
    LocalServer,
    LoginOffer,
    ModelSources,
    OfflineOffer,
    ProvidersAdd,
    SetupKey,
    SetupLook,
    SetupUse,
)
from openagent.tui.figures import money

R = TypeVar("R", bound=Struct)
_BAR = 24
_WIDEST = 96


class Row(NamedTuple):
    label: str
    note: str
    act: Callable[[], object]


class Threshold(Screen[None]):
    """A question to answer before the work begins. What was answered is in `answer`, however the screen was left."""

    DEFAULT_CSS = """
    Threshold { align: center middle; background: $background; }
    Threshold > Vertical { width: 100%; max-width: 96; height: auto; max-height: 100%; padding: 0 3; }
    Threshold .head { height: 1; }
    Threshold .title { text-style: bold; margin: 1 0 0 0; }
    Threshold .text { color: $foreground-muted; margin: 0 0 1 0; }
    Threshold OptionList, Threshold OptionList:focus {
        border: none; height: auto; max-height: 14; padding: 0; background: $background;
    }
    Threshold OptionList > .option-list--option-highlighted { background: $chosen-row; color: $foreground; }
    Threshold OptionList:focus > .option-list--option-highlighted { background: $chosen-row; color: $foreground; }
    Threshold Input, Threshold Input:focus { border: none; height: 1; padding: 0 1; background: $panel; display: none; }
    Threshold Input.shown { display: block; }
    Threshold .said { height: auto; margin: 1 0 0 0; }
    Threshold .said.bad { color: $error; }
    Threshold .hint { color: $foreground-muted; margin: 1 0 0 0; }
    """

    def __init__(self, place: str) -> None:
        super().__init__()
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        head = Content.assemble(("OpenAgent", "bold $primary"), (f"  {clean(place)}", "$foreground-muted"))
        self._head = Static(head, markup=False, classes="head")
        self._title = Static(markup=False, classes="title")
        self._text = Static(markup=False, classes="text")
        self._list = OptionList(compact=True)
        self._entry = Input(password=True)
        self._said = Static(markup=False, classes="said")
        self._hint = Static(markup=False, classes="hint")
        self._rows: Sequence[Row] = ()
        self._back: Callable[[], object] = partial(self.leave, "")

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self._head
            yield self._title
            yield self._text
            yield self._list
            yield self._entry
            yield self._said
            yield self._hint

    def on_unmount(self) -> None:
        if not self.answer.done():
            self.answer.set_result("")

    def leave(self, answer: str) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)
            self.dismiss()

    # What is shown

    def offer(self, title: str, text: str, rows: Sequence[Row], *, hint: str, back: Callable[[], object]) -> None:
        self._title.update(title)
        self._text.update(text)
        self._text.display = bool(text)
        self._hint.update(hint)
        self._back = back
        self._rows = rows
        self._entry.remove_class("shown")
        self._list.display = True
        self._draw_rows()
        self._list.highlighted = 0 if rows else None
        self._list.focus()
        self.say("")

    def _draw_rows(self) -> None:
        width = min(self.size.width, _WIDEST) - 6
        label = max((len(row.label) for row in self._rows), default=0)
        room = width - label - 7
        tall = any(len(row.note) > room for row in self._rows) and 2 * len(self._rows) + 9 <= self.size.height
        at = self._list.highlighted
        self._list.clear_options()
        for number, row in enumerate(self._rows, 1):
            note = one_line(row.note, width - 5 if tall else max(room, 8))
            line = Content.assemble(
                (f" {number}  ", "$primary"),
                (row.label if tall else f"{row.label:<{label}}", "bold"),
                (f"\n    {note}" if tall else f"  {note}", "$foreground-muted"),
            )
            self._list.add_option(Option(line))
        self._list.highlighted = at

    def on_resize(self) -> None:
        if self._rows:
            self._draw_rows()

    def ask_for(
        self, title: str, text: str, placeholder: str, *, hint: str, hidden: bool, back: Callable[[], object]
    ) -> None:
        self._title.update(title)
        self._text.update(text)
        self._text.display = bool(text)
        self._hint.update(hint)
        self._back = back
        self._list.display = False
        self._entry.password = hidden
        self._entry.value = ""
        self._entry.placeholder = placeholder
        self._entry.add_class("shown")
        self._entry.focus()
        self.say("")

    def say(self, text: str, *, bad: bool = False) -> None:
        self._said.update(clean(text))
        self._said.set_class(bad, "bad")
        self._said.display = bool(text)

    # Keys

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._rows[event.option_index].act()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self._back()
        elif self._list.display and event.character and event.character in "123456789":
            number = int(event.character)
            if number <= len(self._rows):
                event.stop()
                self._list.highlighted = number - 1


class FirstRun(Threshold):
    def __init__(self, client: Callable[[], Client], cwd: str, place: str, *, far: bool = False) -> None:
        """`far`: the daemon is on another machine, where the tour's files would not be."""
        super().__init__(place)
        self._client = client
        self._cwd = cwd
        self._far = far
        self._sources: ModelSources | None = None
        self._left: FoundHistory | None = None
        """What other agents left on the daemon's machine."""
        self._busy = False
        self._on_entry: Callable[[str], Coroutine[Any, Any, None]] | None = None

    def on_mount(self) -> None:
        self._list.display = False
        self._title.update(f"Welcome. {QUESTION}")
        self._text.update("Looking for keys and model servers …")
        self.run_worker(self._look(), group="look")

    async def _look(self) -> None:
        try:
            self._sources = await self._ask(lambda client: SetupLook(id=client.next_id(), cwd=self._cwd))
        except OpenAgentError as problem:
            self.offer("Welcome.", str(problem), [], hint="Esc goes on without a model", back=partial(self.leave, ""))
            return
        with contextlib.suppress(OpenAgentError):  # what others left is no reason to fail
            self._left = await self._ask(lambda client: HistoryFind(id=client.next_id()))
        self._show_sources()

    def _show_sources(self) -> None:
        self._on_entry = None
        assert self._sources is not None
        self.offer(
            f"Welcome. {QUESTION}",
            found(self._sources),
            self._choices(self._sources),
            hint="Enter chooses · ↑ ↓ or a number · Esc skips",
            back=partial(self.leave, ""),
        )

    def _choices(self, sources: ModelSources) -> list[Row]:
        offers = offered(sources, tour=not self._far)
        rows = [Row(each.label, each.note, partial(self._choose, each.of)) for each in offers]
        if self._left is not None and self._left.sessions:
            what = Row(what_was_found(self._left), "what they cost, search them, go on with them", self._do_bring)
            rows.insert(next((at for at, each in enumerate(offers) if each.of == "paste"), len(rows)), what)
        return rows

    def _choose(self, source: object) -> None:
        match source:
            case FoundKey():
                self._do(self._use(source.provider, source.title))
            case LocalServer(models=[]):
                self._do(self._look())
            case LocalServer(models=[only]):
                self._do(self._use(source.provider, source.title, only.name, url_to_keep(source)))
            case LocalServer():
                self._choose_model(source)
            case LoginOffer(done=True):
                self._do(self._use(source.provider, source.provider))
            case LoginOffer():
                self._do(self._login(source.provider))
            case OfflineOffer(installed=True):
                self._do(self._use("local", "the offline model", source.name))
            case OfflineOffer():
                self._do(self._pull(source))
            case "tour":
                self.leave("tour")
            case "address":
                self._enter_address()
            case _:
                self._enter_key()

    # What is there already

    def _choose_model(self, server: LocalServer) -> None:
        rows = [
            Row(
                one_line(model.name, 48),
                model.note,
                partial(self._do_use, server.provider, server.title, model.name, url_to_keep(server)),
            )
            for model in server.models
        ]
        self.offer(
            f"Which model of {server.title}?", "", rows, hint="Enter chooses · Esc goes back", back=self._show_sources
        )

    def _do_use(self, provider: str, title: str, model: str, url: str) -> None:
        self._do(self._use(provider, title, model, url))

    async def _use(self, provider: str, title: str, model: str = "", url: str = "") -> None:
        self.say(f"Asking {title} …")
        chosen = await self._ask(lambda client: SetupUse(id=client.next_id(), provider=provider, model=model, url=url))
        self.leave(chosen.model)

    # A key

    def _enter_key(self) -> None:
        self._on_entry = self._try_key
        self.ask_for(
            "Paste an API key",
            f"Of {_titles(self._sources)}. It is tried with a question that costs nothing, then kept encrypted.",
            "sk-ant-…  sk-…  AIza…  sk-or-…",
            hint="Enter tries it · Esc goes back",
            hidden=True,
            back=self._show_sources,
        )

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._on_entry == self._try_key and event.value:
            title = self._whose(event.value.strip())
            self.say(f"A key of {title}." if title else "Not a key whose beginning is known: Enter asks whose it is.")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self._on_entry is not None and event.value.strip():
            self._do(self._on_entry(event.value.strip()))

    def on_paste(self, event: events.Paste) -> None:
        """A key pasted at the list is a key, too."""
        text = event.text.strip()
        if self._list.display and self._sources is not None and self._whose(text):
            self._enter_key()
            self._entry.value = text

    def _whose(self, key: str) -> str:
        return whose(self._sources, key) if self._sources else ""

    async def _try_key(self, key: str) -> None:
        title = self._whose(key)
        if title:
            await self._keep_key(key, "", title)
        else:
            self._ask_whose(key)

    def _ask_whose(self, key: str) -> None:
        assert self._sources is not None
        vendors = {look.provider: look.title for look in self._sources.looks}
        rows = [Row(title, "", partial(self._do_keep_key, key, provider, title)) for provider, title in vendors.items()]
        self.offer(
            "Whose key is it?",
            "It does not begin like one that is known.",
            rows,
            hint="Enter tries it · Esc goes back",
            back=self._enter_key,
        )

    def _do_keep_key(self, key: str, provider: str, title: str) -> None:
        self._do(self._keep_key(key, provider, title))

    async def _keep_key(self, key: str, provider: str, title: str) -> None:
        self.say(f"Asking {title} …")
        chosen = await self._ask(lambda client: SetupKey(id=client.next_id(), key=key, provider=provider))
        self.leave(chosen.model)

    # A server at an address

    def _enter_address(self) -> None:
        self._on_entry = self._try_address
        self.ask_for(
            "Enter a server's address",
            "Any server that speaks the OpenAI format. It is asked for its models.",
            "http://127.0.0.1:8000/v1",
            hint="Enter asks it · Esc goes back",
            hidden=False,
            back=self._show_sources,
        )

    async def _try_address(self, address: str) -> None:
        name, url = server_at(address)
        self.say(f"Asking {url} …")
        try:
            await self._add_server(name, url, "")
        except OpenAgentError as problem:
            if problem.info.code != "auth_failed":
                raise
            self._on_entry = partial(self._add_server, name, url)
            self.ask_for(
                "Paste an API key",
                f"{url} wants one. It is tried, then kept encrypted.",
                "",
                hint="Enter tries it · Esc goes back",
                hidden=True,
                back=self._enter_address,
            )

    async def _add_server(self, name: str, url: str, key: str) -> None:
        added = await self._ask(
            lambda client: ProvidersAdd(id=client.next_id(), name=name, base_url=url, key=key, replace=True)
        )
        if len(added.models) == 1:
            await self._use(name, url, added.models[0])
        elif added.models:
            rows = [Row(one_line(model, 48), "", partial(self._do_use, name, url, model, "")) for model in added.models]
            self.offer(
                "Which model?", f"{url} has these.", rows, hint="Enter chooses · Esc goes back", back=self._show_sources
            )
        else:
            self._on_entry = partial(self._use, name, url)
            self.ask_for(
                "Which model?",
                f"{url} lists none. Enter the name of one.",
                "",
                hint="Enter asks it · Esc goes back",
                hidden=False,
                back=self._enter_address,
            )

    # A login

    async def _login(self, provider: str) -> None:
        started = await self._ask(lambda client: AuthLogin(id=client.next_id(), provider=provider, cwd=self._cwd))
        self._on_entry = partial(self._finish_login, started, provider)
        enter = f"\n\nEnter there: {started.code}" if started.code else ""
        self.ask_for(
            f"Log in to {provider}",
            f"Open this address and allow the access:\n\n{started.url}{enter}",
            "paste here the code that the page shows" if started.pasted else "or paste here the address it ended at",
            hint="Waiting for the browser · Esc goes back",
            hidden=False,
            back=self._show_sources,
        )
        self.run_worker(self._wait_for_login(started, provider), group="login", exclusive=True)

    async def _wait_for_login(self, started: LoginStarted, provider: str) -> None:
        try:
            await self._finish_login(started, provider, "")
        except OpenAgentError as problem:
            self.say(str(problem), bad=True)

    async def _finish_login(self, started: LoginStarted, provider: str, answer: str) -> None:
        await self._ask(lambda client: AuthLoginFinish(id=client.next_id(), login=started.login, answer=answer))
        await self._use(provider, provider)

    # An offline model

    async def _pull(self, offer: OfflineOffer) -> None:
        client = self._client()
        async with client.all_events() as coming:
            shown = asyncio.create_task(self._show_progress(coming, offer))
            try:
                await self._ask(lambda client: ModelsPull(id=client.next_id(), name=offer.name))
            finally:
                shown.cancel()
        await self._use("local", "the offline model", offer.name)

    async def _show_progress(self, coming: "asyncio.Queue[Any]", offer: OfflineOffer) -> None:
        self.say(f"Fetching {offer.name} …")
        while (event := await coming.get()) is not None:
            if not isinstance(event, PullProgress):
                continue
            if event.total_bytes:
                filled = _BAR * min(event.done_bytes, event.total_bytes) // event.total_bytes
                done = f"{size(event.done_bytes)} of {size(event.total_bytes)}"
                self.say(f"{event.stage:<28} {'█' * filled}{'░' * (_BAR - filled)} {done}")
            else:
                self.say(event.stage)

    # What other agents left

    def _do_bring(self) -> None:
        self._do(self._bring())

    async def _bring(self) -> None:
        """Needs no model: they are listed, searched and counted, and whoever has one goes on with them."""
        async with self._client().all_events() as coming:
            shown = asyncio.create_task(self._show_reading(coming))
            try:
                brought = await self._ask(lambda client: HistoryImport(id=client.next_id()))
                used = await self._ask(lambda client: UsageAll(id=client.next_id()))
            finally:
                shown.cancel()
        width = max((len(row.key) for row in used.rows), default=0)
        lines = [
            f"{row.key:<{width}}  {row.requests:>9,} requests  {money(row.cost_usd, row.unpriced):>10}"
            for row in used.rows
        ]
        stored = sum(each.new + each.grown + each.apart + each.unchanged for each in brought.agents)
        self.offer(
            f"{stored:,} session{' is' if stored == 1 else 's are'} here now",
            "\n".join([*lines, "", "/sessions lists them and finds what was said; a message goes on with one."]),
            [Row("What should answer?", "choose a model to go on with", self._show_sources)],
            hint="Enter goes back · Esc skips",
            back=partial(self.leave, ""),
        )

    async def _show_reading(self, coming: "asyncio.Queue[Any]") -> None:
        self.say("Looking …")
        while (event := await coming.get()) is not None:
            if isinstance(event, HistoryProgress) and event.total:
                filled = _BAR * min(event.done, event.total) // event.total
                self.say(f"{event.stage:<24} {'█' * filled}{'░' * (_BAR - filled)} {event.messages:,} messages")

    # How it is done

    async def _ask(self, make: Callable[[Client], Op[R]]) -> R:
        client = self._client()
        return await client.request(make(client))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """One thing at a time; what goes wrong is said below, and everything else stays."""
        if self._busy:
            work.close()
            return
        self._busy = True
        self.run_worker(self._carry_out(work), group="do")

    async def _carry_out(self, work: Awaitable[None]) -> None:
        try:
            await work
        except OpenAgentError as problem:
            self.say(str(problem), bad=True)
            if self._entry.has_class("shown"):
                self._entry.select_all()
        finally:
            self._busy = False


def _titles(sources: ModelSources | None) -> str:
    *titles, last = vendors(sources).values() if sources else ["a provider"]
    return f"{', '.join(titles)} or {last}" if titles else last
