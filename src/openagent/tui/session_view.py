"""One session: what the person does with it."""

from typing import cast

from textual import on
from textual.events import Click
from textual.message import Message

from openagent.client import Client
from openagent.protocol import ops
from openagent.protocol.files import FileEntries, FilesList
from openagent.protocol.messages import ImagePart, ToolResultPart, UserPart
from openagent.protocol.sessions import GrantScope
from openagent.tui.chat import Chat
from openagent.tui.completion import Completion, FileChosen
from openagent.tui.followed import PAGE, Followed
from openagent.tui.permission import PermissionPanel
from openagent.tui.prompt import Prompt
from openagent.tui.question import QuestionPanel


class SessionView(Followed):
    class CommandGiven(Message):
        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    @on(PermissionPanel.Answered)
    async def answer(self, event: PermissionPanel.Answered) -> None:
        scope = cast("GrantScope", event.scope or "once")
        await self.ask(
            lambda client: ops.PermissionAnswer(
                id=client.next_id(),
                session=self.session,
                ask=event.ask.id,
                decision="allow" if event.scope else "deny",
                scope=scope,
                reason=event.reason,
                choice=event.choice,
            ),
            ops.Done,
        )

    # What the person does

    @on(Prompt.Submitted)
    async def submit(self, event: Prompt.Submitted) -> None:
        text = event.text
        if (question := self.asks.question) is not None:
            await self._answer_question(question, text)
        elif text.startswith("/"):
            self.post_message(self.CommandGiven(text[1:]))
        elif text.startswith("!") and text[1:].strip():
            self.run_worker(self._run(text[1:].strip()))
        else:
            self.chat.anchor()
            self.run_worker(self._send(text, event.images, event.shown), group="send")

    async def _send(self, text: str, images: list[ImagePart], shown: str) -> None:
        await self._attached.wait()
        parts: list[UserPart] = [*images]
        sent = await self.ask(
            lambda client: ops.MessageSend(id=client.next_id(), session=self.session, text=text, parts=parts), ops.Sent
        )
        if sent is not None:
            self.prompt.pasted.clear()
        elif not self.prompt.text:
            self.prompt.text = shown

    async def _answer_question(self, panel: QuestionPanel, said: str) -> None:
        await self.ask(
            lambda client: ops.QuestionAnswer(
                id=client.next_id(), session=self.session, question=panel.question.id, answer=panel.answer_for(said)
            ),
            ops.Done,
        )

    async def _run(self, command: str) -> None:
        await self._attached.wait()
        made: list[str] = []

        def make(client: Client) -> ops.Op:
            made.append(client.next_id())
            self._runs[made[0]] = ""
            return ops.ToolRun(id=made[0], session=self.session, tool="shell", arguments={"command": command})

        ran = cast("ops.ToolRan | None", await self.ask(make, ops.ToolRan))
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
        return await self.ask(
            lambda client: FilesList(id=client.next_id(), session=self.session, path=folder), FileEntries
        )

    def say(self, text: str) -> None:
        """A message, or a command of the workspace: the daemon expands those."""
        self.chat.anchor()
        self.run_worker(self._send(text, [], text), group="send")

    async def cancel(self) -> None:
        await self.ask(lambda client: ops.TurnCancel(id=client.next_id(), session=self.session), ops.Cancelled)

    @on(Prompt.Escaped)
    async def escape(self) -> None:
        if self.running:
            await self.cancel()

    @on(Prompt.Left)
    def leave_prompt(self) -> None:
        (self.chat.newest_call() or self.chat).focus()

    @on(Completion.Clicked)
    def complete(self, event: Completion.Clicked) -> None:
        self.prompt.accept(event.start, event.word)

    @on(FileChosen)
    def name_file(self, event: FileChosen) -> None:
        self.prompt.put(f"@{event.path} ")

    @on(Chat.News)
    def show_news(self, event: Chat.News) -> None:
        self._pill.update(f"↓ {event.count} new")
        self._pill.set_class(event.count > 0, "shown")

    def on_click(self, event: Click) -> None:
        if event.widget is self._pill:
            self.chat.go("end")

    @on(Chat.Newer)
    def fetch_the_end(self, event: Chat.Newer) -> None:
        """Attach anew: the end of the conversation and what is being said right now come together."""
        if self._attachment is not None and self._left_off is None:
            self._left_off = event.left_off
            self._attachment.queue.put_nowait(None)

    @on(Chat.Older)
    async def load_older(self) -> None:
        if self.loading_older:
            return
        self.loading_older = True
        try:
            page = await self.ask(
                lambda client: ops.MessagesPage(
                    id=client.next_id(), session=self.session, before=self.chat.oldest or None, limit=PAGE
                ),
                ops.MessagePage,
            )
            if page is not None:
                await self.chat.prepend(page.messages, has_more=page.has_more, ends=page.turns)
        finally:
            self.loading_older = False
