"""One session: its conversation, what waits for an answer, the input and the status line."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, Literal, cast

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from openagent.client import Attachment, Client, ConnectionLost
from openagent.protocol import events as e
from openagent.protocol import ops
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import TextPart, ToolResultPart
from openagent.protocol.sessions import PermissionAsk, Question, SessionInfo, Snapshot
from openagent.tui.chat import Chat
from openagent.tui.completion import Completion, files_below
from openagent.tui.event_notes import note_for
from openagent.tui.keys import Keys
from openagent.tui.link import Link
from openagent.tui.permission import PermissionPanel
from openagent.tui.prompt import Prompt
from openagent.tui.question import QuestionPanel
from openagent.tui.side import Agent, SidePanel
from openagent.tui.status_bar import StatusBar

PAGE = 50


class SessionView(Vertical):
    DEFAULT_CSS = """
    SessionView { height: 1fr; }
    SessionView > #body { height: 1fr; }
    SessionView #asks { height: auto; max-height: 18; }
    SessionView #pill { height: 1; width: 100%; text-align: center; color: $primary; display: none; }
    SessionView #pill.shown { display: block; }
    """

    class Changed(Message):
        """The name or the status of the session is another."""

    class CommandGiven(Message):
        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    def __init__(self, session: str, link: Link, keys: Keys, jail: str) -> None:
        super().__init__(id=f"view-{session}")
        self.session = session
        self.info: SessionInfo | None = None
        self.chat = Chat()
        self.side = SidePanel()
        self.status = StatusBar()
        self._completion = Completion()
        self.prompt = Prompt(keys, self._completion)
        self._pill = Static(markup=False, id="pill")
        self._asks = Vertical(id="asks")
        self._link = link
        self._jail = jail
        self._seq: int | None = None
        self._loading = False
        self._runs: dict[str, str] = {}
        """Commands typed here, by op, and the calls they became."""
        self._agents: dict[str, Agent] = {}
        self._takers: dict[type[e.Event], Callable[[Any], Awaitable[None]]] = {
            e.TextDelta: lambda event: self.chat.say(event.message_number, event.text),
            e.ThinkingDelta: lambda event: self.chat.think(event.message_number, event.text),
            e.LiveState: lambda event: self.chat.catch_up(event.live),
            e.MessageAdded: lambda event: self.chat.add(event.message),
            e.MessageQueued: self._queued,
            e.ToolStarted: self._tool_started,
            e.ToolOutput: self._tool_output,
            e.ToolFinished: self._tool_finished,
            e.PermissionRequested: lambda event: self._ask(event.ask),
            e.PermissionResolved: lambda event: self._answered(event.ask_id),
            e.QuestionAsked: lambda event: self._question(event.question),
            e.QuestionAnswered: lambda event: self._answered(event.question_id),
            e.PlanUpdated: self._plan,
            e.TurnCompleted: self._turn_completed,
            e.SubagentStarted: self._agent,
            e.SubagentFinished: self._agent,
            e.CheckpointRestored: self._restored,
        }

    def compose(self) -> ComposeResult:
        with Horizontal(id="body"):
            yield self.chat
            yield self.side
        yield self._pill
        yield self._asks
        yield self._completion
        yield self.prompt
        yield self.status

    def on_mount(self) -> None:
        self.use_keys(self.prompt.keys)
        self.run_worker(self._follow(), group="follow")

    def use_keys(self, keys: Keys) -> None:
        self.prompt.keys = keys
        hints = [("toggle_plan", "plan"), ("toggle_tools", "tools"), ("sessions", "sessions"), ("palette", "all")]
        self.status.keys([*((keys.label(action), what) for action, what in hints), ("?", "keys")])

    @property
    def running(self) -> bool:
        return self.info is not None and self.info.status in ("thinking", "executing_tool", "waiting_approval")

    async def ask(self, make: Callable[[Client], ops.Op], kind: type[Any]) -> Any:
        """One op; None, and a word to the person, when it is refused."""
        client = self._link.client
        try:
            return await client.request(make(client), kind)
        except OpenAgentError as problem:
            self.notify(str(problem), severity="error", markup=False)
            return None

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
                await self.chat.note(str(problem), "error")
                return
            if attachment.snapshot:
                await self._begin(attachment.snapshot)
            if await self._take_events(attachment):
                return
            await self._mend(client)

    async def _take_events(self, attachment: Attachment) -> bool:
        """Returns whether the session is no more."""
        self._seq = attachment.seq
        async with aclosing(attachment.events()) as coming:
            async for event in coming:
                await self._take(event)
                self._seq = attachment.seq
                if isinstance(event, e.SessionDeleted):
                    return True
        return False

    async def _mend(self, lost: Client) -> None:
        if self.info:
            self.status.show(self.info, self._jail, lost="The connection to the daemon is lost; attaching again …")
        await self._link.mend(lost)
        self._show_info()

    async def _begin(self, snapshot: Snapshot) -> None:
        self.info = snapshot.info
        await self.chat.begin(snapshot.messages, has_more=snapshot.has_more)
        if not snapshot.messages and not snapshot.live:
            await self.chat.note("Say what to do. @ names a file, ! runs a command, / lists what else there is.")
        await self._asks.remove_children()
        if snapshot.live:
            await self.chat.catch_up(snapshot.live)
        for queued in snapshot.queued:
            await self.chat.wait("".join(part.text for part in queued.parts if isinstance(part, TextPart)))
        for ask in snapshot.permissions:
            await self._ask(ask)
        for question in snapshot.questions:
            await self._question(question)
        said = [message.text for message in snapshot.messages if message.role == "user" and message.text]
        self.prompt.start_history(said)
        self.side.show_plan(snapshot.plan)
        self.side.show_agents([])
        self._show_info()
        self.run_worker(self._find_files(snapshot.info.cwd), group="files", exclusive=True)

    async def _find_files(self, cwd: str) -> None:
        self.prompt.files = await asyncio.to_thread(files_below, cwd)

    async def _take(self, event: e.AnyEvent) -> None:
        if self.info is not None:
            self._learn(self.info, event)
        if taker := self._takers.get(type(event)):
            await taker(event)
        elif noted := note_for(event):
            await self.chat.note(*noted)

    def _learn(self, info: SessionInfo, event: e.AnyEvent) -> None:
        match event:
            case e.SessionUpdated():
                self.info = event.info
            case e.StatusChanged():
                self.info = replace(info, status=event.status)
            case e.UsageUpdated():
                self.info = replace(info, usage=event.usage)
            case e.TurnStarted():
                self.info = replace(info, status="thinking")
            case e.TurnCompleted():
                self.info = replace(info, status="error" if event.reason == "error" else "idle")
            case _:
                return
        self._show_info()

    def _show_info(self) -> None:
        if self.info is None:
            return
        self.status.show(self.info, self._jail)
        self.side.show_usage(self.info)
        self.prompt.set_class(self.running, "running")
        self.post_message(self.Changed())

    async def _queued(self, event: e.MessageQueued) -> None:
        await self.chat.wait("".join(part.text for part in event.queued.parts if isinstance(part, TextPart)))

    async def _tool_started(self, event: e.ToolStarted) -> None:
        if event.op_id in self._runs:
            self._runs[event.op_id] = event.call_id
        await self.chat.tool_started(event)

    async def _tool_output(self, event: e.ToolOutput) -> None:
        self.chat.tool_output(event.call_id, event.text)

    async def _tool_finished(self, event: e.ToolFinished) -> None:
        self.chat.tool_finished(event)

    async def _plan(self, event: e.PlanUpdated) -> None:
        self.side.show_plan(event.plan)

    async def _agent(self, event: e.SubagentStarted | e.SubagentFinished) -> None:
        if isinstance(event, e.SubagentStarted):
            self._agents[event.child] = Agent(event.template or event.child, "works")
        elif agent := self._agents.get(event.child):
            agent.state = event.reason
        self.side.show_agents(list(self._agents.values()))

    async def _turn_completed(self, event: e.TurnCompleted) -> None:
        await self.chat.turn_ended()
        await self._asks.remove_children()
        if event.reason != "done":
            why = f" {event.error.message} {event.error.hint}" if event.error else ""
            await self.chat.note(f"— {event.reason.replace('_', ' ')}.{why}", "error" if event.error else "warning")
        if not self.prompt.has_focus and self.screen.focused is None:
            self.prompt.focus()

    async def _restored(self, event: e.CheckpointRestored) -> None:
        forgotten = " The model no longer knows what came since." if event.conversation else ""
        await self.chat.note(f"Went back to before turn {event.turn}.{forgotten}", "warning")

    # What waits for the person

    async def _ask(self, ask: PermissionAsk) -> None:
        panel = PermissionPanel(ask)
        await self._asks.mount(panel)
        if not self.prompt.text and len(self._asks.children) == 1:
            panel.focus()

    async def _question(self, question: Question) -> None:
        await self._asks.mount(QuestionPanel(question))
        self.prompt.focus()

    async def _answered(self, id_: str) -> None:
        for panel in self._asks.children:
            if _id_of(panel) == id_:
                await panel.remove()
        waiting = next((panel for panel in self._asks.children if isinstance(panel, PermissionPanel)), None)
        (self.prompt if waiting is None or self.prompt.text else waiting).focus()

    @on(PermissionPanel.Answered)
    async def answer(self, event: PermissionPanel.Answered) -> None:
        allow = event.answer != "deny"
        scope = cast(Literal["once", "session", "always"], event.answer if allow else "once")
        await self.ask(
            lambda client: ops.PermissionAnswer(
                id=client.next_id(),
                session=self.session,
                ask=event.ask.id,
                decision="allow" if allow else "deny",
                scope=scope,
            ),
            ops.Done,
        )

    # What the person does

    @on(Prompt.Submitted)
    async def submit(self, event: Prompt.Submitted) -> None:
        text = event.text
        question = next((panel for panel in self._asks.children if isinstance(panel, QuestionPanel)), None)
        if question is not None:
            await self._answer_question(question, text)
        elif text.startswith("/"):
            self.post_message(self.CommandGiven(text[1:]))
        elif text.startswith("!") and text[1:].strip():
            self.run_worker(self._run(text[1:].strip()))
        else:
            self.chat.anchor()
            sent = await self.ask(
                lambda client: ops.MessageSend(id=client.next_id(), session=self.session, text=text), ops.Sent
            )
            if sent is None:
                self.prompt.text = text

    async def _answer_question(self, panel: QuestionPanel, said: str) -> None:
        await self.ask(
            lambda client: ops.QuestionAnswer(
                id=client.next_id(), session=self.session, question=panel.question.id, answer=panel.answer_for(said)
            ),
            ops.Done,
        )

    async def _run(self, command: str) -> None:
        made: list[str] = []

        def make(client: Client) -> ops.Op:
            made.append(client.next_id())
            self._runs[made[0]] = ""
            return ops.ToolRun(id=made[0], session=self.session, tool="shell", arguments={"command": command})

        ran = cast("ops.ToolRan | None", await self.ask(make, ops.ToolRan))
        call = self._runs.pop(made[0], "")
        if ran is None:
            return
        if call:
            await self.chat.show_result(
                ToolResultPart(call_id=call, name="shell", text=ran.text, is_error=ran.is_error, display=ran.display)
            )
        else:
            await self.chat.note(ran.text, "error" if ran.is_error else "")

    async def cancel(self) -> None:
        await self.ask(lambda client: ops.TurnCancel(id=client.next_id(), session=self.session), ops.Cancelled)

    @on(Prompt.Escaped)
    async def escape(self) -> None:
        if self.running:
            await self.cancel()

    @on(Prompt.Left)
    def leave_prompt(self) -> None:
        (self.chat.newest_call() or self.chat).focus()

    @on(Chat.News)
    def show_news(self, event: Chat.News) -> None:
        self._pill.update(f"↓ {event.count} new")
        self._pill.set_class(event.count > 0, "shown")

    @on(Chat.Older)
    async def load_older(self) -> None:
        if self._loading:
            return
        self._loading = True
        try:
            page = await self.ask(
                lambda client: ops.MessagesPage(
                    id=client.next_id(), session=self.session, before=self.chat.oldest or None, limit=PAGE
                ),
                ops.MessagePage,
            )
            if page is not None:
                await self.chat.prepend(page.messages, has_more=page.has_more)
        finally:
            self._loading = False


def _id_of(panel: Widget) -> str:
    match panel:
        case PermissionPanel():
            return panel.ask.id
        case QuestionPanel():
            return panel.question.id
        case _:
            return ""
