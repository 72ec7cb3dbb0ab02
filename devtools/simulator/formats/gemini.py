"""Gemini generateContent, on the Gemini API and on Vertex AI."""

import re
from collections.abc import Iterator

from devtools.simulator import marks
from devtools.simulator.inquiry import Entry, Inquiry, inquire
from devtools.simulator.problems import Kind, Problem
from devtools.simulator.referee import gemini as referee
from devtools.simulator.reply import Reply
from devtools.simulator.wire import Call, ErrorAnswer, Event, Json, arr, encode, first_of, obj, string

_PATH = re.compile(r"/models/(?P<model>[^/:]+):(?P<method>\w+)$")

_FINISH_REASONS = {
    "end": "STOP",
    "tool_use": "STOP",
    "stop_sequence": "STOP",
    "pause": "STOP",
    "max_tokens": "MAX_TOKENS",
    "refusal": "SAFETY",
    "content_filter": "SAFETY",
}

_ERRORS: dict[Kind, tuple[int, str, str]] = {
    "invalid_request": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "unauthorized": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "forbidden": (403, "PERMISSION_DENIED", "The caller does not have permission"),
    "not_found": (
        404,
        "NOT_FOUND",
        "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels "
        "to see the list of available models and their supported methods.",
    ),
    "method_not_allowed": (404, "NOT_FOUND", "Requested entity was not found."),
    "too_large": (400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."),
    "rate_limit": (
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
    ),
    "quota": (
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
    ),
    "server_error": (
        500,
        "INTERNAL",
        "An internal error has occurred. Please retry or report in "
        "https://developers.generativeai.google/guide/troubleshooting",
    ),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "context_too_long": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1215412) exceeds the maximum number of tokens allowed (1048576).",
    ),
}

_OAUTH_REFUSED = (
    401,
    "UNAUTHENTICATED",
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
)
"""A wrong API key is an invalid argument to Google; only a wrong token is unauthenticated."""

_QUOTAS: dict[Kind, str] = {
    "rate_limit": "GenerateContentInputTokensPerModelPerMinute-FreeTier",
    "quota": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
}


class Gemini:
    name = "gemini"

    def media_type(self, call: Call) -> str:
        return "text/event-stream" if _speaks_sse(call) else "application/json; charset=UTF-8"

    def inquire(self, call: Call) -> Inquiry:
        return inquire(_model(call), _streams(call), _entries(call.body), len(call.raw_body))

    def referee(self, call: Call) -> None:
        if call.path.endswith(":countTokens"):
            return
        signatures = call.script.signatures
        referee.check(call.body, model=_model(call), vertex=_is_vertex(call), own_signatures=signatures)

    def whole(self, reply: Reply, call: Call) -> Json:
        parts: list[Json] = []
        if reply.thinking and _wants_thoughts(call):
            parts.append({"text": "".join(reply.thinking), "thought": True})
        if reply.text:
            signature = {"thoughtSignature": reply.signature} if _signs_text(reply) else {}
            parts.append({"text": "".join(reply.text), **signature})
        parts += _call_parts(reply)
        finish = {"finishReason": _FINISH_REASONS.get(reply.stop, reply.stop)}
        return {**_answer(reply, parts, finish), "usageMetadata": _usage(reply)}

    def events(self, reply: Reply, call: Call) -> list[Event]:
        thoughts = reply.thinking if _wants_thoughts(call) else []
        pieces: list[list[Json]] = [[{"text": piece, "thought": True}] for piece in thoughts]
        pieces += [[{"text": piece}] for piece in reply.text]
        pieces += [[part] for part in _call_parts(reply)]
        opening = {"promptTokenCount": reply.usage.input, "totalTokenCount": reply.usage.input}
        answers = [{**_answer(reply, parts), "usageMetadata": opening} for parts in pieces]
        last: list[Json] = [{"text": "", "thoughtSignature": reply.signature}] if _signs_text(reply) else [{"text": ""}]
        finish = {"finishReason": _FINISH_REASONS.get(reply.stop, reply.stop)}
        answers.append({**_answer(reply, last, finish), "usageMetadata": _usage(reply)})
        final = len(answers) - 1
        if _speaks_sse(call):
            return [Event(_sse(answer), content=number < final) for number, answer in enumerate(answers)]
        frames = [
            Event((b"," if number else b"[") + encode(answer) + b"\r\n", content=number < final)
            for number, answer in enumerate(answers)
        ]
        return [*frames, Event(b"]")]

    def count(self, tokens: int, call: Call) -> Json:
        return {"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]}

    def models(self, names: list[str], call: Call) -> Json:
        return {"publisherModels" if _is_vertex(call) else "models": [self.model(name, call) for name in names]}

    def model(self, name: str, call: Call) -> Json:
        if _is_vertex(call):
            return {"name": f"publishers/google/models/{name}", "versionId": "default", "launchStage": "GA"}
        return {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name,
            "description": "Simulated",
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
            "thinking": True,
        }

    def headers(self, call: Call) -> dict[str, str]:
        return {"vary": "Origin, X-Origin, Referer", "server-timing": "gfet4t7; dur=1"}

    def error(self, problem: Problem, call: Call) -> ErrorAnswer:
        status, name, usual = _ERRORS[problem.kind]
        oauth = "authorization" in call.headers
        if problem.kind == "unauthorized" and oauth:
            status, name, usual = _OAUTH_REFUSED
        code = problem.status or status
        message = problem.message or usual.format(model=_model(call))
        error: Json = {"code": code, "message": message, "status": name}
        details = _details(problem, oauth=oauth)
        if details:
            error["details"] = details
        body = {"error": error}
        wrapped = _streams(call) and not _speaks_sse(call)
        return ErrorAnswer(code, self.headers(call), [body] if wrapped else body)

    def error_event(self, problem: Problem, reply: Reply, call: Call, sequence: int) -> bytes:
        body = self.error(problem, call).body
        if isinstance(body, dict):
            return _sse(body)
        return (b"," if sequence else b"[") + encode(body[0]) + b"\r\n]"


def _model(call: Call) -> str:
    found = _PATH.search(call.path)
    return found["model"] if found else ""


def _streams(call: Call) -> bool:
    return call.path.endswith(":streamGenerateContent")


def _speaks_sse(call: Call) -> bool:
    return _streams(call) and call.query.get("alt") == "sse"


def _is_vertex(call: Call) -> bool:
    return "/publishers/" in call.path


def _sse(data: Json) -> bytes:
    return b"data: " + encode(data) + b"\r\n\r\n"


def _wants_thoughts(call: Call) -> bool:
    config = obj(first_of(call.body, "generationConfig", "generation_config"))
    thinking = obj(first_of(config, "thinkingConfig", "thinking_config"))
    asked = first_of(thinking, "includeThoughts", "include_thoughts") is True
    return asked or call.script.show_thinking == "always"


def _entries(body: Json) -> Iterator[Entry]:
    system = obj(first_of(body, "systemInstruction", "system_instruction"))
    yield Entry("system", _text(system))
    for content in map(obj, arr(body.get("contents"))):
        if content.get("role") == "model":
            parts = [obj(part) for part in arr(content.get("parts"))]
            found = [position for part in parts if (position := _position(part)) is not None]
            yield Entry("assistant", _text(content), found[-1] if found else None)
            continue
        for part in map(obj, arr(content.get("parts"))):
            response = obj(first_of(part, "functionResponse", "function_response"))
            if response:
                result = obj(response.get("response"))
                values = [result.get(key) for key in ("output", "result", "error") if key in result]
                yield Entry("tool", string(values[0]) if values else encode(result).decode())
        text = _text(content)
        if text:
            yield Entry("user", text)


def _text(content: Json) -> str:
    parts = [obj(part) for part in arr(content.get("parts"))]
    return "".join(string(part.get("text")) for part in parts if part.get("thought") is not True)


def _position(part: Json) -> int | None:
    mark = marks.read_signature(string(first_of(part, "thoughtSignature", "thought_signature")))
    return mark.position if mark else None


def _signs_text(reply: Reply) -> bool:
    return reply.thought and not reply.calls


def _call_parts(reply: Reply) -> list[Json]:
    parts: list[Json] = []
    for tool in reply.calls:
        call: Json = {"name": tool.name, "args": tool.arguments_object()}
        if tool.id:
            call["id"] = tool.id
        parts.append({"functionCall": call})
    if parts:
        # Of parallel calls, only the first is signed.
        parts[0]["thoughtSignature"] = reply.signature
    return parts


def _answer(reply: Reply, parts: list[Json], finish: Json | None = None) -> Json:
    candidate: Json = {"content": {"parts": parts, "role": "model"}, **(finish or {}), "index": 0}
    return {"candidates": [candidate], "modelVersion": reply.model, "responseId": reply.identifier("sim")}


def _usage(reply: Reply) -> Json:
    usage = reply.usage
    counted: Json = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input}],
    }
    if usage.cached:
        counted["cachedContentTokenCount"] = usage.cached
        counted["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": usage.cached}]
    if usage.reasoning:
        counted["thoughtsTokenCount"] = usage.reasoning
    return counted


def _details(problem: Problem, *, oauth: bool) -> list[Json]:
    google = "type.googleapis.com/google.rpc."
    if problem.kind == "unauthorized" and not oauth:
        reason = {"reason": "API_KEY_INVALID", "domain": "googleapis.com"}
        return [
            {
                "@type": f"{google}ErrorInfo",
                **reason,
                "metadata": {"service": "generativelanguage.googleapis.com"},
            }
        ]
    details: list[Json] = []
    if problem.kind in _QUOTAS:
        violation = {
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": _QUOTAS[problem.kind],
            "quotaValue": "50",
        }
        details.append({"@type": f"{google}QuotaFailure", "violations": [violation]})
    if problem.retry_after is not None:
        details.append({"@type": f"{google}RetryInfo", "retryDelay": f"{problem.retry_after:g}s"})
    return details
