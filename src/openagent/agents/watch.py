"""One sub-agent, watched for its caller: its progress, its end, and what it asks, asked of the caller's clients too."""

import asyncio
from contextlib import suppress

import msgspec

from openagent.agents.allowance import narrowed
from openagent.core.asks import QuestionReply, Verdict
from openagent.core.session import Session
from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import Settings, SettingsChange, Status
from openagent.protocol.words import call_at_work
from openagent.safety.inherited import InheritedRules


class AgentWatch:
    def __init__(
        self,
        parent: Session,
        session: Session,
        template: str,
        inherited: InheritedRules,
        *,
        background: bool,
    ) -> None:
        self._parent = parent
        self._session = session
        self._template = template
        self._inherited = inherited
        self._asked: dict[str, asyncio.Future[Verdict] | asyncio.Future[QuestionReply]] = {}
        self._updating: set[asyncio.Task[None]] = set()
        self.background = background
        self.within_caller = True
        """It has no tool that its caller has not."""
        self.task: asyncio.Task[object] | None = None
        self.completed: asyncio.Future[e.TurnCompleted] = asyncio.get_running_loop().create_future()
        self.status: Status = "idle"
        self.detail = ""
        self.steps = 0

    def hear(self, event: e.Event) -> None:
        match event:
            case e.ToolStarted():
                self.detail = call_at_work(event.tool, event.summary)
                self._show()
            case e.StatusChanged():
                self.status = event.status
                if event.status == "thinking":
                    self.detail = ""
            case e.UsageUpdated():
                self.steps += 1
                self._show()
            case e.PermissionRequested():
                self._ask(event)
            case e.PermissionResolved():
                self._resolved(event)
            case e.QuestionAsked():
                self._question(event)
            case e.QuestionAnswered():
                self._answered(event)
            case e.TurnCompleted() if self._nothing_follows and not self.completed.done():
                self.completed.set_result(event)
            case _:
                pass

    @property
    def _nothing_follows(self) -> bool:
        return not self._session.inbox.goes_on

    def hear_parent(self, event: e.Event) -> None:
        """A caller that may do less from now on lets its sub-agents do less."""
        if isinstance(event, e.SessionUpdated):
            self._session.permits.renew()
            self._narrow(event.info.settings)
        elif isinstance(event, e.PermissionResolved) and event.decision == "allow" and event.scope != "once":
            self._inherited.hand_down(self._parent)
        elif isinstance(event, e.SessionDeleted) and self.task is not None:
            self.task.cancel()

    def _narrow(self, caller: Settings) -> None:
        if not self.within_caller:
            return
        if changes := narrowed(self._session.info.settings, caller, self._session.tools.known):
            updating = asyncio.create_task(self._session.update(None, SettingsChange(**changes), ""))
            self._updating.add(updating)
            updating.add_done_callback(self._updating.discard)

    def listen_again(self) -> None:
        """For the end of another turn."""
        self.completed = asyncio.get_running_loop().create_future()

    def close(self) -> None:
        for waiting in list(self._asked.values()):
            waiting.cancel()

    def _show(self) -> None:
        usage = self._session.info.usage
        self._parent.show(
            e.SubagentProgress(
                child=self._session.id,
                template=self._template,
                status=self.status,
                detail=self.detail,
                steps=self.steps,
                cost_usd=usage.cost_usd,
                tokens=usage.tokens.input_tokens + usage.tokens.output_tokens,
            )
        )

    def _ask(self, event: e.PermissionRequested) -> None:
        reason = f"The sub-agent {self._template} asks. {event.ask.reason}"
        ask = msgspec.structs.replace(event.ask, child=self._session.id, reason=reason)
        asked = self._asked[ask.id] = self._parent.asks.open_permission(ask, leaves=self._session.asks.leaves(ask.id))
        asked.add_done_callback(self._pass_on)
        waits = [e.StatusChanged(status="waiting_approval", detail=ask.summary)] if self._parent.running else []
        self._parent.post(e.PermissionRequested(ask=ask, answerable=event.answerable), *waits)

    def _pass_on(self, asked: "asyncio.Future[Verdict]") -> None:
        if not asked.cancelled():
            verdict = asked.result()
            answer = msgspec.structs.replace(verdict.answer, session=self._session.id)
            with suppress(OpenAgentError):  # somebody else was faster
                self._session.asks.answer_permission(answer, verdict.by)

    def _resolved(self, event: e.PermissionResolved) -> None:
        if asked := self._asked.pop(event.ask_id, None):
            ask = next((each for each in self._parent.asks.permissions if each.id == event.ask_id), None)
            lapsed = [self._parent.asks.lapse(ask)] if ask is not None and event.by == "timeout" else []
            asked.cancel()
            goes_on = [e.StatusChanged(status="executing_tool", detail="agent")] if self._parent.running else []
            fields = {name: getattr(event, name) for name in ("ask_id", "decision", "scope", "by", "reason")}
            self._parent.post(e.PermissionResolved(**fields), *lapsed, *goes_on)
        if event.decision == "allow" and event.scope != "once":
            self._inherited.share(self._session)

    def _question(self, event: e.QuestionAsked) -> None:
        question = msgspec.structs.replace(event.question, child=self._session.id)
        asked = self._asked[question.id] = self._parent.asks.open_question(question)
        asked.add_done_callback(self._pass_answer_on)
        self._parent.post(e.QuestionAsked(question=question, answerable=event.answerable))

    def _pass_answer_on(self, asked: "asyncio.Future[QuestionReply]") -> None:
        if not asked.cancelled():
            question = next((name for name, each in self._asked.items() if each is asked), "")
            with suppress(OpenAgentError):  # somebody else was faster
                self._session.asks.answer_question(question, asked.result())

    def _answered(self, event: e.QuestionAnswered) -> None:
        if asked := self._asked.pop(event.question_id, None):
            asked.cancel()
            self._parent.post(e.QuestionAnswered(question_id=event.question_id, answer=event.answer, by=event.by))
