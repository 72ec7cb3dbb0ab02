"""What a message is for, found out before it is answered: to learn something, to put ideas in order, or to act.

DSPy does it, over the session's provider or a cheaper model. It is an extra, off unless configured, and never in the
way: where it is not installed, unsure, slow or failing, the turn goes on as it would without.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from openagent.config.settings import IntentSettings
from openagent.core.model_call import ask_aside
from openagent.plugins.extras import Extras
from openagent.plugins.gate import Admission, FrontGate, Gate, Scene
from openagent.plugins.provider import ModelRequest
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import IntentDetected
from openagent.protocol.intent import Intent
from openagent.protocol.messages import Message, NotePart, TextPart

if TYPE_CHECKING:
    from openagent.core.session import Session

SIGNATURE = (
    "user_input: str -> intent_type: Literal['research', 'organize', 'control'], entities: list[str], "
    "action: Literal['search', 'clarify', 'answer', 'execute'], query: str, confidence: float"
)
INSTRUCTIONS = (
    "Find out what a message to a coding agent is for. research: it wants to know something about the code or a "
    "topic. organize: it wants ideas, plans or text put in order. control: it wants something done. entities: the "
    "files, names and things it speaks of. query: the words to search the code with. confidence: from 0 to 1."
)
TOOLS = {
    "research": ["search_code", "grep", "read_file"],
    "organize": ["todo", "ask_user"],
    "control": ["edit_file", "shell"],
}
_HINTS = {
    "research": "This message seems to want something found out. Look first; change nothing unless it asks for that.",
    "organize": "This message seems to want ideas put in order. Make the order visible; leave files as they are.",
    "control": "This message seems to want something done. Do it, then check that it worked.",
}
_MIN_WORDS = 3
_log = logging.getLogger(__name__)

Complete = Callable[[str, str], str]
"""System prompt and message to a model's answer; called in a thread."""


class IntentRouter:
    """DSPy's part. It blocks: call it in a thread."""

    def __init__(self) -> None:
        self._extract: Any = None

    def route(self, message: str, complete: Complete) -> Intent:
        dspy: Any = import_module("dspy")
        if self._extract is None:
            self._extract = dspy.Predict(dspy.Signature(SIGNATURE, INSTRUCTIONS))
        with dspy.context(lm=dspy.LM("openagent", engine=_Engine(dspy, complete), cache=False)):
            found = self._extract(user_input=message)
        return Intent(
            type=found.intent_type,
            entities=list(found.entities),
            action=found.action,
            query=found.query,
            confidence=min(max(float(found.confidence), 0.0), 1.0),
        )


class _Engine:
    def __init__(self, dspy: Any, complete: Complete) -> None:
        self._lm15 = dspy.lm15
        self._complete = complete

    def complete(self, request: Any) -> Any:
        system = request.system or ""
        if not isinstance(system, str):
            system = "".join(part.text for part in system)
        text = self._complete(system, "\n\n".join(message.text or "" for message in request.messages))
        lm15 = self._lm15
        return lm15.Response(
            id=None,
            model="openagent",
            message=lm15.Message.assistant([lm15.TextPart(text)]),
            finish_reason="stop",
            usage=lm15.Usage(input_tokens=0, output_tokens=0, total_tokens=0),
        )

    def stream(self, request: Any) -> Any:
        raise NotImplementedError("intents are not streamed")

    def close(self) -> None:
        pass


class IntentGate(FrontGate):
    """Finds out a message's intent, and lets another gate search by it."""

    def __init__(
        self,
        gate: Gate,
        settings: Callable[[Path], IntentSettings],
        loaded: "Callable[[str], Session | None]",
        extras: Extras,
    ) -> None:
        super().__init__(gate)
        self._extras = extras
        self._fetching: asyncio.Task[None] | None = None
        self._settings = settings
        self._loaded = loaded
        self._router = IntentRouter()

    async def admit(self, scene: Scene, text: str) -> Admission:
        settings, session = self._settings(scene.workspace), self._loaded(scene.info.id)
        if not settings.enabled or session is None or len(text.split()) < _MIN_WORDS or text.lstrip()[0] in "/!":
            return await self._gate.admit(scene, text)
        detected = await self._detect(session, settings, text)
        session.post(detected)
        intent = detected.intent
        if intent is None or not detected.used:
            return await self._gate.admit(scene, text)
        if intent.type == "research" and intent.query.strip():
            scene = msgspec.structs.replace(scene, query=intent.query)
        admission = await self._gate.admit(scene, text)
        offered = [name for name in detected.tools if name in session.tools.by_name]
        hint = f"{_HINTS[intent.type]} Tools for that: {', '.join(offered)}." if offered else _HINTS[intent.type]
        return msgspec.structs.replace(admission, notes=[*admission.notes, NotePart("intent", hint)])

    async def _detect(self, session: "Session", settings: IntentSettings, text: str) -> IntentDetected:
        if not self._extras.is_here("intent"):
            return IntentDetected(note=self._fetch())
        asking = _Asking(session, settings.model)
        try:
            async with asyncio.timeout(settings.timeout):
                intent = await asyncio.to_thread(self._router.route, text, asking.complete)
        except TimeoutError:
            return IntentDetected(note=f"No intent was found within {settings.timeout:g} s.")
        except Exception as problem:  # whatever DSPy or the model does, the turn goes on
            _log.warning(
                "intent detection failed, the message goes to the model as it is",
                exc_info=problem,
                extra={"session": session.id},
            )
            return IntentDetected(note=f"No intent could be found ({type(problem).__name__}).")
        finally:
            asking.cancel()
        used = intent.confidence >= settings.min_confidence
        note = "" if used else f"Unsure: {intent.confidence:.2f} of {settings.min_confidence:g}."
        return IntentDetected(intent=intent, used=used, tools=TOOLS[intent.type] if used else [], note=note)

    def _fetch(self) -> str:
        """Nobody's message waits for it. What is said about it."""
        if self._fetching is None or self._fetching.done():
            failed = self._fetching.exception() if self._fetching is not None else None
            if isinstance(failed, OpenAgentError):
                self._fetching = None  # the next message tries again
                return f"No intent was looked for: {failed.info.message} {failed.info.hint}"
            self._fetching = asyncio.create_task(self._extras.fetch("intent", _tell_nobody))
        stage = self._extras.stage("intent") or "it begins now"
        return f"What finds out intents is being fetched ({stage}); messages go on without it until it is here."


def _tell_nobody(stage: str, done: int, total: int) -> None:
    pass  # the next message says how far it is


class _Asking:
    """A thread's way to ask a model on the event loop, on the session's budget."""

    def __init__(self, session: "Session", model: str) -> None:
        self._session = session
        self._model = model
        self._loop = asyncio.get_running_loop()
        self._asked: list[Future[str]] = []

    def complete(self, system: str, prompt: str) -> str:
        asked = asyncio.run_coroutine_threadsafe(self._ask(system, prompt), self._loop)
        self._asked.append(asked)
        return asked.result()

    async def _ask(self, system: str, prompt: str) -> str:
        session = self._session
        model = self._model or session.info.settings.model
        resolved = session.runtime.resolve_model(model, env=session.env, cwd=session.workspace, whose=session.keys_of)
        asked = Message(number=0, role="user", parts=[TextPart(prompt)])
        request = ModelRequest(model=resolved.model, system=system, messages=[asked], session=f"{session.id} intent")
        answer = await ask_aside(session, resolved, request, "intent")
        return "".join(part.text for part in answer.parts if isinstance(part, TextPart))

    def cancel(self) -> None:
        for asked in self._asked:
            asked.cancel()
