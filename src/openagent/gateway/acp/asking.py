"""Permission requests and questions, put to the person at the editor."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, cast

from msgspec.structs import replace

from openagent.gateway.acp.feed import Feed
from openagent.gateway.acp.wire import Capabilities, Editor
from openagent.gateway.jsonrpc import Link
from openagent.gateway.jsonrpc_wire import RpcError
from openagent.protocol.conversation import PermissionAnswer, QuestionAnswer
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import PermissionAsk, PermissionChoice, Question

_REJECT = {"optionId": "reject", "name": "Reject", "kind": "reject_once"}


class Asking:
    def __init__(self, link: Link, editor: Editor, can: Capabilities) -> None:
        self._link = link
        self._editor = editor
        self._can = can
        self._open: dict[str, asyncio.Task[None]] = {}

    def permission(self, feed: Feed, ask: PermissionAsk) -> None:
        options = [*(_option(choice) for choice in ask.choices), _REJECT]
        params = {"sessionId": feed.info.id, "toolCall": feed.asked(ask), "options": options}
        self._start(ask.id, self._ask_permission(feed.info.id, ask, params))

    def question(self, feed: Feed, question: Question) -> None:
        if self._can.asks_forms or question.choices:
            self._start(question.id, self._ask_question(feed.info.id, question))
        else:
            told = f"{question.text}\n\n(Answer with `openagent attach {feed.info.id}`, or stop and write it here.)"
            feed.tell(told)

    def settled(self, ask: str) -> None:
        """Answered, here or elsewhere, or no longer wanted: whoever still shows it takes it away."""
        if task := self._open.pop(ask, None):
            task.cancel()

    async def close(self) -> None:
        tasks = list(self._open.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, ask: str, asking: Coroutine[Any, Any, None]) -> None:
        if ask in self._open:
            asking.close()
            return
        self._open[ask] = asyncio.create_task(asking)

    async def _ask_permission(self, session: str, ask: PermissionAsk, params: Mapping[str, Any]) -> None:
        name = _chosen(await self._put("session/request_permission", params))
        choice = next((each for each in ask.choices if each.id == name), None)
        op = PermissionAnswer(id=self._link.next_id(), session=session, ask=ask.id, decision="deny")
        if choice is not None:
            op = replace(op, decision="allow", scope=choice.scope, choice=choice.id)
        await self._answer(ask.id, op)

    async def _ask_question(self, session: str, question: Question) -> None:
        answer = await (self._by_form if self._can.asks_forms else self._by_choice)(session, question)
        said = answer or "The person did not answer."
        op = QuestionAnswer(id=self._link.next_id(), session=session, question=question.id, answer=said)
        await self._answer(question.id, op)

    async def _by_form(self, session: str, question: Question) -> str:
        field: dict[str, Any] = {"type": "string", "title": "Answer"}
        if question.choices:
            field["enum"] = question.choices
        schema = {"type": "object", "properties": {"answer": field}, "required": ["answer"]}
        params: dict[str, Any] = {
            "sessionId": session,
            "mode": "form",
            "message": question.text,
            "requestedSchema": schema,
        }
        if question.call_id:
            params["toolCallId"] = question.call_id
        reply = await self._put("elicitation/create", params)
        content = reply.get("content") if reply.get("action") == "accept" else None
        return str(cast("dict[str, Any]", content).get("answer", "")) if isinstance(content, dict) else ""

    async def _by_choice(self, session: str, question: Question) -> str:
        """An editor without forms still shows options."""
        options = [
            {"optionId": str(number), "name": choice, "kind": "allow_once"}
            for number, choice in enumerate(question.choices)
        ]
        call = {"toolCallId": question.call_id or question.id, "title": question.text, "kind": "other"}
        chosen = _chosen(
            await self._put("session/request_permission", {"sessionId": session, "toolCall": call, "options": options})
        )
        return question.choices[int(chosen)] if chosen.isdigit() and int(chosen) < len(question.choices) else ""

    async def _put(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """An editor that refuses or answers nonsense has said no."""
        try:
            reply = await self._editor.request(method, params)
        except RpcError:
            return {}
        return cast("dict[str, Any]", reply) if isinstance(reply, dict) else {}

    async def _answer(self, ask: str, op: PermissionAnswer | QuestionAnswer) -> None:
        self._open.pop(ask, None)
        try:
            await self._link.request(op)
        except OpenAgentError:
            return  # somebody else answered, the turn has ended, or the daemon has gone


def _option(choice: PermissionChoice) -> dict[str, str]:
    kind = "allow_once" if choice.scope == "once" else "allow_always"
    name = "Allow once" if choice.scope == "once" else f"Allow: {choice.covers}"
    return {"optionId": choice.id, "name": name, "kind": kind}


def _chosen(reply: Mapping[str, Any]) -> str:
    outcome = reply.get("outcome")
    if not isinstance(outcome, dict):
        return ""
    told = cast("dict[str, Any]", outcome)
    return str(told.get("optionId", "")) if told.get("outcome") == "selected" else ""
