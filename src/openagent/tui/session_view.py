"""A session on the screen: how it follows what happens, and what the person does with it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from msgspec import UNSET, Struct, structs
from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.events import Click, Key
from textual.message import Message
from textual.widgets import Static

from openagent.client import Attachment, Client, ConnectionLost
from openagent.client.reconnect import Link
from openagent.client.text import clean, one_line
from openagent.protocol import events as e
from openagent.protocol.agents import AgentsList
from openagent.protocol.conversation import (
    AskAgain,
    MessagePage,
    MessageSend,
    MessagesPage,
    PermissionAnswer,
    QuestionAnswer,
    TurnCancel,
    TurnRetry,
)
from openagent.protocol.customizing import CommandsList
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.files import FileEntries, FilesList, FilesRead
from openagent.protocol.messages import ImagePart, TextPart, ToolResultPart, UserPart
from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.search import FoundMessages, MessagesSearch
from openagent.protocol.sessions import (
    DayBudget,
    GrantScope,
    Mode,
    PermissionAsk,
    PlanItem,
    Question,
    QueuedMessage,
    SessionCreate,
    SessionInfo,
    SessionUpdate,
    Settings,
    SettingsChange,
    Snapshot,
    status_after,
)
from openagent.protocol.tools import ToolRun
from openagent.tui.activity import Activity
from openagent.tui.agents import Agents
from openagent.tui.aside import Aside
from openagent.tui.asks import Asks
from openagent.tui.bare import Columns, Rows
from openagent.tui.chat import Chat
from openagent.tui.commands import COMMANDS, Command, named
from openagent.tui.completion import Completion, FileChosen
from openagent.tui.event_notes import notes_for
from openagent.tui.foldable import Foldable
from openagent.tui.history import History
from openagent.tui.keys import Keys
from openagent.tui.lapsed_line import LapsedLine
from openagent.tui.permission import PermissionPanel
from openagent.tui.place import branch_in, branch_of
from openagent.tui.plan_line import PlanLine
from openagent.tui.prompt import Prompt
from openagent.tui.question import QuestionPanel
from openagent.tui.side import SidePanel
from openagent.tui.status_bar import StatusBar
from openagent.tui.welcome import Welcome

if TYPE_CHECKING:
    from openagent.tui.find import Find

R = TypeVar("R", bound=Struct)

PAGE = 50


class Draft(NamedTuple):
    """What a session begins with that nothing was said in yet."""

    cwd: str
    model: str = ""
    """What will answer, unless another is chosen."""
    mode: Mode = "ask"
    settings: SettingsChange = SettingsChange()
    """What was chosen for it."""
    template: str = ""
    name: str = ""
    """Empty: it is called by its first message."""
    cap_usd: float | None = None
    """What it may spend, unless another limit is chosen."""
    today: DayBudget | None = None


USERS_CALLS = "user-"
"""How the daemon's names of calls begin that a person made."""
_numbers = count(1)


class SessionView(Rows):
    DEFAULT_CSS = """
    SessionView { height: 1fr; }
    SessionView > #body { height: 1fr; }
    SessionView #pill { height: 1; width: 100%; text-align: center; color: $primary; display: none; }
    SessionView #pill.shown { display: block; }
    """

    class Changed(Message):
        """The name or the status of the session is another."""

    class ModelWanted(Message):
        """Something was said, and nothing would answer."""

    class CommandGiven(Message):
        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    def __init__(self, link: Link, keys: Keys, history: History, *, session: str = "", vim: bool = False) -> None:
        super().__init__(id=f"view-{next(_numbers)}")
        self.session = session
        """Empty until it is known which one to show."""
        self.info: SessionInfo | None = None
        self.chat = Chat()
        self.side = SidePanel()
        self.status = StatusBar()
        self.activity = Activity()
        self.asks = Asks()
        self.agents = Agents(lambda: link.client, self._show_agents)
        self.completion = Completion()
        self.prompt = Prompt(keys, self.completion, history, vim=vim)
        self.aside = Aside()
        self.jail = ""
        self._branch = ""
        self._pill = Static(markup=False, id="pill")
        self._lapsed = LapsedLine()
        self._plan_line = PlanLine()
        self._link = link
        self._draft: Draft | None = None
        self._earlier: Sequence[str] = ()
        self._making = asyncio.Lock()
        self._attached = asyncio.Event()
        self._seq: int | None = None
        self._attachment: Attachment | None = None
        self._then: Callable[[], Awaitable[None]] | None = None
        """What follows when the conversation's end is fetched again: to where somebody was."""
        self.loading = False
        self._find: Find | None = None
        self._told: ErrorInfo | None = None
        """The newest error: when it is what ends the turn, once is enough."""
        self._runs: dict[str, str] = {}
        """Commands typed here, by op, and the calls they became."""
        self._own_commands: list[str] = []
        """Those that run."""
        self._takers: dict[type[e.Event], Callable[[Any], Awaitable[None]]] = {
            e.TextDelta: lambda event: self.chat.say(event.message_number, event.text),
            e.ThinkingDelta: lambda event: self.chat.think(event.message_number, event.text),
            e.LiveState: lambda event: self.chat.catch_up(event.live),
            e.MessageAdded: lambda event: self.chat.add(event.message),
            e.MessageQueued: lambda event: self.chat.wait(_text(event.queued.parts)),
            e.QueueChanged: self._queue_changed,
            e.ToolStarted: self._tool_started,
            e.ToolOutput: self._tool_output,
            e.ToolFinished: self._tool_finished,
            e.PermissionRequested: lambda event: self._ask(event.ask),
            e.PermissionResolved: lambda event: self._answered(event.ask_id),
            e.QuestionAsked: lambda event: self._ask(event.question),
            e.QuestionAnswered: lambda event: self._answered(event.question_id),
            e.AsksLapsed: self._show_lapsed,
            e.PlanUpdated: self._plan,
            e.TurnStarted: lambda event: self.chat.begin_turn(event.turn),
            e.RetryScheduled: self._retry_scheduled,
            e.TurnCompleted: self._turn_completed,
            e.SubagentStarted: self._agent_started,
            e.SubagentFinished: self._agent_finished,
            e.CheckpointRestored: self._restored,
            e.ContextShown: self._context_shown,
        }

    def compose(self) -> ComposeResult:
        with Columns(id="body"):
            yield self.chat
            yield self.side
        yield self._pill
        yield self.asks
        yield self._lapsed
        yield self._plan_line
        yield self.activity
        yield self.completion
        yield self.aside
        yield self.prompt
        yield self.status

    def on_mount(self) -> None:
        self.use_keys(self.prompt.keys)
        if self.session:
            self.show_session(self.session)

    def show_session(self, session: str) -> None:
        self.session = session
        self.run_worker(self._follow(), group="follow")

    async def show_draft(self, draft: Draft) -> None:
        """A conversation that nothing was said in: the session is made with the first word."""
        self._draft = draft
        now = time.time()
        info = SessionInfo("", draft.name, draft.cwd, now, now, settings=Settings(mode=draft.mode), model=draft.model)
        self.info = _changed(replace(info, cap_usd=draft.cap_usd, today=draft.today), draft.settings)
        await self._welcome()
        self._attached.set()
        self._show_info()
        self.run_worker(partial(self._learn_more, draft.cwd), group="more", exclusive=True)
        self.run_worker(partial(self._look_around, draft.cwd), group="files", exclusive=True)
        if draft.template:
            # Which model and mode it says is known when the session is there.
            self.run_worker(self._made(), group="make")

    @property
    def is_draft(self) -> bool:
        """Nothing was said in it: there is no session yet."""
        return not self.session and self._draft is not None

    @property
    def is_untouched(self) -> bool:
        """Nothing was said in it, and nothing is being written."""
        return self.is_draft and not self.prompt.text

    async def _made(self) -> bool:
        try:
            await self._make()
        except OpenAgentError as problem:
            self.notify(clean(str(problem)), severity="error", markup=False)
        return bool(self.session)

    async def _make(self) -> None:
        """What was a draft becomes a session. Raises OpenAgentError."""
        await self._attached.wait()
        async with self._making:
            if self.session or self._draft is None:
                return
            client, draft = self._link.client, self._draft
            info = await client.request(
                SessionCreate(
                    id=client.next_id(),
                    name=draft.name,
                    cwd=draft.cwd,
                    settings=draft.settings,
                    template=draft.template,
                )
            )
            self._attached.clear()
            self.show_session(info.id)
        await self._attached.wait()

    async def change(self, change: SettingsChange) -> bool:
        """Other settings for the next step; those of a draft begin with it. Returns whether they count."""
        if not self.session and self._draft is not None and self.info is not None:
            given = {name: value for name, value in structs.asdict(change).items() if value is not UNSET}
            self._draft = self._draft._replace(settings=replace(self._draft.settings, **given))
            self.info = _changed(self.info, change)
            self._show_info()
            return True
        done = await self.ask(lambda client: SessionUpdate(id=client.next_id(), session=self.session, settings=change))
        return done is not None

    async def take_on(self, template: str) -> bool:
        """Go on as it says; empty: as before any. Returns whether that counts."""
        done = await self.ask(
            lambda client: SessionUpdate(id=client.next_id(), session=self.session, template=template)
        )
        return done is not None

    async def rename(self, name: str) -> None:
        if not self.session and self._draft is not None and self.info is not None:
            self._draft = self._draft._replace(name=name)
            self.info = replace(self.info, name=name)
            self._show_info()
        else:
            await self.ask(lambda client: SessionUpdate(id=client.next_id(), session=self.session, name=name))

    async def on_show(self) -> None:
        await self.chat.wake()

    def on_hide(self) -> None:
        self.chat.sleep()

    def use_keys(self, keys: Keys) -> None:
        self.prompt.keys = keys
        self.chat.retry = self.activity.retry = keys.label("retry")
        hints = [
            (keys.label("toggle_plan"), "plan", "app.panel('plan')"),
            (keys.label("toggle_tools"), "tools", "app.panel('tools')"),
            (keys.label("toggle_files"), "files", "app.files"),
            (keys.label("palette"), "all", "app.command_palette"),
        ]
        self.status.keys(hints)

    @property
    def running(self) -> bool:
        return self.info is not None and self.info.status in ("thinking", "executing_tool", "waiting_approval")

    @property
    def follows(self) -> bool:
        """The session was attached to, and its state is known."""
        return self._attached.is_set()

    async def attached(self) -> None:
        """Returns when it is known which session this is, and how it stands."""
        await self._attached.wait()

    async def ask(self, make: Callable[[Client], Op[R]]) -> R | None:
        """One op; None, and a word to the person, when it is refused."""
        try:
            client = self._link.client
            op = make(client)
            if not self.session and getattr(op, "session", None) == "" and not isinstance(op, ReadingOp):
                if not isinstance(op, MessageSend | ToolRun):
                    self.say_that_nothing_was_said()
                    return None
                await self._make()
                client = self._link.client
                op = make(client)
            return await client.request(op)
        except OpenAgentError as problem:
            if not self.session and problem.info.code == "not_found":
                self.say_that_nothing_was_said()
            else:
                self.notify(clean(str(problem)), severity="error", markup=False)
            return None

    def say_that_nothing_was_said(self) -> None:
        """What is done to a session has none here; nothing is stored for its sake."""
        self.notify("Nothing was said here yet.")

    # What happens

    async def _follow(self) -> None:
        while True:
            client = self._link.client
            try:
                attachment = await client.attach(self.session, after=self._seq, messages=PAGE)
            except ConnectionLost:
                await self._mend(client)
                continue
            except OpenAgentError as problem:
                self._attached.set()
                await self.chat.note(str(problem), "error")
                return
            self.session = attachment.session
            if attachment.snapshot:
                await self._begin(attachment.snapshot)
            self._show_info()
            if await self._take_events(attachment):
                return
            if self._then is not None:
                await attachment.detach()
                self._seq = None
            else:
                await self._mend(client)

    async def _take_events(self, attachment: Attachment) -> bool:
        """Returns whether the session is no more."""
        self._seq, self._attachment = attachment.seq, attachment
        async with aclosing(attachment.events()) as coming:
            async for event in coming:
                await self._take(event)
                self._seq = attachment.seq
                if isinstance(event, e.SessionDeleted):
                    return True
        return False

    async def _mend(self, lost: Client) -> None:
        await self._link.mend(lost)

    async def _begin(self, snapshot: Snapshot) -> None:
        self.info = snapshot.info
        await self.chat.begin(
            snapshot.messages, has_more=snapshot.has_more, rewound=snapshot.rewound, ends=snapshot.turns
        )
        self.activity.begin(snapshot.info, _asked_at(snapshot))
        if not snapshot.messages and not snapshot.live:
            await self._welcome()
        if snapshot.live:
            await self.chat.catch_up(snapshot.live)
        for event in (event for call in snapshot.running for event in e.events_of(call)):
            await self._take(event)
        if snapshot.retrying:
            await self._take(e.RetryScheduled(**structs.asdict(snapshot.retrying)))
        await self._show_queue(snapshot.queued, held=snapshot.held)
        await self.asks.begin(snapshot.permissions, snapshot.questions)
        self._lapsed.show(snapshot.lapsed)
        self._focus_what_waits()
        if (then := self._then) is not None:
            self._then = None
            await then()
        said = [message.text for message in snapshot.messages if message.role == "user" and message.text]
        self.prompt.start_history(said)
        self._show_plan(snapshot.plan)
        self.agents.clear()
        self._attached.set()
        self.run_worker(partial(self._learn_more, snapshot.info.cwd), group="more", exclusive=True)
        self.run_worker(partial(self._look_around, snapshot.info.cwd), group="files", exclusive=True)

    async def _learn_more(self, cwd: str) -> None:
        """What a first look at a session does without: who works for it, and the commands of its workspace."""
        client = self._link.client
        with suppress(OpenAgentError):
            if self.session:
                tree = await client.request(AgentsList(id=client.next_id(), session=self.session))
                self.agents.load(tree, self.session)
            for agent in self.agents.working:
                self.run_worker(partial(self.agents.follow, agent), group="agents")
            found = await client.request(CommandsList(id=client.next_id(), cwd=cwd))
            theirs = [Command(each.name, each.description, "", each.arguments) for each in found.commands]
            self.completion.commands = [*COMMANDS, *(each for each in theirs if named(each.name) is None)]

    async def _look_around(self, cwd: str) -> None:
        client = self._link.client
        with suppress(OpenAgentError):
            if self._link.remote:
                if not self.session:
                    return
                head = FilesRead(id=client.next_id(), session=self.session, path=".git/HEAD")
                self._branch = branch_in((await client.request(head)).text)
            else:
                self._branch = await asyncio.to_thread(branch_of, cwd)
        self._show_info()
        with suppress(OpenAgentError):
            files = self._files_op(client, ".", below=True)
            self.completion.files = [each.path for each in (await client.request(files)).entries]

    async def _take(self, event: e.AnyEvent) -> None:
        if self.info is not None:
            self._learn(self.info, event)
            self.activity.take(event, self.info)
        if taker := self._takers.get(type(event)):
            await taker(event)
            return
        self._told = event.error if isinstance(event, e.ErrorRaised) else self._told
        for text, kind in notes_for(event):
            await self.chat.note(text, kind, living=_is_living(event))

    def _learn(self, info: SessionInfo, event: e.AnyEvent) -> None:
        match event:
            case e.SessionUpdated():
                # One who changes it from elsewhere may have other keys than ours.
                same = event.info.settings.model == info.settings.model
                now = replace(event.info, below_usd=info.below_usd, below_unpriced=info.below_unpriced)
                self.info = replace(now, model=info.model) if same else now
            case e.StatusChanged():
                self.info = replace(info, status=event.status)
            case e.UsageUpdated():
                self.info = replace(info, usage=event.usage)
            case e.QueueChanged():
                self.info = replace(info, queued=len(event.queued), held=event.held)
            case e.MessageQueued():
                self.info = replace(info, queued=info.queued + 1)
            case e.TurnStarted():
                self.info = replace(info, status="thinking", model=event.model)
            case e.TurnCompleted():
                self.info = replace(info, status=status_after(event.reason))
            case _:
                return
        self._show_info()

    def offer(self, names: Sequence[str]) -> None:
        """Sessions that were open here last time."""
        self._earlier = names
        self._show_info()

    async def _welcome(self) -> None:
        await self.chat.welcome(Welcome(self.prompt.keys))

    def _show_info(self) -> None:
        # Closed while somebody was still looking something up: its parts go before it does.
        parts = (self, self.chat, self.status, self.activity, self.side, self.prompt)
        if self.info is None or not all(part.is_attached for part in parts):
            return
        for welcome in self.chat.query(Welcome):
            welcome.show(self.info, self._branch, self._earlier)
        self.status.show(self.info, self.jail, self._branch)
        self.activity.follow(self.info)
        self.side.show_usage(self.info)
        self.prompt.set_class(self.running, "running")
        self.post_message(self.Changed())

    async def _queue_changed(self, event: e.QueueChanged) -> None:
        await self._show_queue(event.queued, held=event.held)

    async def _show_queue(self, queued: Sequence[QueuedMessage], *, held: bool) -> None:
        await self.chat.forget_waiting()
        for message in queued:
            await self.chat.wait(_text(message.parts))
        if held:
            await self.chat.note("Held back since you stopped: they follow the next message you send.", "warning")

    async def _tool_started(self, event: e.ToolStarted) -> None:
        own = event.op_id in self._runs  # its answer may come while its line is being drawn
        if own:
            self._runs[event.op_id] = event.call_id
        await self.chat.tool_started(event)
        if own:
            await self.chat.open(event.call_id)

    async def _tool_output(self, event: e.ToolOutput) -> None:
        self.chat.tool_output(event.call_id, event.text)

    async def _tool_finished(self, event: e.ToolFinished) -> None:
        self.chat.tool_finished(event)

    async def _plan(self, event: e.PlanUpdated) -> None:
        self._show_plan(event.plan)

    def _show_plan(self, plan: Sequence[PlanItem]) -> None:
        self.side.show_plan(plan)
        self._plan_line.show(plan)

    async def _context_shown(self, event: e.ContextShown) -> None:
        self.side.show_context(event.sections)

    async def _agent_started(self, event: e.SubagentStarted) -> None:
        self.run_worker(self.agents.follow(self.agents.started(event)), group="agents")

    async def _agent_finished(self, event: e.SubagentFinished) -> None:
        self.agents.finished(event)

    def _show_agents(self) -> None:
        self.side.show_agents(self.agents)
        if self.info is not None:
            usd, unpriced = self.agents.cost
            self.info = replace(self.info, below_usd=usd, below_unpriced=unpriced)
            self._show_info()

    async def _turn_completed(self, event: e.TurnCompleted) -> None:
        await self.asks.remove_children()
        told, self._told = self._told, None
        await self.chat.end_turn(replace(event.ended, error=None) if event.error == told else event.ended)
        if not self.prompt.has_focus and self.screen.focused is None:
            self.prompt.focus()
        if self.info is not None:
            self.run_worker(partial(self._look_around, self.info.cwd), group="files", exclusive=True)

    async def _retry_scheduled(self, event: e.RetryScheduled) -> None:
        """The seconds that are left count down in the line above the input."""
        for text, kind in notes_for(replace(event, delay_s=0.0)):
            await self.chat.note(text, kind, living=True)

    async def _restored(self, event: e.CheckpointRestored) -> None:
        self.chat.rewind(event.rewound, event.returned)
        way_back = " /redo brings it back." if event.undo else ""
        for text, kind in notes_for(event):
            await self.chat.note(text + way_back, kind)

    # What waits for the person

    async def _ask(self, ask: PermissionAsk | Question) -> None:
        if isinstance(ask, PermissionAsk) and self._is_own(ask):
            await self.answer(PermissionPanel.Answered(ask, "once"))
            return
        await self.asks.add(ask)
        if isinstance(ask, PermissionAsk):
            self.chat.tool_asked(ask.call_id, ask.diff)
        self._focus_what_waits()

    def _is_own(self, ask: PermissionAsk) -> bool:
        """Who typed the command need not be asked for it. What it wants of the world outside the jail, they are."""
        typed = ask.arguments.get("command") in self._own_commands
        return typed and ask.tool == "shell" and ask.call_id.startswith(USERS_CALLS)

    async def _answered(self, id_: str) -> None:
        await self.asks.take_away(id_)
        self._focus_what_waits()

    def take_keys(self) -> None:
        (self.asks.permission if self.asks.permission and not self.prompt.text else self.prompt).focus()

    def _focus_what_waits(self) -> None:
        """A permission takes the keys, unless somebody is writing or looks at another tab."""
        waiting = self.asks.permission
        if (waiting is None and self._find is not None) or not self.is_attached:  # a tab may be closed meanwhile
            return
        if self.display and self.screen.is_current and not (waiting and waiting.has_focus_within):
            if waiting is not None:
                waiting.wait_again()  # from now on: a busy machine may show it long before it has the keys
            self.screen.set_focus(waiting if waiting is not None and not self.prompt.text else self.prompt)

    @on(Prompt.Changed)
    def give_keys_back(self) -> None:
        """Nothing is written any more: the keys are those of what waits, a moment after the last of them."""
        if not self.prompt.text and self.prompt.has_focus and (waiting := self.asks.permission):
            waiting.wait_again()
            self.screen.set_focus(waiting)

    # What the person does

    @on(PermissionPanel.Answered)
    async def answer(self, event: PermissionPanel.Answered) -> None:
        scope = cast("GrantScope", event.scope or "once")
        await self.ask(
            lambda client: PermissionAnswer(
                id=client.next_id(),
                session=self.session,
                ask=event.ask.id,
                decision="allow" if event.scope else "deny",
                scope=scope,
                reason=event.reason,
                choice=event.choice,
            ),
        )

    @on(PermissionPanel.Whole)
    def show_whole(self, event: PermissionPanel.Whole) -> None:
        from openagent.tui.pager import Pager

        panel = event.panel
        self.app.push_screen(  # pyright: ignore[reportUnknownMemberType]
            Pager(
                panel.title,
                panel.whole,
                self.prompt.keys,
                path=panel.path_of_whole,
                answers=panel.answers(in_full=True),
                answered_by=panel.answered_by,
            ),
            panel.answer_from,
        )

    @on(Prompt.Submitted)
    async def submit(self, event: Prompt.Submitted) -> None:
        text = event.text
        if (question := self.asks.question) is not None:
            await self._answer_question(question, text)  # which may be a password: no history keeps it
            return
        self.prompt.remember(event.shown, text)
        if text.startswith("/"):
            self.post_message(self.CommandGiven(text[1:]))
        elif text.startswith("!") and text[1:].strip():
            self.run_worker(self._run(text[1:].strip()))
        else:
            self.chat.go("end")
            self.run_worker(self._send(text, event.images, event.shown), group="send")

    async def _send(self, text: str, images: list[ImagePart], shown: str) -> None:
        if (trouble := self._link.trouble) is not None and not trouble.silent_since:
            self._link.try_now()
            self.prompt.text = self.prompt.text or shown
            self.notify("Not sent yet: the connection is lost. It stays in the input.", severity="warning")
            return
        if self.info is not None and not (self.info.model or self.info.settings.model):
            self.prompt.text = self.prompt.text or shown
            self.post_message(self.ModelWanted())
            return
        await self._attached.wait()
        parts: list[UserPart] = [*images]
        sent = await self.ask(
            lambda client: MessageSend(id=client.next_id(), session=self.session, text=text, parts=parts)
        )
        if sent is None and not self.prompt.text:
            self.prompt.text = shown

    async def _answer_question(self, panel: QuestionPanel, said: str) -> None:
        await self.ask(
            lambda client: QuestionAnswer(
                id=client.next_id(), session=self.session, question=panel.question.id, answer=panel.answer_for(said)
            ),
        )

    async def _run(self, command: str) -> None:
        if not await self._made():
            return
        await self._attached.wait()
        made: list[str] = []
        self._own_commands.append(command)

        def make(client: Client) -> ToolRun:
            made.append(client.next_id())
            self._runs[made[0]] = ""
            return ToolRun(id=made[0], session=self.session, tool="shell", arguments={"command": command})

        ran = await self.ask(make)
        self._own_commands.remove(command)
        call = self._runs.pop(made[0], "") if made else ""
        if ran is None:
            return
        if call:
            await self.chat.show_result(
                ToolResultPart(call_id=call, name="shell", text=ran.text, is_error=ran.is_error, display=ran.display)
            )
        else:
            await self.chat.note(ran.text, "error" if ran.is_error else "")

    async def list_files(self, folder: str) -> FileEntries | None:
        return await self.ask(lambda client: self._files_op(client, folder))

    def _files_op(self, client: Client, path: str, *, below: bool = False) -> FilesList:
        cwd = self._draft.cwd if self._draft is not None and not self.session else ""
        return FilesList(id=client.next_id(), session=self.session, cwd=cwd, path=path, below=below)

    def say(self, text: str, images: Sequence[ImagePart] = ()) -> None:
        """A message, or a command of the workspace: the daemon expands those."""
        self.chat.go("end")
        self.run_worker(self._send(text, [*images], text), group="send")

    async def cancel(self) -> None:
        await self.ask(lambda client: TurnCancel(id=client.next_id(), session=self.session))

    async def _show_lapsed(self, event: e.AsksLapsed) -> None:
        self._lapsed.show(event.lapsed)

    async def ask_again(self, *, drop: bool = False) -> None:
        """For what nobody answered in time; or it is let go."""
        if not self.session:
            self.say_that_nothing_was_said()
        else:
            await self.ask(lambda client: AskAgain(id=client.next_id(), session=self.session, drop=drop))

    async def retry(self) -> None:
        """Now, where a provider is waited for; after a turn that was cut short, from where it stopped."""
        if not self.session:
            self.say_that_nothing_was_said()
        else:
            await self.ask(lambda client: TurnRetry(id=client.next_id(), session=self.session))

    @on(Prompt.Escaped)
    async def escape(self) -> None:
        """Ends the turn; what waits for a yes is denied with it. The draft stays."""
        if waiting := self.asks.permission:
            self.aside.say(f"Denied, and the turn is stopped: {one_line(waiting.title, 60)}")
        if self.running:
            await self.cancel()

    def goes_elsewhere(self, key: str) -> bool:
        """Tab leads to what waits for an answer, or can be opened; Tab and Esc lead back. The next key is there."""
        if key in ("tab", "escape") and isinstance(self.screen.focused, Foldable):
            self.screen.set_focus(self.prompt)
            return True
        if key != "tab" or not self.prompt.has_focus or self.completion.shown:
            return False
        if waiting := self.asks.permission:
            waiting.reached = True
        if above := waiting or self.chat.beside(None, 0):
            self.screen.set_focus(above)
        return True

    @on(Foldable.Left)
    def look_beside(self, event: Foldable.Left) -> None:
        beside = self.chat.beside(event.origin, event.step) if event.step else None
        self.screen.set_focus(beside or self.prompt)

    async def on_key(self, event: Key) -> None:
        """Esc where something else than the input has the keys."""
        if event.key == "escape" and isinstance(self.screen.focused, PermissionPanel):
            event.stop()
            await self.escape()

    @on(Prompt.Hint)
    def whisper(self, event: Prompt.Hint) -> None:
        self.aside.say(event.text)

    @on(Completion.Clicked)
    def complete(self, event: Completion.Clicked) -> None:
        self.prompt.accept(event.start, event.word)

    @on(FileChosen)
    def name_file(self, event: FileChosen) -> None:
        self.prompt.put(f"@{event.path} ")

    @on(Chat.News)
    def show_news(self, event: Chat.News) -> None:
        what = f"{event.count} newer below" if event.count else "more below"
        self._pill.update(f"↓ {what} · {self.prompt.keys.label('scroll_bottom')} goes there")
        self._pill.set_class(event.count > 0 or event.goes_on, "shown")

    def on_click(self, event: Click) -> None:
        if event.widget is self._pill:
            self.chat.go("end")

    async def find(self) -> None:
        """Words in this conversation; asked for again, the next hit."""
        from openagent.tui.find import MOST, Find

        if self._find is not None:
            await self._find.step(-1)
            return

        async def search(query: str) -> FoundMessages | None:
            return await self.ask(
                lambda client: MessagesSearch(id=client.next_id(), query=query, session=self.session, limit=MOST)
            )

        async def go(number: int, words: list[str]) -> None:
            self.chat.light(words, number)
            if number:
                await self.show_message(number, lit=True)

        async def close() -> None:
            self._find = None
            self.chat.light([])
            finder.remove()
            self.take_keys()

        finder = self._find = Find(search, go, close)
        await self.mount(finder, before=self.prompt)

    @on(Chat.Newer)
    async def load_newer(self, event: Chat.Newer) -> None:
        """The next page; where that is the last one, or the end is wanted, the end."""
        if not event.left_off:
            self._fetch_the_end(self._stay_at_the_end)
        elif not self.loading:
            self.loading = True
            try:
                page = await self._messages(after=event.left_off - 1)
                if page is not None and page.has_more:
                    await self.chat.extend(page.messages, page.turns)
                elif page is not None:
                    self._fetch_the_end(partial(self._go_on_from, event.left_off))
            finally:
                self.loading = False

    def _fetch_the_end(self, then: Callable[[], Awaitable[None]]) -> None:
        """Attach anew: the end of the conversation and what is being said right now come together."""
        if self._attachment is not None and self._then is None:
            self._then = then
            self._attachment.queue.put_nowait(None)

    async def _stay_at_the_end(self) -> None:
        self.chat.anchor()

    async def _go_on_from(self, number: int) -> None:
        """What was read last stays at the lower edge."""
        if self.chat.has_more and self.chat.oldest >= number:
            await self._load_page_before()
        self.chat.go_on_below(number)

    async def _go_to(self, number: int) -> None:
        (self.chat.go_to_lit if self._find else self.chat.go_to_message)(number)

    @on(Chat.First)
    async def load_first(self) -> None:
        if await self._show_from(0, wanted=1):
            self.chat.call_after_refresh(self._show_the_beginning)

    def _show_the_beginning(self) -> None:
        if not self.chat.has_more:  # else the end was asked for meanwhile, and is there
            self.chat.scroll_home(animate=False, immediate=True)

    async def show_when_there(self, number: int) -> None:
        await self._attached.wait()
        await self.show_message(number)

    async def show_message(self, number: int, *, lit: bool = False) -> None:
        """A message of any time, with some of what was said before it."""
        if self.chat.shows(number) or await self._show_from(max(number - PAGE // 2, 0), wanted=number):
            (self.chat.go_to_lit if lit else self.chat.go_to_message)(number)

    async def _show_from(self, after: int, *, wanted: int) -> bool:
        """Whether the page is there; False: it is the end, which comes by itself."""
        page = await self._messages(after=after)
        if page is None:
            return False
        if not page.has_more:
            self._fetch_the_end(partial(self._go_to, wanted))
            return False
        await self.chat.begin(page.messages, has_more=after > 0, has_newer=True, rewound=page.rewound, ends=page.turns)
        return True

    async def _messages(self, *, before: int | None = None, after: int | None = None) -> MessagePage | None:
        return await self.ask(
            lambda client: MessagesPage(
                id=client.next_id(), session=self.session, before=before, after=after, limit=PAGE
            ),
        )

    @on(Chat.Older)
    async def load_older(self) -> None:
        if self.loading:
            return
        self.loading = True
        try:
            await self._load_page_before()
        finally:
            self.loading = False

    async def _load_page_before(self) -> None:
        page = await self._messages(before=self.chat.oldest or None)
        if page is not None:
            await self.chat.prepend(page.messages, has_more=page.has_more, ends=page.turns)


def _is_living(event: e.AnyEvent) -> bool:
    """It tells of what is so just now."""
    return isinstance(event, e.TurnWaiting) or (isinstance(event, e.McpServerLate) and event.state == "awaited")


def _changed(info: SessionInfo, change: SettingsChange) -> SessionInfo:
    given = {name: value for name, value in structs.asdict(change).items() if value is not UNSET}
    settings = replace(info.settings, **given)
    # Until the daemon knows the session, its own limit is the one to be told.
    cap = settings.budget_usd if "budget_usd" in given else info.cap_usd
    return replace(info, settings=settings, model=settings.model or info.model, cap_usd=cap)


def _asked_at(snapshot: Snapshot) -> float:
    """When the turn that runs began, as far as its page tells."""
    asked = (message.created_at for message in reversed(snapshot.messages) if message.role == "user")
    return next(asked, time.time())


def _text(parts: list[UserPart]) -> str:
    return "".join(part.text if isinstance(part, TextPart) else " [image]" for part in parts)
